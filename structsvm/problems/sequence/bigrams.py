"""Input features joined with an earlier label: one row of weights for each pair of feature and label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Bigrams:
    """ids[t, k]: the number of token t's k-th bigram feature, or -1 if it has no such feature.

    rows[i, p]: the feature row of number i after label p (the last column: no earlier label), or -1 if the
    pair has no weights. `SequenceProblem.bigrams` says for each k how many tokens earlier p is.
    """

    ids: np.ndarray  # int32, tokens x kinds
    rows: np.ndarray  # int32, numbers x (n_labels + 1)

    def check(self, n_tokens: int, kinds: int, n_labels: int) -> None:
        """Reject inconsistent arrays, because compiled code indexes with them."""
        if self.ids.shape != (n_tokens, kinds) or self.ids.dtype != np.int32:
            raise ValueError(f"bigram ids must be int32, {n_tokens} tokens x {kinds}, got {self.ids.shape}")
        if self.rows.ndim != 2 or self.rows.shape[1] != n_labels + 1 or self.rows.dtype != np.int32:
            raise ValueError(f"bigram rows must be int32, numbers x {n_labels + 1}, got {self.rows.shape}")
        if (
            self.ids.max(initial=-1) >= len(self.rows)
            or min(self.ids.min(initial=-1), self.rows.min(initial=-1)) < -1
        ):
            raise ValueError("a bigram's number or row lies outside the model")


def labels_before(codes: np.ndarray, sentence_ptr: np.ndarray, distance: int, none: int) -> np.ndarray:
    """The label `distance` tokens before each token; `none` at the start and if it is unknown."""
    before = np.full(len(codes), none, np.int32)
    before[distance:] = codes[: max(len(codes) - distance, 0)]
    place = np.arange(len(codes)) - np.repeat(sentence_ptr[:-1], np.diff(sentence_ptr))
    return np.where((place < distance) | (before < 0), none, before)


def with_gold_rows(X: Any, codes: np.ndarray, distances: tuple[int, ...], n_labels: int) -> Any:
    """X with the rows of its bigrams after the gold labels as ordinary token features."""
    found = np.empty(X.bigrams.ids.shape, np.int32)
    for k, distance in enumerate(distances):
        before, number = labels_before(codes, X.sentence_ptr, distance, n_labels), X.bigrams.ids[:, k]
        found[:, k] = (
            -1 if not len(X.bigrams.rows) else np.where(number < 0, -1, X.bigrams.rows[number, before])
        )
    token, _ = np.nonzero(found >= 0)
    own = np.repeat(np.arange(len(codes)), np.diff(X.token_ptr))
    order = np.argsort(np.concatenate([own, token]), kind="stable")
    values = None if X.values is None else np.append(X.values, np.ones(len(token), np.float32))[order]
    counts = np.bincount(token, minlength=len(codes))
    return replace(
        X,
        rows=np.concatenate([X.rows, found[found >= 0]])[order].astype(np.int32),
        token_ptr=X.token_ptr + np.concatenate([[0], np.cumsum(counts)]),
        values=values,
        bigrams=None,
    )
