"""The raw text of a CoNLL-U file, with the places where its sentences and tokens begin.

A new paragraph or document begins a new line. If a sentence has ``# text``, the spaces come from it,
otherwise from ``SpaceAfter=No``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

# The labels of characters. In lower case, they begin a multiword token.
SENTENCE, TOKEN, INSIDE, OUTSIDE = "S", "T", "I", "O"
LABELS = (SENTENCE, TOKEN, INSIDE, OUTSIDE, SENTENCE.lower(), TOKEN.lower())


@dataclass
class Surface:
    """A token as it is written in the text. words: the words of a multiword token."""

    form: str
    spaced: bool
    words: list[str] = field(default_factory=list)


@dataclass
class Sentence:
    """The tokens of a sentence; starts_line: whether a paragraph or document begins with it.

    line: the line of the file that has `# text`, counted from 1.
    """

    tokens: list[Surface]
    text: str | None = None
    line: int = 0
    starts_line: bool = False


@dataclass
class RawText:
    """A text, a label for each of its characters, and its multiword tokens with their words.

    sentences: those of the text. joins: what follows each of them: a space, a line end, or nothing.
    strange: the lines with a `# text` that does not match the tokens of its sentence.
    """

    text: str
    labels: str
    multiword: list[tuple[str, tuple[str, ...]]]
    sentences: list[Sentence] = field(default_factory=list)
    joins: list[str] = field(default_factory=list)
    strange: list[int] = field(default_factory=list)

    @property
    def tokens(self) -> list[Surface]:
        return [token for sentence in self.sentences for token in sentence.tokens]

    @property
    def joined(self) -> bool:
        """Whether a token follows another without a space."""
        return re.search("[STI][Tt]|[st][Tt]", self.labels) is not None

    @property
    def learnable(self) -> bool:
        """Whether the tokens differ from the text between spaces, so that there is something to learn."""
        return self.joined or bool(self.multiword) or any(" " in token.form for token in self.tokens)

    @property
    def unspaced(self) -> bool:
        """Whether most words follow the word before them without a space."""
        spaced = [
            one.spaced
            for sentence in self.sentences
            for one, other in pairwise(sentence.tokens)
            if one.form[-1].isalpha() and other.form[0].isalpha()
        ]
        return 2 * sum(spaced) < len(spaced)

    @property
    def inner_spaces(self) -> float:
        """The share of tokens that contain spaces."""
        return sum(" " in token.form for token in self.tokens) / max(len(self.tokens), 1)


def varied(raw: RawText) -> RawText:
    """The text with sentences that follow each other in all ways that its script knows.

    Without spaces between words, nothing, a space or a line end follows a sentence. Elsewhere, if most
    sentences begin a line, every other one of them follows a space instead.
    """
    joins = raw.joins[:-1]
    if raw.unspaced:
        joins = ["", " ", "\n"] * len(joins)
    elif 2 * joins.count("\n") > len(joins):
        joins = [" " if number % 2 else join for number, join in enumerate(joins)]
    return joined_text(raw.sentences, joins[: len(raw.sentences) - 1])


def raw_text(data: bytes) -> RawText:
    """The text of a CoNLL-U file, whose lines must have been checked."""
    sentences = list(read_sentences(data))
    strange = [sentence.line for sentence in sentences if not _space(sentence)]
    joins = ["\n" if new.starts_line else " " * old.tokens[-1].spaced for old, new in pairwise(sentences)]
    return replace(joined_text(sentences, joins), strange=strange)


def joined_text(sentences: Sequence[Sentence], joins: Sequence[str]) -> RawText:
    """The text of sentences; joins: what follows each of them but the last, which ends a line."""
    text: list[str] = []
    labels: list[str] = []
    multiword = []
    joins = [*joins, "\n"][: len(sentences)]
    for sentence, join in zip(sentences, joins, strict=True):
        first = SENTENCE
        for token in sentence.tokens:
            after = join if token is sentence.tokens[-1] else " " * token.spaced
            text += [token.form, after]
            begin = first.lower() if token.words else first
            labels += [begin, INSIDE * (len(token.form) - 1), OUTSIDE * len(after)]
            first = TOKEN
            if token.words:
                multiword.append((token.form, tuple(token.words)))
    return RawText("".join(text), "".join(labels), multiword, list(sentences), joins)


def read_sentences(data: bytes) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file, whose lines must have been checked."""
    sentence, covered = Sentence([]), 0
    for number, line in enumerate(data.decode().removeprefix("\ufeff").split("\n"), 1):
        fields = line.rstrip("\r").split("\t")
        if line.startswith("#") and not sentence.tokens:
            name, _, value = line[1:].partition("=")
            if name.split()[:1] in (["newdoc"], ["newpar"]):
                sentence.starts_line = True
            elif name.strip() == "text":
                sentence.text, sentence.line = value.strip(), number
        elif len(fields) < 2:
            if sentence.tokens:
                yield sentence
                sentence, covered = Sentence([]), 0
        elif "-" in fields[0]:
            covered = int(fields[0].partition("-")[2])
            sentence.tokens.append(_surface(fields))
        elif fields[0].isdigit():
            if int(fields[0]) <= covered:
                sentence.tokens[-1].words.append(fields[1])
            else:
                sentence.tokens.append(_surface(fields))
    if sentence.tokens:
        yield sentence


def _surface(fields: list[str]) -> Surface:
    return Surface(fields[1], "SpaceAfter=No" not in fields[9].split("|"))


def _space(sentence: Sentence) -> bool:
    """Take the spaces between tokens from the text of the sentence; return whether the tokens fit it."""
    if sentence.text is None:
        return True
    at, spaces = 0, []
    for token in sentence.tokens:
        if not sentence.text.startswith(token.form, at):
            return False
        end = at + len(token.form)
        rest = sentence.text[end:].lstrip()
        at = len(sentence.text) - len(rest)
        spaces.append(at > end)
    if at < len(sentence.text):
        return False
    for token, spaced in zip(sentence.tokens[:-1], spaces, strict=False):
        token.spaced = spaced
    return True
