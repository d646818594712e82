"""`spacy train` on our own files of columns, with the configs that we ship."""

import json
import subprocess
import sys
from itertools import chain

import pytest

spacy = pytest.importorskip("spacy")

from spacy.cli.evaluate import evaluate as spacy_evaluate  # noqa: E402
from spacy.cli.train import train as spacy_train  # noqa: E402
from spacy.tokens import DocBin  # noqa: E402

from structsvm.files.errors import DataError  # noqa: E402
from taggers.commands import evaluate  # noqa: E402
from taggers.spacy.__main__ import config  # noqa: E402
from taggers.spacy.batches import make_batcher  # noqa: E402
from taggers.spacy.reader import make_reader  # noqa: E402
from tests.taggers.sentences import as_columns, as_universal, sentences, with_lemmas  # noqa: E402
from tests.taggers.spacy_docs import as_entity_columns, examples  # noqa: E402

MADE = {"pos": as_universal, "chunk": as_columns, "ner": as_entity_columns}
COMPONENT = {"pos": "structsvm_tagger", "chunk": "structsvm_chunker", "ner": "structsvm_ner"}


def prepared(task, tmp_path):
    for name, seed in (("train", 0), ("dev", 1)):
        (tmp_path / name).write_bytes(MADE[task](100, seed))
    (tmp_path / "config.cfg").write_text(config(task), encoding="utf-8")
    return {
        "paths.train": str(tmp_path / "train"),
        "paths.dev": str(tmp_path / "dev"),
    }


@pytest.mark.parametrize("task", ["chunk", "ner"])
def test_spacy_train_learns_from_columns(task, tmp_path):
    overrides = prepared(task, tmp_path)
    spacy_train(tmp_path / "config.cfg", tmp_path / "out", overrides=overrides)
    nlp = spacy.load(tmp_path / "out" / "model-best")
    columns, inputs = (["ORTH", "TAG", "CHUNK"], ["TAG"]) if task == "chunk" else (["ORTH", "NER"], [])
    dev = list(make_reader(overrides["paths.dev"], columns=columns, inputs=inputs)(nlp))
    score = nlp.evaluate(dev)["spans_chunks_f" if task == "chunk" else "ents_f"]
    assert score > 0.95
    # The command line reads the same model, and finds the same in the same file.
    file = tmp_path / "out" / "model-best" / COMPONENT[task] / "model.ssvm"
    assert evaluate(file, overrides["paths.dev"]).f1 == pytest.approx(score)


