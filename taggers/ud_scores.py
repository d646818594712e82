"""Compare a CoNLL-U file with its gold version as the CoNLL 2018 shared task does, raw text included.

Words are aligned by their characters without spaces. The words of a multiword token that is split
differently are aligned by their forms, with the longest common subsequence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structsvm.files.errors import DataError

# As the shared task counts them: content words, function words and universal features.
CONTENT = frozenset({
    "nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp", "obl", "vocative", "expl", "dislocated",
    "advcl", "advmod", "discourse", "nmod", "appos", "nummod", "acl", "amod", "conj", "fixed",
    "flat", "compound", "list", "parataxis", "orphan", "goeswith", "reparandum", "root", "dep",
})  # fmt: skip
FUNCTIONAL = frozenset({
    "aux", "cop", "mark", "det", "clf", "case", "cc",
})  # fmt: skip
FEATURES = frozenset({
    "PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy", "Number",
    "Case", "Definite", "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident",
    "Polarity", "Person", "Polite",
})  # fmt: skip
SAMPLES = 1000  # of the bootstrap
TEXT = ("Tokens", "Sentences", "Words")
TAGS = ("UPOS", "XPOS", "UFeats", "Lemmas")
TREES = ("UAS", "LAS", "CLAS", "MLAS", "BLEX")


@dataclass(frozen=True)
class Score:
    """F1 in percent, with precision and recall, and its 95% interval over resampled sentences."""

    precision: float
    recall: float
    f1: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float]:
        return dict(vars(self))


@dataclass
class Word:
    start: int
    end: int
    columns: list[str]
    multiword: bool
    sentence: int
    parent: Word | None = None
    functional: list[Word] = field(default_factory=list)

    @property
    def deprel(self) -> str:
        return self.columns[7].partition(":")[0]

    @property
    def features(self) -> str:
        return "|".join(
            sorted(one for one in self.columns[5].split("|") if one.partition("=")[0] in FEATURES)
        )


@dataclass
class Treebank:
    """The characters of a file without spaces, and the places of its tokens, sentences and words."""

    characters: list[str] = field(default_factory=list)
    tokens: list[tuple[int, int]] = field(default_factory=list)
    sentences: list[tuple[int, int]] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)


def read_treebank(data: bytes) -> Treebank:
    """Read a CoNLL-U file whose lines and trees have been checked; heads may be missing."""
    found = Treebank()
    begin = first = covered = 0
    for line in [*data.decode().removeprefix("\ufeff").split("\n"), ""]:
        fields = line.rstrip("\r").split("\t")
        if len(fields) < 10:
            if not line.startswith("#") and len(found.words) > first:
                _link(found.words[first:])
                found.sentences.append((begin, len(found.characters)))
                begin, first = len(found.characters), len(found.words)
            covered = 0
        elif "." in fields[0]:
            continue
        elif "-" in fields[0]:
            covered = int(fields[0].partition("-")[2])
            found.tokens.append(_written(found, fields[1]))
        elif int(fields[0]) <= covered:
            found.words.append(Word(*found.tokens[-1], fields, True, len(found.sentences)))
        else:
            found.tokens.append(_written(found, fields[1]))
            found.words.append(Word(*found.tokens[-1], fields, False, len(found.sentences)))
    return found


def _written(treebank: Treebank, form: str) -> tuple[int, int]:
    start = len(treebank.characters)
    treebank.characters += [one for one in form if not one.isspace()]
    return start, len(treebank.characters)


def _link(words: list[Word]) -> None:
    """Set the parents and the functional children of the words of a sentence."""
    for word in words:
        if word.columns[6].isdigit() and 0 < int(word.columns[6]) <= len(words):
            word.parent = words[int(word.columns[6]) - 1]
            if word.deprel in FUNCTIONAL:
                word.parent.functional.append(word)


def align(gold: Treebank, found: Treebank) -> list[tuple[Word, Word]]:
    """Pairs of a gold word and the word found for it."""
    pairs = []
    g = f = 0
    while g < len(gold.words) and f < len(found.words):
        one, other = gold.words[g], found.words[f]
        if one.multiword or other.multiword:
            g_end, f_end = _region(gold.words, found.words, g, f)
            pairs += _common(gold.words[g:g_end], found.words[f:f_end])
            g, f = g_end, f_end
        elif (one.start, one.end) == (other.start, other.end):
            pairs.append((one, other))
            g, f = g + 1, f + 1
        elif one.start <= other.start:
            g += 1
        else:
            f += 1
    return pairs


def _region(gold: Sequence[Word], found: Sequence[Word], g: int, f: int) -> tuple[int, int]:
    """Where the words end that overlap the multiword tokens here."""
    one, other = gold[g], found[f]
    if one.multiword:
        end = one.end
        if not other.multiword and other.start < one.start:
            return g, f + 1
    else:
        end = other.end
        if one.start < other.start:
            return g + 1, f
    while True:
        if g < len(gold) and gold[g].start < end:
            end = max(end, gold[g].end) if gold[g].multiword else end
            g += 1
        elif f < len(found) and found[f].start < end:
            end = max(end, found[f].end) if found[f].multiword else end
            f += 1
        else:
            return g, f


def _common(gold: Sequence[Word], found: Sequence[Word]) -> list[tuple[Word, Word]]:
    """The longest common subsequence of two lists of words, by their forms in lower case."""
    a, b = [one.columns[1].lower() for one in gold], [one.columns[1].lower() for one in found]
    length = np.zeros((len(a) + 1, len(b) + 1), int)
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            best = max(length[i + 1, j], length[i, j + 1])
            length[i, j] = 1 + length[i + 1, j + 1] if a[i] == b[j] else best
    i = j = 0
    pairs = []
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            pairs.append((gold[i], found[j]))
            i, j = i + 1, j + 1
        elif length[i, j] == length[i + 1, j]:
            i += 1
        else:
            j += 1
    return pairs


def universal_scores(
    gold: bytes, found: bytes, names: Sequence[str] = (*TEXT, *TAGS, *TREES), *, name: str = ""
) -> dict[str, Score]:
    """The scores of a CoNLL-U file, compared with a gold file of the same text; both have been checked."""
    one, other = read_treebank(gold), read_treebank(found)
    if one.characters != other.characters:
        raise DataError("the files do not have the same characters, so their words cannot be aligned", name)
    ends = np.array([end for _, end in one.sentences])
    counts: dict[str, np.ndarray] = {}
    spans = {"Tokens": (one.tokens, other.tokens), "Sentences": (one.sentences, other.sentences)}
    for kind, (wanted, given) in spans.items():
        counts[kind] = _counts(ends, set(wanted) & set(given), wanted, given)
    pairs = align(one, other)
    aligned = {id(b): a for a, b in pairs} | {id(a): a for a in one.words}
    for kind in names:
        if kind in KEYS:
            counts[kind] = _matches(ends, one.words, other.words, pairs, aligned, *KEYS[kind])
    return {kind: _score(counts[kind]) for kind in names}


Aligned = dict[int, Word]  # from the identity of a word to its gold word


def _matches(
    ends: np.ndarray, gold: list[Word], found: list[Word], pairs: list[tuple[Word, Word]], aligned: Aligned,
    key: Callable[[Word, Aligned], Any], content: bool,
) -> np.ndarray:  # fmt: skip
    """Count words by sentence; content: only content words."""

    def places(words: Sequence[Word]) -> list[tuple[int, int]]:
        return [(one.start, one.end) for one in words if not content or one.deprel in CONTENT]

    right = [a for a, b in pairs if key(a, aligned) == key(b, aligned)]
    return _counts(ends, places(right), places(gold), places(found))


def _counts(ends: np.ndarray, *groups: Any) -> np.ndarray:
    """How many right, gold and found places begin in each gold sentence."""
    starts = [np.array([start for start, _ in group], int) for group in groups]
    return np.stack(
        [np.bincount(np.searchsorted(ends, one, "right"), minlength=len(ends)) for one in starts], 1
    )


def _score(counts: np.ndarray) -> Score:
    """The scores of counts by sentence, and their interval by resampling sentences, the same for one file."""
    rng = np.random.default_rng(0)
    right, gold, found = counts.sum(axis=0).tolist()
    samples = np.empty(SAMPLES)
    for k in range(SAMPLES):
        times = np.bincount(rng.integers(0, len(counts), len(counts)), minlength=len(counts))
        own = times @ counts
        samples[k] = 200 * own[0] / max(own[1] + own[2], 1)
    low, high = np.quantile(samples, [0.025, 0.975]).tolist()
    f1 = 200 * right / max(gold + found, 1)
    return Score(100 * right / max(found, 1), 100 * right / max(gold, 1), f1, low, high)


def _place(word: Word | None, aligned: Aligned) -> int:
    """The gold word that a word stands for: its identity, 0 for the root, -1 if it is not aligned."""
    return 0 if word is None else id(aligned[id(word)]) if id(word) in aligned else -1


def _arc(word: Word, aligned: Aligned) -> tuple[Any, ...]:
    return _place(word.parent, aligned), word.deprel


def _morphology(word: Word, aligned: Aligned) -> tuple[Any, ...]:
    children = [(_place(one, aligned), one.deprel, one.columns[3], one.features) for one in word.functional]
    return *_arc(word, aligned), word.columns[3], word.features, children


def _lemma(word: Word, aligned: Aligned) -> str:
    """The lemma; any lemma is right if the gold word has none."""
    return word.columns[2] if aligned[id(word)].columns[2] != "_" else "_"


# What must agree, by score, and whether only content words count.
KEYS: dict[str, tuple[Callable[[Word, Aligned], Any], bool]] = {
    "Words": (lambda word, aligned: True, False),
    "UPOS": (lambda word, aligned: word.columns[3], False),
    "XPOS": (lambda word, aligned: word.columns[4], False),
    "UFeats": (lambda word, aligned: word.features, False),
    "Lemmas": (_lemma, False),
    "UAS": (lambda word, aligned: _place(word.parent, aligned), False),
    "LAS": (_arc, False),
    "CLAS": (_arc, True),
    "MLAS": (_morphology, True),
    "BLEX": (lambda word, aligned: (*_arc(word, aligned), _lemma(word, aligned)), True),
}
