"""Simulated annotators: how many labels a model needs if it may ask, and how long people wait for it.

Labels are revealed from gold, sentence by sentence. `curve`: the score after each number of labelled tokens,
in random order and in the order of `query`. `loop`: the same sentences, learned at once or by training
CRFsuite from scratch after every 50. `session`: memory and the time from an answer to the next guesses over
10,000 answers. `screen`: the time in a real browser. `doubts`: wrong labels among the answers that the
model doubts most.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import child, cpu_timed, figure, measurements, publish, table
from corpora import find

MODULE = "benchmarks.teach"
NAMES = {"spanish": "Spanish NER", "bc5cdr": "BC5CDR", "ewt": "EWT UPOS"}
WAYS = {"random": "random order", "asked": "asked, a tenth at random"}
SHARE = 0.9  # of the score of the whole file
FIRST, STEP, BATCH, SAMPLE = 500, 1.15, 0.05, 1000
RANDOM = 0.1
LOOP, LOOP_SENTENCES = 50, 500
ANSWERED = 50

Data = tuple[list[list[str]], list[list[str]]]


def read(name: str, part: str) -> Data:
    """The sentences and labels of a part (train, dev or test) of a corpus."""
    from taggers.commands.training import read_labelled

    if name == "spanish":
        path = find("conll2002") / {"train": "esp.train", "dev": "esp.testa", "test": "esp.testb"}[part]
    elif name == "bc5cdr":
        path = find("bc5cdr") / f"{'devel' if part == 'dev' else part}.tsv"
    else:
        path = find("ud_english_ewt") / f"{part}.conllu"
    columns = read_labelled(path, inputs=None if name == "ewt" else [0])
    return columns.sentences(0), columns.sentences(columns.width - 1)


def new_tagger(name: str, reprocess: int | None = None) -> Any:
    from taggers import NerTagger, PosTagger

    return (PosTagger if name == "ewt" else NerTagger)(reprocess=reprocess)


def score(name: str, gold: list[list[str]], found: list[list[str]]) -> float:
    """Accuracy of parts of speech, F1 of entities."""
    from taggers.labels import schemes

    pairs = list(zip(gold, found, strict=True))
    if name == "ewt":
        return sum(a == b for one in pairs for a, b in zip(*one, strict=True)) / sum(map(len, gold))
    spans = [[set(schemes.spans(labels, "IOB2")) for labels in pair] for pair in pairs]
    right = sum(len(a & b) for a, b in spans)
    return 2 * right / max(sum(len(a) + len(b) for a, b in spans), 1)


def order(way: str, tagger: Any, X: list[list[str]], rng: np.random.Generator) -> Iterator[list[int]]:
    """The sentences to label, a few at a time; the tagger learns each part before the next one."""
    left = rng.permutation([k for k, words in enumerate(X) if words]).tolist()
    done = 0
    while left:
        n = max(1, int(BATCH * done))
        chosen = list(range(min(n, len(left))))
        if way != "random" and done:
            sample = rng.permutation(len(left))[:SAMPLE].tolist()
            found = tagger.query([X[left[k]] for k in sample], n)
            asked = [sample[k] for k in found.tolist()]
            if way == "asked":
                asked = [k for k in asked if rng.random() >= RANDOM]
            others = (k for k in rng.permutation(len(left)).tolist() if k not in set(asked))
            chosen = [*asked, *(next(others) for _ in range(len(chosen) - len(asked)))]
        part = [left[k] for k in chosen]
        left = np.delete(np.array(left), chosen).tolist()
        done += len(part)
        yield part


def curve(name: str, way: str, seed: int, most: int) -> dict[str, Any]:
    """The score on the test file along a session, and that of the whole training file."""
    from taggers.teach.learner import REPROCESS

    X, y = read(name, "train")
    X_test, y_test = read(name, "test")
    whole = score(name, y_test, new_tagger(name, REPROCESS).fit(X, y).predict(X_test))
    tagger = new_tagger(name, REPROCESS)
    tagger.declare(sorted({label for labels in y for label in labels}), X=X)
    points, tokens, sentences, due, enough = [], 0, 0, FIRST, None
    for part in order(way, tagger, X, np.random.default_rng(seed)):
        for k in part:
            tagger.partial_fit([X[k]], [y[k]])
            tokens, sentences = tokens + len(X[k]), sentences + 1
        if tokens < due:
            continue
        due = int(max(due * STEP, tokens + 1))
        points.append((tokens, sentences, score(name, y_test, tagger.predict(X_test))))
        if enough is None and points[-1][2] >= SHARE * whole:
            enough = points[-1][:2]
        if tokens > most or enough is not None:
            break
    return {"whole": whole, "tokens": sum(map(len, X)), "points": points, "enough": enough}


# -- the usual loop -----------------------------------------------------------------------------


def loop(name: str, seed: int, sentences: int) -> dict[str, Any]:
    """Random order: learn each sentence at once (presets), or train CRFsuite from scratch after LOOP."""
    X, y = read(name, "train")
    X_test, y_test = read(name, "test")
    rng = np.random.default_rng(seed)
    chosen = rng.permutation([k for k, words in enumerate(X) if words])[:sentences].tolist()
    tagger = new_tagger(name)
    tagger.declare(sorted({label for labels in y for label in labels}), X=X)
    items, test = {k: _items(X[k]) for k in chosen}, [_items(words) for words in X_test]
    points, ours, theirs = [], 0.0, 0.0
    for end in range(LOOP, len(chosen) + 1, LOOP):
        for k in chosen[end - LOOP : end]:
            ours += cpu_timed(partial(tagger.partial_fit, [X[k]], [y[k]]))[1]
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model")
            train = [(items[k], y[k]) for k in chosen[:end]]
            theirs += cpu_timed(partial(_crfsuite, train, path))[1]
            if end in (100, 200, 500, 1000) or end == len(chosen):
                found = [
                    _score_crfsuite(name, path, test, y_test),
                    score(name, y_test, tagger.predict(X_test)),
                ]
                points.append((end, found[1], ours, found[0], theirs))
    return {"points": points}


def _items(words: list[str]) -> list[list[str]]:
    """Features as in the tutorial of python-crfsuite: words, affixes and shapes of a window of three."""
    rows = []
    for at in range(len(words)):
        row = ["bias"]
        for offset in (-1, 0, 1):
            if 0 <= at + offset < len(words):
                word = words[at + offset]
                row += [
                    f"{offset}:lower={word.lower()}", f"{offset}:title={word.istitle()}",
                    f"{offset}:upper={word.isupper()}", f"{offset}:digit={word.isdigit()}",
                ]  # fmt: skip
            else:
                row.append(f"{offset}:edge")
        word = words[at]
        row += [f"suffix={word[-n:]}" for n in (2, 3)] + [f"prefix={word[:n]}" for n in (2, 3)]
        rows.append(row)
    return rows


def _crfsuite(train: list[tuple[Any, list[str]]], path: str) -> None:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False)
    for rows, labels in train:
        trainer.append(rows, labels)
    trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 50, "feature.possible_transitions": True})
    trainer.train(path)


def _score_crfsuite(name: str, path: str, test: list[Any], gold: list[list[str]]) -> float:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    return score(name, gold, [tagger.tag(rows) for rows in test])


# -- sessions -----------------------------------------------------------------------------------


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

    Most answers are learned together, as after a restart; the last ANSWERED of each step one by one.
    """
    from structsvm.teach.answers import Answer, item_id
    from structsvm.teach.session import Session
    from taggers.labels.schemes import split
    from taggers.teach.learner import TagLearner

    pool, gold = _pool(name, steps[-1] + 1000)
    names = sorted({split(label)[1] for labels in gold.values() for label in labels} - {""})
    points = []
    with tempfile.TemporaryDirectory() as folder:
        learner = TagLearner("ner", pool=pool)
        with Session(learner, pool, Path(folder) / "journal", names=names, random=RANDOM) as running:
            for step in steps:
                unanswered = [item for item in pool if item_id(item) not in running.answers.current]
                begun = unanswered[: step - ANSWERED - running.answers.n_given]
                running.take([Answer(item_id(item), item, gold[item_id(item)]) for item in begun])
                times = [_answer(running, gold, f"{step}-{n}") for n in range(ANSWERED)]
                points.append({
                    "answers": running.answers.n_given, "median": float(np.median(times)),
                    "worst": max(times), "mb": _memory(), "features": _tagger(running).n_features_,
                })  # fmt: skip
    return {"points": points}


