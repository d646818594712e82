"""Consensus of sources: exact posteriors, reliabilities that are recovered, sets that hold a labelling."""

from __future__ import annotations

import random
import tracemalloc
from itertools import pairwise, product

import numpy as np
import pytest

from taggers.labels import schemes
from taggers.weak.aggregate import Chains, aggregate

KINDS = ["LOC", "PER"]


def world(n, seed):
    """Sentences of labels with phrases of one or two tokens."""
    rng = random.Random(seed)
    return [
        schemes.encode(
            [(rng.choice(KINDS), 4 * k + 1, 4 * k + 2 + rng.randrange(2)) for k in range(3)], 13, "IOB2"
        )
        for _ in range(n)
    ]


def answers(y, skill, rng):
    """Labels of a source that finds each phrase with this probability, else misses or renames it."""
    rows = []
    for labels in y:
        found = []
        for kind, start, stop in schemes.spans(labels, "IOB2"):
            if rng.random() < skill:
                found.append((kind, start, stop))
            elif rng.random() < 0.5:
                found.append((KINDS[kind == "LOC"], start, stop))
        rows.append(schemes.encode(found, len(labels), "IOB2"))
    return rows


def accuracy(consensus, y):
    flat = [label for row in y for label in row]
    return np.mean([consensus.names[k] == label for k, label in zip(consensus.path, flat, strict=True)])


def test_posteriors_and_paths_equal_those_of_enumeration():
    rng = np.random.default_rng(3)
    pointers, K = np.array([0, 1, 5, 5, 8]), 3
    log_b, T = np.log(rng.random((8, K))), rng.dirichlet(np.ones(K), K + 1)
    chains = Chains(pointers)
    posterior, pairs, likelihood = chains.posterior(log_b, T)
    path = chains.best(log_b, T)
    wanted, wanted_pairs, total = np.zeros((8, K)), np.zeros((K + 1, K)), 0.0
    for start, stop in pairwise(pointers):
        rows = list(product(range(K), repeat=int(stop - start)))
        p = [
            np.prod([T[b, a] * np.exp(log_b[start + t, a]) for t, (b, a) in enumerate(pairwise((K, *row)))])
            for row in rows
        ]
        total += np.log(sum(p))
        for row, value in zip(rows, p, strict=True):
            for t, (before, label) in enumerate(pairwise((K, *row))):
                wanted[start + t, label] += value / sum(p)
                wanted_pairs[before, label] += value / sum(p)
        assert tuple(path[start:stop]) == rows[int(np.argmax(p))]
    assert np.allclose(posterior, wanted)
    assert np.allclose(pairs, wanted_pairs)
    assert likelihood == pytest.approx(total)


@pytest.mark.parametrize("seed", range(3))
def test_reliabilities_of_simulated_sources_are_recovered(seed):
    y, rng = world(300, seed), random.Random(seed)
    skills = {"a": 0.95, "b": 0.85, "c": 0.7, "d": 0.55}
    consensus = aggregate({name: answers(y, skill, rng) for name, skill in skills.items()})
    for name, skill in skills.items():
        for kind in KINDS:
            assert consensus.reliability(name)[kind][1] == pytest.approx(skill, abs=0.07)
    assert accuracy(consensus, y) > 0.98


def test_a_good_source_outvotes_two_bad_ones():
    y, rng = world(300, 5), random.Random(5)
    votes = {name: answers(y, skill, rng) for name, skill in {"a": 0.5, "b": 0.5, "c": 0.97}.items()}
    assert accuracy(aggregate(votes), y) > 0.96


def test_sources_that_skip_sentences_are_judged_by_the_others():
    y, rng = world(200, 6), random.Random(6)
    votes = {name: answers(y, 0.9, rng) for name in "abcd"}
    for place, rows in enumerate(votes.values()):
        for number in range(place, len(rows), 4):
            rows[number] = [None] * len(rows[number])
    assert accuracy(aggregate(votes), y) > 0.97


