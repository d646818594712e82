"""Sequence labelling: sentences of sparse tokens, a label for each token."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from structsvm.problem import Problem
from structsvm.problems.sequence.bigrams import Bigrams
from structsvm.problems.sequence.label_parts import LabelParts
from structsvm.validation import check_choice, check_count, check_loss_matrix, diagonal_matrix

LANES = 8  # labels are padded to a multiple of it
UNKNOWN = -1
MOST_ORDER = 99
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-6, 1e6  # of a token


@dataclass
class Sequences:
    """A data set of sentences as flat arrays.

    Token t has the features `rows[token_ptr[t]:token_ptr[t + 1]]`, with the same slice of `values` (None: all
    values are 1). Sentence s has the tokens from `sentence_ptr[s]` up to, but not including,
    `sentence_ptr[s + 1]`. `bigrams` holds the features that depend on an earlier label, if the problem has
    any.
    """

    rows: np.ndarray
    token_ptr: np.ndarray
    sentence_ptr: np.ndarray
    values: np.ndarray | None = None
    bigrams: Bigrams | None = None

    def __len__(self) -> int:
        return self.n_sentences

    def __getitem__(self, chosen: slice | np.ndarray) -> Sequences:
        """Some of the sentences."""
        numbers = np.arange(len(self))[chosen]
        tokens, sentence_ptr = _items(self.sentence_ptr, numbers)
        token_ptr = np.append(0, np.cumsum(self.token_ptr[tokens + 1] - self.token_ptr[tokens]))
        bounds = self.token_ptr[self.sentence_ptr]
        starts, ends = bounds[numbers].tolist(), bounds[numbers + 1].tolist()

        def of(array: np.ndarray) -> np.ndarray:  # whole sentences, as an index of each feature is large
            parts = (array[start:end] for start, end in zip(starts, ends, strict=True))
            return np.concatenate([array[:0], *parts])

        values = None if self.values is None else of(self.values)
        bigrams = None if self.bigrams is None else replace(self.bigrams, ids=self.bigrams.ids[tokens])
        return Sequences(of(self.rows), token_ptr, sentence_ptr, values, bigrams)

    @property
    def n_sentences(self) -> int:
        """The number of sentences, empty ones included."""
        return len(self.sentence_ptr) - 1

    @property
    def n_tokens(self) -> int:
        """The number of tokens in all sentences."""
        return len(self.token_ptr) - 1


@dataclass
class SequenceLabels:
    """A code for each token: its label, -1 for any, or -2 - k for any label of sets[k].

    weights: of each token, None for 1. Training minimises the weighted number of wrong labels: the weight of
    a sentence is multiplied by the mean weight of its labelled tokens, and the loss of each token by its
    weight over this mean. With greedy inference, the weight is that of a pattern. A token with the weight 0
    may have any label, so its code becomes -1.
    """

    codes: np.ndarray
    sentence_ptr: np.ndarray
    sets: list[np.ndarray] = field(default_factory=list)
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.weights is not None:
            self.check_weights()
            self.codes = np.where(self.weights == 0, UNKNOWN, self.codes)

    def __len__(self) -> int:
        return len(self.sentence_ptr) - 1

    def __getitem__(self, chosen: slice | np.ndarray) -> SequenceLabels:
        """The labels of some of the sentences."""
        tokens, sentence_ptr = _items(self.sentence_ptr, np.arange(len(self))[chosen])
        weights = None if self.weights is None else self.weights[tokens]
        return SequenceLabels(self.codes[tokens], sentence_ptr, self.sets, weights)

    def check_weights(self) -> None:
        """Reject weights that are not a number in range for each token."""
        if self.weights is None:
            return
        if np.shape(self.weights) != np.shape(self.codes) or self.weights.dtype.kind != "f":
            raise ValueError(f"the weights of {len(self.codes)} tokens must be an array of as many floats")
        known = self.weights[self.weights != 0]
        if not np.all((known >= np.float32(LEAST_WEIGHT)) & (known <= LARGEST_WEIGHT)):
            bounds = f"from {LEAST_WEIGHT:g} to {LARGEST_WEIGHT:,.0f}"
            raise ValueError(f"the weights of tokens must be 0 or {bounds}")


def _items(pointers: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the items of the chosen groups are, group after group, and pointers to the chosen groups."""
    sizes = pointers[chosen + 1] - pointers[chosen]
    ends = np.append(0, np.cumsum(sizes))
    return np.repeat(pointers[chosen] - ends[:-1], sizes) + np.arange(ends[-1]), ends


