"""Features as strings with values: python-crfsuite's dicts, and CRFsuite's files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm.files.errors import DataError
from taggers.features.extract import KeyTable, encode_dicts, encode_items, item_names
from taggers.features.feature_names import name_rows
from taggers.formats._columns import Columns
from taggers.labels._labels import Labels
from tests.taggers.tagger_twins import text_hash

plain = st.text(max_size=3)
item = st.recursive(
    st.lists(plain, max_size=3),
    lambda inner: st.dictionaries(plain, plain | st.floats(0.5, 2) | st.booleans() | inner, max_size=3),
    max_leaves=6,
)


def named(features, table, names):
    """Each token's features as (name, value) pairs."""
    known = name_rows(table, strings=names)
    values = features.values if features.values is not None else np.ones(len(features.rows))
    pairs = [(known[row], float(value)) for row, value in zip(features.rows, values, strict=True)]
    return [pairs[a:b] for a, b in zip(features.token_ptr, features.token_ptr[1:], strict=False)]


def test_dicts_are_read_as_python_crfsuite_reads_them():
    token = {
        "bias": 1.0,
        "word": "cat",
        "is_title": True,
        "is_digit": False,
        "length": 3,
        "next": {"word": "sat", "tag": {"V": 0.5}},
        "suffixes": ["at", "t"],
        b"bytes": 2,
    }
    table = KeyTable()
    features = encode_dicts([[token, ["word:cat"]], []], table, grow=True)
    names = [*item_names({k: v for k, v in token.items() if k != b"bytes"}), "bytes"]
    assert named(features, table, names) == [
        [
            ("bias", 1.0),
            ("word:cat", 1.0),
            ("is_title", 1.0),
            ("length", 3.0),
            ("next:word:sat", 1.0),
            ("next:tag:V", 0.5),
            ("suffixes:at", 1.0),
            ("suffixes:t", 1.0),
            ("bytes", 2.0),
        ],
        [("word:cat", 1.0)],
    ]
    assert features.sentence_ptr.tolist() == [0, 2, 2]


@given(st.lists(st.lists(item, max_size=3), max_size=3))
def test_dicts_hash_to_the_keys_of_their_names(sentences):
    table = KeyTable()
    features = encode_dicts(sentences, table, grow=True)
    kept = encode_dicts(sentences, KeyTable(table.keys))
    np.testing.assert_array_equal(features.rows, kept.rows)
    names = {name for sentence in sentences for token in sentence for name in item_names(token)}
    assert set(table.keys.tolist()) <= {text_hash(name or "\0") for name in names}


def test_names_alone_have_no_values():
    assert encode_dicts([[["a", "b"], {"c": "d", "e": 1, "f": True}]], KeyTable(), grow=True).values is None


def test_unknown_names_are_left_out():
    table = KeyTable()
    encode_dicts([[["a"]]], table, grow=True)
    assert encode_dicts([[["b", "a"], ["c"]]], table).rows.tolist() == [0]
    assert len(table) == 1


@pytest.mark.parametrize(
    ("token", "error"),
    [
        ("word", TypeError),
        ({1: 2}, TypeError),
        ([None], TypeError),
        ({"a": None}, TypeError),
        ({"a": float("nan")}, ValueError),
        ({"a": float("inf")}, ValueError),
    ],
)
def test_what_is_not_a_feature_is_refused(token, error):
    with pytest.raises(error):
        encode_dicts([[token]], KeyTable(), grow=True)


def test_endless_nesting_is_refused():
    token = {}
    token["self"] = token
    with pytest.raises(ValueError, match="nested"):
        encode_dicts([[token]], KeyTable())


def test_crfsuite_files():
    data = b"B-NP\tw=the\tw\\:x\\\\y:2.5\tzero:0\tempty:\r\nO\n\nO\t\tw=the:1e-2\t"
    columns, table = Columns(data, format="crfsuite"), KeyTable()
    features = encode_items(columns, table, grow=True)
    assert named(features, table, ["w=the", "w:x\\y", "empty"]) == [
        [("w=the", 1.0), ("w:x\\y", 2.5), ("empty", 1.0)],
        [],
        [("w=the", pytest.approx(0.01))],
    ]
    assert features.sentence_ptr.tolist() == [0, 2, 3]
    labels = Labels()
    assert labels.ids(columns, 0, grow=True).tolist() == [0, 1, 1]


@pytest.mark.parametrize("value", [b"x", b"1.5.2", b"nan", b"1 ", b" 1", b"1e999", b"1" * 100])
def test_bad_values_are_named(value):
    columns = Columns(b"O\ta\nO\tb:" + value, format="crfsuite", name="f.txt")
    with pytest.raises(DataError, match=r"^f\.txt:2: the value of a feature is not a number"):
        encode_items(columns, KeyTable(), grow=True)


def test_only_crfsuite_files_hold_items():
    with pytest.raises(ValueError, match="hold words, not features"):
        encode_items(Columns(b"a b\n"), KeyTable())
