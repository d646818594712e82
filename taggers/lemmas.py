"""Lemmas as edit scripts: the case, the beginning and the end of a word to change.

A script is a label with three parts, so that scripts share what they learn about each of them. ``gewerkte``
and the lemma ``werk`` have the parts ``=`` (the case stays), ``ge>`` (remove ge at the beginning) and ``2>``
(remove two characters at the end).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

import numpy as np

from taggers.features.extract import Extractor, KeyTable
from taggers.features.template import Template, parse_template
from taggers.features.word_classes import word_keys
from taggers.formats._columns import Columns
from taggers.labels.parts import JOINT
from taggers.model import TaggerModel
from taggers.tagger import MorphTagger

CASES: dict[str, Callable[[str], str]] = {"=": str, "lower": str.lower, "title": str.capitalize}
# p is the part of speech, c2 the features.
TEMPLATE = """
    w[0]|p[0], lower[0]|p[0], lower[0]|p[0]|c2[0], p[0], c2[0], p[0]|c2[0],
    lower_prefix1[0]|p[0], lower_prefix2[0]|p[0], lower_prefix3[0]|p[0], lower_prefix4[0]|p[0],
    lower_suffix1[0]|p[0], lower_suffix2[0]|p[0], lower_suffix3[0]|p[0], lower_suffix4[0]|p[0],
    lower_suffix5[0]|p[0], lower_suffix6[0]|p[0],
    lower_suffix1[0]|p[0]|c2[0], lower_suffix2[0]|p[0]|c2[0], lower_suffix3[0]|p[0]|c2[0],
    lower_suffix4[0]|p[0]|c2[0], lower_suffix5[0]|p[0]|c2[0], lower_prefix2[0]|lower_suffix2[0]|c2[0],
    short_shape[0], short_shape[0]|p[0], is_title[0]|p[0], is_upper[0]|p[0], bias
