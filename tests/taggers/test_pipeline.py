"""`train ud`, `train morph` and the pipelines that they write: columns, lemmas, raw text, damaged files."""

import gc
import json
import warnings
from dataclasses import replace
from functools import partial
from io import BytesIO

import conllu
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm.files import ModelFileError, SparseRows, budget, load_model, save_model
from structsvm.files.errors import DataError
from taggers import MorphTagger, commands
from taggers.formats._columns import Columns
from taggers.formats.base import Layer
from taggers.formats.conllu import ConlluFormat, label_in_misc
from taggers.formats.files import Opened, read_all
from taggers.lemmas import edited, script, train_lemmatizer
from taggers.model import TaggerModel
from taggers.model_file import memory
from taggers.online import Fitted
from taggers.pipeline import Pipeline, training
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import as_columns, with_lemmas


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("ud")
    (path / "train.conllu").write_bytes(with_lemmas(120))
    (path / "dev.conllu").write_bytes(with_lemmas(30, 1))
    with pytest.warns(UserWarning, match="every token is followed by a space"):
        commands.train_ud(path / "train.conllu", path / "ud.ssvm", dev=path / "dev.conllu")
    return path


def columns_of(data):
    rows = [line.split("\t") for line in data.decode().split("\n") if "\t" in line]
    return list(zip(*rows, strict=True))


def test_one_pass_fills_all_columns_and_keeps_the_rest(folder):
    gold = (folder / "dev.conllu").read_bytes()
    lines = [line.split("\t") for line in gold.decode().split("\n")]
    blank = "\n".join(
        "\t".join([*f[:2], "_", "_", "_", "_", *f[6:]]) if len(f) == 10 else f[0] for f in lines
    )
    (folder / "blank.conllu").write_text(blank)
    done = run("tag", "ud.ssvm", "blank.conllu", cwd=folder)
    assert (done.returncode, done.stderr) == (0, b"")
    found, right = columns_of(done.stdout), columns_of(gold)
    for place in (0, 1, 6, 7, 8, 9):
        assert found[place] == right[place]
    for place in (2, 3, 4, 5):
        assert np.mean(np.array(found[place]) == np.array(right[place])) > 0.9


def test_evaluation_shows_each_column_and_all_together(folder):
    found = json.loads(run("evaluate", "ud.ssvm", "dev.conllu", "--json", cwd=folder).stdout)
    assert list(found) == ["upos", "xpos", "feats", "lemma", "all"]
    accuracies = [one["tokens"]["accuracy"] for one in found.values()]
    assert accuracies[-1] == pytest.approx(min(accuracies))
    shown = run("evaluate", "ud.ssvm", "dev.conllu", cwd=folder).stdout.decode()
    assert f"{100 * accuracies[0]:.2f}%" in shown.splitlines()[1]


def with_changes(data, change):
    """CoNLL-U after `change` has edited the fields of each token, given the number of its sentence."""
    lines, sentence = [line.split("\t") for line in data.decode().split("\n")], 0
    for fields in lines:
        sentence += fields == [""]
        if len(fields) == 10:
            change(sentence, fields)
    return "\n".join("\t".join(fields) for fields in lines).encode()


def without(column):
    """Leave out a column, except in every third sentence."""

    def change(sentence, fields):
        if sentence % 3:
            fields[column] = "_"

    return change


def test_evaluation_counts_sentences_and_brackets_are_not_phrases(folder):
    data = (folder / "dev.conllu").read_bytes()
    (folder / "brackets.conllu").write_bytes(data.replace(b"\tDT\t", b"\t-LRB-\t"))
    done = run("evaluate", "ud.ssvm", "brackets.conllu", "--json", cwd=folder)
    determiners = [b"\tDT\t" in sentence for sentence in data.strip().split(b"\n\n")]
    for name, one in json.loads(done.stdout).items():
        right = determiners.count(False) if name in ("xpos", "all") else len(determiners)
        assert one["sequences"] == {"correct": right, "total": 30, "accuracy": right / 30}
        assert (one["types"], one["phrases"]["gold"]) == ({}, 0)


def test_tokens_without_a_gold_value_do_not_count(folder):
    data = (folder / "dev.conllu").read_bytes()
    whole = {
        name: one.tokens.total
        for name, one in commands.evaluate_any(folder / "ud.ssvm", folder / "dev.conllu").items()
    }
    for column, name in ((2, "lemma"), (3, "upos"), (4, "xpos")):
        (folder / "some.conllu").write_bytes(with_changes(data, without(column)))
        found = commands.evaluate_any(folder / "ud.ssvm", folder / "some.conllu")
        for other, one in found.items():
            assert one.accuracy > 0.95
            assert (one.tokens.total < whole[other] / 2) == (other in (name, "all"))
    (folder / "some.conllu").write_bytes(with_changes(data, without(5)))
    with pytest.warns(UserWarning, match="no word of this sentence has FEATS"):
        found = commands.evaluate_any(folder / "ud.ssvm", folder / "some.conllu")["feats"]
    assert found.tokens.total == whole["feats"]  # no features is a value
    assert found.accuracy < 0.95


def test_the_lemma_of_a_part_of_a_word_may_be_missing(folder):
    row = "1\t{}\t_\t{}\tFW\t_\t0\troot\t_\t_\n\n"
    rows = [row.format("hood", "X"), row.format("_", "PUNCT"), row.format("hood", "NOUN")]
    (folder / "parts.conllu").write_bytes((folder / "train.conllu").read_bytes() + "".join(rows * 5).encode())
    commands.train_lemma(folder / "parts.conllu", folder / "parts.ssvm")
    (folder / "three.conllu").write_text("".join(rows))
    tagged = columns_of(run("tag", "parts.ssvm", "three.conllu", cwd=folder).stdout)
    assert tagged[2] == ("_", "_", "hood")
    (folder / "three.conllu").write_text("".join(rows).replace("hood\t_\tNOUN", "hood\thood\tNOUN"))
    assert commands.evaluate_any(folder / "parts.ssvm", folder / "three.conllu")["lemma"].tokens.total == 3


