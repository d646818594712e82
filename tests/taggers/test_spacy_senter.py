"""`structsvm_senter`, all components together, [initialize], rehearse and score weights."""

import numpy as np
import pytest

spacy = pytest.importorskip("spacy")

from spacy.cli.train import train as spacy_train  # noqa: E402
from spacy.tokens import Doc  # noqa: E402
from spacy.training import Example  # noqa: E402

import taggers.spacy.senter  # noqa: E402, F401, an environment made before may not know the component
from taggers import commands  # noqa: E402
from taggers.spacy.__main__ import CONFIGS, config  # noqa: E402
from taggers.spacy.reader import make_reader  # noqa: E402
from tests.taggers.sentences import with_lemmas  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("senter")
    for name, seed in (("train", 0), ("dev", 1)):
        (path / f"{name}.conllu").write_bytes(with_lemmas(100, seed))
    return path


def trained(folder, name):
    (folder / f"{name}.cfg").write_text(config(name), encoding="utf-8")
    paths = {f"paths.{part}": str(folder / f"{part}.conllu") for part in ("train", "dev")}
    spacy_train(folder / f"{name}.cfg", folder / name, overrides=paths)
    return spacy.load(folder / name / "model-best")


def test_all_components_together(folder):
    nlp = trained(folder, "all")
    assert nlp.pipe_names == ["structsvm_senter", "structsvm_morphologizer", "structsvm_lemmatizer"]
    dev = list(make_reader(str(folder / "dev.conllu"), sentences=10)(nlp))
    assert len(dev) == 10
    scores = nlp.evaluate(dev)
    assert min(scores[name] for name in ("sents_f", "pos_acc", "morph_acc", "lemma_acc")) > 0.9
    doc = nlp(Doc(nlp.vocab, words=[token.text for token in dev[0].reference]))
    assert [span.text for span in doc.sents] == [span.text for span in dev[0].reference.sents]


def test_sentence_boundaries_that_are_set_can_be_kept(folder):
    nlp = trained(folder, "senter")
    senter = nlp.get_pipe("structsvm_senter")
    doc = next(iter(make_reader(str(folder / "dev.conllu"), sentences=3)(nlp))).predicted
    doc[1].is_sent_start = True
    senter.overwrite = False
    assert senter(doc)[1].is_sent_start
    senter.overwrite = True
    assert not senter(doc)[1].is_sent_start
    assert len(list(doc.sents)) == 3
    assert not len(senter(Doc(nlp.vocab)))


@pytest.mark.parametrize("name", sorted(path.stem for path in CONFIGS.glob("*.cfg") if path.stem != "base"))
def test_every_config_makes_a_pipeline_and_names_its_scores(name, tmp_path):
    made = spacy.util.load_config(_written(tmp_path, config(name)))
    nlp = spacy.util.load_model_from_config(made, auto_fill=True)
    given = {score for score, weight in made["training"].get("score_weights", {}).items() if weight}
    known = {score for pipe in nlp.pipe_names for score in nlp.get_pipe_meta(pipe).default_score_weights}
    assert nlp.pipe_names
    assert given <= known
    assert made["training"]["eval_frequency"] == 1
    assert config(name).startswith("# ")


def _written(folder, text):
    (folder / "config.cfg").write_text(text, encoding="utf-8")
    return folder / "config.cfg"


def test_score_weights_follow_the_target():
    def weights(*targets):
        nlp = spacy.blank("en")
        for number, (factory, target) in enumerate(targets):
            nlp.add_pipe(factory, name=str(number), config={"target": target})
        return {score: weight for score, weight in nlp.config["training"]["score_weights"].items() if weight}

    tagger, morph = "structsvm_tagger", "structsvm_morphologizer"
    assert weights((tagger, "POS")) == {"pos_acc": 1.0}
    assert weights((tagger, "TAG")) == {"tag_acc": 1.0}
    assert weights((tagger, "POS|TAG")) == {"tag_acc": 0.5, "pos_acc": 0.5}
    assert weights((morph, "MORPH")) == {"morph_acc": 1.0}
    assert weights((tagger, "POS"), (tagger, "TAG")) == {"tag_acc": 0.5, "pos_acc": 0.5}
    assert set(weights((tagger, "TAG"), (morph, "MORPH"))) == {"tag_acc", "morph_acc"}


