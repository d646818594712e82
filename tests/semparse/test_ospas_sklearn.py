"""The semantic parser in scikit-learn's tools."""

import subprocess
import sys

import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from corpora import simulate_sportscast
from semparse import Ospas

BAGS = simulate_sportscast(120)
TEXTS, CANDIDATES = [bag.text for bag in BAGS], [bag.candidates for bag in BAGS]


def lower(texts):
    return [text.lower() for text in texts]


def test_a_clone_has_the_parameters_and_nothing_learned():
    parser = Ospas(C=0.05, passes=1).fit(TEXTS[:20], CANDIDATES[:20])
    copy = clone(parser)
    assert copy.get_params() == parser.get_params()
    assert not hasattr(copy, "model_")


def test_cross_validation_and_search():
    scores = cross_val_score(Ospas(passes=1), TEXTS, CANDIDATES, cv=2)
    assert scores.min() > 0.3  # chance is lower: a bag has several candidates, or none
    found = cross_val_predict(Ospas(passes=1), TEXTS, CANDIDATES, cv=2)
    hits = [text in map(str, bag) for text, bag in zip(found, CANDIDATES, strict=True)]
    assert sum(hits) / len(hits) == pytest.approx(scores.mean())
    pipeline = Pipeline([("lower", FunctionTransformer(lower)), ("parser", Ospas(passes=1))])
    search = GridSearchCV(pipeline, {"parser__iterations": [1, 4]}, cv=2, error_score="raise")
    assert search.fit(TEXTS, CANDIDATES).best_score_ >= scores.mean() - 0.1
    assert list(search.predict(TEXTS[:2])) == list(search.best_estimator_.predict(TEXTS[:2]))


def test_scikit_learn_is_not_imported_unless_used():
    code = (
        "import sys; from semparse import Ospas; "
        "Ospas().fit(['a b'], [['f(b)']]).predict(['a b']); print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
