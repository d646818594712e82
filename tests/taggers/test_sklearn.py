"""Taggers and classifiers in scikit-learn's tools, and out of its way where it is not used."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from structsvm import LaRankClassifier
from taggers import Chunker, NerTagger, PosTagger, SequenceTagger
from taggers.metrics import SCORERS, sentence_accuracy, span_f1, token_accuracy
from tests.taggers.sentences import chunk_data

X, Y = chunk_data(60)
TAGGERS = [Chunker, NerTagger, PosTagger, SequenceTagger]


def words_only(X):
    return [[word for word, _ in sentence] for sentence in X]


@pytest.mark.filterwarnings("ignore:no pattern of the template reads")
@pytest.mark.parametrize("kind", TAGGERS)
def test_a_clone_has_the_parameters_and_nothing_learned(kind):
    tagger = kind(C=0.3, epochs=1).fit(X, Y)
    copy = clone(tagger)
    assert copy.get_params() == tagger.get_params()
    assert not hasattr(copy, "model_")


def test_grid_search_by_several_scores():
    search = GridSearchCV(
        Chunker(epochs=1), {"C": [1e-6, 0.1]}, cv=2, scoring=SCORERS, refit="span_f1", error_score="raise"
    )
    search.fit(X, Y)
    assert search.best_params_ == {"C": 0.1}
    by_f1 = search.cv_results_["mean_test_span_f1"]
    assert by_f1[1] > by_f1[0]
    assert search.best_estimator_.predict(X) == search.predict(X)


def test_cross_validation_scores_and_predictions():
    scores = cross_val_score(Chunker(epochs=1), X, Y, cv=3)
    assert (scores > 0.9).all()
    predicted = cross_val_predict(Chunker(epochs=1), X, Y, cv=3)
    assert predicted.shape == (len(X),)
    assert [len(labels) for labels in predicted] == [len(labels) for labels in Y]
    assert token_accuracy(Y, predicted) == pytest.approx(scores.mean(), abs=0.05)
    both = cross_validate(Chunker(epochs=1), X, Y, cv=3, scoring=SCORERS, n_jobs=2)
    np.testing.assert_allclose(both["test_token_accuracy"], scores)


def test_predictions_of_sentences_of_one_length_are_an_array_of_one_dimension():
    same = [sentence[:2] for sentence in X], [labels[:2] for labels in Y]
    predicted = cross_val_predict(SequenceTagger(epochs=1), *same, cv=2)
    assert predicted.shape == (len(X),)
    assert predicted.dtype == object


def test_a_tagger_at_the_end_of_a_pipeline():
    pipeline = Pipeline([("words", FunctionTransformer(words_only)), ("tagger", SequenceTagger(epochs=1))])
    assert cross_val_score(pipeline, X, Y, cv=2, scoring=SCORERS["token_accuracy"]).min() > 0.9
    search = GridSearchCV(pipeline, {"tagger__C": [0.01, 0.1]}, cv=2, error_score="raise").fit(X, Y)
    assert search.best_estimator_.predict(X[:3]) == search.predict(X[:3])
    alone = SequenceTagger(epochs=1, C=search.best_params_["tagger__C"]).fit(words_only(X), Y)
    assert search.predict(X) == alone.predict(words_only(X))


def test_a_classifier_in_the_same_tools():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(120, 3)) * [1, 10, 100]
    names = np.where(points[:, 1] > 0, "up", "down")
    pipeline = make_pipeline(StandardScaler(), LaRankClassifier(random_state=0))
    assert cross_val_score(pipeline, points, names, cv=3).mean() > 0.9
    assert (cross_val_predict(pipeline, points, names, cv=3) == names).mean() > 0.9
    search = GridSearchCV(pipeline, {"larankclassifier__C": [0.1, 1]}, cv=3, error_score="raise")
    assert search.fit(points, names).score(points, names) > 0.9
    assert clone(pipeline).get_params().keys() == pipeline.get_params().keys()


def test_scores_are_what_they_say():
    y, predicted = [["B-X", "I-X", "O"], ["O", "B-X"]], [["B-X", "I-X", "O"], ["B-X", "O"]]
    assert token_accuracy(y, predicted) == 3 / 5
    assert sentence_accuracy(y, predicted) == 1 / 2
    assert span_f1(y, predicted) == pytest.approx(1 / 2)
    assert token_accuracy([["A", None, {"A", "B"}]], [["B", "A", "B"]]) == 1 / 2


@pytest.mark.parametrize(
    "code",
    ["import taggers; taggers.Chunker", "import structsvm", "import structsvm.cli.app, taggers.commands"],
)
def test_neither_scikit_learn_nor_spacy_is_imported_unless_used(code):
    code += (
        "; from taggers import PosTagger; PosTagger().fit([['a', 'b']], [['X', 'Y']]).predict([['a']])"
        "; import sys; print(sorted({'scipy', 'sklearn', 'spacy', 'thinc'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