def test_gaps_in_a_column_are_not_learned(folder):
    """Two thirds of the sentences have no lemmas, and the XPOS of plural nouns is not known."""

    def change(sentence, fields):
        without(2)(sentence, fields)
        without(4)(sentence, fields)
        fields[4] = "_" if fields[5] == "Number=Plur" else fields[4]

    for name in ("train", "dev"):
        (folder / f"gaps.{name}.conllu").write_bytes(
            with_changes((folder / f"{name}.conllu").read_bytes(), change)
        )
    done = run("train", "ud", "gaps.train.conllu", "--dev", "gaps.dev.conllu", "-o", "gaps.ssvm", cwd=folder)
    found = commands.evaluate_any(folder / "gaps.ssvm", folder / "gaps.dev.conllu")
    told = ", ".join(f"{name} {100 * one.accuracy:.2f}" for name, one in found.items())
    assert f"accuracy {told}" in done.stderr.decode()
    assert all(one.accuracy > 0.95 for one in found.values())
    words = Pipeline.load(folder / "gaps.ssvm").predict([["red", "cats", "see", "the", "lamp", "."]])[0]
    assert [word["lemma"] for word in words] == ["red", "cat", "see", "the", "lamp", "."]
    assert words[1]["feats"] == "Number=Plur"
    assert [word["xpos"] for word in words[3:]] == ["DT", "NN", "."]


def test_the_dev_score_of_joint_labels_counts_complete_ones(folder):
    for name in ("train", "dev"):
        data = with_changes((folder / f"{name}.conllu").read_bytes(), without(4))
        (folder / f"half.{name}.conllu").write_bytes(data)
    for task in ("pos", "morph"):
        columns = "upos+xpos" if task == "pos" else "xpos+feats"
        done = run(
            "train", task, "half.train.conllu", "--dev", "half.dev.conllu", "--column", columns,
            "-o", "half.ssvm", cwd=folder,
        )  # fmt: skip
        model = TaggerModel.load(folder / "half.ssvm")
        assert "_" not in model.part_names("xpos")
        found = commands.evaluate_any(model, folder / "half.dev.conllu")
        assert found["all"].accuracy > 0.95
        assert f"best dev accuracy {100 * found['all'].accuracy:.2f}".encode() in done.stderr


def test_a_saved_pipeline_predicts_the_same_and_int8_is_smaller(folder):
    columns = read_all(folder / "dev.conllu", "conllu", wanted=[1])
    pipeline = Pipeline.load(folder / "ud.ssvm")
    pipeline.save(folder / "again.ssvm")
    assert (folder / "again.ssvm").read_bytes() == (folder / "ud.ssvm").read_bytes()
    pipeline.save(folder / "small.ssvm", dtype="int8", prune=0.005)
    assert (folder / "small.ssvm").stat().st_size < 0.5 * (folder / "ud.ssvm").stat().st_size
    for name, one in Pipeline.load(folder / "small.ssvm").tag(columns).items():
        whole = pipeline.tag(columns)[name]
        same = [a == b for a, b in zip(*([v.names[k] for k in v.ids] for v in (one, whole)), strict=True)]
        assert np.mean(same) > 0.95


def test_predict_in_python(folder):
    ((word, *_),) = Pipeline.load(folder / "ud.ssvm").predict([["the", "cats", "sleep"]])
    assert list(word) == ["upos", "xpos", "feats", "lemma"]
    assert word["lemma"] == "the"


def test_raw_text_becomes_valid_conllu(folder):
    text = "The cats sleep (well). It didn't\tstop...\n\nA new line\n"
    done = run("tag", "ud.ssvm", "-", "--format", "text", "--to", "conllu", cwd=folder, stdin=text.encode())
    sentences = conllu.parse(done.stdout.decode())
    assert [one.metadata["text"] for one in sentences] == [
        "The cats sleep (well).", "It didn't stop...", "A new line",
    ]  # fmt: skip
    ids = [one.metadata["sent_id"] for one in sentences]
    assert len(set(ids)) == len(ids)
    for sentence in sentences:
        assert [token["id"] for token in sentence] == list(range(1, len(sentence) + 1))
        assert all(token["upos"] and token["lemma"] for token in sentence)
        spaces = ["" if (token["misc"] or {}).get("SpaceAfter") == "No" else " " for token in sentence]
        forms = [token["form"] for token in sentence]
        assert "".join(a + b for a, b in zip(forms, spaces, strict=True)).strip() == sentence.metadata["text"]


def test_only_text_is_converted(folder):
    done = run("tag", "ud.ssvm", "dev.conllu", "--to", "conllu", cwd=folder)
    refused(done, 1, "--to converts plain text, but this file is in CoNLL-U")
    refused(
        run("tag", "ud.ssvm", "dev.conllu", "--to", "json", cwd=folder),
        2,
        "--to must be one of columns, conllu",
    )


def test_a_treebank_without_lemmas_and_xpos_leaves_them_out_with_a_note(folder):
    lines = [line.split("\t") for line in (folder / "train.conllu").read_text().split("\n")]
    for fields in lines:
        if len(fields) == 10:
            fields[2] = fields[4] = "_"
    (folder / "less.conllu").write_text("\n".join("\t".join(fields) for fields in lines))
    done = run("train", "ud", "less.conllu", "-o", "less.ssvm", cwd=folder)
    assert done.returncode == 0
    assert b"no token has xpos or lemma; left out" in done.stderr
    less = Pipeline.load(folder / "less.ssvm")
    assert less.parts == ["upos", "feats"]
    assert "_" in less.morph.part_names("feats")  # no features is a value, not a missing one
    found = json.loads(run("evaluate", "less.ssvm", "dev.conllu", "--json", cwd=folder).stdout)
    assert found["feats"]["tokens"]["accuracy"] > 0.9


