"""Read word classes from files: Brown clusters, words with tags, word vectors, and the tables of spaCy.

The kind of a file is detected from its first lines. Reading word vectors clusters them. The words of raw
text are clustered too, in memory that does not grow with the text.
"""

from __future__ import annotations

import gzip
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from structsvm.files.errors import DataError
from structsvm.files.inputs import file_name, open_input
from taggers.features._lexicon import hash_string
from taggers.features.packages import CLUSTERS, lookups
from taggers.features.word_classes import PATH, Text, WordClasses, group_vectors, learn_classes
from taggers.formats._columns import Columns
from taggers.formats.files import read_columns

N_CLASSES = 500  # of word vectors
TEXT = "text"  # what templates call the classes of raw text
SPACY = "spacy:"
SPACY_BITS = 16
MOST_CLASSES = 1 << 20
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
FEW_TAGS = 20  # a small file may have more tags than words
BAD_TEXT = "not valid UTF-8; save the file in UTF-8 (--encoding is for sentences only)"


def read_classes(source: Any, *, most: int | None = None, n_classes: int = N_CLASSES) -> WordClasses:
    """Word classes from a file, from a table of spaCy (spacy:es), or from a dict of words.

    most: keep this many words, those with the highest counts or else the first ones. n_classes: the number
    of clusters of word vectors. The value of a dict is a class, or a list of tags, which together are one
    class (an ambiguity class).
    """
    if isinstance(source, Mapping):
        return _from_tags({word: _tags(tags) for word, tags in source.items()}, most, "classes")
    if not isinstance(source, (str, Path)):
        raise ValueError(f"word classes must be a file, spacy:LANGUAGE or a dict, got {source!r}"[:300])
    if str(source).startswith(SPACY):
        return _from_spacy(str(source), most)
    name = file_name(source)
    with open_input(source) as file:
        lines = _lines(file, name)
        head = list(islice(lines, 2))
        if not head:
            raise DataError("the file of word classes is empty", name)
        rest = chain(head, lines)
        if _is_brown(head[0][1]):
            return _from_brown(rest, most, name)
        if _has_vectors([text for _, text in head]):
            return _from_vectors(rest, most, n_classes, name)
        return _from_tags(_word_tags(rest, name), most, name)


def text_classes(
    files: Any,
    n_classes: int,
    *,
    columns: Columns | None = None,
    encoding: str = "utf-8",
    progress: Callable[[int], None] | None = None,
) -> tuple[WordClasses, list[tuple[str, int]]]:
    """The classes of the words in files of plain text, and these words with their counts.

    columns: more sentences of the text. progress: called with the number of tokens so far.
    """
    with Text() as text:
        if columns is not None:
            text.add(columns)
        for file in [files] if isinstance(files, (str, Path)) else files:
            for part in read_columns(file, "text", encoding=encoding):
                text.add(part)
                if progress is not None:
                    progress(text.n_tokens)
        classes, words = learn_classes(text, n_classes, named=True)
        return classes, [(word, int(text.counts[text.ids[word]])) for word in words]


