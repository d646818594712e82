"""Train the bundled pipelines, en and af, and write their cards: `python -m benchmarks bundle-ud`.

The amount of pruning is chosen on the development file. It is the largest amount that costs less than 0.1
points in each column, or the smallest with which the file is small enough. It is chosen first for the layers
that label words, then for the splitter. The test file is only read at the end.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks.ud_text import f1, gold, spans
from corpora import find
from taggers import commands
from taggers.conlleval import Evaluation
from taggers.model_file import FOLDER
from taggers.pipeline import Pipeline
from taggers.splitter import Splitter

PRUNE = (0.0, 0.001, 0.002, 0.003, 0.004, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04)
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


def split_scores(pipeline: Pipeline, path: Path) -> dict[str, float]:
    """F1 in % of sentences, tokens and words of the raw text."""
    text, wanted = gold(path)
    found = spans([(token.text, token.words) for token in tokens] for tokens in pipeline.split(text))
    return {name: f1(wanted[name], found[name]) for name in wanted}


def least_weight(
    aim: dict[str, float], save: Callable[[float], Path], score: Callable[[Pipeline], dict[str, float]]
) -> tuple[float, dict[str, float]]:
    """Choose the amount of pruning; return it with its scores. save: writes the model with a given amount."""
    chosen, size = (0.0, aim), 0.0
    for least in PRUNE:
        path = save(least)
        found = score(Pipeline.load(path))
        lost = max(aim[name] - found[name] for name in aim)
        print(f"prune {least}, {path.stat().st_size / 1e6:.2f} MB, lost {lost:.2f}, {found}")
        if lost <= MOST_LOST or size > MOST_MB or not least:
            chosen, size = (least, found), path.stat().st_size / 1e6
    return chosen


def bundled(name: str, *, write: bool) -> None:
    """Train one model, choose its pruning, and write it with its card."""
    folder = find(MODELS[name]["corpus"])
    train, dev, test = (folder / f"{part}.conllu" for part in ("train", "dev", "test"))
    with tempfile.TemporaryDirectory() as scratch:
        small = Path(scratch, "small")
        full = commands.train_ud(train, Path(scratch, "full"))
        full_mb = Path(scratch, "full").stat().st_size / 1e6
        layers, splitter = replace(full, splitter=None), full.splitter
        assert splitter is not None

        def pruned(least: float) -> Path:
            layers.save(small, prune=least, dtype="int8")
            return small

        aim = accuracies(layers, dev)
        prune, found = least_weight(aim, pruned, lambda model: accuracies(model, dev))
        path = FOLDER / f"{name}.ssvm" if write else small
        split_prune, splits = add_splitter(layers, splitter, prune, dev, path)
    rows = {column: (aim[column], found[column]) for column in aim}
    if write:
        final = Pipeline.load(path)
        tests = accuracies(final, test) | split_scores(final, test)
        whole = split_scores(full, dev)
        rows |= {column: (whole[column], splits[column]) for column in whole}
        card = CARD.read_text(encoding="utf-8").format(
            name=name, **MODELS[name], sentences=full.first.report["sentences"], prune=prune,
            tokens=full.first.report["tokens"], size=path.stat().st_size / 1e6, full_mb=full_mb,
            rows=table_rows(rows, tests, list(aim)), splits=table_rows(rows, tests, list(splits)),
            split_prune=split_prune, lost=MOST_LOST,
        )  # fmt: skip
        path.with_suffix(".md").write_text(card, encoding="utf-8")
        print(card)


def add_splitter(
    layers: Pipeline, splitter: Splitter, prune: float, dev: Path, path: Path
) -> tuple[float, dict[str, float]]:
    """Write a model with its splitter; return the pruning chosen for the splitter, and the scores."""

    def pruned(least: float) -> Path:
        small = replace(splitter, model=splitter.model.compact(max(least, prune), "int8"))
        replace(layers, splitter=small).save(path, prune=prune, dtype="int8")
        return path

    aim = split_scores(replace(layers, splitter=splitter), dev)
    least, found = least_weight(aim, pruned, lambda model: split_scores(model, dev))
    pruned(least)
    return max(least, prune), found


def table_rows(scores: dict[str, tuple[float, float]], tests: dict[str, float], names: list[str]) -> str:
    """Rows of the card: development scores before and after pruning, and test scores."""
    return "\n".join(
        f"| {name} | {scores[name][0]:.2f} | {scores[name][1]:.2f} | {tests[name]:.2f} |" for name in names
    )


def main(*, quick: bool = False) -> None:
    """Train both models; quick: Afrikaans only, without writing."""
    for name in ["af"] if quick else MODELS:
        bundled(name, write=not quick)
