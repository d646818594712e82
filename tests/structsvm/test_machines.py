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
from structsvm.machine import Machine, Patterns, Unsupported
from structsvm.optimizers import Optimizer, ParallelLaRank
from tests.structsvm.helpers import noisy_classes

OPTIMIZERS = {
    "LinearDual": lambda problem: LaRank(problem),
    "Shards": lambda problem: ParallelLaRank(problem, shards=2),
    "OneSlackDual": lambda problem: SVMStruct(problem, formulation="1-slack", epsilon=0.1),
    "KernelDual": lambda problem: KernelLaRank(problem, gamma=0.2),
    "GramDual": lambda problem: KernelSVMStruct(problem, gamma=0.2, slack="l2"),
    "PerceptronWeights": lambda problem: Perceptron(problem),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_machine_satisfies_the_contract(name):
    machine = OPTIMIZERS[name](Multiclass()).fit(*noisy_classes(20))._machine
    assert type(machine).__name__ == name
    for contract, part in ((Machine, machine), (Patterns, machine.oracle)):
        members = {member for member in vars(contract) if not member.startswith("_")}
        assert members <= set(dir(part)), "hasattr would call a property that may be unsupported"
    for contract, part in ((Machine, machine), (Patterns, machine.oracle)):
        for method, promised in inspect.getmembers(contract, inspect.isfunction):
            if not method.startswith("_") and method != "add_rows":  # whose arguments are those of rows()
                wanted = list(inspect.signature(promised).parameters)[1:]
                given = inspect.signature(getattr(part, method)).parameters
                assert list(given)[: len(wanted)] == wanted, method
                extra = list(given)[len(wanted) :]
                assert all(given[own].default is not inspect.Parameter.empty for own in extra)


def levels(kind):
    """The number of classes on the longest way up to `Optimizer`."""
    return 0 if kind is Optimizer else 1 + max(levels(b) for b in kind.__bases__ if issubclass(b, Optimizer))


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
        assert levels(kind) <= 2


class Averages(Machine):
    """A machine in pure Python: w is the mean difference between right and wrong outputs."""

    C, squared, dual, n_argmax = 1.0, False, float("nan"), 0
    oracle = weights = n_patterns = None  # attributes, which __init__ sets

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


class Listed(Patterns):
    """A store of patterns in Python, with the defaults of the contract."""

    def __init__(self, oracle):
        self.oracle, self.n_weights = oracle, oracle.n_weights
        self.add, self.discard = oracle.add, oracle.discard
        self.rows, self.add_rows = oracle.rows, oracle.add_rows

    n_weights = add = discard = rows = add_rows = None


def test_a_store_of_patterns_need_not_count_predictions():
    class Plain(Centroids):
        def _new_oracle(self, problem):
            return Listed(super()._new_oracle(problem))

    X, y = noisy_classes(80)
    learner = Plain(Multiclass()).fit(X, y)
    assert np.array_equal(learner.weights_, Centroids(Multiclass()).fit(X, y).weights_)
    assert np.isnan(learner.curve_[-1].progressive)


UNSUPPORTED = {
    "KernelDual": ("weights", "n_weights", "weights_at", "forget_patterns", "forget_rows", "start_from"),
    "GramDual": ("weights", "n_weights", "weights_at", "forget_rows", "start_from"),
    "PerceptronWeights": ("forget_patterns",),
    "Averages": ("forget_patterns", "forget_rows"),
}
ARGUMENTS = {
    "weights": (), "n_weights": (), "weights_at": (slice(2),), "forget_patterns": (1,),
    "forget_rows": (np.arange(4, dtype=np.int32), 4),
    "start_from": (np.zeros(3),),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_a_machine_cannot_do_raises_one_error(name):
    learner = (OPTIMIZERS | {"Averages": Centroids})[name](Multiclass()).fit(*noisy_classes(20))
    for member in UNSUPPORTED[name]:
        with pytest.raises(Unsupported):
            getattr(learner._machine, member)(*ARGUMENTS[member])


@pytest.mark.parametrize("name", ["PerceptronWeights", "KernelDual"])
def test_an_optimizer_whose_machine_refuses_to_forget_keeps_its_training_set(name):
    learner = OPTIMIZERS[name](Multiclass()).fit(*noisy_classes(20))
    with pytest.raises(Unsupported, match="cannot forget patterns"):
        learner.forget(patterns=1)
    assert learner.holds_data


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
