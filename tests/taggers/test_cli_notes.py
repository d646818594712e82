"""What commands say about what they found, and about options without an effect."""

import pytest

from tests.taggers.command_line import refused, run
from tests.taggers.sentences import chunk_data

X, Y = chunk_data(40)


def written(path, X, Y):
    rows = [
        "".join(f"{word} {tag} {label}\n" for (word, tag), label in zip(words, labels, strict=True))
        for words, labels in zip(X, Y, strict=True)
    ]
    path.write_text("\n".join(rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notes")
    written(folder / "train.txt", X, Y)
    (folder / "raw.txt").write_text("".join(" ".join(word for word, _ in words) + "\n" for words in X))
    done = run("train", "chunk", "train.txt", "--keep-state", "-o", "model", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def said(folder, *arguments):
    done = run(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stderr.decode()


def test_train_says_what_it_found_on_the_development_file(folder):
    train = ("train", "chunk", "train.txt", "--dev", "train.txt", "-o", "other")
    assert ", bias of O " not in said(folder, *train)
    text = said(folder, *train, "--fit-bias", "--calibrate")
    assert ", bias of O " in text
    assert ", temperature of probabilities 0." in text
    assert "not calibrated" not in said(folder, "tag", "other", "train.txt", "--probabilities")
    plain = said(folder, "tag", "model", "train.txt", "--probabilities")
    assert "not calibrated; train it with --dev" in plain
    layers = run("tag", "en", "raw.txt", "--probabilities", cwd=folder)
    refused(layers, 2, "has no effect with a model of several layers")


def test_resume_says_that_it_drops_the_state(folder):
    resume = ("train", "chunk", "train.txt", "--resume", "model", "-o", "resumed")
    assert "model contains its training state, but resumed will not" in said(folder, *resume)
    assert "will not" not in said(folder, *resume, "--keep-state")


def test_documents_without_a_use_are_reported(folder):
    train = ("train", "chunk", "train.txt", "--documents", "3", "-o", "other")
    assert "--documents has no effect" in said(folder, *train)
    assert "no effect" not in said(folder, *train, "--template", "w[0], doc_form[0]")


def test_names_and_encodings_of_knowledge(folder):
    train = ("train", "chunk", "train.txt", "-o", "other")
    (folder / "cities.txt").write_bytes("Z\u00fcrich\n".encode("latin-1"))
    hyphen = run(*train, "--gazetteer", "big-city=cities.txt", cwd=folder)
    refused(hyphen, 2, "the name 'big-city' must consist of lower-case letters")
    latin = run(*train, "--gazetteer", "city=cities.txt", "--encoding", "latin-1", cwd=folder)
    refused(latin, 1, "cities.txt:1: not valid UTF-8", "--encoding is for sentences only")
    refused(run(*train, "--classes", "raw.txt", cwd=folder), 1, "raw.txt: looks like text, not word classes")


def test_inspect_and_classes_say_what_they_wrote(folder):
    assert "page.html: a page about model" in said(folder, "inspect", "model", "--html", "page.html")
    text = said(folder, "classes", "raw.txt", "-o", "classes.tsv", "--n-classes", "400")
    assert " classes (not 400: the text has too few words), from " in text


def test_near_names_are_suggested(folder):
    bias = run("tag", "model", "train.txt", "--bias", "phrase=1", cwd=folder)
    refused(bias, 2, "bias names 'phrase'", "; did you mean 'phrases'?")
    (folder / "one.conllu").write_text("1\tAnn\t_\tPROPN\t_\t_\t0\troot\t_\t_\n")
    column = run("train", "pos", "one.conllu", "--column", "uposs", "-o", "other", cwd=folder)
    refused(column, 2, "got 'uposs'; did you mean 'upos'?")
    template = run("train", "chunk", "train.txt", "--template", "w.sufix3[0]", "-o", "other", cwd=folder)
    refused(template, 2, "unknown attribute 'sufix3'", "; did you mean 'suffix")


def test_rare_labels_that_look_misspelt_are_reported(folder):
    many = [[f"B-{'PRE' if k == 150 else 'PER'}", "O"] for k in range(200)]
    written(folder / "typo.txt", [[("Ann", "NNP"), ("left", "VBD")]] * 200, many)
    text = said(folder, "train", "ner", "typo.txt", "-o", "other")
    assert "typo.txt: line 451: the label B-PRE is rare; did you mean B-PER?" in text
    tags = [["NOUN" if k else "NUON", "VERB"] for k in range(9)]
    written(folder / "typo.txt", [[("Ann", "NNP"), ("left", "VBD")]] * 9, tags)
    text = said(folder, "train", "pos", "typo.txt", "-o", "other")
    assert "line 1: the label NUON is not a universal part of speech; did you mean NOUN?" in text
    assert "did you mean" not in said(folder, "train", "chunk", "train.txt", "-o", "other")
    twelve = ["NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "ADP", "NUM", "CONJ", "PRT", "X", "."]
    written(folder / "twelve.txt", [[(tag, "_") for tag in twelve]] * 9, [twelve] * 9)
    written(folder / "once.txt", [[(tag, "_") for tag in twelve]], [twelve])
    for name in ("twelve.txt", "once.txt"):
        assert "did you mean" not in said(folder, "train", "pos", name, "-o", "other")


def test_gold_labels_that_the_model_does_not_know_are_reported(folder):
    labels = [[label.replace("NP", "PN") if k == 3 else label for label in row] for k, row in enumerate(Y)]
    written(folder / "misspelt.txt", X, labels)
    line, count = 1 + sum(len(row) + 1 for row in Y[:3]), sum("PN" in label for label in labels[3])
    at = next(k for k, label in enumerate(labels[3]) if "PN" in label)
    expected = f"misspelt.txt:{line + at}: the model does not know the label {labels[3][at]}, so it counts"
    for command in (
        ("evaluate", "model", "misspelt.txt"),
        ("train", "chunk", "train.txt", "--dev", "misspelt.txt", "-o", "other"),
    ):
        text = said(folder, *command)
        assert expected in text
        assert f"tokens with them: {count})" in text
    assert "does not know" not in said(folder, "evaluate", "model", "train.txt")
    run("convert", "train.txt", "-o", "iobes.txt", "--to", "IOBES", cwd=folder)
    assert "does not know" not in said(folder, "evaluate", "model", "iobes.txt")
