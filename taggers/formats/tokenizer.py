"""Split plain text into sentences and tokens with one regular expression, and keep every offset.

A line has at least one sentence, and no sentence crosses a line. Use spaCy if you need a better tokenizer or
another language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

ABBREVIATIONS = re.compile(
    r"""
      mr|mrs|ms|dr|prof|sr|jr|st|mt|rev|hon|gen|col|capt|lt|sgt|gov|sen|rep|pres
    | inc|ltd|co|corp|bros|dept|univ|assn
    | vs|etc|cf|ca|al|eds|vol|pp|figs?|eq|approx
    | jan|feb|apr|aug|sept?|oct|nov|dec
    | [A-HJ-Z]                                                 # initials, but not the word I
    """,
    re.VERBOSE,
)

TOKEN = re.compile(
    r"""
      [^\W\d_]+(?=\s)                                           # most words
    | (?:https?://|www\.)[^\s<>"']*[^\s<>"'.,;:!?)\]}]          # addresses of pages
    | [\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+                          # and of people
    | [@\#]\w+                                                 # names and topics of posts
    | \d+(?:[.,:/]\d+)*(?:%|(?:st|nd|rd|th|s)\b)?              # 1,000.5  12:30  3/4  5%  1990s
    | (?:[^\W\d_]\.){2,}                                       # U.S.A.
    | (?:n't|'(?:s|m|d|re|ve|ll))(?!\w)                        # English clitics
    | \w+?(?=n't(?!\w))                                        # the do of don't
    | \w+(?:[-\u2019']\w+)*?(?='(?:s|m|d|re|ve|ll)(?!\w))           # the cat of cat's
    | \w+(?:[-\u2019']\w+)*                                         # words, well-known, o'clock
    | \.{2,} | -{2,} | ([^\w\s])\1+                            # ... -- !!!
    | [^\w\s]
    """,
    re.VERBOSE | re.IGNORECASE,
)

# In addition to ASCII: curly and angle quotes, the inverted Spanish marks, the ellipsis, full-width marks.
CLOSERS = frozenset("\"')]}\u201d\u2019\u00bb")
OPENERS = frozenset("\"'([{\u201c\u2018\u00ab\u00bf\u00a1")
ENDERS = frozenset(".!?\u2026\u3002\uff01\uff1f")


class Token(NamedTuple):
    """A token and its position in the text; words: those of a multiword token."""

    text: str
    start: int
    end: int
    words: tuple[str, ...] = ()


def tokenize(text: str, start: int = 0) -> list[Token]:
    """Return all tokens of a text; only white space lies between them. Offsets count from `start`.

    >>> [token.text for token in tokenize("Dr. Who didn't pay $5.50 (or so) at 12:30.")]
    ['Dr.', 'Who', 'did', "n't", 'pay', '$', '5.50', '(', 'or', 'so', ')', 'at', '12:30', '.']
    """
    tokens: list[Token] = []
    for match in TOKEN.finditer(text):
        word, (first, end) = match[0], match.span()
        # An abbreviation takes its full stop back.
        if word == "." and tokens and _is_abbreviation(tokens[-1], first + start):
            before = tokens.pop()
            word, first = before.text + ".", before.start - start
        tokens.append(Token(word, first + start, end + start))
    return tokens


def split_sentences(text: str) -> list[list[Token]]:
    """Return sentences of tokens; they end with the line, or with . ! ? before a capital, digit or quote.

    >>> [" ".join(token.text for token in tokens) for tokens in split_sentences("It works. Does it, Dr. No?")]
    ['It works .', 'Does it , Dr. No ?']
    """
    sentences: list[list[Token]] = []
    start = 0
    for line in text.splitlines(keepends=True):
        sentences += _split_line(tokenize(line, start))
        start += len(line)
    return sentences


def _split_line(tokens: list[Token]) -> list[list[Token]]:
    sentences: list[list[Token]] = []
    current: list[Token] = []
    ended = False
    for token in tokens:
        if ended:
            spaced = token.start > current[-1].end
            if spaced or token.text[0] not in CLOSERS:
                if spaced and _opens(token.text):
                    sentences.append(current)
                    current = []
                ended = False
        current.append(token)
        ended = ended or token.text[0] in ENDERS
    return [*sentences, current] if current else sentences


def _opens(text: str) -> bool:
    return text[0].isupper() or text[0].isdigit() or text[0] in OPENERS or not text[0].isascii()


def _is_abbreviation(token: Token, end: int) -> bool:
    text = token.text if len(token.text) == 1 else token.text.lower()
    return token.end == end and ABBREVIATIONS.fullmatch(text) is not None


def to_columns(sentences: Iterable[Sequence[Token]]) -> bytes:
    """Return sentences as a file with one word per line and a blank line after each sentence."""
    words = ([word for token in tokens for word in token.words or [token.text]] for tokens in sentences)
    return "".join(["\n".join(sentence) + "\n\n" for sentence in words]).encode()
