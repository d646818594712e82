"""Templates: the text form, CRF++ files, and what is wrong with them."""

import pytest

from structsvm.files.errors import DataError
from taggers.features.template import Cell, load_template, parse_template


def cells(text):
    return [pattern.cells for pattern in parse_template(text).patterns]


def test_cells_ranges_and_attributes():
    assert cells("w[-1]|p[+1], c2.lower[0]\nsuffix3[0]") == [
        (Cell(0, "", -1), Cell(1, "", 1)),
        (Cell(2, "lower", 0),),
        (Cell(0, "suffix3", 0),),
    ]
    assert cells("p.shape[-1..1]") == [(Cell(1, "shape", offset),) for offset in (-1, 0, 1)]
    assert cells("bias") == [()]


def test_equal_patterns_have_one_identity_however_they_are_written():
    assert parse_template(" suffix2[0] | w[+1] ,").patterns == parse_template("w.suffix2[0]|w[1]").patterns


def test_crfpp_files_are_read_as_they_are():
    template = parse_template("# Unigram\nU00:%x[-2,0]\nU05:%x[-1,0]/%x[ 10,12 ]\n\nB\nB1:%x[0,0]\n")
    assert [pattern.cells for pattern in template.patterns] == [
        (Cell(0, "", -2),),
        (Cell(0, "", -1), Cell(12, "", 10)),
    ]
    assert template.transitions
    assert [pattern.cells for pattern in template.bigrams] == [(Cell(0, "", 0),)]
    assert template.width == 13
    assert template.patterns[1].name(["a", "b"]) == "U05:a/b"


def test_crfpp_lines_without_identifier_share_features():
    first, second, third = parse_template("U:%x[-1,0]\nU:%x[1,0]\nU1:%x[1,0]").patterns
    assert first.identity == second.identity != third.identity


@pytest.mark.parametrize(
    "name", ["w[-1..1], w.lower[0]|p[0], bias", "U00:%x[0,0]\nU1:%x[1,0]/%x[0,1]\nB", "conll2000"]
)
def test_a_templates_text_reads_back(name):
    template = load_template(name) if name == "conll2000" else parse_template(name)
    assert parse_template(template.text) == template


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("w[0]\nx[0]", 2, "unknown attribute 'x'"),
        ("w", 1, "neither a cell"),
        ("w[0", 1, "neither a cell"),
        ("w[1000]", 1, "must be within"),
        ("U00:%y[0,0]", 1, "macro"),
        ("U00:%x[0]", 1, "macro"),
        ("# nothing", 0, "empty"),
    ],
)
def test_mistakes_are_named(text, line, words):
    with pytest.raises(DataError, match=words) as error:
        parse_template(text, file="t.txt")
    assert str(error.value).startswith(f"t.txt:{line}:" if line else "t.txt:")


def test_files_are_read(tmp_path):
    path = tmp_path / "template"
    path.write_bytes(b"\xef\xbb\xbfU00:%x[0,0]\r\nB\r\n")
    assert load_template(path).text == "U00:%x[0,0]\nB"
    with pytest.raises(ValueError, match="neither a template file nor"):
        load_template(tmp_path / "absent")
    path.write_bytes(b"\xff")
    with pytest.raises(DataError, match="UTF-8"):
        load_template(path)
