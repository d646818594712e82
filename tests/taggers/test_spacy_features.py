"""spaCy components whose models read features instead of words, such as models of CRFsuite."""

from pathlib import Path

import pytest

spacy = pytest.importorskip("spacy")

from spacy.tokens import Doc  # noqa: E402
from spacy.training import Example  # noqa: E402

from taggers import SequenceTagger  # noqa: E402
from tests.taggers.crfsuite_models import crfsuite_model  # noqa: E402

TEXT = "Anna Weber  sees Turin \n and Otto"
FEATURES = {"@misc": "tests.features.v1"}
BIO = (
    ["O", "B-PER", "I-PER", "B-LOC"],
    ["word:anna", "word:weber", "word:turin", "word:otto", "bias"],
    {(0, 1): 4.0, (1, 2): 4.0, (2, 3): 4.0, (3, 1): 4.0, (4, 0): 1.0},
    {(1, 2): 0.5, (2, 1): -0.5},
)


@spacy.registry.misc("tests.features.v1")
def make_features():
    return lambda tokens: [{"word": token.lower_, "bias": 1.0} for token in tokens]


@spacy.registry.misc("tests.too_few_features.v1")
def make_too_few_features():
    return lambda tokens: [{"word": token.lower_} for token in tokens[1:]]


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "names.crfsuite"
    file.write_bytes(crfsuite_model(*BIO))
    return str(file)


def pipeline(name, **config):
    nlp = spacy.blank("en")
    nlp.add_pipe(name, config={"features": FEATURES} | config)
    return nlp


def entities(doc):
    return [(entity.text, entity.label_) for entity in doc.ents]


PEOPLE = [("Anna Weber", "PER"), ("Turin", "LOC"), ("Otto", "PER")]


def test_a_model_of_crfsuite_labels_docs_as_it_labels_features(path):
    nlp = pipeline("structsvm_ner", model=path, margins=True, nbest=2)
    doc = nlp("Anna Weber sees Turin")
    features = [[{"word": token.lower_, "bias": 1.0} for token in doc]]
    assert entities(doc) == PEOPLE[:2]
    tagger = SequenceTagger.load(path)
    assert [token._.margin for token in doc] == pytest.approx(tagger.predict_margins(features)[0])
    assert [labels for _, labels in doc._.nbest[0]] == [
        labels for _, labels in tagger.predict_nbest(features, 2)[0]
    ]


def test_white_space_and_sentences_are_handled_as_for_words(path):
    nlp = pipeline("structsvm_ner", model=path)
    assert entities(nlp(TEXT.replace("Anna Weber  ", "Anna Weber "))) == PEOPLE
    nlp.add_pipe("sentencizer", first=True)
    doc = nlp("Anna sees. Weber sees.")
    assert [sentence.text for sentence in doc.sents] == ["Anna sees.", "Weber sees."]
    assert entities(doc) == [("Anna", "PER"), ("Weber", "PER")]


def test_a_saved_pipeline_finds_the_function_again(path, tmp_path):
    nlp = pipeline("structsvm_ner", model=path)
    nlp.to_disk(tmp_path / "pipeline")
    assert entities(spacy.load(tmp_path / "pipeline")("Anna Weber sees Turin and Otto")) == PEOPLE
    other = pipeline("structsvm_ner")
    other.from_bytes(nlp.to_bytes())
    assert entities(other("Anna Weber sees Turin and Otto")) == PEOPLE


def test_the_tagger_sets_the_labels_as_tags(path):
    doc = pipeline("structsvm_tagger", model=path)("Anna Weber sees")
    assert [token.tag_ for token in doc] == ["B-PER", "I-PER", "O"]


@pytest.mark.parametrize("name", ["small.crfpp", "small.wapiti"])
def test_models_of_other_programs_with_a_template_need_no_function(name):
    file = Path(__file__).parent / "foreign" / name
    nlp = spacy.blank("en")
    tagger = nlp.add_pipe("structsvm_tagger", config={"model": str(file), "columns": ["ORTH", "TAG"]})
    words, tags = ["a", "b", "c", "a"], ["p", "q", "p", "p"]
    doc = tagger(Doc(nlp.vocab, words, tags=tags))
    assert [token.tag_ for token in doc] == SequenceTagger.load(file).tag(list(zip(words, tags, strict=True)))


