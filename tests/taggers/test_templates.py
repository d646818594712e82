"""Templates: the text form, CRF++ files, and what is wrong with them."""

import pytest

from structsvm.files.errors import DataError
from taggers import NerTagger, SequenceTagger
from taggers.features.template import Cell, fitting_template, load_template, parse_template


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
        ("doc_labl[0]", 1, "did you mean 'doc_label'"),
        ("w", 1, "neither a cell"),
        ("w[0", 1, "neither a cell"),
        ("w[1000]", 1, "must be within"),
        (f"w[-{10**15}..{10**15}]", 1, "must be within"),  # a forged model asked for 200 million patterns
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


def test_templates_add_up(tmp_path):
    ner = fitting_template("ner", 3)
    sums = [
        "ner + c2[-1..+1] + bias",
        ["ner", "c2[-1..1]"],
        "ner+ c2[-1..1]",
        ("ner", "c2[-1], c2[0], c2[1]"),
    ]
    for template in sums:
        assert fitting_template(template, 3).patterns == ner.patterns + parse_template("c2[-1..1]").patterns
    path = tmp_path / "a+b"
    path.write_text("U00:%x[1,0]\nB\n")
    for template in (path, str(path), [path], f"{path}"):
        assert fitting_template(template, 1) == load_template(path)
    both = fitting_template(["label", path], 1)
    assert both.transitions
    assert both.patterns[-1] == load_template(path).patterns[0]
    assert fitting_template("w[0] + y[-1]|w[0]", 1).bigrams == parse_template("y[-1]|w[0]").bigrams


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("ner +", "must stand between two templates"),
        ("ner + c2[0]", "reads column 2 .* has 1 columns"),
        ("ner + nothing", "'nothing' is neither a template file nor"),
        ("ner + doc_label", "give attributes an offset, such as"),
        ("ner + w[0", "neither a cell"),
        (len, "a template must be a name, a file or patterns .*, got <built-in"),
        (range(3), "must be a name, a file or patterns"),
        ([], "must be a name, a file or patterns"),
        (["ner", 3], "got 3"),
    ],
)
def test_what_is_not_a_template_is_refused(template, words):
    with pytest.raises(ValueError, match=words):
        NerTagger(template=template).fit([["Ada"]], [["B-PER"]])


def test_a_column_that_no_pattern_reads_gets_a_warning():
    X = [[("Ada", "N", "ada", "x"), ("runs", "V", "run", "x")]]
    with pytest.warns(UserWarning, match=r"reads the input columns c2, c3 .*'ner \+ c2\[0\]'"):
        SequenceTagger(template="label").fit(X, [["N", "V"]])
    with pytest.warns(UserWarning, match="reads the input column p "):
        SequenceTagger(template="w[0], c2[0], c3[0]").fit(X, [["N", "V"]])


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (len, [["N"]], "X must be a list of sentences, got <built-in"),
        ([5], [["N"]], "a sentence must be a list of tokens, got 5"),
        ([[5]], [["N"]], "a token must be a str, a tuple of str, or its features .* got 5"),
        ([["a", 5]], [["N", "V"]], r"a token must be a str or a tuple of str, got 5 \(sentence 0, token 1\)"),
        ([["a"], ["b", "c", b"d"]], [["N"], ["N"] * 3], r"got b'd' \(sentence 1, token 2\)"),
        ([[("a", "b")], [("a", "b"), ("a", 5)]], [["N"], ["N"] * 2], r"got 5 \(sentence 1, token 1\)"),
        ([[{"w": "a"}, 5]], [["N", "V"]], r"features as a dict or list, got 5 \(sentence 0, token 1\)"),
        ([[["a"]], [["a"], [5]]], [["N"], ["N"] * 2], r"must be a str, got 5 \(sentence 1, token 1\)"),
        ([[{"w": len}]], [["N"]], r"the value of feature 'w' must be .* got <.*> \(sentence 0, token 0\)"),
    ],
)
def test_what_is_not_a_sentence_or_token_is_refused(X, y, words):
    with pytest.raises(TypeError, match=words):
        SequenceTagger().fit(X, y)
