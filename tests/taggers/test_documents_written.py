"""Documents written in other formats, and back again without loss."""

import csv
import json
import re
import tempfile
from pathlib import Path

import pytest
import spacy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.tokens import DocBin

from structsvm.files.errors import DataError
from taggers import NerTagger, commands, read_sentences
from taggers.commands.export import convert_file
from taggers.formats.records import Reading, Record
from taggers.formats.registry import FORMATS
from taggers.formats.tokenizer import Token
from taggers.labels import schemes
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import as_columns, as_universal

word = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=5)
labels = st.sampled_from(["PER", "LOC", "nick-name"])


@st.composite
def records(draw, gaps=False):
    """Documents of sentences, whose words follow each other with or without space, with labels."""
    found = []
    for number in range(1, draw(st.integers(1, 3)) + 1):
        text, sentences, values = "", [], []
        for _ in range(draw(st.integers(1, 3))):
            tokens = []
            for one in draw(st.lists(word, min_size=1, max_size=5)):
                text += draw(st.sampled_from(["", " ", "  ", "\n"])) if text else ""
                tokens.append(Token(one, len(text), len(text) + len(one)))
                text += one
            spans, at = [], 0
            while at < len(tokens):
                size = draw(st.integers(1, 2))
                if draw(st.booleans()) and at + size <= len(tokens):
                    spans.append((draw(labels), at, at + size))
                at += size
            row = schemes.encode(spans, len(tokens), "IOB2")
            if gaps:
                row = [None if one == "O" and draw(st.integers(0, 3)) == 0 else one for one in row]
            sentences.append(tokens)
            values += row
        found.append(Record(text, sentences, {"label": values}, line=number, scheme="IOB2"))
    return found


def again(name, given):
    return list(FORMATS[name].records(FORMATS[name].dump(given), 1, Reading("f", split_at(given))))


def split_at(given):
    """A splitter that finds the tokens of the documents again."""
    by_text = {record.text: record.sentences for record in given}
    return lambda text: by_text.get(text, [])


def spans(record):
    at, found = 0, []
    for sentence in record.sentences:
        values = [value or "O" for value in record.value("label")[at : at + len(sentence)]]
        found += [
            (kind, sentence[first].start, sentence[end - 1].end)
            for kind, first, end in schemes.spans(values, "IOB2")
        ]
        at += len(sentence)
    return found


