"""Scores of phrases under seqeval's names: the figures, the text of the report, and what is refused."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taggers import metrics
from taggers.metrics import (
    UndefinedMetricWarning,
    accuracy_score,
    classification_report,
    f1_score,
    precision_score,
    recall_score,
)

GOLD = [["B-PER", "I-PER", "O", "B-LOC"], ["B-ORG", "O", "B-PER", "O"]]
FOUND = [["B-PER", "I-PER", "O", "B-ORG"], ["B-ORG", "O", "I-PER", "B-PER"]]

REPORT = """\
              precision    recall  f1-score   support

         LOC      0.000     0.000     0.000         1
         ORG      0.500     1.000     0.667         1
         PER      0.667     1.000     0.800         2

   micro avg      0.600     0.750     0.667         4
   macro avg      0.389     0.667     0.489         4
weighted avg      0.458     0.750     0.567         4
"""


def test_the_report_has_the_text_of_seqeval():
    with pytest.warns(UndefinedMetricWarning, match="the precision is set to 0"):
        assert classification_report(GOLD, FOUND, digits=3) == REPORT
    table = classification_report(GOLD, FOUND, output_dict=True, zero_division=0)
    assert table["PER"] == {"precision": 2 / 3, "recall": 1.0, "f1-score": pytest.approx(0.8), "support": 2}
    assert list(table) == ["LOC", "ORG", "PER", "micro avg", "macro avg", "weighted avg"]
    wide = classification_report([["B-a_very_long_type"]], [["B-a_very_long_type"]])
    assert wide.splitlines()[2] == "a_very_long_type       1.00      1.00      1.00         1"


def test_averages():
    scores = {"zero_division": 0}
    assert accuracy_score(GOLD, FOUND) == 5 / 8
    assert precision_score(GOLD, FOUND, **scores) == pytest.approx(3 / 5)
    assert recall_score(GOLD, FOUND, **scores) == pytest.approx(3 / 4)
    assert f1_score(GOLD, FOUND, average="macro", **scores) == pytest.approx((0 + 2 / 3 + 0.8) / 3)
    assert recall_score(GOLD, FOUND, average="weighted", **scores) == pytest.approx(3 / 4)
    np.testing.assert_allclose(precision_score(GOLD, FOUND, average=None, **scores), [0, 1 / 2, 2 / 3])
    assert precision_score(GOLD, FOUND, average=None, zero_division=1)[0] == 1
    with pytest.raises(ValueError, match="average must be None or one of micro, macro, weighted, got 'big'"):
        f1_score(GOLD, FOUND, average="big")


def test_strict_mode_counts_valid_phrases_only():
    gold, found = [["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "I-LOC"]]
    assert f1_score(gold, found) == 1
    for scheme in ("IOB2", None, type("IOB2", (), {})):
        assert recall_score(gold, found, mode="strict", scheme=scheme) == 1 / 2
    ends = [["B-PER", "I-PER", "O", "U-LOC"]]
    assert recall_score([["B-PER", "L-PER", "O", "U-LOC"]], ends, mode="strict", scheme="BILOU") == 1 / 2
    with pytest.raises(
        ValueError, match="scheme must be one of IOB1, IOB2, IOBES, BILUO, BMES, BMEWO, got 'IOE2'"
    ):
        f1_score(gold, found, mode="strict", scheme="IOE2")
    with pytest.raises(ValueError, match="mode must be None"):
        f1_score(gold, found, mode="loose")


def test_suffixes_and_bare_prefixes():
    assert f1_score([["PER-B", "PER-I", "O"]], [["PER-B", "PER-I", "O"]], suffix=True) == 1
    report = classification_report([["B", "I", "O"]], [["B", "I", "O"]], output_dict=True)
    assert report["_"]["support"] == 1


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(TypeError, match="a list of labels for each sentence"):
        f1_score(["B-PER"], ["B-PER"])
    with pytest.raises(ValueError, match="sample_weight has no effect"):
        f1_score(GOLD, FOUND, sample_weight=[1, 1])
    with pytest.warns(UndefinedMetricWarning):
        assert f1_score([], []) == 0


LABELS = st.sampled_from(["O", "B-a", "I-a", "E-a", "S-a", "B-b", "I-b", "E-b", "S-b"])


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=12), st.sampled_from([None, "strict"]))
def test_the_figures_are_those_of_seqeval(pairs, mode):
    seqeval = pytest.importorskip("seqeval.metrics")
    from seqeval import scheme

    gold, found = [[[pair[side] for pair in pairs]] for side in (0, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("precision_score", "recall_score", "f1_score"):
            for average in ("micro", "macro", "weighted"):
                options = {"average": average, "mode": mode, "scheme": scheme.IOBES}
                expected = getattr(seqeval, name)(gold, found, **options)
                expected = 0.0 if np.isnan(expected) else expected  # a mean over no types
                assert getattr(metrics, name)(gold, found, **options) == pytest.approx(expected)


def test_entities_are_those_of_seqeval():
    from taggers.metrics import get_entities

    labels = ["O", "B-MISC", "I-MISC", "O", "B-PER", "I-PER"]
    assert get_entities(labels) == [("MISC", 1, 2), ("PER", 4, 5)]
    turned = ["-".join(reversed(label.split("-"))) for label in labels]
    assert get_entities(turned, suffix=True) == get_entities(labels)
    assert get_entities([["O", "B", "I"], ["B", "O"]]) == [("_", 1, 2), ("_", 4, 4)]


def test_the_warning_is_also_that_of_scikit_learn_if_it_is_imported():
    exceptions = pytest.importorskip("sklearn.exceptions")
    from taggers.metrics import UndefinedMetricWarning, f1_score

    for kind in (exceptions.UndefinedMetricWarning, UndefinedMetricWarning):
        with pytest.warns(kind, match="is set to 0"):
            f1_score([["O"]], [["O"]])
