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
