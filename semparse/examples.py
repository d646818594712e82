"""Check training examples: sentences must have words and candidates must be meanings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semparse.entities.tokens import Tokens, listed, read
from semparse.evidence import Candidates, check_weights
from semparse.meaning import MR, MeaningError, as_mr, is_open
from semparse.schema import Schema

Sentence = str | Sequence[str]
LONGEST = 2000  # words of a sentence; one of 10,000 takes a minute to learn


def as_tokens(sentence: Sentence) -> Tokens:
    """The words of a sentence, given as a text or as a list of words, in lower case."""
    if isinstance(sentence, Tokens):
        return sentence
    for token in () if isinstance(sentence, str) else sentence:
        if not isinstance(token, str):
            raise ValueError(f"{token!r} is not a word; a sentence must be a string or a list of strings")
    tokens = read(sentence) if isinstance(sentence, str) else listed(sentence)
    if len(tokens) > LONGEST:
        raise ValueError(f"a sentence has {len(tokens)} words, but at most {LONGEST} are allowed; split it")
    return tokens


def checked_examples(
    sentences: Sequence[Sentence],
    candidates: Sequence[Sequence[Any]],
    schema: Schema | None,
    weights: Sequence[Sequence[float] | None] | None = None,
    wrong: Sequence[Sequence[Any] | None] | None = None,
) -> tuple[list[Tokens], list[Candidates]]:
    """The words of each sentence and its candidates; raises ValueError if there are none at all."""
    for what, lists in (("candidates", candidates), ("weights", weights), ("wrong meanings", wrong)):
        if lists is not None and len(sentences) != len(lists):
            raise ValueError(f"{len(sentences)} sentences but {len(lists)} lists of {what}")
    if not len(sentences):
        raise ValueError("there are no sentences; pass at least one")
    names = [f"sentence {number}" for number in range(len(sentences))]
    X = [checked_tokens(sentence, name) for sentence, name in zip(sentences, names, strict=True)]
    more = [[None] * len(X) if lists is None else lists for lists in (weights, wrong)]
    bags = [
        checked_bag(bag, name, schema, its, bad)
        for bag, name, its, bad in zip(candidates, names, *more, strict=True)
    ]
    if not any(bags):
        raise ValueError("no sentence has candidates; pass a list of meanings for each, some of them empty")
    return X, bags


def checked_tokens(sentence: Sentence, what: str) -> Tokens:
    tokens = as_tokens(sentence)
    if not tokens:
        raise ValueError(f"{what} has no words; remove it")
    return tokens


def checked_bag(
    candidates: Sequence[Any],
    what: str,
    schema: Schema | None,
    weights: Sequence[float] | None = None,
    wrong: Sequence[Any] | None = None,
) -> Candidates:
    for name, given in (("candidates", candidates), ("wrong meanings", wrong)):
        if isinstance(given, (str, MR, dict)):
            raise ValueError(f"the {name} of {what} must be a list, got {given!r}")
    try:
        bag = [as_mr(candidate) for candidate in candidates]
        bad = [as_mr(one) for one in wrong or ()]
    except MeaningError as error:
        raise MeaningError(f"{what}: {error}") from None
    for mr in bag if schema is not None else ():
        if not is_open(mr):  # filling checks it
            schema.check(mr)  # type: ignore[union-attr]
    return Candidates(bag, None if weights is None else check_weights(weights, len(bag), what), bad)
