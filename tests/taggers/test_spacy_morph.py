"""Features and lemmas in spaCy: `structsvm_morphologizer` and `structsvm_lemmatizer`."""

import pytest

spacy = pytest.importorskip("spacy")

from spacy.cli.train import train as spacy_train  # noqa: E402
from spacy.tokens import Doc  # noqa: E402
from spacy.training import Example  # noqa: E402

from taggers import commands  # noqa: E402
from taggers.formats.conllu import FORMAT as CONLLU  # noqa: E402
from taggers.pipeline import Pipeline  # noqa: E402
from taggers.spacy.__main__ import config  # noqa: E402
from taggers.spacy.reader import make_reader  # noqa: E402
from tests.taggers.sentences import NUMBER, as_columns, with_lemmas, with_words  # noqa: E402


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
        spacy.blank("en").add_pipe("structsvm_morphologizer", config={"target": "LEMMA"})


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


@pytest.fixture(scope="module")
def layers(tmp_path_factory):
    """A file of each kind that has several layers, and one without FEATS."""
    path = tmp_path_factory.mktemp("layers")
    (path / "train.conllu").write_bytes(with_words(60))
    rows = [line.split("\t") for line in with_words(60).decode().split("\n")]
    for fields in rows:
        fields[5:6] = ["_"] * (len(fields) == 10)
    (path / "less.conllu").write_text("\n".join("\t".join(fields) for fields in rows))
    commands.train_ud(path / "train.conllu", path / "ud.ssvm")
    commands.train_lemma(path / "train.conllu", path / "lemma.ssvm")
    with pytest.warns(UserWarning, match="feats"):
        commands.train_ud(path / "less.conllu", path / "less.ssvm")
    return path


COMPONENTS = [f"structsvm_{name}" for name in ("senter", "tagger", "morphologizer", "lemmatizer")]


def with_model(model, names=COMPONENTS):
    nlp = spacy.blank("xx")
    for name in names:
        nlp.add_pipe(name, config={"model": str(model)})
    return nlp


def tokens_of(doc):
    return [(t.pos_, t.tag_, str(t.morph) or "_", t.lemma_, bool(t.is_sent_start)) for t in doc]


def test_the_components_use_the_layers_of_one_file_and_keep_them(layers, tmp_path):
    nlp = with_model(layers / "ud.ssvm")
    pipeline = Pipeline.load(layers / "ud.ssvm")
    text = "the cats sleep. a dog sees the cats."
    doc = nlp(text)
    split = pipeline.split(text)
    assert [sent[0].idx for sent in doc.sents] == [tokens[0].start for tokens in split]
    words = pipeline.predict([[token.text for token in sent] for sent in doc.sents])
    right = [tuple(word[name] for name in ("upos", "xpos", "feats", "lemma")) for s in words for word in s]
    assert [found[:4] for found in tokens_of(doc)] == right
    nlp.to_disk(tmp_path / "nlp")
    again = spacy.load(tmp_path / "nlp")
    assert tokens_of(again(text)) == tokens_of(doc)
    examples = list(make_reader(str(layers / "train.conllu"))(nlp))[:5]
    assert nlp.evaluate(examples)["tag_acc"] > 0.9


@pytest.mark.parametrize(
    ("component", "model", "config", "message"),
    [
        ("tagger", "lemma", {}, "has the layers lemma, and 'structsvm_tagger' can use .*; it needs upos"),
        ("ner", "ud", {}, "the layers upos, morph, lemma, split, words, and 'structsvm_ner' can use none"),
        ("senter", "lemma", {}, "it needs split"),
        ("senter", "ud", {"margins": True}, "splits text without margins"),
        ("morphologizer", "ud", {"target": "MORPH"}, r"predicts TAG\|MORPH, not MORPH; leave out target"),
        ("tagger", "ud", {"target": "TAG"}, "the layer upos of .* predicts POS, not TAG"),
        ("tagger", "ud", {"keep_state": True}, "keep_state has no effect on"),
    ],
)  # fmt: skip
def test_a_file_without_the_layer_of_a_component_is_refused(layers, component, model, config, message):
    model = {"model": str(layers / f"{model}.ssvm")}
    with pytest.raises(ValueError, match=message):
        spacy.blank("xx").add_pipe(f"structsvm_{component}", config=model | config)


