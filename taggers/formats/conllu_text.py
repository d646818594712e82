"""The raw text of a CoNLL-U file, with the places where its sentences and tokens begin.

A new paragraph or document begins a new line. If a sentence has ``# text``, the spaces come from it,
otherwise from ``SpaceAfter=No``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

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

    strange: the lines with a `# text` that does not match the tokens of its sentence.
    """

    text: str
    labels: str
    multiword: list[tuple[str, tuple[str, ...]]]
    strange: list[int] = field(default_factory=list)

    @property
    def joined(self) -> bool:
        """Whether a token follows another without a space; only such a text shows how to split tokens."""
        return re.search("[STI][Tt]|[st][Tt]", self.labels) is not None


def raw_text(data: bytes) -> RawText:
    """The text of a CoNLL-U file, whose lines must have been checked."""
    text: list[str] = []
    labels: list[str] = []
    multiword, strange = [], []
    for sentence in read_sentences(data):
        if sentence.starts_line and text:
            text[-1], labels[-1] = "\n", OUTSIDE  # instead of the space after the last token
        if not _space(sentence):
            strange.append(sentence.line)
        first = SENTENCE
        for token in sentence.tokens:
            text += [token.form, " " * token.spaced]
            begin = first.lower() if token.words else first
            labels += [begin, INSIDE * (len(token.form) - 1), OUTSIDE * token.spaced]
            first = TOKEN
            if token.words:
                multiword.append((token.form, tuple(token.words)))
    if text:
        text[-1], labels[-1] = "\n", OUTSIDE
    return RawText("".join(text), "".join(labels), multiword, strange)


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
