"""The benchmark of Universal Dependencies: rows are kept as they are measured, and scores are right."""

import contextlib
import json

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
