"""Read sentences and labels from JSON, and translate between labels of tokens and spans of characters."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from structsvm.integrations.starlette import Refused
from taggers.formats.tokenizer import split_sentences
from taggers.labels import schemes

LONGEST = 10_000  # tokens of a sentence
Token = str | tuple[str, ...]
Label = str | list[str] | None  # several allowed labels; None if unknown
Offset = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sentence:
    """Tokens and, if they come from a text, their offsets in it."""

    tokens: list[Token]
    offsets: list[Offset] | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters with its label, or with several labels of which one is right."""

    start: int
    end: int
    labels: tuple[str, ...]


def sentences_of_text(text: str, width: int) -> list[Sentence]:
    """Split a text into sentences of tokens with their offsets."""
    if width > 1:
        raise Refused(f"this model needs tokens of {width} columns, such as word and part of speech; "
                      'send "tokens" instead of text')  # fmt: skip
    sentences = []
    for tokens in split_sentences(text):
        if len(tokens) > LONGEST:
            raise Refused(f"a sentence of {len(tokens)} tokens; the longest has {LONGEST}: split it")
        offsets = [(token.start, token.end) for token in tokens]
        sentences.append(Sentence([token.text for token in tokens], offsets))
    return sentences


def sentence_of_tokens(tokens: Any, width: int, where: str = "tokens") -> Sentence:
    """Check the tokens of a sentence: strings, or lists of strings if the model has several columns."""
    if not isinstance(tokens, list) or not tokens:
        raise Refused(f"{where} must be a list with at least one token")
    if len(tokens) > LONGEST:
        raise Refused(f"{where} has {len(tokens)} tokens; the longest sentence has {LONGEST}: split it")
    checked: list[Token] = []
    for at, token in enumerate(tokens):
        columns = [token] if isinstance(token, str) else token
        if not isinstance(columns, list) or not all(isinstance(c, str) and c for c in columns):
            raise Refused(f"{where}[{at}] must be a string that is not empty, or a list of such strings")
        if len(columns) != width:
            raise Refused(f"{where}[{at}] has {len(columns)} columns; this model needs {width}")
        checked.append(columns[0] if width == 1 else tuple(columns))
    return Sentence(checked)


def check_labels(labels: Any, n_tokens: int, scheme: str, where: str = "labels") -> list[Label]:
    """Check the labels of a sentence: strings, lists of allowed labels, or null where they are unknown."""
    if not isinstance(labels, list) or len(labels) != n_tokens:
        raise Refused(f"{where} must be a list with one label for each of the {n_tokens} tokens")
    for at, label in enumerate(labels):
        several = label if isinstance(label, list) else [] if label is None else [label]
        if label == [] or not all(isinstance(name, str) and name.strip() for name in several):
            raise Refused(f"{where}[{at}] must be a label, a list of allowed labels, or null")
        try:
            schemes.convert(several, scheme, scheme)
        except ValueError as error:
            raise Refused(f"{where}[{at}]: {error}") from None
    return labels


def spans_of_labels(labels: Sequence[str], scheme: str) -> list[tuple[str, int, int]]:
    """Phrases as (label, first token, end); without a scheme, every token that has a label other than O."""
    if scheme != "none":
        return schemes.spans(labels, scheme)
    return [(label, at, at + 1) for at, label in enumerate(labels) if label != schemes.OUTSIDE]


def labels_of_spans(spans: Iterable[Span], sentences: Sequence[Sentence], scheme: str) -> list[list[Label]]:
    """Convert spans of characters to the labels of the tokens of each sentence.

    Tokens of a span that overlaps another one, crosses sentences, or begins or ends inside a token, are
    unknown. Without a scheme, tokens outside all spans are unknown too, because there is no label for them.
    """
    offsets = [offset for sentence in sentences for offset in sentence.offsets or ()]
    number = [n for n, sentence in enumerate(sentences) for _ in sentence.tokens]
    starts, ends = [start for start, _ in offsets], [end for _, end in offsets]
    labels: list[Label] = [schemes.OUTSIDE if scheme != "none" else None] * len(offsets)
    taken = [False] * len(offsets)
    for span in spans:
        first, last = bisect_right(ends, span.start), bisect_left(starts, span.end)
        if first >= last:
            continue
        fits = (starts[first], ends[last - 1]) == (span.start, span.end) and number[first] == number[last - 1]
        if fits and not any(taken[first:last]):
            labels[first:last] = _phrase(span.labels, last - first, scheme)
        else:
            labels[first:last] = [None] * (last - first)
        taken[first:last] = [True] * (last - first)
    pointers = accumulate((len(sentence.tokens) for sentence in sentences), initial=0)
    return [labels[start:stop] for start, stop in pairwise(pointers)]


def _phrase(names: Sequence[str], length: int, scheme: str) -> list[Label]:
    """The labels of a phrase of several tokens, which has one of these types."""
    if scheme == "none":
        ways = [[name] * length for name in names]
    else:
        ways = [schemes.encode([(name, 0, length)], length, scheme) for name in names]
    return [way[0] if len(set(way)) == 1 else sorted(set(way)) for way in zip(*ways, strict=True)]


def utf16_offsets(text: str) -> Callable[[int], int]:
    """Return the function from an offset in characters to one in UTF-16 units, as JavaScript counts."""
    if text.isascii() or max(text) < "\U00010000":
        return lambda at: at
    units = [0]
    for character in text:
        units.append(units[-1] + 1 + (character >= "\U00010000"))
    return lambda at: units[at]


def characters(text: str, start: int, end: int) -> Offset:
    """Offsets in characters, from offsets in UTF-16 units."""
    if text.isascii() or max(text) < "\U00010000":
        return start, end
    data = text.encode("utf-16-le")
    before = len(data[: 2 * start].decode("utf-16-le", "ignore"))
    return before, before + len(data[2 * start : 2 * end].decode("utf-16-le", "ignore"))
