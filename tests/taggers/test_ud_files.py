"""Treebanks as users have them: empty columns, brackets as tags, files with other columns."""

import json
import re
import warnings

import pytest

from structsvm.files.errors import DataError
from taggers import PosTagger, commands
from taggers.memory import ManyLabelsWarning
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import NUMBER, as_columns, with_features


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "train.conllu").write_bytes(with_features(80))
    (tmp_path / "dev.conllu").write_bytes(with_features(30, 1))
    return tmp_path


@pytest.mark.parametrize("column", ["feats", "xpos"])
def test_training_and_evaluation_agree_on_a_column_with_empty_values(folder, column):
    if column == "xpos":  # tokens without a tag are not gold
        data = (folder / "dev.conllu").read_bytes().replace(b"\tDT\t", b"\t_\t")
        (folder / "dev.conllu").write_bytes(data)
    done = run(
        "train", "pos", "train.conllu", "--dev", "dev.conllu", "--column", column, "-o", "m", cwd=folder
    )
    told = re.search(rb"best dev accuracy (\d+\.\d\d)", done.stderr)
    assert told, done.stderr
    found = json.loads(run("evaluate", "m", "dev.conllu", "--json", cwd=folder).stdout)
    assert f"{100 * found['tokens']['accuracy']:.2f}" == told[1].decode()
    assert found["tokens"]["accuracy"] > 0.9
    if column == "feats":
        tagged = run("tag", "m", "dev.conllu", cwd=folder).stdout.decode()
        assert {line.split("\t")[5] for line in tagged.split("\n") if "\t" in line} > {"_"}


def test_the_dev_score_of_phrases_is_called_f1(tmp_path):
    (tmp_path / "train.txt").write_bytes(as_columns(60))
    done = run("train", "chunk", "train.txt", "--dev", "train.txt", "-o", "m", cwd=tmp_path)
    assert b"best dev F1 " in done.stderr


def test_brackets_among_tags_are_not_phrases(folder):
    data = (folder / "train.conllu").read_bytes().replace(b"\tDT\t", b"\t-LRB-\t")
    (folder / "train.conllu").write_bytes(data)
    commands.train("pos", folder / "train.conllu", folder / "m", label=4)
    done = run("evaluate", "m", "train.conllu", "--column", "xpos", cwd=folder)
    assert done.stdout.startswith(b"tokens ")
    assert b"phrases" not in done.stdout


def test_a_held_out_file_with_other_columns_is_refused(tmp_path):
    (tmp_path / "train.txt").write_bytes(as_columns(20))
    lines = as_columns(5).decode().split("\n")
    (tmp_path / "dev.txt").write_text("\n".join(f"{line} x" if line else "" for line in lines))
    done = run("train", "chunk", "train.txt", "--dev", "dev.txt", "-o", "m", cwd=tmp_path)
    refused(done, 1, "dev.txt:1", "4 columns, but train.txt has 3")


def test_many_labels_with_exact_inference_get_a_hint():
    y = [[f"L{k}"] for k in range(310)]
    X = [[f"w{k}"] for k in range(310)]
    with pytest.warns(ManyLabelsWarning, match=r"310 labels is slow.*greedy"):
        PosTagger(template="w[0]", epochs=1).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PosTagger(template="w[0]", epochs=1, inference="greedy").fit(X, y)


def test_spacy_reads_features_and_wants_a_name_for_each_column(folder):
    spacy = pytest.importorskip("spacy")
    from taggers.spacy.reader import make_reader

    nlp = spacy.blank("en")
    example = next(iter(make_reader(str(folder / "train.conllu"), inputs=["MORPH"])(nlp)))
    seen = {(token.tag_, str(token.morph)) for token in example.reference}
    assert any(morph == NUMBER[tag] for tag, morph in seen if tag in NUMBER)
    assert all(morph == "" for tag, morph in seen if tag not in NUMBER)
    assert example.reference.has_annotation("MORPH", require_complete=True)
    assert [str(token.morph) for token in example.predicted] == [str(t.morph) for t in example.reference]
    (folder / "three.txt").write_bytes(as_columns(5))
    with pytest.raises(DataError, match="3 columns, but 2 are named"):
        list(make_reader(str(folder / "three.txt"), columns=["ORTH", "NER"])(nlp))


def test_spacy_refuses_a_broken_treebank_with_its_line(folder):
    spacy = pytest.importorskip("spacy")
    from taggers.spacy.reader import make_reader

    data = (folder / "train.conllu").read_bytes()
    at = data.index(b"\n3\t", len(data) // 2)
    (folder / "broken.conllu").write_bytes(data[:at] + data[at:].replace(b"\n3\t", b"\n7\t", 1))
    line = 2 + data[:at].count(b"\n")
    with pytest.raises(DataError, match=rf"broken\.conllu:{line}: number 7 instead of 3"):
        list(make_reader(str(folder / "broken.conllu"))(spacy.blank("en")))
    corpus = make_reader(str(folder / "train.conllu"))
    assert len(list(corpus(spacy.blank("en")))) == len(list(corpus(spacy.blank("en")))) == 80


def test_train_ud_and_lemma_refuse_the_flags_of_single_taggers(tmp_path):
    for flag in (("--fit-bias",), ("--calibrate",), ("--cluster", "local:1"), ("-C", "0")):
        for task in ("ud", "lemma"):
            told = f"{flag[0]} is not available for train {task}"
            refused(run("train", task, "x.conllu", *flag, "-o", "m.ssvm", cwd=tmp_path), 2, told)
