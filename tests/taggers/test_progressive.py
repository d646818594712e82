"""Training counts the predictions that it makes before it learns from them: an honest score."""

import math
from itertools import product

import numpy as np
import pytest

from structsvm import LaRank, LaRankClassifier, Multiclass
from structsvm.optimizers import ParallelLaRank
from taggers import Chunker, SequenceTagger
from taggers.metrics import span_f1, token_accuracy
from tests.structsvm.helpers import noisy_classes
from tests.taggers.sentences import chunk_data

X, Y = chunk_data(40)
LABELS = sorted({label for labels in Y for label in labels})


@pytest.mark.parametrize(
    ("algorithm", "inference"),
    [*product(["larank", "pa", "perceptron"], ["exact", "greedy"]), ("crf", "exact")],
)
def test_the_score_is_that_of_predicting_each_sentence_first(algorithm, inference):
    options = {"algorithm": algorithm, "inference": inference, "labels": "IOB2", "template": "w[0], p[0]"}
    tagger, online = (Chunker(**options).declare(LABELS, width=2) for _ in range(2))
    found = []
    for tokens, labels in zip(X, Y, strict=True):
        found += online.predict([tokens])
        online.partial_fit([tokens], [labels])
    last = tagger.partial_fit(X, Y).curve_[-1]
    assert 0 < last.f1 < 1
    if algorithm == "larank":  # mean weights predict for a perceptron; pa meets ties, which rounding decides
        assert last.accuracy == pytest.approx(token_accuracy(Y, found))
        assert last.f1 == pytest.approx(span_f1(Y, found))


def test_only_the_first_pass_over_new_data_counts():
    tagger = Chunker(epochs=2).fit(X, Y)
    first, second = ([p for p in tagger.curve_ if p.epoch == epoch] for epoch in (0, 1))
    assert all(math.isfinite(point.accuracy) for point in first)
    assert all(math.isnan(point.accuracy) and math.isnan(point.f1) for point in second)
    tagger.resume(X, Y)
    assert math.isnan(tagger.curve_[-1].accuracy)
    tagger.resume(*chunk_data(30, seed=5))
    assert any(math.isfinite(point.accuracy) for point in tagger.curve_[-40:])


def test_tokens_without_a_label_are_not_counted():
    partly = [[None if k % 2 else label for k, label in enumerate(labels)] for labels in Y]
    for inference in ("exact", "greedy"):
        last = Chunker(epochs=1, inference=inference).fit(X, partly).curve_[-1]
        assert 0 < last.accuracy < 1
        assert math.isnan(last.f1)
    assert math.isnan(SequenceTagger(epochs=1, constrained=False).fit(X, Y).curve_[-1].f1)  # not phrases


def test_shards_add_up_their_counts():
    tagger = Chunker(epochs=1, shards=2, jobs=1).fit(X, Y)
    assert isinstance(tagger.optimizer_, ParallelLaRank)
    looks = tagger.optimizer_.curve_[-1].looks
    assert looks[0] == sum(map(len, X))
    assert looks[2] == sum(label.startswith("B") for labels in Y for label in labels)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_classifiers_count_the_loss_before_learning(kernel):
    X, y = noisy_classes(60)
    model = LaRankClassifier(kernel=kernel, epochs=2).fit(X, y)
    first, last = (model.curve_[k] for k in (19, -1))
    assert first.looks[0] == len(y)
    assert 0.1 < first.progressive < 0.7
    assert math.isnan(last.progressive)


def test_the_loss_is_that_of_predicting_each_pattern_first():
    X, y = noisy_classes(60)
    whole, online = (LaRank(Multiclass(), C=0.5).partial_fit(X[:4], y[:4]) for _ in range(2))
    wrong = []
    for row, label in zip(X[4:], y[4:], strict=True):
        wrong.append(online.predict([row])[0] != label)
        online.partial_fit([row], [label])
    assert whole.partial_fit(X[4:], y[4:]).curve_[-1].progressive == pytest.approx(np.mean(wrong))
    assert 0 < sum(wrong) < len(wrong)


def test_a_sentence_at_the_address_of_another_is_counted():
    tagger = SequenceTagger(inference="greedy", template="w[0]").declare(["A", "B"])
    tagger.partial_fit([["a"]], [["A"]])
    for _ in range(8):  # nothing is left to learn from these, so their memory is free for the next one
        tagger.partial_fit([["a"]], [["A"]])
        tagger.partial_fit([["x", "y", "a"]], [[None, None, "A"]])
        assert tagger.optimizer_.curve_[-1].looks[0] == 1
