"""Every machine satisfies the contract that optimizers rely on, and a new one needs one file."""

import inspect

import numpy as np
import pytest

from structsvm import (
    KernelLaRank,
    KernelSVMStruct,
    LaRank,
    Multiclass,
    PassiveAggressive,
    Perceptron,
    SVMStruct,
)
from structsvm.optimizers import Machine, Optimizer, ParallelLaRank
from structsvm.optimizers.machine import Patterns
from tests.structsvm.helpers import noisy_classes

OPTIMIZERS = {
    "LinearDual": lambda problem: LaRank(problem),
    "Shards": lambda problem: ParallelLaRank(problem, shards=2),
    "OneSlackDual": lambda problem: SVMStruct(problem, formulation="1-slack", epsilon=0.1),
    "KernelDual": lambda problem: KernelLaRank(problem, gamma=0.2),
    "PerceptronWeights": lambda problem: Perceptron(problem),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_machine_satisfies_the_contract(name):
    machine = OPTIMIZERS[name](Multiclass()).fit(*noisy_classes(20))._machine
    assert type(machine).__name__ == name
    assert isinstance(machine, Machine)
    for contract, part in ((Machine, machine), (Patterns, machine.oracle)):
        for method, promised in inspect.getmembers(contract, inspect.isfunction):
            if not method.startswith("_") and method != "add_rows":  # whose arguments are those of rows()
                wanted = list(inspect.signature(promised).parameters)[1:]
                given = inspect.signature(getattr(part, method)).parameters
                assert list(given)[: len(wanted)] == wanted, method
                extra = list(given)[len(wanted) :]
                assert all(given[own].default is not inspect.Parameter.empty for own in extra)


def test_optimizers_are_at_most_two_levels_below_their_base():
    for kind in (
        LaRank,
        ParallelLaRank,
        PassiveAggressive,
        SVMStruct,
        Perceptron,
        KernelLaRank,
        KernelSVMStruct,
    ):
        chain = [cls for cls in kind.__mro__ if issubclass(cls, Optimizer)]
        assert len(chain) <= 3
        for cls in chain:  # one base is an optimizer; a second one only adds methods, and calls no super()
            others = [base for base in cls.__bases__ if base not in chain and base is not object]
            assert all("super()" not in inspect.getsource(base) for base in others)


class Averages:
    """A machine in pure Python: w is the mean difference between right and wrong outputs."""

    C, squared, dual, block, n_argmax = 1.0, False, float("nan"), 0, 0

    def __init__(self, oracle):
        self.oracle, self.n_patterns, self.held = oracle, 0, {}
        self.weights = np.zeros(oracle.n_weights)

    norm = property(lambda self: self.weights @ self.weights)
    n_vectors = property(lambda self: self.n_patterns)

    def admit(self, slots, sample_weight):
        self.held.update(zip(slots.tolist(), sample_weight, strict=True))

    def dismiss(self, slots):
        for slot in slots.tolist():
            del self.held[slot]
        self.oracle.discard(slots)

    def visit(self, slots):
        for slot in slots.tolist():
            rows = self.oracle.rows(np.array([slot]))
            right = np.zeros((6, 4))
            right[rows["indices"], rows["targets"][0]] = rows["data"]
            self.weights += self.held[slot] * right.ravel()
            self.n_patterns += 1

    def slacks(self, slots, counted=False):
        return np.zeros(len(slots))

    def start_from(self, weights):
        self.weights[:] = weights

    def state(self):
        return {"weights": self.weights.copy(), "counters": np.array([self.n_patterns])}

    def restore(self, state):
        self.weights[:], (self.n_patterns,) = state["weights"], state["counters"]


class Centroids(Optimizer):
    """An optimizer as a user would write it: a machine and nothing else."""

    def __init__(self, problem, *, epochs=1, random_state=0, callback=None):
        super().__init__(problem, random_state=random_state, callback=callback)
        self.epochs = epochs

    def _new_machine(self, oracle, seed):
        return Averages(oracle)


class Uncounted:
    """The patterns of another oracle, without the optional methods."""

    def __init__(self, oracle):
        self.oracle = oracle

    def __getattr__(self, name):
        if name in ("watch", "looks"):
            raise AttributeError(name)
        return getattr(self.oracle, name)


def test_an_oracle_need_not_count_predictions():
    class Plain(Centroids):
        def _new_oracle(self, problem):
            return Uncounted(super()._new_oracle(problem))

    X, y = noisy_classes(80)
    learner = Plain(Multiclass()).fit(X, y)
    assert np.array_equal(learner.weights_, Centroids(Multiclass()).fit(X, y).weights_)
    assert np.isnan(learner.curve_[-1].progressive)


def test_a_new_optimizer_is_a_machine_and_one_method():
    X, y = noisy_classes(80)
    assert isinstance(Averages(LaRank(Multiclass()).fit(X, y)._machine.oracle), Machine)
    learner = Centroids(Multiclass(), epochs=2).fit(X, y)
    sums = np.stack([2 * X[y == label].sum(axis=0) for label in range(4)], axis=1)
    np.testing.assert_allclose(learner.weights_.reshape(6, 4), sums)
    assert np.mean(learner.predict(X) == y) > 0.8
    assert learner.n_support_patterns_ == 160
    assert len(learner.curve_) == 40
    state = learner.state()
    resumed = Centroids(learner.problem, epochs=2).resume(state, X, y)
    resumed.epoch(), learner.epoch()
    assert np.array_equal(resumed.weights_, learner.weights_)
