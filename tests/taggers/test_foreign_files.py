"""Files that hold no columns never become columns silently."""

import pytest

from structsvm.files.errors import DataError
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
