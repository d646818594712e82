"""The semantic parser passes the public checks of estimators."""

import pytest

from semparse import Ospas
from structsvm.checks import check_estimator
from tests.semparse.commentary import commentary


class Batches(Ospas):
    """A parser whose partial_fit takes several sentences, as other estimators' does."""

    def partial_fit(self, X, y):
        if y is None or not len(X) or len(X) != len(y):
            raise ValueError("pass as many candidates as sentences")
        for sentence, candidates in zip(X, y, strict=True):
            super().partial_fit(sentence, candidates)
        return self


@pytest.mark.parametrize("algorithm", ["latent", "paper"])
def test_the_parser_passes(algorithm):
    check_estimator(lambda: Batches(algorithm=algorithm), *commentary(24)[:2])


def test_an_empty_word_within_a_sentence_is_a_word_like_others():
    texts = ["a kicks", "b kicks", "a runs", "b runs"] * 5
    parser = Ospas().fit(texts, [["kick(a)"], ["kick(b)"], ["run(a)"], ["run(b)"]] * 5)
    assert [str(parse) for parse in parser.parse(["a", "", "kicks"])] == ["kick(a)"]
