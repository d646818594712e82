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
from benchmarks.harness import measurements, peak_memory, publish, spread, table
from taggers.features.attributes import CLUSTER
from taggers.features.template import fitting_template

MODULE = "benchmarks.held_out"
FILES = Path(tempfile.gettempdir(), "structsvm-held-out")
README = ("Danish", "tweets", "BC5CDR", "CoNLL-2000", "Afrikaans", "Sequoia")
CORPORA = (*README, "Spanish", "Croatian", "Portuguese", "ATIS", "SNIPS", "EWT")
SEEDS = 3
C1, C2 = 0.1, 0.1  # of CRFsuite, as in the tutorial of sklearn-crfsuite
FEATURES = ("usual", "the template")  # of CRFsuite
CHILD = "from structsvm.cli.entry import main; main()"


def main(*, quick: bool = False, tasks: Sequence[str] = ()) -> None:
    """Publish a table; quick: two corpora, one seed, and few iterations of CRFsuite."""
    names, seeds = (("Danish", "BC5CDR"), 1) if quick else (tasks or CORPORA, SEEDS)
    iterations = 5 if quick else reach.ITERATIONS
    rows: list[list[str]] = []
    kept: dict[str, Any] = {}
    for name in names:
        write(name)
        plain, dev = (
            measurements(MODULE, [{"name": name, "dev": dev, "seed": seed} for seed in range(seeds)])
            for dev in (False, True)
        )
        peers = measurements(
            MODULE, [{"name": name, "features": one, "iterations": iterations} for one in FEATURES]
        )
        kept[name] = {"plain": plain, "dev": dev, **dict(zip(FEATURES, peers, strict=True))}
        costs = [{key: statistics.median(run[key] for run in runs) for key in ("train", "peak")}
                 for runs in (plain, dev)]  # fmt: skip
        rows.append([
            name, spread(plain, "test", 2), spread(dev, "test", 2), *(f"{one['test']:.2f}" for one in peers),
            *(f"{one['train']:.1f}" for one in (*costs, *peers)),
            *(f"{one['peak']:.0f}" for one in (*costs, *peers)),
        ])  # fmt: skip
    programs = ("`train`", "`--dev`", "CRFsuite, usual", "CRFsuite, our template")
    header = ["corpus", *(f"{what}, {who}" for what in ("score", "CPU s", "peak MB") for who in programs)]
    publish(f"held-out{'-quick' if quick else ''}", f"{table(header, rows)}\n\n{summary(kept)}", kept)


def summary(kept: dict[str, Any]) -> str:
    """The gain and the cost of `--dev`, and the costs of CRFsuite relative to ours."""
    gain = statistics.mean(
        run["test"] - other["test"]
        for runs in kept.values()
        for run, other in zip(runs["dev"], runs["plain"], strict=True)
    )
    parts = [f"Mean gain of `--dev` on the test data: {gain:+.2f}."]
    for what, key in (("CPU time", "train"), ("peak memory", "peak")):
        ratios = []
        for runs in kept.values():
            plain, dev = (statistics.median(run[key] for run in runs[how]) for how in ("plain", "dev"))
            peer = runs[FEATURES[1]][key]
            ratios.append((dev / plain, peer / plain, peer / dev))
        dearer, faster, fast = map(statistics.median, zip(*ratios, strict=True))
        parts.append(
            f"Median ratios of {what}: `--dev` to `train` {dearer:.2f}, CRFsuite with our template to "
            f"`train` {faster:.1f} and to `--dev` {fast:.1f}."
        )
    return " ".join(parts)


def readme(kept: dict[str, Any]) -> str:
    """The table of the README: the median score and CPU seconds of each program."""
    rows = []
    for name in (name for name in README if name in kept):
        task, runs = reach.SETS[name][0], kept[name]
        ours = [{key: statistics.median(run[key] for run in runs[how]) for key in ("test", "train")}
                for how in ("plain", "dev")]  # fmt: skip
        cells = [
            f"{one['test']:.2f} in {one['train']:.1f} s" for one in (*ours, *(runs[f] for f in FEATURES))
        ]
        rows.append([f"{TITLES[name]}, `{task}`", *cells])
    header = [
        "corpus, task",
        "`train`",
        "`train --dev`",
        "CRFsuite, usual features",
        "CRFsuite, our features",
    ]
    return table(header, rows)


TITLES = {"Danish": "Danish names", "tweets": "names in tweets", "BC5CDR": "chemicals, diseases",
          "CoNLL-2000": "CoNLL-2000", "Afrikaans": "Afrikaans", "Sequoia": "French"}  # fmt: skip


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
) -> dict[str, Any]:
    """Train with a command, or with python-crfsuite if there is no seed: CPU s, peak MB and test score."""
    train, held_out, test = (FILES / f"{name}.{one}" for one in (part, "dev", "test"))
    if seed is None:
        return crfsuite(name, features, iterations, train)
    from taggers import commands

    model, task = FILES / f"{name}.ssvm", reach.SETS[name][0]
    words = ["train", task, str(train), "-o", str(model), "--seed", str(seed), "-q"]
    words += ["--dev", str(held_out)] if dev else []
    subprocess.run([sys.executable, "-P", "-c", CHILD, *words], check=True, capture_output=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = commands.evaluate(model, test)
    return {
        "train": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 1024,
        "test": 100 * (found.accuracy if task == "pos" else found.f1),
    }  # fmt: skip


def our_features(task: str, width: int) -> str:
    """The template of a task without word classes, which `train` learns from its data."""
    patterns = fitting_template(task, width).patterns
    return "\n".join(one.text for one in patterns if all(cell.attribute != CLUSTER for cell in one.cells))


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
