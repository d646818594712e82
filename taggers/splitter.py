"""Split raw text into sentences, tokens and words as a treebank does: a tagger whose tokens are characters.

Each character begins a sentence, begins a token, continues a token or lies outside. A chunk is the text
between two spaces. The features are the characters around a character, its chunk before and after it, and the
neighbouring chunks, all as written and as shapes. Other labels mark tokens that have several words, such as
the French *du*. Rules learned from the treebank split these tokens into words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taggers.features.attributes import shape
from taggers.formats._columns import Columns
from taggers.formats.conllu_text import INSIDE, LABELS, SENTENCE, RawText
from taggers.formats.tokenizer import Token
from taggers.labels.label_encoding import GoldLabels
from taggers.model import TaggerModel
from taggers.tagger import SequenceTagger

# w: the character, p: its shape, c2, c3: the parts of its chunk before it and from it on, c4, c5: their
# shapes, c6, c7: the chunks before and after this one, c8, c9: their shapes.
TEMPLATE = """
    w[-4..4], w[-1]|w[0], w[0]|w[1], w[-2]|w[-1]|w[0], w[-1]|w[0]|w[1], w[0]|w[1]|w[2],
    w[-3]|w[-2]|w[-1]|w[0], w[0]|w[1]|w[2]|w[3],
    p[-4..4], p[-1]|p[0], p[0]|p[1], p[-2]|p[-1]|p[0], p[-1]|p[0]|p[1], p[0]|p[1]|p[2],
    p[-3]|p[-2]|p[-1]|p[0]|p[1], p[-2]|p[-1]|p[0]|p[1]|p[2], w[-2]|p[0], w[-1]|p[0], w[-3]|w[-2]|p[0],
    c2[0], c2[0]|w[0], c2[0]|p[0], c2[0]|c3[0], c2[0]|c5[0], c3[0], w[-1]|c3[0],
    c4[0], c4[0]|w[0], c4[0]|c3[0], c4[0]|c5[0], c5[0], w[-1]|c5[0],
    c6[0], c6[0]|p[0], c6[0]|c2[0]|p[0], c6[0]|c3[0], c6[0]|c4[0]|c5[0],
    c7[0], c3[0]|c7[0], c8[0], c8[0]|p[0], c8[0]|c4[0]|c5[0], c8[0]|c4[0]|c5[0]|c9[0], c9[0], bias
"""
WIDTH = 10
SEQUENCE = 2000  # characters of training text in one sequence, at least
BLOCK = 1 << 16  # characters to label at once, so that memory does not grow with the text,
CONTEXT = 512  # and the characters around them that the features may see
BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that it has an inverse
INVERSE = np.uint64(pow(int(BASE), -1, 1 << 64))

Words = tuple[str, ...]


@dataclass
class Splitter:
    """Splits text into sentences of tokens.

    endings: the end of a multiword token in lower case, and what replaces it: the end of its first word and
    the other words. exceptions: multiword tokens in lower case with their words, where endings are wrong.
    """

    model: TaggerModel
    endings: dict[str, Words] = field(default_factory=dict)
    exceptions: dict[str, Words] = field(default_factory=dict)

    @classmethod
    def of(cls, model: TaggerModel, rules: dict[str, Any]) -> Splitter:
        """The splitter of a model file; raise ValueError for malformed rules."""
        tables = [
            {key: tuple(words) for key, words in rules[name].items()} for name in ("endings", "exceptions")
        ]
        if not {*model.names} <= {*LABELS} or not all(words for table in tables for words in table.values()):
            raise ValueError("the labels or rules of the splitter are malformed")
        return cls(model, *tables)

    def split(self, text: str) -> list[list[Token]]:
        """The sentences of a text; no sentence crosses a line."""
        labels, space, lines = self._labels(text + "\n")  # in training, every line has an end
        inside = labels == ord(INSIDE)
        # A token may contain spaces, but only single ones, between two characters.
        inner = space & inside & (lines == 0)
        inner[1:] &= ~space[:-1]
        inner[:-1] &= ~space[1:] & inside[1:]
        inner[-1:] = inner[:1] = False
        used = ~space | inner
        begins = used & ~inside & (labels != ord("O"))
        begins[:1] |= used[:1]
        begins[1:] |= used[1:] & ~used[:-1]
        ends = used.copy()
        ends[:-1] &= ~used[1:] | begins[1:]
        starts, stops = np.flatnonzero(begins), np.flatnonzero(ends) + 1
        line = np.cumsum(lines)[starts]
        upper = labels[starts] & ~np.uint8(32)
        first = (upper == ord(SENTENCE)) | (np.diff(line, prepend=-1) > 0)
        sentences: list[list[Token]] = []
        for start, end, kind, new in zip(
            starts.tolist(), stops.tolist(), labels[starts].tolist(), first.tolist(), strict=True
        ):
            if new:
                sentences.append([])
            word = " ".join(text[start:end].split())
            words = self.words(word) if chr(kind).islower() else ()
            sentences[-1].append(Token(word, start, end, words))
        return sentences

    def _labels(self, text: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The label of each character, whether it is a space, and whether it ends a line."""
        names = np.array([ord(name) for name in self.model.names], np.uint8)
        found = np.empty(len(text), np.uint8)
        chars = Characters(text)
        for start in range(0, len(text), BLOCK):
            low, end = max(start - CONTEXT, 0), start + BLOCK
            block = Characters(text[low : end + CONTEXT])
            found[start:end] = names[self.model.tag(block.columns())][start - low : end - low]
        return found, chars.space, chars.ends_line

    def words(self, surface: str) -> Words:
        """The words of a multiword token; none if no rule fits.

        >>> Splitter(None, {"n't": ("", "n't"), "u": ("e", "le")}).words("Didn't")
        ('Did', "n't")
        """
        lower = surface.lower()
        words = self.exceptions.get(lower) or _by_ending(lower, self.endings)
        if "".join(words) == lower and len(lower) == len(surface):  # as written
            ends = np.cumsum([len(word) for word in words]).tolist()
            return tuple(surface[end - len(word) : end] for word, end in zip(words, ends, strict=True))
        if len(surface) > 1 and surface.isupper():
            return tuple(word.upper() for word in words)
        if words and surface[0].isupper():
            return (words[0][:1].upper() + words[0][1:], *words[1:])
        return words

    @property
    def rules(self) -> dict[str, Any]:
        """The rules for multiword tokens, as a model file keeps them."""
        return {"endings": self.endings, "exceptions": self.exceptions}