@pytest.mark.filterwarnings("ignore:this model was saved without its training state")
@pytest.mark.parametrize("from_file", [True, False])
def test_components_learn_from_features(path, from_file, tmp_path):
    nlp = pipeline("structsvm_ner", **({"model": path} if from_file else {}))
    gold = {"entities": [(0, 5, "PER"), (11, 15, "LOC")]}
    examples = [Example.from_dict(nlp.make_doc("Berta sees Rome"), gold)]
    nlp.initialize(lambda: examples)
    assert entities(nlp("Berta sees Rome")) == []
    for _ in range(5):
        nlp.update(examples)
    assert entities(nlp("Berta sees Rome")) == [("Berta", "PER"), ("Rome", "LOC")]
    nlp.to_disk(tmp_path / "pipeline")
    assert entities(spacy.load(tmp_path / "pipeline")("Berta sees Rome")) == entities(nlp("Berta sees Rome"))


@pytest.mark.parametrize("name", ["senter", "lemmatizer", "morphologizer", "chunker"])
def test_every_tagger_component_learns_from_features(name):
    nlp = pipeline(f"structsvm_{name}")
    words, half = ["Cats", "sleep", "Dogs", "bark"], [True, False, True, False]
    gold = Doc(nlp.vocab, words, pos=["NOUN", "VERB"] * 2, lemmas=["cat", "sleep", "dog", "bark"],
               morphs=["Number=Plur", ""] * 2, sent_starts=half)  # fmt: skip
    gold.spans["chunks"] = [gold[:1], gold[2:3]]
    for span in gold.spans["chunks"]:
        span.label_ = "NP"
    examples = [Example(Doc(nlp.vocab, words), gold)]
    nlp.initialize(lambda: examples)
    for _ in range(4):
        nlp.update(examples)
    doc = nlp.get_pipe(f"structsvm_{name}")(Doc(nlp.vocab, words))
    found = {
        "senter": [token.is_sent_start for token in doc] == half,
        "lemmatizer": [token.lemma_ for token in doc] == [token.lemma_ for token in gold],
        "morphologizer": [(t.pos_, str(t.morph)) for t in doc] == [(t.pos_, str(t.morph)) for t in gold],
        "chunker": [span.text for span in doc.spans.get("chunks", [])] == ["Cats", "Dogs"],
    }
    assert found[name]


def test_a_model_whose_labels_are_written_otherwise_is_used_but_not_trained(tmp_path):
    labels = ["O", "U-PER", "B-PER", "L-PER"]
    path = tmp_path / "biluo.crfsuite"
    path.write_bytes(
        crfsuite_model(labels, ["word:anna", "word:weber"], {(0, 2): 1.0, (1, 3): 1.0}, {(2, 3): 1.0})
    )
    nlp = pipeline("structsvm_ner", model=str(path))
    assert entities(nlp("Anna Weber")) == [("Anna Weber", "PER")]
    gold = Example.from_dict(nlp.make_doc("Anna sees"), {"entities": [(0, 4, "PER")]})
    with pytest.raises(ValueError, match="train it from files with --resume"):
        nlp.update([gold])


def test_wrong_settings_are_refused_in_a_sentence(path):
    with pytest.raises(ValueError, match="reads features instead of words; register a function"):
        spacy.blank("en").add_pipe("structsvm_ner", config={"model": path})
    with pytest.raises(ValueError, match="computes its features itself; leave out features"):
        pipeline("structsvm_tagger", model="en-pos")
    with pytest.raises(ValueError, match="columns has no effect with features"):
        pipeline("structsvm_ner", model=path, columns=["LOWER"])
    nlp = pipeline("structsvm_ner", model=path, features={"@misc": "tests.too_few_features.v1"})
    with pytest.raises(ValueError, match="returned 1 items for a sentence of 2 tokens"):
        nlp("Anna sees")
