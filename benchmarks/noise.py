"""Train on labels with planted errors: `python -m benchmarks noise`.

Phrases of the training data are dropped or get another type, at random; the development and test data stay
as they are. The table shows the F1 on the test data of `structsvm train`, with and without `--dev`, and of
python-crfsuite with the features that its users usually start with.
"""

from __future__ import annotations

import random
from typing import Any

from benchmarks import held_out, reach
from benchmarks.harness import measurements, publish, table
from taggers.labels.schemes import encode, spans

CORPORA = ("Danish", "tweets", "BC5CDR")
SHARES = (0.0, 0.1, 0.2)
PROGRAMS: dict[str, dict[str, Any]] = {
    "`train`": {"seed": 0},
    "`train --dev`": {"seed": 0, "dev": True},
    "CRFsuite, usual features": {"features": "usual", "iterations": reach.ITERATIONS},
}


def main(*, quick: bool = False) -> None:
    """Publish a table; quick: one corpus."""
    rows: list[list[str]] = []
    kept: dict[str, Any] = {}
    for name in CORPORA[: 1 if quick else None]:
        held_out.write(name)
        X, y = held_out.read(held_out.FILES / f"{name}.train")
        for share in SHARES:
            part = f"train-{share:g}"
            held_out.write_columns(held_out.FILES / f"{name}.{part}", X, planted(y, share))
            jobs = [{"name": name, "part": part, **options} for options in PROGRAMS.values()]
            runs = measurements(held_out.MODULE, jobs)
            kept[f"{name}, {share:.0%}"] = dict(zip(PROGRAMS, runs, strict=True))
            rows.append([name, f"{share:.0%}", *(f"{run['test']:.2f}" for run in runs)])
    publish(f"noise{'-quick' if quick else ''}", table(["corpus", "wrong phrases", *PROGRAMS], rows), kept)


def planted(y: list[list[str]], share: float) -> list[list[str]]:
    """IOB2 labels in which a share of the phrases is dropped or has another type."""
    chance = random.Random(0)
    types = sorted({type_ for labels in y for type_, *_ in spans(labels, "IOB2")})
    result = []
    for labels in y:
        phrases = []
        for type_, start, end in spans(labels, "IOB2"):
            wrong, dropped = chance.random() < share, chance.random() < 0.5
            others = [one for one in types if one != type_]
            if not wrong or not dropped:
                phrases.append((chance.choice(others) if wrong else type_, start, end))
        result.append(encode(phrases, len(labels), "IOB2"))
    return result