def test_values_outside_the_universal_parts_of_speech_are_reported_and_learned(folder):
    text = (folder / "train.conllu").read_text().replace("\tNOUN\t", "\tSUBST\t")
    (folder / "own.conllu").write_text(text)
    line = 1 + next(k for k, row in enumerate(text.split("\n")) if "\tSUBST\t" in row)
    done = run("train", "ud", "own.conllu", "-o", "own.ssvm", cwd=folder)
    assert done.returncode == 0
    note = f"own.conllu:{line}: SUBST is not a universal part of speech, and is used unchanged"
    assert note in done.stderr.decode()
    assert f"tokens with them: {text.count('SUBST')})" in done.stderr.decode()
    assert "SUBST" in Pipeline.load(folder / "own.ssvm").upos.names
    found = run("evaluate", "own.ssvm", "dev.conllu", cwd=folder).stderr.decode()
    assert "the model does not know the label NOUN, so it counts as wrong" in found
    assert b"not a universal" not in run("train", "ud", "train.conllu", "-o", "own.ssvm", cwd=folder).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--template", "pos"), "--template is not available for train ud"),
        (("--column", "upos"), "--column is not available for train ud"),
        (("--keep-state",), "--keep-state is not available for train ud"),
    ],
)
def test_options_of_single_taggers_are_refused(folder, arguments, message):
    refused(run("train", "ud", "train.conllu", "-o", "no.ssvm", *arguments, cwd=folder), 2, message)
    assert not (folder / "no.ssvm").exists()


def test_a_treebank_without_parts_of_speech_is_refused(folder):
    lines = [line.split("\t") for line in (folder / "train.conllu").read_text().split("\n")]
    text = "\n".join("\t".join([*f[:3], "_", *f[4:]]) if len(f) == 10 else f[0] for f in lines)
    (folder / "none.conllu").write_text(text)
    arguments = ("train", "ud", "train.conllu", "--dev", "none.conllu", "-o", "no.ssvm")
    refused(run(*arguments, cwd=folder), 1, "error: none.conllu: the column upos is empty")
    assert not (folder / "no.ssvm").exists()
    with pytest.raises(DataError, match="upos is empty"):
        commands.train_ud(folder / "none.conllu", folder / "no.ssvm")


def test_morph_learns_two_columns_as_one_label_with_shared_parts(folder):
    done = run("train", "morph", "train.conllu", "--dev", "dev.conllu", "-o", "morph.ssvm", cwd=folder)
    model = TaggerModel.load(folder / "morph.ssvm")
    assert model.parts == ["upos", "feats"]
    assert model.labels.share
    assert model.problem().width < 2 * len({p for label in model.labels for p in label.split("\t")})
    found = json.loads(run("evaluate", "morph.ssvm", "dev.conllu", "--json", cwd=folder).stdout)
    assert list(found) == ["upos", "feats", "all"]
    assert f"best dev accuracy {100 * found['all']['tokens']['accuracy']:.2f}".encode() in done.stderr
    right = columns_of((folder / "dev.conllu").read_bytes())
    tagged = columns_of(run("tag", "morph.ssvm", "dev.conllu", cwd=folder).stdout)
    assert tagged[:3] == right[:3]
    assert np.mean(np.array(tagged[5]) == np.array(right[5])) > 0.9
    for command in ("tag", "evaluate"):
        plain = run(command, "morph.ssvm", "dev.conllu", cwd=folder).stdout
        named = run(command, "morph.ssvm", "dev.conllu", "--column", "upos+feats", cwd=folder)
        assert named.stdout == plain
        wrong = run(command, "morph.ssvm", "dev.conllu", "--column", "upos+xpos", cwd=folder)
        refused(wrong, 2, "the model predicts the columns upos+feats; leave out --column")
    both = run("evaluate", "en-pos", "dev.conllu", "--column", "upos+xpos", "--json", cwd=folder)
    assert list(json.loads(both.stdout)) == ["upos", "xpos", "all"]


def test_training_prints_the_dev_score_of_each_layer(folder):
    done = run("train", "ud", "train.conllu", "--dev", "dev.conllu", "-o", "scored.ssvm", cwd=folder)
    shown = run("evaluate", "scored.ssvm", "dev.conllu", cwd=folder).stdout.decode()
    scores = {line.split()[0]: line.split()[1].rstrip("%") for line in shown.splitlines()[1:]}
    told = ", ".join(f"{name} {score}" for name, score in scores.items())
    assert f"dev.conllu: accuracy {told}" in done.stderr.decode().splitlines()
    quiet = run("train", "ud", "train.conllu", "--dev", "dev.conllu", "-o", "scored.ssvm", "-q", cwd=folder)
    assert b"accuracy" not in quiet.stderr


def test_the_state_of_a_layer_is_freed_before_the_next_one_is_trained(folder, monkeypatch):
    def trainers():
        gc.collect()
        return sum(isinstance(one, Fitted) for one in gc.get_objects())

    def counted(*arguments, **options):
        alive.append(trainers())
        return train_lemmatizer(*arguments, **options)

    alive = [trainers()]
    monkeypatch.setattr(training, "train_lemmatizer", counted)
    with pytest.warns(UserWarning, match="every token is followed by a space"):
        commands.train_ud(folder / "train.conllu", folder / "freed.ssvm")
    assert alive[0] == alive[1]


def test_inspection_shows_each_layer(folder):
    found = commands.inspect(folder / "ud.ssvm", top=3)
    assert found["columns"] == ["upos", "xpos", "feats", "lemma"]
    assert list(found["layers"]) == ["upos", "morph", "lemma"]
    assert found["layers"]["upos"] == commands.inspect(Pipeline.load(folder / "ud.ssvm").upos, top=3)
    shown = run("inspect", "ud.ssvm", "--top", "1", cwd=folder).stdout.decode()
    assert [line for line in shown.splitlines() if line.startswith("==")] == [
        "== layer upos", "== layer morph", "== layer lemma",
    ]  # fmt: skip
    assert "--names" not in shown
    refused(
        run("inspect", "ud.ssvm", "--names", "dev.conllu", cwd=folder),
        2,
        "has no effect with a model of several",
    )


