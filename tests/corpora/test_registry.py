import gzip
import hashlib
import re

import pytest

import corpora
from corpora import CORPORA, CorpusMissing, find, verify
from corpora.registry import checksum


@pytest.fixture
def letter_folder(tmp_path):
    folder = tmp_path / "uci_letter"
    folder.mkdir()
    (folder / "letter-recognition.data").write_text("A,1\n")
    return folder


def test_every_entry_says_what_it_is_and_where_to_get_it():
    for name, corpus in CORPORA.items():
        assert corpus.name == name
        assert corpus.what.endswith(".")
        assert corpus.licence.endswith(".")
        assert "http" in corpus.source or "NLTK data package" in corpus.source
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in corpus.files.values())


def test_found_through_the_environment_or_an_explicit_directory(letter_folder, monkeypatch):
    monkeypatch.delenv("STRUCTSVM_CORPORA", raising=False)
    assert find("uci_letter", letter_folder.parent) == letter_folder
    assert find("uci_letter", letter_folder) == letter_folder
    monkeypatch.setenv("STRUCTSVM_CORPORA", str(letter_folder.parent))
    assert find("uci_letter") == letter_folder


def test_explicit_directory_wins_over_the_environment(letter_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("STRUCTSVM_CORPORA", str(letter_folder.parent))
    with pytest.raises(CorpusMissing):
        find("uci_letter", tmp_path / "elsewhere")


def test_missing_corpus_says_which_where_looked_and_where_to_get_it(letter_folder, tmp_path):
    with pytest.raises(CorpusMissing) as error:
        find("mnist", tmp_path)
    assert isinstance(error.value, FileNotFoundError)
    for part in ("'mnist'", str(tmp_path / "mnist"), "t10k-images-idx3-ubyte.gz", CORPORA["mnist"].source):
        assert part in str(error.value)


def test_without_any_directory_the_variable_to_set_is_named(monkeypatch):
    monkeypatch.delenv("STRUCTSVM_CORPORA", raising=False)
    with pytest.raises(CorpusMissing, match="set STRUCTSVM_CORPORA"):
        find("usps")


def test_unknown_name_lists_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match=r"'lettter'.*uci_letter"):
        find("lettter", tmp_path)


def test_verify_names_the_files_that_differ(letter_folder):
    assert verify("uci_letter", letter_folder) == ["letter-recognition.data"]


def test_checksum_of_gzip_is_of_its_content(tmp_path):
    for level in (1, 9):
        (tmp_path / f"{level}.gz").write_bytes(gzip.compress(b"abc" * 999, level))
    assert checksum(tmp_path / "1.gz") == checksum(tmp_path / "9.gz")
    assert checksum(tmp_path / "1.gz") == hashlib.sha256(b"abc" * 999).hexdigest()


def test_checksum_of_folder_sees_names_and_contents_but_no_readme(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a").write_text("1")
    (tmp_path / "b").write_text("2")
    first = checksum(tmp_path)
    (tmp_path / "README").write_text("notes")
    assert checksum(tmp_path) == first
    (tmp_path / "b").write_text("3")
    assert checksum(tmp_path) != first
    (tmp_path / "b").write_text("2")
    (tmp_path / "b").rename(tmp_path / "c")
    assert checksum(tmp_path) != first


@pytest.mark.corpora
@pytest.mark.parametrize("name", corpora.CORPORA)
def test_real_corpus_has_its_checksums(name):
    assert verify(name) == []
