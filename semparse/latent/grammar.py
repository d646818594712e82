"""The grammars of the chart: all meanings that a schema allows, or one meaning only."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from semparse.entities.names import STYLES
from semparse.entities.spelling import spelling
from semparse.latent._scores import Layout
from semparse.latent._units import Units
from semparse.meaning import MR, is_name
from semparse.schema import Schema

STATES = ("first", "first argument later", "own", "own and argument")  # what came before an argument


def meaning_of(constant: str) -> int:
    """A number that stands for a constant in the chart; never 0."""
    return hash(constant) & (2**64 - 1) or 1


class Grammar:
    """Columns of the tables for the symbols of a schema, and the units of meanings.

    silent: for each (relation, slot), the constants that need no word. roots: relations seen as whole
    meanings; empty: any. double: relations that are constants, too. styles: of open types.
    """

    def __init__(
        self, schema: Schema, tables: Any, silent: Mapping[tuple[str, int], Sequence[str]], roots: set[str],
        double: Collection[str] = (), styles: Mapping[str, str] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        self.schema, self.tables, self.silent = schema, tables, silent
        self.roots = [rel for rel in schema.relations if rel in roots] or list(schema.relations)
        self.type_of = {
            symbol: name
            for name, symbols in schema.types.items()
            for symbol in symbols
            if symbol not in schema.relations or symbol in double
        }
        self.styles, self.double = styles, double
        self.has_names = any(map(is_name, schema.relations))  # of arguments
        self.open: list[tuple[Hashable, Any, bool]] = [  # the last: whether several words may spell it
            (("open", kind), pattern, bool(pattern.fullmatch("a b") or pattern.fullmatch("a_b")))
            for kind, pattern in schema.patterns.items()
        ]
        self.valued = {kind for kind, p in schema.patterns.items() if not p.fullmatch("any text")}
        self.nested = any(
            symbol in schema.relations
            for r in schema.relations.values()
            for s in r.slots
            for symbol in schema.types[s]
        )
        self.add_labels()

    def types_of(self, constant: str) -> list[str]:
        return [kind for kind, symbols in self.schema.types.items() if constant in symbols]

    def copied(self, constant: str) -> bool:
        """Whether an open type spells a constant."""
        patterns = self.schema.patterns
        return any(
            kind in patterns and patterns[kind].fullmatch(constant) for kind in self.types_of(constant)
        )

    def alike(self, constants: Collection[str]) -> set[str]:
        """The other constants of the types of these."""
        types = {kind for constant in constants for kind in self.types_of(constant)}
        return {symbol for kind in types for symbol in self.schema.types[kind]} - set(constants)

    def written(self, label: Any, text: str) -> list[str]:
        """The constants of an open type that a text may spell, first in the style of others of that type."""
        kind = label[1]
        usual = self.styles.get(kind) or ("lower joined" if self._are_joined(kind) else "exact")
        return list(dict.fromkeys(STYLES[name](text) for name in (usual, "exact", "lower", "lower joined")))

    @cache  # noqa: B019, a grammar does not outlive its parser
    def _are_joined(self, kind: str) -> bool:
        """Whether the listed constants of several words have underscores."""
        several = [symbol for symbol in self.schema.types[kind] if len(spelling(symbol)) > 1]
        return bool(several) and not any(" " in symbol for symbol in several)

    def add_labels(self) -> None:
        """A column for each relation, role and constant of the schema."""
        schema, tables = self.schema, self.tables
        for rel, relation in schema.relations.items():
            tables.relations.label(rel)
            tables.nesting.label((rel,))
            for slot in range(len(relation.slots)):
                tables.roles.label((rel, slot))
        for kind, symbols in schema.types.items():
            for symbol in sorted(symbols):
                if symbol in self.type_of:
                    tables.constants.label(symbol)
                    tables.nesting.label(symbol)
            if kind in schema.open:
                tables.constants.label(("open", kind))

    @cached_property
    def layout(self) -> Layout:
        tables = self.tables
        roles, constants = tables.roles.labels, tables.constants.labels
        allowed = np.zeros((max(len(roles), 1), max(len(constants), 1)), np.uint8)
        for (rel, slot), role in roles.items():
            kind = self.schema.relations[rel].slots[slot]
            for symbol in self.schema.types[kind]:
                if symbol in constants:
                    allowed[role, constants[symbol]] = 1
            if kind in self.schema.open:
                allowed[role, constants["open", kind]] = 1
        rows = [f"{rel} {slot}" for rel, slot in roles] + ["root"]
        nest = tables.nesting
        return Layout(
            [self._row(nest, name) for name in rows],
            [nest.labels.get((rel,), -1) for rel in tables.relations.labels],
            [nest.labels.get(symbol, -1) for symbol in constants],
            [self._row(tables.roles, name) for name in STATES],
            self._row(tables.relations, "bias"),
            self._row(tables.relations, "wordless"),
            allowed,
            [meaning_of(symbol) if isinstance(symbol, str) else 0 for symbol in constants],
        )

    @cached_property
    def names(self) -> dict[str, list[Any]]:
        """The symbols of the columns."""
        return {name: list(table.labels) for name, table in self.tables.all.items()}

    def add_rows(self) -> None:
        """The rows of features that every sentence has."""
        tables = self.tables
        tables.nesting.rows([*(f"{rel} {slot}" for rel, slot in tables.roles.labels), "root"], grow=True)
        tables.roles.rows(STATES, grow=True)
        tables.relations.rows(["bias", *(["wordless"] if self.nested else [])], grow=True)

    @staticmethod
    def _row(table: Any, name: str) -> int:
        return table.features.get(name, -1)

    @cached_property
    def search(self) -> Units:
        """All meanings."""
        return self.saying(frozenset())

    @cache  # noqa: B019, a grammar does not outlive its parser
    def saying(self, types: frozenset[str]) -> Units:
        """All meanings in which a word names each constant of these types."""
        names = list(self.schema.relations)
        number = {rel: k for k, rel in enumerate(names)}
        units = []
        for rel in names:
            relation = self.schema.relations[rel]
            copies = dict(relation.copies)
            slots = []
            for slot, kind in enumerate(relation.slots):
                arcs = [number[name] for name in sorted(self.schema.types[kind]) if name in number]
                silent = [] if kind in types else self._silent(rel, slot)
                slots.append((self._role(rel, slot), copies.get(slot, -1), arcs, silent, 0))
            units.append((self.tables.relations.labels[rel], relation.least, is_name(rel), slots))
        return Units(units, [number[rel] for rel in self.roots], False)

    def exactly(self, mrs: Sequence[MR]) -> Units | None:
        """These meanings side by side, in any order; None if the schema does not allow one of them."""
        units: list[Any] = []
        roots = []
        for mr in mrs:
            if mr.rel not in self.tables.relations.labels or not self.schema.valid(mr):
                return None
            roots.append(len(units))
            if not self._add(mr, units) or mr.rel not in self.roots:
                return None
        return Units(units, roots, True)

    def _add(self, mr: MR, units: list[Any]) -> bool:
        place = len(units)
        units.append(None)
        slots = []
        copies = dict(self.schema.relations[mr.rel].copies)
        for slot, arg in enumerate(mr.args):
            earlier = copies.get(slot, -1)
            if earlier >= 0 and arg != mr.args[earlier]:
                return False
            arcs: list[int] = []
            silent: list[int] = []
            want = 0
            if isinstance(arg, MR):
                if earlier < 0:
                    arcs = [len(units)]
                    if not self._add(arg, units):
                        return False
            else:
                want = meaning_of(arg)
                column = self.tables.constants.labels.get(arg)
                silent = [column] if column in self._silent(mr.rel, slot) else []
            slots.append((self._role(mr.rel, slot), earlier, arcs, silent, want))
        units[place] = self.tables.relations.labels[mr.rel], len(slots), is_name(mr.rel), slots
        return True

    def _role(self, rel: str, slot: int) -> int:
        return self.tables.roles.labels[rel, slot]

    def _silent(self, rel: str, slot: int) -> list[int]:
        columns = self.tables.constants.labels
        return [columns[c] for c in self.silent.get((rel, slot), ()) if c in columns]
