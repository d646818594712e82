"""The task label keeps to a scheme that all labels fit, and gives it up when others come."""

import warnings

import pytest

from taggers import SequenceTagger
from taggers.commands import train
from taggers.labels import schemes

WORDS = [["to", "New", "York"], ["from", "New", "Delhi"], ["York"]]
CITIES = [["O", "B-x", "I-x"], ["O", "B-y", "I-y"], ["B-x"]]


def loose(tagger):
    return tagger.model_.labels.outer == "none" and not tagger.model_.labels.constrained


@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_phrase_labels_are_predicted_in_place(inference):
    tagger = SequenceTagger(template="w[0]", epochs=3, inference=inference).fit(WORDS, CITIES)
    odd = [["York", "Delhi"], ["Delhi"], ["New", "New", "York", "Delhi", "to", "York"]]
    assert all(not schemes.violations(labels, "IOB2") for labels in tagger.predict(odd))
    free = SequenceTagger(template="w[0]", epochs=3, inference=inference, constrained=False)
    assert any(schemes.violations(labels, "IOB2") for labels in free.fit(WORDS, CITIES).predict(odd))


@pytest.mark.parametrize(
    "labels",
    [["O", "O"], ["S", "S"], ["I-x", "O"], ["O", "I-x", "B-x"], ["B-x", "I-y"], ["DET", "NOUN"]],
    ids="-".join,
)
def test_a_scheme_is_not_guessed(labels):
    assert loose(SequenceTagger().fit([["a"] * len(labels)], [labels]))


def test_declared_labels_can_appear_in_any_order():
    for classes in (["O", "B-x", "I-x"], ["I-y", "I-x", "B-y", "B-x"]):
        assert SequenceTagger().declare(classes).model_.labels.outer == "IOB2"
    assert loose(SequenceTagger().declare(["B-x", "NOUN"]))
    assert SequenceTagger().partial_fit(WORDS[2:], CITIES[2:], classes=["I-x", "O"]).model_.labels.constrained


@pytest.mark.parametrize("method", ["partial_fit", "resume"])
def test_other_labels_end_the_scheme_with_a_warning(method):
    tagger = SequenceTagger(epochs=2).fit(WORDS, CITIES)
    before = tagger.predict(WORDS)
    with pytest.warns(UserWarning, match="not of the scheme IOB2.*constrained=False"):
        getattr(tagger, method)([["hello"]] * 9, [["GREETING"]] * 9)
    assert loose(tagger)
    assert tagger.predict([*WORDS, ["hello"]]) == [*before, ["GREETING"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tagger.partial_fit([["bye"]], [["FAREWELL"]])


def test_declared_labels_end_the_scheme_too():
    tagger = SequenceTagger().fit(WORDS, CITIES)
    with pytest.warns(UserWarning, match="not of the scheme"):
        tagger.declare(["GREETING"])
    assert loose(tagger)
    assert "GREETING" in tagger.classes_


def test_a_scheme_that_was_asked_for_stays():
    tagger = SequenceTagger(constrained=True).fit(WORDS, CITIES)
    with pytest.raises(ValueError, match="'GREETING' is not of scheme IOB2"):
        tagger.partial_fit([["hello"]], [["GREETING"]])


def test_only_O_says_nothing_about_later_labels():
    tagger = SequenceTagger().partial_fit([["a", "b"]], [["O", "O"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tagger.partial_fit([["c"]], [["NOUN"]])
    assert "NOUN" in tagger.classes_


@pytest.mark.filterwarnings("ignore:this model was saved without")
def test_a_resumed_file_may_have_other_labels(tmp_path):
    (tmp_path / "a").write_text("to O\nRome B-x\n\n")
    (tmp_path / "b").write_text("hello GREETING\n\n")
    train("label", tmp_path / "a", tmp_path / "m")
    with pytest.warns(UserWarning, match="not of the scheme"):
        tagger = train("label", tmp_path / "b", tmp_path / "n", resume=tmp_path / "m")
    assert "GREETING" in tagger.classes_


def test_shared_weights_need_no_scheme():
    assert loose(SequenceTagger(share=True, inference="greedy").fit(WORDS, CITIES))
