"""The spaCy components: training on Docs, the same weights as from files, files and bytes, labels, scores."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

spacy = pytest.importorskip("spacy")

from spacy import displacy  # noqa: E402
from spacy.tokens import Doc, Span  # noqa: E402
from spacy.training import Example  # noqa: E402

from structsvm.files.persist import ModelFileError  # noqa: E402
from taggers import Chunker, NerTagger, PosTagger  # noqa: E402
from taggers.commands import train  # noqa: E402
from taggers.formats._columns import Columns  # noqa: E402
from taggers.labels.schemes import spans  # noqa: E402
from tests.taggers.sentences import as_columns, as_conllu, as_universal, sentences  # noqa: E402
from tests.taggers.spacy_docs import entities, example, examples  # noqa: E402

COMPONENTS = ["structsvm_tagger", "structsvm_chunker", "structsvm_ner"]
SCORES = {"structsvm_tagger": "tag_acc", "structsvm_chunker": "spans_chunks_f", "structsvm_ner": "ents_f"}


@pytest.fixture
def nlp():
    return spacy.blank("en")


def trained(name, config=None, n=120):
    nlp = spacy.blank("en")
    component = nlp.add_pipe(name, config=config or {})
    data = examples(nlp.vocab, n)
    nlp.initialize(lambda: data)
    for _ in range(2):
        component.update(data)
    return nlp


def annotation(doc):
    """All that the components set."""
    chunks = [(span.start, span.end, span.label_) for span in doc.spans.get("chunks", [])]
    return (
        [t.tag_ for t in doc],
        [t.pos_ for t in doc],
        chunks,
        [(e.start, e.end, e.label_) for e in doc.ents],
    )


def tagged_docs(vocab, n, seed=1):
    return [pair.predicted for pair in examples(vocab, n, seed)]


@pytest.mark.parametrize("name", COMPONENTS)
def test_components_are_found_by_their_entry_points_and_learn(name):
    nlp = trained(name)
    scores = nlp.evaluate(examples(nlp.vocab, 40, seed=1))
    assert scores[SCORES[name]] > 0.9


def test_the_factories_are_there_without_any_import_of_ours():
    code = (
        "import spacy, sys; nlp = spacy.blank('en'); "
        "print([type(nlp.add_pipe(name)).__name__ for name in sys.argv[1:]])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *COMPONENTS], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['StructSVMTagger', 'StructSVMChunker', 'StructSVMNer']"


def model_of(component):
    return component.model._fitted().settle()


def assert_same_weights(ours, theirs):
    assert ours.labels == theirs.labels
    np.testing.assert_array_equal(ours.space.table.keys, theirs.space.table.keys)
    np.testing.assert_array_equal(ours.weights.ptr, theirs.weights.ptr)
    np.testing.assert_array_equal(ours.weights.cells, theirs.weights.cells)
    assert len(ours.weights.cells)


def test_the_same_sentences_give_the_same_weights_from_a_file_and_from_docs(nlp):
    made = sentences(80)
    tagger = nlp.add_pipe("structsvm_tagger")
    data = examples(nlp.vocab, 80)
    nlp.initialize(lambda: data)
    columns = Columns(as_columns(80), (0, 1))
    other = PosTagger().declare(sorted({tag for tokens in made for _, tag, _ in tokens}), X=columns)
    assert len(other.model_.space.knowledge.classes["cluster"].keys)
    for _ in range(2):
        tagger.update(data)
        other.partial_fit(columns, 1)
    assert_same_weights(model_of(tagger), other._fitted().settle())
    np.testing.assert_array_equal(model_of(tagger).space.words, other._fitted().settle().space.words)


def test_phrases_and_words_that_spacy_numbers_give_the_same_weights_too(nlp):
    made = [[("NOUN", "NNP", "B-NP"), ("PERSON", "NNP", "I-NP"), ("naïve", "JJ", "B-ADJP")], *sentences(60)]
    chunker, ner = nlp.add_pipe("structsvm_chunker"), nlp.add_pipe("structsvm_ner")
    data = [example(nlp.vocab, tokens) for tokens in made]
    nlp.initialize(lambda: data)
    nlp.update(data)
    chunks = [[token[2] for token in tokens] for tokens in made]
    other = Chunker().declare(
        ["B-ADJP", "I-ADJP", "B-NP", "I-NP", "B-PP", "I-PP", "B-VP", "I-VP", "O"], width=2
    )
    other.partial_fit([[token[:2] for token in tokens] for tokens in made], chunks)
    assert_same_weights(model_of(chunker), other._fitted().settle())
    names = NerTagger().declare(["B-PERSON", "I-PERSON", "B-PLACE", "I-PLACE", "O"])
    names.partial_fit(
        [[token[0] for token in tokens] for tokens in made], [entities(tokens) for tokens in made]
    )
    assert_same_weights(model_of(ner), names._fitted().settle())


@pytest.mark.parametrize("task", ["pos", "chunk"])
def test_a_model_of_the_command_line_labels_docs_as_it_labels_files(task, tmp_path, nlp):
    file = tmp_path / "train.txt"
    file.write_bytes(as_conllu(80) if task == "pos" else as_columns(80))
    tagger = train(task, file, tmp_path / "m.ssvm", **({"label": 4} if task == "pos" else {}))
    name = "structsvm_tagger" if task == "pos" else "structsvm_chunker"
    nlp.add_pipe(name, config={"model": str(tmp_path / "m.ssvm")})
    made = sentences(30, seed=2)
    docs = [
        Doc(nlp.vocab, words=[t[0] for t in s], tags=None if task == "pos" else [t[1] for t in s])
        for s in made
    ]
    docs = list(nlp.pipe(docs))
    if task == "pos":
        assert [[t.tag_ for t in doc] for doc in docs] == tagger.predict([[t[0] for t in s] for s in made])
        return
    predicted = tagger.predict([[t[:2] for t in s] for s in made])
    assert [annotation(doc)[2] for doc in docs] == [
        [(a, b, k) for k, a, b in spans(s, "IOB2")] for s in predicted
    ]
    assert any(annotation(doc)[2] for doc in docs)


def test_universal_tags_of_a_conllu_model_go_to_pos(tmp_path, nlp):
    (tmp_path / "train.conllu").write_bytes(as_universal(60))
    train("pos", tmp_path / "train.conllu", tmp_path / "m.ssvm")
    tagger = nlp.add_pipe("structsvm_tagger", config={"model": str(tmp_path / "m.ssvm")})
    doc = nlp("the old cat sees Anna .")
    assert [t.pos_ for t in doc] == ["DET", "ADJ", "NOUN", "VERB", "NOUN", "PUNCT"]
    assert [t.tag_ for t in doc] == [""] * 6
    assert tagger.attributes == ["POS"]
    nlp.to_disk(tmp_path / "pipeline")
    (tmp_path / "m.ssvm").unlink()  # a saved pipeline does not need the file it began with
    again = spacy.load(tmp_path / "pipeline")
    assert annotation(again("the old cat sees Anna .")) == annotation(doc)


def test_joint_labels_set_tag_and_pos(nlp):
    nlp.add_pipe("structsvm_tagger", config={"target": "POS|TAG"})
    words = ["dogs", "bark"]
    gold = Doc(nlp.vocab, words=words, tags=["NNS", "VBP"], pos=["NOUN", "VERB"])
    data = [Example(Doc(nlp.vocab, words=words), gold)]
    nlp.initialize(lambda: data)
    for _ in range(3):
        nlp.update(data)
    doc = nlp("dogs bark")
    assert annotation(doc)[:2] == (["NNS", "VBP"], ["NOUN", "VERB"])
    scores = nlp.evaluate([Example(nlp.make_doc("dogs bark"), gold)])
    assert (scores["tag_acc"], scores["pos_acc"]) == (1.0, 1.0)


@pytest.mark.parametrize("name", COMPONENTS)
def test_saving_and_loading_repeat_the_labels(name, tmp_path):
    nlp = trained(name, n=60)
    wanted = [annotation(doc) for doc in nlp.pipe(tagged_docs(nlp.vocab, 20))]
    nlp.to_disk(tmp_path / "a")
    loaded = spacy.load(tmp_path / "a")
    twin = spacy.blank("en")
    twin.add_pipe(name)
    twin.from_bytes(nlp.to_bytes())
    for other in (loaded, twin, pickle.loads(pickle.dumps(nlp))):
        assert [annotation(doc) for doc in other.pipe(tagged_docs(other.vocab, 20))] == wanted
    assert loaded.get_pipe(name).labels == nlp.get_pipe(name).labels
    loaded.to_disk(tmp_path / "b")
    saved = [(tmp_path / folder / name / "model.ssvm").read_bytes() for folder in "ab"]
    assert saved[0] == saved[1]


def test_two_processes_give_the_labels_of_one(tmp_path):
    nlp = trained("structsvm_tagger", n=60)
    texts = [" ".join(token[0] for token in tokens) for tokens in sentences(50, seed=3)]
    alone = [annotation(doc) for doc in nlp.pipe(texts)]
    assert [annotation(doc) for doc in nlp.pipe(texts, n_process=2, batch_size=10)] == alone


def test_training_resumed_from_disk_continues_bit_for_bit(tmp_path):
    config = {"keep_state": True}
    whole, part = trained("structsvm_tagger", config, n=40), trained("structsvm_tagger", config, n=40)
    part.to_disk(tmp_path / "part")
    part = spacy.load(tmp_path / "part")
    more = {nlp: examples(nlp.vocab, 30, seed=5) for nlp in (whole, part)}
    for nlp, data in more.items():
        nlp.get_pipe("structsvm_tagger").update(data)
    assert_same_weights(*[model_of(nlp.get_pipe("structsvm_tagger")) for nlp in (whole, part)])


def test_without_its_state_training_continues_from_the_weights_and_says_so(tmp_path):
    nlp = trained("structsvm_tagger", n=40)
    nlp.to_disk(tmp_path / "a")
    nlp = spacy.load(tmp_path / "a")
    with pytest.warns(UserWarning, match="from its weights alone"):
        nlp.update(examples(nlp.vocab, 30, seed=5))
    assert nlp.evaluate(examples(nlp.vocab, 30, seed=6))["tag_acc"] > 0.9


def test_labels_can_be_added_before_and_after_training(nlp):
    ner = nlp.add_pipe("structsvm_ner")
    assert (ner.add_label("PERSON"), ner.add_label("PERSON")) == (1, 0)
    assert ner.labels == ("PERSON",)
    data = examples(nlp.vocab, 60)
    nlp.initialize(lambda: data)
    nlp.update(data)
    before = [annotation(doc) for doc in nlp.pipe(tagged_docs(nlp.vocab, 20))]
    assert ner.add_label("PRODUCT") == 1
    assert ner.label_data == ["PERSON", "PLACE", "PRODUCT"]
    assert [annotation(doc) for doc in nlp.pipe(tagged_docs(nlp.vocab, 20))] == before
    doc = Doc(nlp.vocab, words=["Anna", "likes", "Zumbo"])
    gold = doc.copy()
    gold.set_ents([Span(gold, 0, 1, label="PERSON"), Span(gold, 2, 3, label="PRODUCT")])
    for _ in range(3):
        nlp.update([Example(doc, gold)])
    assert [entity.label_ for entity in nlp(doc.copy()).ents] == ["PERSON", "PRODUCT"]


def test_a_pipeline_that_begins_with_nothing_learns_phrases(nlp):
    ner = nlp.add_pipe("structsvm_ner")
    nlp.initialize()
    data = [pair for pair in examples(nlp.vocab, 60) if pair.reference.ents]
    plain = Example(nlp.make_doc("no cat sleeps"), nlp.make_doc("no cat sleeps"))
    plain.reference.set_ents([], default="outside")
    for pair in [plain, *data]:
        nlp.update([pair])
    assert ner.labels == ("PERSON", "PLACE")
    assert model_of(ner).labels.outer == "IOB2"
    assert nlp.evaluate(examples(nlp.vocab, 20, seed=3))["ents_f"] > 0.9


def test_initialize_takes_given_labels_and_starts_again(nlp):
    tagger = nlp.add_pipe("structsvm_tagger")
    data = examples(nlp.vocab, 10)
    tagger.initialize(lambda: data, labels=["A", "B"])
    assert tagger.labels == ("A", "B")
    nlp.initialize(lambda: data)
    assert "A" not in tagger.labels
    assert {token.tag_ for token in nlp("the cat")} <= set(tagger.labels)  # untrained, and no error


def test_tokens_without_labels_and_empty_docs_teach_nothing(nlp):
    tagger = nlp.add_pipe("structsvm_tagger")
    data = examples(nlp.vocab, 30)
    nlp.initialize(lambda: data)
    assert tagger.update([]) == {"structsvm_tagger": 0.0}
    empty = Example(Doc(nlp.vocab), Doc(nlp.vocab))
    bare = Example(Doc(nlp.vocab, words=["x"]), Doc(nlp.vocab, words=["x"]))
    assert tagger.update([empty, bare]) == {"structsvm_tagger": 0.0}
    partial = Example(
        Doc(nlp.vocab, words=["Anna", "sees"]), Doc(nlp.vocab, words=["Anna", "sees"], tags=["NNP", ""])
    )
    assert tagger.update([*data, empty, partial])["structsvm_tagger"] > 0
    assert "" not in tagger.labels
    assert [len(doc) for doc in nlp.pipe([Doc(nlp.vocab), nlp.make_doc("the cat")])] == [0, 2]
    assert list(nlp.pipe([])) == []


def test_docs_that_are_empty_or_white_space_only_have_no_phrases():
    nlp = trained("structsvm_ner")
    texts = ["", "Anna sees Turin .", " \n ", "", "  Turin  "]
    ents = [[(e.start, e.text) for e in doc.ents] for doc in nlp.pipe(texts)]
    assert ents == [[], [(0, "Anna"), (2, "Turin")], [], [], [(1, "Turin")]]
    assert [[e.text for e in nlp(text).ents] for text in ("", " ")] == [[], []]


def test_gold_is_aligned_where_tokens_differ(nlp):
    words, parts = ["Annas", "cat"], ["Anna", "s", "cat"]
    gold = Doc(nlp.vocab, words=parts, spaces=[False, True, False], tags=["NNP", "NNP", "NN"])
    gold.set_ents([Span(gold, 0, 2, label="PERSON")])
    gold.spans["chunks"] = [Span(gold, 0, 3, label="NP")]
    pair = Example(Doc(nlp.vocab, words=words, spaces=[True, False]), gold)
    pipes = {name: nlp.add_pipe(name) for name in COMPONENTS}
    assert pipes["structsvm_tagger"]._gold(pair) == ["NNP", "NN"]
    assert pipes["structsvm_ner"]._gold(pair) == ["B-PERSON", "O"]
    assert pipes["structsvm_chunker"]._gold(pair) == ["B-NP", "I-NP"]


def test_white_space_and_sentences_make_no_difference_to_labels():
    nlp = trained("structsvm_tagger")
    plain = [token.tag_ for token in nlp("the old cat sees Anna .")]
    spaced = nlp("the  old\n\ncat sees Anna .")
    assert [t.tag_ for t in spaced if not t.is_space] == plain
    assert {t.tag_ for t in spaced if t.is_space} == {"_SP"}
    nlp.add_pipe("sentencizer", first=True)
    two = nlp("the old cat sees Anna . the old cat sees Anna .")
    assert len(list(two.sents)) == 2
    assert [t.tag_ for t in two] == plain * 2


def test_entities_of_an_entity_ruler_stay_unless_overwrite_is_set():
    def found(overwrite):
        nlp = trained("structsvm_ner", {"overwrite": True} if overwrite else {})
        ruler = nlp.add_pipe("entity_ruler", first=True)
        ruler.add_patterns([{"label": "BAND", "pattern": "Anna sees"}])
        return [(e.text, e.label_) for e in nlp("Anna sees Turin .").ents]

    assert found(overwrite=False) == [("Anna sees", "BAND"), ("Turin", "PLACE")]
    assert found(overwrite=True) == [("Anna", "PERSON"), ("Turin", "PLACE")]


def test_blocked_tokens_stay_outside_entities_as_with_the_ner_of_spacy():
    nlp = trained("structsvm_ner")
    doc = nlp.make_doc("Anna sees Turin .")
    doc.set_ents([], blocked=[doc[0:1]])
    assert [(e.text, e.label_) for e in nlp(doc).ents] == [("Turin", "PLACE")]
    assert [token.ent_iob for token in doc] == [3, 2, 3, 2]
    nlp.get_pipe("structsvm_ner").overwrite = True
    assert [e.text for e in nlp(doc).ents] == ["Anna", "Turin"]


def test_tags_that_are_set_stay_without_overwrite():
    nlp = trained("structsvm_tagger", {"overwrite": False})
    doc = Doc(nlp.vocab, words=["the", "cat"], tags=["XX", ""])
    assert [t.tag_ for t in nlp(doc)] == ["XX", "NN"]


def test_displacy_draws_chunks_and_entities():
    nlp = trained("structsvm_chunker")
    doc = nlp(tagged_docs(nlp.vocab, 1)[0])
    assert len(doc.spans["chunks"]) > 1
    html = displacy.render(doc, style="span", options={"spans_key": "chunks"}, jupyter=False)
    assert ">NP<" in "".join(html.split())


def test_wrong_use_gets_one_sentence(nlp, tmp_path):
    with pytest.raises(ValueError, match=r"columns must be among .*, got 'WORD'"):
        nlp.add_pipe("structsvm_tagger", config={"columns": ["WORD"]})
    with pytest.raises(ValueError, match="target must be one of"):
        nlp.add_pipe("structsvm_tagger", config={"target": "UPOS"})
    nlp.add_pipe("structsvm_tagger")
    with pytest.raises(ValueError, match="has no model"):
        nlp("the cat")
    other = spacy.blank("en")
    with pytest.raises(ModelFileError, match="does not exist"):
        other.add_pipe("structsvm_tagger", config={"model": str(tmp_path / "none.ssvm")})
    (tmp_path / "text.ssvm").write_text("no model")
    with pytest.raises(ModelFileError, match="is not a structsvm model"):
        other.add_pipe("structsvm_ner", config={"model": str(tmp_path / "text.ssvm")})
    chunks = trained("structsvm_chunker")
    with pytest.raises(ValueError, match=r"no token has TAG, .*name it in annotating_components"):
        chunks("the cat")
    with pytest.raises(ModelFileError, match="do not contain a model"):
        chunks.get_pipe("structsvm_chunker").from_bytes(b"\x80")


def test_a_tagger_in_place_of_a_chunker_is_refused(tmp_path, nlp):
    (tmp_path / "t.txt").write_bytes(as_conllu(20))
    train("pos", tmp_path / "t.txt", tmp_path / "m.ssvm", label=4)
    for component in ("structsvm_ner", "structsvm_chunker"):
        with pytest.raises(ValueError, match=r"for the task pos, .*; add the component structsvm_tagger"):
            nlp.add_pipe(component, config={"model": str(tmp_path / "m.ssvm")})
    train("label", tmp_path / "t.txt", tmp_path / "m.ssvm", label=4)
    with pytest.raises(ValueError, match="do not mark phrases; add the component structsvm_tagger"):
        nlp.add_pipe("structsvm_ner", config={"model": str(tmp_path / "m.ssvm")})


def test_a_chunker_in_place_of_a_tagger_or_of_entities_is_refused(tmp_path, nlp):
    (tmp_path / "t.txt").write_bytes(as_columns(20))
    train("chunk", tmp_path / "t.txt", tmp_path / "m.ssvm")
    for component in ("structsvm_tagger", "structsvm_ner"):
        with pytest.raises(ValueError, match=r"for the task chunk, .*; add the component structsvm_chunker"):
            nlp.add_pipe(component, config={"model": str(tmp_path / "m.ssvm")})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"epochs": 5}, "'epochs' has no effect in a pipeline; set max_epochs"),
        ({"jobs": 2}, "'jobs' has no effect in a pipeline; use n_process of nlp.pipe"),
        ({"cutoff": 2}, "'cutoff' has no effect in a pipeline; set prune"),
        ({"seed": 1}, "there is no option 'seed'; use random_state"),
        ({"c": 1}, "there is no option 'c'; options are C, "),
    ],
)
def test_options_that_would_change_nothing_are_refused(nlp, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        nlp.add_pipe("structsvm_tagger", config={"options": options})


def test_a_saved_pipeline_does_not_read_the_file_it_began_with(tmp_path, nlp):
    (tmp_path / "t.txt").write_bytes(as_conllu(20))
    train("pos", tmp_path / "t.txt", tmp_path / "m.ssvm", label=4)
    nlp.add_pipe("structsvm_tagger", config={"model": str(tmp_path / "m.ssvm")})
    wanted = annotation(nlp("the cat"))
    nlp.to_disk(tmp_path / "saved")
    (tmp_path / "m.ssvm").write_text("something else by now")
    loaded = spacy.load(tmp_path / "saved")
    assert annotation(loaded("the cat")) == wanted
    assert loaded.get_pipe("structsvm_tagger").labels == nlp.get_pipe("structsvm_tagger").labels


def test_a_pipeline_made_from_a_config_reads_its_model_when_it_is_needed(tmp_path, nlp):
    (tmp_path / "t.txt").write_bytes(as_conllu(20))
    train("pos", tmp_path / "t.txt", tmp_path / "m.ssvm", label=4)
    nlp.add_pipe("structsvm_tagger", config={"model": str(tmp_path / "m.ssvm")})
    again = spacy.util.load_model_from_config(nlp.config)
    assert annotation(again("the cat")) == annotation(nlp("the cat"))
    (tmp_path / "m.ssvm").unlink()
    late = spacy.util.load_model_from_config(nlp.config)
    with pytest.raises(ModelFileError, match="does not exist"):
        late("the cat")


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32"])
def test_a_model_is_saved_in_the_precision_it_was_loaded_in(dtype, tmp_path, nlp):
    (tmp_path / "t.txt").write_bytes(as_conllu(40))
    train("pos", tmp_path / "t.txt", tmp_path / "m.ssvm", label=4, dtype=dtype)
    tagger = nlp.add_pipe("structsvm_tagger", config={"model": str(tmp_path / "m.ssvm")})
    tagger.to_disk(tmp_path / "saved")
    assert (tmp_path / "saved" / "model.ssvm").stat().st_size == (tmp_path / "m.ssvm").stat().st_size


def test_a_chunker_says_that_it_needs_tags(nlp):
    nlp.add_pipe("structsvm_chunker")
    assert nlp.analyze_pipes()["problems"]["structsvm_chunker"] == ["token.tag"]


def test_examples_without_the_target_are_refused_by_name(nlp):
    nlp.add_pipe("structsvm_tagger", config={"target": "TAG"})
    doc = Doc(nlp.vocab, words=["the", "cat"], pos=["DET", "NOUN"])
    with pytest.raises(ValueError, match=r"has a gold TAG, .*pass .*target POS to spacy train"):
        nlp.initialize(lambda: [Example(Doc(nlp.vocab, words=["the", "cat"]), doc)])
