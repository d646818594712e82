"""partial_fit on an endless stream: features and support patterns within their bounds."""

import copy
import pickle
from contextlib import nullcontext

import numpy as np
import pytest

from structsvm import LaRank, Multiclass, Perceptron
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
        {"max_features": 3000, "algorithm": "crf"},
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
    few._state.forget(few.settings())
    assert few.optimizer_.n_support_patterns_ == 6
    assert np.array_equal(few.optimizer_.weights_, before)
    assert few.predict(X_TEST) == tagger.predict(X_TEST)

    small = tagger.set_params(max_features=features - 1)
    stride = small.optimizer_.problem.stride
    keys, patterns = small.model_.space.table.keys.copy(), small.optimizer_.n_support_patterns_
    small._state._see(np.zeros(0, int))
    small._state.forget(small.settings())
    assert small.n_features_ == int(0.75 * (features - 1))
    assert small.optimizer_.n_support_patterns_ == patterns
    kept = np.isin(keys, small.model_.space.table.keys)
    assert np.array_equal(small.model_.space.table.keys, keys[kept])
    rows = before.reshape(-1, stride)[-features:][kept]
    assert np.array_equal(small.optimizer_.weights_.reshape(-1, stride)[-len(rows) :], rows)
    assert small.partial_fit(X, Y).score(X, Y) > 0.95


