"""The bundled pipelines: pruning is chosen by its loss, and the size of the whole file is limited."""

import pytest

from benchmarks import bundle_ud
from taggers.pipeline import Pipeline
from tests.taggers.sentences import with_words


def test_pruning_is_raised_in_turn_while_no_column_loses_too_much():
    tried = []

    def scores(amounts):
        tried.append(dict(amounts))
        upos, lemma = amounts.values()
        return {"upos": 90 - 4 * upos, "lemma": 90 - 4 * upos - 2 * lemma}

    found = bundle_ud.chosen_pruning(["upos", "lemma"], {"upos": 90, "lemma": 90}, scores)
    assert found == {"upos": 0.017, "lemma": 0.016}
    assert tried[:3] == [
        {"upos": 0.002, "lemma": 0.0}, {"upos": 0.002, "lemma": 0.002}, {"upos": 0.003, "lemma": 0.002},
    ]  # fmt: skip


def test_the_limit_holds_for_the_whole_file(tmp_path, monkeypatch):
    for seed, part in enumerate(("train", "dev", "test")):
        (tmp_path / f"{part}.conllu").write_bytes(with_words(60, seed))
    monkeypatch.setattr(bundle_ud, "find", lambda corpus: tmp_path)
    monkeypatch.setattr(bundle_ud, "FOLDER", tmp_path)
    bundle_ud.bundled("af", write=True)
    path = tmp_path / "af.ssvm"
    model, size = Pipeline.load(path), path.stat().st_size
    assert list(model.layers) == ["upos", "morph", "lemma", "split", "words"]
    assert f"| file | {size / 1e6:.2f} MB, and" in path.with_suffix(".md").read_text()
    path.unlink()
    model.splitter = None
    model.save(tmp_path / "layers.ssvm", dtype="int8")
    small = (tmp_path / "layers.ssvm").stat().st_size
    assert small < size
    monkeypatch.setitem(bundle_ud.MOST_MB, "without trees", (small + size) / 2e6)
    with pytest.raises(ValueError, match=r"0\.\d\d MB without trees, more than 0\.\d+ MB"):
        bundle_ud.bundled("af", write=True)
    assert not path.exists()
