"""The benchmark of Universal Dependencies: rows are kept as they are measured, and scores are right."""

import contextlib
import json
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest

from benchmarks import harness, ud

ROW = "{}\t{}\t{}\t{}\t_\t{}\t_\t_\t_\t_\n"


def test_each_row_is_written_at_once_and_peers_are_measured_once(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    monkeypatch.setattr(ud, "TREEBANKS", {"Small": "x", "Large": "y"})
    figures = dict.fromkeys(ud.SHOWN, 1.0)
    measured = []

    def measure(module, job, packages):
        if job["treebank"] == "Large":
            raise KeyboardInterrupt
        measured.append((job["method"], job["seed"]))
        return figures | {"stopped": job["method"] == ud.SPACY}

    monkeypatch.setattr(ud, "in_own_process", measure)
    for _ in range(2):
        with contextlib.suppress(KeyboardInterrupt):
            ud.main()
    assert measured == [(ud.UDPIPE, 0)]  # stopped at the second treebank; its row was kept
    monkeypatch.setattr(ud, "TREEBANKS", {"Small": "x"})
    for _ in range(2):
        ud.main()
    ours = [(ud.OURS, seed) for seed in range(ud.SEEDS)]
    assert measured[1:] == [(ud.SPACY, 0), *ours, *ours]
    kept = json.loads((tmp_path / "ud.json").read_text())["figures"]
    assert len(kept) == 2 + ud.SEEDS
    table = (tmp_path / "ud.md").read_text()
    assert "| Small | spaCy, stopped |" in table
    assert "| Small | UDPipe 1 |" in table


def test_scores_count_words_and_those_unknown(tmp_path):
    cat, ran = (1, "cat", "cat", "NOUN", "Number=Sing"), (2, "ran", "run", "VERB", "_")
    wrong = (1, "cat", "cat", "VERB", "Number=Sing"), (2, "ran", "ran", "VERB", "_")
    texts = {
        name: "".join(ROW.format(*row) for row in rows)
        for name, rows in (("train", [cat]), ("gold", [cat, ran]), ("found", wrong))
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    found = ud.scores(tmp_path / "gold", tmp_path / "found", tmp_path / "train")
    assert found == {
        "UPOS": 50, "FEATS": 100, "UPOS+FEATS": 50, "LEMMA": 50,
        "UPOS unknown": 100, "FEATS unknown": 100, "UPOS+FEATS unknown": 100, "LEMMA unknown": 0,
    }  # fmt: skip


def test_udpipe_gets_its_defaults_and_held_out_data(tmp_path, monkeypatch):
    given = []

    class Model:
        DEFAULT = ""

        def tag(self, sentence, options):
            pass

    class Trainer:
        @staticmethod
        def train(*arguments):
            given.append(arguments)
            return b"model"

    udpipe = SimpleNamespace(
        Model=SimpleNamespace(load=lambda path: Model()), Trainer=Trainer,
        ProcessingError=lambda: SimpleNamespace(occurred=lambda: False),
        OutputFormat=SimpleNamespace(newConlluOutputFormat=lambda: None),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "ufal", SimpleNamespace(udpipe=udpipe))
    monkeypatch.setitem(sys.modules, "ufal.udpipe", udpipe)
    monkeypatch.setattr(ud, "udpipe_sentences", lambda path: [] if path.stem == "test" else path.stem)
    monkeypatch.setattr(ud, "cpu_timed", lambda call: (call(), 1.0))
    ud.udpipe(tmp_path, 0, tmp_path / "tagged.conllu")
    ((_, data, held_out, tokenizer, tagger, parser, _),) = given
    assert (data, held_out) == ("train", "dev")
    assert (tokenizer, tagger, parser) == ("none", "", "none")  # "": the defaults


def test_spacy_gets_the_training_settings_of_its_own_config(tmp_path, monkeypatch):
    pytest.importorskip("spacy")
    from spacy.cli.init_config import init_config
    from spacy.util import load_config

    rows = (1, "cat", "cat", "NOUN", "Number=Sing"), (2, "ran", "run", "VERB", "_")
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.conllu").write_text("".join(ROW.format(*row) for row in rows))
    given = []

    class Trained(Exception):
        pass

    def train(path, output, overrides):
        given.append((load_config(path), overrides))
        raise Trained

    monkeypatch.setattr(import_module("spacy.cli.train"), "train", train)
    (tmp_path / "scratch").mkdir()
    with pytest.raises(Trained):
        ud.spacy(tmp_path, 0, tmp_path / "scratch" / "tagged.conllu")
    ((config, overrides),) = given
    assert config["nlp"]["pipeline"] == ["tok2vec", "morphologizer", "trainable_lemmatizer"]  # no XPOS
    own = init_config(lang="xx", pipeline=["morphologizer", "trainable_lemmatizer"], gpu=False, silent=True)
    for side in (config, own):
        del side["training"]["logger"]
    assert config["training"] == own["training"]
    assert config["components"] == own["components"]
    assert set(overrides) == {"system.seed", "paths.train", "paths.dev"}