@pytest.mark.filterwarnings("ignore:.*the model learns lemmas from the other columns")
@pytest.mark.parametrize("columns", [[5], [4], [4, 5]])
def test_files_without_some_columns_are_used_too(layers, tmp_path, columns):
    """Without FEATS the morphologizer sets tags, and lemmas depend on tags, or on parts of speech alone."""
    rows = [line.split("\t") for line in with_words(60).decode().split("\n")]
    for fields in rows:
        for column in columns * (len(fields) == 10):
            fields[column] = "_"
    (tmp_path / "less.conllu").write_text("\n".join("\t".join(fields) for fields in rows))
    with pytest.warns(UserWarning, match="left out"):
        commands.train_ud(tmp_path / "less.conllu", tmp_path / "ud.ssvm")
    commands.train_lemma(tmp_path / "less.conllu", tmp_path / "lemma.ssvm")
    pipeline = Pipeline.load(tmp_path / "ud.ssvm")
    nlp = with_model(
        tmp_path / "ud.ssvm", [name for name in COMPONENTS[1:] if pipeline.morph or "morph" not in name]
    )
    words = ["the", "cats", "see", "red", "lamps", "."]
    right = [
        tuple(word.get(name, "_") for name in ("upos", "xpos", "feats", "lemma"))
        for word in pipeline.predict([words])[0]
    ]
    doc = nlp(Doc(nlp.vocab, words=words))
    assert [(pos, tag or "_", morph, lemma) for pos, tag, morph, lemma, _ in tokens_of(doc)] == right
    assert [token.lemma_ for token in doc] == ["the", "cat", "see", "red", "lamp", "."]
    nlp.add_pipe("structsvm_lemmatizer", name="again", config={"model": str(tmp_path / "lemma.ssvm")})
    assert tokens_of(nlp(Doc(nlp.vocab, words=words))) == tokens_of(doc)
    nlp.to_disk(tmp_path / "nlp")
    loaded = spacy.load(tmp_path / "nlp")
    assert tokens_of(loaded(Doc(loaded.vocab, words=words))) == tokens_of(doc)
    assert commands.evaluate_any(tmp_path / "lemma.ssvm", tmp_path / "less.conllu")["lemma"].accuracy == 1


@pytest.fixture(scope="module")
def models(layers):
    """One model of each kind, by name."""
    (layers / "columns.txt").write_bytes(as_columns(20))
    commands.train("pos", layers / "columns.txt", layers / "tags.ssvm", inputs=[0], label=1)
    commands.train("chunk", layers / "columns.txt", layers / "chunk.ssvm")
    commands.train("ner", layers / "columns.txt", layers / "ner.ssvm", inputs=[0])
    for name, task, label in (
        ("upos", "pos", 3), ("both", "pos", [3, 4]), ("feats", "pos", 5), ("forms", "pos", 2),
        ("morph", "morph", [3, 5]), ("three", "morph", [3, 4, 5]),
    ):  # fmt: skip
        commands.train(task, layers / "train.conllu", layers / f"{name}.ssvm", label=label)
    return layers


@pytest.mark.parametrize(
    ("component", "model", "message"),
    [
        ("ner", "chunk", "for the task chunk, .*add the component structsvm_chunker"),
        ("chunker", "ner", "for the task ner, .*add the component structsvm_ner"),
        ("tagger", "ner", "for the task ner, .*add the component structsvm_ner"),
        ("tagger", "morph", r"predicts POS\|MORPH, .*add the component structsvm_morphologizer"),
        ("tagger", "feats", "predicts MORPH, .*add the component structsvm_morphologizer"),
        ("tagger", "forms", "predicts LEMMA, .*train lemmas with structsvm train lemma"),
        ("morphologizer", "tags", "has the label .*, which is not a value of MORPH"),
        ("morphologizer", "upos", "predicts POS, .*add the component structsvm_tagger"),
        ("morphologizer", "both", r"predicts POS\|TAG, .*add the component structsvm_tagger"),
        ("morphologizer", "forms", "predicts LEMMA"),
        ("morphologizer", "ner", "for the task ner"),
        ("lemmatizer", "tags", "is not an edit script of a lemma; use a model of structsvm train lemma"),
        ("lemmatizer", "forms", "is not an edit script of a lemma"),
        ("lemmatizer", "three", "is not an edit script of a lemma"),
        ("lemmatizer", "chunk", "for the task chunk"),
        ("senter", "feats", "the labels of 'structsvm_senter' are S and I"),
        ("senter", "ner", "for the task ner"),
    ],
)  # fmt: skip
def test_a_model_of_another_task_is_refused_when_it_is_added(models, component, model, message):
    with pytest.raises(ValueError, match=message):
        spacy.blank("xx").add_pipe(f"structsvm_{component}", config={"model": str(models / f"{model}.ssvm")})


