"""partial_fit on an endless stream: features and support patterns within their bounds."""

import copy
import pickle

import numpy as np
import pytest

from taggers import Chunker, SequenceTagger
from tests.taggers.sentences import chunk_data

X, Y = chunk_data(60)
X_TEST, Y_TEST = chunk_data(40, seed=1)


def batch(number, n=10):
    """Sentences of the grammar with new words among them."""
    sentences, labels = chunk_data(n, seed=number)
    rng = np.random.default_rng(number)
    return [
        [(f"new{rng.integers(10**9)}" if rng.random() < 0.3 else word, tag) for word, tag in sentence]
        for sentence in sentences
    ], labels


@pytest.mark.parametrize(
    "options",
    [
        {"max_features": 3000, "max_support": 40},
        {"max_features": 3000, "max_support": 200, "inference": "greedy"},
        {"max_features": 3000, "algorithm": "perceptron"},
        {"max_features": 3000},
        {"max_support": 40},
    ],
)
def test_a_stream_stays_within_its_bounds_and_learns(options):
    tagger, free = Chunker(**options), Chunker(**{k: v for k, v in options.items() if "max" not in k})
    for number in range(40):
        tagger.partial_fit(*batch(number))
        free.partial_fit(*batch(number))
        if "max_features" in options:
            assert tagger.n_features_ <= 3000
            assert len(tagger.optimizer_.weights_) <= (3000 + 200) * tagger.optimizer_.problem.stride
        if "max_support" in options:
            assert tagger.optimizer_.n_support_patterns_ <= options["max_support"]
    if "max_features" in options:
        assert free.n_features_ > 3 * 3000
    if "max_support" in options:
        assert free.optimizer_.n_support_patterns_ > options["max_support"]
    assert tagger.score(X_TEST, Y_TEST) > free.score(X_TEST, Y_TEST) - 0.02


def test_bounds_that_are_not_reached_change_nothing():
    wide = {"max_features": 10**6, "max_support": 10**6}
    taggers = [Chunker().partial_fit(X, Y), Chunker(**wide).partial_fit(X, Y)]
    weights = [tagger.optimizer_.weights_ for tagger in taggers]
    assert np.array_equal(*weights)


def test_forgetting_patterns_leaves_the_weights_and_forgetting_features_those_of_the_others():
    tagger = Chunker().partial_fit(X, Y)
    before, features = tagger.optimizer_.weights_, tagger.n_features_
    few = copy.deepcopy(tagger).set_params(max_support=8)
    few._trainer.forget(few.settings())
    assert few.optimizer_.n_support_patterns_ == 6
    assert np.array_equal(few.optimizer_.weights_, before)
    assert few.predict(X_TEST) == tagger.predict(X_TEST)

    small = tagger.set_params(max_features=features - 1)
    stride = small.optimizer_.problem.stride
    keys, patterns = small.model_.table.keys.copy(), small.optimizer_.n_support_patterns_
    small._trainer._see(np.zeros(0, int))
    small._trainer.forget(small.settings())
    assert small.n_features_ == int(0.75 * (features - 1))
    assert small.optimizer_.n_support_patterns_ == patterns
    kept = np.isin(keys, small.model_.table.keys)
    assert np.array_equal(small.model_.table.keys, keys[kept])
    rows = before.reshape(-1, stride)[-features:][kept]
    assert np.array_equal(small.optimizer_.weights_.reshape(-1, stride)[-len(rows) :], rows)
    assert small.partial_fit(X, Y).score(X, Y) > 0.95


def test_features_not_seen_for_longest_are_forgotten():
    def sentence(k):
        return [[f"w{k}"] * 3], [["a", "b", "a"]]

    tagger = SequenceTagger(template="w[0]", max_features=8)
    for k in (0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 8):
        tagger.partial_fit(*sentence(k))
    known = [k for k in range(9) if tagger.explain([f"w{k}"])[0]["features"]]
    assert known == [0, 1, 5, 6, 7, 8]


def test_features_without_a_weight_are_forgotten_first():
    tagger = SequenceTagger(template="w[0]", inference="greedy", max_features=8)
    tagger.partial_fit([["old"]], [["a"]]).partial_fit([["older"]], [["b"]])
    for k in range(6):  # tokens without a label teach nothing
        tagger.partial_fit([["old", f"w{k}"]], [["a", None]])
    tagger.partial_fit([["old", "w6"]], [["a", None]])
    assert tagger.n_features_ == 6
    assert all(tagger.explain([word])[0]["features"] for word in ("old", "older"))


def test_a_bounded_tagger_is_saved_copied_and_goes_on(tmp_path):
    tagger = Chunker(max_features=2000, max_support=30, keep_names=True)
    for number in range(10):
        tagger.partial_fit(*batch(number))
    tagger.save(tmp_path / "model", training_state=True)
    twins = [copy.deepcopy(tagger), pickle.loads(pickle.dumps(tagger)), Chunker.load(tmp_path / "model")]
    assert twins[-1].max_features == 2000
    for twin in twins:
        assert twin.predict(X_TEST) == tagger.predict(X_TEST)
        assert twin.partial_fit(*batch(99)).n_features_ <= 2000


def test_bad_bounds_are_refused():
    for options in ({"max_features": 3}, {"max_support": 2.5}):
        with pytest.raises(ValueError, match="must be an integer of at least 4"):
            Chunker(**options).partial_fit(X, Y)
    with pytest.raises(ValueError, match="max_support has no effect on perceptron"):
        Chunker(max_support=9, algorithm="perceptron").partial_fit(X, Y)
    with pytest.raises(ValueError, match="joined with a previous label"):
        SequenceTagger(template="w[0], y[-1]|w[0]", max_features=9).partial_fit([["a", "b"]], [["x", "y"]])
    joined = SequenceTagger(template="w[0], y[-1]|w[0]").partial_fit([["a", "b"]], [["x", "y"]])
    with pytest.raises(ValueError, match="joined with a previous label"):
        joined.forget(max_features=9)
