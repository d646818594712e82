"""The choice of C and gamma by held-out rows, with made-up numbers instead of training."""

import json

import pytest

from benchmarks import harness, kernel_choice

SVC = "scikit-learn SVC"


@pytest.fixture
def found(monkeypatch, tmp_path, capsys):
    """The published figures when one pair is best for SVC, and all pairs are equal for the other methods."""

    def measured(module, jobs):
        (job,) = jobs
        best = job["method"] == SVC and (job["C"], job["gamma"]) == (30.0, 0.05)
        accuracy = 97.0 + best + (job["part"] == "test") + job["split"] / 10
        return [{"accuracy": accuracy, "seconds": 1.0 + job["C"] + job["split"], "rate": 10.0}]

    monkeypatch.setattr(kernel_choice, "measurements", measured)
    monkeypatch.setattr(kernel_choice, "draw", lambda pairs: None)
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    kernel_choice.main()
    assert capsys.readouterr().out.startswith("| LETTER | C | gamma |")
    return json.loads((tmp_path / "kernel-choice.json").read_text())["figures"]


def test_each_method_is_tested_with_its_best_pair_and_that_of_the_thesis(found):
    pairs = {(row["method"], row["tuned"]): (row["C"], row["gamma"]) for row in found["tested"]}
    assert pairs.pop((SVC, True)) == (30.0, 0.05)
    tuned = {pair for (_, own), pair in pairs.items() if own}
    assert tuned == {kernel_choice.GRID[0]}  # the first of equals
    assert {pair for (_, own), pair in pairs.items() if not own} == {(10.0, 0.025)}


def test_a_row_has_a_run_of_each_split_and_held_out_rows_are_not_test_rows(found):
    (row,) = (row for row in found["tested"] if row["method"] == SVC and row["tuned"])
    assert row["accuracy"] == pytest.approx([99.0, 99.1, 99.2])
    assert row["held_out"] == pytest.approx([98.0, 98.1, 98.2])
    assert row["seconds"] == [31.0, 32.0, 33.0]
    assert len(found["held_out"]) == len(kernel_choice.GRID) * len(kernel_choice.METHODS)
