"""The simulated crowd of the benchmark of weak supervision, and its rivals."""

import random

import pytest

from benchmarks.weak import CROWDS, accuracy, crowd, dawid_skene, f1, majority, odd_crowd
from taggers.labels.schemes import encode, spans
from taggers.weak import aggregate


def labels(n=200):
    rng = random.Random(4)
    return [encode([(rng.choice(["LOC", "PER"]), 1, 2 + rng.randrange(2))], 6, "IOB2") for _ in range(n)]


def test_three_to_five_annotators_label_each_sentence_in_the_scheme():
    y = labels()
    votes = crowd(y, 1, phrases=True)
    for number, row in enumerate(y):
        answers = [rows[number] for rows in votes.values() if rows[number][0] is not None]
        assert 3 <= len(answers) <= 5
        for answer in answers:
            assert encode(spans(answer, "IOB2"), len(row), "IOB2") == answer


def test_rivals_are_better_than_the_average_annotator():
    y = [[random.Random(f"{s} {k}").choice("ABC") for k in range(8)] for s in range(300)]
    votes = crowd(y, 2, phrases=False)
    right = [
        one == gold
        for rows in votes.values()
        for row, own in zip(rows, y, strict=True)
        for one, gold in zip(row, own, strict=True)
        if one is not None
    ]
    single = 100 * sum(right) / len(right)
    assert single + 5 < accuracy(y, majority(votes)) < accuracy(y, dawid_skene(votes))
    assert accuracy(y, y) == 100


def test_f1_counts_phrases():
    assert f1([["B-A", "I-A", "O", "B-B"]], [["B-A", "O", "O", "B-B"]]) == 50


@pytest.mark.parametrize("habits", CROWDS)
def test_the_aggregation_is_ahead_of_majority_and_dawid_skene_whatever_the_crowd(habits):
    rng, y = random.Random(1), []
    for _ in range(400):
        starts = [at for at in (1, 6, 11) if rng.random() < 0.5]
        chosen = [(rng.choice(["LOC", "ORG", "PER"]), at, at + rng.choice([1, 2, 2, 3])) for at in starts]
        y.append(encode(chosen, 16, "IOB2"))
    votes = odd_crowd(y, CROWDS[habits], 4, seed=3)
    found = f1(y, aggregate(votes).best())
    assert found > f1(y, majority(votes))
    assert found > f1(y, dawid_skene(votes))
