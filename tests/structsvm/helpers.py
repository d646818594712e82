"""Small problems that several test files share."""

from __future__ import annotations

import zlib
from functools import lru_cache
from itertools import product

import numpy as np
import pytest

from structsvm import LaRank, Multiclass, PassiveAggressive, Perceptron, Problem, SVMStruct
from structsvm._dual.oracle import PythonOracle
from structsvm.optimizers import ParallelLaRank
from structsvm.problems.dependency.problem import is_projective, is_tree
from structsvm.problems.sequence import SequenceLabels, Sequences

N_LABELS, N_ROWS = 3, 4  # of random sentences
DUAL_OPTIMIZERS = {
    "larank": lambda problem, **more: LaRank(problem, **{"C": 0.5, "epochs": 2, **more}),
    "adaptive": lambda problem, **more: LaRank(
        problem, **{"C": 0.5, "epochs": 2, "schedule": "adaptive", **more}
    ),
    "passive-aggressive": lambda problem, **more: PassiveAggressive(
        problem, **{"C": 0.5, "epochs": 2, **more}
    ),
    "parallel": lambda problem, **more: ParallelLaRank(
        problem, **{"C": 0.5, "epochs": 2, "shards": 3, "jobs": 1, **more}
    ),
    "svmstruct": lambda problem, **more: SVMStruct(problem, **{"C": 0.5, "epsilon": 0.05, **more}),
}
OPTIMIZERS = {
    **DUAL_OPTIMIZERS,
    "perceptron": lambda problem, **more: Perceptron(problem, **{"epochs": 2, **more}),
    "last-perceptron": lambda problem, **more: Perceptron(problem, **{"epochs": 2, "average": False, **more}),
}


class SlowMulticlass(Multiclass):
    """The same problem through the Python door."""

    def oracle(self):
        return PythonOracle(self)


class Ordinal(Problem):
    """A grade 0..4 from a vector: Phi(x, y) = y x, and thresholds; written as a user would."""

    n_features = 3 + 5

    def joint_feature(self, x, y):
        return np.concatenate([y * np.asarray(x), np.arange(5) < y])

    def loss(self, y, other):
        return abs(y - other)

    def candidates(self, x):
        return range(5)


def ordinal_data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.clip(np.round(X @ [1.0, -0.5, 0.2] + 2), 0, 4).astype(int)


def noisy_classes(n=60, k=4, width=6, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return np.eye(k, width)[y] * 2 + noise * rng.normal(size=(n, width)), y


def state_of(optimizer) -> dict[str, np.ndarray]:
    """Every array of the training state, with the adaptive schedule's ratios."""
    state = optimizer._machine.state()
    if hasattr(optimizer, "_rates"):
        state["rates"] = optimizer._rates.copy()
    return state


def assert_same_bytes(a: dict, b: dict, *, but=()) -> None:
    assert a.keys() == b.keys()
    for name in a.keys() - set(but):
        assert a[name].dtype == b[name].dtype
        assert a[name].tobytes() == b[name].tobytes(), f"{name} differs"


def resealed(content):
    """The same content with a checksum that fits, as an attacker would write it."""
    return content[:-8] + b"%08x" % zlib.crc32(content[:-8])


def rebuilt(state, slack):
    """(w, dual) from the coefficients alone."""
    w, at = np.zeros_like(state["weights"]), 0
    for alpha, n in zip(state["alpha"], state["lengths"], strict=True):
        np.add.at(w, state["indices"][at : at + n], alpha * state["values"][at : at + n])
        at += n
    dual = state["alpha"] @ state["loss"] - w @ w / 2
    if slack == "l2":
        beta = np.add.reduceat(state["alpha"], np.cumsum(state["counts"]) - state["counts"])
        dual -= (beta**2 / state["upper"]).sum() / 2
    return w, dual


def assert_invariants(optimizer):
    """What holds of the dual at every moment."""
    state = optimizer._machine.state()
    w, dual = rebuilt(state, optimizer.slack)
    np.testing.assert_allclose(state["weights"], w, rtol=1e-9, atol=1e-9 * max(1, abs(w).max()))
    assert optimizer.dual_ == pytest.approx(dual, rel=1e-9, abs=1e-12)
    assert (state["alpha"] > 0).all()
    assert (state["counts"] > 0).all()
    if optimizer.slack == "l1":
        beta = np.add.reduceat(state["alpha"], np.cumsum(state["counts"]) - state["counts"])
        assert (beta <= state["upper"] * (1 + 1e-12)).all()
    assert optimizer.n_support_patterns_ == len(state["slots"])
    assert optimizer.n_support_vectors_ == len(state["slots"]) + len(state["alpha"])


def spoiled(array, at, value):
    """A copy of an array with another value in one place."""
    array = array.copy()
    if array.size:
        array.reshape(-1)[at] = value
    return array


def unaligned(array):
    """The same numbers, one byte from where compiled code may read them."""
    data = np.zeros(array.nbytes + 1, np.uint8)
    data[1:] = np.frombuffer(array.tobytes(), np.uint8)
    return data[1:].view(array.dtype).reshape(array.shape)


def random_sentences(rng, lengths, *, values=True, codes=None):
    """Sentences of a few features each, and labels: -1 for any, -2 for the set of labels 0 and 2."""
    n = sum(lengths)
    counts = rng.integers(0, 4, n)
    X = Sequences(
        rng.integers(0, N_ROWS, counts.sum()).astype(np.int32),
        np.append(0, np.cumsum(counts)),
        np.append(0, np.cumsum(lengths)),
        rng.choice([1.0, 0.5, -2.0], counts.sum()).astype(np.float32) if values else None,
    )
    drawn = rng.integers(0, N_LABELS, n) if codes is None else rng.choice(codes, n)
    return X, SequenceLabels(drawn.astype(np.int32), X.sentence_ptr, [np.array([True, False, True])])


@lru_cache
def trees(n, projective):
    """All dependency trees over n words, as tuples of heads."""
    made = (heads for heads in product(range(n + 1), repeat=n) if is_tree(heads))
    return [heads for heads in made if not projective or is_projective(heads)]
