"""Train the bundled model of English names, en-ner, and write its card: `python -m benchmarks bundle-ner`.

The data are the development part of Universal NER EWT, Wikigold and the Broad Twitter Corpus. Every fourth
document of the development part is held out: there the bias of O is chosen, and the cost of pruning is
measured. The final model learns from everything. Weights are pruned as little as the size of the file allows.
The test part is read once, at the end.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from corpora import find
from taggers import NerTagger
from taggers.commands import evaluate
from taggers.conlleval import Evaluation
from taggers.features.documents import document_numbers
from taggers.formats._columns import Columns
from taggers.formats.base import FileColumns
from taggers.formats.sources import read_sentences
from taggers.labels.files import read_labelled
from taggers.labels.label_encoding import GoldLabels
from taggers.labels.schemes import convert
from taggers.metrics import score_ids
from taggers.model import TaggerModel
from taggers.model_file import FOLDER

Sentence = tuple[list[Any], list[str]]

PARTS = 4  # one of them is held out
TYPES = ("PER", "ORG", "LOC")
PRUNE = tuple(k / 1000 for k in range(0, 61, 3))
MOST_MB = 3.4
SETTINGS: dict[str, Any] = {"cutoff": 2, "classes": {"brown": "spacy:en"}, "class_words": 50_000}
CARD = Path(__file__).with_name("card_ner.md")
FILES: FileColumns = {"format": "text", "inputs": [0], "label": -1, "n_columns": 1, "task": "ner"}


def web(path: Path) -> list[list[Sentence]]:
    """The documents of a file of Universal NER."""
    columns, gold = read_labelled(path, inputs=[1], labels=[2])
    number = document_numbers(columns, 1)[columns.sentence_ptr[:-1]].tolist()
    rows = list(zip(columns.sentences(0), gold.lists(), strict=True))
    begins = [0, *(k + 1 for k, pair in enumerate(pairwise(number)) if pair[0] != pair[1]), len(rows)]
    return [rows[start:stop] for start, stop in pairwise(begins)]


def others() -> Iterator[Sentence]:
    """Wikigold and the tweets, with names of the three types only, in IOB2."""
    files = [find("wikigold") / "wikigold.conll.txt"]
    files += [find("btc") / f"{part}.txt" for part in ("train", "dev", "test")]
    for path in files:
        scheme = "IOB1" if "wikigold" in path.name else "IOB2"
        for words, labels in zip(*read_sentences(path), strict=True):
            kept = [str(label) if str(label)[2:] in TYPES else "O" for label in labels]
            yield words, convert(kept, scheme, "IOB2")


def trained(sentences: list[Sentence]) -> NerTagger:
    """A tagger that learned these sentences in a random order."""
    random.Random(0).shuffle(sentences)
    X, y = map(list, zip(*sentences, strict=True))
    start = time.perf_counter()
    tagger = NerTagger(**SETTINGS).fit(X, y)
    print(f"learned {len(X):,} sentences in {time.perf_counter() - start:.0f} s", flush=True)
    return tagger


def f1(model: TaggerModel, sentences: list[Sentence]) -> float:
    """The F1 in % of a model on these sentences."""
    X, y = map(list, zip(*sentences, strict=True))
    gold = GoldLabels.from_lists(y)
    return 100 * score_ids(gold, model.tag(Columns.from_sentences(X)), model.names, phrases=True)


def pruned(full: TaggerModel) -> tuple[float, TaggerModel, float]:
    """The amount of pruning that makes the file small enough, the model, and its size in MB."""
    with tempfile.TemporaryDirectory() as folder:
        for amount in PRUNE:
            small = full.compact(amount, "int8")
            small.save(path := Path(folder, "model"), dtype="int8")
            size = path.stat().st_size / 1e6
            if size <= MOST_MB:
                return amount, small, size
    raise ValueError(f"the model takes {size:.2f} MB, more than {MOST_MB} MB")


def figures(found: Evaluation) -> str:
    """The scores of all names and of each type, as cells of a table."""
    rows = [("all", found.phrases), *((kind, found.types[kind]) for kind in TYPES)]
    return "\n".join(
        f"| {kind} | {100 * one.precision:.2f} | {100 * one.recall:.2f} | {100 * one.f1:.2f} | {one.gold:,} |"
        for kind, one in rows
    )


def main(*, quick: bool = False) -> None:
    """Choose on held-out documents; then train on everything, prune, write model and card, and test."""
    documents = web(find("uner_english") / "dev.iob2")
    held_out = list(chain.from_iterable(documents[::PARTS]))
    rest = list(chain.from_iterable(row for k, row in enumerate(documents) if k % PARTS))
    more = list(others())
    tagger = trained([*rest, *more])
    before = f1(tagger.model_, held_out)
    bias = tagger.fit_bias(*map(list, zip(*held_out, strict=True))).bias_["O"]
    full = f1(tagger.model_, held_out)
    amount, small, size = pruned(tagger.model_)
    least = f1(small, held_out)
    print(f"F1 on {len(held_out)} held-out sentences: {before:.2f}, with bias {bias} of O {full:.2f}, "
          f"pruned at {amount} ({size:.2f} MB) {least:.2f}", flush=True)  # fmt: skip
    if quick:
        return
    final = trained([*held_out, *rest, *more]).add_bias({"O": bias})
    full_model = final.model_
    full_model.files = FILES
    amount, chosen, _ = pruned(full_model)
    path = FOLDER / "en-ner.ssvm"
    chosen.save(path, dtype="int8")
    found = evaluate(path, find("uner_english") / "test.iob2", label=2)
    assert found.interval is not None
    settings = final.settings()
    card = CARD.read_text(encoding="utf-8").format(
        sentences=full_model.report["sentences"], tokens=full_model.report["tokens"], prune=amount,
        epochs=settings["epochs"], C=settings["C"], cutoff=settings["cutoff"], bias=bias,
        class_words=settings["class_words"], version=version("spacy-lookups-data"),
        size=path.stat().st_size / 1e6, features=len(chosen.space), weights=len(chosen.weights.cells),
        full_features=len(full_model.space), full_weights=len(full_model.weights.cells),
        held_out=len(held_out), before=before, full=full, least=least, low=100 * found.interval.low,
        high=100 * found.interval.high, figures=figures(found), tested=found.sequences.total,
    )  # fmt: skip
    path.with_suffix(".md").write_text(card, encoding="utf-8")
    print(card)
