"""Labels made of parts: the compiled oracle and decoder against sums written out in Python."""

import numpy as np
import pytest

from structsvm.optimizers import LaRank
from structsvm.problems.sequence import (
    Candidates,
    Decoder,
    SequenceLabels,
    SequenceProblem,
    Sequences,
    _decode,
)
from structsvm.problems.sequence.label_parts import LabelParts

PARTS = [[0, 2], [0, 3], [1, 2], [1, 3, 4], [5]]


def made(seed, n_sentences=30, n_rows=12):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, n_sentences)
    n = int(lengths.sum())
    rows = [sorted(rng.choice(n_rows, 3, replace=False).tolist()) for _ in range(n)]
    X = Sequences(
        np.concatenate(rows).astype(np.int32), np.arange(0, 3 * n + 1, 3), np.append(0, np.cumsum(lengths))
    )
    codes = np.array([(min(row) + max(row)) % len(PARTS) for row in rows], np.int32)
    return X, SequenceLabels(codes, X.sentence_ptr), rows


def part_scores(weights, problem, rows, before):
    """The scores of the parts of a token, given its rows and the labels before it."""
    table = weights.reshape(-1, problem.stride)[:, : problem.width]
    total = np.zeros(problem.width)
    for distance, label in enumerate(before):
        block = distance * (problem.width + 1)
        for part in [problem.width] if label is None else PARTS[label]:
            total += table[block + part]
    return total + sum(table[problem.history + row] for row in rows)


def label_scores(parts):
    return np.array([parts[ids].sum() for ids in PARTS])


@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_decoder_adds_up_the_parts(order):
    problem = SequenceProblem(len(PARTS), inference="greedy", order=order, parts=LabelParts(PARTS))
    X, _, rows = made(0)
    weights = np.random.default_rng(1).normal(size=(problem.history + 12) * problem.stride).astype(np.float32)
    weights.reshape(-1, problem.stride)[:, problem.width :] = 0
    margins = np.zeros(X.n_tokens, np.float32)
    found = Decoder(problem, weights).labels(X, margins=margins)
    for start, end in zip(X.sentence_ptr, X.sentence_ptr[1:], strict=False):
        for t in range(start, end):
            before = [found[t - s] if t - s >= start else None for s in range(1, order + 1)]
            scores = label_scores(part_scores(weights, problem, rows[t], before))
            assert found[t] == scores.argmax()
            best = np.sort(scores)[::-1]
            assert margins[t] == pytest.approx(best[0] - best[1], abs=1e-4)
    forced = np.full(X.n_tokens, -1, np.int32)
    forced[3] = 4
    assert Decoder(problem, weights).labels(X, forced=forced)[3] == 4


@pytest.mark.parametrize("per_part", [0.0, 0.5])
def test_the_optimizer_reaches_the_optimum_of_the_sum_of_parts(per_part):
    """At the optimum the primal, computed here from its definition, equals the dual."""
    parts = LabelParts(PARTS)
    problem = SequenceProblem(len(PARTS), inference="greedy", order=1, parts=parts, per_part=per_part)
    X, y, rows = made(2)
    C = 0.5
    solver = LaRank(problem, C=C, n_reprocess=10, random_state=0).begin(X, y)
    for _ in range(200):
        solver.epoch()
    weights = solver.weights_at(slice(None))
    slack = 0.0
    for start, end in zip(X.sentence_ptr, X.sentence_ptr[1:], strict=False):
        for t in range(start, end):
            right = y.codes[t]
            before = [y.codes[t - 1] if t > start else None]
            scores = label_scores(part_scores(weights, problem, rows[t], before))
            for k, ids in enumerate(PARTS):
                if k != right:
                    scores[k] += 1 + per_part * len(set(ids) ^ set(PARTS[right]))
            slack += scores.max() - scores[right]
    primal = 0.5 * float(weights @ weights) + C * slack
    assert solver.dual_ <= primal + 1e-6
    assert solver.dual_ == pytest.approx(primal, rel=0.02)


def test_an_unseen_combination_of_parts_is_predicted_where_it_is_a_label():
    """Labels 0 to 2 are seen; the parts of label 3 are learned from them."""
    parts = LabelParts([[0, 2], [0, 3], [1, 2], [1, 3]])
    problem = SequenceProblem(4, inference="greedy", order=0, parts=parts)
    rows = [[0, 2], [0, 3], [1, 2]] * 10  # row k speaks for part k
    n = len(rows)
    X = Sequences(np.concatenate(rows).astype(np.int32), np.arange(0, 2 * n + 1, 2), np.arange(n + 1))
    y = SequenceLabels(np.array([0, 1, 2] * 10, np.int32), X.sentence_ptr)
    solver = LaRank(problem, C=1.0, random_state=0).fit(X, y)
    new = Sequences(np.array([1, 3], np.int32), np.array([0, 2]), np.array([0, 1]))
    assert Decoder(problem, solver.weights_at(slice(None))).labels(new).tolist() == [3]


