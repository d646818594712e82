"""CoNLL-2000 chunking, file to model and file to file: LaRank against python-crfsuite, one template.

Both drop features seen fewer than three times; crfsuite counts them per label, so it keeps fewer.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.harness import cpu_timed, in_own_process, publish, spread, table, timed

AP = "crfsuite ap, 10 iterations"
LBFGS = "crfsuite lbfgs, c2=1"
OURS: dict[str, dict[str, Any]] = {
    "LaRank greedy, 1 pass": {"inference": "greedy", "epochs": 1},
    "LaRank greedy, 2 passes": {"inference": "greedy", "epochs": 2},
    "LaRank exact, 2 passes": {"inference": "exact", "epochs": 2},
}
CRFSUITE: dict[str, tuple[str, dict[str, Any]]] = {
    AP: ("ap", {"max_iterations": 10}),
    LBFGS: ("lbfgs", {"c1": 0.0, "c2": 1.0}),
}
REPEATS = 3
NEAR = range(-2, 3)


def measure(name: str) -> dict[str, Any]:
    """Train on train.txt, tag test.txt; CPU seconds of both, the F1 and the size of the model."""
    from corpora import find
    from taggers.conlleval import evaluate

    folder = find("conll2000")
    train, test = folder / "train.txt", folder / "test.txt"
    with tempfile.TemporaryDirectory() as scratch:
        model, output = Path(scratch, "model"), Path(scratch, "output.txt")
        learn, label = (ours if name in OURS else crfsuite)(name, train, test, model, output)
        (_, seconds), (_, tagging) = cpu_timed(learn), cpu_timed(label)
        found = sentences(output)
        predicted, gold = ([[token[k] for token in s] for s in found] for k in (3, 2))
        figures = {
            "f1": 100 * evaluate(gold, predicted).f1,
            "train": seconds,
            "tokens_per_s": sum(map(len, gold)) / tagging,
            "model_mb": model.stat().st_size / 1e6,
        }
        return figures | (stages(model, train, scratch) if name in OURS else {})


def ours(name: str, train: Path, test: Path, model: Path, output: Path) -> tuple[Any, Any]:
    from taggers import commands

    options: dict[str, Any] = {"template": "conll2000", "cutoff": 3, "C": 0.1, "constrained": False}
    options |= OURS[name]
    return (
        lambda: commands.train("label", train, model, **options),
        lambda: commands.tag(model, test, output),
    )


def crfsuite(name: str, train: Path, test: Path, model: Path, output: Path) -> tuple[Any, Any]:
    import pycrfsuite

    algorithm, parameters = CRFSUITE[name]

    def learn() -> None:
        trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
        trainer.set_params({**parameters, "feature.minfreq": 3})
        for sentence in sentences(train):
            trainer.append(items(sentence), [token[2] for token in sentence])
        trainer.train(str(model))

    def label() -> None:
        tagger = pycrfsuite.Tagger()
        tagger.open(str(model))
        blocks = []
        for sentence in sentences(test):
            labels = tagger.tag(items(sentence))
            blocks.append("".join(f"{' '.join([*t, y])}\n" for t, y in zip(sentence, labels, strict=True)))
        output.write_text("\n".join(blocks), encoding="utf-8")

    return learn, label


def sentences(path: Path) -> list[list[list[str]]]:
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    return [[line.split(" ") for line in block.split("\n")] for block in blocks]


def items(sentence: list[list[str]]) -> list[list[str]]:
    """The features of the conll2000 template as strings."""
    pad = [["_", "_"]] * 2
    padded = [*pad, *sentence, *pad]
    result = []
    for at in range(2, len(sentence) + 2):
        w = {k: padded[at + k][0] for k in NEAR}
        p = {k: padded[at + k][1] for k in NEAR}
        features = [f"w{k}={w[k]}" for k in NEAR] + [f"p{k}={p[k]}" for k in NEAR]
        features += [f"w{k}|={w[k]}|{w[k + 1]}" for k in (-1, 0)]
        features += [f"p{k}|={p[k]}|{p[k + 1]}" for k in range(-2, 2)]
        features += [f"p{k}||={p[k]}|{p[k + 1]}|{p[k + 2]}" for k in range(-2, 1)]
        result.append(features)
    return result


def stages(path: Path, text: Path, scratch: str) -> dict[str, Any]:
    """Tokens/s of ten copies of the training file with one and two threads; where one thread's time goes."""
    from structsvm.problems import SequenceProblem
    from structsvm.problems.sequence import Decoder
    from taggers import commands
    from taggers.commands.matching import input_columns
    from taggers.formats.base import Layer
    from taggers.formats.files import open_columns, read_columns
    from taggers.model import TaggerModel

    model = TaggerModel.load(path)
    output, long = Path(scratch, "again.txt"), Path(scratch, "long.txt")
    long.write_bytes(10 * text.read_bytes())
    rates = {}
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # whatever this process was started with
    for jobs in (1, 2):
        tokens, seconds = best_of(3, lambda jobs=jobs: commands.tag(model, long, output, jobs=jobs))
        rates[f"threads_{jobs}"] = tokens / seconds
    rates["processes_2"] = together(path, long, scratch) * tokens
    tokens //= 10
    with open_columns(text) as opened:
        wanted = input_columns(model, opened)
    chunks, reading = best_of(5, lambda: list(read_columns(text, wanted=wanted)))
    features, extracting = best_of(5, lambda: [model.features(columns) for columns in chunks])
    ids, labelling = best_of(5, lambda: [model.tag(part) for part in features])
    # Without a history, greedy inference is scoring and nothing else.
    plain = SequenceProblem(len(model.labels), inference="greedy", order=0)
    scorer = Decoder(plain, model.weights.since(model.problem().history))
    _, scoring = best_of(5, lambda: [scorer.labels(part) for part in features])
    pairs = list(zip(chunks, ids, strict=True))
    _, writing = best_of(
        5, lambda: [columns.format.write(columns, [Layer(part, model.names)]) for columns, part in pairs]
    )
    parts = {"reading": reading, "features": extracting, "scoring": scoring,
             "decoding": max(labelling - scoring, 0.0), "writing": writing}  # fmt: skip
    return rates | {"stages": {name: 1e9 * seconds / tokens for name, seconds in parts.items()}}