def test_pipe_analysis_follows_the_settings(tmp_path):
    def described(factory, **settings):
        nlp = spacy.blank("en")
        nlp.add_pipe(factory, name="it", config=settings)
        nlp.add_pipe("structsvm_senter", name="other")
        nlp.rename_pipe("it", "renamed")
        found = nlp.analyze_pipes()
        assert found["summary"]["other"]["assigns"] == ["token.is_sent_start"]
        return found["summary"]["renamed"]["assigns"], found["problems"]["renamed"]

    tagger, morph, lemma = "structsvm_tagger", "structsvm_morphologizer", "structsvm_lemmatizer"
    assert described(tagger) == (["token.tag"], [])
    assert described(tagger, target="POS") == (["token.pos"], [])
    both = ["token.pos", "token.tag"]
    assert described(tagger, target="POS|TAG", margins=True)[0] == [*both, "token._.margin"]
    assert described(tagger, model="en-pos", nbest=2)[0] == [*both, "doc._.nbest"]
    assert described(morph, target="MORPH") == (["token.morph"], [])
    assert described(morph, model="en") == (["token.tag", "token.morph"], ["token.pos"])
    assert described(lemma, model="en") == (["token.lemma"], ["token.pos", "token.morph"])
    assert described("structsvm_chunker", columns=["ORTH", "POS"]) == (["doc.spans"], ["token.pos"])
    assert described("structsvm_chunker", columns=["LOWER"]) == (["doc.spans"], [])
    assert described("structsvm_ner")[0] == ["doc.ents", "token.ent_iob", "token.ent_type"]
    nlp = spacy.blank("en")
    nlp.add_pipe(tagger, config={"model": "en"})
    nlp.to_disk(tmp_path)
    assert spacy.load(tmp_path).analyze_pipes()["summary"][tagger]["assigns"] == ["token.pos"]


@pytest.mark.parametrize("target", ['"POS"', "null"])
def test_a_model_file_can_be_given_under_initialize(folder, target):
    commands.train("pos", folder / "train.conllu", folder / "pos.ssvm", label=3, keep_state=True)
    text = config("pos").replace("target = null", f"target = {target}")
    text += f'[initialize.components.structsvm_tagger]\nmodel = "{folder / "pos.ssvm"}"\n'
    (folder / "pos.cfg").write_text(text, encoding="utf-8")
    paths = {f"paths.{part}": str(folder / "dev.conllu") for part in ("train", "dev")}
    spacy_train(folder / "pos.cfg", folder / "pos", overrides=paths | {"training.max_epochs": 1})
    nlp = spacy.load(folder / "pos" / "model-last")
    assert nlp.config["training"]["score_weights"] == {"pos_acc": 1.0}  # of the target
    assert nlp.meta["performance"].keys() >= {"pos_acc"}
    dev = list(make_reader(str(folder / "dev.conllu"))(nlp))
    assert nlp.evaluate(dev)["pos_acc"] > 0.9
    nlp.get_pipe("structsvm_tagger").initialize(lambda: dev[:1], model=str(folder / "pos.ssvm"))
    assert nlp.evaluate(dev)["pos_acc"] > 0.9  # of the file, not of one sentence


def test_rehearsal_learns_what_the_old_model_says(folder):
    nlp = spacy.blank("en")
    nlp.add_pipe("structsvm_tagger", config={"target": "POS"})
    examples = list(make_reader(str(folder / "train.conllu"))(nlp))
    nlp.initialize(lambda: examples)
    nlp.update(examples)
    assert nlp.rehearse(examples[:5]) in ({}, {"structsvm_tagger": 0.0})  # nothing to remember yet
    nlp.resume_training()
    tagger = nlp.get_pipe("structsvm_tagger")
    old = tagger._rehearsal_model
    wrong = []
    for example in examples[:30]:
        example.reference.from_array(["POS"], np.full((len(example.reference), 1), 92, np.uint64))
        wrong.append(example)
    nlp.update(wrong)
    forgot = nlp.evaluate(examples[30:])["pos_acc"]
    losses = nlp.rehearse(examples[30:])
    assert losses["structsvm_tagger"] > 0
    assert nlp.evaluate(examples[30:])["pos_acc"] > forgot
    assert tagger._rehearsal_model is old


def test_sentences_are_learned_where_the_tokens_differ():
    nlp = spacy.blank("en")
    senter = nlp.add_pipe("structsvm_senter")
    words = ["Dogs", "do", "n't", "sleep", ".", "Cats", "purr", "."]
    spaces = [True, False, True, False, True, True, False, False]
    starts = [True, False, False, False, False, True, None, False]
    gold = Doc(nlp.vocab, words=words, spaces=spaces, sent_starts=starts)
    other = Doc(nlp.vocab, words=["Dogs", "don't", "sleep", ".", "Cats", "purr", "."],
                spaces=[True, True, False, True, True, False, False])  # fmt: skip
    labels = ["S", "I", "I", "I", "I", "S", "I", "I"]
    assert senter._gold(Example(nlp.make_doc(gold.text), gold)) == labels
    assert senter._gold(Example(other, gold)) == [labels[0], *labels[2:]]
    bare = Doc(nlp.vocab, words=words, spaces=spaces)
    assert senter._gold(Example(nlp.make_doc(gold.text), bare)) == [None] * len(words)


def test_a_model_of_other_labels_is_refused():
    with pytest.raises(ValueError, match="the labels of 'structsvm_senter' are S and I"):
        spacy.blank("en").add_pipe("structsvm_senter", config={"model": "en-pos"})