def test_a_target_that_the_labels_do_not_fit_is_refused(models):
    for component, model, target in (
        ("tagger", "tags", "POS"), ("tagger", "tags", "POS|TAG"), ("morphologizer", "morph", "MORPH"),
    ):  # fmt: skip
        config = {"model": str(models / f"{model}.ssvm"), "target": target}
        with pytest.raises(ValueError, match="which is not a value of"):
            spacy.blank("xx").add_pipe(f"structsvm_{component}", config=config)
    tagger = spacy.blank("xx").add_pipe(
        "structsvm_tagger", config={"model": str(models / "upos.ssvm"), "target": "TAG"}
    )
    assert tagger.attributes == ["TAG"]


def test_labels_of_three_columns_set_three_attributes(models, tmp_path):
    nlp = with_model(models / "three.ssvm", ["structsvm_morphologizer"])
    words = ["the", "cats", "see", "Anna", "."]
    tags = [("DET", "DT", "_"), ("NOUN", "NNS", "Number=Plur"), ("VERB", "VB", "_")]
    doc = nlp(Doc(nlp.vocab, words=words))
    assert [found[:3] for found in tokens_of(doc)][:3] == tags
    nlp.to_disk(tmp_path / "nlp")
    loaded = spacy.load(tmp_path / "nlp")
    assert tokens_of(loaded(Doc(loaded.vocab, words=words))) == tokens_of(doc)
    examples = list(make_reader(str(models / "train.conllu"))(nlp))[:5]
    scores = nlp.evaluate(examples)
    assert min(scores["tag_acc"], scores["pos_acc"], scores["morph_acc"]) > 0.9


def test_examples_overrule_the_lemmas_that_a_file_remembers(layers, tmp_path):
    rare = b"1\txyz\tabc\tNOUN\tNN\tNumber=Sing\t_\t_\t_\t_\n\n"  # its script is remembered, not learned
    (tmp_path / "rare.conllu").write_bytes(rare + with_lemmas(40))
    commands.train_lemma(tmp_path / "rare.conllu", tmp_path / "rare.ssvm")
    nlp = with_model(tmp_path / "rare.ssvm", ["structsvm_lemmatizer"])

    def doc(lemma):
        return Doc(nlp.vocab, words=["xyz"], pos=["NOUN"], morphs=["Number=Sing"], lemmas=[lemma])

    assert nlp(doc(""))[0].lemma_ == "abc"
    with pytest.warns(UserWarning, match="without its training state"):
        nlp.update([Example(doc(""), doc("xyzzy"))])
    assert nlp(doc(""))[0].lemma_ == "xyzzy"
    nlp.to_disk(tmp_path / "nlp")
    assert spacy.load(tmp_path / "nlp")(doc(""))[0].lemma_ == "xyzzy"


def test_white_space_at_the_beginning_belongs_to_the_first_sentence(layers):
    nlp = with_model(layers / "ud.ssvm", ["structsvm_senter"])
    texts = [sent.text for sent in nlp("  the cats sleep. a dog").sents]
    assert texts == ["  the cats sleep.", "a dog"]
    assert [len(list(nlp(text).sents)) for text in ("", "  ", "a dog")] == [0, 1, 1]


def test_a_splitter_does_not_learn_from_examples(layers):
    nlp = with_model(layers / "ud.ssvm", ["structsvm_senter"])
    examples = list(make_reader(str(layers / "train.conllu"))(nlp))[:2]
    with pytest.raises(ValueError, match="cannot learn from examples; add it to frozen_components"):
        nlp.update(examples)


def without(columns, folder, nlp):
    """Write a treebank with some columns empty, and return its examples."""
    rows = [line.split("\t") for line in with_lemmas(20, 0).decode().split("\n")]
    for fields in rows:
        if len(fields) == 10:
            for column in columns:
                fields[column] = "_"
    (folder / "without.conllu").write_text("\n".join(map("\t".join, rows)))
    return list(make_reader(str(folder / "without.conllu"))(nlp))


@pytest.mark.parametrize(
    ("factory", "target", "columns", "hint"),
    [
        ("structsvm_tagger", "TAG", [4], "pass --components.mine.target POS to spacy train"),
        ("structsvm_tagger", "POS", [3], "pass --components.mine.target TAG to spacy train"),
        ("structsvm_tagger", None, [3, 4], "cannot learn; use examples with TAG or POS, or remove the comp"),
        ("structsvm_morphologizer", "POS|MORPH", [3], "pass --components.mine.target MORPH to spacy train"),
        ("structsvm_lemmatizer", "LEMMA", [2], "use a treebank with lemmas, or remove the component"),
    ],
)
def test_a_treebank_without_labels_is_refused_with_what_to_do(tmp_path, factory, target, columns, hint):
    nlp = spacy.blank("en")
    examples = without(columns, tmp_path, nlp)
    nlp.add_pipe(factory, name="mine", config={"target": target})
    with pytest.raises(ValueError, match=hint):
        nlp.initialize(lambda: examples)


