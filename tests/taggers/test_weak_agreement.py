"""The agreement of sources: kappa, and warnings about sources that contradict the others."""

from __future__ import annotations

import random
import warnings

import pytest

from taggers.weak import Source, agreements, distil
from taggers.weak.agreement import warn_of_contradictions
from taggers.weak.report import html_report

WORDS = {"Rome": "B-LOC", "Oslo": "B-LOC", "Ida": "B-PER", "in": "O", "met": "O"}
X = [["in", "Rome"], ["in", "Oslo"], ["met", "Ida"], ["in", "Lima"]] * 12
SWAPPED = {"B-LOC": "B-PER", "B-PER": "B-LOC"}


def answers(change=lambda label: label):
    return [[change(WORDS.get(word, "B-LOC")) for word in words] for words in X]


def swap(label):
    return SWAPPED.get(label, label)


def test_kappa_equals_that_of_scikit_learn_for_labels_and_types():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = random.Random(1)
    names = ["O", "B-LOC", "B-PER", "I-PER", None]
    votes = {name: [[rng.choice(names) for _ in range(300)]] for name in "abc"}
    found = agreements(votes)
    assert [(pair.one, pair.two) for pair in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    for pair in found:
        both = [
            (x, y) for x, y in zip(votes[pair.one][0], votes[pair.two][0], strict=True)
            if x is not None and y is not None
        ]  # fmt: skip
        assert pair.tokens == len(both)
        assert pair.kappa == pytest.approx(metrics.cohen_kappa_score(*zip(*both, strict=True)))
        person = [[label[-3:] == "PER" for label in row] for row in zip(*both, strict=True)]
        assert pair.types["PER"] == pytest.approx(metrics.cohen_kappa_score(*person))
        assert set(pair.types) == {"LOC", "PER"}


def test_sources_without_common_tokens_and_sets_have_no_agreement():
    assert agreements({"a": [["O", None]], "b": [[None, "O"]]}) == []
    assert agreements({"a": [[frozenset(["O", "B-X"])]], "b": [["O"]]}) == []


@pytest.mark.parametrize("change", [swap, lambda label: label.replace("LOC", "GPE").replace("PER", "HUM")])
def test_sources_that_contradict_each_other_everywhere_are_named(change):
    sources = [Source("right", lambda X: answers()), Source("other", lambda X: answers(change))]
    with pytest.warns(UserWarning, match=r"tokens: right \(on 100% of 48 tokens\), other \(on"):
        distil(X, sources)


def test_sources_that_agree_or_speak_of_other_tokens_get_no_warning():
    half = [row if k % 2 else [None] * 2 for k, row in enumerate(answers())]
    rest = [[None] * 2 if k % 2 else row for k, row in enumerate(answers(swap))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_contradictions({"a": answers(), "b": half}, phrases=True)
        warn_of_contradictions({"a": half, "b": rest}, phrases=True)
        warn_of_contradictions({"a": half}, phrases=True)


def test_a_source_that_is_usually_wrong_is_named():
    sources = [Source(name, lambda X: answers()) for name in "abc"]
    with pytest.warns(UserWarning, match="wrong") as told:
        distil(X, [*sources, Source("wrong", lambda X: answers(swap))])
    assert "same tokens: wrong (on 100% of 48 tokens); one token has" in str(told[0].message)
    assert "the source wrong is right in 0% of its answers" in str(told[1].message)


def test_the_report_has_a_row_for_each_two_sources():
    done = distil(X, [Source(name, lambda X: answers()) for name in ("ann", "bob", "c <3")])
    page = html_report(done, title="t")
    assert (
        '<th scope="row" title="ann">ann</th><td class=text>bob</td><td>96</td><td>100.0%</td><td>1.00</td>'
        in page
    )
    assert '<th scope="row" title="bob">bob</th><td class=text>c &lt;3</td><td>96</td>' in page
    assert "from 3 sources and no gold labels" in page
