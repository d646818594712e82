"""The table of what `--dev` costs and gains."""

from benchmarks import held_out, reach


def test_the_table_compares_the_commands_with_crfsuite(monkeypatch):
    published = []
    monkeypatch.setattr(held_out, "measurements", lambda module, jobs: [figures(job) for job in jobs])
    monkeypatch.setattr(held_out, "write", lambda name: None)
    monkeypatch.setattr(held_out, "publish", lambda name, text, kept: published.append((name, text, kept)))
    held_out.main(quick=True)
    held_out.main(tasks=held_out.README)
    (name, text, _), (_, _, kept) = published
    assert name == "held-out-quick"
    row = "| Danish | 80.00 | 81.00 | 70.00 | 79.00 | 2.0 | 3.0 | 4.0 | 9.0 | 100 | 110 | 50 | 220 |"
    assert row in text.splitlines()
    assert text.endswith(
        "Mean gain of `--dev` on the test data: +1.00. Median ratios of CPU time: `train --dev` to "
        "`train` 1.50; CRFsuite, usual features to `train` 2.00; CRFsuite, usual features to `train "
        "--dev` 1.33; CRFsuite, our features to `train` 4.50; CRFsuite, our features to `train --dev` "
        "3.00. Median ratios of peak memory: `train --dev` to `train` 1.10; CRFsuite, usual features to "
        "`train` 0.50; CRFsuite, usual features to `train --dev` 0.45; CRFsuite, our features to `train`"
        " 2.20; CRFsuite, our features to `train --dev` 2.00."
    )
    start = "| Danish news (UNER) | `ner` | 80.00 in 2.0 s | 81.00 in 3.0 s | 70.00 in 4.0 s |"
    assert f"{start} 79.00 in 9.0 s |" in held_out.readme(kept).splitlines()
    for name in held_out.README[2:]:
        del kept[name]["CRFsuite, our features"]
    del kept["Danish"]["CRFsuite, usual features"]
    last = start.replace("70.00 in 4.0 s", "not measured")
    assert last in held_out.readme(kept).splitlines()
    assert "| Danish | 80.00 | 81.00 | 79.00 |  | 2.0 " in held_out.report(kept)


def figures(job):
    if "seed" not in job:
        usual = job["features"] == "usual"
        cost = (4.0, 50.0, 70.0) if usual else (9.0, 220.0, 79.0)
    else:
        cost = (3.0, 110.0, 81.0) if job["dev"] else (2.0, 100.0, 80.0)
    return dict(zip(("train", "peak", "test"), cost, strict=True))


def test_corpora_are_written_as_words_and_labels(monkeypatch, tmp_path):
    data = [["Ada", "runs"], ["Bo"]], [["B-PER", "O"], ["B-PER"]]
    monkeypatch.setattr(reach, "load", lambda name, *parts: [data] * 3)
    monkeypatch.setattr(held_out, "FILES", tmp_path)
    held_out.write("Danish")
    assert (tmp_path / "Danish.dev").read_text() == "Ada\tB-PER\nruns\tO\n\nBo\tB-PER\n\n"
    assert held_out.read(tmp_path / "Danish.test") == data
