"""Parsers and labellers in training refuse other threads."""

import threading

import pytest

from semparse import Ospas
from semparse.concepts import ConceptLabeller

SENTENCES = ["anna sees bob", "bob sees anna", "carl sees bob", "anna hits carl"] * 5
BAGS = [["see(anna, bob)"], ["see(bob, anna)"], ["see(carl, bob)"], ["hit(anna, carl)"]] * 5


def in_thread(*works):
    """The results or errors of calls in another thread."""
    found = []

    def run():
        for work in works:
            try:
                found.append(work())
            except RuntimeError as error:
                found.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    return found


@pytest.mark.parametrize("algorithm", ["latent", "paper"])
def test_a_parser_in_training_refuses_other_threads(algorithm, tmp_path):
    parser = Ospas(algorithm=algorithm).fit(SENTENCES, BAGS)
    sentence, found = SENTENCES[0], []

    def progress(done, total):
        found.extend(in_thread(
            lambda: parser.fit(SENTENCES, BAGS), lambda: parser.partial_fit(sentence, BAGS[0]),
            lambda: parser.predict([sentence]), lambda: parser.parse(sentence),
            lambda: parser.match(sentence, BAGS[0]), lambda: parser.align(sentence, BAGS[0][0]),
            lambda: parser.explain(sentence), parser.lexicon, lambda: parser.schema_,
            lambda: parser.save(tmp_path / "model"),
        ))  # fmt: skip
        assert parser.parse(sentence)  # its own thread may ask the old model

    parser.fit(SENTENCES, BAGS, progress=progress)
    assert found
    assert all("this Ospas is being trained" in text for text in found)
    assert in_thread(lambda: parser.predict([sentence]).tolist()) == [parser.predict([sentence]).tolist()]


def test_a_concept_labeller_in_training_refuses_other_threads(tmp_path):
    words, worlds, labels = [["anna", "eats"]] * 4, [{}] * 4, [["ANNA", "EAT"]] * 4
    labeller, found = ConceptLabeller(hidden=5, dimension=3, epochs=2), []

    def callback(epoch, error):
        found.extend(in_thread(
            lambda: labeller.fit(words, worlds, labels), lambda: labeller.predict(words, worlds),
            lambda: labeller.neighbours("EAT"), lambda: labeller.save(tmp_path / "model"),
        ))  # fmt: skip
        labeller.predict(words, worlds)

    labeller.fit(words, worlds, labels, callback=callback)
    assert found
    assert all("this ConceptLabeller is being trained" in text for text in found)
    assert in_thread(lambda: labeller.predict(words, worlds)) == [labeller.predict(words, worlds)]
