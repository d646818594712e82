"""`structsvm_parser`: the same trees as the command line, white space, learning, saving, `spacy train`."""

import pytest

spacy = pytest.importorskip("spacy")

from spacy.cli.train import train as spacy_train  # noqa: E402
from spacy.tokens import Doc  # noqa: E402
from spacy.training import Example  # noqa: E402

import taggers.spacy.parser  # noqa: E402, F401  (registers the factory)
from structsvm.files.errors import DataError  # noqa: E402
from taggers.pipeline import Pipeline  # noqa: E402
from taggers.spacy.__main__ import config  # noqa: E402
from taggers.spacy.reader import make_reader  # noqa: E402
from tests.taggers.command_line import run  # noqa: E402
from tests.taggers.sentences import sentences, with_trees  # noqa: E402

TEXT = [[word for word, *_ in tokens] for tokens in sentences(20, 5)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("parsers")
    (path / "train.conllu").write_bytes(with_trees(120))
    (path / "dev.conllu").write_bytes(with_trees(40, 1))
    run("train", "ud", "train.conllu", "-o", "ud.ssvm", cwd=path)
    run("train", "parse", "train.conllu", "-o", "parse.ssvm", cwd=path)
    return path


def pipeline(folder, *names):
    nlp = spacy.blank("en")
    for name in names or ("tagger", "morphologizer", "lemmatizer", "parser"):
        nlp.add_pipe(f"structsvm_{name}", config={"model": str(folder / "ud.ssvm")})
    return nlp


def test_docs_get_the_trees_of_the_command_line(folder):
    nlp, own = pipeline(folder), Pipeline.load(folder / "ud.ssvm")
    docs = [nlp(Doc(nlp.vocab, words=words)) for words in TEXT]
    for doc, sentence in zip(docs, own.predict(TEXT), strict=True):
        for token, word in zip(doc, sentence, strict=True):
            head = 0 if token.head is token or token.head == token else token.head.i + 1
            assert (str(head), token.dep_.replace("ROOT", "root")) == (word["head"], word["deprel"])
        assert doc.has_annotation("DEP")
        assert len(list(doc.sents)) == 1
    assert "ROOT" in nlp.get_pipe("structsvm_parser").labels


def test_sentences_are_parsed_one_by_one_and_white_space_hangs_on_the_token_before(folder):
    nlp = pipeline(folder)
    words = [*TEXT[0], "\n", *TEXT[1], " "]
    starts = [at in (0, len(TEXT[0]) + 1) for at in range(len(words))]
    doc = nlp(Doc(nlp.vocab, words=words, sent_starts=starts))
    assert [sentence.start for sentence in doc.sents] == [0, len(TEXT[0]) + 1]
    assert [(token.head.i, token.dep_) for token in doc if token.is_space] == [
        (len(TEXT[0]) - 1, "dep"),
        (len(words) - 2, "dep"),
    ]
    plain = nlp(Doc(nlp.vocab, words=TEXT[1]))
    assert [t.dep_ for t in plain] == [t.dep_ for t in doc[len(TEXT[0]) + 1 : -1]]
    assert [len(nlp(Doc(nlp.vocab, words=words))) for words in ([], [" "])] == [0, 1]


def test_saving_keeps_the_parser_and_the_command_line_reads_its_file(folder, tmp_path):
    nlp = pipeline(folder)
    nlp.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")
    for words in TEXT[:5]:
        one, two = (each(Doc(each.vocab, words=words)) for each in (nlp, again))
        assert [(t.head.i, t.dep_) for t in one] == [(t.head.i, t.dep_) for t in two]
    assert nlp.from_bytes(nlp.to_bytes()).get_pipe("structsvm_parser").labels
    file = tmp_path / "saved" / "structsvm_parser" / "model.ssvm"
    assert run("tag", file, "dev.conllu", cwd=folder).returncode == 0


def test_a_model_learns_more_from_examples_with_new_labels(folder):
    nlp = pipeline(folder)
    parser = nlp.get_pipe("structsvm_parser")
    words = ["Anna", "sees", "Otto"]
    gold = Doc(nlp.vocab, words=words, heads=[1, 1, 1], deps=["agent", "ROOT", "theme"])
    for _ in range(30):
        nlp.update([Example(Doc(nlp.vocab, words=words), gold)], annotates=nlp.pipe_names[:-1])
    assert {"agent", "theme"} <= {*parser.labels}
    assert [token.dep_ for token in nlp(Doc(nlp.vocab, words=words))] == ["agent", "ROOT", "theme"]
    assert nlp.evaluate([Example(Doc(nlp.vocab, words=words), gold)])["dep_las"] == 1


def test_what_the_parser_cannot_do_is_said(folder):
    nlp = pipeline(folder, "parser")
    with pytest.raises(ValueError, match="no token has POS, which 'structsvm_parser' reads"):
        nlp(Doc(nlp.vocab, words=["Anna", "sees"]))
    with pytest.raises(ValueError, match="en-pos has no parser"):
        spacy.blank("en").add_pipe("structsvm_parser", config={"model": "en-pos"})
    with pytest.raises(ValueError, match="there is no option 'C'"):
        spacy.blank("en").add_pipe("structsvm_parser", config={"options": {"C": 1}})
    with pytest.raises(ValueError, match="has no model"):
        spacy.blank("en").add_pipe("structsvm_parser")(nlp.make_doc("Anna"))


def test_spacy_train_learns_trees_from_conllu(folder, tmp_path):
    (tmp_path / "config.cfg").write_text(config("parse"), encoding="utf-8")
    paths = {f"paths.{name}": str(folder / f"{name}.conllu") for name in ("train", "dev")}
    spacy_train(tmp_path / "config.cfg", tmp_path / "out", overrides=paths | {"training.max_epochs": 2})
    nlp = spacy.load(tmp_path / "out" / "model-best")
    scores = nlp.evaluate(list(make_reader(paths["paths.dev"])(nlp)))
    assert scores["dep_las"] > 0.95
    assert scores["dep_las_per_type"]


def test_the_reader_names_the_line_of_an_impossible_head(tmp_path):
    (tmp_path / "bad.conllu").write_text("1\tMia\t_\tPROPN\t_\t_\t7\troot\t_\t_\n\n")
    with pytest.raises(DataError, match=r"bad\.conllu:1: HEAD of word 1 must be a number from 0 to 1"):
        list(make_reader(str(tmp_path / "bad.conllu"))(spacy.blank("en")))
