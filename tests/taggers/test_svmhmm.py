"""SVM-HMM's format: detected, trained on, tagged and evaluated; bad lines are named."""

from io import BytesIO
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm.files.errors import DataError
from taggers import SequenceTagger
from taggers.commands import evaluate, inspect, tag, train
from taggers.features.extract import KeyTable, encode_items
from taggers.features.feature_names import name_rows
from taggers.formats.base import Layer
from taggers.formats.files import Opened, detect, first_lines, read_all, read_columns
from taggers.formats.registry import find

FORMAT = find("svmhmm")
DATA = b"""# two sentences
1 qid:1 1:0.5 7:1 # the
B-x  qid:1\t2:-1.5e-1  # 3:1

1 qid:1\r
2 qid:10 7:2
"""


def opened(data):
    return Opened(BytesIO(data), FORMAT, name="f.dat").read()


def items(columns, table, **options):
    """Each token's features as {number: value}."""
    features = encode_items(columns, table, **options)
    names = name_rows(table, strings=set(FORMAT.feature_names(columns)))
    values = np.ones(len(features.rows)) if features.values is None else features.values
    pairs = [(int(names[row]), float(value)) for row, value in zip(features.rows, values, strict=True)]
    ends = features.token_ptr.tolist()
    return [dict(pairs[a:b]) for a, b in pairwise(ends)]


def corpus(n, seed=0):
    """Sentences in which feature 1 or 2 tells the label, and noise does not."""
    rng = np.random.default_rng(seed)
    lines = []
    for qid in range(1, n + 1):
        for _ in range(rng.integers(1, 6)):
            label = int(rng.integers(2))
            noise = " ".join(f"{k}:{rng.normal():.3f}" for k in sorted(rng.choice(range(3, 30), 3, False)))
            lines.append(f"{label + 1} qid:{qid} {label + 1}:0.8 {noise} # token {len(lines)}\n")
    return "".join(lines).encode()


def test_lines_are_labels_sentences_and_features():
    columns = opened(DATA)
    assert columns.sentences() == [["1", "B-x", "1"], ["2"]]
    assert [columns.line(token) for token in range(4)] == [2, 3, 5, 6]
    table = KeyTable()
    assert items(columns, table, grow=True) == [
        {1: 0.5, 7: 1.0}, {2: pytest.approx(-0.15)}, {}, {7: 2.0},
    ]  # fmt: skip
    assert items(columns, KeyTable(table.keys[:1])) == [{1: 0.5}, {}, {}, {}]


def test_features_of_value_0_are_left_out_and_values_of_1_are_not_stored():
    table = KeyTable()
    features = encode_items(opened(b"a qid:1 1:1 2:0 3:1.0\n"), table, grow=True)
    assert (features.rows.tolist(), features.values, len(table)) == ([0, 1], None, 2)


def test_the_format_is_detected():
    assert detect(first_lines(DATA)) is FORMAT
    assert detect(first_lines(b"1 qid:1 1:2\n")) is FORMAT
    assert detect(first_lines(b"1 qid:1 1:2\nword NN\n")) is not FORMAT
    assert detect(first_lines(b"# 1\n# 2\n")).name == "columns"


def test_labels_replace_the_first_field_and_every_other_byte_is_kept():
    columns = opened(DATA)
    written = FORMAT.write(columns, [Layer(np.array([0, 1, -1, 1], np.int32), ["long", "0"], 0)])
    assert written == DATA.replace(b"1 qid:1 1", b"long qid:1 1").replace(b"B-x", b"0").replace(
        b"2 qid:10", b"0 qid:10"
    )
    for bad in ("a b", "", "a#"):
        with pytest.raises(ValueError, match="cannot be written"):
            FORMAT.write(columns, [Layer(np.zeros(4, np.int32), [bad], 0)])


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"1 1:0.5", "no qid after the label; write lines as in: label qid:1"),
        (b"1 qid:x 1:1", "no qid"),
        (b"1 qid:1.5 1:1", "no qid"),
        (b"qid:1 1:1", "no qid"),
        (b"1 qid:2 1:1\n1 qid:1 1:1", "qid:1 returns after other sentences; sort the lines by qid"),
        (b"1 qid:1 7", "'7' is not a feature; write number:value"),
        (b"1 qid:1 7:", "is not a feature"),
        (b"1 qid:1 0:1", "with numbers from 1"),
        (b"1 qid:1 w:1", "'w:1' is not a feature"),
        (b"1 qid:1 7:nan", "'7:nan' is not a feature"),
        (b"1 qid:1 7:inf", "'7:inf' is not a feature"),
        (b"1 qid:1 7:1e39", "the value of feature 7 is too large"),
        (b"1 qid:1 7:1 3:1", "feature 3 follows a larger or equal number; write the numbers"),
        (b"1 qid:1 7:1 7:1", "feature 7 follows"),
        (b"1 qid:1 " + b"1:1 " * 40 + b"x", "is not a feature"),
        (b"\xff qid:1 1:1", "not valid UTF-8"),
    ],
)  # fmt: skip
def test_bad_lines_are_named(line, what):
    data = b"# one\n1 qid:1 1:1\n" + line + b"\n"
    with pytest.raises(DataError) as error:
        encode_items(opened(data), KeyTable(), grow=True)
    assert error.value.line == 3 + line.count(b"\n")
    assert str(error.value).startswith(f"f.dat:{error.value.line}: ")
    assert what in str(error.value)


