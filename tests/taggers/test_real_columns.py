"""The real corpora, where they are: counts, round trips, and the feature count of the literature."""

import os
from pathlib import Path

import pytest

from taggers.features.extract import Extractor, KeyTable, cut, encode
from taggers.features.template import load_template
from taggers.formats.base import Layer
from taggers.formats.files import read_all, read_columns
from taggers.labels._labels import Labels

pytestmark = pytest.mark.corpora
CORPORA = Path(os.environ.get("STRUCTSVM_CORPORA", "."))


@pytest.mark.parametrize(
    ("name", "wanted", "n_sentences", "n_tokens"),
    [
        ("conll2000/train.txt", (0, 1, -1), 8936, 211727),
        ("conll2002/esp.train", (0, 1, -1), 8323, 264715),
        ("ud_english_ewt/train.conllu", (1, 3, 4), 12544, 204577),
    ],
)
def test_counts_and_round_trips(name, wanted, n_sentences, n_tokens):
    path = CORPORA / name
    columns = read_all(path, wanted=wanted)
    assert (columns.n_sentences, columns.n_tokens) == (n_sentences, n_tokens)
    labels = Labels()
    ids = labels.ids(columns, 2, grow=True)
    assert columns.format.write(columns, [Layer(ids, labels.names, 2)]) == path.read_bytes()
    chunks = list(read_columns(path, wanted=wanted, chunk_size=100_000))
    assert len(chunks) > 1
    written = [part.format.write(part, [Layer(labels.ids(part, 2), labels.names, 2)]) for part in chunks]
    assert b"".join(written) == columns.data


def test_classic_chunking_template_has_76328_features():
    extractor, table = Extractor(load_template("conll2000")), KeyTable()
    parts = [
        encode(columns, extractor, table, grow=True)
        for columns in read_columns(CORPORA / "conll2000/train.txt", wanted=(0, 1))
    ]
    assert len(table) == 338551
    _, table = cut(parts, table, 3)
    assert len(table) == 76328