def test_spacy_train_as_a_command_then_two_processes(tmp_path):
    overrides = prepared("pos", tmp_path)
    command = [sys.executable, "-m", "spacy", "train", "config.cfg", "--output", "out"]
    command += [part for name, value in overrides.items() for part in (f"--{name}", str(value))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    nlp = spacy.load(tmp_path / "out" / "model-last")
    texts = [" ".join(token[0] for token in tokens) for tokens in sentences(40, seed=2)]
    docs = list(nlp.pipe(texts, n_process=2, batch_size=10))
    assert [[t.tag_ for t in doc] for doc in docs] == [
        [token[1] for token in s] for s in sentences(40, seed=2)
    ]


def test_training_continues_from_a_pipeline(tmp_path):
    overrides = prepared("pos", tmp_path)
    spacy_train(tmp_path / "config.cfg", tmp_path / "out", overrides={**overrides, "training.max_epochs": 1})
    text = config("pos").replace(
        'factory = "structsvm_tagger"\ntarget = null', f'source = "{tmp_path}/out/model-last"'
    )
    (tmp_path / "again.cfg").write_text(text, encoding="utf-8")
    with pytest.warns(UserWarning, match="from its weights alone.*keep_state = true in spaCy"):
        spacy_train(tmp_path / "again.cfg", tmp_path / "more", overrides=overrides)
    first, second = (spacy.load(tmp_path / name / "model-last") for name in ("out", "more"))
    sizes = [nlp.get_pipe("structsvm_tagger").model.n_features_ for nlp in (first, second)]
    dev = list(make_reader(overrides["paths.dev"])(second))
    assert second.evaluate(dev)["tag_acc"] > 0.95
    assert sizes[1] >= sizes[0] > 0


def without_xpos(content):
    lines = [line.split(b"\t") for line in content.split(b"\n")]
    return b"\n".join(b"\t".join([*f[:4], b"_", *f[5:]] if len(f) == 10 else f) for f in lines)


@pytest.mark.parametrize("learned", [("pos_acc", "tag_acc", "pos_acc"), ("tag_acc", "pos_acc", "tag_acc")])
def test_a_saved_config_weighs_the_scores_of_the_next_file(learned, tmp_path):
    overrides = prepared("pos", tmp_path) | {"training.max_epochs": 1}
    given = tmp_path / "config.cfg"
    for number, score in enumerate(learned):
        for name, seed in (("train", 0), ("dev", 1)):
            content = as_universal(100, seed)
            (tmp_path / name).write_bytes(content if score == "tag_acc" else without_xpos(content))
        spacy_train(given, tmp_path / str(number), overrides=overrides)
        nlp = spacy.load(tmp_path / str(number) / "model-best")
        assert nlp.config["training"]["score_weights"] == {score: 1.0}
        assert nlp.meta["performance"][score] > 0.9
        given = tmp_path / str(number) / "model-best" / "config.cfg"


def test_the_weights_of_other_components_stay(tmp_path):
    (tmp_path / "f").write_bytes(with_lemmas(30))
    (tmp_path / "g").write_bytes(without_xpos(with_lemmas(30)))
    nlp = spacy.blank("en")
    nlp.add_pipe("structsvm_tagger")
    nlp.add_pipe("structsvm_lemmatizer", config={"columns": ["ORTH"]})
    for name, expected in (("f", "tag_acc"), ("g", "pos_acc"), ("f", "tag_acc")):
        examples = list(make_reader(str(tmp_path / name))(nlp))
        nlp.initialize(lambda examples=examples: examples)
        assert nlp.config["training"]["score_weights"] == {expected: 0.5, "lemma_acc": 0.5}
    nlp.add_pipe("structsvm_morphologizer")
    weights = {"tag_acc": 0.2, "lemma_acc": 0.3, "pos_acc": 0.1, "morph_acc": 0.4}
    nlp.config["training"]["score_weights"] |= weights
    nlp.initialize(lambda: examples)
    found = nlp.config["training"]["score_weights"]
    assert {score: weight for score, weight in found.items() if weight} == weights


@pytest.mark.parametrize("task", sorted(MADE))
def test_shipped_configs_evaluate_small_corpora_ten_times_and_at_the_end(task, tmp_path, capsys):
    overrides = prepared(task, tmp_path)
    spacy_train(tmp_path / "config.cfg", tmp_path / "out", overrides={**overrides, "training.max_epochs": 1})
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[:2] for row in rows if row and row[0] == "0"] == [["0", str(step)] for step in range(10)]


def test_batches_are_equal_shares_of_a_corpus_of_any_size():
    cut = make_batcher(shares=4)
    assert [len(batch) for batch in cut(range(1000))] == [250] * 4
    assert [len(batch) for batch in cut(range(10))] == [2, 3, 2, 3]
    assert list(cut(range(2))) == [[0], [1]]
    assert list(cut([])) == []
    with pytest.raises(ValueError, match="shares must be at least 1, got 0"):
        make_batcher(shares=0)


def test_the_reader_gives_all_that_the_columns_say(tmp_path):
    nlp = spacy.blank("en")
    (tmp_path / "f").write_text(
        "Anna NNP I-NP I-PER\nsleeps VBZ I-VP O\n\nOtto NNP I-NP I-PER\nTurin NNP B-NP I-LOC\n"
    )
    read = make_reader(str(tmp_path / "f"), columns=["ORTH", "TAG", "CHUNK", "NER"], inputs=["TAG"])
    first, second = read(nlp)
    assert [token.tag_ for token in first.predicted] == ["NNP", "VBZ"]
    assert [(e.text, e.label_) for e in second.reference.ents] == [("Otto", "PER"), ("Turin", "LOC")]
    assert [(s.text, s.label_) for s in second.reference.spans["chunks"]] == [("Otto", "NP"), ("Turin", "NP")]
    assert not first.predicted.ents
    assert len(list(make_reader(str(tmp_path / "f"), columns=["ORTH", "_", "_", "NER"], limit=1)(nlp))) == 1