@pytest.mark.parametrize("name", ["jsonl", "labelstudio", "spacy"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(given_records=records())
def test_texts_and_spans_survive_a_round_trip(name, given_records):
    found = again(name, given_records)
    assert [record.text for record in found] == [record.text for record in given_records]
    assert [spans(record) for record in found] == [spans(record) for record in given_records]


@pytest.mark.parametrize("name", ["jsonl", "spacy", "csv"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(given_records=records(gaps=True))
def test_tokens_sentences_and_gaps_survive_a_round_trip(name, given_records):
    kept = [one for one in given_records if None in one.value("label") and any(one.value("label"))]
    found = again(name, kept)
    assert [[[t.text for t in s] for s in one.sentences] for one in found] == [
        [[t.text for t in s] for s in one.sentences] for one in kept
    ]
    assert [one.value("label") for one in found] == [one.value("label") for one in kept]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(given_records=records())
def test_the_files_of_brat_hold_texts_and_spans(given_records):
    files = dict(FORMATS["brat"].files(given_records))
    for number, record in enumerate(given_records, 1):
        assert files[f"{number:05d}.txt"].decode() == record.text
        rows = files[f"{number:05d}.ann"].decode().split("\n")[:-1]
        found = [re.match(r"T\d+\t(\S+) (\d+) (\d+)\t", row) for row in rows]
        assert [(one[1], int(one[2]), int(one[3])) for one in found] == spans(record)


# -- convert ------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["jsonl", "spacy", "csv", "columns", "conllu", "labelstudio"])
def test_columns_are_converted_to_every_format_and_back(to, tmp_path):
    (tmp_path / "train.txt").write_bytes(as_columns(20))
    wanted = read_sentences(tmp_path / "train.txt", inputs=[0])
    done = run("convert", "train.txt", "--to", to, "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"not converted: column 1 (counted from 0)" in done.stderr
    place = "misc" if to == "conllu" else None
    assert read_sentences(tmp_path / "out", label=place) == wanted
    back = run("convert", "out", "--to", "columns", cwd=tmp_path)
    (tmp_path / "back").write_bytes(back.stdout)
    assert read_sentences(tmp_path / "back") == wanted


WORDS = ["Ann", "saw", "Rome", "today", "we", "left"]


@st.composite
def plain_documents(draw):
    """Labelled sentences of words that every tokenizer splits alike."""
    X, y = [], []
    for _ in range(draw(st.integers(1, 4))):
        words = [*draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5)), "."]
        spans, at = [("PER", 0, 1)] if not X else [], 1  # one phrase at least
        while at < len(words) - 1:
            if draw(st.booleans()):
                spans.append((draw(st.sampled_from(["PER", "LOC"])), at, at + 1))
            at += 1
        X.append([words[0].title(), *words[1:]])
        y.append(schemes.encode(spans, len(words), "IOB2"))
    return X, y


@pytest.mark.parametrize("second", ["jsonl", "spacy", "csv", "columns", "conllu", "labelstudio", "brat"])
@pytest.mark.parametrize("first", ["jsonl", "spacy", "csv", "columns", "conllu", "labelstudio", "brat"])
@settings(
    max_examples=6, deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=plain_documents())
def test_every_pair_of_formats_keeps_words_and_labels(first, second, tmp_path, data):
    X, y = data
    with tempfile.TemporaryDirectory(dir=tmp_path) as name:
        folder = Path(name)
        rows = ("".join(map("{} {}\n".format, *pair)) for pair in zip(X, y, strict=True))
        (folder / "0").write_text("\n".join(rows))
        for number, to in enumerate((first, second, "columns")):
            assert convert_file(folder / f"{number}", folder / f"{number + 1}", to=to) == []
        assert read_sentences(folder / "3") == (X, y)


@pytest.mark.parametrize(("line", "to", "what"), [
    ({"tokens": ["a"], "labels": ["N"]}, "labelstudio", "labels that do not mark phrases"),
    ({"text": "a", "spans": [[0, 1, "Full Name"]]}, "brat", "spaces in labels, which become _"),
    ({"tokens": ["a"], "labels": ["N"]}, "brat", "labels that do not mark phrases"),
    ({"tokens": ["a", "b"], "labels": ["B-X", None]}, "labelstudio", "missing labels, which become O"),
    ({"tokens": ["a"], "ner_tags": ["B-X"], "lemmas": ["a"]}, "columns", "the values of lemma"),
    ({"tokens": ["a"], "ner_tags": ["B-X"], "lemmas": ["a"]}, "brat", "the values of lemma"),
    ({"text": "A ran. B ran.", "spans": [[0, 1, "X"]]}, "columns", "the borders of documents"),
    ({"tokens": ["a"], "labels": ["B-X"], "id": 7, "meta": {}}, "csv", "key id; key meta"),
])  # fmt: skip
def test_what_a_format_cannot_hold_is_named(line, to, what, tmp_path):
    (tmp_path / "f.jsonl").write_text(json.dumps(line) + "\n")
    done = run("convert", "f.jsonl", "--to", to, "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"f.jsonl: not converted: {what}\n" in done.stderr.decode()
    assert b"not converted" not in run("convert", "f.jsonl", "--to", "jsonl", cwd=tmp_path).stderr


def test_parts_of_speech_survive_and_losses_are_named(tmp_path):
    (tmp_path / "f.conllu").write_bytes(as_universal(20))
    wanted = read_sentences(tmp_path / "f.conllu")
    for to in ("jsonl", "spacy", "csv"):
        done = run("convert", "f.conllu", "--to", to, "-o", "out", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert read_sentences(tmp_path / "out", label="upos") == wanted
    rows = "# text = Cannot\n1-2\tCannot\t_\t_\t_\t_\t_\t_\t_\t_\n1\tCan\tcan\tAUX\t_\t_\t0\troot\t_\t_\n"
    rows += "2\tnot\tnot\tPART\t_\t_\t1\tadvmod\t_\t_\n\n"
    (tmp_path / "g.conllu").write_text(rows)
    done = run("convert", "g.conllu", "--to", "jsonl", cwd=tmp_path)
    assert b"not converted: heads and relations; multiword tokens" in done.stderr


def test_parts_of_speech_of_a_document_do_not_go_into_misc(tmp_path):
    line = {"text": "A ran.", "tokens": ["A", "ran", "."], "upos": ["PRON", "VERB", "PUNCT"]}
    for more, wanted in [({}, b"_"), ({"ner_tags": ["B-X", "O", "O"]}, b"B-X")]:
        (tmp_path / "f.jsonl").write_text(json.dumps(line | more) + "\n")
        first = run("convert", "f.jsonl", "--to", "conllu", cwd=tmp_path).stdout.split(b"\n")[2]
        assert first == b"1\tA\t_\tPRON\t_\t_\t_\t_\t_\t" + wanted


def test_tags_that_are_not_universal_become_tags_of_spacy(tmp_path):
    (tmp_path / "f.csv").write_text("sentence,word,pos,tag\n1,Ann,NNP,B-PER\n1,%,SYM,O\n")
    done = run("convert", "f.csv", "--to", "spacy", "-o", "f.spacy", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (doc,) = DocBin().from_disk(tmp_path / "f.spacy").get_docs(spacy.blank("en").vocab)
    assert [(one.tag_, one.pos_, one.ent_type_) for one in doc] == [("NNP", "", "PER"), ("SYM", "", "")]


def test_a_word_that_columns_cannot_hold_is_named(tmp_path):
    (tmp_path / "f.jsonl").write_text('{"tokens": ["a\\tb"], "labels": ["O"]}\n')
    refused(run("convert", "f.jsonl", "--to", "columns", cwd=tmp_path), 1, "'a\\tb' cannot be written")


def test_unknown_targets_are_refused(tmp_path):
    (tmp_path / "f.txt").write_text("a O\n\n")
    refused(run("convert", "f.txt", "--to", "docx", cwd=tmp_path), 2, "a label scheme or a format")
    refused(run("tag", "en-pos", "f.txt", "--to", "docx", cwd=tmp_path), 2, "--to must be one of")
    refused(
        run("convert", "f.txt", "--to", "jsonl", "--from", "IOB2", cwd=tmp_path),
        2,
        "--from cannot be combined with --to",
    )


# -- tag --to -----------------------------------------------------------------------------------

NAMES = [["Mia", "Lund", "met", "Bo", "."], ["Bo", "saw", "Mia", "Lund", "."], ["They", "met", "."]] * 6
GOLD = [["B-PER", "I-PER", "O", "B-PER", "O"], ["B-PER", "O", "B-PER", "I-PER", "O"], ["O"] * 3] * 6
RAW = "Mia Lund met Bo.  They saw \U0001f600 Bo, who met Mia Lund in a very dark place.\n\nNobody met.\n"


@pytest.fixture
def model(tmp_path):
    NerTagger().fit(NAMES, GOLD).save(tmp_path / "m")
    (tmp_path / "raw.txt").write_text(RAW)
    return tmp_path


def test_raw_text_becomes_spans_with_offsets_of_the_text_as_written(model):
    done = run("tag", "m", "raw.txt", "--format", "text", "--to", "jsonl", cwd=model)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["text"] for row in rows] == [line for line in RAW.split("\n") if line]
    first = rows[0]
    found = [first["text"][one["start"] : one["end"]] for one in first["spans"]]
    assert found == ["Mia Lund", "Bo", "Bo", "Mia Lund"]
    assert rows[1]["spans"] == []
    assert all(first["text"][one["start"] : one["end"]] == one["text"] for one in first["tokens"])


def test_sentences_are_text_to_a_model_of_columns(model):
    told = run("tag", "m", "raw.txt", "--format", "text", cwd=model)
    assert run("tag", "m", "raw.txt", cwd=model).stdout == told.stdout
    (model / "short.txt").write_text("Bo met.\nBo saw Mia.\n")
    refused(run("tag", "m", "short.txt", cwd=model), 1, "plain text has the format text")


def test_spans_and_tokens_have_probabilities_if_asked(model):
    done = run("tag", "m", "raw.txt", "--format", "text", "--to", "jsonl", "--probabilities", cwd=model)
    row = json.loads(done.stdout.splitlines()[0])
    assert len(row["scores"]) == len(row["tokens"])
    assert all(0 < score <= 1 for score in row["scores"])
    span = row["spans"][0]
    inside = [
        s
        for s, t in zip(row["scores"], row["tokens"], strict=True)
        if span["start"] <= t["start"] < span["end"]
    ]
    assert span["score"] == min(inside)


def test_raw_text_becomes_docs_of_spacy_with_the_same_text(model):
    assert (
        run("tag", "m", "raw.txt", "--format", "text", "--to", "spacy", "-o", "o", cwd=model).returncode == 0
    )
    docs = list(DocBin().from_bytes((model / "o").read_bytes()).get_docs(spacy.blank("en").vocab))
    assert [doc.text for doc in docs] == [line for line in RAW.split("\n") if line]
    assert [ent.text for ent in docs[0].ents] == ["Mia Lund", "Bo", "Bo", "Mia Lund"]
    assert [len(list(doc.sents)) for doc in docs] == [2, 1]


def test_label_studio_gets_predictions_in_characters(model):
    found = json.loads(
        run("tag", "m", "raw.txt", "--format", "text", "--to", "labelstudio", cwd=model).stdout
    )
    values = [one["value"] for one in found[0]["predictions"][0]["result"]]
    text = found[0]["data"]["text"]
    pieces = [text[value["start"] : value["end"]] for value in values]
    assert pieces == [value["text"] for value in values] == ["Mia Lund", "Bo", "Bo", "Mia Lund"]


@pytest.mark.parametrize("bundled", ["en", "en-pos"])
def test_bundled_models_write_offsets_too(bundled, model):
    row = json.loads(run("tag", bundled, "raw.txt", "--to", "jsonl", cwd=model).stdout.splitlines()[0])
    assert all(row["text"][one["start"] : one["end"]] == one["text"] for one in row["tokens"])
    assert len(row["upos"]) == len(row["xpos"]) == len(row["tokens"])
    assert row["upos"][0] == "PROPN"


def test_trees_are_written_to_documents(tmp_path):
    (tmp_path / "raw.txt").write_text("Mia met  Anna. He slept.\n")
    row = json.loads(run("tag", "en", "raw.txt", "--to", "jsonl", cwd=tmp_path).stdout)
    assert row["head"] == [2, 0, 2, 2, 2, 0, 2]
    assert [row["deprel"][k] for k in (1, 3, 5)] == ["root", "punct", "root"]
    table = list(
        csv.DictReader(run("tag", "en", "raw.txt", "--to", "csv", cwd=tmp_path).stdout.decode().splitlines())
    )
    assert [int(line["head"]) for line in table] == row["head"]
    lines = run("tag", "en", "raw.txt", "--to", "conllu", cwd=tmp_path).stdout.decode().splitlines()
    assert [int(line.split("\t")[6]) for line in lines if line[:1].isdigit()] == row["head"]
    spacy = pytest.importorskip("spacy")
    run("tag", "en", "raw.txt", "--to", "spacy", "-o", "docs.spacy", cwd=tmp_path)
    (doc,) = spacy.tokens.DocBin().from_disk(tmp_path / "docs.spacy").get_docs(spacy.blank("en").vocab)
    words = [token for token in doc if not token.is_space]
    heads = [0 if token.head == token else words.index(token.head) + 1 for token in words]
    assert heads == [2, 0, 2, 2, 6, 0, 6]
    assert [token.dep_ for token in words if token.dep_ == "ROOT"] == ["ROOT", "ROOT"]
    assert [sentence.text for sentence in doc.sents] == ["Mia met  Anna.", "He slept."]


def test_nothing_is_written_after_an_error(model):
    (model / "bad.jsonl").write_text('{"text": "Mia met Bo."}\n' * 3 + "{]\n")
    for to, name in (("jsonl", "o"), ("brat", "folder")):
        refused(
            run("tag", "m", "bad.jsonl", "--to", to, "-o", name, cwd=model), 1, "bad.jsonl:4: is not JSON"
        )
    assert sorted(path.name for path in model.iterdir()) == ["bad.jsonl", "m", "raw.txt"]
    with pytest.raises(DataError, match="is not JSON"):
        commands.tag(model / "m", model / "bad.jsonl", model / "o", to="jsonl")