"""
# Make a key of everything that a lemma depends on, by the number of columns.
WHOLE = {2: Extractor(parse_template("w[0]|p[0]")), 3: Extractor(parse_template("w[0]|p[0]|c2[0]"))}
RARE = 2  # scripts of fewer words are not learned, only remembered
EPOCHS = 4
USUAL = 10  # how many of the most common features of its part of speech to test each word with
MOST_SEEN = 1 << 17  # lemmas to remember

# The case; what to replace at the beginning, and with what; how much to remove at the end; what to put there.
Edits = tuple[Callable[[str], str], str, str, int, str]
Token = tuple[str, ...]  # form, part of speech and, if there are any, features


def lemma_template(width: int) -> Template:
    """Return the features of lemmas, from the first `width` columns of word, part of speech and features."""
    text = TEMPLATE if width > 1 else TEMPLATE.replace("|p[0]", "").replace("short_shape[0], short", "short")
    return parse_template(text).within(width)


@lru_cache(maxsize=1 << 16)
def script(form: str, lemma: str) -> str:
    """The shortest script from a form to its lemma.

    >>> script("gewerkte", "werk").split("\\t"), script("Cities", "city").split("\\t")
    (['=', 'ge>', '2>'], ['lower', '>', '3>y'])
    """
    scripts = [_edits(case, form, lemma) for case in CASES]
    return min(scripts, key=lambda one: len(one.partition(JOINT)[2]))


def _edits(case: str, form: str, lemma: str) -> str:
    word = CASES[case](form)
    match = SequenceMatcher(None, word, lemma, autojunk=False).find_longest_match()
    end, rest = match.a + match.size, match.b + match.size
    if ">" in word[: match.a]:  # > is the separator, so let the second edit replace the whole word
        return JOINT.join([case, ">", f"{len(word)}>{lemma}"])
    return JOINT.join([case, f"{word[: match.a]}>{lemma[: match.b]}", f"{len(word) - end}>{lemma[rest:]}"])


def is_script(text: str) -> bool:
    """Whether a text is an edit script."""
    case, begin, end = [*text.split(JOINT), "", ""][:3]
    last, arrow, _ = end.partition(">")
    whole = text.count(JOINT) == 2 and case in CASES and ">" in begin
    return whole and bool(arrow) and last.isascii() and last.isdigit()


@lru_cache(maxsize=1 << 12)
def _parsed(script: str) -> Edits:
    """The edits of a script, for `_changed`."""
    case, begin, end = script.split(JOINT)
    (first, prefix), (last, suffix) = begin.split(">", 1), end.split(">", 1)
    return CASES[case], first, prefix, int(last), suffix


def _changed(form: str, edits: Edits) -> str:
    case, first, prefix, last, suffix = edits
    word = case(form)
    if last > len(word):
        return form
    if last or suffix:
        word = word[: len(word) - last] + suffix
    return (prefix + word[len(first) :] if word.startswith(first) else word) or form


@lru_cache(maxsize=1 << 17)
def edited(form: str, script: str) -> str:
    """The form after a script; what does not fit the form is left out.

    >>> edited("gespeelde", script("gewerkte", "werk"))
    'speel'
    """
    return _changed(form, _parsed(script))


@dataclass
class Lemmatizer:
    """Finds the script of each word, given its part of speech and features.

    keys, scripts: the words of the training data that the model gets wrong, and their scripts. Some words
    are stored without features, to cover features that they do not have in the training data.
    seen: the lemmas found so far, by key; a lemma does not depend on the surrounding words.
    """

    model: TaggerModel
    keys: KeyTable
    scripts: list[str]
    seen: dict[int, str] = field(default_factory=dict, repr=False, compare=False)

    def whole(self, columns: Columns) -> np.ndarray:
        """A key for each token, made of everything that its lemma depends on."""
        template = self.model.space.template
        assert template is not None
        return WHOLE[max(template.width, 2)].keys(columns)[:, 0]

    def remembered(self, columns: Columns) -> np.ndarray:
        """For each token the position of its script in `scripts`, or -1 if it is not remembered."""
        rows = self.keys.rows(self.whole(columns))
        return np.where(rows >= 0, rows, self.keys.rows(WHOLE[2].keys(columns)[:, 0]))

    def lemmas(self, columns: Columns) -> tuple[np.ndarray, list[str]]:
        """For each token the position of its lemma in a list; columns: form, part of speech, features."""
        whole = self.whole(columns)
        keys, first, place = np.unique(whole, return_index=True, return_inverse=True)
        if (whole == 0).any():  # a token with an empty cell has no key, so its lemma is found for itself
            place = np.where(whole == 0, len(keys) + np.cumsum(whole == 0) - 1, place)
            first = np.append(first, np.flatnonzero(whole == 0))
            keys = np.append(keys, np.zeros(len(first) - len(keys), keys.dtype))
        found = [self.seen.get(key) for key in keys.tolist()]
        new = [k for k, lemma in enumerate(found) if lemma is None]
        if new:
            if len(self.seen) > MOST_SEEN:
                self.seen = {}
            lemmas = self._lemmas(_taken(columns, first[new]))
            self.seen |= {key: lemma for key, lemma in zip(keys[new].tolist(), lemmas, strict=True) if key}
            for k, lemma in zip(new, lemmas, strict=True):
                found[k] = lemma
        return place.astype(np.int32), [lemma or "" for lemma in found]

    def corrected(self, columns: Columns, ids: np.ndarray, names: list[str]) -> tuple[np.ndarray, list[str]]:
        """The scripts of tokens, as indices into names, corrected for remembered words."""
        rows = self.remembered(columns)
        return np.where(rows >= 0, len(names) + rows, ids), [*names, *self.scripts]

    def _lemmas(self, columns: Columns) -> list[str]:
        ids, scripts = self.corrected(columns, self.model.tag(columns), self.model.names)
        edits = {k: _parsed(scripts[k]) for k in set(ids.tolist())}  # faster than the cache of `edited`
        return [_changed(word, edits[k]) for word, k in zip(columns.texts(0), ids.tolist(), strict=True)]


def _taken(columns: Columns, tokens: np.ndarray) -> Columns:
    """Select tokens, each as its own sentence."""
    ptr = np.arange(len(tokens) + 1)
    if columns.keys is not None:
        strings: Any = columns.strings
        return Columns.from_keys(columns.keys[tokens], ptr, strings)
    return Columns.from_spans(
        columns.data, columns.spans[tokens], columns.ends[tokens], columns.lines[tokens], ptr,
        format=columns.format, wanted=range(columns.width), n_columns=columns.width,
    )  # fmt: skip


def train_lemmatizer(tokens: Iterable[Token], lemmas: Iterable[str], **options: Any) -> Lemmatizer:
    """Learn from words and their lemmas; of several lemmas of a word, the most frequent one."""
    counts: dict[Token, Counter[str]] = {}
    for token, lemma in zip(tokens, lemmas, strict=True):
        counts.setdefault(token, Counter())[script(token[0], lemma)] += 1
    wanted = {token: seen.most_common(1)[0][0] for token, seen in counts.items()}
    usual = {name for name, count in Counter(wanted.values()).items() if count >= RARE}
    learned = {token: name for token, name in wanted.items() if name in usual} or wanted
    width = len(next(iter(learned)))
    template = lemma_template(width)
    tagger = MorphTagger(template=template, order=0, **{"epochs": EPOCHS, **options})
    tagger.fit([[token] for token in learned], [[name] for name in learned.values()])
    remembered = _wrong(tagger, wanted) | (_wrong_with_others(tagger, counts) if width > 2 else {})
    keys = KeyTable()
    for size in sorted({*map(len, remembered)}, reverse=True):  # in the order of `remembered`
        same = [token for token in remembered if len(token) == size]
        keys.rows(WHOLE[size].keys(Columns.from_sentences([same]))[:, 0], grow=True)
    words = np.unique(word_keys([token[0] for token in wanted]))  # including those that are only remembered
    model = replace(tagger.model_, space=replace(tagger.model_.space, words=words))
    return Lemmatizer(model, keys, list(remembered.values()))


def _wrong(tagger: MorphTagger, wanted: Mapping[Token, str]) -> dict[Token, str]:
    """The words that the tagger gets wrong, and their scripts; tokens with an empty cell are left out."""
    found = tagger.predict([[token] for token in wanted])
    pairs = zip(wanted.items(), found, strict=True)
    return {token: name for (token, name), (other,) in pairs if name != other and all(token)}


def _wrong_with_others(tagger: MorphTagger, counts: Mapping[Token, Iterable[str]]) -> dict[Token, str]:
    """Words whose script does not depend on features, but which the tagger gets wrong with some features.

    Each word is tested with the features that are most common for its part of speech.
    """
    scripts: dict[Token, set[str]] = {}
    features: dict[str, Counter[str]] = {}
    for (form, upos, feats), names in counts.items():
        scripts.setdefault((form, upos), set()).update(names)
        features.setdefault(upos, Counter())[feats] += 1
    tried = {
        (*token, feats): min(names)
        for token, names in scripts.items() if len(names) == 1
        for feats, _ in features[token[1]].most_common(USUAL)
    }  # fmt: skip
    return {token[:2]: name for token, name in _wrong(tagger, tried).items()}
