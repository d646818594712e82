"""The time and memory of calls grow with the elements that their input repeats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from structsvm.classifier import LaRankClassifier
from taggers import NerTagger, PosTagger
from taggers.formats.tokenizer import split_sentences
from taggers.labels import schemes
from tests.growth import check_growth

WORDS = ["Anna", "sings", "in", "Oslo", "."]
LABELS = ["B-PER", "O", "O", "B-LOC", "O"]
Work = Callable[[], Any]


@pytest.fixture(scope="module")
def tagger() -> NerTagger:
    return NerTagger(epochs=3).fit([WORDS] * 3, [LABELS] * 3)


def test_the_time_of_a_call_grows_with_its_input(tagger: NerTagger) -> None:
    """Tokens of a sentence, and sentences of a call."""
    check_growth(lambda n: lambda: tagger.predict([WORDS * n]), 500)
    check_growth(lambda n: lambda: tagger.predict([WORDS] * n), 500)
    check_growth(lambda n: lambda: tagger.predict_margins([WORDS] * n), 500)
    check_growth(lambda n: lambda: tagger.predict_marginals([WORDS] * n), 500)


@pytest.mark.parametrize("n_words", [1, 1000])
def test_training_grows_with_sentences_and_their_length(n_words: int) -> None:
    def prepare(n: int) -> Work:
        X = [[f"{word}{k % n_words}" for word in WORDS] for k in range(n)]
        return lambda: NerTagger(epochs=1).fit(X, [LABELS] * n)

    check_growth(prepare, 200)
    check_growth(lambda n: lambda: NerTagger(epochs=1).fit([WORDS * n], [LABELS * n]), 100)


def test_learning_grows_with_sentences(tagger: NerTagger) -> None:
    def prepare(n: int) -> Work:
        learner = NerTagger(epochs=1).fit([WORDS], [LABELS])
        X = [[f"{word}{k}" for word in WORDS] for k in range(n)]
        return lambda: learner.partial_fit(X, [LABELS] * n)

    check_growth(prepare, 100)


def test_features_of_a_token_may_be_many() -> None:
    def prepare(n: int) -> Work:
        X = [[[f"f{k}" for k in range(n)], ["g"]]] * 2
        return lambda: PosTagger(epochs=1, template=None).fit(X, [["A", "B"]] * 2).predict(X)

    check_growth(prepare, 1000)


def test_predictions_of_a_classifier_grow_with_the_rows() -> None:
    X, y = np.eye(8)[np.arange(200) % 8], np.arange(200) % 4
    classifier = LaRankClassifier(epochs=1).fit(X, y)
    check_growth(lambda n: lambda: classifier.predict(np.tile(X, (n, 1))), 20)


def test_texts_and_labels_may_be_long() -> None:
    check_growth(lambda n: lambda: split_sentences("Anna sings in Oslo. " * n), 500)
    check_growth(lambda n: lambda: split_sentences("a" * 1000 * n), 50)
    check_growth(lambda n: lambda: split_sentences("." * 1000 * n), 50)
    check_growth(lambda n: lambda: schemes.convert(LABELS * n, "IOB2", "IOBES"), 2000)
    check_growth(lambda n: lambda: schemes.spans(LABELS * n, "IOB2"), 2000)


def test_files_grow_with_their_model(tagger: NerTagger, tmp_path: Path) -> None:
    def prepare(n: int) -> Work:
        X = [[f"{word}{k}" for word in WORDS] for k in range(n)]
        model = NerTagger(epochs=1).fit(X, [LABELS] * n)
        path = tmp_path / str(n)
        return lambda: (model.save(path), NerTagger.load(path))

    check_growth(prepare, 100)
