"""Files that other programs wrote from invented texts, in `tests/taggers/foreign`.

doccano: the formatters and the writer of doccano 1.8.4 for projects of sequence labelling, without and with
relations. labelstudio: the converter of label-studio-sdk 2.1.2, formats JSON, JSON_MIN, CSV and CONLL2003.
Files of spaCy are made when the tests run.
"""

from pathlib import Path

import pytest

from taggers import read_sentences
from tests.taggers.command_line import refused, run

FOLDER = Path(__file__).parent / "foreign"


def labelled(text):
    """Words and labels: a label follows its word after a slash; O if there is none."""
    pairs = [one.partition("/") for one in text.split()]
    return [word for word, _, _ in pairs], [label or "O" for _, _, label in pairs]


ANN = labelled("Ann/B-PER met Zoë/B-PER in São/B-LOC Tomé/I-LOC 😀 today .")
PLAIN = labelled("Ann/B-PER met Zoë/B-PER in São/B-LOC Tomé/I-LOC .")
SHE, NONE = labelled("She left ."), labelled("No names here .")
BO, IDA = labelled("Köln/B-LOC calls Bo/B-PER ."), labelled("Köln/B-LOC calls Bo/B-PER and Ida/B-PER .")
FILES = {
    "doccano.jsonl": [ANN, SHE, NONE, BO],
    "doccano-relations.jsonl": [ANN, SHE, NONE, BO],
    "labelstudio.json": [PLAIN, SHE, NONE, IDA],
    "labelstudio-min.json": [PLAIN, SHE, NONE, IDA],
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_other_programs_are_read(name):
    X, y = read_sentences(FOLDER / name)
    assert list(zip(X, y, strict=True)) == FILES[name]


@pytest.mark.parametrize("name", FILES)
def test_their_models_train_and_their_files_are_written_back(name, tmp_path):
    model = tmp_path / "m.ssvm"
    assert run("train", "ner", FOLDER / name, "-o", model, "-q", cwd=tmp_path).returncode == 0
    done = run("tag", model, FOLDER / name, "-o", tmp_path / name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert read_sentences(tmp_path / name)[0] == [words for words, _ in FILES[name]]


def test_columns_of_label_studio_keep_the_words_that_it_split():
    X, y = read_sentences(FOLDER / "labelstudio.conll", inputs=[0])
    assert X[0] == ["Ann", "met", "Zoë", "in", "São", "Tomé.", "She", "left", "."]
    assert y[2] == IDA[1]


def test_tables_of_label_studio_are_refused_with_the_format_to_export(tmp_path):
    table = FOLDER / "labelstudio.csv"
    refused(run("train", "ner", table, "-o", "m", cwd=tmp_path), 1, "spans as JSON", "export JSON instead")
