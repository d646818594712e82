"""What a new user tries first with files of her own: columns by name, numbered tokens, folders of brat."""

import csv
import io
import json

import pandas as pd
import pytest

from structsvm.files.errors import DataError
from taggers import NerTagger, read_sentences
from taggers.formats._columns import Columns
from taggers.formats.files import open_columns
from tests.taggers.command_line import refused, run

SENTENCES = [
    [("Anna", "PROPN", "B-PER"), ("left", "VERB", "O"), ("Oslo", "PROPN", "B-LOC"), (".", "PUNCT", "O")],
    [("The", "DET", "O"), ("dog", "NOUN", "O"), ("saw", "VERB", "O"), ("Ben", "PROPN", "B-PER")],
    [("Ben", "PROPN", "B-PER"), ("Dahl", "PROPN", "I-PER"), ("left", "VERB", "O"), ("it", "PRON", "O")],
] * 5  # fmt: skip


def conllu(n_columns=10, between=""):
    """A treebank, also one without its last columns."""
    text = ""
    for number, sentence in enumerate(SENTENCES):
        text += f"# sent_id = {number}\n"
        for at, (word, tag, _) in enumerate(sentence, 1):
            cells = [str(at), word, "_", tag, "_", "_", "0", "root", "_", "_"]
            text += between.replace("N", f"{at}-{at + 1}") + "\t".join(cells[:n_columns]) + "\n"
        text += "\n"
    return text


def table(header="sentence,word,pos,tag", rows=SENTENCES):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header.split(","))
    for number, sentence in enumerate(rows):
        writer.writerows([(number, *token) for token in sentence])
    return out.getvalue()


def columns(separator="\t", comment="", last=""):
    return "".join(
        comment.format(number) + "".join(separator.join(token) + last + "\n" for token in sentence) + "\n"
        for number, sentence in enumerate(SENTENCES)
    )


