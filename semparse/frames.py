"""Open frames: candidates whose relation is known, and some or all of whose arguments are not.

    dim(lamp, ?)        one unknown argument
    dim(...)            all arguments, or those that remain, are unknown
    dim(level=?)        also with names; in JSON {"name": "dim", "arguments": "..."}

An open argument takes the constants of its type that the sentence mentions. If it mentions none, an argument
that may be left out is left out, and any other takes all constants of its type. Of the ways to fill a frame,
those remain that use the most mentions and the fewest other constants.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import islice

from semparse.entities.names import Words
from semparse.entities.tokens import Tokens
from semparse.evidence import Candidates
from semparse.meaning import MR, REST, UNKNOWN, is_name, is_named, is_open
from semparse.outcomes import BUDGET, mentioned
from semparse.schema import Schema, SchemaError, SchemaLearner

MOST_FILLED = 50  # ways to fill a frame


def fits(frame: MR | str, mr: MR | str) -> bool:
    """Whether a meaning is the frame with its unknown arguments filled."""
    if frame == UNKNOWN:
        return True
    if not isinstance(frame, MR) or not isinstance(mr, MR):
        return frame == mr
    rest = REST in frame.args
    known = [arg for arg in frame.args if arg != REST]
    if frame.rel != mr.rel or len(known) > len(mr.args) or (len(known) < len(mr.args) and not rest):
        return False
    return all(fits(*pair) for pair in zip(known, mr.args, strict=False))


def fault(schema: Schema, frame: MR) -> str | None:
    """The reason why no meaning of a schema fits a frame, as far as its relation and arguments show."""
    known = [arg for arg in frame.args if arg != REST]
    relation = schema.relations.get(frame.rel)
    if relation is None:
        return f"{frame}: the schema has no relation {frame.rel!r}"
    if len(known) > len(relation.slots) or (REST not in frame.args and len(known) < relation.least):
        return f"{frame}: {frame.rel!r} takes {len(relation.slots)} argument(s)"
    for arg, kind in zip(known, relation.slots, strict=False):
        name = arg.rel if isinstance(arg, MR) else arg
        if name != UNKNOWN and name not in schema.types[kind] and not schema.allows(kind, name):
            return f"{frame}: {name!r} is not a {kind}"
    return None


def filled_bags(
    X: Sequence[Tokens], bags: Sequence[Candidates], words: Words, schema: Schema
) -> list[Candidates]:
    """The bags with their open frames filled; raises SchemaError, and warns of frames that nothing fills."""
    found, empty = [], 0
    for x, bag in zip(X, bags, strict=True):
        if not any(map(is_open, (*bag, *bag.wrong))):
            found.append(bag)
            continue
        terms = _Terms(schema, words, x)
        ways = {frame: terms.filled(frame) if is_open(frame) else [frame] for frame in (*bag, *bag.wrong)}
        empty += any(not ways[frame] for frame in bag)
        mrs = [mr for frame in bag for mr in ways[frame]]
        weights = [bag.weight(frame) / len(ways[frame]) for frame in bag for _ in ways[frame]]
        wrong = [mr for frame in bag.wrong for mr in ways[frame]]
        wrong += [mr for mr in mrs if any(fits(frame, mr) for frame in bag.wrong)]
        found.append(Candidates(mrs, weights if bag.logs else None, wrong))
    if empty:
        warnings.warn(
            f"{empty} sentence(s) have a candidate such as turn_on(...) whose arguments they do not mention; "
            "these candidates are left out",
            stacklevel=3,
        )
    return found


def closed_schema(bags: Sequence[Candidates]) -> Schema:
    """The schema of the candidates without open arguments."""
    learner = SchemaLearner()
    for bag in bags:
        for mr in bag:
            if not is_open(mr):
                learner.see(mr)
    return learner.schema()


class _Terms:
    """The arguments that may fill the slots of a schema in one sentence."""

    def __init__(self, schema: Schema, words: Words, x: Tokens) -> None:
        self.schema = schema
        self.said = mentioned(schema, words, x)

    def filled(self, frame: MR) -> list[MR]:
        """The best ways to fill a frame."""
        if what := fault(self.schema, frame):
            raise SchemaError(f"{what}; correct it, or set schema")
        ways = {mr: self._ranks(mr) for mr in islice(self._all(frame), BUDGET)}
        best = min(ways.values(), default=None)
        return [mr for mr, rank in ways.items() if rank == best][:MOST_FILLED]

    def _all(self, frame: MR, *, inside: bool = False) -> Iterator[MR]:
        relation = self.schema.relations[frame.rel]
        known = [arg for arg in frame.args if arg != REST]
        least = max(len(known), relation.least) if REST in frame.args else len(known)
        for n in range(least, len(relation.slots) + 1 if REST in frame.args else least + 1):
            open_slots = [*known, *[UNKNOWN] * (n - len(known))]
            slots = [
                list(self._terms(*pair, inside=inside))
                for pair in zip(open_slots, relation.slots, strict=False)
            ]
            for args in _products(slots):
                if all(k >= n or args[k] == args[j] for k, j in relation.copies):
                    yield MR(frame.rel, args)

    def _terms(self, arg: MR | str, kind: str, *, inside: bool) -> Iterator[MR | str]:
        """The possible values of an argument of a frame."""
        if isinstance(arg, MR):
            yield from self._all(arg, inside=is_named(arg)) if is_open(arg) else [arg]
        elif arg != UNKNOWN:
            yield arg
        else:
            for name in sorted(self.schema.types[kind]):
                if is_name(name) and not inside:  # the value of a named argument has no name
                    yield from self._all(MR(name, (UNKNOWN,)), inside=True)
            yield from self.said.get(kind) or sorted(self.schema.types[kind] - self.schema.relations.keys())

    def _ranks(self, mr: MR) -> tuple[int, int]:
        """The number of mentions that a meaning uses, negated, and of constants that are not mentioned."""
        args = [arg for inner in mr.relations() for arg in inner.args if isinstance(arg, str)]
        said = {term for terms in self.said.values() for term in terms}
        return -len(said.intersection(args)), sum(arg not in said for arg in args)


def _products(slots: Sequence[list[MR | str]]) -> Iterator[tuple[MR | str, ...]]:
    """The products of slots whose named arguments come in the order of their names."""
    left: list[list[tuple[str, MR | str]]] = []
    limit = ""
    for terms in reversed(slots):  # leave out names that none of the later slots can follow
        named = [(arg.rel if isinstance(arg, MR) and is_named(arg) else "", arg) for arg in terms]
        left.insert(0, [pair for pair in named if not limit or pair[0] < limit])
        names = [name for name, _ in left[0]]
        limit = max(names) if names and all(names) else limit

    def extended(args: tuple[MR | str, ...], last: str) -> Iterator[tuple[MR | str, ...]]:
        if len(args) == len(left):
            yield args
            return
        for name, arg in left[len(args)]:
            if not name or name > last:
                yield from extended((*args, arg), name or last)

    if all(left):
        yield from extended((), "")
