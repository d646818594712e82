"""Files that hold no columns never become columns silently."""

import pytest

from structsvm.files.errors import DataError
from taggers import read_sentences
from taggers.formats.files import open_columns, read_all
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import as_columns

FOREIGN = {
    "lines.json": '{"what": "one two", "why": [[0, 3, "A"]]}\n{"what": "six ten", "why": [[0, 3, "A"]]}\n',
    "array.json": '[\n  {\n    "what": "one two"\n  }\n]\n',
    "list.json": '[{"what": "one two"}]',
    "page.html": "<!DOCTYPE html>\n<p>one</p>\n",
    "feed.xml": '<?xml version="1.0"?>\n<items>\n<item>one two</item>\n</items>\n',
}
COLUMNS = [
    "[ -LRB- O\nA DT O\n",
    "{ ( O\n} ) O\n",
    "<s> O\nthe O\n",
    "[\nword\n]\n",
    "{\nword\n}\n",
    "<3 X\nme Y\n",
]


@pytest.mark.parametrize("name", FOREIGN)
def test_json_and_xml_of_unknown_shape_are_refused(name, tmp_path):
    (tmp_path / name).write_text(FOREIGN[name])
    (tmp_path / "train.txt").write_bytes(as_columns(8))
    refused(run("train", "ner", name, "-q", "-o", "m", cwd=tmp_path), 1, f"{name}:1: looks like")
    assert not (tmp_path / "m").exists()
    assert run("train", "pos", "train.txt", "--columns", "0", "-q", "-o", "m", cwd=tmp_path).returncode == 0
    refused(run("tag", "m", name, cwd=tmp_path), 1, f"{name}:1: looks like")
    refused(run("tag", "en-pos", name, cwd=tmp_path), 1, f"{name}:1: looks like")


@pytest.mark.parametrize("text", COLUMNS)
def test_columns_may_begin_with_brackets(text, tmp_path):
    (tmp_path / "f").write_text(text)
    assert read_all(tmp_path / "f").n_tokens == text.count("\n")


def test_an_explicit_format_reads_them_anyway(tmp_path):
    (tmp_path / "f").write_text('{"a": 1}\n')
    with pytest.raises(DataError, match="looks like JSON"), open_columns(tmp_path / "f"):
        pass
    assert read_all(tmp_path / "f", "text").n_tokens > 1
    assert read_all(tmp_path / "f", "columns").n_tokens == 1


class Kind:
    """A kind of feature of Hugging Face's data sets."""

    def __init__(self, **values):
        vars(self).update(values)


class DataSet(list):
    """Rows with the names of their tags, as a data set of Hugging Face."""

    features = {"tokens": Kind(feature=Kind()), "ner_tags": Kind(feature=Kind(names=["O", "B-PER", "B-LOC"]))}  # noqa: RUF012


def test_data_sets_of_hugging_face_name_their_integer_tags():
    rows = [{"tokens": ["Rome", "is"], "ner_tags": [2, 0]}, {"tokens": ["Anna", "?"], "ner_tags": [1, -100]}]
    assert read_sentences(DataSet(rows)) == (
        [["Rome", "is"], ["Anna", "?"]], [["B-LOC", "O"], ["B-PER", None]]
    )  # fmt: skip


def test_files_in_utf_16_are_refused_with_the_option_that_reads_them(tmp_path):
    text = "Rome B-LOC\nis O\n\nOslo B-LOC\n"
    path, model = tmp_path / "a.conll", tmp_path / "m.ssvm"
    for encoding in ("utf-16", "utf-16-le"):
        path.write_bytes(text.encode(encoding))
        refused(run("train", "ner", path, "-o", model, cwd=tmp_path), 1, "UTF-16", "set the encoding")
    path.write_bytes(text.encode("utf-16"))
    assert run("train", "ner", path, "--encoding", "utf-16", "-o", model, cwd=tmp_path).returncode == 0
    tagged = run("tag", model, path, "--encoding", "utf-16", cwd=tmp_path).stdout.decode("utf-16")
    assert tagged.splitlines()[0].split()[:2] == ["Rome", "B-LOC"]


def test_numbers_without_names_give_a_warning():
    with pytest.warns(
        UserWarning, match=r"ner_tags has numbers, which become labels such as 0; .*dataset_info"
    ):
        read_sentences([{"tokens": ["Rome"], "ner_tags": [3]}])