def test_a_lemma_model_says_that_parts_of_speech_are_missing(folder):
    commands.train_lemma(folder / "train.conllu", folder / "lemmas.ssvm")
    row = "{}\tcats\tcat\t{}\t_\tNumber=Plur\t0\tdep\t_\t_\n"
    for upos, told in (("_", b"the first tokens have no upos, which the model reads"), ("NOUN", b"")):
        data = (row.format(1, upos) + "\n").encode()
        (folder / "one.conllu").write_bytes(data)
        for done in (
            run("tag", "lemmas.ssvm", "one.conllu", cwd=folder),
            run("evaluate", "lemmas.ssvm", "one.conllu", cwd=folder),
        ):
            assert done.returncode == 0
            assert done.stderr.count(b"warning") == bool(told)
            assert told in done.stderr


def test_tagging_text_as_conllu_with_one_column(folder):
    text = b"the cats see Anna. a dog sleeps!\n"
    arguments = ("--format", "text", "--to", "conllu")
    for column, place in (("upos", 3), ("xpos", 4)):
        commands.train("pos", folder / "train.conllu", folder / "one.ssvm", label=place)
        done = run("tag", "one.ssvm", "-", *arguments, cwd=folder, stdin=text)
        assert done.stderr == b""
        assert all(token[column] for one in conllu.parse(done.stdout.decode()) for token in one)
    (folder / "columns.txt").write_bytes(as_columns(40))
    commands.train("chunk", folder / "columns.txt", folder / "chunk.ssvm", inputs=[0])
    done = run("tag", "chunk.ssvm", "-", *arguments, cwd=folder, stdin=text)
    refused(done, 1, "choose one with --column: upos or xpos for parts of speech, misc for phrases")


def test_labels_in_misc_keep_the_spaces(folder):
    (folder / "columns.txt").write_bytes(as_columns(40))
    commands.train("chunk", folder / "columns.txt", folder / "chunk.ssvm", inputs=[0])
    arguments = ("--format", "text", "--to", "conllu", "--column", "misc")
    once = run("tag", "chunk.ssvm", "-", *arguments, cwd=folder, stdin=b"the cats see Anna.\n").stdout
    assert [misc.split("|") for misc in columns_of(once)[9][-2:]] == [["SpaceAfter=No", "B-NP"], ["O"]]
    again = run("tag", "chunk.ssvm", "-", "--column", "misc", "--format", "conllu", cwd=folder, stdin=once)
    assert again.stdout == once
    marked = ConlluFormat()
    columns = Opened(BytesIO(b"1\tAnna" + b"\t_" * 7 + b"\tNE=B|Ref=3\n\n"), marked).read([9])
    for name, misc in (("NE=O", b"\tRef=3|NE=O\n"), ("_", b"\tNE=B|Ref=3\n")):
        assert marked.write(columns, [Layer(np.zeros(1, np.int32), [name], 0)]).endswith(misc + b"\n")


def test_labels_in_misc_are_read_back(folder):
    (folder / "columns.txt").write_bytes(as_columns(40))
    commands.train("chunk", folder / "columns.txt", folder / "chunk.ssvm", inputs=[0])
    misc = ("--column", "misc")
    text = b"the cats see Anna. a dog sleeps!\n" * 3
    arguments = ("chunk.ssvm", "-", "--format", "text", "--to", "conllu", *misc, "--scores")
    (folder / "own.conllu").write_bytes(run("tag", *arguments, cwd=folder, stdin=text).stdout)
    done = run("evaluate", "chunk.ssvm", "own.conllu", *misc, cwd=folder)
    assert b"accuracy: 100.00%" in done.stdout, done
    done = run("train", "chunk", "own.conllu", *misc, "-o", "again.ssvm", cwd=folder)
    assert done.returncode == 0, done.stderr
    again = TaggerModel.load(folder / "again.ssvm")
    assert set(again.names) <= set(TaggerModel.load(folder / "chunk.ssvm").names)
    biluo = run("convert", "own.conllu", *misc, "--to", "BILUO", cwd=folder).stdout
    values = columns_of(biluo)[9]
    assert sum("SpaceAfter=No" in value.split("|") for value in values) == 6
    labels = [[entry for entry in value.split("|") if "=" not in entry] for value in values]
    assert labels == [[label_in_misc(value)] for value in values]
    assert ["L-NP"] in labels


def test_misc_keeps_entries_that_are_not_labels(folder):
    line = b"1\tAnna" + b"\t_" * 7 + b"\tGuess|I|Margin=0.5|Ref=3\n\n"
    columns = Opened(BytesIO(line), ConlluFormat()).read([9])
    written = columns.format.write(columns, [Layer(np.zeros(1, np.int32), ["B", "I"], 0)])
    assert written.endswith(b"\tGuess|Ref=3|B\n\n")
    assert Opened(BytesIO(written), columns.format).read([9]).labels() == [["B"]]
    spaces = b"1\tAnna" + b"\t_" * 7 + b"\tSpaceAfter=No\n\n"
    (folder / "spaces.conllu").write_bytes(spaces)
    done = run("train", "ner", "spaces.conllu", "--column", "misc", "-o", "none.ssvm", cwd=folder)
    refused(done, 1, "the column misc has no labels; choose another with --column")


def test_any_columns_are_learned_jointly(folder):
    done = run("train", "pos", "train.conllu", "--column", "upos+xpos", "-o", "both.ssvm", cwd=folder)
    assert done.returncode == 0, done.stderr
    model = TaggerModel.load(folder / "both.ssvm")
    assert model.parts == ["upos", "xpos"]
    assert not model.labels.share
    assert all(label.count("\t") == 1 for label in model.labels)


