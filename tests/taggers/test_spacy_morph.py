"""Features and lemmas in spaCy: `structsvm_morphologizer` and `structsvm_lemmatizer`."""

import pytest

spacy = pytest.importorskip("spacy")

from spacy.cli.train import train as spacy_train  # noqa: E402
from spacy.tokens import Doc  # noqa: E402

from taggers import commands  # noqa: E402
from taggers.spacy.__main__ import config  # noqa: E402
from taggers.spacy.reader import make_reader  # noqa: E402
from tests.taggers.sentences import NUMBER, with_lemmas  # noqa: E402


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("morph")
    for name, seed in (("train", 0), ("dev", 1)):
        (path / f"{name}.conllu").write_bytes(with_lemmas(100, seed))
    (path / "config.cfg").write_text(config("ud"), encoding="utf-8")
    paths = {f"paths.{name}": str(path / f"{name}.conllu") for name in ("train", "dev")}
    spacy_train(path / "config.cfg", path / "out", overrides=paths)
    return path


def test_spacy_train_learns_features_and_lemmas(trained):
    nlp = spacy.load(trained / "out" / "model-best")
    scores = nlp.evaluate(list(make_reader(str(trained / "dev.conllu"))(nlp)))
    assert min(scores["pos_acc"], scores["morph_acc"], scores["lemma_acc"]) > 0.9
    assert scores["morph_per_feat"]["Number"]["f"] > 0.9
    dev = next(iter(make_reader(str(trained / "dev.conllu"))(nlp)))
    doc = nlp(Doc(nlp.vocab, words=[token.text for token in dev.reference]))
    assert doc.has_annotation("MORPH", require_complete=True)
    for token, gold in zip(doc, dev.reference, strict=True):
        assert set(token.morph.to_dict()) == set(gold.morph.to_dict())
        assert token.lemma_


def test_the_morphologizer_loads_a_model_of_the_command_line(trained):
    commands.train("morph", trained / "train.conllu", trained / "m.ssvm")
    nlp = spacy.blank("en")
    component = nlp.add_pipe("structsvm_morphologizer", config={"model": str(trained / "m.ssvm")})
    assert component.attributes == ["POS", "MORPH"]
    (example, *_) = make_reader(str(trained / "train.conllu"))(nlp)
    doc = nlp(Doc(nlp.vocab, words=[token.text for token in example.reference]))
    right = [(token.pos_, str(token.morph)) for token in example.reference]
    assert [(token.pos_, str(token.morph)) for token in doc] == right
    assert {str(token.morph) for token in doc} <= {*NUMBER.values(), ""}


def test_components_say_what_they_set_and_need():
    nlp = spacy.blank("en")
    nlp.add_pipe("structsvm_lemmatizer")
    assert nlp.get_pipe_meta("structsvm_lemmatizer").requires == ["token.pos"]
    assert nlp.analyze_pipes()["problems"]["structsvm_lemmatizer"] == ["token.pos"]
    nlp.add_pipe("structsvm_morphologizer", first=True)
    assert nlp.analyze_pipes()["problems"]["structsvm_lemmatizer"] == []
    weights = nlp.config["training"]["score_weights"]
    assert {name for name, weight in weights.items() if weight} == {"pos_acc", "morph_acc", "lemma_acc"}
    with pytest.raises(ValueError, match=r"target must be one of POS\|MORPH, MORPH"):
        spacy.blank("en").add_pipe("structsvm_morphologizer", config={"target": "TAG"})


def test_confidence_is_in_the_doc_only_if_it_is_asked_for():
    text = "The old man the  boats. She saw it."
    plain = spacy.blank("en")
    plain.add_pipe("structsvm_tagger", config={"model": "en-pos"})
    assert not plain(text).user_data
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    tagger = nlp.add_pipe("structsvm_tagger", config={"model": "en-pos", "margins": True, "nbest": 2})
    empty, doc = nlp.pipe(["", text])
    assert empty._.nbest == []
    words = [[token.text for token in sent if not token.is_space] for sent in doc.sents]
    right = [margin for sentence in tagger.model.predict_margins(words) for margin in sentence]
    found = [token._.margin for token in doc if not token.is_space]
    assert found == pytest.approx(right, abs=1e-4)
    assert [token._.margin for token in doc if token.is_space] == [None]
    assert doc[:3]._.margin == min(found[:3])
    assert len(doc._.nbest) == 2
    for best, sentence in zip(doc._.nbest, doc.sents, strict=True):
        (first, labels), (second, others) = best
        assert first >= second
        assert labels != others
        assert labels == [f"{t.pos_}|{t.tag_}" for t in sentence if not t.is_space]
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert [token._.margin for token in again] == [token._.margin for token in doc]
