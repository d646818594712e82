"""Files: sources, chunks, formats, and results that are complete or absent."""

import gzip
import io
import os
import stat
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm.files.atomic import atomic_write
from structsvm.files.errors import DataError
from taggers.formats.base import Layer
from taggers.formats.conllu import COLUMN
from taggers.formats.files import detect, first_lines, open_columns, read_all, read_columns
from tests.taggers.tagger_twins import CONLLU, PETS, tricky


@pytest.fixture
def pets(tmp_path):
    path = tmp_path / "pets.txt"
    path.write_bytes(PETS)
    return path


def texts(path, **options):
    return [sentence for columns in read_columns(path, **options) for sentence in columns.sentences()]


def test_plain_and_gzipped_files_and_standard_input_are_the_same(pets, tmp_path, monkeypatch):
    zipped = tmp_path / "no-suffix"
    zipped.write_bytes(gzip.compress(PETS))
    expected = [["The", "cat", "sleeps"], ["It", "purrs"]]
    assert texts(pets) == texts(zipped) == expected
    for data in (PETS, gzip.compress(PETS)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert texts("-") == expected


@given(tricky, st.integers(1, 9))
def test_chunks_are_the_whole(tmp_path_factory, data, size):
    path = tmp_path_factory.getbasetemp() / "chunked.txt"
    path.write_bytes(data)
    try:
        whole = read_all(path, "columns", separator=" ")
    except DataError:
        with pytest.raises(DataError):
            list(read_columns(path, "columns", separator=" ", chunk_size=size))
        return
    chunks = list(read_columns(path, "columns", separator=" ", chunk_size=size))
    assert b"".join(chunk.data for chunk in chunks) == data
    assert [s for chunk in chunks for s in chunk.sentences()] == whole.sentences()
    lines = [chunk.line(token) for chunk in chunks for token in range(chunk.n_tokens)]
    assert lines == [whole.line(token) for token in range(whole.n_tokens)]


def test_later_chunks_must_have_the_columns_of_the_first(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"a X\n\n" * 50 + b"b\n\n")
    with pytest.raises(DataError, match=r"bad\.txt:101: 1 column where the lines before have 2"):
        list(read_columns(path, chunk_size=20))


def test_a_broken_line_in_a_later_chunk_has_its_number(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"a X\n\n" * 50 + b"\xff Y\n\n")
    with pytest.raises(DataError, match=r"bad\.txt:101: byte 0xff"):
        list(read_columns(path, chunk_size=20))


def test_latin_1_becomes_utf_8(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes("señor N\n\nél P\n".encode("latin-1"))
    assert texts(path, encoding="latin-1", chunk_size=3) == [["señor"], ["él"]]
    with pytest.raises(DataError, match="latin-1"):
        texts(path)
    with pytest.raises(ValueError, match="encoding must be the name of a text encoding"):
        texts(path, encoding="klingon")


@pytest.mark.parametrize("content", [b"", b"\n\n \n", b"\xef\xbb\xbf"])
def test_files_without_tokens_are_refused(tmp_path, content):
    path = tmp_path / "empty.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match="contains no tokens"):
        list(read_columns(path))


def test_missing_folders_and_broken_archives_are_reported(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        list(read_columns(tmp_path / "absent"))
    with pytest.raises(DataError, match="folder without brat"):
        list(read_columns(tmp_path))
    broken = tmp_path / "broken.gz"
    broken.write_bytes(gzip.compress(PETS * 100)[:-20])
    with pytest.raises(DataError, match="complete"):
        list(read_columns(broken))


def test_formats_are_detected():
    assert detect(first_lines(CONLLU)).name == "conllu"
    assert detect(first_lines(CONLLU.replace(b"\n", b"\r\n"))).name == "conllu"
    assert detect(first_lines(PETS)).name == "columns"
    assert detect(first_lines(b"# SYM\nis VBZ\n")).name == "columns"
    assert detect(first_lines(b"word\nword\n\nword\n")).name == "columns"
    assert detect(first_lines(PETS + b"a broken line in a file of columns\n")).name == "columns"
    assert (
        detect(first_lines(b"My cat sleeps all day.\nIt purrs.\n\nWhy not, with all that milk?\n")).name
        == "text"
    )
    assert detect(first_lines(b"")).name == "columns"
    assert detect(first_lines(b"B-NP\tw=a\tstart\nI-NP\tw=b\n\nO\tw=c\tend\n")).name == "crfsuite"
    assert detect(first_lines(b"dog\tN\tNumber=Sing\nand\tC\t_\n")).name == "columns"
    assert detect(first_lines(b"dog\tN\tid=1\tO\nand\tC\tid=2\tO\n")).name == "columns"


@pytest.mark.parametrize(
    ("data", "format", "separator", "n_columns"),
    [
        (PETS, "columns", " ", 3),
        (b"\n\n-DOCSTART- -X- O\n\nThe\tDT\tO\n", "columns", "\t", 3),
        (CONLLU, "conllu", None, 10),
        (b"It purrs.\nWhy does it not sleep all day long?\nNo idea at all.\n", "text", None, 1),
        (b"1 qid:1 1:2\n", "svmhmm", None, 1),
        (b"B-NP\tw=a\tstart\nI-NP\tw=b\n", "crfsuite", None, 1),
    ],
)
def test_an_opened_file_shows_its_format_and_columns_before_it_is_read(
    tmp_path, data, format, separator, n_columns
):
    path = tmp_path / "f"
    path.write_bytes(data)
    with open_columns(path) as opened:
        assert (opened.format.name, opened.separator, opened.n_columns) == (format, separator, n_columns)
        assert opened.head[0] == next(line for line in data.decode().splitlines() if line)
        last = opened.read([-1])
    with open_columns(path) as opened:
        parts = list(opened.parts([-1], 7))
    assert [s for part in parts for s in part.sentences()] == last.sentences()


def test_the_first_token_may_come_after_more_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr("taggers.formats.files.CHUNK", 8)
    path = tmp_path / "late.txt"
    path.write_bytes(b"\n" * 100 + b"cat NN\n")
    with open_columns(path) as opened:
        assert opened.n_columns == 2
        assert [part.sentences(1) for part in opened.parts([0, 1], 8)][-1] == [["NN"]]
    path.write_bytes(b"\n" * 100)
    with pytest.raises(DataError, match=r"late\.txt: contains no tokens"), open_columns(path):
        pass


def test_text_is_tokenized_line_by_line(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("My cat sleeps. It purrs!\nNo end here\nDr. Paw agrees, of course, and so do I.\n")
    expected = [
        ["My", "cat", "sleeps", "."],
        ["It", "purrs", "!"],
        ["No", "end", "here"],
        ["Dr.", "Paw", "agrees", ",", "of", "course", ",", "and", "so", "do", "I", "."],
    ]
    assert texts(path) == expected
    assert texts(path, format="text", chunk_size=5) == expected
    (columns,) = read_columns(path)
    result = columns.format.write(columns, [Layer(np.zeros(columns.n_tokens, np.int32), ["X"])])
    assert result.startswith(b"My\tX\ncat\tX\nsleeps\tX\n.\tX\n\nIt\tX\n")
    path.write_bytes(b"fine\n\xff\n")
    with pytest.raises(DataError, match=r"text\.txt:2: byte 0xff is not valid UTF-8"):
        texts(path, format="text")


def test_conllu_reads_forms_by_default(tmp_path):
    path = tmp_path / "x.conllu"
    path.write_bytes(CONLLU)
    assert texts(path)[1] == ["#ja"]
    assert read_all(path, wanted=[COLUMN["upos"]]).texts()[0] == "PRON"


def test_a_written_file_appears_when_it_is_complete(tmp_path):
    target = tmp_path / "out.txt"
    with atomic_write(target) as file:
        file.write(b"one")
        assert not target.exists()
    assert target.read_bytes() == b"one"
    os.chmod(target, 0o640)
    with atomic_write(target) as file:
        file.write(b"two")
        assert target.read_bytes() == b"one"
    assert target.read_bytes() == b"two"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["out.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_file_that_fails_leaves_nothing(tmp_path, error):
    target = tmp_path / "out.txt"
    target.write_bytes(b"before")

    def fail():
        with atomic_write(target) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert target.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["out.txt"]


def test_links_are_followed_and_devices_written(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_write(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    with atomic_write(os.devnull) as file:
        file.write(b"gone")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.parametrize("width", range(90, 130))
def test_detection_does_not_judge_a_line_that_it_cut(width):
    line = "B-NP\tw=" + "a" * (width - 16) + "\tstart=1\n"
    assert detect(first_lines(line.encode() * 400)).name == "crfsuite"
    line = "1 qid:1 " + " ".join(f"{k}:0.25" for k in range(1, width // 6)) + "\n"
    assert detect(first_lines(line.encode() * 400)).name == "svmhmm"