def without_rows(state, problem, keep):
    """A naive twin of forgetting rows of w: from saved arrays to saved arrays."""
    state, row_of = dict(state), np.cumsum(keep) - 1
    for name in {"dual.weights", "dual.moments"} & state.keys():
        state[name] = state[name].reshape(-1, problem.stride)[keep].reshape(-1)
    if "dual.indices" in state:
        row, label = np.divmod(state["dual.indices"], problem.stride)
        ends = np.cumsum(state["dual.lengths"])
        outputs = np.split(keep[row], ends[:-1])
        state["dual.lengths"] = np.array([kept.sum() for kept in outputs])
        state["dual.indices"] = (row_of[row] * problem.stride + label)[keep[row]]
        state["dual.values"] = state["dual.values"][keep[row]]
    if "rows.rows" in state:
        used = keep[problem.history + state["rows.rows"]]
        state["rows.token_ptr"] = np.concatenate([[0], np.cumsum(used)])[state["rows.token_ptr"]]
        state["rows.rows"] = (row_of[problem.history + state["rows.rows"]] - problem.history)[used]
        if "rows.values" in state:
            state["rows.values"] = state["rows.values"][used]
    return state


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"inference": "greedy"},
        {"algorithm": "perceptron"},
        {"algorithm": "crf"},
        {"shards": 2},
        {"algorithm": "svmstruct"},
    ],
)
@pytest.mark.parametrize("values", [False, True])
def test_rows_are_forgotten_in_place_as_a_naive_twin_forgets_them(options, values):
    def sentence(words):
        return [{word: 0.5 + k for k, word in enumerate(token)} for token in words] if values else words

    tagger = Chunker(**options).partial_fit([*map(sentence, X)], Y)
    optimizer = tagger.optimizer_
    problem, rng = optimizer.problem, np.random.default_rng(0)
    for _ in range(2):  # again, with what the first time has left
        before = optimizer.state()
        keep = rng.random(len(before["dual.weights"]) // problem.stride) < 0.6
        keep[: problem.history] = True
        after = optimizer.forget(rows=keep).state()
        for name, array in without_rows(before, problem, keep).items():
            assert np.array_equal(after[name], array), name
    twin = type(optimizer)(problem, **({"shards": 2} if "shards" in options else {})).resume(after)
    assert np.array_equal(twin.weights_, optimizer.weights_)


def test_the_first_support_patterns_are_forgotten_in_place():
    tagger = Chunker(inference="greedy").partial_fit(X, Y)
    before = tagger.optimizer_.state()
    after = tagger.optimizer_.forget(patterns=5).state()
    assert np.array_equal(after["dual.weights"], before["dual.weights"])
    assert np.array_equal(after["dual.counts"], before["dual.counts"][5:])
    entries = before["dual.lengths"][: before["dual.counts"][:5].sum()].sum()
    assert np.array_equal(after["dual.indices"], before["dual.indices"][entries:])
    assert len(after["rows.places"]) == len(after["place"]) == len(before["place"]) - 5
    assert tagger.partial_fit(X, Y).score(X, Y) > 0.95


@pytest.mark.parametrize("state", [True, False])
def test_a_loaded_tagger_forgets(tmp_path, state):
    Chunker(inference="greedy").partial_fit(X, Y).save(tmp_path / "model", training_state=state)
    tagger = Chunker.load(tmp_path / "model")
    assert tagger.n_features_ > 400
    with nullcontext() if state else pytest.warns(UserWarning, match="without its training state"):
        tagger.forget(max_features=400, max_support=20)
    assert tagger.n_features_ == 300
    assert tagger.optimizer_.n_support_patterns_ == (15 if state else 0)
    assert tagger.score(X, Y) > 0.7


def test_forgetting_by_hand_drops_the_features_not_seen_for_longest():
    tagger = SequenceTagger(template="w[0]")
    for word in ("old", "older", "new", "newer", "old"):
        tagger.partial_fit([[word] * 3], [["a", "b", "a"]])
    tagger.forget(max_features=4)  # nothing: there are four
    tagger.partial_fit([["newest"] * 3], [["a", "b", "a"]]).forget(max_features=4)
    words = ("old", "older", "new", "newer", "newest")
    known = [word for word in words if tagger.explain([word])[0]["features"]]
    assert known == ["old", "newer", "newest"]


def test_words_are_forgotten_too():
    tagger = SequenceTagger(template="w[0]", max_features=20)
    for k in range(100):
        tagger.partial_fit([[f"w{k}"]], [["a" if k % 2 else "b"]])
        assert len(tagger._state._words) <= 40


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


def test_a_bounded_tagger_is_saved_copied_and_continues(tmp_path):
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
    with pytest.raises(ValueError, match="max_support has no effect with algorithm='perceptron'"):
        Chunker(max_support=9, algorithm="perceptron").partial_fit(X, Y)
    with pytest.raises(ValueError, match="joined with a previous label"):
        SequenceTagger(template="w[0], y[-1]|w[0]", max_features=9).partial_fit([["a", "b"]], [["x", "y"]])
    joined = SequenceTagger(template="w[0], y[-1]|w[0]").partial_fit([["a", "b"]], [["x", "y"]])
    with pytest.raises(ValueError, match="joined with a previous label"):
        joined.forget(max_features=9)


def test_what_cannot_be_forgotten_is_refused_and_nothing_changes():
    optimizer = Chunker().partial_fit(X, Y).optimizer_
    history = optimizer.problem.history
    n = len(optimizer.weights_at(slice(None))) // optimizer.problem.stride
    keep = np.ones(n, bool)
    before = optimizer.state()
    bad = [
        ({"patterns": -3}, "patterns must be an integer of at least 0"),
        ({"patterns": 1, "rows": keep[:-1]}, f"rows must be a boolean array for the {n} rows"),
        ({"patterns": 1, "rows": keep.astype(int)}, "rows must be a boolean array"),
        ({"patterns": 1, "rows": np.arange(n) >= history}, "must keep the first"),
    ]
    for options, match in bad:
        with pytest.raises(ValueError, match=match):
            optimizer.forget(**options)
    after = optimizer.state()
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_problem_that_cannot_forget_features_keeps_its_patterns():
    tagger = SequenceTagger(template="w[0], y[-1]|w[0]").partial_fit([["a", "b"]], [["x", "y"]])
    optimizer = tagger.optimizer_
    keep = np.ones(len(optimizer.weights_at(slice(None))) // optimizer.problem.stride, bool)
    n = optimizer.n_support_patterns_
    assert n
    with pytest.raises(TypeError, match="cannot forget features"):
        optimizer.forget(patterns=1, rows=keep)
    assert optimizer.n_support_patterns_ == n


def test_optimizers_and_problems_that_cannot_forget_say_so():
    X, y = np.eye(4), [0, 1, 2, 3]
    with pytest.raises(TypeError, match="Perceptron cannot forget patterns"):
        Perceptron(Multiclass()).fit(X, y).forget(patterns=1)
    with pytest.raises(TypeError, match="Multiclass cannot forget features"):
        LaRank(Multiclass()).fit(X, y).forget(rows=np.ones(4, bool))


def test_features_are_forgotten_where_an_interruption_left_w_longer_than_the_table():
    tagger = Chunker(max_features=200).partial_fit(X[:3], Y[:3])
    table = tagger._state.model.space.table
    table.truncate(len(table) - 5)
    assert tagger.partial_fit(*batch(1)).n_features_ <= 200
    tagger.partial_fit(*batch(2))
