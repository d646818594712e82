"""Split multiword tokens into words: a tagger of their characters, whose labels are edits.

An edit says what becomes of a character: ``=`` is the character itself, ``|`` begins a new word, ``-``
deletes the character. For *du* with the words *de* and *le*, *d* gets ``=`` and *u* gets ``e|le``. A token
without ``|`` is one word. So edits describe prefixes, suffixes and changes within words, and any number of
words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from taggers.features.extract import KeyTable
from taggers.formats._columns import Columns
from taggers.labels.label_encoding import GoldLabels
from taggers.model import TaggerModel
from taggers.splitter.characters import Characters, mixed
from taggers.splitter.lexicon import Folds, Lexicon, matching
from taggers.tagger import SequenceTagger

SAME, NEXT = "=", "|"
RARE = 2  # edits of fewer tokens are not learned, only remembered
PIECE = re.compile(r"\\(.)|(=)|(\|)|-|(.)", re.DOTALL)

Words = tuple[str, ...]


@lru_cache(maxsize=1 << 16)
def edits(surface: str, words: Words) -> tuple[str, ...]:
    """The edit of each character of a token that turns the token into these words.

    >>> edits("didn't", ("did", "n't")), edits("du", ("de", "le"))
    (('=', '=', '=', '|=', '=', '='), ('=', 'e|le'))
    """
    source = [char.lower()[0] for char in surface]
    target: list[str | None] = []  # None: a new word begins
    for word in words:
        target += [None] * bool(target) + [*word.lower()]
    found, i, j = [""] * len(source), len(source), len(target)
    cost = _costs(source, target)
    while i or j:
        here = cost[i][j]
        at = min(i, len(source) - 1)  # what is inserted belongs to the next character, or to the last one
        if i and j and source[i - 1] == target[j - 1] and here == cost[i - 1][j - 1]:
            i, j = i - 1, j - 1
            found[i] = SAME + found[i]
        elif j and here == cost[i][j - 1] + 2:
            j -= 1
            found[at] = _written(target[j]) + found[at]
        elif i and j and target[j - 1] is not None and here == cost[i - 1][j - 1] + 3:
            i, j = i - 1, j - 1
            found[i] = _written(target[j]) + found[i]
        else:
            i -= 1
    return tuple(change or "-" for change in found)


def _costs(source: Sequence[str], target: Sequence[str | None]) -> list[list[int]]:
    """The least cost from each beginning of the source to each beginning of the target."""
    rows = [[2 * j for j in range(len(target) + 1)]]
    for char in source:
        above, row = rows[-1], [rows[-1][0] + 2]
        for j, other in enumerate(target):
            change = 0 if char == other else 9 if other is None else 3
            row.append(min(above[j] + change, above[j + 1] + 2, row[j] + 2))
        rows.append(row)
    return rows


def _written(char: str | None) -> str:
    """A character as a part of an edit."""
    return NEXT if char is None else "\\" + char if char in "\\=|-" else char


def edited(surface: str, changes: Sequence[str]) -> Words:
    """The words of a token, given an edit for each character; none if they are fewer than two.

    >>> edited("Du", ("=", "e|le")), edited("Didn't", ("=", "=", "=", "|=", "=", "="))
    (('De', 'le'), ('Did', "n't"))
    """
    made = [
        "\0" if new else char if same else escaped or plain
        for char, change in zip(surface, changes, strict=True)
        for escaped, same, new, plain in PIECE.findall(change)
    ]
    words = tuple(word for word in "".join(made).split("\0") if word.strip())
    return cased(surface, words) if len(words) > 1 else ()


def cased(surface: str, words: Words) -> Words:
    """Words in upper case if the token is, and with a capital if it has one."""
    if len(surface) > 1 and surface.isupper():
        return tuple(word.upper() for word in words)
    if words and surface[0].isupper():
        return (words[0][:1].upper() + words[0][1:], *words[1:])
    return words


# In addition to the template of chunks, which are tokens here. c10: whether the rest of the token and its
# beginning are words; from c11 on: which words match.
TEMPLATE = f"""
    {matching(11)},
    c10[-1..1], c10[0]|w[0], c10[0]|w[-1], c10[-1]|c10[0], c10[0]|c2[0], c10[0]|w[-2]|w[-1],
    c6[0]|c10[0], c2[0]|c6[0], c2[0]|c7[0]
