"""The time and memory of calls grow with the elements that their input repeats."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structsvm.classifier import LaRankClassifier
from taggers import NerTagger, PosTagger, metrics
from taggers.formats.tokenizer import split_sentences
from taggers.labels import schemes
from tests.growth import check_growth

WORDS = ["Anna", "sings", "in", "Oslo", "."]
LABELS = ["B-PER", "O", "O", "B-LOC", "O"]
Work = Callable[[], Any]


@pytest.fixture(scope="module")
def tagger() -> NerTagger:
    return NerTagger(epochs=3).fit([WORDS] * 3, [LABELS] * 3)


def many_sentences(n: int) -> list[list[str]]:
    return [[f"{word}{k}" for word in WORDS] for k in range(n)]


def test_the_time_of_a_call_grows_with_its_input(tagger: NerTagger) -> None:
    """Tokens of a sentence, and sentences of a call."""
    check_growth(lambda n: lambda: tagger.predict([WORDS * n]), 500)
    check_growth(lambda n: lambda: tagger.predict([WORDS] * n), 500)
    check_growth(lambda n: lambda: tagger.predict_margins([WORDS] * n), 500)
    check_growth(lambda n: lambda: tagger.predict_marginals([WORDS] * n), 500)


@pytest.mark.parametrize("n_words", [1, 1000])
def test_training_grows_with_sentences(n_words: int) -> None:
    def prepare(n: int) -> Work:
        X = [[f"{word}{k % n_words}" for word in WORDS] for k in range(n)]
        return lambda: NerTagger(epochs=1).fit(X, [LABELS] * n)

    check_growth(prepare, 500)


def test_training_grows_with_the_tokens_of_a_sentence() -> None:
    check_growth(lambda n: lambda: NerTagger(epochs=1).fit([WORDS * n] * 5, [LABELS * n] * 5), 200)


def test_learning_grows_with_sentences() -> None:
    def prepare(n: int) -> Work:
        learner, X = NerTagger(epochs=1).fit([WORDS], [LABELS]), many_sentences(n)
        return lambda: learner.partial_fit(X, [LABELS] * n)

    check_growth(prepare, 200)


def test_features_of_a_token_may_be_many() -> None:
    def prepare(n: int) -> Work:
        X = [[[f"f{k}" for k in range(n)], ["g"]]] * 2
        return lambda: PosTagger(epochs=1, template=None).fit(X, [["A", "B"]] * 2).predict(X)

    check_growth(prepare, 4000)


def test_labels_may_be_many() -> None:
    """In scores. The time to label grows with the square, as the page on security says."""

    def prepare(n: int) -> Work:
        y = [[f"B-T{k}", f"I-T{k}", "O"] for k in range(n)]
        return lambda: metrics.classification_report(y, y)

    check_growth(prepare, 250)


def test_predictions_of_a_classifier_grow_with_rows_and_with_classes() -> None:
    X, y = np.eye(8)[np.arange(200) % 8], np.arange(200) % 4
    classifier = LaRankClassifier(epochs=1).fit(X, y)
    check_growth(lambda n: lambda: classifier.predict(np.tile(X, (n, 1))), 40)

    rows = np.random.default_rng(0).normal(size=(20_000, 8))

    @functools.cache
    def prepare(n: int) -> Work:
        many = LaRankClassifier(epochs=1).fit(rows[:n], np.arange(n))
        return lambda: many.predict(rows)

    check_growth(prepare, 125, limit=1000)


def test_texts_and_labels_may_be_long() -> None:
    check_growth(lambda n: lambda: split_sentences("Anna sings in Oslo. " * n), 500)
    check_growth(lambda n: lambda: split_sentences("a" * 1000 * n), 50)
    check_growth(lambda n: lambda: split_sentences("." * 1000 * n), 50, limit=12_800)
    check_growth(lambda n: lambda: schemes.convert(LABELS * n, "IOB2", "IOBES"), 2000)
    check_growth(lambda n: lambda: schemes.spans(LABELS * n, "IOB2"), 2000)


def test_files_grow_with_their_model(tmp_path: Path) -> None:
    @functools.cache
    def prepare(n: int) -> Work:
        model = NerTagger(epochs=1).fit(many_sentences(n), [LABELS] * n)
        path = tmp_path / str(n)
        return lambda: (model.save(path), NerTagger.load(path))

    check_growth(prepare, 500)