def test_shared_labels_grow_with_partial_fit_and_survive_a_file(tmp_path):
    X = [["a", "b"], ["b", "a"]] * 5
    tagger = MorphTagger(template="w[0]").partial_fit(X, [["N\tx", "V\ty"], ["V\ty", "N\tx"]] * 5)
    tagger.partial_fit([["c"]] * 10, [["N\ty|z"]] * 10)
    assert tagger.predict([["a"], ["b"], ["c"]]) == [["N\tx"], ["V\ty"], ["N\ty|z"]]
    tagger.save(tmp_path / "m", training_state=True)
    again = MorphTagger.load(tmp_path / "m")
    assert again.predict([["a"], ["b"], ["c"]]) == [["N\tx"], ["V\ty"], ["N\ty|z"]]
    again.partial_fit([["d"], ["a"]] * 10, [["N\tx|z"], ["N\tx"]] * 10)
    assert again.predict([["d"], ["a"]]) == [["N\tx|z"], ["N\tx"]]


def test_tokens_get_only_labels_seen_with_their_part_of_speech_or_word(tmp_path):
    """Candidates of frequent values survive a pruned file; further training allows all labels again."""
    X = [[("the", "D"), ("old", "A"), ("sleep", "N")], [("the", "D"), ("dogs", "N"), ("sleep", "V")]] * 60
    y = [["_", "Degree=Pos", "Number=Sing"], ["_", "Number=Plur", "Tense=Pres"]] * 60
    tagger = MorphTagger(template="p[0], w[0]").fit(X, y)
    model = tagger.model_
    sets = {tuple(model.labels[k] for k in one) for one in
            np.split(model.candidates.labels, np.cumsum(model.candidates.sizes)[:-1])}  # fmt: skip
    assert sets == {("_",), ("Number=Sing", "Number=Plur")}  # A and V occur less than 100 times
    with pytest.warns(UserWarning, match="prune=100 drops the weights of all features"):
        tagger.save(tmp_path / "m", prune=100, dtype="int8")
    again = MorphTagger.load(tmp_path / "m")
    ((first, second),) = again.predict([[("the", "N"), ("sleep", "D")]])
    assert first.startswith("Number=")
    assert second == "_"
    words = MorphTagger().fit([[t[0] for t in s] for s in X], y).model_
    assert sorted(words.candidates.sizes.tolist()) == [1, 1, 2, 2]  # the, sleep and their endings
    with pytest.raises(ValueError, match="gold label"):
        tagger.partial_fit([[("the", "D")]], [[None]])
    assert tagger.model_.candidates is not None
    tagger.partial_fit([[("the", "N")]] * 20, [["Definite=Def"]] * 20)
    assert tagger.model_.candidates is None
    assert tagger.predict([[("the", "N")]]) == [["Definite=Def"]]


@pytest.mark.parametrize("template", ["lower[0], lower_suffix3[0]", "lower_suffix3[0], lower[0]"])
def test_the_word_decides_before_the_ending_in_any_order_of_the_template(template):
    words, labels = ["running", "sing", "Ping"], ["V", "N", "P"]
    model = MorphTagger(template=template).fit([words] * 100, [labels] * 100).model_
    empty = replace(model, weights=SparseRows.from_dense(np.zeros((model.n_rows, model.problem().width))))
    found = empty.tag(empty.features([words]))  # without weights, only a set of one label gives the right one
    assert [model.labels[k] for k in found] == labels


def test_development_scores_are_those_of_the_model_with_its_candidates():
    rng = np.random.default_rng(0)
    labels = {"a": ["N|S", "N|P"], "b": ["V|S", "V|P"], "c": ["N|S", "V|P"]}
    X = [["".join(rng.choice(list(k)) for k in ("abc", "xyz", "pq")) for _ in range(6)] for _ in range(400)]
    y = [[str(rng.choice(labels[word[0]])) for word in sentence] for sentence in X]
    tagger = MorphTagger().fit(X[:300], y[:300], X_dev=X[300:], y_dev=y[300:])
    assert max(tagger.dev_scores_) == tagger.score(X[300:], y[300:])
    free = replace(tagger.model_, candidates=None)
    assert np.any(free.tag(free.features(X[300:])) != tagger.model_.tag(free.features(X[300:])))


def test_shared_labels_refuse_what_they_cannot_do():
    for options in ({"inference": "exact"}, {"label_weight": {"N": 2.0}}):
        with pytest.raises(ValueError, match="share needs greedy"):
            MorphTagger(**options).fit([["a"]], [["N"]])


@pytest.mark.parametrize(
    ("form", "lemma"),
    [
        ("Cities", "city"),
        ("NASA", "NASA"),
        ("went", "go"),
        ("a", "b"),
        ("geëet", "eet"),
        ("x", "xyz"),
        ("is", "be"),
        ("<b>Cats", "cat"),
        (">>", "x>"),
    ],
)
def test_scripts_lead_from_forms_to_lemmas(form, lemma):
    assert edited(form, script(form, lemma)) == lemma


@given(*[st.text(alphabet="aAb<>İß1", min_size=1)] * 2)
def test_any_form_has_a_script_to_any_lemma(form, lemma):
    assert edited(form, script(form, lemma)) == lemma


@pytest.mark.filterwarnings("ignore:.*every token is followed by a space")
def test_a_known_word_keeps_its_lemma_with_other_features():
    words = {(stem + "s" * (number == "Plur"), "NOUN", f"Number={number}"): stem
             for stem in ("cat", "lamp", "house", "stone", "dog") for number in ("Sing", "Plur")}  # fmt: skip
    words |= {(stem + "en", "NOUN", "Number=Plur"): stem for stem in ("ox", "brethr", "kitt")}
    words |= {(word, "NOUN", "Number=Sing"): word for word in ("garden", "kitchen", "siren")}
    lemmatizer = train_lemmatizer(words, words.values(), random_state=0)
    assert lemmatizer.model.report["tokens"] == len(words)
    for feats in ("Number=Plur", "Number=Sing", "Case=Gen|Number=Sing", "_"):
        rows = [(word, "NOUN", feats) for word in ("oxen", "kitten", "garden", "cats")]
        ids, names = lemmatizer.lemmas(Columns.from_sentences([rows]))
        assert [names[k] for k in ids] == ["ox", "kitt", "garden", "cat"]


