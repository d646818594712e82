"""`structsvm parse teach`: ask which candidate a sentence means, if any, and learn each answer.

A question is {"text": ..., "candidates": [...]}. An answer is the position of the right candidate, or -1 for
none. The parser first learns from all sentences with their candidates; an answer then makes one candidate
certain.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from corpora.bags import Bag
from semparse.commands import training_bags
from semparse.examples import as_tokens
from semparse.meaning import as_mr
from semparse.ospas import Ospas
from structsvm.files import DataError, check_output
from structsvm.teach.answers import Answer
from structsvm.teach.session import Session
from structsvm.teach.teaching import Export, Teaching, default_journal, start_teaching

NONE = -1


class ParseLearner:
    """A parser that learns which of the candidates of a sentence is right."""

    task = "parse"
    kind = "choice"

    def __init__(self, pool: Sequence[Any], *, model: str | Path | None = None, **options: Any) -> None:
        if model is None:
            self._blank = Ospas(**options).fit(
                [item["text"] for item in pool], [item["candidates"] for item in pool]
            )
        else:
            self._blank = Ospas.load(model)
        self.parser = copy.deepcopy(self._blank)

    def fresh(self) -> Self:
        new = copy.copy(self)
        new.parser = copy.deepcopy(self._blank)
        return new

    def names(self) -> list[str]:
        return []

    def add_name(self, name: str) -> str:
        raise DataError("a parser has candidates instead of labels")

    def check(self, item: Any, value: Any) -> int:
        known = range(NONE, len(item["candidates"]))
        if isinstance(value, bool) or not isinstance(value, int) or value not in known:
            raise DataError(f"an answer must be the position of a candidate, or {NONE} for none of them")
        return value

    def names_in(self, value: Any) -> list[str]:
        """No labels: an answer is the position of a candidate."""
        return []

    def valid(self, answer: Answer) -> bool:
        item, n = answer.item, 0
        if isinstance(item, dict) and item.keys() == {"text", "candidates"}:
            candidates = item["candidates"]
            if isinstance(candidates, list) and all(isinstance(text, str) for text in candidates):
                n = len(candidates) if isinstance(item["text"], str) else 0
        places = [place for place in (answer.value, answer.guess) if place is not None]
        return n > 0 and all(type(place) is int and NONE <= place < n for place in places)

    def learn(self, answers: Sequence[Answer]) -> None:
        """Learn the right candidates; the parser learns nothing from a sentence that means none of them."""
        for answer in answers:
            if answer.value != NONE:
                self.parser.partial_fit(answer.item["text"], [answer.item["candidates"][answer.value]])

    def tidy(self) -> None:
        """Do nothing: the parser learns only a few features from an answer."""

    def guess(self, items: Sequence[Any]) -> list[tuple[int, list[float]]] | None:
        return [self._guess(item) for item in items]

    def _guess(self, item: Any) -> tuple[int, list[float]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # candidates with new symbols cannot be matched yet
            found = self.parser.match(item["text"], item["candidates"])
        best = self.parser.parse(item["text"])
        meanings = [str(as_mr(text)) for text in item["candidates"]]
        value = NONE if found is None else meanings.index(str(found))
        margin = min(float(best[0].margin), 99.0) if best else 0.0
        return value, [round(margin, 3)]

    def rank(self, items: Sequence[Any]) -> tuple[np.ndarray, np.ndarray] | None:
        margins = np.array([margins[0] for _, margins in map(self._guess, items)], float)
        return -margins, margins

    def doubt(self, answers: Sequence[Answer]) -> list[tuple[float, list[int]]]:
        found = [self._guess(answer.item) for answer in answers]
        return [
            (margins[0] if value != answer.value else 0.0, [])
            for answer, (value, margins) in zip(answers, found, strict=True)
        ]

    def count(self, guess: Any, value: Any) -> tuple[int, int, int]:
        return int(guess == value), 1, 1

    def units(self, one: Answer, two: Answer) -> list[tuple[str, str]]:
        """The candidates that two annotators chose."""
        first, second = (
            "none" if answer.value == NONE else answer.item["candidates"][answer.value]
            for answer in (one, two)
        )
        return [(first, second)]

    def explain(self, item: Any, at: int) -> dict[str, Any]:
        reasons = [(f"{label}: {name}", round(weight, 4)) for label, name, weight in self._reasons(item)]
        return {"label": None, "margin": self._guess(item)[1][0], "reasons": reasons}

    def _reasons(self, item: Any) -> list[tuple[str, str, float]]:
        return self.parser.explain(item["text"])[:8] if self.parser.parse(item["text"]) else []

    def alternatives(self, item: Any, n: int) -> list[tuple[float | None, Any]]:
        return []

    def save(self, path: str | Path) -> None:
        self.parser.save(path)


def export(answers: Sequence[Answer]) -> tuple[bytes, int]:
    """JSONL with the right meaning as `gold`, which is empty for none of the candidates."""
    lines = []
    for answer in answers:
        candidates = answer.item["candidates"]
        gold = [] if answer.value == NONE else [candidates[answer.value]]
        lines.append(Bag(answer.item["text"], candidates, gold).to_jsonl())
    return "".join(lines).encode(), 0


def teach(
    file: str | Path,
    output: str | Path,
    *,
    model: str | Path | None = None,
    merge: Sequence[str | Path] = (),
    journal: str | Path | None = None,
    annotator: str = "",
    random: float = 0.1,
    format: str | None = None,
    **options: Any,
) -> Teaching:
    """Begin or continue a session; `options` are those of `Ospas`. See `taggers.teach.commands.teach`."""
    path = default_journal(output) if journal is None else Path(journal)
    check_output(output, file, *merge, path)
    check_output(path, file, *merge)
    bags = training_bags(file, format, None)
    pool = [
        {"text": bag.text, "candidates": list(dict.fromkeys(bag.candidates))}
        for bag in bags
        if bag.candidates and as_tokens(bag.text)
    ]
    learner = ParseLearner(pool, model=model, **options)
    session = Session(learner, pool, path, by=annotator, random=random)
    return start_teaching(session, output, {"jsonl": Export("jsonl", export)}, merge=merge)
