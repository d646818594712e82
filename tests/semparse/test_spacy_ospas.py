"""The semantic parser as a spaCy component."""

import pytest

spacy = pytest.importorskip("spacy")
pytest.importorskip("semparse.ospas")

from spacy.tokens import Doc  # noqa: E402
from spacy.training import Example  # noqa: E402

from corpora import simulate_sportscast  # noqa: E402
from semparse import Ospas  # noqa: E402

BAGS = simulate_sportscast(300)


def example(nlp, bag):
    predicted, reference = nlp.make_doc(bag.text), nlp.make_doc(bag.text)
    reference._.mr_candidates = predicted._.mr_candidates = [str(mr) for mr in bag.candidates]
    if bag.gold:
        reference._.mr = str(bag.gold[0])
    return Example(predicted, reference)


def trained():
    nlp = spacy.blank("en")
    nlp.add_pipe("ospas")
    data = [example(nlp, bag) for bag in BAGS]
    nlp.initialize(lambda: data)
    nlp.update(data)
    return nlp


def annotation(doc):
    spans = [(span.start, span.end, span.label_) for span in doc.spans["mr"]]
    return doc._.mr, doc._.mr_score, doc._.mr_margin, doc._.mr_match, [t._.symbol for t in doc], spans


def test_a_parser_of_ours_annotates_docs(tmp_path):
    parser = Ospas().fit([bag.text for bag in BAGS], [bag.candidates for bag in BAGS])
    parser.save(tmp_path / "game.ssvm")
    nlp = spacy.blank("en")
    nlp.add_pipe("ospas", config={"model": str(tmp_path / "game.ssvm")})
    doc = nlp.make_doc("purple3 feeds purple7 .")
    doc._.mr_candidates = ["kick(purple3)", "pass(purple3, purple7)"]
    doc = nlp(doc)
    (parse,) = parser.parse("purple3 feeds purple7")
    assert (doc._.mr, doc._.mr_match) == ("pass(purple3, purple7)", "pass(purple3, purple7)")
    assert (doc._.mr_score, doc._.mr_margin) == pytest.approx((parse.score, parse.margin))
    assert [token._.symbol for token in doc] == ["purple3", "pass", "purple7", None]
    assert [(span.text, span.label_) for span in doc.spans["mr"]] == [
        ("purple3", "purple3"), ("feeds", "pass"), ("purple7", "purple7"),
    ]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*was in no candidate so far:UserWarning")
def test_it_learns_online_from_candidates_and_is_scored():
    nlp = trained()
    scores = nlp.evaluate([example(nlp, bag) for bag in simulate_sportscast(60, seed=1)])
    assert scores["mr_acc"] > 0.6
    assert scores["match_acc"] > 0.6


def test_saving_and_loading_repeat_the_meanings(tmp_path):
    nlp = trained()
    texts = [bag.text for bag in simulate_sportscast(20, seed=2)]
    wanted = [annotation(doc) for doc in nlp.pipe(texts)]
    nlp.to_disk(tmp_path / "pipeline")
    twin = spacy.blank("en")
    twin.add_pipe("ospas")
    twin.from_bytes(nlp.to_bytes())
    for other in (spacy.load(tmp_path / "pipeline"), twin):
        assert [annotation(doc) for doc in other.pipe(texts)] == wanted
    assert [annotation(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=5)] == wanted


def test_a_sourced_parser_reads_words_that_its_source_has_not_seen():
    source, target = trained(), spacy.blank("en")
    target.add_pipe("ospas", source=source)
    text = "purple3 feeds zorblaxly purple7"
    assert annotation(target(text)) == annotation(source(text))


def test_docs_without_words_and_parsers_without_model():
    nlp = trained()
    assert [doc._.mr for doc in nlp.pipe([Doc(nlp.vocab), nlp.make_doc(" . ")])] == [None, None]
    bare = spacy.blank("en")
    bare.add_pipe("ospas")
    with pytest.raises(ValueError, match="has no model"):
        bare("purple3 feeds purple7")
