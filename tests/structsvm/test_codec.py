"""A table of fields writes a part of a model file, reads it, and refuses what does not fit."""

import numpy as np
import pytest

from structsvm.files import ModelFileError
from structsvm.files.codec import (
    FLAG,
    POSITIVE,
    Array,
    Arrays,
    Field,
    Kind,
    Table,
    items,
    mapped,
    maybe,
    names,
    number,
    record,
    row,
    text,
    whole,
)

TABLE = Table(
    Field("words", names(least=1), "the words"),
    Field("w", Array(np.float64, "words", "labels"), "the weights"),
    Field("counts", Array((np.uint8, np.uint16), "labels", low=1), "how often", None),
    Field("state.", Arrays(), "the state"),
    Field("steps", whole(1, 9), "the updates", 1),
)
VALUES = {"words": ["a", "b"], "w": np.zeros((2, 3)), "counts": None, "state.": {"x": np.ones(1)}, "steps": 1}


def test_a_table_reads_what_it_wrote_and_files_do_not_contain_defaults():
    arrays, meta = TABLE.write(VALUES, "first.")
    assert sorted(arrays) == ["first.state.x", "first.w"]
    assert meta == {"words": ["a", "b"]}
    found = TABLE.read(arrays, meta, "first.")
    assert list(found) == ["words", "w", "counts", "state.", "steps"]
    assert found["w"] is arrays["first.w"]
    assert (found["counts"], found["steps"], list(found["state."])) == (None, 1, ["x"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"words": ["a", "a"]}, "words must be a list that is not empty and does not repeat a name, got"),
        ({"words": []}, "words must be a list that is not empty"),
        ({"words": ["a", "b", "c"]}, r"w must be float64 of shape \(words, labels\), words = 3, .* got"),
        ({"w": np.zeros((2, 3), np.float32)}, "w must be float64"),
        ({"w": np.zeros(2)}, "w must be float64 of shape"),
        ({"w": np.full((2, 3), np.nan)}, "w has values that are not from"),
        ({"w": None}, "w is missing"),
        ({"counts": np.ones(2, np.uint8)}, "counts must be uint8 or uint16 of shape .*labels = 3"),
        ({"counts": np.zeros(3, np.uint8)}, "counts has values that are not from 1 to"),
        ({"state.": {"x": np.array([np.inf])}}, "state.x has values"),
        ({"steps": 10}, "steps must be an integer from 1 to 9, got 10"),
        ({"steps": 2.0}, "steps must be an integer"),
        ({"steps": None}, "steps must be an integer"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_refused(changes, message):
    arrays, meta = TABLE.write(VALUES | changes)
    with pytest.raises(ValueError, match=message):
        TABLE.read(arrays, meta)


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        (FLAG, [True, False], [0, 1, None, "true"]),
        (POSITIVE, [1, 0.5], [0, -1, float("inf"), float("nan"), 10**400, True]),
        (number(-1, 1), [0, -1, 1.0], [1.5, "1"]),
        (text(("a", "b")), ["a"], ["c", ["a"], None]),
        (text(least=1, utf8=True), ["é", "?"], ["", "\ud800"]),
        (maybe(FLAG), [None, True], [0]),
        (items(whole()), [[], [0, 1]], [[-1], (0,), "ab", {}]),
        (row(FLAG, text()), [[True, ""]], [[True], [True, "", ""], [1, ""]]),
        (mapped(FLAG), [{}, {"x": True}], [{"x": 1}, []]),
        (mapped(), [{"x": object()}], [[]]),
        (record({"a": FLAG}, {"b": FLAG}), [{"a": True}, {"a": True, "b": False, "c": 3}],
         [{}, {"b": True}, {"a": True, "b": 1}, []]),
        (record({"a": FLAG}, {}, empty=True), [{}, {"a": True}], [{"b": True}, []]),
    ],
    ids=lambda value: getattr(value, "text", None),
)  # fmt: skip
def test_a_type_accepts_its_values_and_no_others(kind, right, wrong):
    assert all(map(kind.fits, right))
    assert not any(map(kind.fits, wrong))


def test_files_of_other_kinds_and_versions_are_refused_with_a_hint():
    kind = Kind("bread", "loaf", "bake one", "layout", (1, 2))
    kind.check("m", {"kind": "bread"})  # the first version had no number
    kind.check("m", {"kind": "bread", "layout": 2})
    with pytest.raises(ModelFileError, match="m is not a loaf but has the kind 'cake'; bake one"):
        kind.check("m", {"kind": "cake"}, pie="cut it")
    with pytest.raises(ModelFileError, match="cut it"):
        kind.check("m", {"kind": "pie"}, pie="cut it")
    with pytest.raises(ModelFileError, match="has layout 3, but this version reads layout 2; retrain"):
        kind.check("m", {"kind": "bread", "layout": 3})
