"""Labels that are declared before there are examples."""

import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from taggers.tagger import SequenceTagger

KINDS = {"structsvm_ner": ("PER", "ORG"), "structsvm_tagger": ("NN", "VB")}


@pytest.fixture
def nlp():
    return spacy.blank("en")


@pytest.mark.parametrize("name", KINDS)
def test_a_pipeline_starts_with_declared_labels_alone(nlp, name):
    pipe = nlp.add_pipe(name)
    for label in KINDS[name]:
        assert pipe.add_label(label) == 1
    nlp.initialize()
    assert pipe.labels == tuple(sorted(KINDS[name]))
    nlp("Some words here")


def test_declared_labels_stay_when_examples_have_others(nlp):
    pipe = nlp.add_pipe("structsvm_ner")
    pipe.add_label("PRODUCT")
    doc = Doc(nlp.vocab, words=["Anna", "left"])
    gold = doc.copy()
    gold.set_ents([Span(gold, 0, 1, label="PER")])
    nlp.initialize(lambda: [Example(doc, gold)])
    assert pipe.labels == ("PER", "PRODUCT")


def test_many_labels_change_the_model_once(nlp, monkeypatch):
    calls = []
    declare = SequenceTagger.declare
    monkeypatch.setattr(
        SequenceTagger,
        "declare",
        lambda self, *args, **given: (calls.append(1), declare(self, *args, **given))[1],
    )
    pipe = nlp.add_pipe("structsvm_tagger")
    for number in range(50):
        assert pipe.add_label(f"T{number}") == 1
        assert pipe.add_label(f"T{number}") == 0
    assert len(pipe.labels) == 50
    assert sum(calls) == 1
    pipe.to_bytes()
    assert sum(calls) == 1


def test_added_labels_are_saved(nlp, tmp_path):
    nlp.add_pipe("structsvm_tagger").add_label("NN")
    nlp.to_disk(tmp_path / "n")
    assert spacy.load(tmp_path / "n").get_pipe("structsvm_tagger").labels == ("NN",)