"""


@dataclass
class Multiword:
    """Finds the words of tokens.

    model: labels the characters of tokens with edits. lexicon: the words of the treebank. places: hashes of
    the places of tokens where edits are usual; only tokens with such a place may have several words.
    exceptions: tokens in lower case that the model gets wrong, with their words.
    """

    model: TaggerModel
    lexicon: Lexicon
    places: KeyTable
    exceptions: dict[str, Words] = field(default_factory=dict)

    def words(self, text: str, starts: np.ndarray, ends: np.ndarray) -> dict[int, Words]:
        """The words of those tokens of a text that have several, by the number of the token."""
        tokens = Tokens(Characters(text), starts, ends)
        chosen = tokens.with_any(self.places)
        found: dict[int, Words] = {}
        if not len(chosen):
            return found
        columns = tokens.columns(chosen, self.lexicon)
        names, ids = self.model.names, self.model.tag(columns).tolist()
        at = 0
        for token in chosen.tolist():
            start, end = int(starts[token]), int(ends[token])
            surface = text[start:end]
            changes = [names[k] for k in ids[at : at + end - start]]
            at += end - start
            words = self.exceptions.get(surface.lower())
            words = cased(surface, words) if words else edited(surface, changes)
            if words:
                found[token] = words
        return found


class Tokens:
    """The tokens of a text, for the features of their characters."""

    def __init__(self, text: Characters, starts: np.ndarray, ends: np.ndarray) -> None:
        self.text, self.starts, self.ends = text, starts, ends
        self.place = np.flatnonzero(_covered(starts, ends, len(text.codes)))
        self.token = np.searchsorted(starts, self.place, "right") - 1

    def hashes(self) -> np.ndarray:
        """A hash of each character of a token with its neighbours in the token."""
        first, end = self.starts[self.token], self.ends[self.token]
        low, high = np.maximum(self.place - 1, first), np.minimum(self.place + 2, end)
        edge = 1 + 2 * (low == self.place) + (high == self.place + 1)
        return mixed(self.text.substrings(low, high) + edge.astype(np.uint64))

    def with_any(self, places: KeyTable) -> np.ndarray:
        """The tokens with a character whose hash is in a table."""
        return np.unique(self.token[places.rows(self.hashes()) >= 0])

    def columns(self, chosen: np.ndarray, lexicon: Lexicon, folds: Folds | None = None) -> Columns:
        """The columns of the template for some tokens; each of them is a sequence."""
        mask = np.zeros(len(self.starts), bool)
        mask[chosen] = True
        used = mask[self.token]
        place, token = self.place[used], self.token[used]
        start, end = self.starts[token], self.ends[token]
        hashes = self.text.substrings
        rest = lexicon.knows(hashes(place, end), place, folds)
        begin = lexicon.knows(hashes(start, place), place, folds)
        known = mixed((2 * rest + begin).astype(np.uint64))
        near = lexicon.matches(self.text, place, place + 1, token, folds)
        keys = [*self.text.columns(self.starts, self.ends, place), known, *(values[:-1] for values in near)]
        sizes = self.ends[chosen] - self.starts[chosen]
        return Columns.from_keys(np.stack(keys, 1), np.append(0, np.cumsum(sizes)), str)


def _covered(starts: np.ndarray, ends: np.ndarray, n: int) -> np.ndarray:
    """Whether each character of a text lies in a token."""
    steps = np.zeros(n + 1, np.int64)
    np.add.at(steps, starts, 1)
    np.add.at(steps, ends, -1)
    return np.cumsum(steps)[:-1] > 0


def train_multiword(
    text: str, tokens: Sequence[tuple[int, str, Words]], template: str, **options: Any
) -> Multiword:
    """Learn from the tokens of a text: the place, the form and the words of each, if there are several."""
    starts = np.array([start for start, _, _ in tokens], np.int64)
    ends = starts + np.array([len(form) for _, form, _ in tokens], np.int64)
    words = [(start, word.lower()) for start, form, own in tokens for word in own or (form,)]
    where = np.array([start for start, _ in words], np.int64)
    lexicon, folds = Lexicon.of([word for _, word in words], where, len(text), single=True)
    labels = [edits(form, own) if own else (SAME,) * len(form) for _, form, own in tokens]
    usual = _usual(tokens, labels)
    learned = [
        not own or usual.issuperset(changes) for (*_, own), changes in zip(tokens, labels, strict=True)
    ]
    if not any(fits for (*_, own), fits in zip(tokens, learned, strict=True) if own):
        learned = [True] * len(tokens)  # so few that all are learned
    found = Tokens(Characters(text), starts, ends)
    changed = np.array([one != SAME for changes in labels for one in changes])
    places = KeyTable()
    places.rows(found.hashes()[changed], grow=True)
    chosen = found.with_any(places)
    chosen = chosen[np.array(learned)[chosen]]
    gold = GoldLabels.from_lists([list(labels[k]) for k in chosen.tolist()])
    tagger = SequenceTagger(template=template, inference="greedy", constrained=False, **options)
    tagger.fit(found.columns(chosen, lexicon, folds), gold)
    multiword = Multiword(tagger.model_, lexicon, places)
    multiword.exceptions = _exceptions(tokens, multiword.words(text, starts, ends))
    return multiword


def _usual(tokens: Iterable[tuple[int, str, Words]], labels: Iterable[Sequence[str]]) -> set[str]:
    """The edits that occur in several tokens."""
    counts = Counter(
        change for (*_, own), changes in zip(tokens, labels, strict=True) if own for change in {*changes}
    )
    return {SAME, *(change for change, count in counts.items() if count >= RARE)}


def _exceptions(tokens: Sequence[tuple[int, str, Words]], found: dict[int, Words]) -> dict[str, Words]:
    """Tokens that always have several words, of which the model gets the most frequent ones wrong."""
    gold: dict[str, Counter[Words]] = {}
    wrong: Counter[str] = Counter()
    for k, (_, form, own) in enumerate(tokens):
        gold.setdefault(form.lower(), Counter())[tuple(word.lower() for word in own)] += 1
        wrong[form.lower()] += tuple(word.lower() for word in found.get(k, ())) != tuple(
            word.lower() for word in own
        )
    return {
        form: seen.most_common(1)[0][0]
        for form, seen in gold.items()
        if () not in seen and 2 * wrong[form] >= seen.total()
    }
