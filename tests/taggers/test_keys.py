"""Columns that came as hashes: the features of the texts behind them, which are asked for once."""

import contextlib
import tracemalloc
from collections import Counter
from itertools import product

import numpy as np
import pytest

from taggers import Chunker
from taggers.features._lexicon import hash_string
from taggers.features.extract import Extractor, KeyTable, encode
from taggers.features.template import load_template
from taggers.formats._columns import Columns
from taggers.labels._labels import Labels
from taggers.serve.learner import Learner
from tests.taggers.sentences import chunk_data, sentences

MADE = [
    [token[:2] for token in tokens] for tokens in [*sentences(30), [("naïve", "JJ"), ("x" * 150, "NN")], []]
]
TEXTS = Columns.from_sentences(MADE)


class Strings(Counter):
    """From hashes to texts, counting who asks."""

    def __init__(self):
        super().__init__()
        self.texts = {hash_string(text): text for tokens in MADE for token in tokens for text in token}

    def __call__(self, key):
        self[key] += 1
        return self.texts[key]


def keyed(strings):
    keys = [[hash_string(text) for text in token] for tokens in MADE for token in tokens]
    return Columns.from_keys(np.array(keys, np.uint64), TEXTS.sentence_ptr, strings)


@pytest.mark.parametrize("template", ["chunk", "pos", "conll2000"])
def test_hashes_give_the_features_of_their_texts(template):
    extractor, tables = Extractor(load_template(template)), (KeyTable(), KeyTable())
    strings = Strings()
    a, b = (encode(x, extractor, t, grow=True) for x, t in zip((TEXTS, keyed(strings)), tables, strict=True))
    np.testing.assert_array_equal(a.rows, b.rows)
    np.testing.assert_array_equal(a.token_ptr, b.token_ptr)
    np.testing.assert_array_equal(tables[0].keys, tables[1].keys)
    assert not strings  # the extractor has met every word in the texts


def test_a_text_is_asked_for_once_for_each_distinct_word():
    strings = Strings()
    extractor = Extractor(load_template("pos"))
    for _ in range(2):
        extractor.keys(keyed(strings))
    assert set(strings.values()) == {1}
    assert len(strings) == len({word for tokens in MADE for word, _ in tokens})


def test_columns_of_hashes_read_as_texts_and_as_labels():
    columns = keyed(Strings())
    assert columns.sentences(1) == TEXTS.sentences(1)
    assert columns.text(1, 0) == TEXTS.text(1, 0)
    ours, theirs = Labels(), Labels()
    np.testing.assert_array_equal(ours.ids(columns, 1, grow=True), theirs.ids(TEXTS, 1, grow=True))
    assert ours.names == theirs.names


@pytest.mark.parametrize(
    ("shape", "ptr"),
    [((3, 1), [0, 2]), ((3, 1), [0, 2, 1, 3]), ((3, 1), [1, 3]), ((3, 1), [0, 4]), ((3,), [0, 3])],
)
def test_pointers_that_do_not_fit_are_refused(shape, ptr):
    with pytest.raises(ValueError, match="increase from 0"):
        Columns.from_keys(np.ones(shape, np.uint64), ptr, str)


def test_labels_declared_before_the_data_make_the_same_model():
    X, y = chunk_data(40)
    classes = ["B-NP", "I-NP", "B-PP", "I-PP", "B-VP", "I-VP", "O"]
    early = Chunker().declare(classes, width=2)
    assert set(early.predict(X)[0]) <= set(classes)  # untrained, and no error
    early.partial_fit(X, y)
    late = Chunker().partial_fit(X, y, classes=classes)
    np.testing.assert_array_equal(early._fitted().settle().weights[:], late._fitted().settle().weights[:])
    assert early.classes_ == late.classes_
    early.declare(["B-ADVP"])
    assert "I-ADVP" in early.classes_
    assert early.predict(X) == late.predict(X)