def test_the_reader_says_what_is_wrong_and_where(tmp_path):
    nlp = spacy.blank("en")
    file = tmp_path / "f.txt"
    file.write_text("a DT\n\nb NN extra\n")
    with pytest.raises(DataError, match=r"f\.txt:3: 3 columns"):
        list(make_reader(str(file), columns=["ORTH", "TAG"])(nlp))
    file.write_text("a DT\n\nb NN\n")
    with pytest.raises(DataError, match=r"f\.txt:1: .*Universal Dependencies tag"):
        list(make_reader(str(file), columns=["ORTH", "POS"])(nlp))
    for content in ("", "\n \n\n"):
        (tmp_path / "empty.txt").write_text(content)
        with pytest.raises(DataError, match=r"empty\.txt: contains no tokens; is this the right file\?"):
            list(make_reader(str(tmp_path / "empty.txt"), columns=["ORTH", "TAG"])(nlp))
    with pytest.raises(ValueError, match="name them, as in columns ="):
        list(make_reader(str(file))(nlp))
    with pytest.raises(ValueError, match=r"columns must be among .*, got 'WORD'"):
        make_reader(str(file), columns=["WORD"])
    with pytest.raises(ValueError, match=r"--paths\.train"):
        make_reader(None)


def test_an_unknown_config_is_refused():
    done = subprocess.run(
        [sys.executable, "-m", "taggers.spacy", "tags"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "chunk, lemma, morph, ner, parse, pos" in done.stderr


@pytest.mark.parametrize(("task", "phrase"), [("chunk", "a chunk"), ("ner", "an entity")])
def test_a_file_without_phrases_gives_a_warning(task, phrase, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe(COMPONENT[task])
    (tmp_path / "f.conllu").write_bytes(as_universal(3))
    (tmp_path / "f.txt").write_text("a DT O\nb NN O\n")
    for name in ("f.conllu", "f.txt"):
        read = make_reader(str(tmp_path / name), columns=["ORTH", "TAG", task.upper()], inputs=["TAG"])
        examples = list(read(nlp))
        with pytest.warns(UserWarning, match=f"no token of the examples has {phrase}, so the component"):
            nlp.initialize(lambda examples=examples: examples)
    nlp.initialize()  # to learn from updates


def test_help_is_not_an_error():
    command = [sys.executable, "-m", "taggers.spacy", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "NAME is pos, morph" in done.stdout


def as_docs(path, task, seed):
    """The sentences of a task as a `.spacy` file."""
    docs = [one.reference for one in examples(spacy.blank("en").vocab, 100, seed)]
    for doc in docs if task == "all" else ():
        for token in doc:
            token.pos_, token.lemma_, token.is_sent_start = "X", token.lower_, token.i == 0
            token.set_morph("Number=Sing")
    DocBin(docs=docs, store_user_data=True).to_disk(path)


SCORES = {
    "pos": ["tag_acc"], "chunk": ["spans_chunks_f"], "ner": ["ents_f"], "senter": ["sents_f"],
    "ud": ["pos_acc", "morph_acc", "lemma_acc"],
}  # fmt: skip


@pytest.mark.parametrize("task", SCORES)
def test_the_shipped_configs_train_and_evaluate_on_spacy_files(task, tmp_path):
    for name, seed in (("train", 0), ("dev", 1)):
        as_docs(tmp_path / f"{name}.spacy", "all" if task in ("ud", "senter") else task, seed)
    (tmp_path / "config.cfg").write_text(config(task), encoding="utf-8")
    paths = {f"paths.{name}": str(tmp_path / f"{name}.spacy") for name in ("train", "dev")}
    if task == "ner":  # once as users do
        command = [
            "train",
            "config.cfg",
            "--output",
            "out",
            *chain(*((f"--{k}", v) for k, v in paths.items())),
        ]
        done = subprocess.run(
            [sys.executable, "-m", "spacy", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    else:
        inputs = {f"corpora.{name}.inputs": ["TAG"] for name in ("train", "dev")} if task == "chunk" else {}
        if task == "senter":
            inputs = {f"corpora.{name}.sentences": 5 for name in ("train", "dev")}
        spacy_train(tmp_path / "config.cfg", tmp_path / "out", overrides=paths | inputs)
    best = json.loads((tmp_path / "out" / "model-best" / "meta.json").read_text())["performance"]
    assert {name for name in SCORES[task] if best[name] > 0.95} == {*SCORES[task]}
    if task == "ner":
        found = spacy_evaluate(str(tmp_path / "out" / "model-best"), tmp_path / "dev.spacy")
        assert found["ents_f"] == pytest.approx(best["ents_f"])
