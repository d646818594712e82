"""Components of another pipeline, whose vocab is not that of the Docs: `nlp.add_pipe(name, source=other)`."""

import pytest

spacy = pytest.importorskip("spacy")

from spacy.tokens import Doc, Span  # noqa: E402
from spacy.training import Example  # noqa: E402

from taggers import commands  # noqa: E402
from taggers.spacy.reader import make_reader  # noqa: E402
from tests.taggers.sentences import as_columns, with_lemmas, with_words  # noqa: E402
from tests.taggers.spacy_docs import as_entity_columns, examples  # noqa: E402

UNSEEN = ["Zorblax", "quibbled", "frabjously", "near", "Wumpus", "."]
FILES = {
    "senter": "ud", "tagger": "ud", "morphologizer": "ud", "lemmatizer": "ud", "chunker": "chunk",
    "ner": "ner",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sourced")
    (path / "ud.conllu").write_bytes(with_words(60))
    (path / "lemmas.conllu").write_bytes(with_lemmas(60))
    (path / "chunk.txt").write_bytes(as_columns(60))
    (path / "ner.txt").write_bytes(as_entity_columns(60))
    commands.train_ud(path / "ud.conllu", path / "ud.ssvm")
    commands.train("chunk", path / "chunk.txt", path / "chunk.ssvm")
    commands.train("ner", path / "ner.txt", path / "ner.ssvm")
    return path


def doc_in(vocab):
    tags, pos = ["NNP", "VBD", "RB", "IN", "NNP", "."], ["PROPN", "VERB", "ADV", "ADP", "PROPN", "PUNCT"]
    return Doc(vocab, words=UNSEEN, tags=tags, pos=pos, morphs=["Number=Sing", *[""] * 5])


def annotation(doc):
    tokens = [(t.tag_, t.pos_, str(t.morph), t.lemma_, t.is_sent_start, t.ent_type_) for t in doc]
    return tokens, [(span.start, span.end, span.label_) for span in doc.spans.get("chunks", [])]


@pytest.mark.parametrize("name", FILES)
def test_a_sourced_component_annotates_words_that_its_source_has_not_seen(name, folder):
    config = {"model": str(folder / f"{FILES[name]}.ssvm")}
    alone, source, target = spacy.blank("en"), spacy.blank("en"), spacy.blank("en")
    wanted = alone.add_pipe(f"structsvm_{name}", config=config)(doc_in(alone.vocab))
    source.add_pipe(f"structsvm_{name}", config=config)
    sourced = target.add_pipe(f"structsvm_{name}", source=source)
    assert annotation(sourced(doc_in(target.vocab))) == annotation(wanted)


@pytest.mark.parametrize("name", FILES)
def test_a_sourced_component_learns_words_that_its_source_has_not_seen(name, folder):
    def read(nlp):
        if name in ("chunker", "ner"):
            return examples(nlp.vocab, 40)
        return list(make_reader(str(folder / "lemmas.conllu"), inputs=["POS"])(nlp))

    source, target = spacy.blank("en"), spacy.blank("en")
    source.add_pipe(f"structsvm_{name}")
    data = read(source)
    source.initialize(lambda: data)
    source.update(data)
    sourced = target.add_pipe(f"structsvm_{name}", source=source)
    reference = doc_in(target.vocab)
    for token in reference:
        token.lemma_ = "zzz"
    reference.ents = reference.spans["chunks"] = [Span(reference, 0, 1, label="WUMPUS")]
    sourced.update([*data, Example(doc_in(target.vocab), reference)])
    ours, theirs = sourced.pipe([doc_in(target.vocab), doc_in(source.vocab)])
    assert annotation(ours) == annotation(theirs)


def test_the_bundled_model_is_sourced_into_a_pipeline_with_another_vocab():
    source, target = spacy.blank("en"), spacy.blank("en")
    names = [f"structsvm_{name}" for name in ("senter", "tagger", "morphologizer", "lemmatizer")]
    for name in names:
        source.add_pipe(name, config={"model": "en"})
    for name in names:
        target.add_pipe(name, source=source)
    text = "Zorblax quibbled frabjously. The wumpuses vexed Quenzibar!"
    assert annotation(target(text)) == annotation(source(text))
