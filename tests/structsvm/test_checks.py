"""`structsvm.checks` passes on everything of ours, and each of its checks can fail."""

import json
import pickle
import subprocess
import sys
import threading
import time
from collections import Counter

import numpy as np
import pytest

from structsvm import (
    AmbiguousBags,
    KernelLaRank,
    KernelSVMStruct,
    LaRank,
    LaRankClassifier,
    Multiclass,
    SVMStruct,
    binary,
)
from structsvm.checks import check_estimator, check_problem
from structsvm.problems import Grammar, SequenceLabels, SequenceProblem, Sequences, StringProblem, TreeProblem
from structsvm.problems.sequence import Decoder
from tests.structsvm.helpers import OPTIMIZERS, Ordinal, noisy_classes, ordinal_data

X, Y = noisy_classes(48)
NEW = X[:4], [7, 8, 7, 8]
LEARNERS = {
    **OPTIMIZERS,
    "1-slack": lambda problem: SVMStruct(problem, formulation="1-slack", epsilon=0.1),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_every_optimizer_passes_on_compiled_and_python_problems(name):
    check_estimator(lambda: LEARNERS[name](Multiclass()), X, Y, new=NEW)
    check_estimator(lambda: LEARNERS[name](Ordinal()), *ordinal_data(24), new=(X[:2, :3], [9, 9]))
    bags = [{label, (label + 1) % 4} for label in Y.tolist()]
    check_estimator(lambda: LEARNERS[name](AmbiguousBags()), X, bags)


@pytest.mark.parametrize("kind", [KernelLaRank, KernelSVMStruct])
def test_kernel_optimizers_pass(kind):
    check_estimator(lambda: kind(Multiclass(), gamma=0.2), X, Y, new=NEW)


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf"}, {"tol": 0.1}], ids=["linear", "rbf", "tol"])
def test_the_classifier_passes(options):
    check_estimator(lambda: LaRankClassifier(**options), X, Y, new=NEW)


@pytest.mark.parametrize("name", binary.__all__)
def test_binary_classifiers_pass(name):
    check_estimator(getattr(binary, name), X, Y > 1, new=NEW)


def test_our_problems_pass():
    check_problem(Multiclass(), X, Y)
    check_problem(Ordinal(), *ordinal_data(10))
    check_problem(StringProblem(decay=0.5), ["abca", "bbca", "cabc"], ["aa", "bb", "cc"])
    sentences = [["V"], ["CD", "V", "CD"], ["V", "NN", "P", "NN"]]
    rules = "S -> NP VP | VP\nNP -> NN | CD\nVP -> V NP | V | VP PP\nPP -> P NP"
    grammar = Grammar.from_string(rules, start=["S"])
    trees = TreeProblem(grammar)
    check_problem(trees, sentences, [next(iter(trees.candidates(x))) for x in sentences])


class Decoded(LaRank):
    """Predicts with the decoder, as the taggers do."""

    def predict(self, X):
        return Decoder(self.problem, self.weights_).labels(X)


def test_optimizers_pass_on_sequences():
    rng = np.random.default_rng(0)
    ends = np.arange(0, 41, 4)
    sentences = Sequences(rng.integers(0, 6, 40).astype(np.int32), np.arange(41), ends)
    labels = SequenceLabels(rng.integers(0, 3, 40).astype(np.int32), ends)

    for inference in ("exact", "greedy"):
        check_estimator(lambda: Decoded(SequenceProblem(3, inference=inference)), sentences, labels)  # noqa: B023


class Majority:
    """A correct estimator in a few lines: it predicts the most frequent label."""

    def __init__(self):
        self.counts, self.lock = Counter(), None

    def fit(self, X, y):
        self.check(X, y)
        self.counts = Counter()
        return self.partial_fit(X, y)

    def partial_fit(self, X, y):
        self.check(X, y)
        self.claim()
        try:
            self.counts = self.counts + Counter(y)
            time.sleep(0.002)
        finally:
            self.lock = None
        return self

    def claim(self):
        if vars(self).setdefault("lock", None) is not None:
            raise RuntimeError("in training")
        self.lock = threading.get_ident()

    def check(self, X, y):
        if not len(X) or len(X) != len(y):
            raise ValueError("bad data")

    def predict(self, X):
        counts = self.counts  # another thread may replace it
        if not counts:
            raise ValueError("not fitted")
        return [max(sorted(counts), key=counts.get)] * len(X)

    @property
    def weights_(self):
        return np.array(sorted(self.counts.items()), float).ravel()

    def save(self, path):
        path.write_text(json.dumps(self.counts.most_common()))

    @classmethod
    def load(cls, path):
        model = cls()
        model.counts = Counter(dict(map(tuple, json.loads(path.read_text()))))
        return model


class AnswersUnfitted(Majority):
    def predict(self, X):
        return [0] * len(X)


class Unrepeatable(Majority):
    def fit(self, X, y):
        return super().fit(X, [*y[:-1], np.random.default_rng().normal()])


class NeverForgets(Majority):
    def fit(self, X, y):
        return self.partial_fit(X, y)


class LearnsFromPredicting(Majority):
    def predict(self, X):
        answers = super().predict(X)
        self.counts[answers[0]] += 1
        return answers


class CountsPredictions(Majority):
    n = 0

    def predict(self, X):
        self.n += 1
        return super().predict(X)

    def partial_fit(self, X, y):
        return super().partial_fit(X, [label + self.n for label in y])


class CopiesHalf(Majority):
    def __getstate__(self):
        return {"counts": Counter(dict(self.counts.most_common(1))), "lock": None}


class SavesHalf(Majority):
    def save(self, path):
        path.write_text(json.dumps(self.counts.most_common(1)))


class TakesAnything(Majority):
    def check(self, X, y):
        pass


class ChecksTooLate(Majority):
    def partial_fit(self, X, y):
        if self.counts and not len(X):
            self.counts[1] += 1000
        return super().partial_fit(X, y)


class SharedScratch(Majority):
    def predict(self, X):
        self.scratch = threading.get_ident()
        time.sleep(0.001)
        return super().predict(X) if self.scratch == threading.get_ident() else [None] * len(X)


class TrainsTogether(Majority):
    callback = None

    def __init__(self):
        super().__init__()
        self.callback = None

    def claim(self):
        if self.callback is not None:
            self.callback(None)


class BreaksTogether(Majority):
    def claim(self):
        if self.lock is not None:
            raise IndexError("half changed")
        self.lock = threading.get_ident()


class ShowsHalf(Majority):
    def partial_fit(self, X, y):
        before = self.counts
        self.counts = Counter({9: 1})
        time.sleep(0.01)
        self.counts = before
        return super().partial_fit(X, y)


class FailsMeanwhile(Majority):
    def predict(self, X):
        if self.lock not in (None, threading.get_ident()):
            raise IndexError("half changed")
        return super().predict(X)


class HatesNewLabels(Majority):
    def partial_fit(self, X, y):
        known = set(self.counts)
        super().partial_fit(X, y)
        if known and not known.issuperset(y):
            raise ValueError("unknown labels")
        return self


def test_a_correct_estimator_passes():
    check_estimator(Majority, [0] * 20, [1, 2, 2, 3] * 5, new=([0], [9]))


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (AnswersUnfitted, "predict before fit"),
        (Unrepeatable, "same seed and data differ"),
        (NeverForgets, "train from scratch"),
        (LearnsFromPredicting, "predictions of the same model differ"),
        (CountsPredictions, "predict must change nothing"),
        (CopiesHalf, "a copied model predicts differently"),
        (SavesHalf, "saved and loaded model predicts differently"),
        (TakesAnything, "must raise ValueError"),
        (ChecksTooLate, "raised an error but changed the model"),
        (SharedScratch, "predictions from several threads"),
        (TrainsTogether, "a second thread could train"),
        (BreaksTogether, "several threads at once raised IndexError"),
        (ShowsHalf, "mixes the model before it and after it"),
        (FailsMeanwhile, "a prediction during training raised IndexError"),
        (HatesNewLabels, "refused new labels but changed"),
    ],
)
def test_a_broken_estimator_fails_with_a_sentence(broken, sentence):
    with pytest.raises(AssertionError, match=sentence) as failure:
        check_estimator(broken, [0] * 20, [1, 2, 2, 3] * 5, new=([0], [9]))
    assert str(failure.value).startswith(broken.__name__)


