"""Train the bundled pipelines, en and af, and write their cards: `python -m benchmarks bundle-ud`.

The amount of pruning of each layer is chosen on the development file: `chosen_pruning` raises it as long as
no column loses more than 0.1 points; then that of the parser, in the same way. The file must not exceed
8 MB, and 3,500 KiB without the parser. The test file is only read at the end.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.ud_text import f1, gold, spans
from corpora import find
from taggers import PosTagger, commands
from taggers.conlleval import Evaluation
from taggers.formats.files import read_all
from taggers.model import TaggerModel
from taggers.model_file import FOLDER
from taggers.pipeline import Pipeline

PRUNE = (*(k / 1000 for k in range(2, 21)), 0.0225, 0.025, 0.0275, 0.03, 0.035, 0.04)
MOST_LOST = 0.1
MOST_MB = {"without trees": 3.584, "together": 8.0}  # 3,500 KiB
TREES = ["UAS", "LAS", "CLAS", "MLAS", "BLEX"]
SPLITS = ["sentences", "tokens", "words"]
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
# Options of the layer for UPOS. The classes come from spacy-lookups-data, whose MIT licence allows it.
UPOS: dict[str, dict[str, Any]] = {"en": {"classes": {"brown": "spacy:en"}, "class_words": 50_000}}
CLASSES = (
    "| word classes | the clusters of the {words:,} most frequent words in spacy-lookups-data {version}, "
    "Copyright (c) 2019 ExplosionAI GmbH, MIT licence, with the same terms as the LICENSE of structsvm; the "
    "layer for UPOS reads them |\n"
)

Scores = dict[str, float]  # in %, by column


def accuracies(pipeline: Pipeline, path: Path) -> Scores:
    """Accuracy in % of each column."""
    found = commands.evaluate_any(pipeline, path)
    assert isinstance(found, dict)
    return {name: 100 * one.accuracy for name, one in found.items() if isinstance(one, Evaluation)}


def split_scores(pipeline: Pipeline, path: Path) -> Scores:
    """F1 in % of sentences, tokens and words of the raw text."""
    text, wanted = gold(path)
    found = spans([(token.text, token.words) for token in tokens] for tokens in pipeline.split(text))
    return {name: f1(wanted[name], found[name]) for name in wanted}


def tree_scores(pipeline: Pipeline, path: Path) -> Scores:
    """F1 in % of the trees, given the words of the file; nothing without trees."""
    found = commands.evaluate_ud(pipeline, path)
    return {name: found[name].f1 for name in TREES if name in found}


def chosen_pruning(
    layers: Iterable[str], aim: Scores, scores: Callable[[dict[str, float]], Scores]
) -> dict[str, float]:
    """Choose the amount of pruning of each layer, raised in turn, so that each gets its share of the loss.

    aim: the development scores of the model as trained. scores: those of the model with given amounts.
    """
    found = dict.fromkeys(layers, 0.0)
    for amount in PRUNE:
        for layer in found:
            tried = found | {layer: amount}
            now = scores(tried)
            lost = max(aim[name] - now[name] for name in aim)
            print(f"{layer}, prune {amount}: lost {lost:.2f}")
            if lost <= MOST_LOST:
                found = tried
    return found


def pruned(full: Pipeline, amounts: dict[str, float]) -> Pipeline:
    """The pipeline with these amounts of pruning, by layer, and 8-bit weights; no trees without an amount."""
    small = {name: layer.compact(amounts[name], "int8") for name, layer in full.layers.items()}
    assert full.lemmatizer is not None
    assert full.splitter is not None
    return Pipeline(
        small["upos"], small["morph"], replace(full.lemmatizer, model=small["lemma"], seen={}),
        full.splitter.with_models(small),
        full.parser.compact(amounts["parse"], "int8") if full.parser and "parse" in amounts else None,
    )  # fmt: skip


def fitted(full: Pipeline, amounts: dict[str, float], most: str, path: Path) -> float:
    """Save the pruned pipeline; return its size in MB, or raise ValueError if that is too much."""
    pruned(full, amounts).save(path, dtype="int8")
    size = path.stat().st_size / 1e6
    if size > MOST_MB[most]:
        raise ValueError(f"{size:.2f} MB {most}, more than {MOST_MB[most]} MB")
    return size


def upos_layer(name: str) -> TaggerModel:
    """The layer for UPOS of a model, with word classes."""
    columns = read_all(find(MODELS[name]["corpus"]) / "train.conllu", "conllu", wanted=(1, 3))
    found = PosTagger(**UPOS[name]).fit(columns.sentences(0), columns.sentences(1)).model_
    found.files = {"format": "conllu", "inputs": [1], "label": 3, "n_columns": 10}
    return found


def replace_upos(name: str) -> None:
    """Retrain and prune the layer for UPOS of a bundled model, and print the scores for its card."""
    path, folder = FOLDER / f"{name}.ssvm", find(MODELS[name]["corpus"])
    pipeline, layer = Pipeline.load(path), upos_layer(name)

    def scores(amounts: dict[str, float]) -> Scores:
        tags = replace(pipeline, upos=layer.compact(amounts["upos"], "int8"), parser=None)
        return accuracies(tags, folder / "dev.conllu")

    amounts = chosen_pruning(["upos"], scores({"upos": 0.0}), scores)
    replace(pipeline, upos=layer.compact(amounts["upos"], "int8")).save(path, dtype="int8")
    final = Pipeline.load(path)
    for part in ("dev", "test"):
        file = folder / f"{part}.conllu"
        print(part, accuracies(final, file), tree_scores(final, file), split_scores(final, file))


def bundled(name: str, *, write: bool) -> None:
    """Train one model, choose its pruning, and write it with its card."""
    folder = find(MODELS[name]["corpus"])
    train, dev, test = (folder / f"{part}.conllu" for part in ("train", "dev", "test"))

    def scores(pipeline: Pipeline, path: Path) -> Scores:
        return accuracies(pipeline, path) | split_scores(pipeline, path)

    with tempfile.TemporaryDirectory() as scratch:
        full = commands.train_ud(train, Path(scratch, "full"))
        if name in UPOS:
            full.upos = upos_layer(name)
            full.save(Path(scratch, "full"))
        full_mb = Path(scratch, "full").stat().st_size / 1e6
        aim, trees = scores(full, dev), tree_scores(full, dev)
        amounts = chosen_pruning(full.layers, aim, lambda tried: scores(pruned(full, tried), dev))
        small = Path(scratch, "small")
        tags_mb = fitted(full, amounts, "without trees", small)
        size = tags_mb
        if trees:
            tagged = tree_scores(pruned(full, amounts | {"parse": 0.0}), dev)
            aim_trees = {name: tagged[name] for name in ("UAS", "LAS")}
            amounts |= chosen_pruning(
                ["parse"], aim_trees, lambda tried: tree_scores(pruned(full, amounts | tried), dev)
            )
            size = fitted(full, amounts, "together", small)
        if not write:
            return
        path = FOLDER / f"{name}.ssvm"
        shutil.copyfile(small, path)
    final = Pipeline.load(path)
    tree_rows = [trees, tree_scores(final, dev), tree_scores(final, test)]
    rows = [aim, scores(final, dev), scores(final, test)]
    card = CARD.read_text(encoding="utf-8").format(
        name=name, **MODELS[name], sentences=full.report["sentences"],
        tokens=full.report["tokens"], size=size, full_mb=full_mb, lost=MOST_LOST, tags_mb=tags_mb,
        prune=", ".join(f"{layer} {amount}" for layer, amount in amounts.items()),
        classes=class_row(name),
        rows=table_rows(rows, [*(part for part in final.parts if part in aim), "all"]),
        splits=table_rows(rows, SPLITS), trees=table_rows(tree_rows, [*trees]),
    )  # fmt: skip
    path.with_suffix(".md").write_text(card, encoding="utf-8")
    print(card)


def class_row(name: str) -> str:
    """The row of the card about word classes, if the model has them."""
    if name not in UPOS:
        return ""
    return CLASSES.format(words=UPOS[name]["class_words"], version=version("spacy-lookups-data"))


def table_rows(scores: list[Scores], names: list[str]) -> str:
    """Rows of the card: development scores before and after pruning, and test scores."""
    return "\n".join(f"| {name} | {' | '.join(f'{one[name]:.2f}' for one in scores)} |" for name in names)


def main(*, quick: bool = False) -> None:
    """Train both models; quick: Afrikaans only, without writing."""
    for name in ["af"] if quick else MODELS:
        bundled(name, write=not quick)