def test_a_qid_that_returns_in_a_later_part_of_the_file_is_refused(tmp_path):
    path = tmp_path / "f.dat"
    path.write_bytes(corpus(50) + b"1 qid:1 1:1\n")
    with pytest.raises(DataError, match="qid:1 returns"):
        list(read_columns(path, chunk_size=100))


lines = st.builds(
    lambda label, qid, features, end: f"{label} qid:{qid}{features}{end}".encode(),
    st.sampled_from(["1", "a", "é", " b"]),
    st.integers(1, 4),
    st.sampled_from(["", " 1:1", " 1:1 2:-2.5", "\t3:.5", " x", " 1"]),
    st.sampled_from(["\n", "\r\n", " # c\n", "\n\n", "\n# qid:9 c\n", ""]),
)


@given(st.lists(lines | st.binary(max_size=8), max_size=8).map(b"".join), st.integers(1, 30))
def test_any_bytes_are_read_or_refused_and_parts_are_the_whole(tmp_path_factory, data, size):
    path = tmp_path_factory.getbasetemp() / "any.dat"
    path.write_bytes(data)

    def read(chunk_size):
        table = KeyTable()
        try:
            parts = list(read_columns(path, "svmhmm", chunk_size=chunk_size))
            found = [item for part in parts for item in items(part, table, grow=True)]
        except DataError as error:
            return str(path) in str(error) and "\n" not in str(error)
        assert b"".join(part.data for part in parts) == data
        rows = [(part.line(token), part.text(token)) for part in parts for token in range(part.n_tokens)]
        return found, rows, [sentence for part in parts for sentence in part.sentences()]

    whole = read(None)
    assert whole
    assert read(size) == whole


def test_training_tagging_and_evaluation(tmp_path):
    for name, seed in (("train.dat", 0), ("test.dat", 1)):
        (tmp_path / name).write_bytes(corpus(60, seed))
    model, test, output = tmp_path / "m", tmp_path / "test.dat", tmp_path / "out.dat"
    train("label", tmp_path / "train.dat", model, dev=test, keep_names=True)
    assert evaluate(model, test).accuracy == 1
    tokens = tag(model, test, output)
    assert output.read_bytes() == test.read_bytes()
    assert tokens == len(read_all(test))
    test.write_bytes(test.read_bytes().replace(b"\n2 qid", b"\n1 qid"))
    tag(model, test, output, jobs=2)
    assert output.read_bytes() == corpus(60, 1)
    found = inspect(model, names=tmp_path / "train.dat")
    assert found["columns"] == {
        "format": "svmhmm", "inputs": [], "label": 0, "n_columns": 1, "task": "label",
    }  # fmt: skip
    assert {name for name, _, _ in found["strongest"][:4]} == {"1", "2"}
    with pytest.raises(DataError, match="no room for scores"):
        tag(model, test, output, scores=True)
    with pytest.raises(ValueError, match="--template has no effect on SVM-HMM's format"):
        train("label", test, tmp_path / "x", template="pos")


def test_files_serve_python_too(tmp_path):
    (tmp_path / "f.dat").write_bytes(corpus(40))
    columns = read_all(tmp_path / "f.dat")
    tagger = SequenceTagger().fit(columns, 0)
    assert tagger.predict(columns) == columns.sentences()
    dicts = [[{"1": 0.8} if label == "1" else {"2": 0.8} for label in s] for s in columns.sentences()]
    assert tagger.predict(dicts) == columns.sentences()