def test_missing_labels_and_sets_of_allowed_labels():
    problem = SequenceProblem(len(PARTS), inference="greedy", order=1, parts=LabelParts(PARTS))
    X, y, _ = made(3)
    codes = y.codes.copy()
    codes[::3] = -1
    codes[1::3] = -2
    allowed = np.array([True, True, False, False, False])
    solver = LaRank(problem, C=0.5, random_state=0)
    solver.fit(X, SequenceLabels(codes, X.sentence_ptr, [allowed]))
    found = Decoder(problem, solver.weights_at(slice(None))).labels(X)
    assert np.isin(found[1::3], [0, 1]).mean() > 0.6


@pytest.mark.parametrize(
    ("parts", "message"),
    [([[0], []], "at least one part"), ([[0, 1], [1, 0]], "same parts"), ([[-1]], "numbers from 0")],
)
def test_impossible_parts_are_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        LabelParts(parts)


def test_parts_need_greedy_inference_and_the_right_number_of_labels():
    with pytest.raises(ValueError, match="greedy"):
        SequenceProblem(5, parts=LabelParts(PARTS))
    with pytest.raises(ValueError, match="parts of 5 labels for 4"):
        SequenceProblem(4, inference="greedy", parts=LabelParts(PARTS))


SETS = {5: {4}, 2: {1, 3}, 7: {0, 2, 3}}


@pytest.mark.parametrize("order", [0, 2])
def test_a_token_gets_the_best_of_its_candidates(order):
    """The first set of a feature decides, in any order of features; a set of one needs no scores."""
    problem = SequenceProblem(len(PARTS), inference="greedy", order=order, parts=LabelParts(PARTS))
    X, _, rows = made(4)
    weights = np.random.default_rng(5).normal(size=(problem.history + 12) * problem.stride).astype(np.float32)
    weights.reshape(-1, problem.stride)[:, problem.width :] = 0
    margins = np.zeros(X.n_tokens, np.float32)
    found = Decoder(problem, weights, candidates=Candidates.of(SETS)).labels(X, margins=margins)
    for start, end in zip(X.sentence_ptr, X.sentence_ptr[1:], strict=False):
        for t in range(start, end):
            allowed = sorted(next((SETS[row] for row in SETS if row in rows[t]), range(len(PARTS))))
            before = [found[t - s] if t - s >= start else None for s in range(1, order + 1)]
            scores = label_scores(part_scores(weights, problem, rows[t], before))[allowed]
            assert found[t] == allowed[scores.argmax()]
            best = np.sort(scores)[::-1]
            assert margins[t] == pytest.approx(best[0] - best[1] if len(best) > 1 else np.inf, abs=1e-4)
    forced = np.full(X.n_tokens, 2, np.int32)
    forced_labels = Decoder(problem, weights, candidates=Candidates.of(SETS)).labels(X, forced=forced)
    assert (forced_labels == 2).all()


def arrays(rows=(2, 5), sizes=(2, 1), labels=(1, 3, 4), dtype=np.int32):
    return Candidates(*(np.array(array, dtype) for array in (rows, sizes, labels)))


@pytest.mark.parametrize(
    "forged",
    [
        arrays(rows=(2, 12)), arrays(rows=(-1, 5)), arrays(rows=(2, 2)),
        arrays(sizes=(3, 1)), arrays(sizes=(3, 0)), arrays(sizes=(-1, 4)), arrays(rows=(2,)),
        arrays(rows=(0, 2**31 - 1, -(2**31), -1, 5), sizes=(1,) * 5, labels=(0, 1, 2, 3, 4)),
        arrays(labels=(1, 3, 5)), arrays(labels=(1, -3, 4)), arrays(labels=(3, 1, 4)),
        arrays(labels=(3, 3, 4)), arrays(dtype=np.int64), arrays(rows=((2,), (5,))),
    ],
)  # fmt: skip
def test_forged_candidates_are_refused(forged):
    problem = SequenceProblem(len(PARTS), inference="greedy", order=0, parts=LabelParts(PARTS))
    with pytest.raises(ValueError, match="candidate labels"):
        Decoder(problem, np.zeros((12, problem.stride), np.float32), candidates=forged)


def test_candidates_need_labels_made_of_parts():
    with pytest.raises(ValueError, match="parts"):
        Decoder(SequenceProblem(5), np.zeros((18, 8), np.float32), candidates=arrays())


def test_only_rows_with_many_weights_are_copied():
    """A share of 1 / 8 must not be rounded to 0, which copied every row at its full width."""
    assert 0 < _decode.WIDE < 1
