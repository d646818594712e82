"""Column files: what is a token, what is a sentence, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm.files.errors import DataError
from taggers.formats._columns import Columns
from taggers.formats._scan import find_last_boundary
from tests.taggers.tagger_twins import CONLLU, PETS, scan_columns, tricky


def test_columns_of_space_separated_file():
    columns = Columns(PETS, (0, -1))
    assert columns.sentences(0) == [["The", "cat", "sleeps"], ["It", "purrs"]]
    assert columns.sentences(1) == [["B-NP", "I-NP", "B-VP"], ["B-NP", "B-VP"]]
    assert (columns.n_columns, columns.wanted, columns.separator) == (3, (0, 2), " ")
    assert columns.line(3) == 5
    assert columns.sentence_ptr.dtype == np.int64


def test_runs_of_spaces_and_tabs_count_once_where_the_first_line_has_no_tab():
    columns = Columns(b"  the   DT \ncat \t NN\n", (0, 1))
    assert columns.texts(0) == ["the", "cat"]
    assert columns.texts(1) == ["DT", "NN"]


def test_tabs_separate_empty_columns_and_words_with_spaces():
    columns = Columns(b"New York\t\tLOC\nis\tVBZ\tO\n", (0, 1, 2))
    assert columns.texts(0) == ["New York", "is"]
    assert columns.texts(1) == ["", "VBZ"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_carriage_returns_belong_to_no_column(end):
    columns = Columns(b"a X\n \t \nb Y".replace(b"\n", end), (0, 1))
    assert columns.sentences(1) == [["X"], ["Y"]]


def test_words_that_start_with_a_hash_are_words():
    assert Columns(b"#1 NN\n# SYM\n#tag NN\n").texts() == ["#1", "#", "#tag"]


COMMENTED = b"# sent_id = 1\n# text = A # b\nA\tX\n#\tY\nb\tX\n\n# sent_id = 2\n#\tY\n"


@pytest.mark.parametrize("tab", [b"\t", b" "])
def test_comments_before_a_sentence_are_not_tokens_but_the_token_hash_is(tab):
    columns = Columns(COMMENTED.replace(b"\t", tab), (0, 1))
    assert columns.n_columns == 2
    assert columns.sentences(0) == [["A", "#", "b"], ["#"]]
    assert [columns.line(token) for token in range(columns.n_tokens)] == [3, 4, 5, 8]


def test_the_number_of_columns_tells_a_comment_from_the_token_hash():
    assert Columns(b"# SYM\nis VBZ\n").sentences() == [["#", "is"]]
    assert Columns(b"# NN NN\nis VBZ\n").sentences() == [["is"]]
    assert Columns(b"#\thttp://x\t[2009]\n1\ta\tO\tO\n", (1,)).sentences() == [["a"]]
    assert Columns(b"# 1\n# 2\n", (1,)).sentences() == [["1", "2"]]
    assert Columns(b"word\n#\n").sentences() == [["word", "#"]]
    with pytest.raises(DataError, match="3 columns where the lines before have 2"):
        Columns(b"is VBZ\n# x y\n")  # inside a sentence
    with pytest.raises(DataError, match="1 column where"):
        Columns(b"is VBZ\n\n#tag\n")


def test_docstart_is_a_boundary_and_no_token():
    columns = Columns(b"-DOCSTART- -X- O O\na B c O\n-DOCSTART-\nb B c O\n-DOCSTART-x B c O\n", (0, 3))
    assert columns.sentences(0) == [["a"], ["b", "-DOCSTART-x"]]


def test_byte_order_mark_is_skipped():
    assert Columns(b"\xef\xbb\xbfword NN\n").texts() == ["word"]


def test_conllu_skips_ranges_empty_nodes_and_comments_but_no_hashtag():
    columns = Columns(CONLLU, (1, 3), format="conllu")
    assert columns.sentences(0) == [["Du", "schläfst", "in", "dem", "Bett"], ["#ja"]]
    assert columns.texts(1) == ["PRON", "VERB", "ADP", "DET", "NOUN", "INTJ"]


@pytest.mark.parametrize(
    ("data", "options", "line", "words"),
    [
        (b"a X\nb\n", {}, 2, "1 column where the lines before have 2"),
        (b"a X\nb Y Z\n", {}, 2, "3 columns"),
        (b"\na\n", {"wanted": (0, 1)}, 2, "so there is no column 1 "),
        (b"a\n", {"wanted": (0, -1)}, 1, "column 0 of 1 is used twice"),
        (b"a X\nb\xff Y\n", {}, 2, "0xff is not valid UTF-8"),
        (b"a X\n\nb\0 Y\n", {}, 3, "NUL"),
        (b"1\ta\n", {"format": "conllu"}, 1, "2 columns instead of 10"),
        (b"a b\n", {"format": "conllu"}, 1, "1 column instead of 10"),
        (b"x" + b"\t_" * 9, {"format": "conllu"}, 1, "not a CoNLL-U token number"),
        (b"1" + b"\t_" * 9 + b"\n# late\n", {"format": "conllu"}, 2, "comments may only come before"),
    ],
)
def test_wrong_lines_are_named(data, options, line, words):
    with pytest.raises(DataError, match=words) as error:
        Columns(data, name="pets.txt", first_line=100, **options)
    assert str(error.value).startswith(f"pets.txt:{99 + line}: ")
    assert error.value.line == 99 + line


@pytest.mark.parametrize(
    "bad",
    [b"\x80", b"\xc0\x80", b"\xc3", b"\xe0\x80a", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf5", b"\xe2("],
)
def test_invalid_utf8_is_refused_wherever_it_stands(bad):
    for padding in range(10):
        with pytest.raises(DataError, match="UTF-8"):
            Columns(b"a" * padding + bad)


@given(st.binary(max_size=60))
def test_utf8_check_agrees_with_python(data):
    data = data.replace(b"\0", b"")
    try:
        data.decode()
        valid = True
    except UnicodeDecodeError:
        valid = False
    try:
        Columns(data, ())
        refused = False
    except DataError as error:
        refused = "UTF-8" in str(error)
    assert refused == (not valid)


@given(tricky, st.booleans())
def test_scanner_agrees_with_its_twin(data, tabs):
    expected = scan_columns(data, tabs)
    if expected is None:
        with pytest.raises(DataError, match="columns"):
            Columns(data, separator="\t" if tabs else " ")
        return
    columns = Columns(data, separator="\t" if tabs else " ")
    assert columns.sentences() == [[token[0].decode() for token in sentence] for sentence in expected]


@given(tricky, st.sampled_from(["columns", "conllu", "crfsuite"]))
def test_any_bytes_are_read_or_refused(data, format):
    try:
        columns = Columns(data, format=format)
    except DataError:
        return
    assert columns.n_tokens == columns.sentence_ptr[-1] == len(columns.texts())
    assert (np.diff(columns.sentence_ptr) > 0).all()


@given(tricky)
def test_a_cut_at_a_blank_line_changes_no_sentence(data):
    cut = find_last_boundary(data)
    try:
        whole = Columns(data, separator=" ").sentences()
    except DataError:
        return
    left = Columns(data[:cut], separator=" ")
    right = Columns(data[cut:], separator=" ", first_line=2 if cut else 1)
    assert left.sentences() + right.sentences() == whole


def test_a_line_of_ten_million_characters_is_read():
    columns = Columns(b"x" * 10_000_000 + b" NN\n", (0, 1))
    assert columns.text(0, 1) == "NN"
    assert len(columns.text(0)) == 10_000_000


def test_sentences_from_python_may_hold_anything():
    sentences = [[("a b", "X"), ("", "Y\n")], [], [("ü\t", "Z")]]
    columns = Columns.from_sentences(sentences)
    assert columns.sentences(0) == [["a b", ""], [], ["ü\t"]]
    assert columns.sentences(1) == [["X", "Y\n"], [], ["Z"]]
    assert Columns.from_sentences([["one", "two"]]).sentences() == [["one", "two"]]
    assert Columns.from_sentences([]).n_tokens == 0
    with pytest.raises(DataError, match="columns"):
        Columns.from_sentences([[("a", "b"), ("c",)]])
