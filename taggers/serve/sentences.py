"""Read sentences and labels from JSON, and translate between labels of tokens and spans of characters."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from structsvm.integrations.starlette import Refused
from taggers.formats.tokenizer import Token as SplitToken
from taggers.formats.tokenizer import split_sentences
from taggers.labels import schemes
from taggers.serve.limits import check_length

Token = str | tuple[str, ...]  # ready features are Any
Label = str | list[str] | None  # several allowed labels; None if unknown
Offset = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sentence:
    """Tokens and, if they come from a text, their offsets in it."""

    tokens: list[Token]
    offsets: list[Offset] | None = None

    def place(self, first: int, end: int) -> dict[str, int]:
        """The offsets of the tokens from `first` up to but not including `end`, if there is a text."""
        if self.offsets is None:
            return {}
        return {"start": self.offsets[first][0], "end": self.offsets[end - 1][1]}


class Tagged(NamedTuple):
    """The labels of a sentence, what was requested besides, and the other columns of a pipeline."""

    labels: list[str]
    margins: Sequence[float] = ()
    probabilities: Sequence[float] = ()
    columns: dict[str, list[str]] = {}  # noqa: RUF012, it is never changed


@dataclass(frozen=True, slots=True)
class Span:
    """A range of characters with its label, or with several labels of which one is right."""

    start: int
    end: int
    labels: tuple[str, ...]


def sentences_of_text(
    text: str, width: int, split: Callable[[str], list[list[SplitToken]]] = split_sentences
) -> list[Sentence]:
    """Split a text into sentences of tokens with their offsets.

    The words of a multiword token become tokens with the offsets of the whole.
    """
    if width == 0:
        raise Refused('this model needs the features of each token; send "tokens" instead of text')
    if width > 1:
        raise Refused(f"this model needs tokens of {width} columns, such as word and part of speech; "
                      'send "tokens" instead of text')  # fmt: skip
    sentences = []
    for found in split(text):
        words = [(word, (one.start, one.end)) for one in found for word in one.words or (one.text,)]
        check_length(len(words), "a sentence")
        sentences.append(Sentence([word for word, _ in words], [offset for _, offset in words]))
    return sentences


def sentence_of_tokens(tokens: Any, width: int, where: str = "tokens") -> Sentence:
    """Check the tokens of a sentence: strings, or lists of strings if the model has several columns.

    width: the columns; 0 for a model of features, whose tokens are objects or lists of names.
    """
    if not isinstance(tokens, list) or not tokens:
        raise Refused(f"{where} must be a list with at least one token")
    check_length(len(tokens), where)
    checked: list[Any] = []
    for at, token in enumerate(tokens):
        if width == 0:
            if not isinstance(token, (dict, list)):
                raise Refused(f"{where}[{at}] must be an object with the features of the token, or a list")
            checked.append(token)
            continue
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


def names_of(y: Iterable[Iterable[Label]]) -> set[str]:
    """The labels that occur."""
    return {
        name
        for labels in y
        for label in labels
        if label
        for name in ([label] if isinstance(label, str) else label)
    }


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
    after = list(range(len(offsets) + 1))  # the next token that no span has made unknown
    for span in spans:
        first, last = bisect_right(ends, span.start), bisect_left(starts, span.end)
        if first >= last:
            continue
        fits = (starts[first], ends[last - 1]) == (span.start, span.end) and number[first] == number[last - 1]
        if fits and not any(taken[at] for at in range(first, last)):
            labels[first:last] = _phrase(span.labels, last - first, scheme)
            taken[first:last] = [True] * (last - first)
            continue
        at = _end_of(after, first)
        while at < last:  # each token at most once, however many spans overlap
            labels[at], taken[at], after[at] = None, True, at + 1
            at = _end_of(after, at)
    pointers = accumulate((len(sentence.tokens) for sentence in sentences), initial=0)
    return [labels[start:stop] for start, stop in pairwise(pointers)]


def _end_of(after: list[int], at: int) -> int:
    """Follow the links from a token to their end, and shorten them."""
    while after[at] != at:
        after[at] = at = after[after[at]]
    return at


def _phrase(names: Sequence[str], length: int, scheme: str) -> list[Label]:
    """The labels of a phrase of several tokens, which has one of these types."""
    if scheme == "none":
        ways = [[name] * length for name in names]
    else:
        ways = [schemes.encode([(name, 0, length)], length, scheme) for name in names]
    return [way[0] if len(set(way)) == 1 else sorted(set(way)) for way in zip(*ways, strict=True)]
