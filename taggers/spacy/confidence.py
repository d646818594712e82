"""`token._.margin`, `span._.margin` and `doc._.nbest`: the confidence of a component, if it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from spacy.tokens import Doc, Span, Token

MARGINS, NBEST = "structsvm_margins", "structsvm_nbest"


def register() -> None:
    """Make the attributes known to spaCy, unless another package has taken their names."""
    if not Token.has_extension("margin"):
        Token.set_extension("margin", getter=_token_margin)
    if not Span.has_extension("margin"):
        Span.set_extension("margin", getter=_span_margin)
    if not Doc.has_extension("nbest"):
        Doc.set_extension("nbest", getter=lambda doc: doc.user_data.get(NBEST))


def keep_margins(docs: Sequence[Doc], bounds: Sequence[int], tokens: np.ndarray, margins: np.ndarray) -> None:
    """Store the margin of each token in its doc; tokens of white space have none."""
    flat: list[float | None] = [None] * bounds[-1]
    for at, margin in zip(tokens.tolist(), margins.tolist(), strict=True):
        flat[at] = margin
    for doc, (start, end) in zip(docs, pairwise(bounds), strict=True):
        doc.user_data[MARGINS] = flat[start:end]


def keep_nbest(docs: Sequence[Doc], owners: Sequence[int], labellings: Sequence[Any]) -> None:
    """Store the best labellings of each sentence, as (score, labels), in the doc that it belongs to."""
    for doc in docs:
        doc.user_data[NBEST] = []
    for owner, best in zip(owners, labellings, strict=True):
        docs[owner].user_data[NBEST].append(best)


def _token_margin(token: Token) -> float | None:
    margins = token.doc.user_data.get(MARGINS)
    return None if margins is None else margins[token.i]


def _span_margin(span: Span) -> float | None:
    """The smallest margin of its tokens."""
    found = [margin for margin in map(_token_margin, span) if margin is not None]
    return min(found, default=None)