def test_exceptions_are_remembered(tmp_path):
    words = {"went": "go", "mice": "mouse", "walks": "walk", "talks": "talk", "asks": "ask"}
    rows = [f"1\t{form}\t{lemma}\tVERB\t_\t_\t_\t_\t_\t_\n\n" for form, lemma in words.items()]
    (tmp_path / "a.conllu").write_text("".join(rows) * 2)
    with pytest.warns(UserWarning, match="no token has xpos or feats|every token is followed by a space"):
        pipeline = commands.train_ud(tmp_path / "a.conllu", tmp_path / "m")
    ((found,), *rest) = pipeline.predict([[form] for form in words])
    assert [found["lemma"], *(one["lemma"] for (one,) in rest)] == list(words.values())


def test_no_word_of_the_training_file_is_unknown_to_a_lemma_model(tmp_path):
    words = {"went": "go", "walks": "walk", "talks": "talk"}  # the script of went occurs once
    rows = [f"1\t{form}\t{lemma}\tVERB\tV\t_\t_\t_\t_\t_\n\n" for form, lemma in words.items()]
    (tmp_path / "a.conllu").write_text("".join(rows))
    commands.train_lemma(tmp_path / "a.conllu", tmp_path / "m")
    found = commands.evaluate_any(tmp_path / "m", tmp_path / "a.conllu")["lemma"]
    assert (found.known.total, found.unknown.total) == (3, 0)
    shown = run("evaluate", "m", "a.conllu", cwd=tmp_path).stdout.decode()
    assert shown.split()[-4:] == ["lemma", "100.00%", "100.00%", "-"]


def test_only_the_first_layer_of_a_file_keeps_the_words_that_it_has_seen(folder):
    saved = Pipeline.load(folder / "ud.ssvm")
    assert [len(layer.space.words) > 0 for layer in saved.layers.values()] == [True, False, False]
    Pipeline(None, lemmatizer=saved.lemmatizer).save(folder / "copy.ssvm")  # as spaCy saves a component
    shown = run("evaluate", "copy.ssvm", "dev.conllu", cwd=folder).stdout.decode()
    assert shown.split()[-2:] == ["-", "-"]
    assert float(shown.split()[-3].rstrip("%")) > 90


@pytest.mark.parametrize(
    ("empty", "told"),
    [
        ((3,), "no token has upos; the model"),
        ((3, 4, 5), "no token has upos or xpos or feats; the model"),
        ((4, 5), "no token has xpos or feats; the model"),
        ((4,), ""),
        ((5,), ""),  # XPOS stands in for FEATS
    ],
)
def test_training_of_lemmas_says_which_columns_are_empty(folder, empty, told):
    lines = [line.split("\t") for line in (folder / "train.conllu").read_text().split("\n")]
    for fields in lines:
        for column in empty if len(fields) == 10 else ():
            fields[column] = "_"
    (folder / "less.conllu").write_text("\n".join("\t".join(fields) for fields in lines))
    done = run("train", "lemma", "less.conllu", "-o", "less.ssvm", cwd=folder)
    assert done.returncode == 0
    assert ("less.conllu: no token" in done.stderr.decode()) == bool(told)
    assert told in done.stderr.decode()


def test_single_taggers_say_what_a_pipeline_is(folder):
    with pytest.raises(ModelFileError, match="several layers"):
        TaggerModel.load(folder / "ud.ssvm")
    with pytest.raises(ModelFileError, match="not a pipeline"):
        Pipeline.load("en-pos")


@pytest.mark.parametrize(
    "damage",
    [
        lambda arrays, meta: meta["layers"].pop("upos"),
        lambda arrays, meta: meta["scripts"].append("x"),
        lambda arrays, meta: (
            meta["scripts"].append("="),
            arrays.update(scripts=np.append(arrays["scripts"], np.uint64(7))),
        ),
        lambda arrays, meta: meta["layers"]["lemma"]["labels"].__setitem__(0, "=\t>\t3"),
        lambda arrays, meta: meta["layers"]["morph"].update(template="c5[0]"),
        lambda arrays, meta: meta["layers"]["morph"].update(share=3),
        lambda arrays, meta: meta["layers"]["morph"]["labels"].append("NOUN"),
        lambda arrays, meta: meta["layers"].update(lemma={}),
        lambda arrays, meta: meta.update(layers=[]),
        lambda arrays, meta: arrays.update(scripts=np.zeros((1, 1))),
        lambda arrays, meta: arrays.pop("morph-counts"),
    ],
)
def test_damaged_pipelines_are_refused(folder, damage):
    arrays, meta = load_model(folder / "ud.ssvm")
    damage(arrays, meta)
    file = folder / "damaged.ssvm"
    save_model(file, arrays, meta)
    with pytest.raises(ModelFileError):
        Pipeline.load(file)


