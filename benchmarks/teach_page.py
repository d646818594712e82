"""The page of `structsvm teach` after thousands of answers: how long people wait, and the memory it needs.

`session`: CPU time from an answer to the next guesses, and memory, along 10,000 answers. `screen`: the time
from Enter to new guesses on the screen of a real browser, after 10,000 labelled sentences. Each Enter follows
a pause, so this time excludes the work in the background, such as forgetting features.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import child, measurements, peak_memory, publish, table
from benchmarks.teach import RANDOM, read

MODULE = "benchmarks.teach_page"
CORPUS = "bc5cdr"
ANSWERED = 50  # answers that are timed at each step
PAUSE = 500  # milliseconds to read a sentence before Enter; the session works in the background meanwhile


def _pool(name: str, n: int) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
    """Distinct sentences of all parts of a corpus as questions, and the right answers by id."""
    from structsvm.teach.answers import item_id

    gold: dict[str, list[str]] = {}
    pool: list[dict[str, Any]] = []
    for part in ("train", "dev", "test"):
        for words, labels in zip(*read(name, part), strict=True):
            item = {"tokens": words}
            if words and item_id(item) not in gold and len(pool) < n:
                gold[item_id(item)] = labels
                pool.append(item)
    return pool, gold


def session(name: str, steps: list[int]) -> dict[str, Any]:
    """CPU milliseconds from an answer to the next question with guesses, and memory, along a session.

    The last ANSWERED answers of each step are timed. The session chooses their questions, as on the page; the
    other answers follow the order of the corpus.
    """
    from structsvm.teach.answers import item_id
    from structsvm.teach.session import Session
    from taggers.labels.schemes import split
    from taggers.teach.learner import TagLearner

    pool, gold = _pool(name, steps[-1] + 1000)
    names = sorted({split(label)[1] for labels in gold.values() for label in labels} - {""})
    points = []
    with tempfile.TemporaryDirectory() as folder:
        learner = TagLearner("ner", pool=pool)
        with Session(learner, pool, Path(folder) / "journal", names=names, random=RANDOM) as running:
            ids = iter([item_id(item) for item in pool])
            for step in steps:
                while running.answers.n_given < step - ANSWERED:
                    if (id := next(ids)) not in running.answers.current:
                        running.answer("tab", id, gold[id], id)
                        running.tidy()
                times = [_answer(running, gold, f"{step}-{n}") for n in range(ANSWERED)]
                tagger: Any = running.learner.tagger  # type: ignore[attr-defined]
                points.append({
                    "answers": running.answers.n_given, "median": float(np.median(times)),
                    "worst": max(times), "mb": memory(), "peak": peak_memory(),
                    "features": tagger.n_features_, "support": tagger.optimizer_.n_support_patterns_,
                })  # fmt: skip
    return {"points": points}


def _answer(running: Any, gold: dict[str, list[str]], key: str) -> float:
    """Answer a question, and return the CPU milliseconds until the page has the next one."""
    running.tidy()  # the page does this between two answers
    question = running.question("tab")
    begun = time.process_time()
    running.answer("tab", question["id"], gold[question["id"]], key)
    running.question("tab")
    running.upcoming()
    running.stats()
    return 1000 * (time.process_time() - begun)


def memory() -> float:
    """The current memory of this process, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


ENTER = """() => new Promise(done => {
  const begun = performance.now();
  const seen = new MutationObserver(() => {
    seen.disconnect();
    const painted = new MessageChannel();  // a message from the beginning of a frame arrives after its end
    painted.port1.onmessage = () => done(performance.now() - begun);
    requestAnimationFrame(() => painted.port2.postMessage(0));
  });
  seen.observe(document.getElementById("upcoming"), {childList: true});
  document.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter"}));
})"""


def screen(name: str, labelled: int, answers: int) -> dict[str, Any]:
    """Milliseconds from Enter to new guesses on the screen of Chromium, after `labelled` sentences."""
    from playwright.sync_api import sync_playwright

    pool, gold = _pool(name, labelled + answers + 200)
    lines = [
        "".join(f"{word}\t{label}\n" for word, label in zip(item["tokens"], labels, strict=True)) + "\n"
        for item, labels in zip(pool, gold.values(), strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "begin.txt").write_text("".join(lines[:labelled]))
        raw = "".join("\n".join(item["tokens"]) + "\n\n" for item in pool[labelled:])
        Path(folder, "raw.txt").write_text(raw)
        command = ["teach", "ner", "raw.txt", "-o", "m.ssvm", "--begin", "begin.txt", "--format", "columns"]
        program = "from structsvm.cli.entry import main; main()"
        with subprocess.Popen(
            [sys.executable, "-c", program, *command, "--no-browser"], cwd=folder, text=True,
            stderr=subprocess.PIPE,
        ) as server:  # fmt: skip
            assert server.stderr is not None
            url = next(line for line in server.stderr if line.startswith("http")).split()[0]
            with sync_playwright() as playwright:
                path = shutil.which("chromium")
                browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
                page = browser.new_page()
                page.goto(url)
                page.locator("#sentence .token").first.wait_for()
                times = []
                for _ in range(answers):
                    page.wait_for_timeout(PAUSE)
                    times.append(page.evaluate(ENTER))
                browser.close()
            server.terminate()
            server.communicate()
    return {"median": float(np.median(times)), "p95": float(np.percentile(times, 95)), "worst": max(times)}


def measure(kind: str, **job: Any) -> dict[str, Any]:
    """One measurement, in its own process."""
    kinds: dict[str, Callable[..., dict[str, Any]]] = {"session": session, "screen": screen}
    return kinds[kind](**job)


def main(*, quick: bool = False) -> None:
    """Publish a table and the time in the browser."""
    steps = [200, 400] if quick else [1_000, 2_000, 3_000, 5_000, 7_500, 10_000]
    (run,) = measurements(MODULE, [{"kind": "session", "name": CORPUS, "steps": steps}])
    kept = {"session": run}
    header = [
        "answers", "median CPU ms to the next guesses", "worst CPU ms", "MB", "peak MB", "features",
        "support patterns",
    ]  # fmt: skip
    text = table(
        header,
        [
            [f"{p['answers']:,}", *(f"{p[key]:.1f}" for key in ("median", "worst")),
             *(f"{p[key]:,.0f}" for key in ("mb", "peak", "features", "support"))]
            for p in run["points"]
        ],
    )  # fmt: skip
    if shutil.which("chromium"):
        labelled = 300 if quick else 10_000
        job = {"kind": "screen", "name": CORPUS, "labelled": labelled, "answers": ANSWERED}
        (kept["screen"],) = measurements(MODULE, [job])
        text += (
            f"\n\nFrom Enter to new guesses on the screen of Chromium after {labelled:,} labelled sentences, "
            f"with a pause of {PAUSE} ms before each Enter: "
            + ", ".join(f"{key} {kept['screen'][key]:.0f} ms" for key in ("median", "p95", "worst"))
            + "."
        )
    publish(f"teach-page{'-quick' if quick else ''}", text, kept)


if __name__ == "__main__":
    child(measure)
