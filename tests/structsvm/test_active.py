"""Queries: which unlabelled examples to label next."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from structsvm import LaRankClassifier, active
from structsvm.binary import LaSVMClassifier
from taggers import NerTagger, SequenceTagger

SIZES = st.lists(st.integers(0, 5), max_size=8)


@given(sizes=SIZES, data=st.data())
def test_usefulness_equals_its_definition(sizes, data):
    margins = [data.draw(st.lists(st.floats(0, 3), min_size=n, max_size=n)) for n in sizes]
    flat, ptr = np.concatenate([np.zeros(0), *map(np.array, margins)]), np.cumsum([0, *sizes])
    missing = [[max(0.0, 1 - m) for m in one] for one in margins]
    assert active.usefulness(flat, ptr, "total") == pytest.approx([sum(one) for one in missing])
    assert active.usefulness(flat, ptr, "margin") == pytest.approx(
        [sum(one) / max(len(one), 1) for one in missing]
    )
    assert active.usefulness(flat, ptr, "smallest").tolist() == [-min(one, default=np.inf) for one in margins]


@given(st.lists(st.sets(st.integers(0, 6), max_size=4), max_size=8), st.integers(1, 5))
def test_diverse_choices_share_at_most_half_unless_nothing_else_is_left(contents, n):
    chosen = active.diverse(range(len(contents)), contents, n)
    assert len(chosen) == len(set(chosen)) == min(n, len(contents))
    seen, repeated = set(), False
    for number in chosen:
        now = bool(contents[number]) and len(contents[number] & seen) > len(contents[number]) / 2
        assert now or not repeated  # repetitions come last
        repeated = now
        seen |= contents[number]


def blobs(n=60):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    return np.eye(3)[y] * 3 + rng.normal(size=(n, 3)), y


def test_a_classifier_asks_about_the_rows_with_the_smallest_margins():
    X, y = blobs()
    model = LaRankClassifier().fit(X[:30], y[:30])
    scores = np.sort(model.decision_function(X), axis=1)
    margins = scores[:, -1] - scores[:, -2]
    found = model.query(X, 7)
    assert found.tolist() == [k for k in np.argsort(margins, kind="stable")[:7] if margins[k] < 1]
    sampled = model.query(X, 60, sample=20)
    assert len(sampled) <= 20
    assert (margins[sampled] < 1).all()


def test_a_classifier_with_two_classes_or_a_kernel_can_ask():
    X, y = blobs()
    model = LaRankClassifier(kernel="rbf").fit(X, y > 0)
    assert set(model.query(X, 5)) <= set(np.flatnonzero(np.abs(model.decision_function(X)) < 1))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("Classifier", [LaRankClassifier, LaSVMClassifier])
@pytest.mark.parametrize("as_matrix", [np.asarray, csr_array])
def test_a_query_of_an_empty_pool_is_empty(Classifier, n_classes, as_matrix):
    X, y = blobs()
    nothing = as_matrix(np.zeros((0, X.shape[1])))
    for model in (Classifier(), Classifier().fit(X, y % n_classes)):
        for options in ({}, {"sample": 3}):
            found = model.query(nothing, 5, **options)
            assert (found.shape, found.dtype.kind) == ((0,), "i")
        with pytest.raises(ValueError, match="n must be an integer of at least 1"):
            model.query(nothing, 0)
    with pytest.raises(ValueError, match="is expecting"):
        model.query(np.zeros((0, 7)))


def test_a_tagger_asks_for_nothing_if_the_pool_is_empty():
    for tagger in (NerTagger(), NerTagger().fit([["Anna", "slept"]], [["B-PER", "O"]])):
        assert tagger.query([], 5).tolist() == []
        assert tagger.query([], 5).dtype.kind == "i"


def test_nothing_is_asked_when_all_is_outside_the_margin():
    X = np.array([[-9.0], [9.0]])
    model = LaRankClassifier(C=10).fit(X, [0, 1])
    assert not len(model.query(X * 2, 5))
    assert sorted(model.query(X * 2, 5, strategy="random").tolist()) == [0, 1]


def test_an_untrained_model_asks_at_random_and_a_seed_repeats():
    pool = [["word", str(k)] for k in range(50)]
    first = NerTagger().query(pool, 10)
    assert first.tolist() == NerTagger().query(pool, 10).tolist() != list(range(10))
    assert LaRankClassifier().query(np.eye(4), 2).shape == (2,)


def test_a_tagger_asks_about_what_it_does_not_know():
    X = [["the", "cat", "sleeps"], ["a", "dog", "barks"]] * 10
    y = [["DET", "NOUN", "VERB"]] * 20
    tagger = SequenceTagger(epochs=10, C=1).fit(X, y)
    pool = [["the", "cat", "sleeps"], ["wombats", "quickly", "dig", "the", "holes"], ["a", "dog", "barks"]]
    assert tagger.query(pool, 3).tolist() == [1]
    for strategy in active.STRATEGIES:
        assert tagger.query(pool, 1, strategy=strategy).shape == (1,)


def test_sentences_that_repeat_each_other_are_not_asked_together():
    tagger = SequenceTagger().fit([["the", "cat"]] * 3, [["DET", "NOUN"]] * 3)
    pool = [["wombats", "dig", "deep", "holes", str(k)] for k in range(5)] + [["rain", "falls"]]
    assert 5 in tagger.query(pool, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be an integer of at least 1"),
        ({"strategy": "best"}, "strategy must be one of 'margin'"),
        ({"sample": 0}, "sample must be an integer of at least 1"),
    ],
)
def test_bad_queries_are_refused(options, message):
    tagger = SequenceTagger().fit([["the", "cat"]], [["DET", "NOUN"]])
    with pytest.raises(ValueError, match=message):
        tagger.query([["a"]], **options)
    with pytest.raises(ValueError, match=message):
        LaRankClassifier().fit(np.eye(3), [0, 1, 2]).query(np.eye(3), **options)