class SequenceProblem(Problem):
    """Label the tokens of a sentence, by Viterbi or greedily.

    inference="exact": Phi(x, y) counts label bigrams (including the start) and (feature, label) pairs. A
    pattern is a sentence; its loss is the sum over tokens of loss[right, predicted]. With loss="hamming" (the
    number of wrong labels) or "0/1" (whether any label is wrong), the search keeps the best labelling for
    each number of wrong labels. This is slower, but also exact for slack rescaling and L2 slacks.

    inference="greedy": labels one token after another, given the `order` previous labels (the right ones in
    training). A pattern is a token (thesis 5.3).

    You can set the attribute `count` to a function (labels, predicted, sentence_ptr) -> the numbers of true,
    predicted and correct segments; `Point.looks` then has them.

    Parameters
    ----------
    barred
        Forbidden transitions and last labels. The first array, (n_labels + 1, n_labels) booleans, is True if
        a label may not follow another (last row: may not come first). The second, n_labels booleans, is True
        if a label may not come last. Greedy training ignores both.
    bigrams
        For each kind of bigram feature (see `Bigrams`), the distance to its label; exact inference supports
        only a distance of 1.
    parts, per_part
        The parts of each label (see `LabelParts`). Labels share the weights of their parts: a label's score
        is the sum over its parts. Greedy inference only. The loss of a wrong label is 1, and `per_part` for
        each part that only one of both labels has.
    """

    def __init__(
        self,
        n_labels: int,
        *,
        inference: str = "exact",
        order: int = 1,
        loss: Any = None,
        barred: tuple[Any, Any] | None = None,
        bigrams: tuple[int, ...] = (),
        parts: LabelParts | None = None,
        per_part: float = 0.0,
    ) -> None:
        self.n_labels = n_labels
        self.inference = inference
        self.order = order
        check_choice(inference=(inference, ("exact", "greedy")))
        check_count(n_labels=n_labels, low=1)
        check_count(order=order, high=MOST_ORDER)
        if inference == "exact" and order != 1:
            raise ValueError(f"exact inference requires order 1, got {order}; use greedy inference")
        if min(bigrams, default=1) < 1:
            raise ValueError(f"bigrams must look at least 1 label back, got {min(bigrams)}")
        if inference == "exact" and max(bigrams, default=1) > 1:
            raise ValueError("exact inference looks only one label back; use greedy inference")
        self.count: Any = None
        self.bigrams = tuple(bigrams)
        self.counted = loss if isinstance(loss, str) else None
        if self.counted:
            check_choice(loss=(loss, ("hamming", "0/1")))
            if inference != "exact" or self.bigrams:
                raise ValueError(f"the loss {loss!r} needs exact inference without bigram features")
            loss = None
        if parts is not None:
            self._check_parts(parts, loss, barred)
        self.parts = parts
        self.per_part = per_part
        # The weights of a row, one for each label or part; the stride pads them.
        self.width = n_labels if self.parts is None else self.parts.n_parts
        self._loss = None if loss is None else check_loss_matrix(loss, n_labels)
        self.stride = -(-self.width // LANES) * LANES
        self.history = n_labels + 1 if inference == "exact" else order * (self.width + 1)
        self.barred, self.barred_end = penalties(barred, n_labels if parts is None else 1, self.stride)

    def _check_parts(self, parts: LabelParts, loss: Any, barred: Any) -> None:
        if self.inference != "greedy" or self.bigrams or loss is not None or barred is not None:
            raise ValueError(
                "labels with parts need greedy inference, without bigram features, barred labels or a loss"
            )
        if parts.n_labels != self.n_labels:
            raise ValueError(f"parts of {parts.n_labels} labels for {self.n_labels} labels")

    @property
    def loss_(self) -> np.ndarray:
        """The loss of each predicted label by the right one; labelling does without it."""
        return diagonal_matrix(self.n_labels, 0.0, 1.0) if self._loss is None else self._loss

    @property
    def offset(self) -> int:
        """Where the weights of the first feature row begin."""
        return self.history * self.stride

    def oracle(self) -> Any:
        from structsvm.problems.sequence._oracles import ExactOracle, GreedyOracle

        if self.parts is not None:
            from structsvm.problems.sequence._parts import PartsOracle

            return PartsOracle(self, self.parts, self.stride, self.order, self.per_part)
        if self.inference == "greedy":
            return GreedyOracle(self, self.n_labels, self.stride, self.loss_, self.order, self.n_labels)
        if self.counted:
            from structsvm.problems.sequence._counted import CountedOracle

            limit = 1 if self.counted == "0/1" else 2**31
            return CountedOracle(self, self.n_labels, self.stride, self.barred, self.barred_end, limit)
        if self.bigrams:
            from structsvm.problems.sequence._bigrams import BigramOracle

            return BigramOracle(self, self.n_labels, self.stride, self.loss_, self.barred, self.barred_end)
        return ExactOracle(self, self.n_labels, self.stride, self.loss_, self.barred, self.barred_end)

    def check_sequences(self, X: Any, y: Any) -> None:
        """Reject sentences and labels that do not match each other or the problem."""
        self.check_arrays(X, y)
        if bool(self.bigrams) != (X.bigrams is not None):
            raise ValueError("the sentences must have bigram features if and only if the problem has them")
        if X.bigrams is not None:
            X.bigrams.check(len(X.token_ptr) - 1, len(self.bigrams), self.n_labels)
            self.check_size(X.bigrams.rows)

    def check_size(self, rows: np.ndarray) -> None:
        """Reject feature rows whose number of weights does not fit into 32 bits."""
        if self.offset + (int(rows.max(initial=-1)) + 1) * self.stride >= 2**31:
            raise ValueError(f"more than 2**31 weights for {self.n_labels} labels; use a higher cutoff")

    def check_arrays(self, X: Any, y: Any) -> None:
        """Reject inconsistent arrays, because compiled code indexes with them."""
        arrays = {"rows": X.rows, "token_ptr": X.token_ptr, "sentence_ptr": X.sentence_ptr, "codes": y.codes}
        for name, array in arrays.items():
            if array.ndim != 1 or array.dtype.kind != "i":
                raise ValueError(f"{name} must be a 1d array of integers")
        n_tokens = len(X.token_ptr) - 1
        ends = {"token_ptr": len(X.rows), "sentence_ptr": n_tokens}
        for name, end in ends.items():
            pointers = getattr(X, name)
            rising = len(pointers) and pointers[0] == 0 and pointers[-1] == end
            if not rising or (pointers[1:] < pointers[:-1]).any():
                raise ValueError(f"{name} must increase from 0 to {end}")
        if (least := X.rows.min(initial=0)) < 0:
            raise ValueError(f"feature row {least} is negative")
        self.check_size(X.rows)
        if X.values is not None and (X.values.shape != X.rows.shape or not np.all(np.isfinite(X.values))):
            raise ValueError("feature values must be finite, one for each row")
        same = X.sentence_ptr is y.sentence_ptr or np.array_equal(X.sentence_ptr, y.sentence_ptr)
        if len(y.codes) != n_tokens or not same:
            raise ValueError(f"labels of {len(y.codes)} tokens for {n_tokens} tokens, or sentences differ")
        low, high = y.codes.min(initial=0), y.codes.max(initial=0)
        if low <= -2 - len(y.sets) or high >= self.n_labels:
            bad = low if low <= -2 - len(y.sets) else high
            raise ValueError(f"unknown label {bad}: there are {self.n_labels} labels and {len(y.sets)} sets")
        y.check_weights()
        if y.weights is not None and self.counted:
            raise ValueError(
                f"the loss {self.counted!r} counts wrong labels without weights of tokens; leave out the "
                "weights, or pass a matrix of losses"
            )
        if any(np.shape(one) != (self.n_labels,) or not np.any(one) for one in y.sets):
            raise ValueError(f"a set of allowed labels must be {self.n_labels} booleans, not all false")

    def check_stored(self, X: Sequences, y: SequenceLabels, places: np.ndarray) -> None:
        """Reject places that no oracle has stored; `places` holds the sentence and token of each slot."""
        self.check_arrays(X, y)
        lengths = np.diff(X.sentence_ptr)
        if places.ndim != 2 or places.shape[1] != 2 or places.dtype != np.int64:
            raise ValueError("the places of stored sentences must be pairs of integers")
        sentence, token = places.T
        if np.any((sentence < 0) | (sentence >= len(lengths)) | (token < 0)) or np.any(
            token >= lengths[sentence]
        ):
            raise ValueError("a place of the stored sentences lies outside them")

    # The same problem in Python: a sentence is a list of {row: value}, y a tuple of labels.

    def joint_feature(self, x: Any, y: Any) -> dict[int, float]:
        feature: dict[int, float] = {}
        for t, label in enumerate(y):
            before = y[t - 1] if t else self.n_labels
            index = before * self.stride + label
            feature[index] = feature.get(index, 0.0) + 1.0
            for row, value in x[t].items():
                index = self.offset + row * self.stride + label
                feature[index] = feature.get(index, 0.0) + value
        return feature

    def loss(self, y: Any, other: Any) -> float:
        loss = self.loss_
        wrong = float(sum(loss[a, b] for a, b in zip(y, other, strict=True)))
        return min(wrong, 1.0) if self.counted == "0/1" else wrong

    def candidates(self, x: Any) -> Any:
        allowed = self.barred == 0
        for y in product(range(self.n_labels), repeat=len(x)):
            pairs = zip((self.n_labels, *y), y, strict=False)
            if all(allowed[p, q] for p, q in pairs) and self.barred_end[y[-1]] == 0:
                yield y


def penalties(barred: tuple[Any, Any] | None, n_labels: int, stride: int) -> tuple[np.ndarray, np.ndarray]:
    """Penalties on transitions and on last labels: 0, or so large that barred labels never win."""
    follow, end = np.zeros((n_labels + 1, stride), np.float32), np.zeros(n_labels, np.float32)
    if barred is not None:
        follow[:, :n_labels][np.asarray(barred[0], dtype=bool)] = -1e30
        end[np.asarray(barred[1], dtype=bool)] = -1e30
    return follow, end