@pytest.mark.parametrize(("column", "attribute"), [(4, "pos"), (3, "tag")])
def test_the_pos_config_learns_upos_if_a_treebank_has_no_xpos(tmp_path, column, attribute):
    without([column], tmp_path, spacy.blank("en"))
    (tmp_path / "config.cfg").write_text(config("pos"), encoding="utf-8")
    paths = {f"paths.{name}": str(tmp_path / "without.conllu") for name in ("train", "dev")}
    spacy_train(tmp_path / "config.cfg", tmp_path / "out", overrides=paths)
    nlp = spacy.load(tmp_path / "out" / "model-best")
    assert nlp.meta["performance"][f"{attribute}_acc"] > 0.9
    assert nlp.config["training"]["score_weights"] == {f"{attribute}_acc": 1.0}
    doc = nlp("the old cats")
    assert [bool(token.pos_) for token in doc] == [attribute == "pos"] * 3
    assert [bool(token.tag_) for token in doc] == [attribute == "tag"] * 3
    assert nlp.analyze_pipes()["summary"]["structsvm_tagger"]["assigns"] == [f"token.{attribute}"]


def test_a_morphologizer_warns_of_a_treebank_without_features(tmp_path):
    nlp = spacy.blank("en")
    examples = without([5], tmp_path, nlp)
    nlp.add_pipe("structsvm_morphologizer")
    with pytest.warns(UserWarning, match="will never predict any; use a treebank with FEATS"):
        nlp.initialize(lambda: examples)


@pytest.mark.parametrize(
    ("factory", "target", "columns"),
    [
        ("tagger", "TAG", [4]), ("tagger", "POS", [3]), ("tagger", "POS|TAG", [3, 4]),
        ("morphologizer", "POS|MORPH", [3, 5]), ("morphologizer", "MORPH", [5]),
    ],
)  # fmt: skip
def test_the_command_line_knows_the_columns_of_a_model_trained_in_spacy(tmp_path, factory, target, columns):
    (tmp_path / "gold.conllu").write_bytes(with_lemmas(60))
    nlp = spacy.blank("en")
    nlp.add_pipe(f"structsvm_{factory}", name="mine", config={"target": target})
    data = list(make_reader(str(tmp_path / "gold.conllu"))(nlp))
    nlp.initialize(lambda: data)
    nlp.update(data)
    nlp.to_disk(tmp_path / "out")
    model = tmp_path / "out" / "mine" / "model.ssvm"
    scores = commands.evaluate_any(model, tmp_path / "gold.conllu")
    found = [scores[CONLLU.names[k]] for k in columns] if len(columns) > 1 else [scores]
    assert [one.tokens.accuracy for one in found] == [1.0] * len(columns)
    rows = [line.split("\t") for line in with_lemmas(60).decode().split("\n")]
    blank = [[value if k not in columns else "_" for k, value in enumerate(row)] for row in rows]
    (tmp_path / "blank.conllu").write_text("\n".join(map("\t".join, blank)))
    commands.tag(model, tmp_path / "blank.conllu", tmp_path / "tagged.conllu")
    assert (tmp_path / "tagged.conllu").read_bytes() == with_lemmas(60)
    (tmp_path / "words.txt").write_bytes(as_columns(60))  # words and tags still work, too
    commands.tag(model, tmp_path / "words.txt", tmp_path / "tagged.txt")
    lines = (tmp_path / "tagged.txt").read_text().split("\n")
    assert lines[0].split()[3:] == [rows[1][k] for k in columns]


def test_lemmas_and_sentences_of_spacy_are_refused_on_the_command_line(tmp_path):
    (tmp_path / "gold.conllu").write_bytes(with_lemmas(30))
    nlp = spacy.blank("en")
    nlp.add_pipe("structsvm_senter")
    nlp.add_pipe("structsvm_lemmatizer", config={"columns": ["ORTH", "POS", "MORPH"]})
    data = list(make_reader(str(tmp_path / "gold.conllu"), inputs=["POS", "MORPH"], sentences=5)(nlp))
    nlp.initialize(lambda: data)
    nlp.update(data)
    nlp.to_disk(tmp_path / "out")
    assert spacy.load(tmp_path / "out").pipe_names == nlp.pipe_names
    for name, hint in (("senter", "use structsvm train ud"), ("lemmatizer", "use structsvm train lemma")):
        model = tmp_path / "out" / f"structsvm_{name}" / "model.ssvm"
        for use in (commands.evaluate_any, commands.tag):
            with pytest.raises(ValueError, match=f"only in spaCy; for the command line, {hint}"):
                use(model, tmp_path / "gold.conllu")
