"""Replay the inputs that fuzzers have found faults with, and run a few cases of each fuzzer.

`kept/models` holds forged model files, named for the kind of model, two dashes and the forged value;
`kept/readers` holds files of sentences, `kept/journals` journals of sessions.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from structsvm.files.errors import DataError
from tests.fuzz.services import prepared
from tests.fuzz.targets import FORMATS, SAMPLES, TARGETS, model_files, operations

pytestmark = pytest.mark.filterwarnings("ignore")  # they are one sentence each, as errors are
KEPT = Path(__file__).with_name("kept")


@pytest.fixture(scope="module")
def load_and_use(tmp_path_factory):
    return model_files(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    return operations(tmp_path_factory.mktemp("readers"))


@pytest.fixture(scope="module")
def begin(tmp_path_factory):
    return prepared(tmp_path_factory.mktemp("journals"))


@pytest.mark.parametrize("path", sorted((KEPT / "models").iterdir()), ids=lambda path: path.name)
def test_a_kept_model_file_is_refused_in_one_sentence_or_of_use(path, load_and_use, tmp_path):
    copied = tmp_path / "model"
    copied.write_bytes(path.read_bytes())
    load_and_use(path.name.partition("--")[0], copied)


@pytest.mark.parametrize("path", sorted((KEPT / "readers").iterdir()), ids=lambda path: path.name)
def test_a_kept_file_of_sentences_is_read_or_refused_in_one_sentence(path, read):
    for format in FORMATS:
        for model in sorted(SAMPLES):
            read(path, random.Random(0), model, 1, format=format, encoding="utf-8")
        for choice in (0, 2, 3, 4):
            read(path, random.Random(0), "columns", choice, format=format, encoding="utf-8")


@pytest.mark.parametrize("path", sorted((KEPT / "journals").iterdir()), ids=lambda path: path.name)
def test_a_kept_journal_is_refused_in_one_sentence(path, begin, tmp_path):
    name, copied = path.name.partition("--")[0], tmp_path / "journal"
    copied.write_bytes(path.read_bytes())
    for files in ({"journal": copied}, {"journal": tmp_path / "new", "merge": [copied]}):
        with pytest.raises(DataError) as refused:
            begin[name](**files)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_fuzzers_run(target, tmp_path):
    case = TARGETS[target](tmp_path)
    for number in range(10):
        case(random.Random(number))
