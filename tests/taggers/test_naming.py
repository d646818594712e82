"""Names of features: kept in the model, or found again in a file."""

import json
from itertools import compress

import numpy as np
import pytest

from structsvm.files.persist import ModelFileError, load_model, save_model
from taggers import Chunker, SequenceTagger
from taggers.commands import inspect
from taggers.features.feature_names import feature_names
from taggers.formats._columns import Columns
from taggers.formats.files import read_all
from taggers.model import TaggerModel
from tests.taggers.sentences import chunk_data

X, Y = chunk_data(30)
DICTS = [[{"word": token[0], "long": len(token[0]) > 4} for token in s] for s in X]


@pytest.mark.parametrize("data", [X, DICTS])
def test_every_feature_has_its_name_and_keeps_it(tmp_path, data):
    tagger = SequenceTagger(keep_names=True, cutoff=2).fit(data, Y)
    names = tagger.model_.space.names
    assert len(set(names)) == tagger.n_features_
    assert None not in names
    tagger.save(tmp_path / "m")
    loaded = SequenceTagger.load(tmp_path / "m")
    first = tagger.model_.problem().history
    has_weights = tagger.model_.weights.counts[first:] > 0  # others are left out
    assert loaded.model_.space.names == list(compress(names, has_weights))
    strongest = inspect(tmp_path / "m", top=5)["strongest"]
    assert {name for name, _, _ in strongest} <= set(names)
    tagger.save(tmp_path / "m", prune=float(np.median(np.abs(tagger.model_.weights[:]).max(axis=1))))
    small = TaggerModel.load(tmp_path / "m")
    assert len(small.space.names) == len(small.space) < tagger.n_features_
    assert inspect(small, top=5)["strongest"] == strongest


def test_names_are_those_of_the_keys():
    tagger = SequenceTagger(template="w[0], p[-1]|p[0], y[-1]|w[0]", keep_names=True).fit(X, Y)
    expected = {f"w[0]={token[0]}" for s in X for token in s}
    expected |= {
        f"p[-1]|p[0]={a}|{b}" for s in X for (_, a), (_, b) in zip([("", "_B-1"), *s], s, strict=False)
    }
    expected |= {
        f"y[-1]|w[0]={before}|{token[0]}"
        for s, y in zip(X, Y, strict=True)
        for before, token in zip(["<start>", *y], s, strict=False)
    }
    assert set(tagger.model_.space.names) == expected


def test_names_of_later_data_are_added():
    tagger = Chunker(keep_names=True).partial_fit(X[:10], Y[:10]).partial_fit(X[10:], Y[10:])
    whole = Chunker(keep_names=True).partial_fit(X, Y)
    assert None not in tagger.model_.space.names
    assert sorted(tagger.model_.space.names) == sorted(whole.model_.space.names)


def test_without_keeping_a_file_names_them(tmp_path):
    tagger = SequenceTagger().fit(X, Y)
    assert tagger.model_.space.names is None
    assert inspect(tagger.model_, top=3)["strongest"][0][0].startswith("#")
    data = b"O\tw=a\tb\\:c:2\n\nX\tw=b\n\n"
    (tmp_path / "f").write_bytes(data)
    columns = read_all(tmp_path / "f", "crfsuite")
    tagger = SequenceTagger(keep_names=True).fit(columns, 0)
    assert sorted(tagger.model_.space.names) == ["b:c", "w=a", "w=b"]
    tagger = SequenceTagger().fit(columns, 0)
    assert sorted(feature_names(tagger.model_, columns)) == ["b:c", "w=a", "w=b"]


@pytest.mark.parametrize("text", ["[]", "3", "[1]", "nonsense", "\xff"])
def test_damaged_names_are_refused(tmp_path, text):
    SequenceTagger(template="w[0]", keep_names=True).fit([["a", "b"]], [["X", "Y"]]).save(tmp_path / "m")
    arrays, meta = load_model(tmp_path / "m")
    assert json.loads(bytes(arrays["names"])) == ["w[0]=a", "w[0]=b"]
    save_model(tmp_path / "m", arrays | {"names": np.frombuffer(text.encode("latin-1"), np.uint8)}, meta)
    with pytest.raises(ModelFileError):
        TaggerModel.load(tmp_path / "m")


def test_columns_from_memory_have_names_too():
    tagger = Chunker(keep_names=True).fit(X, Y)
    names = feature_names(tagger.model_, Columns.from_sentences(X))
    assert names == tagger.model_.space.names
