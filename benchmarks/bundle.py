"""Train the bundled model, en-pos, and write its card: `python -m benchmarks bundle`.

UPOS and XPOS are learned as one label (NOUN|NN). There are 102 such pairs for 49 XPOS tags, and learning both
costs neither much accuracy. The word classes come from the package spacy-lookups-data, whose MIT licence
allows us to ship them; classes of raw_english may not be shipped. C and pruning are chosen on the development
file; the test file is only read at the end.
"""

from __future__ import annotations

import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpora import find
from taggers import PosTagger
from taggers.formats.conllu import COLUMN as CONLLU
from taggers.formats.files import read_all
from taggers.model import TaggerModel
from taggers.model_file import FOLDER

PRUNE = (0.0, 0.005, 0.0075, 0.01, 0.0125, 0.015, 0.02, 0.025, 0.03)
MOST_LOST = 0.1  # points on the development file, of the model as it was trained
SETTINGS: dict[str, Any] = {"cutoff": 1, "C": 0.04, "classes": {"brown": "spacy:en"}, "class_words": 50_000}

CARD = Path(__file__).with_name("card.md")


def scores(model: TaggerModel, path: Path) -> tuple[float, float]:
    """Accuracy in % of UPOS and XPOS."""
    columns = read_all(path, "conllu", wanted=(CONLLU["form"], CONLLU["upos"], CONLLU["xpos"]))
    found = [model.names[k].split("|") for k in model.tag(columns)]
    right = [
        sum(pair[part] == gold for pair, gold in zip(found, columns.texts(1 + part), strict=True))
        for part in range(2)
    ]
    return 100 * right[0] / len(found), 100 * right[1] / len(found)


def trained(path: Path) -> TaggerModel:
    """A model of joined labels, which says of itself that it reads text."""
    columns = read_all(path, "conllu", wanted=(CONLLU["form"], CONLLU["upos"], CONLLU["xpos"]))
    upos, xpos = columns.sentences(1), columns.sentences(2)
    y = [[f"{a}|{b}" for a, b in zip(*pair, strict=True)] for pair in zip(upos, xpos, strict=True)]
    model = PosTagger(**SETTINGS).fit(columns.sentences(0), y).model_
    model.files = {"format": "text", "inputs": [0], "label": -1, "n_columns": 1, "parts": ["upos", "xpos"]}
    return model


def main(*, quick: bool = False) -> None:
    """Train, choose what to prune, write model and card; quick: a first look, without writing."""
    folder = find("ud_english_ewt")
    start = time.perf_counter()
    full = trained(folder / "train.conllu")
    print(f"trained in {time.perf_counter() - start:.0f} s, {len(full.weights.cells):,} weights")
    full = full.compact()
    aim = scores(full, folder / "dev.conllu")
    print(f"as trained: UPOS {aim[0]:.2f}, XPOS {aim[1]:.2f} on dev")
    chosen, prune, dev = full, 0.0, aim
    for least in PRUNE:
        small = full.compact(least, "int8")
        found = scores(small, folder / "dev.conllu")
        n = len(small.weights.cells)
        print(f"prune {least}: {n:,} weights, UPOS {found[0]:.2f}, XPOS {found[1]:.2f}")
        if min(found[0] - aim[0], found[1] - aim[1]) > -MOST_LOST:
            chosen, prune, dev = small, least, found
    if quick:
        return
    path = FOLDER / "en-pos.ssvm"
    full.save(path)
    full_size = path.stat().st_size / 1e6
    chosen.save(path, dtype="int8")
    settings = PosTagger(**SETTINGS).settings()
    card = CARD.read_text(encoding="utf-8").format(
        sentences=full.report["sentences"], tokens=full.report["tokens"], prune=prune,
        epochs=settings["epochs"], C=settings["C"], cutoff=settings["cutoff"], lost=MOST_LOST,
        class_words=settings["class_words"], version=version("spacy-lookups-data"),
        size=path.stat().st_size / 1e6, features=len(chosen.space), weights=len(chosen.weights.cells),
        full_size=full_size, full_features=len(full.space), full_weights=len(full.weights.cells),
        full_dev=aim, dev=dev, full_test=scores(full, folder / "test.conllu"),
        test=scores(TaggerModel.load(path), folder / "test.conllu"),
    )  # fmt: skip
    path.with_suffix(".md").write_text(card, encoding="utf-8")
    print(card)
