"""The table of what `--dev` costs and gains."""

from benchmarks import held_out, reach


def test_the_table_compares_training_with_and_without_held_out_data(monkeypatch):
    published = []
    monkeypatch.setattr(held_out, "measurements", lambda module, jobs: [figures(job) for job in jobs])
    monkeypatch.setattr(held_out, "write", lambda name: None)
    monkeypatch.setattr(held_out, "publish", lambda name, text, kept: published.append((name, text)))
    held_out.main(quick=True)
    ((name, text),) = published
    assert name == "held-out-quick"
    assert "| Danish | 80.00 | 81.00 | 2.0 | 1.50 | 2.0 | 100 | 1.10 | 2.75 |" in text.splitlines()
    assert text.endswith("Mean gain of `--dev` in F1 on the test data: +1.00.")


def figures(job):
    if "seed" not in job:
        return {"train": 6.0, "peak": 40.0}
    return (
        {"train": 3.0, "peak": 110.0, "test": 81.0}
        if job["dev"]
        else {"train": 2.0, "peak": 100.0, "test": 80.0}
    )


def test_corpora_are_written_as_words_and_labels(monkeypatch, tmp_path):
    data = [["Ada", "runs"], ["Bo"]], [["B-PER", "O"], ["B-PER"]]
    monkeypatch.setattr(reach, "load", lambda name, *parts: [data] * 3)
    monkeypatch.setattr(held_out, "FILES", tmp_path)
    held_out.write("any")
    assert (tmp_path / "any.dev").read_text() == "Ada\tB-PER\nruns\tO\n\nBo\tB-PER\n"