def _by_ending(lower: str, endings: dict[str, Words]) -> Words:
    """The words according to the longest ending that leaves at least one letter."""
    for k in range(1, len(lower)):
        if lower[k:] in endings:
            end, *rest = endings[lower[k:]]
            return (lower[:k] + end, *rest)
    return ()


def train_splitter(raw: RawText, **options: Any) -> Splitter:
    """Learn from a text with a label for each character."""
    codes = np.frombuffer(raw.labels.encode(), np.uint8)
    distinct, ids = np.unique(codes, return_inverse=True)
    block = Characters(raw.text)
    ptr = _sequences(block, codes)
    gold = GoldLabels(ids.astype(np.int32), [chr(code) for code in distinct], ptr)
    fixed: dict[str, Any] = {"template": TEMPLATE, "inference": "greedy", "constrained": False}
    tagger = SequenceTagger(cutoff=2, epochs=2, **fixed, **options)
    tagger.fit(block.columns(ptr), gold)
    return Splitter(tagger.model_, *_rules(raw.multiword))


def _sequences(block: Characters, codes: np.ndarray) -> np.ndarray:
    """Where sequences begin: at lines, and at sentences in long lines."""
    lines = {0, *(np.flatnonzero(block.ends_line) + 1).tolist(), len(codes)}
    ptr = [0]
    for at in sorted({*np.flatnonzero((codes & ~np.uint8(32)) == ord(SENTENCE)).tolist(), *lines}):
        if at > ptr[-1] and (at in lines or at - ptr[-1] >= SEQUENCE):
            ptr.append(at)
    return np.array(ptr, np.int64)


def _rules(multiword: Iterable[tuple[str, Words]]) -> tuple[dict[str, Words], dict[str, Words]]:
    """Endings, and the multiword tokens that they get wrong; of several splits, use the most frequent."""
    seen: dict[str, Counter[Words]] = {}
    for surface, words in multiword:
        seen.setdefault(surface.lower(), Counter())[tuple(word.lower() for word in words)] += 1
    usual = {surface: words.most_common(1)[0][0] for surface, words in seen.items()}
    counts: dict[str, Counter[Words]] = {}
    for surface, (first, *rest) in usual.items():
        same = next((k for k, (a, b) in enumerate(zip(surface, first, strict=False)) if a != b), None)
        same = min(len(surface), len(first)) if same is None else same
        if 0 < same < len(surface):
            counts.setdefault(surface[same:], Counter())[first[same:], *rest] += 1
    endings = {ending: words.most_common(1)[0][0] for ending, words in counts.items()}
    wrong = {surface: words for surface, words in usual.items() if _by_ending(surface, endings) != words}
    return endings, wrong


