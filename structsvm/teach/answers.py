"""Read the answers of annotators from journals, with undo, and measure how far two journals agree."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from structsvm.files.errors import DataError

VERSION = 1
Record = dict[str, Any]


def item_id(item: Any) -> str:
    """The id of an item; it depends only on the content, so it is the same in every journal.

    The spaces between tokens, which only the page shows, do not count.
    """
    if isinstance(item, dict):
        item = {key: value for key, value in item.items() if key != "spaces"}
    text = json.dumps(item, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=9).hexdigest()


@dataclass(frozen=True)
class Answer:
    """One answer.

    item: what was asked, as JSON. value: the answer, None if it was skipped. guess: the model's answer before
    it learned this one, None if it had none. why: the reason why the question was chosen. by: the annotator.
    time: seconds since 1970.
    """

    id: str
    item: Any
    value: Any
    guess: Any = None
    why: str = ""
    by: str = ""
    time: float = 0.0

    def record(self, key: str) -> Record:
        """The record of a journal."""
        return {"do": "answer", "key": key, **vars(self)}


FIELDS = {"id": str, "item": object, "value": object, "guess": object, "why": str, "by": str, "time": float}


@dataclass
class Answers:
    """The state that the records of a journal describe.

    task: the kind of answers, for the first record. current: the last answer to each item. history: each
    answer that was given and not undone, with the one that it replaced. names: labels in the order in which
    they were added. keys: the keys of all requests, so that no request counts twice. n_given: the number of
    current answers without the skipped ones.
    """

    task: str
    current: dict[str, Answer] = field(default_factory=dict)
    history: list[tuple[Answer, Answer | None]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    n_given: int = 0

    def first(self) -> Record:
        """The first record of a journal."""
        return {"teach": self.task, "version": VERSION}

    def load(self, records: Sequence[Record], name: str, valid: Callable[[Answer], bool]) -> None:
        """Apply the records of a journal; DataError names the line of a wrong one.

        valid: tells whether an answer belongs to a question of the task; its labels may be new.
        """
        if records:
            self._check_first(records[0], name)
        for line, record in enumerate(records[1:], start=2):
            try:
                answer = self.apply(record)
                if answer is not None and (answer.id != item_id(answer.item) or not valid(answer)):
                    raise ValueError("the answer does not fit its question")
            except (LookupError, TypeError, ValueError) as error:
                raise DataError(
                    f"not a record of an answer ({error}); restore the file", name, line
                ) from None

    def _check_first(self, record: Record, name: str) -> None:
        task, version = record.get("teach"), record.get("version")
        if task is None:
            raise DataError("is not a journal of structsvm teach; choose another file", name, 1)
        if task != self.task:
            raise DataError(f"is a journal of {task}, not of {self.task}; choose another file", name, 1)
        if version != VERSION:
            raise DataError(f"has version {version}, expected {VERSION}; update structsvm", name, 1)

    def apply(self, record: Record) -> Answer | None:
        """Change the state by a record; return the answer that it gives or takes back."""
        kind = record["do"]
        if kind == "answer":
            answer = Answer(**{name: _typed(record, name) for name in FIELDS})
            self.history.append((answer, self.current.get(answer.id)))
            self._set(answer.id, answer)
        elif kind == "undo":
            answer, before = self.history.pop()
            self._set(answer.id, before)
        elif kind == "name":
            answer = None
            name = record["name"]
            if not isinstance(name, str):
                raise TypeError("name must be a string")
            if name not in self.names:
                self.names.append(name)
        else:
            raise ValueError(f"unknown kind {kind!r}")
        if key := record.get("key"):
            self.keys.add(str(key))
        return answer

    def _set(self, id: str, answer: Answer | None) -> None:
        before = self.current.get(id)
        self.n_given -= before is not None and before.value is not None
        if answer is None:
            del self.current[id]
        else:
            self.current[id] = answer
            self.n_given += answer.value is not None

    def given(self) -> list[Answer]:
        """The current answers, without those that were skipped."""
        return [answer for answer in self.current.values() if answer.value is not None]


def _typed(record: Record, name: str) -> Any:
    value = record[name]
    kind = FIELDS[name]
    if not isinstance(value, (int, float) if kind is float else kind):
        raise TypeError(f"{name} must be {kind.__name__}")
    return value


@dataclass(frozen=True)
class Agreement:
    """How far two annotators agree on the items that both have answered.

    units: what they decided on in these items. observed: the share of equal decisions. kappa: Cohen's kappa,
    which is 0 for the agreement that is expected by chance and 1 for full agreement; nan without units.
    types: the kappa of each type of decision. conflicts: the items that they answered differently, as pairs
    of answers.
    """

    items: int
    units: int
    observed: float
    kappa: float
    types: dict[str, float]
    conflicts: list[tuple[Answer, Answer]]


def agreement(
    one: Answers,
    two: Answers,
    units: Callable[[Answer, Answer], Iterable[tuple[Hashable, Hashable]]],
    kind: Callable[[Any], str] = str,
) -> Agreement:
    """Compare two journals.

    units: pairs the single decisions of two answers to the same item. kind: the type of a decision.
    """
    pairs: Counter[tuple[Hashable, Hashable]] = Counter()
    conflicts, items = [], 0
    for answer in one.given():
        other = two.current.get(answer.id)
        if other is None or other.value is None:
            continue
        items += 1
        pairs.update(units(answer, other))
        if answer.value != other.value:
            conflicts.append((answer, other))
    return Agreement(items, pairs.total(), *cohen_kappa(pairs), kappa_by_type(pairs, kind), conflicts)


def cohen_kappa(pairs: Counter[tuple[Hashable, Hashable]]) -> tuple[float, float]:
    """The share of equal decisions and Cohen's kappa, from counts of pairs of decisions."""
    total = sum(pairs.values())
    if not total:
        return float("nan"), float("nan")
    observed = sum(count for (a, b), count in pairs.items() if a == b) / total
    first: Counter[Hashable] = Counter()
    second: Counter[Hashable] = Counter()
    for (a, b), count in pairs.items():
        first[a] += count
        second[b] += count
    chance = sum(first[name] * second[name] for name in first) / total**2
    return observed, 1.0 if chance == 1 else (observed - chance) / (1 - chance)


def kappa_by_type(pairs: Counter[tuple[Hashable, Hashable]], kind: Callable[[Any], str]) -> dict[str, float]:
    """Cohen's kappa of each type of decision against all others."""
    typed: Counter[tuple[str, str]] = Counter()
    for (a, b), count in pairs.items():
        typed[kind(a), kind(b)] += count
    found = {}
    for name in sorted({one for pair in typed for one in pair}):
        own: Counter[tuple[Hashable, Hashable]] = Counter()
        for (a, b), count in typed.items():
            own[a == name, b == name] += count
        found[name] = cohen_kappa(own)[1]
    return found


def merged(mine: Answers, theirs: Answers) -> list[Answer]:
    """The answers of `theirs` to items that `mine` has not answered."""
    kept = {id for id, answer in mine.current.items() if answer.value is not None}
    return [answer for answer in theirs.given() if answer.id not in kept]
