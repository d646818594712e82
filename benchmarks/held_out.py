"""Compare the commands of the README with CRFsuite on many corpora: `python -m benchmarks held-out`.

`structsvm train` reads a file and writes a model, with and without `--dev`, with three seeds. python-crfsuite
reads the same files, with the features that its users usually start with, and with those of our template. The
table shows the scores on the test data, the CPU time of each process from its start to its end, and its peak
memory. `--tasks` chooses corpora; those of `README` are in the table of the README.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import reach
from benchmarks.harness import kept_figures, measurements, peak_memory, publish, spread, table
from taggers.features.attributes import LEARNED
from taggers.features.template import fitting_template

MODULE = "benchmarks.held_out"
FILES = Path(tempfile.gettempdir(), "structsvm-held-out")
README = ("Danish", "Spanish", "tweets", "BC5CDR", "CoNLL-2000", "Afrikaans", "Sequoia")
CORPORA = (*README, "Croatian", "Portuguese", "ATIS", "SNIPS", "EWT")
SEEDS = 3
C1, C2 = 0.1, 0.1  # of CRFsuite, as in the tutorial of sklearn-crfsuite
FEATURES = ("usual", "our")  # of CRFsuite
Kept = dict[str, dict[str, list[dict[str, Any]]]]  # the runs of each program on each corpus
CHILD = "from structsvm.cli.entry import main; main()"


def main(*, quick: bool = False, tasks: Sequence[str] = ()) -> None:
    """Publish a table; quick: two corpora, one seed, and few iterations of CRFsuite."""
    names, seeds = (("Danish", "BC5CDR"), 1) if quick else (tasks or CORPORA, SEEDS)
    iterations = 5 if quick else reach.ITERATIONS
    title = f"held-out{'-quick' if quick else ''}"
    kept: Kept = dict(kept_figures(title)) if tasks else {}
    for name in names:
        write(name)
        jobs = {
            "`train`": [{"name": name, "dev": False, "seed": seed} for seed in range(seeds)],
            "`train --dev`": [{"name": name, "dev": True, "seed": seed} for seed in range(seeds)],
            **{f"CRFsuite, {one} features": [{"name": name, "features": one, "iterations": iterations}]
               for one in FEATURES},
        }  # fmt: skip
        kept[name] = {program: measurements(MODULE, wanted) for program, wanted in jobs.items()}
    publish(title, f"{report(kept)}\n\n{summary(kept)}", kept)


def report(kept: Kept) -> str:
    """The scores and costs of all programs; cells are empty where something was not measured."""
    programs = dict.fromkeys(program for runs in kept.values() for program in runs)
    rows = []
    for name, runs in kept.items():
        cells = [spread(runs.get(program, []), "test", 2) for program in programs]
        for key, digits in (("train", 1), ("peak", 0)):
            cells += [f"{median(runs[one], key):.{digits}f}" if one in runs else "" for one in programs]
        rows.append([name, *cells])
    measures = ("score", "CPU s", "peak MB")
    return table(["corpus", *(f"{what}, {who}" for what in measures for who in programs)], rows)


def summary(kept: Kept) -> str:
    """The gain and the cost of `--dev`, and the costs of CRFsuite relative to ours."""
    plain, dev, *_ = programs = list(dict.fromkeys(program for runs in kept.values() for program in runs))
    gain = statistics.mean(
        run["test"] - other["test"]
        for runs in kept.values()
        for run, other in zip(runs[dev], runs[plain], strict=True)
    )
    parts = [f"Mean gain of `--dev` on the test data: {gain:+.2f}."]
    for what, key in (("CPU time", "train"), ("peak memory", "peak")):
        ratios = []
        for one, other in [(dev, plain), *((peer, ours) for peer in programs[2:] for ours in (plain, dev))]:
            both = [(runs[one], runs[other]) for runs in kept.values() if one in runs]
            ratio = statistics.median(median(runs, key) / median(others, key) for runs, others in both)
            ratios.append(f"{one} to {other} {ratio:.2f}")
        parts.append(f"Median ratios of {what}: {'; '.join(ratios)}.")
    return " ".join(parts)


def median(runs: list[dict[str, Any]], key: str) -> float:
    """The median of a figure over the seeds."""
    return statistics.median(run[key] for run in runs)


def readme(kept: Kept) -> str:
    """The table of the README: median scores and CPU seconds, without programs on few corpora."""
    names = [name for name in README if name in kept]
    programs = dict.fromkeys(program for name in names for program in kept[name])
    shown = [one for one in programs if 2 * sum(one in kept[name] for name in names) > len(names)]
    rows = [
        [TITLES[name], f"`{reach.SETS[name][0]}`",
         *(f"{median(kept[name][one], 'test'):.2f} in {median(kept[name][one], 'train'):.1f} s"
           if one in kept[name] else "not measured" for one in shown)]
        for name in names
    ]  # fmt: skip
    return table(["corpus", "task", *shown], rows)


TITLES = {"Danish": "Danish news (UNER)", "Spanish": "Spanish news (CoNLL)", "tweets": "tweets (BTC)",
          "BC5CDR": "chemicals (BC5CDR)", "CoNLL-2000": "CoNLL-2000", "Afrikaans": "Afrikaans (UD)",
          "Sequoia": "French (UD)"}  # fmt: skip


def write(name: str) -> None:
    """Write a corpus as files of columns; a tenth of the training data if there are no development data."""
    FILES.mkdir(exist_ok=True)
    parts = ("train", "dev", "test")
    if reach.SETS[name][3]:
        found = reach.load(name, *parts)
    else:
        found = [*reach.load(next(iter(reach.TENTHS)), "train", "dev"), *reach.load(name, "test")]
    for part, data in zip(parts, found, strict=True):
        write_columns(FILES / f"{name}.{part}", *data)


def write_columns(path: Path, X: list[list[Any]], y: list[list[str]]) -> None:
    """Write sentences as columns."""
    with path.open("w", encoding="utf-8") as file:
        for tokens, labels in zip(X, y, strict=True):
            for token, label in zip(tokens, labels, strict=True):
                print(*columns(token), label, sep="\t", file=file)
            print(file=file)


def columns(token: Any) -> list[str]:
    """The columns of a token, a word or a tuple."""
    return [token] if isinstance(token, str) else list(token)


def read(path: Path) -> reach.Sentences:
    """The sentences of a file of columns."""
    X: list[list[Any]] = []
    y: list[list[str]] = []
    for block in path.read_text(encoding="utf-8").strip("\n").split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n")]
        X.append([row[0] if len(row) == 2 else tuple(row[:-1]) for row in rows])
        y.append([row[-1] for row in rows])
    return X, y


def measure(
    name: str,
    dev: bool = False,
    seed: int | None = None,
    features: str = "",
    iterations: int = 0,
    part: str = "train",
    search: Sequence[str] = (),
) -> dict[str, Any]:
    """Train with a command, or with python-crfsuite if there is no seed: CPU s, peak MB and test score.

    search: options of `tune`, to use it instead of `train`; the result then has the options that it chose.
    """
    train, held_out, test = (FILES / f"{name}.{one}" for one in (part, "dev", "test"))
    if seed is None:
        return crfsuite(name, features, iterations, train)
    from taggers import commands

    model, task = FILES / f"{name}.ssvm", reach.SETS[name][0]
    words = ["tune" if search else "train", task, str(train), "-o", str(model), "--seed", str(seed), "-q"]
    words += [*(["--dev", str(held_out)] if dev else []), *search]
    done = subprocess.run([sys.executable, "-P", "-c", CHILD, *words], check=True, capture_output=True)
    chosen = done.stdout.decode().partition(f"{train} ")[2].partition("--dev")[0]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = commands.evaluate(model, test)
    return {
        "train": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 1024,
        "test": 100 * (found.accuracy if task == "pos" else found.f1),
        **({"options": chosen.replace(f"--seed {seed}", "").strip()} if search else {}),
    }  # fmt: skip


def our_features(task: str, width: int) -> str:
    """The template of a task without classes of words, which `train` learns from its data."""
    patterns = fitting_template(task, width).patterns
    return "\n".join(one.text for one in patterns if all(cell.attribute not in LEARNED for cell in one.cells))


def crfsuite(name: str, features: str, iterations: int, train: Path) -> dict[str, Any]:
    """Read a file, train on it, and label the test data."""
    from taggers.metrics import span_f1, token_accuracy

    task, (X, y) = reach.SETS[name][0], read(train)
    peer = reach.CrfSuite("usual" if features == "usual" else our_features(task, len(columns(X[0][0]))))
    peer.read(X, y)
    model = peer.train(C1, C2, iterations)
    figures = {"train": time.process_time(), "peak": peak_memory()}
    peer.use(model)
    X, y = read(FILES / f"{name}.test")
    score = token_accuracy if task == "pos" else span_f1
    return figures | {"test": 100 * score(y, peer.predict(X))}
