"""The features behind heads and labels of arcs add up to the margins, in Python, spaCy and the command."""

import json

import numpy as np
import pytest

from taggers import SequenceTagger, commands
from taggers.dependencies.explanation import explain_trees
from taggers.dependencies.parser import attributes
from taggers.pipeline import Pipeline
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import with_trees

WORDS = ["Mia", "met", "the", "old", "man", "in", "a", "house", "."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("explained")
    (path / "train.conllu").write_bytes(with_trees(60))
    return path


def test_weights_add_up_to_margins_and_arcs_are_those_of_the_parser():
    pipeline = Pipeline.load("en")
    found = pipeline.explain(WORDS)["parse"]
    (tree,) = pipeline.predict([WORDS])
    assert [(row["token"], str(row["head"]), row["deprel"]) for row in found] == [
        (word, one["head"], one["deprel"]) for word, one in zip(WORDS, tree, strict=True)
    ]
    assert any(row["head_margin"] for row in found)
    for row in found:
        for kind in ("head", "label"):
            total, margin = sum(weight for _, weight in row[f"{kind}_features"]), row[f"{kind}_margin"]
            assert total == pytest.approx(margin or 0, abs=1e-4)
            assert margin is None or margin >= 0
            sizes = [abs(weight) for _, weight in row[f"{kind}_features"]]
            assert sizes == sorted(sizes, reverse=True)
    names = {name for row in found for name, _ in [*row["head_features"], *row["label_features"]]}
    assert {"s0.p=DET", "d.w=the", "dist=-1"} <= names


def test_explanations_without_tags_agree_with_the_parser_too():
    parser = Pipeline.load("en").parser
    arcs, labeller, _ = parser.machines
    table = attributes(WORDS, {})
    heads, _ = parser.parse(WORDS, {}, np.array([0, len(WORDS)]))
    for label, reasons in labeller.explain(table, heads):
        if reasons is not None:
            assert reasons[0] == pytest.approx(float(reasons[1].sum()), abs=1e-4)
            assert 0 <= label < len(parser.labels)
    assert [head for head, _ in arcs.explain(table)] == heads.tolist()


@pytest.mark.parametrize("search", ["exact", "accurate"])
def test_searches_among_all_trees_explain_the_parts_of_the_tree(folder, search):
    commands.train_ud(
        folder / "train.conllu", folder / f"{search}.ssvm", search=search, layers=["upos", "parse"]
    )
    pipeline = Pipeline.load(folder / f"{search}.ssvm")
    words = ["Anna", "sees", "the", "dog"]
    found = pipeline.explain(words)["parse"]
    assert [str(row["head"]) for row in found] == [one["head"] for one in pipeline.predict([words])[0]]
    named = {name.partition("=")[0] for row in found for name, _ in row["head_features"]}
    assert {"greedy", "d.p"} <= named
    assert ("g.p+h.p+d.p+side" in named) == (search == "accurate")
    heads = np.array([row["head"] for row in found], np.int32)
    graph, table = pipeline.parser.machines[2], attributes(words, {}, guessed=True)
    table[2:, -1] = 7
    parts = [part for own in graph.explain(table, heads, heads.tolist()) for part in own]
    total = sum(float(weights.sum()) for _, _, weights, _, _ in parts)
    assert total == pytest.approx(graph.total(table, heads, heads.tolist()), rel=1e-4)


def test_the_command_explains_each_layer_of_a_word(folder):
    text = "Mia met the old man."
    shown = run("explain", "en", text, "--word", "5", "--top", "2", cwd=folder).stdout
    lines = shown.decode().splitlines()
    assert any(line.startswith("5 man  head 2 met  (margin ") for line in lines)
    assert any(line.startswith("5 man  deprel obj  (margin ") for line in lines)
    assert sum(line.startswith(" ") for line in lines) == 2 * 5
    found = json.loads(run("explain", "en", text, "--json", cwd=folder).stdout)
    assert [*found] == ["upos", "morph", "lemma", "parse"]
    assert [row["head"] for row in found["parse"]] == [2, 0, 5, 5, 2, 2]
    assert "label" in json.loads(run("explain", "en-ner", "Mia slept.", "--json", cwd=folder).stdout)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["en", ""], "the sentence has no words"),
        (["en", "Mia slept. Bob ran."], "the text has 2 sentences"),
        (["en", "Mia slept.", "--word", "9"], "the sentence has no word 9; set --word"),
    ],
)
def test_the_command_refuses_what_is_not_one_sentence(folder, words, told):
    refused(run("explain", *words, cwd=folder), 2, told)


def test_infinite_margins_are_null_and_models_of_features_are_refused(folder):
    SequenceTagger().fit([["a", "b"]] * 3, [["X", "X"]] * 3).save(folder / "one.ssvm")
    shown = run("explain", "one.ssvm", "a b", "--json", cwd=folder).stdout
    assert [row["margin"] for row in json.loads(shown, parse_constant=pytest.fail)["label"]] == [None, None]
    SequenceTagger().fit([[{"w": "a"}, {"w": "b"}]] * 3, [["X", "Y"]] * 3).save(folder / "ready.ssvm")
    refused(run("explain", "ready.ssvm", "a b", cwd=folder), 2, "reads features instead of words")


def test_models_of_trees_only_say_what_they_read(folder):
    commands.train_parse(folder / "train.conllu", folder / "parse.ssvm")
    refused(run("explain", "parse.ssvm", "Anna sleeps", cwd=folder), 2, "only models with a layer upos")
    parser = Pipeline.load(folder / "parse.ssvm").parser
    assert explain_trees(parser, [], {}) == []


def test_the_spacy_component_explains_tokens():
    spacy = pytest.importorskip("spacy")
    nlp = spacy.blank("en")
    for name in ("senter", "tagger", "morphologizer", "lemmatizer", "parser"):
        nlp.add_pipe(f"structsvm_{name}", config={"model": "en"})
    doc = nlp("Mia met the old man. Bob slept.")
    found = nlp.get_pipe("structsvm_parser").explain(doc)
    assert [(row["token"], row["head"], row["deprel"]) for row in found] == [
        (token, token.head, token.dep_) for token in doc
    ]
