"""Many classes: memory grows with their number, not with its square."""

import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from structsvm import LaRank, LaRankClassifier, Multiclass
from structsvm.problems.multiclass import MOST_SCORES
from structsvm.validation import diagonal_matrix

PEAK = textwrap.dedent("""
    import re
    import numpy as np
    from structsvm import LaRankClassifier

    def peak():  # in MB, of this program
        with open("/proc/self/status") as status:
            return int(re.search(r"VmHWM:\\s*(\\d+) kB", status.read())[1]) / 1024

    classes = np.arange(30_000)
    X = np.random.default_rng(0).normal(size=(40, 4))
    before = peak()
    model = LaRankClassifier(epochs=1).partial_fit(X, classes[:40], classes=classes)
    assert model.predict(X).shape == (40,)
    model.save("model.npz")
    LaRankClassifier.load("model.npz").predict(X)
    print(peak() - before)
""")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory in other ways")
def test_a_classifier_of_30_000_classes_needs_no_table_of_their_pairs(tmp_path):
    done = subprocess.run([sys.executable, "-c", PEAK], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 200  # the table would have 7 GB
    assert (tmp_path / "model.npz").stat().st_size < 5_000_000


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_implicit_loss_gives_the_model_of_the_matrix(kernel):
    rng = np.random.default_rng(1)
    y = rng.integers(4, size=80)
    X = np.eye(4)[y] + rng.normal(size=(80, 4))
    given = {"loss": 1 - np.eye(4), "output_features": np.eye(4)}
    plain, explicit = (LaRankClassifier(kernel=kernel, **options).fit(X, y) for options in ({}, given))
    assert plain.dual_ == explicit.dual_
    assert np.array_equal(plain.decision_function(X), explicit.decision_function(X))


def test_a_matrix_with_one_value_outside_the_diagonal_is_a_small_read_only_view():
    matrix = diagonal_matrix(5, 2.0, 3.0)
    assert np.array_equal(matrix, np.full((5, 5), 3.0) - np.eye(5))
    assert not matrix.flags.writeable
    assert diagonal_matrix(10**6, 0.0, 1.0)[-1, 0] == 1.0


def test_pickles_do_not_contain_the_implicit_tables():
    optimizer = LaRank(Multiclass(classes=range(3000))).partial_fit(np.eye(3), [0, 1, 2])
    assert len(pickle.dumps(optimizer)) < 1_000_000


def test_predictions_in_parts_are_those_of_the_scores():
    classes = np.arange(MOST_SCORES // 8)
    X = np.random.default_rng(2).normal(size=(30, 2))
    model = LaRankClassifier().partial_fit(X, classes[:30], classes=classes)
    expected = [np.argmax(model.decision_function(row[None])) for row in X]
    assert np.array_equal(model.predict(X), expected)
    assert np.array_equal(model.optimizer_.predict(X), expected)