def together(model: Path, text: Path, scratch: str) -> float:
    """Files tagged each second by two processes at once, one thread each: what the machine has to give."""
    code = (
        "import sys, time; from taggers import commands; from taggers.model import TaggerModel\n"
        "model = TaggerModel.load(sys.argv[1]); print(flush=True); input()\n"
        "for _ in range(3): commands.tag(model, sys.argv[2], sys.argv[3])"
    )
    paths = [Path(scratch, f"{k}.txt") for k in range(2)]
    both = [
        subprocess.Popen([sys.executable, "-c", code, model, text, path],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for path in paths
    ]  # fmt: skip
    for process in both:  # both have started and hold their model
        process.stdout.readline()  # type: ignore[union-attr]

    def work() -> None:
        for process in both:
            process.stdin.write(b"\n")  # type: ignore[union-attr]
            process.stdin.close()  # type: ignore[union-attr]
        if any([process.wait() for process in both]):
            raise RuntimeError("tagging in a separate process failed")

    _, seconds = timed(work)
    return 6 / seconds


def best_of(repeats: int, work: Any) -> tuple[Any, float]:
    runs = [timed(work) for _ in range(repeats)]
    return runs[0][0], min(seconds for _, seconds in runs)


def main(*, quick: bool = False) -> None:
    """Alternate, so that a slow spell of the machine hits all; quick leaves L-BFGS out."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for repeat in range(1 if quick else REPEATS):
        for name in chain(OURS, CRFSUITE):
            if name == LBFGS and (quick or repeat):  # minutes: once
                continue
            runs.setdefault(name, []).append(in_own_process("benchmarks.tagging", {"name": name}))
            print(name, repeat, runs[name][-1], file=sys.stderr)
    publish("tagging-quick" if quick else "tagging", report(runs), runs)


def report(runs: dict[str, list[dict[str, Any]]]) -> str:
    def median(name: str, key: str) -> float:
        return statistics.median(run[key] for run in runs[name])

    rows = []
    for name, found in runs.items():
        ratios = [
            f"{median(peer, 'train') / median(name, 'train'):.1f}" for peer in (AP, LBFGS) if peer in runs
        ]
        rate = median(name, "tokens_per_s")
        rows.append([
            name, f"{median(name, 'f1'):.2f}", spread(found, "train", 1), *ratios, f"{rate:,.0f}",
            f"{rate / median(AP, 'tokens_per_s'):.1f}", f"{median(name, 'peak_mb'):.0f}",
            f"{median(name, 'model_mb'):.1f}",
        ])  # fmt: skip
    header = ["CoNLL-2000", "F1", "training, CPU s", "times as fast as ap"]
    header += ["as L-BFGS"] * (LBFGS in runs)
    header += ["tagging, tokens/CPU s", "times ap's", "peak MB", "model MB"]
    parts = list(next(iter(runs.values()))[0]["stages"])
    shares = []
    for name in OURS:
        cells = [statistics.median(run["stages"][part] for run in runs[name]) for part in parts]
        factors = [median(name, key) / median(name, "threads_1") for key in ("threads_2", "processes_2")]
        shares.append([
            name, *[f"{cell:.0f}" for cell in cells], f"{median(name, 'threads_1'):,.0f}",
            *[f"{factor:.2f}" for factor in factors],
        ])  # fmt: skip
    columns = ["tagging: ns a token", *parts, "tokens/s", "two threads / one", "two processes / one"]
    second = table(columns, shares)
    return f"{table(header, rows)}\n\n{second}"
