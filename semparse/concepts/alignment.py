"""Align the labels of bags with words by co-occurrence, as a start for learning from bags."""

from __future__ import annotations

import numpy as np


def align(
    words: np.ndarray, labels: np.ndarray, starts: np.ndarray, shape: tuple[int, int], rounds: int = 10
) -> np.ndarray:
    """The labels of each sentence in the order of its words.

    EM estimates P(label | word), where one word explains each label of a sentence (IBM model 1, from words to
    labels). Then each sentence gets one label per word, starting with the most probable pair.
    """
    lengths = np.diff(starts)
    sizes = np.repeat(lengths, lengths)
    # All pairs of a word and a label of the same sentence.
    label_at = np.repeat(np.arange(len(labels)), sizes)
    first = np.repeat(np.repeat(starts[:-1], lengths), sizes)
    word_at = first + np.arange(len(label_at)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    pairs = words[word_at].astype(np.int64) * shape[1] + labels[label_at]
    table: np.ndarray = np.ones(shape)
    for _ in range(rounds):
        weight = table.ravel()[pairs]
        weight /= np.bincount(label_at, weight, minlength=len(labels))[label_at]
        table = np.bincount(pairs, weight, minlength=table.size).reshape(table.shape)
        table = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-12)
    scores = table.ravel()[pairs]
    found = np.empty_like(labels)
    end = np.cumsum(lengths**2)
    for start, n, stop in zip(starts[:-1], lengths, end, strict=True):
        block = scores[stop - n * n : stop].reshape(n, n).copy()  # labels by words
        for _ in range(n):
            label, word = divmod(int(block.argmax()), n)
            found[start + word] = labels[start + label]
            block[label], block[:, word] = -1, -1
    return found