class Characters:
    """The characters of a text and what the features need to know about each."""

    def __init__(self, text: str) -> None:
        self.codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        distinct, self.kind = np.unique(self.codes, return_inverse=True)
        self.distinct = [chr(code) for code in distinct.tolist()]
        self.space = self._each([char.isspace() for char in self.distinct])
        self.ends_line = self._each([char.splitlines() != [char] for char in self.distinct])

    def _each(self, values: list[Any]) -> np.ndarray:
        return np.array(values)[self.kind] if values else np.zeros(0, bool)

    def _hashed(self, chars: list[str]) -> np.ndarray:
        """A hash for each character, given what represents each distinct character."""
        return _mixed(self._each([ord(char) for char in chars]).astype(np.uint64))

    def columns(self, ptr: np.ndarray | None = None) -> Columns:
        """The columns of the template; ptr: where sequences begin, by default lines."""
        n = len(self.codes)
        if ptr is None:
            ptr = np.unique([0, *(np.flatnonzero(self.ends_line) + 1).tolist(), n])
        place = np.arange(n)
        starts = np.flatnonzero(~self.space & np.append(True, self.space[:-1]))
        ends = np.flatnonzero(~self.space & np.append(self.space[1:], True)) + 1
        chunk = np.searchsorted(starts, place, "right") - 1  # this one, or for spaces the one before
        start = np.where(self.space, place, np.append(starts, 0)[chunk])
        end = np.where(self.space, place, np.append(ends, 0)[chunk])
        chars = _Substrings(self._hashed([char.lower()[0] for char in self.distinct]))
        kinds = self._hashed([" " if char.isspace() else shape(char)[0] for char in self.distinct])
        shapes = _Shapes(kinds)
        line = np.cumsum(self.ends_line) - self.ends_line
        whole, outlines = chars(starts, ends), shapes(starts, ends)
        near = [_neighbours(k, line, line[starts]) for k in (chunk - ~self.space, chunk + 1)]
        keys = [
            self._hashed([" " if char.isspace() else char for char in self.distinct]), kinds,
            chars(start, place), chars(place, end), shapes(start, place), shapes(place, end),
            *[np.append(values, EDGE)[k] for values in (whole, outlines) for k in near],
        ]  # fmt: skip
        return Columns.from_keys(np.stack(keys, 1), ptr, str)


def _neighbours(chunk: np.ndarray, line: np.ndarray, chunk_line: np.ndarray) -> np.ndarray:
    """The number of a chunk near each character; the number of chunks if it lies on another line."""
    same = np.append(chunk_line, -1)[chunk] == line
    return np.where(same, chunk, len(chunk_line))


class _Substrings:
    """Hashes of substrings: differences of prefix sums, as in the Rabin-Karp algorithm.

    counted: which values belong to the sequence; by default all.
    """

    def __init__(self, values: np.ndarray, counted: np.ndarray | None = None) -> None:
        counted = np.ones(len(values), bool) if counted is None else counted
        self.before = np.append(0, np.cumsum(counted))
        powers = np.cumprod(np.full(len(values), BASE), dtype=np.uint64)
        terms = np.where(counted, values * np.append(np.uint64(1), powers)[self.before[:-1]], np.uint64(0))
        self.sums = np.append(np.uint64(0), np.cumsum(terms, dtype=np.uint64))
        inverses = np.cumprod(np.full(len(values), INVERSE), dtype=np.uint64)
        self.inverses = np.append(np.uint64(1), inverses)

    def __call__(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """The hash of each substring; 0, for no feature, if it is empty."""
        moved = (self.sums[end] - self.sums[start]) * self.inverses[self.before[start]]
        return np.where(end > start, _mixed(moved), np.uint64(0))


class _Shapes(_Substrings):
    """Hashes of substrings in which equal neighbours count once."""

    def __init__(self, kinds: np.ndarray) -> None:
        self.first = np.append(kinds, np.uint64(0))
        super().__init__(kinds, np.append(True, kinds[1:] != kinds[:-1])[: len(kinds)])

    def __call__(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        rest = super().__call__(np.minimum(start + 1, end), end)
        return np.where(end > start, _mixed(self.first[start] ^ rest), np.uint64(0))


def _mixed(values: np.ndarray) -> np.ndarray:
    """Mix the bits of 64-bit numbers, as in splitmix64."""
    values = values + BASE
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = values ^ (values >> np.uint64(31))
    return mixed


EDGE = _mixed(np.zeros(1, np.uint64))  # instead of a chunk on another line
