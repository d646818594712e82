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

from semparse import Ospas
from semparse.concepts import ConceptLabeller
from structsvm import LaRankClassifier
from structsvm.binary import LaSVMClassifier
from taggers import Chunker, NerTagger, PosTagger, SequenceTagger
from taggers.crfsuite import CRF
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


# scikit-learn's other checks pass matrices, which estimators of sequences refuse
WITHOUT_DATA = [
    "check_estimator_cloneable", "check_estimator_repr", "check_estimator_tags_renamed",
    "check_get_params_invariance", "check_mixin_order", "check_no_attributes_set_in_init",
    "check_parameters_default_constructible", "check_set_params", "check_valid_tag_types",
]  # fmt: skip


@pytest.mark.parametrize("kind", [*TAGGERS, CRF, Ospas, ConceptLabeller])
@pytest.mark.parametrize("check", WITHOUT_DATA)
def test_estimators_of_sequences_pass_the_checks_without_matrices(kind, check):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if not hasattr(checks, check):
        pytest.skip("this version of scikit-learn does not have the check")
    getattr(checks, check)(kind.__name__, kind())


@pytest.mark.filterwarnings("ignore:Can't test estimator")
@pytest.mark.parametrize("kind", [SequenceTagger, Ospas])
def test_check_estimator_itself_passes(kind):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    results = checks.check_estimator(kind(), on_fail=None, on_skip=None)
    assert [one["check_name"] for one in results if one["status"] == "failed"] == []


@pytest.fixture
def routing():
    from sklearn import config_context

    with config_context(enable_metadata_routing=True):
        yield


class Weights(SequenceTagger):
    """A tagger that remembers the weights of `fit`."""

    def fit(self, X, y, sample_weight=None, *, X_dev=None, y_dev=None):
        self.weights_ = None if sample_weight is None else list(sample_weight)
        return super().fit(X, y, sample_weight, X_dev=X_dev, y_dev=y_dev)


def test_weights_are_routed_to_the_fits_that_ask_for_them(routing):
    weights = np.arange(1.0, len(X) + 1)
    asks = Weights(epochs=1).set_fit_request(sample_weight="importance")
    assert clone(asks).get_metadata_routing().fit.requests["sample_weight"] == "importance"
    pipeline = Pipeline([("words", FunctionTransformer(words_only)), ("tagger", asks)])
    pipeline.fit(X, Y, importance=weights)
    assert pipeline[-1].weights_ == weights.tolist()
    search = GridSearchCV(Weights(epochs=1).set_fit_request(sample_weight=True), {"C": [0.1]}, cv=2)
    assert search.fit(X, Y, sample_weight=weights).best_estimator_.weights_ == weights.tolist()
    with pytest.raises(Exception, match="sample_weight"):
        GridSearchCV(Weights(epochs=1), {"C": [0.1]}, cv=2).fit(X, Y, sample_weight=weights)


def test_metadata_that_no_method_takes_is_refused(routing):
    with pytest.raises(TypeError, match="fit takes no weights as metadata; choose among sample_weight"):
        SequenceTagger().set_fit_request(weights=True)
    assert not hasattr(SequenceTagger(), "set_score_request")
    assert LaRankClassifier().set_score_request(sample_weight=True).get_metadata_routing().score.requests


@pytest.mark.parametrize("estimator", [NerTagger(C=0.3), LaRankClassifier(), Ospas()])
def test_notebooks_show_the_diagram_of_scikit_learn(estimator):
    from sklearn import config_context

    shown = estimator._repr_mimebundle_(include=None, exclude=None)
    assert shown["text/plain"] == repr(estimator)
    assert f"{type(estimator).__name__}" in shown["text/html"]
    with config_context(display="text"):
        assert estimator._repr_mimebundle_().keys() == {"text/plain"}


def test_probabilities_are_arrays_in_the_order_of_the_classes():
    tagger = Chunker(epochs=1).fit(X, Y)
    arrays, marginals = tagger.predict_proba(X[:5]), tagger.predict_marginals(X[:5])
    assert [len(array) for array in arrays] == [len(sentence) for sentence in X[:5]]
    for array, tokens in zip(arrays, marginals, strict=True):
        np.testing.assert_allclose(array, [[token[name] for name in tagger.classes_] for token in tokens])
        np.testing.assert_allclose(array.sum(axis=1), 1, atol=1e-5)
    assert tagger.predict_marginals_single(X[3]) == marginals[3]
    assert tagger.predict_proba([]) == []


@pytest.mark.parametrize("kind", [LaRankClassifier, LaSVMClassifier])
def test_classifiers_know_the_names_of_columns(kind):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.normal(size=(60, 2)), columns=["width", "height"])
    y = (table["width"] > 0).to_numpy()
    model = kind().fit(table, y)
    assert model.feature_names_in_.tolist() == ["width", "height"]
    assert model.predict(table).tolist() == model.predict(table.copy()).tolist()
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(table[["height", "width"]])
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time:\n- depth.*now missing:\n- height"):
        model.predict(table.rename(columns={"height": "depth"}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(table.to_numpy())
    with pytest.raises(ValueError, match="must be in the same order"):
        model.partial_fit(table[["height", "width"]], y)
    assert not hasattr(model.fit(table.to_numpy(), y), "feature_names_in_")
    with pytest.raises(TypeError, match="string names"):
        model.fit(table.rename(columns={"height": 1}), y)
