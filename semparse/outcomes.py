"""Candidates from what happened: meanings whose execution gives the outcome that was observed.

An executor is a function of a meaning and of the context of a sentence (a state of the world, a database, or
None). It returns an outcome: an answer, a trace, or the state that follows. It raises ValueError if the
meaning cannot be executed in this context; other errors are faults of the executor, and are raised with the
meaning as a note. A meaning is a candidate of a sentence if its outcome equals the observed one.

If no meanings are proposed, they are enumerated from the schema, the smallest first. A slot takes the
constants of its type that the sentence mentions, or all of them if it mentions none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Any, Protocol

import numpy as np

from semparse.entities.names import Words
from semparse.entities.tokens import Tokens
from semparse.meaning import MR, as_mr
from semparse.schema import Schema

BUDGET = 2_000  # meanings executed for one sentence
LARGEST = 8  # symbols of an enumerated meaning


class Executor(Protocol):
    """Ensures: equal outcomes for equal meanings and contexts; nothing changes in the context."""

    def __call__(self, meaning: MR, context: Any, /) -> Any: ...


Propose = Callable[[Any, Any], Iterable[Any]]  # meanings for a sentence and its context


def is_possible(execute: Executor, meaning: MR, context: Any) -> bool:
    """Whether a meaning can be executed: a filter for `Ospas.parse(valid=...)`."""
    return bool(executed(execute, meaning, context))


def executed(execute: Executor, meaning: MR, context: Any) -> list[Any]:
    """The outcome, in a list that is empty if the meaning cannot be executed."""
    try:
        return [execute(meaning, context)]
    except ValueError:
        return []
    except StopIteration as error:  # would end a loop of the caller
        raise RuntimeError(f"execute raised StopIteration for {meaning}") from error
    except Exception as error:
        error.add_note(f"while executing {meaning}")
        raise


def _equal(outcome: Any, other: Any) -> bool:
    """Whether outcomes are equal; arrays are if all their values are."""
    if isinstance(outcome, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(outcome, other))
    return bool(outcome == other)


def with_outcome(
    meanings: Iterable[Any], outcome: Any, execute: Executor, context: Any, budget: int = BUDGET
) -> list[MR]:
    """Of the first `budget` meanings, those with an outcome."""
    found = []
    for meaning in map(as_mr, islice(meanings, budget)):
        if any(_equal(one, outcome) for one in executed(execute, meaning, context)):
            found.append(meaning)
    return list(dict.fromkeys(found))


def enumerated(schema: Schema, words: Words, x: Tokens) -> Iterator[MR]:
    """The meanings that a schema allows about the things that a sentence mentions, the smallest first."""
    said = mentioned(schema, words, x)
    constants = {kind: sorted(symbols - schema.relations.keys()) for kind, symbols in schema.types.items()}
    terms: dict[int, dict[str, list[MR | str]]] = {
        1: {kind: [*(said[kind] or its)] for kind, its in constants.items()}
    }
    for size in range(1, LARGEST + 1):
        level = terms.setdefault(size, {kind: [] for kind in schema.types})
        for rel, relation in schema.relations.items():
            for filled in range(relation.least, len(relation.slots) + 1):
                for sizes in _shares(size - 1, filled):
                    slots = [terms[n][kind] for n, kind in zip(sizes, relation.slots[:filled], strict=True)]
                    for args in product(*slots):
                        if any(args[later] != args[k] for later, k in relation.copies if later < filled):
                            continue
                        mr = MR(rel, tuple(args))
                        yield mr
                        for kind, symbols in schema.types.items():
                            if rel in symbols:
                                level[kind].append(mr)


def _shares(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """The ways to share symbols among slots, each at least one."""
    if parts == 0:
        if total == 0:
            yield ()
        return
    for first in range(1, total - parts + 2):
        for rest in _shares(total - first, parts - 1):
            yield first, *rest


def mentioned(schema: Schema, words: Words, x: Tokens) -> dict[str, list[str]]:
    """By type, the constants that the words spell, and the numbers and times."""
    said = {symbol: None for word in words.read(x) for symbol in words.spelled.get(word.text, ())}
    texts = dict.fromkeys(word.text for word in words.read(x))
    found: dict[str, list[str]] = {}
    for kind, symbols in schema.types.items():
        constants = symbols - schema.relations.keys()
        spelled = [symbol for symbol in said if symbol in constants]
        pattern = schema.patterns.get(kind)
        if pattern is not None:
            values = [] if pattern.fullmatch("any text") else filter(pattern.fullmatch, texts)
            spelled += [text for text in values if text not in spelled]
        found[kind] = spelled
    return found


def bags_of(
    X: Sequence[Tokens],
    outcomes: Sequence[Any],
    execute: Executor,
    *,
    contexts: Sequence[Any],
    propose: Propose | Sequence[Sequence[Any]] | None,
    schema: Schema | None,
    budget: int,
) -> list[list[MR]]:
    """The candidates of each sentence: of its own, or of a function, or of the schema."""
    if propose is None:
        if schema is None:
            what = "to enumerate candidates, the parser needs a schema"
            raise ValueError(f"{what}; set schema, or pass candidates")
        words = Words(Counter(word for x in X for word in x), schema)
        proposed = [enumerated(schema, words, x) for x in X]
    elif callable(propose):
        proposed = [iter(propose(x.text, context)) for x, context in zip(X, contexts, strict=True)]
    else:
        proposed = [iter(bag) for bag in propose]
    found = [
        with_outcome(meanings, outcome, execute, context, budget)
        for meanings, outcome, context in zip(proposed, outcomes, contexts, strict=True)
    ]
    if not any(found):
        raise ValueError("no meaning has the outcome of its sentence; check execute, or increase budget")
    return found