class WrongLoss(Ordinal):
    def loss(self, y, other):
        return 1.0


class NegativeLoss(Ordinal):
    def loss(self, y, other):
        return float(y - other)


class WrongArgmax(Ordinal):
    def argmax(self, x, w):
        return 0


class IgnoresTheLoss(Ordinal):
    def loss_augmented_argmax(self, x, y, w):
        return self.argmax(x, w)


class LeavesTheOutputs(Ordinal):
    def argmax(self, x, w):
        return 5 if self.score(x, 5, w) > self.score(x, 4, w) else super().argmax(x, w)


class WideFeature(Ordinal):
    n_features = 4


class PredictsOtherwise(Ordinal):
    def predict(self, X, w):
        return [0 for _ in X]


class Moody(Ordinal):
    calls = 0

    def joint_feature(self, x, y):
        self.calls += 1
        return super().joint_feature(x, y) * self.calls


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (WrongLoss, "must be 0"),
        (NegativeLoss, "negative or not finite"),
        (WrongArgmax, r"^WrongArgmax: argmax of X\[\d+\] reaches"),
        (IgnoresTheLoss, "loss_augmented_argmax of"),
        (LeavesTheOutputs, "contains"),
        (WideFeature, "n_features is 4"),
        (PredictsOtherwise, "predict and argmax disagree"),
        (Moody, "differs between two calls"),
    ],
)
def test_a_broken_problem_fails_with_a_sentence(broken, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_problem(broken(), *ordinal_data(20))


def test_an_output_outside_the_problem_is_named():
    with pytest.raises(AssertionError, match=r"contains\(X\[0\], y\[0\]\) is False"):
        check_problem(Ordinal(), np.ones((1, 3)), [9])


def test_checks_need_numpy_only():
    code = (
        "import sys; sys.modules.update(scipy=None, sklearn=None, spacy=None)\n"
        "from structsvm import LaRank, Problem\n"
        "from structsvm.checks import check_estimator, check_problem\n"
        "class Sign(Problem):\n"
        "    n_features = 1\n"
        "    def joint_feature(self, x, y): return [x * y]\n"
        "    def candidates(self, x): return (-1, 1)\n"
        "X, y = [1.0, -2.0, 3.0, -1.0], [1, -1, 1, -1]\n"
        "check_problem(Sign(), X, y)\n"
        "check_estimator(lambda: LaRank(Sign()), X, y)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def blocking_kernel():
    """A linear kernel that another thread can hold up, and the events to do so."""
    inside, leave, armed = threading.Event(), threading.Event(), threading.Event()
    caller = threading.get_ident()

    def kernel(a, b):
        if armed.is_set() and threading.get_ident() != caller:
            inside.set()
            leave.wait(60)
        return a @ b.T

    return kernel, inside, leave, armed


@pytest.mark.parametrize("name", [name for name in binary.__all__ if name != "SGDQNClassifier"])
def test_a_kernel_machine_in_training_refuses_other_threads(name, tmp_path):
    kernel, inside, leave, armed = blocking_kernel()
    model = getattr(binary, name)(kernel=kernel).fit(X, Y > 1)
    expected = getattr(binary, name)(kernel=lambda a, b: a @ b.T).fit(X, Y > 1).partial_fit(X, Y > 1)
    armed.set()
    trainer = threading.Thread(target=model.partial_fit, args=(X, Y > 1))
    trainer.start()
    try:
        assert inside.wait(60)
        for work in (
            lambda: model.partial_fit(X, Y > 1),
            lambda: model.fit(X, Y > 1),
            lambda: model.predict(X),
            lambda: model.decision_function(X),
            lambda: model.support_vectors_,
            lambda: model.dual_coef_,
            lambda: pickle.dumps(model),
            lambda: model.save(tmp_path / "model"),
        ):
            with pytest.raises(RuntimeError, match=f"this {name} is being trained"):
                work()
    finally:
        leave.set()
        trainer.join()
    armed.clear()
    assert np.array_equal(model.decision_function(X), expected.decision_function(X))


def test_finishing_lasvm_counts_as_training():
    model = binary.LaSVMClassifier(finish_fit=False).fit(X, Y > 1)
    seen = []

    class Watched:
        def __init__(self, machine):
            self.machine = machine

        def __getattr__(self, name):
            return getattr(self.machine, name)

        def finish(self, steps):
            thread = threading.Thread(target=attempt)
            thread.start()
            thread.join()
            return self.machine.finish(steps)

    def attempt():
        try:
            model.predict(X)
        except RuntimeError as error:
            seen.append(str(error))

    model.machine_ = Watched(model.machine_)
    model.finish()
    assert seen
    assert len(model.predict(X)) == len(X)