@pytest.fixture
def folder(tmp_path):
    for name, text in {
        "ten.conllu": conllu(), "nine.conllu": conllu(9), "t.csv": table(), "cols.txt": columns(),
        "typo.csv": table("sentence,word,pos,tga"),
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    return tmp_path


def learn(folder, task, file, *more):
    done = run("train", task, file, "-q", "-o", "m", *more, cwd=folder)
    assert done.returncode == 0, done.stderr.decode()
    return done.stderr.decode()


# -- numbered tokens ----------------------------------------------------------------------------


@pytest.mark.parametrize("between", ["", "N\tx\t_\t_\t_\t_\t_\t_\t_\n"])
@pytest.mark.parametrize("model", ["m", "en-pos"])
def test_a_treebank_with_nine_columns_is_tagged_by_its_words(folder, model, between):
    (folder / "nine.conllu").write_text(conllu(9, between))
    learn(folder, "pos", "ten.conllu")
    done = run("tag", model, "nine.conllu", cwd=folder)
    assert b"numbers the tokens of each sentence" in done.stderr
    assert b"1\tAnna\t_\tPROPN\t_\t_\t0\troot\t_\tPROPN" in done.stdout


def test_a_model_trained_in_python_reads_words_not_their_numbers(folder):
    X = [[word for word, _, _ in sentence] for sentence in SENTENCES]
    NerTagger().fit(X, [[label for _, _, label in sentence] for sentence in SENTENCES]).save(folder / "m")
    numbered = "".join(f"{at}\t{word}\t_\n" for at, (word, _, _) in enumerate(SENTENCES[2], 1))
    (folder / "numbered.txt").write_text(f"{numbered}\n{numbered}")
    done = run("tag", "m", "numbered.txt", cwd=folder)
    assert b"column 0 (counted from 0) numbers the tokens" in done.stderr
    assert b"1\tBen\t_\tB-PER\n2\tDahl\t_\tI-PER\n" in done.stdout


def test_a_model_of_several_columns_refuses_numbers_of_tokens_in_one_of_them(folder):
    learn(folder, "chunk", "cols.txt")
    rows = "".join(f"{at}\t{word}\t{tag}\n" for at, (word, tag, _) in enumerate(SENTENCES[0], 1))
    (folder / "numbered.txt").write_text(f"{rows}\n{rows}")
    refused(run("tag", "m", "numbered.txt", cwd=folder), 1, "numbers the tokens of each sentence; remove it")


# -- comments -----------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", ["\t", " "])
@pytest.mark.parametrize("comment", ["# id = {}\n", "# newdoc id = {}\n# id = {}\n"])
def test_files_with_comments_are_learned_tagged_and_read_again(folder, separator, comment):
    (folder / "c.txt").write_text(columns(separator, comment.replace("{}", "{0}")))
    learn(folder, "ner", "c.txt")
    done = run("tag", "m", "c.txt", "-o", "out.txt", cwd=folder)
    assert done.returncode == 0
    again = run("evaluate", "out.txt", cwd=folder)
    assert b"processed 60 tokens with 20 phrases; found: 20 phrases; correct: 20" in again.stdout, again
    assert run("tag", "m", "out.txt", cwd=folder).returncode == 0


def test_a_comment_with_a_key_is_a_comment_also_with_as_many_columns_as_a_token():
    read = Columns(b"# id = 2\na X Y Z\n# X Y Z\n\n# id = 3\n# X Y Z\n")
    assert read.sentences() == [["a", "#"], ["#"]]


# -- columns by name ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ner", "chunk", "label"])
def test_names_of_columns_that_the_format_lacks_are_refused(folder, name):
    done = run("train", "pos", "ten.conllu", "--column", name, "-o", "m", cwd=folder)
    refused(done, 2, "one of id, form, lemma, upos", f"got '{name}'")
    done = run("train", "pos", "cols.txt", "--column", name, "-o", "m", cwd=folder)
    refused(done, 2, "column must be a number (0 is the first, -1 the last) for columns")
    assert not (folder / "m").exists()


@pytest.mark.parametrize(("chosen", "label"), [("pos", 1), ("tag", 2), ("Tag", 2), ("3", 2), ("-2", 1)])
def test_headers_of_a_table_and_their_numbers_choose_the_label_column(folder, chosen, label):
    learn(folder, "label", "t.csv", "--column", chosen)
    assert NerTagger.load(folder / "m").classes_ == sorted({one[label] for s in SENTENCES for one in s})
    done = run("tag", "m", "t.csv", cwd=folder)
    rows = list(csv.reader(io.StringIO(done.stdout.decode())))
    assert rows == list(csv.reader(io.StringIO(table())))  # the labels went back into the same column


@pytest.mark.parametrize("command", [("train", "ner"), ("tune", "ner"), ("evaluate", "m"), ("convert",)])
def test_an_unknown_header_is_refused_with_the_list_of_headers(folder, command):
    learn(folder, "ner", "t.csv")
    more = ("-o", "new") if command[0] in ("train", "tune") else ()
    to = ("--to", "jsonl") if command[0] == "convert" else ()
    done = run(*command, "t.csv", "--column", "tagg", *more, *to, cwd=folder)
    refused(done, 2, "has no column 'tagg'; choose one of sentence, word, pos, tag; did you mean 'tag'?")


def test_a_misspelt_header_does_not_make_parts_of_speech_the_labels(folder):
    done = run("train", "ner", "typo.csv", "-o", "m", cwd=folder)
    refused(done, 1, "typo.csv:1: no column is called label, tag or ner", "sentence, word, pos, tga")
    learn(folder, "ner", "typo.csv", "--column", "tga")
    done = run("evaluate", "m", "typo.csv", cwd=folder)  # the model knows the header
    assert b"correct: 20." in done.stdout


def test_a_model_of_names_does_not_replace_parts_of_speech_in_a_table(folder):
    rows = [[token[:2] for token in sentence] for sentence in SENTENCES]
    (folder / "pos.csv").write_text(table("sentence,word,pos", rows))
    for file, added, more in (("t.csv", "tag", ()), ("cols.txt", "label", ("--columns", 0))):
        learn(folder, "ner", file, *more)
        done = run("tag", "m", "pos.csv", cwd=folder)
        assert done.stdout.decode() == table(f"sentence,word,pos,{added}"), done.stderr


def test_tags_of_other_keys_stay_in_json_lines(folder):
    objects = [
        {
            "tokens": [one[0] for one in s],
            "pos_tags": [one[1] for one in s],
            "ner_tags": [one[2] for one in s],
        }
        for s in SENTENCES
    ]
    text = "".join(json.dumps(one) + "\n" for one in objects)
    (folder / "d.jsonl").write_text(text)
    for key, task in (("ner_tags", "ner"), ("pos_tags", "pos")):
        learn(folder, task, "d.jsonl", "--column", key)
        done = run("tag", "m", "d.jsonl", cwd=folder)
        assert [json.loads(line) for line in done.stdout.splitlines()] == objects
    (folder / "pos.jsonl").write_text(
        "".join(json.dumps({"tokens": one["tokens"], "pos_tags": one["pos_tags"]}) + "\n" for one in objects)
    )
    learn(folder, "ner", "t.csv")
    done = run("tag", "m", "pos.jsonl", cwd=folder)
    first = json.loads(done.stdout.splitlines()[0])
    assert first["labels"] == objects[0]["ner_tags"]
    assert first["pos_tags"] == objects[0]["pos_tags"]


def test_a_key_of_your_own_is_chosen_by_name_and_otherwise_named(folder):
    text = "".join(json.dumps({"words": [a for a, _, _ in s], "mine": [c for _, _, c in s]}) + "\n"
                   for s in SENTENCES)  # fmt: skip
    (folder / "d.jsonl").write_text(text)
    learn(folder, "ner", "d.jsonl", "--column", "mine")
    assert b"correct: 20." in run("evaluate", "m", "d.jsonl", "--column", "mine", cwd=folder).stdout
    done = run("train", "ner", "d.jsonl", "--column", "mne", "-o", "m", cwd=folder)
    refused(done, 1, "d.jsonl:1: has no key 'mne'; its keys are words, mine")
    records = [json.loads(line) for line in text.splitlines()]
    with pytest.warns(UserWarning, match="<memory>:1: the values of 'mine' are not read"):
        assert read_sentences(records)[1][0] == [None] * 4
    assert read_sentences(records, label="mine")[1][0] == ["B-PER", "O", "B-LOC", "O"]
    with pytest.raises(DataError, match="has no key 'ner_tag'"):
        read_sentences(records, label="ner_tag")


def test_headers_of_a_dataframe_choose_the_labels():
    frame = pd.DataFrame([(n, *one) for n, s in enumerate(SENTENCES) for one in s],
                         columns=["sentence", "word", "pos", "mine"])  # fmt: skip
    with pytest.raises(DataError, match="choose one with --column: sentence, word, pos, mine"):
        read_sentences(frame)
    assert read_sentences(frame, label="mine")[1][0] == ["B-PER", "O", "B-LOC", "O"]
    assert read_sentences(frame, label="pos", inputs=["word"])[1][0][0] == "PROPN"
    with pytest.raises(ValueError, match=r"no column 'mien'.*did you mean 'mine'"):
        read_sentences(frame, label="mien")


def test_a_table_without_sentences_is_read_as_one_with_a_warning(folder):
    rows = table().splitlines()
    (folder / "t.csv").write_text("".join(row.partition(",")[2] + "\n" for row in rows))
    assert "60 tokens are one sentence; add a column sentence" in learn(folder, "ner", "t.csv")


# -- folders of brat ----------------------------------------------------------------------------


@pytest.fixture
def brat(folder):
    run("convert", "t.csv", "--to", "brat", "-o", "ann", cwd=folder)
    return folder


def test_a_folder_of_brat_is_tagged_into_a_folder(brat):
    learn(brat, "ner", "ann")
    assert run("tag", "m", "ann", "-o", "tagged", cwd=brat).returncode == 0
    assert {one.name: one.read_bytes() for one in (brat / "tagged").iterdir()} == {
        one.name: one.read_bytes() for one in (brat / "ann").iterdir()
    }
    refused(run("tag", "m", "ann", cwd=brat), 2, "is a folder of files; name it with -o FOLDER")


def test_a_single_file_of_brat_is_read_and_written(brat):
    first = sorted((brat / "ann").glob("*.ann"))[0]
    learn(brat, "ner", "ann")
    done = run("tag", "m", first, cwd=brat)
    assert done.stdout == first.read_bytes() != b""


def test_texts_without_annotation_are_reported(brat):
    sorted((brat / "ann").glob("*.ann"))[1].unlink()
    assert "1 of 15 .txt files have no .ann" in learn(brat, "ner", "ann")


# -- files for other commands -------------------------------------------------------------------


def test_held_out_data_may_have_another_format(folder):
    (folder / "words.txt").write_text("".join(
        "".join(f"{word} {label}\n" for word, _, label in sentence) + "\n" for sentence in SENTENCES
    ))  # fmt: skip
    run("convert", "words.txt", "--to", "jsonl", "-o", "d.jsonl", cwd=folder)
    for file, dev in (("words.txt", "d.jsonl"), ("d.jsonl", "words.txt"), ("d.jsonl", "t.csv")):
        done = run("train", "ner", file, "--dev", dev, "-o", "m", cwd=folder)
        assert b"best dev F1 100.00" in done.stderr, done.stderr
    done = run("train", "ner", "cols.txt", "--dev", "d.jsonl", "-o", "m", cwd=folder)
    refused(done, 1, "the training file has several input or label columns, but this file is in JSON lines")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("d.jsonl", '{"tokens": ["a", "b"], "labels": ["X", "Y"]}\n', "this file is in JSON lines"),
        ("spaces.txt", columns(" "), "spaces separate the 3 columns of this file"),
        ("s.conllu", conllu().replace("\t", " "), "spaces separate the 10 columns of this file"),
        ("t.csv", table(), "this file is in a table"),
    ],
)
def test_train_ud_says_what_a_file_is_instead_of_a_treebank(folder, name, text, told):
    (folder / name).write_text(text)
    refused(run("train", "ud", name, "-o", "m", cwd=folder), 1, f"{name}: CoNLL-U is needed", told)


def test_convert_asks_for_what_is_missing(folder):
    learn(folder, "pos", "ten.conllu")
    refused(
        run("convert", "m", "--dtype", "int8", "-o", "n", cwd=folder), 2, "m is a model of structsvm already"
    )
    refused(run("convert", "nothere", "--dtype", "int8", cwd=folder), 1, "nothere: No such file")
    refused(
        run("convert", "cols.txt", "--dtype", "int8", cwd=folder),
        2,
        "cannot be combined with a file of labels",
    )
    refused(run("convert", "cols.txt", cwd=folder), 2, "or a format such as jsonl")


def test_train_pos_warns_of_labels_of_phrases(folder):
    assert "such as B-LOC, and train pos learns them as parts of speech" in learn(folder, "pos", "cols.txt")
    assert learn(folder, "pos", "ten.conllu") == ""


def test_inputs_of_a_table_are_named(folder):
    learn(folder, "chunk", "t.csv", "--columns", "word,pos", "--column", "tag")
    with open_columns(folder / "t.csv") as opened:
        assert [opened.column(name) for name in ("word", "pos", "1", "-2")] == [1, 3, 1, 3]
        with pytest.raises(ValueError, match="cannot be an input"):
            opened.column("sentence")
