"""Planted errors."""

from benchmarks import noise


def test_planted_errors_drop_phrases_or_change_their_type():
    y = [["B-PER", "I-PER", "O", "B-LOC"]] * 500
    assert noise.planted(y, 0.0) == y
    changed = noise.planted(y, 0.2)
    first = [tuple(labels[:2]) for labels in changed]
    assert {*first} == {("B-PER", "I-PER"), ("B-LOC", "I-LOC"), ("O", "O")}
    assert 60 < len(first) - first.count(("B-PER", "I-PER")) < 140
    assert 30 < first.count(("O", "O")) < 70
    assert all(labels[2] == "O" for labels in changed)
