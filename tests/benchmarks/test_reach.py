"""The comparison of settings can be measured corpus by corpus."""

from benchmarks import reach


def test_corpora_that_were_not_measured_have_no_column(monkeypatch):
    published = {}
    run = {"dev": 70.0, "train": 2.0}
    monkeypatch.setattr(reach, "measurements", lambda module, jobs: [run] * len(jobs))
    monkeypatch.setattr(reach, "publish", lambda name, *result: published.update({name: result}))
    monkeypatch.setattr(reach, "kept_figures", lambda name: published[name][1] if name in published else [])
    for corpus in ("Danish", "Croatian"):
        reach.main(tasks=[f"{corpus} dev"])
    assert list(published) == ["reach-dev-ner"]
    header, _, first, *_ = published["reach-dev-ner"][0].splitlines()
    assert header == "| settings | Danish | Croatian | mean | training, CPU s |"
    assert first == "| exact, IOBES (default) | 70.00 | 70.00 | 70.00 | 4 |"


def test_a_tenth_held_out_is_not_learned_from(monkeypatch):
    whole = ([[str(k)] for k in range(25)], [["O"] for _ in range(25)])
    monkeypatch.setattr(reach, "read", lambda folder, file: whole)
    monkeypatch.setattr("corpora.find", lambda name: reach.Path(name))
    held_out = []
    for name in reach.TENTHS:
        train, dev = reach.load(name, "train", "dev")
        assert sorted(train[0] + dev[0]) == sorted(whole[0])
        assert len(train[1]) == len(train[0])
        held_out += dev[0]
    assert len(held_out) == len({tokens[0] for tokens in held_out})


def test_only_the_classes_of_raw_english_become_a_file():
    known = reach.with_knowledge({"classes": reach.RAW | reach.SPACY, "C": 1.0})
    assert known == {"classes": {"raw": str(reach.FILES / "english.tsv"), "brown": "spacy:en"}, "C": 1.0}
