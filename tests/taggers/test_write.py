"""Labels back into files: nothing else may change."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm.files.errors import DataError
from taggers.formats._columns import Columns
from taggers.formats.base import Layer
from taggers.formats.registry import FORMATS
from taggers.labels._labels import Labels
from tests.taggers.tagger_twins import CONLLU, PETS, tricky


def write(columns, *layer, **options):
    return columns.format.write(columns, [Layer(*layer, **options)])


def ids(*numbers):
    return np.array(numbers, np.int32)


def test_comments_are_kept_and_docstart_gets_as_many_columns_as_a_token():
    columns = Columns(b"-DOCSTART- -X-\r\n\r\n# id = 1\na X\n\n-DOCSTART- -X- \nb X\n-DOCSTART-")
    layers = [Layer(np.array([1, 0], np.int32), ["O", "B"], scores=np.array([0.5, 1]))]
    layers.append(Layer(np.array([0, 0], np.int32), ["NN"]))
    assert columns.format.write(columns, layers) == (
        b"-DOCSTART- -X- O _ -X-\r\n\r\n# id = 1\na X B 0.5000 NN\n\n"
        b"-DOCSTART- -X- O _ -X- \nb X O 1.0000 NN\n-DOCSTART- O _ -X-"
    )
    columns = Columns(b"\xef\xbb\xbf-DOCSTART-\tO\n\na\tX\n", (0, 1))
    replaced = [Layer(np.array([0], np.int32), ["B"], 1)]
    assert columns.format.write(columns, replaced) == b"\xef\xbb\xbf-DOCSTART-\tO\n\na\tB\n"
    appended = [Layer(np.array([0], np.int32), ["B", "O"])]
    assert columns.format.write(columns, appended) == b"\xef\xbb\xbf-DOCSTART-\tO\tO\n\na\tX\tB\n"


def test_append_uses_the_separator_of_each_line():
    columns = Columns(b"-DOCSTART- -X-\n\na X\r\n b  Y \nc\tZ", separator=" ")
    assert write(columns, ids(0, 1, 0), ["N", "VB"]) == b"-DOCSTART- -X- -X-\n\na X N\r\n b  Y VB \nc\tZ\tN"


def test_append_to_a_single_column():
    assert write(Columns(b"a\n b\n"), ids(0, -1), ["N"]) == b"a N\n b _\n"
    assert write(Columns(b"a b\n", separator="\t"), ids(0), ["N"]) == b"a b\tN\n"


def test_replace_keeps_every_other_byte_of_conllu():
    columns = Columns(CONLLU, (1, 3), format="conllu")
    result = write(columns, ids(0, 0, 0, 0, 0, -1), ["LONGER"], column=1)
    for tag in (b"PRON", b"VERB", b"ADP", b"DET", b"NOUN"):
        assert tag in CONLLU
        assert tag not in result
    assert result.replace(b"LONGER", b"") == CONLLU.replace(b"PRON", b"").replace(b"VERB", b"").replace(
        b"ADP", b""
    ).replace(b"DET", b"").replace(b"NOUN", b"")


def test_scores_are_appended():
    scores = np.array([1.5, 1e300])
    columns = Columns(b"a X\nb Y\n", (0, 1))
    assert write(columns, ids(0, 0), ["N"], scores=scores) == b"a X N 1.5000\nb Y N 1.000000e+300\n"
    assert write(columns, ids(0, 0), ["N"], column=1, scores=scores).startswith(b"a N 1.5000\n")


def test_several_columns_are_written_in_one_pass():
    columns = Columns(b"a X 1\n\nb\tY\t2 \n", (2, 0, 1), separator=" ")
    scores = np.array([0.5, -np.inf])
    replaced = [Layer(ids(0, 1), ["one", "two"], 0), Layer(ids(1, 0), ["P", "Q"], 2)]
    appended = [Layer(ids(0, -1), ["N"], scores=scores), Layer(ids(0, 0), ["M"])]
    assert columns.format.write(columns, replaced) == b"a Q one\n\nb\tP\ttwo \n"
    assert columns.format.write(columns, appended) == b"a X 1 N 0.5000 M\n\nb\tY\t2\t_\t-inf\tM \n"
    both = columns.format.write(columns, [*appended, *replaced])
    assert both == b"a Q one N 0.5000 M\n\nb\tP\ttwo\t_\t-inf\tM \n"


def test_scores_go_into_misc_where_the_format_says_so():
    lines = [f"{k}\tw{k}\t_\tX\t_\t_\t_\t_\t_\t{misc}" for k, misc in enumerate(["_", "A=1", "__", ""], 1)]
    data = "\n".join(["# one", *lines[:2], "2-3\tab" + "\t_" * 8, *lines[2:], ""]).encode()
    columns = Columns(data, (1, 3, 9), format="conllu")
    scores = np.array([0.5, 1, 2, 3])
    result = write(columns, ids(0, 0, 0, 0), ["N"], column=1, scores=scores).decode().split("\n")
    assert [line.split("\t")[-1] for line in result if "\tN\t" in line] == [
        "Margin=0.5000", "A=1|Margin=1.0000", "__|Margin=2.0000", "Margin=3.0000",
    ]  # fmt: skip
    assert [line for line in result if "Margin" not in line] == ["# one", "2-3\tab" + "\t_" * 8, ""]
    into_misc = write(columns, ids(0, 0, -1, 0), ["M"], column=2, scores=scores)
    assert b"\tM|Margin=0.5000\n" in into_misc
    assert b"\t__|Margin=2.0000\n" in into_misc


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((ids(0), ["N"]), {}),
        ((ids(0, 1, 0, 0, 0), ["N"]), {}),
        ((ids(0, -2, 0, 0, 0), ["N"]), {}),
        ((ids(0, 0, 0, 0, 0), ["N M"]), {}),
        ((ids(0, 0, 0, 0, 0), [""]), {}),
        ((ids(0, 0, 0, 0, 0), ["N"]), {"column": 1}),
        ((ids(0, 0, 0, 0, 0), ["N"]), {"scores": np.zeros(4)}),
    ],
)
def test_what_does_not_fit_is_refused(arguments, options):
    with pytest.raises(ValueError, match=r"\w"):
        write(Columns(PETS), *arguments, **options)


def test_columns_from_python_cannot_be_written():
    with pytest.raises(ValueError, match="not read from a file"):
        write(Columns.from_sentences([["a"]]), ids(0), ["N"])


@given(tricky, st.sampled_from(["columns", "conllu", "crfsuite"]), st.sampled_from([None, " ", "\t"]))
def test_writing_the_same_labels_gives_the_same_bytes(data, format, separator):
    try:
        columns = Columns(data, (0,), format=format, separator=separator)
    except DataError:
        return
    labels = Labels()
    numbers = labels.ids(columns, 0, grow=True)
    assert [labels.names[n] if n >= 0 else "" for n in numbers] == columns.texts(0)
    names = labels.names
    if any("\r" in name or " " in name for name in names):
        return
    assert write(columns, numbers, names, column=0) == data


@given(tricky)
def test_an_appended_column_is_read_back(data):
    try:
        columns = Columns(data, separator=" ")
    except DataError:
        return
    numbers = np.arange(columns.n_tokens, dtype=np.int32) % 3
    names = ["B-A", "I-A", "O"]
    again = Columns(write(columns, numbers, names), (0, -1) if columns.n_tokens else (0,), separator=" ")
    assert again.sentences(0) == columns.sentences(0)
    if columns.n_tokens:
        assert again.texts(1) == [names[n] for n in numbers]


def test_labels_are_numbered_in_order_and_unknown_ones_are_minus_one():
    columns = Columns(PETS, (2,))
    labels = Labels(["O"])
    assert labels.ids(columns, 0).tolist() == [-1] * 5
    assert labels.ids(columns, 0, grow=True).tolist() == [1, 2, 3, 1, 3]
    assert labels.names == ["O", "B-NP", "I-NP", "B-VP"]
    assert labels.encode([["O", "B-VP"], ["new"]]).tolist() == [0, 3, -1]
    assert labels.index("I-NP") == 2
    with pytest.raises(ValueError, match="twice"):
        Labels(["a", "a"])


def test_many_labels():
    data = "".join(f"w L{i}\n" for i in range(5000)).encode()
    assert Labels().ids(Columns(data, (1,)), 0, grow=True).tolist() == list(range(5000))


def test_two_layers_cannot_replace_one_column():
    columns = Columns(b"a X\nb Y\n", (0, 1), separator=" ")
    layer = Layer(ids(0, 0), ["N"], 1)
    with pytest.raises(ValueError, match="same column"):
        columns.format.write(columns, [layer, layer])


@pytest.mark.parametrize(
    ("spans", "ends", "ptr"),
    [
        ([(0, 10**6)], [1], [0, 1]),
        ([(-1, 1)], [1], [0, 1]),
        ([(0, -1)], [1], [0, 1]),
        ([(0, 1)], [9], [0, 1]),
        ([(0, 1)], [1], [0, 5]),
        ([(0, 1)], [1], [1]),
        ([(0, 1)], [1], [1, 1]),
    ],
)
def test_positions_outside_the_data_are_refused(spans, ends, ptr):
    whole = Columns.from_spans(b"a X\n", [(0, 1)], [3], [0], [0, 1], format=FORMATS["columns"], n_columns=1)
    assert whole.texts() == ["a"]
    with pytest.raises(ValueError, match=r"outside the data|sentence_ptr must rise"):
        Columns.from_spans(b"a X\n", spans, ends, [0], ptr, format=FORMATS["columns"], n_columns=1)