def test_silence_of_a_list_of_names_is_not_the_label_o():
    y, rng = world(200, 7), random.Random(7)
    names = [[None if label == "O" else label for label in row] for row in answers(y, 0.6, rng)]
    consensus = aggregate({"list": names, "a": answers(y, 0.9, rng), "b": answers(y, 0.9, rng)})
    assert accuracy(consensus, y) > 0.97
    assert consensus.answered.all()
    alone = aggregate({"list": names, "more": names}).sets(0.1)
    assert all(
        (a is None) == (b is None)
        for r, s in zip(alone, names, strict=True)
        for a, b in zip(r, s, strict=True)
    )


def test_sets_contain_the_path_and_constrain_it():
    votes = {
        "a": [["O", "B-LOC"], ["O", "B-PER"]] * 20,
        "b": [[None, frozenset({"B-LOC", "B-PER"})], ["O", "B-LOC"]] * 20,
    }
    consensus = aggregate(votes)
    rows = consensus.sets(0.05)
    assert rows[0][0] == "O"
    assert {rows[0][1]} if isinstance(rows[0][1], str) else rows[0][1] <= {"B-LOC", "B-PER"}
    for row, at in zip(rows, consensus.sentence_ptr.tolist(), strict=False):
        for k, label in enumerate(row):
            best = consensus.names[consensus.path[at + k]]
            assert best == label or best in label


def test_known_labels_decide():
    y, rng = world(60, 8), random.Random(8)
    votes = {name: answers(y, 0.6, rng) for name in "ab"}
    consensus = aggregate(votes, gold=[row if k < 30 else None for k, row in enumerate(y)])
    assert consensus.sets(0.2)[:30] == y[:30]


def test_paths_need_a_bounded_table(monkeypatch):
    monkeypatch.setitem(Chains.best.__globals__, "CELLS", 2**16)
    rng = np.random.default_rng(4)
    n, K = 300, 60
    log_b, T = np.log(rng.random((2 * n, K))), rng.dirichlet(np.ones(K), K + 1)
    chains = Chains(2 * np.arange(n + 1))
    tracemalloc.start()
    path = chains.best(log_b, T)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < n * K * K * 8 / 2  # bytes; half a table of all sentences
    first, second = log_b[::2] + np.log(T[-1]), log_b[1::2]
    pairs = [(a[:, None] + np.log(T[:-1]) + b).argmax() for a, b in zip(first, second, strict=True)]
    assert path.tolist() == [k for pair in pairs for k in divmod(pair, K)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["O", "I-PER"], r"'I-PER' is out of place in \['O', 'I-PER'\]"),
        ([{"B-LOC", "O"}, "I-PER"], "'I-PER' is out of place"),
        (["O", "S-PER"], "gold has labels that are not in IOB2"),
        (["O"], "gold has 1 labels for a sentence of 2 tokens"),
    ],
)
def test_gold_labels_out_of_place_are_refused(row, message):
    votes = {name: [["O", "B-PER"], ["B-LOC", "I-LOC"]] for name in "ab"}
    with pytest.raises(ValueError, match=message):
        aggregate(votes, gold=[row, None])


@pytest.mark.parametrize("rows", [[["O", "O"], ["O"]], [[None, "O"]], [[]]])
def test_sources_without_phrases_agree_on_o(rows):
    found = aggregate({"one": rows, "two": rows})
    assert found.best() == [["O"] * len(row) for row in rows]
    assert all(p == pytest.approx(1) for row in found.confidence() for p in row)


def test_parts_of_speech_need_no_scheme():
    rng = random.Random(9)
    y = [[rng.choice("NVA") for _ in range(8)] for _ in range(150)]
    votes = {
        name: [[one if rng.random() < skill else rng.choice("NVA") for one in row] for row in y]
        for name, skill in {"a": 0.9, "b": 0.6, "c": 0.6}.items()
    }
    assert accuracy(aggregate(votes, phrases=False), y) > 0.9
