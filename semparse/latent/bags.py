"""Alternatives for a sentence: one candidate of its bag, several of them, or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from semparse.entities import quantities
from semparse.entities.names import Word, found_style
from semparse.entities.spelling import spellings
from semparse.evidence import Candidates
from semparse.latent.alignment import NULL
from semparse.latent.features import LEAST_SHARE
from semparse.latent.model import LatentModel
from semparse.latent.search import NOTHING
from semparse.meaning import MR, is_name

MOST_COMBINED = 5_000  # ways to choose candidates for several clauses; larger choices are left out
MOST_ESTIMATED = 3  # meanings of a sentence, if their number is not given
SEVERAL, LEAST_SEVERAL = 0.09, 3  # a share of the sentences, and their number; logs without any: up to 0.08
PARAPHRASED = 0.8  # of the sentences with a word must be able to mean a constant that it paraphrases
MORE = 4.0  # standard deviations by which a constant comes with a number more often than by chance
MOST = 0.5  # of the constants of a slot: such a constant needs no word
LEAST_NEW, NEW = 5, 0.01  # constants that occur once in an open type: their number, and their share
SPELLED = 0.8  # of these, and of all, are spelled by their sentences
LEAST_PAIRED, PAIRED = 2, 0.5  # sentences with a unit whose number a constant has: how many, and their share
Meanings = tuple[MR, ...]  # of one sentence; none: it means nothing


def alternatives(bag: list[MR], clauses: int, *, trusted: bool) -> list[Meanings]:
    """Alternatives for a sentence: one candidate, several, or nothing (unless pairs are trusted)."""
    sizes = range(1, min(clauses, len(bag)) + 1)
    kept = [size for size in sizes if size == 1 or comb(len(bag), size) <= MOST_COMBINED]
    found = [some for size in kept for some in combinations(bag, size)]
    return found if found and trusted else [*found, ()]


def symbols_of(model: LatentModel, words: list[Word], meanings: Sequence[Meanings]) -> list[list[list[str]]]:
    """The symbols of each meaning of alternatives.

    A constant of an open type counts as its type where words spell it. Names of arguments have no words.
    """
    texts = {text for word in words for text in (word.text, *word.values)}
    return [[open_symbols(model, mr, texts) for mr in some] or [[NULL]] for some in meanings]


def forms_of(model: LatentModel, words: list[Word], bag: Iterable[MR]) -> list[str]:
    """The words as the alignment counts them: a number that names a constant, as in "aisle 3", counts as
    itself, unless it is the value of a candidate."""
    naming = model.naming | model.alignment.counts.keys()
    if not any(word.values and word.text in naming for word in words):
        return [word.form for word in words]
    values, _ = _constants(model, bag)
    return [
        word.exact if word.text in naming and values.isdisjoint(word.values) else word.form for word in words
    ]


def _constants(model: LatentModel, bag: Iterable[MR]) -> tuple[set[str], set[str]]:
    """The constants in slots of open types, and the others."""
    found: tuple[set[str], set[str]] = set(), set()
    for mr in bag:
        for inner in mr.relations():
            for arg, kind in zip(inner.args, model.schema.relations[inner.rel].slots, strict=False):
                if isinstance(arg, str):
                    found[kind not in model.schema.patterns].add(arg)
    return found


def find_naming(model: LatentModel, read: list[list[Word]], bags: Sequence[list[MR]]) -> None:
    """Numbers that name constants: a constant comes with them too often, in bags without their value."""
    model.naming = set()
    if not any(word.values for words in read for word in words):
        return
    together, said, among = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    for words, bag in zip(read, bags, strict=True):
        values, others = _constants(model, bag)
        texts = {word.text for word in words if word.values and values.isdisjoint(word.values)}
        said.update(texts)
        among.update(others)
        together.update((text, constant) for text in texts for constant in others)
    for (text, constant), n in together.items():
        share = among[constant] / len(bags)
        expected = said[text] * share
        if n > expected + MORE * (expected * (1 - share)) ** 0.5:
            model.naming.add(text)


def posteriors_of(
    model: LatentModel,
    words: list[Word],
    bag: Candidates,
    meanings: Sequence[Meanings],
    outside: float = -np.inf,
) -> np.ndarray:
    forms = forms_of(model, words, (mr for some in meanings for mr in some))
    symbols = symbols_of(model, words, meanings)
    return model.alignment.posteriors(forms, symbols, bag.log_weights(meanings), outside)


def open_symbols(model: LatentModel, mr: MR, texts: set[str]) -> list[str]:
    relation = model.schema.relations[mr.rel]
    found = [] if is_name(mr.rel) else [mr.rel]
    for arg, kind in zip(mr.args, relation.slots, strict=False):
        if isinstance(arg, MR):
            found += open_symbols(model, arg, texts)
        elif kind in model.schema.patterns:
            if is_spelled(arg, texts):
                found.append(f"<{kind}>")
            else:
                found.append(f"<{kind}> unsaid" if texts.isdisjoint(model.paraphrases.get(arg, ())) else arg)
        else:
            found.append(arg)
    return found


def is_spelled(constant: str, texts: set[str]) -> bool:
    return any(" ".join(words) in texts for words in (*spellings(constant), [constant]))


def find_paraphrases(model: LatentModel, read: list[list[Word]], bags: Sequence[list[MR]]) -> None:
    """Words such as "twice" for 2: most sentences with them can mean the constant, and do not spell it."""
    together, count = Counter[tuple[str, str]](), Counter[str]()
    for words, bag in zip(read, bags, strict=True):
        texts = {word.text for word in words}
        count.update(texts)
        constants = {arg for arg in _constants(model, bag)[0] if not is_spelled(arg, texts)}
        together.update((arg, text) for arg in constants for text in texts)
    model.paraphrases = {}
    for (arg, text), n in together.items():
        if n > 1 and n >= PARAPHRASED * count[text]:
            model.paraphrases.setdefault(arg, set()).add(text)


def find_open(model: LatentModel, X: Sequence[list[str]], bags: Sequence[list[MR]]) -> None:
    """Open types of a learned schema: those whose constants sentences spell and often bring up as new.

    The share of constants that occur once estimates how often the next one is new.
    """
    model.schemas.open_slots([])
    if model.given is not None:
        return
    schema = model.schema
    seen: dict[str, Counter[str]] = {kind: Counter() for kind in schema.types}
    spelled: dict[str, Counter[str]] = {kind: Counter() for kind in schema.types}
    for x, bag in zip(X, bags, strict=True):
        text = f" {' '.join(x)} "
        slots = {
            (kind, arg)
            for mr in bag
            for inner in mr.relations()
            for arg, kind in zip(inner.args, schema.relations[inner.rel].slots, strict=False)
            if isinstance(arg, str)
        }
        for kind, arg in slots:
            seen[kind][arg] += 1
            spelled[kind][arg] += any(f" {' '.join(words)} " in text for words in spellings(arg))
    wide = {kind for kind in schema.types if _is_wide(seen[kind], spelled[kind])}
    model.schemas.open_slots(
        (rel, slot)
        for rel, relation in schema.relations.items()
        for slot, kind in enumerate(relation.slots)
        if kind in wide
    )


def _is_wide(seen: Counter[str], spelled: Counter[str]) -> bool:
    once = [constant for constant, n in seen.items() if n == 1]
    said = sum(spelled[constant] for constant in once)
    return (
        said >= max(LEAST_NEW, NEW * seen.total(), SPELLED * len(once))
        and spelled.total() >= SPELLED * seen.total()
    )


def find_styles(model: LatentModel, X: Sequence[list[str]], bags: Sequence[list[MR]]) -> None:
    """How the constants of open types are written, compared with the words that spell them."""
    pairs: dict[str, list[tuple[list[str], str]]] = {}
    for x, bag in zip(X, bags, strict=True):
        for mr in bag:
            for inner in mr.relations():
                for arg, kind in zip(inner.args, model.schema.relations[inner.rel].slots, strict=False):
                    if kind in model.schema.patterns and isinstance(arg, str):
                        pairs.setdefault(kind, []).append((x, arg))
    found = {kind: found_style(examples) for kind, examples in sorted(pairs.items())}
    model.styles = {kind: style for kind, style in found.items() if style is not None}


def find_units(model: LatentModel, X: Sequence[list[str]], bags: Sequence[list[MR]]) -> None:
    """How the constants of each open type write the units of sentences: those that mostly have the number
    of a sentence that has this unit."""
    model.units = {}
    pairs: dict[tuple[str, str], Counter[str]] = {}
    kinds = {kind for kind, pattern in model.schema.patterns.items() if quantities.is_open(pattern)}
    for x, bag in zip(X, bags, strict=True) if kinds else ():
        constants: dict[str, set[str]] = {}
        for inner in (inner for mr in bag for inner in mr.relations()):
            for arg, kind in zip(inner.args, model.schema.relations[inner.rel].slots, strict=False):
                if kind in kinds and isinstance(arg, str):
                    constants.setdefault(kind, set()).add(arg)
        for kind, its in constants.items():
            for unit, way in quantities.pairs(x, sorted(its)):
                pairs.setdefault((kind, unit), Counter())[way] += 1
    for (_, unit), ways in sorted(pairs.items()):
        best = max(sorted(ways), key=ways.__getitem__)
        if best and ways[best] >= max(LEAST_PAIRED, PAIRED * ways.total()):
            known = model.units.setdefault(unit, [])
            known += [best] * (best not in known)
    model.forget()


def with_clauses(
    model: LatentModel,
    read: list[list[Word]],
    bags: Sequence[Candidates],
    single: list[list[Meanings]],
    posteriors: list[np.ndarray],
    outside: np.ndarray,
) -> tuple[list[list[Meanings]], list[np.ndarray]]:
    """The alternatives with several meanings and their posteriors.

    If `clauses` is not given, it becomes the largest number that a share `SEVERAL` of the sentences has, by
    the posteriors.
    """
    given, chosen = model.given_clauses, (single, posteriors)
    model.clauses = 1
    for clauses in range(2, MOST_ESTIMATED + 1) if given is None else range(given, given + 1):
        if clauses == 1 or max(map(len, bags)) < clauses:
            break
        meanings = [alternatives(bag, clauses, trusted=model.trusted) for bag in bags]
        chances = [posteriors_of(model, *each) for each in zip(read, bags, meanings, outside, strict=True)]
        best = [its[int(np.argmax(p))] for its, p in zip(meanings, chances, strict=True)]
        said = sum(len(some) == clauses for some in best)
        if given is None and said < max(LEAST_SEVERAL, SEVERAL * len(bags)):
            break
        model.clauses, chosen = clauses, (meanings, chances)
    model.clauses = given or model.clauses
    return chosen


def find_silent(
    model: LatentModel,
    read: list[list[Word]],
    meanings: Sequence[list[Meanings]],
    posteriors: Sequence[np.ndarray],
) -> None:
    """Constants of the likeliest candidates that, more than once and in a share of at least `unnamed` of
    the sentences that mean them, no word names; or that fill most of a slot."""
    known, missed = Counter[tuple[str, int, str]](), Counter[tuple[str, int, str]]()
    for words, several, chances in zip(read, meanings, posteriors, strict=True):
        sayable = {
            s
            for word in words
            for form in {word.form, word.exact}
            for s, p in model.alignment.share(form).items()
            if p >= LEAST_SHARE
        }
        sayable.update(s for word in words for s in model.words.spelled.get(word.text, ()))
        for mr in several[int(np.argmax(chances))]:
            for inner in mr.relations():
                for slot, arg in enumerate(inner.args):
                    if isinstance(arg, str):
                        known[inner.rel, slot, arg] += 1
                        missed[inner.rel, slot, arg] += arg not in sayable
    model.silent = {}
    total = Counter[tuple[str, int]]()
    for (rel, slot, _), n in known.items():
        total[rel, slot] += n
    for (rel, slot, constant), n in sorted(known.items()):
        unsaid = missed[rel, slot, constant]
        often = unsaid > 1 and unsaid >= (model.unnamed or 0) * n
        if model.unnamed is not None and (often or 1 < n >= MOST * total[rel, slot]):
            model.silent.setdefault((rel, slot), []).append(constant)
    model.forget(words=False)


def aligned(model: LatentModel, meanings: Sequence[Meanings]) -> list[Any]:
    return [model.grammar.exactly(some) if some else NOTHING for some in meanings]


class Wrong(list[Any]):
    """Meanings that a sentence does not have, as units."""


def refused(model: LatentModel, bag: Candidates) -> Wrong:
    """The wrong meanings that the schema allows."""
    return Wrong(units for mr in bag.wrong if (units := model.grammar.exactly([mr])) is not None)