def _answer(running: Any, gold: dict[str, list[str]], key: str) -> float:
    """Answer a question; the CPU milliseconds until the page has the next one."""
    running.tidy()  # the page does this between two answers
    question = running.question("tab")
    begun = time.process_time()
    running.answer("tab", question["id"], gold[question["id"]], key)
    running.question("tab")
    running.upcoming()
    running.stats()
    return 1000 * (time.process_time() - begun)


def _tagger(running: Any) -> Any:
    return running.learner.tagger


def _memory() -> float:
    """The memory that this process has now, in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


ENTER = """() => new Promise(done => {
  const begun = performance.now();
  const seen = new MutationObserver(() => requestAnimationFrame(() => {
    seen.disconnect(); done(performance.now() - begun);
  }));
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
                    times.append(page.evaluate(ENTER))
                    page.wait_for_timeout(150)
                browser.close()
            server.terminate()
            server.communicate()
    return {"median": float(np.median(times)), "p95": float(np.percentile(times, 95)), "worst": max(times)}


def doubts(name: str, sentences: int, wrong: float, seed: int) -> dict[str, Any]:
    """How many of the sentences that the model doubts most have a label that was changed at random."""
    from structsvm.teach.answers import Answer, item_id
    from taggers.teach.learner import TagLearner

    X, y = read(name, "train")
    rng = np.random.default_rng(seed)
    labels = sorted({label for one in y for label in one})
    changed, answers = set(), []
    learner = TagLearner("pos" if name == "ewt" else "label", pool=[{"tokens": words} for words in X])
    for label in labels:
        learner.add_name(label)
    for k in rng.permutation([k for k, words in enumerate(X) if words])[:sentences].tolist():
        value, item = list(y[k]), {"tokens": X[k]}
        if rng.random() < wrong:
            at = int(rng.integers(len(value)))
            value[at] = labels[(labels.index(value[at]) + int(rng.integers(1, len(labels)))) % len(labels)]
            changed.add(item_id(item))
        answers.append(Answer(item_id(item), item, value))
    for answer in answers:
        learner.learn([answer])
    sizes = [(size, answer.id) for answer, (size, _) in zip(answers, learner.doubt(answers), strict=True)]
    worst = [id for size, id in sorted(sizes, reverse=True)[: len(changed)] if size > 0]
    return {
        "sentences": len(answers), "wrong": len(changed), "looked at": len(worst),
        "found": sum(id in changed for id in worst),
    }  # fmt: skip


def measure(kind: str, **job: Any) -> dict[str, Any]:
    """One measurement, in its own process."""
    kinds: dict[str, Callable[..., dict[str, Any]]] = {
        "curve": curve, "loop": loop, "session": session, "screen": screen, "doubts": doubts
    }  # fmt: skip
    return kinds[kind](**job)


# -- the report ---------------------------------------------------------------------------------


def main(*, quick: bool = False) -> None:
    """Publish the tables and a drawing for each corpus."""
    seeds, most = (1, 3_000) if quick else (1, 150_000)
    ending = "-quick" if quick else ""
    kept: dict[str, Any] = {}
    parts, rows = [], []
    for name, title in NAMES.items():
        jobs = [{"kind": "curve", "name": name, "way": way, "seed": seed, "most": most}
                for way in WAYS for seed in range(seeds)]  # fmt: skip
        found = measurements(MODULE, jobs)
        kept[name] = found
        runs = {way: found[k * seeds : (k + 1) * seeds] for k, way in enumerate(WAYS)}
        rows += [_curve_row(title, way, runs) for way in WAYS]
        _draw(f"teach-{name}{ending}", name, runs)
    header = [
        "corpus", "order", "90% of the whole file's score", "sentences needed", "tokens needed",
        "relative to random",
    ]  # fmt: skip
    parts.append(table(header, rows))
    loops = {name: measurements(MODULE, [{
        "kind": "loop", "name": name, "seed": 0, "sentences": 100 if quick else LOOP_SENTENCES,
    }])[0] for name in NAMES}  # fmt: skip
    parts.append(table(
        ["corpus", "sentences", "structsvm", "seconds of learning", "CRFsuite", "seconds of training"],
        [[NAMES[name], end, f"{100 * a:.1f}", f"{s:.1f}", f"{100 * b:.1f}", f"{t:.0f}"]
         for name, run in loops.items() for end, a, s, b, t in run["points"]],
    ))  # fmt: skip
    parts.append(_sessions(kept, quick))
    kept["loop"] = loops
    publish(f"teach{ending}", "\n\n".join(parts), kept)


def _curve_row(title: str, way: str, runs: dict[str, list[dict[str, Any]]]) -> list[str]:
    """How many labels an order needs; the mean over seeds."""

    def needed(of: str) -> tuple[float, float] | None:
        pairs = [run["enough"] for run in runs[of]]
        return None if None in pairs else tuple(np.mean(pairs, axis=0).tolist())

    found, base = needed(way), needed("random")
    target = f"{100 * SHARE * float(np.mean([run['whole'] for run in runs[way]])):.1f}"
    if found is None:
        return [title, WAYS[way], target, "not reached", "not reached", ""]
    relative = "" if base is None else f"{found[0] / base[0]:.2f}"
    return [title, WAYS[way], target, f"{found[1]:,.0f}", f"{found[0]:,.0f}", relative]


def _draw(file: str, name: str, runs: dict[str, list[dict[str, Any]]]) -> None:
    with figure(file, "labelled tokens", "accuracy" if name == "ewt" else "F1") as axes:
        for way in WAYS:
            points = runs[way][0]["points"]
            axes.plot([p[0] for p in points], [100 * p[2] for p in points], label=WAYS[way])
        axes.axhline(100 * SHARE * runs["random"][0]["whole"], color="gray", linewidth=0.8)
        axes.legend()


def _sessions(kept: dict[str, Any], quick: bool) -> str:
    """Latency and memory of a session, the browser, and the queue of doubted labels."""
    steps = [200, 400] if quick else [1_000, 2_000, 5_000, 10_000]
    (run,) = measurements(MODULE, [{"kind": "session", "name": "bc5cdr", "steps": steps}])
    kept["session"] = run
    text = table(
        ["answers", "median CPU ms to the next guesses", "worst CPU ms", "MB", "features"],
        [
            [f"{p['answers']:,}", f"{p['median']:.1f}", f"{p['worst']:.1f}", f"{p['mb']:.0f}",
             f"{p['features']:,}"]
            for p in run["points"]
        ],
    )  # fmt: skip
    if shutil.which("chromium"):
        job: dict[str, Any] = {
            "kind": "screen",
            "name": "bc5cdr",
            "labelled": 300 if quick else 10_000,
            "answers": 50,
        }
        (found,) = measurements(MODULE, [job])
        kept["screen"] = found
        text += (
            f"\n\nFrom Enter to new guesses on the screen of Chromium after {job['labelled']:,} labelled "
            f"sentences: median {found['median']:.0f} ms, p95 {found['p95']:.0f} ms, "
            f"worst {found['worst']:.0f} ms."
        )
    common = {"kind": "doubts", "sentences": 300 if quick else 2000, "wrong": 0.05, "seed": 0}
    jobs: list[dict[str, Any]] = [{"name": name, **common} for name in ("spanish", "ewt")]
    rows = []
    for job, found in zip(jobs, measurements(MODULE, jobs), strict=True):
        rows.append(
            [NAMES[job["name"]], *(found[key] for key in ("sentences", "wrong", "looked at", "found"))]
        )
        kept[f"doubts-{job['name']}"] = found
    return (
        text
        + "\n\n"
        + table(
            ["corpus", "sentences", "with one wrong label", "most doubted", "wrong labels among them"], rows
        )
    )


if __name__ == "__main__":
    child(measure)
