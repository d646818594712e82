"""Train the bundled pipelines, en and af, and write their cards: `python -m benchmarks bundle-ud`.

Pruning is chosen on the development file: the largest that costs less than 0.1 points in each column, or the
smallest that makes the file fit. The test file is only read at the end.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from corpora import find
from taggers import commands
from taggers.conlleval import Evaluation
from taggers.model_file import FOLDER
from taggers.pipeline import Pipeline

PRUNE = (0.0, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04)
MOST_LOST = 0.1
MOST_MB = 4.0
CARD = Path(__file__).with_name("card_ud.md")
MODELS = {
    "en": {
        "corpus": "ud_english_ewt", "language": "English", "data": "UD English EWT, release 2.16",
        "text": "weblogs, newsgroups, emails, reviews and questions",
        "people": "N. Silveira, T. Dozat, M.-C. de Marneffe, S. Bowman, M. Connor, J. Bauer and C. D. "
        "Manning, *A gold standard dependency corpus for English*, LREC 2014, and the contributors of UD "
        "English EWT",
    },
    "af": {
        "corpus": "ud_afrikaans", "language": "Afrikaans", "data": "UD Afrikaans AfriBooms",
        "text": "government documents",
        "people": "L. Augustinus, P. Dirix, D. van Niekerk, I. Schuurman, V. Vandeghinste, F. Van Eynde and "
        "G. van Huyssteen, *AfriBooms: an online treebank for Afrikaans*, LREC 2016, and the contributors of "
        "UD Afrikaans AfriBooms",
    },
}  # fmt: skip


def accuracies(pipeline: Pipeline, path: Path) -> dict[str, float]:
    """Accuracy in % of each column."""
    found = commands.evaluate_any(pipeline, path)
    assert isinstance(found, dict)
    return {name: 100 * one.accuracy for name, one in found.items() if isinstance(one, Evaluation)}


def bundled(name: str, *, write: bool) -> None:
    """Train one model, choose its pruning, and write it with its card."""
    folder = find(MODELS[name]["corpus"])
    with tempfile.TemporaryDirectory() as scratch:
        full = commands.train_ud(folder / "train.conllu", Path(scratch, "full"))
        aim, full_mb = accuracies(full, folder / "dev.conllu"), Path(scratch, "full").stat().st_size / 1e6
        small, chosen = Path(scratch, "small"), (0.0, aim, 0.0)
        for least in PRUNE:
            full.save(small, prune=least, dtype="int8")
            found = accuracies(Pipeline.load(small), folder / "dev.conllu")
            size, lost = small.stat().st_size / 1e6, max(aim[column] - found[column] for column in aim)
            print(f"{name}: prune {least}, {size:.2f} MB, lost {lost:.2f}, {found}")
            if lost <= MOST_LOST or chosen[2] > MOST_MB or not least:
                chosen = least, found, size
    if not write:
        return
    path = FOLDER / f"{name}.ssvm"
    full.save(path, prune=chosen[0], dtype="int8")
    test = accuracies(Pipeline.load(path), folder / "test.conllu")
    scores = {column: (aim[column], chosen[1][column], test[column]) for column in aim}
    rows = [f"| {column} | {a:.2f} | {b:.2f} | {c:.2f} |" for column, (a, b, c) in scores.items()]
    card = CARD.read_text(encoding="utf-8").format(
        name=name, **MODELS[name], sentences=full.first.report["sentences"], prune=chosen[0],
        tokens=full.first.report["tokens"], size=chosen[2], full_mb=full_mb, rows="\n".join(rows),
        lost=MOST_LOST,
    )  # fmt: skip
    path.with_suffix(".md").write_text(card, encoding="utf-8")
    print(card)


def main(*, quick: bool = False) -> None:
    """Train both models; quick: Afrikaans only, without writing."""
    for name in ["af"] if quick else MODELS:
        bundled(name, write=not quick)
