"""Readers of the multiclass sets: LETTER, USPS, MNIST and Reuters R8, each as one train/test split."""

import gzip
import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from corpora.registry import find

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Directory = str | os.PathLike[str] | None

LETTER_ROWS = 20_000
LETTER_TRAIN = 16_000
LETTER_FEATURES = 16
USPS_FEATURES = 256
R8_HEADER = "Class\tExample"


class Split(NamedTuple):
    """A split: X has one row of numbers per example, y the labels of the file."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


class TextSplit(NamedTuple):
    """A split whose examples are texts."""

    X_train: list[str]
    y_train: np.ndarray
    X_test: list[str]
    y_test: np.ndarray


def load_letter(directory: Directory = None) -> Split:
    """Read LETTER: 16 integers 0..15 as float32, labels "A".."Z", the first 16,000 rows for training."""
    path = find("uci_letter", directory) / "letter-recognition.data"
    rows = [line.split(",") for line in path.read_text(encoding="ascii").splitlines() if line]
    for number, row in enumerate(rows, 1):
        if len(row) != 1 + LETTER_FEATURES:
            raise ValueError(f"{path}:{number}: expected a letter and {LETTER_FEATURES} numbers.")
    if len(rows) != LETTER_ROWS:
        raise ValueError(f"{path}: expected {LETTER_ROWS} rows, got {len(rows)}.")
    X = np.array([row[1:] for row in rows], dtype=np.float32)
    y = np.array([row[0] for row in rows])
    return Split(X[:LETTER_TRAIN], y[:LETTER_TRAIN], X[LETTER_TRAIN:], y[LETTER_TRAIN:])


def load_usps(directory: Directory = None) -> Split:
    """Read USPS: 256 pixels in [-1, 1] as float32, labels 0..9; the training part is sorted."""
    folder = find("usps", directory)
    train, test = (folder / f"usps.{part}.svm.gz" for part in ("train", "test"))
    return Split(*read_svmlight(train, USPS_FEATURES), *read_svmlight(test, USPS_FEATURES))


def load_mnist(directory: Directory = None) -> Split:
    """Read MNIST: 784 pixels 0..255 as float32, labels 0..9."""
    folder = find("mnist", directory)
    parts: list[np.ndarray] = []
    for part in ("train", "t10k"):
        images = _idx(folder / f"{part}-images-idx3-ubyte.gz")
        labels = _idx(folder / f"{part}-labels-idx1-ubyte.gz")
        if len(images) != len(labels):
            raise ValueError(f"{folder}: {part} has {len(images)} images but {len(labels)} labels.")
        parts += [images.reshape(len(images), -1).astype(np.float32), labels.astype(np.int64)]
    return Split(*parts)


def load_r8(directory: Directory = None) -> TextSplit:
    """Read Reuters R8: texts of blank-separated lower-case words, labels such as "earn"."""
    folder = find("reuters_r8", directory)
    train, test = (folder / f"r8-{part}-all-terms.txt" for part in ("train", "test"))
    return TextSplit(*_labelled_texts(train), *_labelled_texts(test))


def tfidf(train_texts: Sequence[str], test_texts: Sequence[str]) -> "tuple[csr_matrix, csr_matrix]":
    """Turn texts into tf-idf rows of unit length, with the words and weights of the training texts.

    The value of word t in text d is  count(t, d) * (log((1 + n) / (1 + df(t))) + 1),  where n is the number
    of training texts and df(t) the number of them that contain t. Each row is then divided by its Euclidean
    length. Words are separated by blanks, columns are sorted by word, and words that occur only in the test
    texts are omitted.
    """
    train_counts = [Counter(text.split()) for text in train_texts]
    frequency = Counter(word for counts in train_counts for word in counts)
    column = {word: index for index, word in enumerate(sorted(frequency))}
    df = np.array([frequency[word] for word in column], dtype=np.float64)
    idf = np.log((1 + len(train_counts)) / (1 + df)) + 1
    test_counts = (Counter(text.split()) for text in test_texts)
    return _unit_rows(train_counts, column, idf), _unit_rows(test_counts, column, idf)


def _unit_rows(texts: Iterable[Counter[str]], column: dict[str, int], idf: np.ndarray) -> "csr_matrix":
    from scipy.sparse import csr_matrix  # here, so that importing corpora stays quick

    indices: list[int] = []
    values: list[int] = []
    indptr = [0]
    for counts in texts:
        known = sorted((column[word], count) for word, count in counts.items() if word in column)
        indices += [index for index, _ in known]
        values += [count for _, count in known]
        indptr.append(len(indices))
    data = np.array(values, dtype=np.float64) * idf[indices]
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    length = np.sqrt(np.bincount(row, weights=data**2, minlength=len(indptr) - 1))
    return csr_matrix((data / length[row], indices, indptr), shape=(len(indptr) - 1, len(column)))


def read_svmlight(path: Path, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Read lines "label index:value ..." as float32 rows and labels; missing values are zero."""
    labels: list[int] = []
    rows: list[np.ndarray] = []
    with gzip.open(path, "rt", encoding="ascii") as stream:
        for number, line in enumerate(stream, 1):
            try:
                label, row = _svmlight_row(line, n_features)
            except (ValueError, IndexError) as error:
                expected = f"expected an integer and pairs 1:value .. {n_features}:value"
                raise ValueError(f"{path}:{number}: {expected} ({error}).") from None
            labels.append(label)
            rows.append(row)
    return np.array(rows), np.array(labels, dtype=np.int64)


def _svmlight_row(line: str, n_features: int) -> tuple[int, np.ndarray]:
    label, *pairs = line.split()
    row = np.zeros(n_features + 1, dtype=np.float32)  # SVMlight counts from 1: column 0 is dropped
    for pair in pairs:
        index, value = pair.split(":")
        if index[0] in "0-":
            raise ValueError(f"index {index}")
        row[int(index)] = value
    return int(label), row[1:]


def _idx(path: Path) -> np.ndarray:
    """Read an IDX file of bytes: 0, 0, type 8, the number of dimensions, each as big-endian int32, data."""
    with gzip.open(path, "rb") as stream:
        content = stream.read()
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise ValueError(f"{path}: not an IDX file of unsigned bytes.")
    start = 4 + 4 * content[3]
    shape = tuple(int.from_bytes(content[at : at + 4]) for at in range(4, start, 4))
    if len(content) - start != math.prod(shape):
        raise ValueError(f"{path}: has {len(content) - start} bytes of data, its header says {shape}.")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def _labelled_texts(path: Path) -> tuple[list[str], np.ndarray]:
    labels: list[str] = []
    texts: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if number == 1 and line == R8_HEADER:  # a copy in circulation starts with it, the original does not
            continue
        label, tab, text = line.partition("\t")
        if not tab:
            raise ValueError(f"{path}:{number}: expected a class, a tab and a text.")
        labels.append(label)
        texts.append(text)
    return texts, np.array(labels)