@pytest.mark.parametrize(
    ("algorithm", "inference"), [*product(["larank", "perceptron"], ["exact", "greedy"]), ("crf", "exact")]
)
def test_labels_between_steps_are_those_of_the_whole_model(algorithm, inference):
    X, y = chunk_data(60)
    tagger = Chunker(algorithm=algorithm, inference=inference)
    for start in range(0, 60, 20):
        tagger.partial_fit(X[start : start + 20], y[start : start + 20])
        few = Columns.from_sentences(X[30:32])
        between = tagger.tag_columns(few)
        assert tagger._fitted()._pending  # not all weights were fetched
        margins, whole_margins = np.zeros((2, few.n_tokens), np.float32)
        live, _ = tagger.tag_with_names(few, margins=margins, live=True)
        np.testing.assert_array_equal(between, live)
        whole = tagger._fitted().settle()
        np.testing.assert_array_equal(between, whole.tag(few, margins=whole_margins))
        np.testing.assert_allclose(margins, whole_margins, rtol=1e-5)  # sums in another order
    assert len(set(between.tolist())) > 1


@pytest.mark.parametrize("algorithm", ["larank", "perceptron", "crf"])
def test_margins_and_n_best_between_steps_are_those_of_the_whole_model(algorithm):
    X, y = chunk_data(60)
    tagger = Chunker(algorithm=algorithm).partial_fit(X, y)
    margins, best = tagger.predict_margins(X[:2]), tagger.predict_nbest(X[:2], 3)
    assert tagger._fitted()._pending  # not all weights were fetched
    tagger.predict(X[:1])
    assert not tagger._fitted()._pending
    for found, expected in zip(tagger.predict_margins(X[:2]), margins, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5)  # sums in another order
    for found, expected in zip(tagger.predict_nbest(X[:2], 3), best, strict=True):
        assert [labels for _, labels in found] == [labels for _, labels in expected]
        np.testing.assert_allclose([one for one, _ in found], [one for one, _ in expected], rtol=1e-5)


def test_live_labels_fetch_all_weights_of_larank_only_if_one_call_needs_as_many():
    X, y = chunk_data(60)
    tagger = Chunker().partial_fit(X, y)
    columns, few = Columns.from_sentences(X), Columns.from_sentences(X[:5])
    model = tagger.model_
    assert len(model.features(few).rows) < len(model.space) < len(model.features(columns).rows)
    tagger.partial_fit(X[:1], y[:1])
    for _ in range(30):  # together, more features than the model has
        tagger.tag_with_names(few, live=True)
        assert tagger._fitted()._pending
    tagger.tag_with_names(columns, live=True)
    assert not tagger._fitted()._pending
    tagger.partial_fit(X[:1], y[:1])
    for _ in range(30):
        tagger.tag_with_names(few)
    assert not tagger._fitted()._pending


def test_long_sentences_fetch_all_weights_once_and_not_a_row_for_each_feature_of_each_token():
    tagger = Chunker().partial_fit(*chunk_data(60))
    columns = Columns.from_sentences([[("a", "NN")] * 5000])
    tracemalloc.start()
    try:
        tagger.tag_with_names(columns, live=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    features = tagger.model_.features(columns)
    assert peak < 8 * len(features.rows) * tagger._fitted().begun.problem.stride
    assert not tagger._fitted()._pending


def test_alternatives_in_services_never_fetch_all_weights(tmp_path):
    X, y = chunk_data(60)
    Chunker(inference="exact").fit(X, y).save(tmp_path / "m", training_state=True)
    with contextlib.closing(Learner(tmp_path / "m")) as learner:
        learner.tagger.partial_fit(X[:5], y[:5])
        found = [learner.alternatives(tokens, 2) for tokens in X]  # more features than the model has
        assert learner.tagger._fitted()._pending
        learner.tagger.predict(X)
        again = [learner.alternatives(tokens, 2) for tokens in X]
    assert not learner.tagger._fitted()._pending
    assert [[labels for labels, _ in one] for one in again] == [
        [labels for labels, _ in one] for one in found
    ]