def read_text(file: BinaryIO, name: str) -> bytes:
    """The bytes of a text file in UTF-8, without a byte order mark."""
    try:
        data = file.read()
        data.decode()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError("the gzip file is damaged; compress it again", name) from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(BAD_TEXT, name, line) from None
    return data.removeprefix(b"\xef\xbb\xbf")


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not empty, with their numbers."""
    number = 0
    try:
        for number, line in enumerate(file, 1):
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            if text.strip():
                yield number, text
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError("the gzip file is damaged; compress it again", name) from error
    except UnicodeDecodeError:
        raise DataError(BAD_TEXT, name, number) from None


# -- Brown clusters -----------------------------------------------------------------------------


def _is_brown(line: str) -> bool:
    fields = line.split("\t")
    return len(fields) == 3 and bool(PATH.fullmatch(fields[0])) and fields[2].strip().isdecimal()


def _from_brown(lines: Iterable[tuple[int, str]], most: int | None, name: str) -> WordClasses:
    words: dict[str, str] = {}
    counts = []
    for number, line in lines:
        if not _is_brown(line):
            raise DataError(
                "expected a path of 0 and 1, a word and a count, with tabs between them", name, number
            )
        path, word, count = line.split("\t")
        if word not in words:
            words[word] = path
            counts.append(int(count))
    return _numbered(words, most, name, counts)


def _from_spacy(source: str, most: int | None) -> WordClasses:
    """The clusters of spacy-lookups-data: a number whose lowest bits are the first of the path."""
    language = source.removeprefix(SPACY)
    try:
        numbers = lookups(language, CLUSTERS)
    except ImportError:
        raise ValueError(f"{source} needs a package: pip install spacy-lookups-data") from None
    if numbers is None:
        raise ValueError(
            f"{source}: spacy-lookups-data has no word classes for {language!r}; it has de, en, es"
        )
    paths = {number: f"{number:0{SPACY_BITS}b}"[::-1] for number in set(numbers.values())}
    return _numbered({word: paths[number] for word, number in numbers.items() if number}, most, source)


# -- words with tags ----------------------------------------------------------------------------


def _tags(tags: Any) -> list[str]:
    return [str(tags)] if isinstance(tags, (str, int)) else sorted(set(map(str, tags)))


def _word_tags(lines: Iterable[tuple[int, str]], name: str) -> dict[str, list[str]]:
    """The tags of each word; those of a word on several lines are joined.

    Many lines of a text begin with the same words; lines of a lexicon seldom do.
    """
    found: dict[str, list[str]] = {}
    spaced, n_lines = False, 0
    for number, line in lines:
        word, *tags = line.split("\t") if "\t" in line else line.split()
        tags = [tag.strip() for tag in tags if tag.strip()]
        if not word or not tags:
            raise DataError("expected a word and its class or tags, with tabs between them", name, number)
        found[word] = sorted({*found.get(word, ()), *tags})
        spaced |= "\t" not in line
        n_lines += 1
    different = {tag for tags in found.values() for tag in tags}
    if spaced and len(different) > max(len(found), FEW_TAGS):
        what = (
            f"looks like text, not word classes: {len(found):,} words have {len(different):,} different "
            "tags; learn classes from text with --text FILE or structsvm classes, or put tabs between words "
            "and tags"
        )
        if n_lines > len(found):
            raise DataError(what, name)
        warnings.warn(f"{name}: {what}", stacklevel=2)
    return found


def _from_tags(words: Mapping[str, list[str]], most: int | None, name: str) -> WordClasses:
    return _numbered({word: "|".join(tags) for word, tags in words.items()}, most, name)


# -- word vectors -------------------------------------------------------------------------------


def _has_vectors(head: list[str]) -> bool:
    first, second = (line.split() for line in (head[0], head[-1]))
    if len(first) == 2 and all(map(str.isdecimal, first)):
        return len(head) > 1 and len(second) == int(first[1]) + 1
    long = len(first) > 3 or (len(first) == 3 and any("." in cell for cell in first[1:]))
    return "\t" not in head[0] and long and all(map(NUMBER.fullmatch, first[1:]))


def _from_vectors(
    lines: Iterable[tuple[int, str]], most: int | None, n_classes: int, name: str
) -> WordClasses:
    words, vectors = vector_lines(lines, most, name)
    numbers, paths = group_vectors(np.array(vectors), n_classes)
    return _numbered({word: paths[number] for word, number in zip(words, numbers, strict=True)}, None, name)


def read_vector_file(source: str | Path, most: int | None) -> tuple[list[str], list[np.ndarray]]:
    """The words of a file of word vectors, and their vectors."""
    name = file_name(source)
    with open_input(source) as file:
        words, vectors = vector_lines(_lines(file, name), most, name)
    if not words:
        raise DataError("the file of word vectors is empty", name)
    return words, vectors


def vector_lines(
    lines: Iterable[tuple[int, str]], most: int | None, name: str
) -> tuple[list[str], list[np.ndarray]]:
    """The words and vectors of the lines of a file; `most` limits their number."""
    words: list[str] = []
    vectors: list[np.ndarray] = []
    for number, line in lines:
        word, *cells = line.rstrip().split(" ")
        if number == 1 and len(cells) == 1:
            continue  # the header of word2vec and fastText
        if vectors and len(cells) != len(vectors[0]):
            what = f"{len(cells)} numbers, but the first vector has {len(vectors[0])}"
            raise DataError(f"{what}; all vectors must have the same width", name, number)
        try:
            vector = np.array(cells or [""], np.float32)  # a line without numbers is an error too
        except ValueError:
            raise DataError("expected a word and the numbers of its vector", name, number) from None
        if not np.isfinite(vector).all():
            raise DataError("the numbers of a vector must be finite", name, number)
        words.append(word)
        vectors.append(vector)
        if most is not None and len(words) == most:
            break
    return words, vectors


def _numbered(
    words: Mapping[str, str], most: int | None, name: str, counts: list[int] | None = None
) -> WordClasses:
    """The word classes for {word: class}."""
    keys = np.array([hash_string(word) for word in words], np.uint64)
    classes = {label: number for number, label in enumerate(dict.fromkeys(words.values()))}
    if not len(keys):
        raise DataError("there are no word classes", name)
    if len(classes) > MOST_CLASSES:
        raise DataError(
            f"{len(classes):,} different classes, but at most {MOST_CLASSES:,} are possible; is the first "
            "column the word?", name,
        )  # fmt: skip
    small = np.uint16 if len(classes) <= 1 << 16 else np.uint32
    numbers = np.fromiter((classes[label] for label in words.values()), small, len(words))
    _, first = np.unique(keys, return_index=True)
    order = np.argsort(-np.array(counts), kind="stable") if counts else np.arange(len(keys))
    order = order[np.isin(order, first) & (keys[order] != 0)][:most]
    return WordClasses(keys[order], numbers[order], tuple(classes))
