"""CoNLL-2000 chunking, file to model: LaRank beside python-crfsuite, one template, a process each."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.harness import in_own_process, machine, timed

OURS: dict[str, dict[str, Any]] = {
    "LaRank greedy, 1 pass": {"inference": "greedy", "epochs": 1},
    "LaRank greedy, 2 passes": {"inference": "greedy", "epochs": 2},
    "LaRank exact, 2 passes": {"inference": "exact", "epochs": 2},
}
CRFSUITE: dict[str, tuple[str, dict[str, Any]]] = {
    "crfsuite ap, 10 iterations": ("ap", {"max_iterations": 10}),
    "crfsuite lbfgs, c2=1": ("lbfgs", {"c1": 0.0, "c2": 1.0}),
}
NEAR = range(-2, 3)


def measure(name: str, folder: str) -> dict[str, Any]:
    """Train on train.txt, tag test.txt; seconds of both and the F1."""
    train, test = Path(folder, "train.txt"), Path(folder, "test.txt")
    with tempfile.TemporaryDirectory() as scratch:
        model, output = Path(scratch, "model"), Path(scratch, "output.txt")
        run = ours if name in OURS else crfsuite
        return run(name, train, test, model, output)


def ours(name: str, train: Path, test: Path, model: Path, output: Path) -> dict[str, Any]:
    from taggers import commands

    options: dict[str, Any] = {"template": "conll2000", "cutoff": 3, "C": 0.1, **OURS[name]}
    _, seconds = timed(lambda: commands.train("label", train, model, **options))
    tokens, tagging = timed(lambda: commands.tag(model, test, output))
    f1 = commands.evaluate(None, output).f1
    return {"name": name, "f1": 100 * f1, "train_s": seconds, "tokens_per_s": tokens / tagging}


def crfsuite(name: str, train: Path, test: Path, model: Path, output: Path) -> dict[str, Any]:
    import pycrfsuite

    from taggers.conlleval import evaluate

    algorithm, parameters = CRFSUITE[name]

    def learn() -> None:
        trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
        trainer.set_params({**parameters, "feature.minfreq": 3})
        for sentence in sentences(train):
            trainer.append(items(sentence), [token[2] for token in sentence])
        trainer.train(str(model))

    def label() -> list[list[str]]:
        tagger = pycrfsuite.Tagger()
        tagger.open(str(model))
        return [tagger.tag(items(sentence)) for sentence in sentences(test)]

    _, seconds = timed(learn)
    predicted, tagging = timed(label)
    gold = [[token[2] for token in sentence] for sentence in sentences(test)]
    tokens = sum(map(len, gold))
    f1 = evaluate(gold, predicted).f1
    return {"name": name, "f1": 100 * f1, "train_s": seconds, "tokens_per_s": tokens / tagging}


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


def main(*, quick: bool = False) -> None:
    """Print the table; quick leaves L-BFGS out, which takes minutes."""
    folder = str(Path(os.environ["STRUCTSVM_CORPORA"], "conll2000"))
    print(machine())
    print(f"{'':28}{'F1':>7}{'train s':>9}{'tokens/s':>11}{'peak MB':>9}")
    for name in [*OURS, *CRFSUITE]:
        if quick and "lbfgs" in name:
            continue
        row = in_own_process("benchmarks.tagging", {"name": name, "folder": folder})
        figures = f"{row['f1']:7.2f}{row['train_s']:9.2f}{row['tokens_per_s']:11.0f}{row['peak_mb']:9.0f}"
        print(f"{name:28}{figures}", flush=True)
