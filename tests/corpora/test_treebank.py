"""Penn brackets: read as nested tuples, told by file and line where they are wrong."""

import pytest

from corpora import load_trec, load_treebank, read_trees
from corpora.readers.treebank import n_leaves, skeleton
from structsvm.files.errors import DataError

TEXT = """
( (S
    (NP-SBJ-1 (DT the) (NN cat))
    (VP (VBZ sleeps)
      (S (NP (-NONE- *-1))
         (ADVP|PRT (RB well)))) (. .)))
(NP (NP (CD two)) )
"""


def test_trees_are_nested_tuples_without_an_outer_bracket():
    first, second = read_trees(TEXT)
    assert first[0] == "S"
    assert first[1] == ("NP-SBJ-1", ("DT", "the"), ("NN", "cat"))
    assert second == ("NP", ("NP", ("CD", "two")))


def test_a_skeleton_has_tags_and_no_traces_functions_or_labels_above_themselves():
    first, second = map(skeleton, read_trees(TEXT))
    assert first == ("S", ("NP", "DT", "NN"), ("VP", "VBZ", ("S", ("ADVP", "RB"))), ".")
    assert second == ("NP", "CD")
    assert n_leaves(first) == 5
    assert skeleton(("S", ("NP", ("-NONE-", "*")))) is None
    assert skeleton(("NP", ("-LRB-", "("), ("NN", "x"))) == ("NP", "-LRB-", "NN")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("(S (NP x)\n  (VP y)", 1, "this bracket is not closed"),
        ("(S x)\n(VP\n (V y)", 2, "this bracket is not closed"),
        ("(S x))", 1, "was not opened"),
        ("(S x)\n\nand (S y)", 3, "'and' is outside"),
        ("(S x ())", 1, "a label and at least one child"),
        ("(S x\n (NP))", 2, "a label and at least one child"),
        ("((S x) (S y))", 1, "a label and at least one child"),
    ],
)
def test_malformed_brackets_are_reported_by_file_and_line(text, line, what):
    with pytest.raises(DataError, match=what) as caught:
        list(read_trees(text, file="trees.mrg"))
    assert str(caught.value).startswith(f"trees.mrg:{line}: ")


def test_trec_lines_without_a_class_are_reported(tmp_path):
    folder = tmp_path / "trec_questions" / "qc"
    folder.mkdir(parents=True)
    (folder / "train.txt").write_text("NUM:date When is it ?\nwithout a class\n")
    (folder / "test.txt").write_text("")
    with pytest.raises(DataError, match=r"train.txt:2: expected `COARSE:fine question`"):
        load_trec(tmp_path)


@pytest.mark.corpora
def test_the_sample_has_its_sentences():
    short = load_treebank(max_length=10)
    assert len(short) == 393
    assert max(map(n_leaves, short)) == 10
    split = load_trec()
    assert (len(split.X_train), len(split.X_test), len(set(split.y_train))) == (5452, 500, 50)