def test_explanations_and_inspection_of_shared_labels_add_up(folder):
    X = [["a", "b"], ["b", "a"], ["c", "a"]] * 5
    y = [["N\tx", "V\ty"], ["V\ty", "N\tx"], ["N\tx|z", "N\tx"]] * 5
    tagger = MorphTagger(template="w[-1..1], bias", keep_names=True).fit(X, y)
    model = tagger.model_
    for sentence in X[:3]:
        shown = tagger.explain(sentence)
        totals = [sum(w for _, w in one["features"] + one["history"]) for one in shown]
        lattice = model.decoder.lattice(model.features(Columns.from_sentences([sentence])), 0)
        assert lattice.shape == (2, 3)
        for at, (one, total) in enumerate(zip(shown, totals, strict=True)):
            best = lattice[at, model.labels.index(one["label"])] + sum(w for _, w in one["history"])
            assert total == pytest.approx(best, abs=1e-5)
    assert {name for _, name, _ in commands.inspect(model)["strongest"]} <= set(model.labels.weight_names)
    tagger.save(folder / "shared.ssvm")
    done = run("inspect", "shared.ssvm", "--html", "page.html", cwd=folder)
    refused(done, 2, "--html does not show labels")


def test_empty_nodes_are_skipped(tmp_path):
    ids = ("0.1", "1", "1.1", "1.2", "2-3", "2", "3", "3.1")
    rows = "".join(f"{one}\tw\tw\tNOUN\t_\tCase=Nom\t_\t_\t_\t_\n" for one in ids)
    alone = rows[: rows.index("\n") + 1]  # a sentence of an empty node
    (tmp_path / "nodes.conllu").write_text(f"{rows}\n{alone}\n{rows}\n")
    tagger = commands.train("morph", tmp_path / "nodes.conllu", tmp_path / "m")
    assert tagger.model_.report["tokens"] == 6


def test_joint_labels_name_the_line_of_a_broken_file(tmp_path):
    (tmp_path / "a.conllu").write_text("# text = w\n1\tw\tw\tNOUN _\tCase=Nom\t_\t_\t_\t_\n\n")
    for task, label in (("morph", None), ("pos", [3, 4])):
        with pytest.raises(DataError, match=r"a\.conllu:2: 9 columns instead of 10"):
            commands.train(task, tmp_path / "a.conllu", tmp_path / "m", label=label)


@pytest.mark.parametrize(
    ("ids", "feats", "line", "message"),
    [
        (["1", "3"], "Case=Nom", 2, "number 3 instead of 2"),
        (["1", "2-3", "2"], "Case=Nom", 2, "the range ends at 3, but its sentence has 2 words"),
        (["1-2", "1", "2-3", "2", "3"], "Case=Nom", 3, "overlaps"),
        (["1", "2-1", "2"], "Case=Nom", 2, "is empty or overlaps"),
        (["1", "5.1", "2"], "Case=Nom", 2, "number 5.1 instead of 1.1; an empty node"),
        (["0.1", "0.1", "1"], "Case=Nom", 2, "number 0.1 instead of 0.2"),
        (["1"], "Number=Sing|Case=Nom", 1, "out of order"),
        (["1"], "Case=Nom|Case=Acc", 1, "a feature twice"),
        (["1"], "Plural", 1, "must be pairs"),
    ],
)
def test_broken_conllu_is_refused_with_its_line(tmp_path, ids, feats, line, message):
    rows = "".join(f"{one}\tw\tw\tNOUN\t_\t{feats}\t_\t_\t_\t_\n" for one in ids)
    (tmp_path / "broken.conllu").write_text(rows + "\n")
    for start in (commands.train_ud, partial(commands.train, "morph")):
        with pytest.raises(DataError, match=message) as told:
            start(tmp_path / "broken.conllu", tmp_path / "m")
        assert f"broken.conllu:{line}" in str(told.value)
        assert not (tmp_path / "m").exists()


def test_evaluation_refuses_features_out_of_order_as_training_does(folder):
    commands.train("morph", folder / "train.conllu", folder / "feats.ssvm", label=5)
    row = "1\tw\tw\tNOUN\tNN\t{}\t_\t_\t_\t_\n\n"
    rows = "".join(map(row.format, ("Case=Nom|Number=Sing", "Number=Sing|Case=Nom")))
    (folder / "order.conllu").write_text(rows)
    for name in ("ud.ssvm", "feats.ssvm"):
        with pytest.raises(DataError, match=r"order.conllu:3: FEATS .* is out of order"):
            commands.evaluate_any(folder / name, folder / "order.conllu")


def test_an_amount_of_pruning_above_every_weight_only_warns_that_nothing_is_left(folder):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        commands.train_lemma(folder / "train.conllu", folder / "none.ssvm", prune=1e9)
    assert [str(one.message) for one in told] == ["prune=1e+09 drops the weights of all features; lower it"]
    done = run("train", "ud", "train.conllu", "--prune", "1e9", "-o", "none.ssvm", cwd=folder)
    assert (done.returncode, done.stderr.count(b"drops the weights of all features")) == (0, 1)


@pytest.mark.parametrize("column", [1, 2, 3, 4, 5, 9])
def test_an_empty_field_is_refused_with_its_line(tmp_path, column):
    fields = ["1", "w", "w", "NOUN", "NN", "_", "_", "_", "_", "_"]
    fields[column] = ""
    (tmp_path / "empty.conllu").write_text(
        "1" + "\tx" * 3 + "\tNN" + "\t_" * 5 + "\n\n" + "\t".join(fields) + "\r\n"
    )
    name = ConlluFormat.names[column].upper()
    for start in (commands.train_ud, commands.train_lemma):
        with pytest.raises(DataError, match=f"empty.conllu:3: {name} is empty; write _ for no value"):
            start(tmp_path / "empty.conllu", tmp_path / "m")


def test_a_byte_order_mark_is_not_part_of_the_first_number(folder):
    rows = [line for line in (folder / "train.conllu").read_text().split("\n") if not line.startswith("#")]
    (folder / "bom.conllu").write_text("\ufeff" + "\n".join(rows), encoding="utf-8")
    commands.train_lemma(folder / "bom.conllu", folder / "bom.ssvm")


