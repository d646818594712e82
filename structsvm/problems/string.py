"""Strings as inputs and outputs: subsequence kernels, and a choice among candidates Gen(x) (thesis 4.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from structsvm.problem import Problem
from structsvm.problems.multiclass import Multiclass
from structsvm.validation import check_count

MOST_FEATURES = 1 << 20


def subsequence_kernel(a: str, b: str, *, length: int = 3, decay: float = 0.01) -> float:
    """The string subsequence kernel of Lodhi et al. (2002), in O(length |a| |b|) steps.

    The sum over all subsequences of that length common to both strings of decay^(places they span in a and
    b); a subsequence may have gaps.
    """
    check_string_options(length, decay)
    # prefix[i, j]: pairs of subsequences of a[:i] and b[:j], each spanning to the end of its string.
    prefix = np.ones((len(a) + 1, len(b) + 1))
    for _ in range(length - 1):
        longer = np.zeros_like(prefix)
        for i, letter in enumerate(a):
            row = 0.0  # those whose last letter is a[i]
            for j, other in enumerate(b):
                row = decay * row + (decay * decay * prefix[i, j] if letter == other else 0.0)
                longer[i + 1, j + 1] = decay * longer[i, j + 1] + row
        prefix = longer
    same = np.array([[letter == other for other in b] for letter in a], dtype=bool).reshape(len(a), len(b))
    return float(decay * decay * prefix[:-1, :-1][same].sum())


def subsequence_features(
    strings: Sequence[str], *, alphabet: Sequence[str], length: int = 3, decay: float = 0.01
) -> np.ndarray:
    """Explicit features of the subsequence kernel: a column for each of the |alphabet|^length subsequences.

    Rows have unit length, so their products are the normalised kernel. A string that is too short for any
    subsequence gets a zero row.
    """
    check_string_options(length, decay)
    place = {letter: k for k, letter in enumerate(alphabet)}
    size = len(alphabet)
    if size**length > MOST_FEATURES:
        raise ValueError(
            f"{size} letters have {size**length} subsequences of length {length}, too many to enumerate; "
            "use subsequence_kernel with KernelLaRank(kernel='precomputed')"
        )
    features = np.zeros((len(strings), size**length))
    for row, string in enumerate(strings):
        # begun[k]: subsequences of k + 1 letters so far, each spanning to the last letter read.
        begun = [np.zeros((size,) * (k + 1)) for k in range(length)]
        found = np.zeros((size,) * length)
        for letter in string:
            if letter not in place:
                raise ValueError(f"{string!r} has the letter {letter!r}, which is not in the alphabet")
            new = [decay * (begun[k - 1] if k else np.ones(())) for k in range(length)]
            for k in range(length):
                begun[k] *= decay
                begun[k][..., place[letter]] += new[k]
            found[..., place[letter]] += new[-1]
        features[row] = found.ravel() / (np.linalg.norm(found) or 1.0)
    return features


class StringProblem(Multiclass):
    """An output string for each input string, chosen among candidates.

    Phi(x, y) = Phi(x) (x) Lambda(y), both with the features of the normalised subsequence kernel, so <Phi(x,
    y), Phi(x', y')> = K(x, x') L(y, y'). The loss is 1 - L, and 0 only for the right string.

    Parameters
    ----------
    length, decay
        Parameters of the kernel: the length of subsequences, and the factor of each place that they span.
    outputs
        The strings to choose from, by default all outputs of the first data.
    generate
        Gen(x), a function that returns the candidates of an input among the outputs; training then
        enumerates them in Python.
    alphabet
        The letters of the strings, by default those of the first data.
    """

    def __init__(
        self,
        *,
        length: int = 3,
        decay: float = 0.01,
        outputs: Iterable[str] | None = None,
        generate: Callable[[str], Iterable[str]] | None = None,
        alphabet: Iterable[str] | None = None,
    ) -> None:
        check_string_options(length, decay)
        super().__init__(classes=None if outputs is None else sorted(set(outputs)))
        self.length, self.decay, self.generate = length, decay, generate
        self.alphabet = None if alphabet is None else sorted(set(alphabet))

    def prepare(self, X: Any, y: Any) -> None:
        outputs = sorted(set(check_strings(y, "y")) if self.classes is None else set(self.classes))
        seen = {letter for string in [*check_strings(X, "X"), *outputs] for letter in string}
        self.letters = self.alphabet or sorted(seen)
        self.output_features = self.features(outputs)
        self.loss_matrix = 1.0 - np.clip(self.output_features @ self.output_features.T, 0, 1)
        np.fill_diagonal(self.loss_matrix, 0)
        self.classes = outputs
        super().prepare(self.features(X), y)

    def oracle(self) -> Any:
        return super().oracle() if self.generate is None else Problem.oracle(self)

    def features(self, strings: Sequence[str]) -> np.ndarray:
        return subsequence_features(strings, alphabet=self.letters, length=self.length, decay=self.decay)

    def checked(self, X: Any) -> Any:
        return super().checked(self.features(check_strings(X, "X")))

    def joint_feature(self, x: str, y: str) -> tuple[np.ndarray, np.ndarray]:
        features = self.output_features_[self.encode_labels([y])[0]]
        joint = np.outer(self.features([x])[0], features).ravel()
        used = np.flatnonzero(joint)
        return used, joint[used]

    def candidates(self, x: str) -> np.ndarray:
        return self.classes_ if self.generate is None else np.asarray(list(self.generate(x)))

    def predict(self, X: Any, w: np.ndarray) -> np.ndarray:
        if self.generate is None:
            return super().predict(X, w)
        return np.array([self.argmax(x, w) for x in X])


def check_string_options(length: int, decay: float) -> None:
    check_count(length=length, low=1)
    if not 0 < decay <= 1:
        raise ValueError(f"decay must be above 0 and at most 1, got {decay!r}")


def check_strings(strings: Any, name: str) -> list[str]:
    """Reject anything but a list of strings; a single string would be treated as a list of letters."""
    if isinstance(strings, str):
        raise ValueError(f"{name} is a single string; pass a list of strings")
    for position, string in enumerate(strings):
        if not isinstance(string, str):
            raise ValueError(f"{name}[{position}] = {string!r} is not a string")
    return list(strings)
