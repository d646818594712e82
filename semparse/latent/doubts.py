"""Doubts about the training data, as sentences for the user."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from semparse.entities.numbers import NUMBER
from semparse.latent.features import LEAST_SHARE
from semparse.latent.model import LatentModel
from semparse.meaning import is_name

SHOWN = 5  # names in a sentence
EXPRESSED = 0.1  # of the sentences with a symbol among their candidates
LEAST_SEEN = 2  # candidates with a symbol; a rarer one cannot be learned anyway


def doubts(model: LatentModel) -> Iterator[str]:
    """One sentence for each kind of fault in the sentences that the model has learned."""
    read = [model.words.read(x) for x, _ in model.memory]
    silent = {constant for constants in model.silent.values() for constant in constants}
    seen: dict[str, int] = {}
    for _, bag in model.memory:
        for symbol in {symbol for mr in bag for symbol in mr.symbols()}:
            seen[symbol] = seen.get(symbol, 0) + 1
    expressed = _expressed(model)
    often = [symbol for symbol, n in sorted(seen.items()) if n >= LEAST_SEEN]
    said = {symbol for symbol in often if expressed.get(symbol, 0.0) >= EXPRESSED * seen[symbol]}
    said.update(s for words in read for word in words for s in model.words.spelled.get(word.text, ()))
    relations = model.schema.relations
    if double := sorted(model.schemas.double()):
        yield f"{_listed(double)}: both a relation and a constant; rename one of them if that is a mistake"
    if unsaid := [s for s in often if s in relations and s not in said and not is_name(s)]:
        yield f"{_listed(unsaid)}: no word expresses this relation, so it is in no answer unless nested"
    constants = [s for s in often if s in model.grammar.type_of and not model.grammar.copied(s)]
    if unsaid := [s for s in constants if s not in said and s not in silent]:
        yield f'{_listed(unsaid)}: no sentence names this constant; add names to "aliases" of a schema'
    for kind, symbols in model.schema.types.items():
        numbers = [symbol for symbol in symbols if re.fullmatch(NUMBER, symbol)]
        if len(numbers) > 1 and kind not in model.schema.open:
            others = sorted(symbols - set(numbers))
            yield (
                f"{_listed(others)}: constants among numbers, so new numbers are not copied; add the type to "
                '"open" of a schema'
            )
    named = [
        (names, bag)
        for words, (_, bag) in zip(read, model.memory, strict=True)
        if bag and (names := {s for word in words for s in model.words.spelled.get(word.text, ())})
    ]
    apart = sum(all(names.isdisjoint(mr.symbols()) for mr in bag) for names, bag in named)
    if apart > len(named) / 2:
        yield f"{apart} of {len(named)} sentences name nothing that is in their candidates; check the windows"


def _expressed(model: LatentModel) -> dict[str, float]:
    """How often words that may stand for a symbol do so, by symbol."""
    found: dict[str, float] = {}
    for word, counts in model.alignment.counts.items():
        for symbol, share in model.alignment.share(word).items():
            if share >= LEAST_SHARE:
                found[symbol] = found.get(symbol, 0.0) + counts[symbol]
    return found


def _listed(symbols: Collection[str]) -> str:
    shown = ", ".join(list(symbols)[:SHOWN])
    return shown + (f" and {len(symbols) - SHOWN} more" if len(symbols) > SHOWN else "")