def test_missing_features_are_reported(folder, tmp_path):
    data = (folder / "train.conllu").read_bytes()
    (tmp_path / "none.conllu").write_bytes(with_changes(data, lambda _, fields: fields.__setitem__(5, "_")))
    with pytest.raises(DataError, match="the column feats has no labels; choose another with --column"):
        commands.train("morph", tmp_path / "none.conllu", tmp_path / "m")
    (tmp_path / "some.conllu").write_bytes(with_changes(data, without(5)))
    for start in (commands.train_lemma, partial(commands.train, "morph")):
        with pytest.warns(UserWarning, match=r"some.conllu:\d+: no word of this sentence has FEATS \(\d+ of"):
            start(tmp_path / "some.conllu", tmp_path / "m")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            start(folder / "train.conllu", tmp_path / "m")


def test_plain_text_is_split_into_words_without_saying_so(tmp_path):
    (tmp_path / "text.txt").write_text("The dogs sleep.\n")
    done = run("tag", "en", "text.txt", cwd=tmp_path)
    words = [line.split(b"\t")[0] for line in done.stdout.splitlines() if line]
    assert words == [b"The", b"dogs", b"sleep", b"."]
    done = run("tag", "en", "text.txt", "--to", "conllu", cwd=tmp_path)
    assert b"# text = The dogs sleep." in done.stdout


def test_lemmas_do_not_depend_on_what_was_seen_before(folder, monkeypatch):
    columns = read_all(folder / "dev.conllu", "conllu", wanted=[1])

    def lemmas(pipeline):
        found = pipeline.tag(columns)["lemma"]
        return [found.names[k] for k in found.ids]

    pipeline = Pipeline.load(folder / "ud.ssvm")
    first = lemmas(pipeline)
    assert len(pipeline.lemmatizer.seen) < columns.n_tokens
    assert lemmas(pipeline) == first
    monkeypatch.setattr("taggers.lemmas.MOST_SEEN", 3)
    pipeline.lemmatizer.seen = {0: "none"} | {-k: "never" for k in range(1, 9)}
    assert lemmas(pipeline) == first
    words = columns.sentences(0)
    assert [word["lemma"] for sentence in pipeline.predict(words) for word in sentence] == first
    assert "never" not in pipeline.lemmatizer.seen.values()


def test_words_without_a_part_of_speech_have_lemmas_of_their_own():
    tokens = [(word, pos, "") for word in ("walks", "talks", "asks") for pos in ("VERB", "")]
    lemmas = [word.removesuffix("s") for word, _, _ in tokens]
    lemmatizer = train_lemmatizer([*tokens, ("went", "", ""), ("mice", "N", "_")], [*lemmas, "go", "mouse"])
    columns = Columns.from_sentences([[*tokens, ("mice", "N", "_")]])
    for _ in range(2):
        ids, names = lemmatizer.lemmas(columns)
        assert [names[k] for k in ids] == [*lemmas, "mouse"]
    assert 0 not in lemmatizer.seen


def test_a_smaller_pipeline_does_not_share_the_lemmas_it_has_seen(folder):
    pipeline = Pipeline.load(folder / "ud.ssvm")
    assert pipeline.compact(0.01).lemmatizer.seen is not pipeline.lemmatizer.seen


def test_lemmas_alone_read_parts_of_speech_and_features(folder):
    done = run("train", "lemma", "train.conllu", "-o", "lemma.ssvm", cwd=folder)
    assert (done.returncode, b"different words, columns lemma" in done.stderr) == (0, True)
    gold = (folder / "dev.conllu").read_bytes()
    lines = [line.split("\t") for line in gold.decode().split("\n")]
    blank = "\n".join("\t".join([*f[:2], "_", *f[3:]]) if len(f) == 10 else f[0] for f in lines)
    done = run("tag", "lemma.ssvm", "-", cwd=folder, stdin=blank.encode())
    found, right = columns_of(done.stdout), columns_of(gold)
    assert found[:2] + found[3:] == right[:2] + right[3:]
    accuracy = np.mean(np.array(found[2]) == np.array(right[2]))
    assert accuracy > 0.95
    shown = json.loads(run("evaluate", "lemma.ssvm", "dev.conllu", "--json", cwd=folder).stdout)
    assert shown["lemma"]["tokens"]["accuracy"] == pytest.approx(accuracy)
    refused(run("tag", "lemma.ssvm", "-", cwd=folder, stdin=b"a cat sleeps\n"), 1, "has no upos and feats")
    refused(run("tag", "lemma.ssvm", "dev.conllu", "--scores", cwd=folder), 2, "--scores has no effect")
    arguments = ("train", "lemma", "train.conllu", "--dev", "dev.conllu", "-o", "no.ssvm")
    refused(run(*arguments, cwd=folder), 2, "--dev is not available for train lemma")


def test_a_treebank_without_lemmas_cannot_teach_them(tmp_path):
    (tmp_path / "a.conllu").write_text("1\tcats\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n")
    with pytest.raises(DataError, match="the column lemma is empty"):
        commands.train_lemma(tmp_path / "a.conllu", tmp_path / "m")


@pytest.mark.parametrize(
    ("charged", "size"),
    [("taggers.model_file.PAIR", 100_000), ("structsvm.files.sparse_weights.SHARED", 1_000)],
)
def test_the_layers_of_a_file_share_one_bound_of_memory(charged, size, folder, tmp_path, monkeypatch):
    pipeline = Pipeline.load(folder / "ud.ssvm")
    pipeline.save(tmp_path / "small", dtype="int8")
    monkeypatch.setattr(charged, size)
    arrays, meta = load_model(tmp_path / "small")
    largest = max(memory(arrays, layer, f"{name}-") for name, layer in meta["layers"].items())
    monkeypatch.setattr(budget, "ALLOWANCE", largest)
    monkeypatch.setattr(budget, "MULTIPLE", 1)
    with pytest.raises(ModelFileError, match="times the size of the file"):
        Pipeline.load(tmp_path / "small")
    pipeline.save(tmp_path / "padded", dtype="int8")
    assert Pipeline.load(tmp_path / "padded").parts == pipeline.parts
