"""Ambiguous supervision: a text with its candidate meanings, and the time-window rule that collects them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from structsvm.validation import MOST, check_number

NO_SYMBOL = "-"
MOST_WRONG = 1000  # the largest average number of wrong meanings per sentence in a simulation


@dataclass(frozen=True)
class Bag:
    """A text with candidate meanings, such as "pass(purple10,purple8)"; `gold` is None if unknown."""

    text: str
    candidates: Sequence[str] = ()
    gold: Sequence[str] | None = None
    time: float | None = None
    id: str = ""
    tokens: Sequence[str] | None = None  # where given, used in place of the text's words
    weights: Sequence[float] | None = None  # how likely each candidate is; only their ratios count
    wrong: Sequence[str] | None = None  # meanings that the text does not have
    symbols: Sequence[str] | None = None  # what each word stands for, "-" for nothing; as simulators know it
    line: int = field(default=0, compare=False)  # of the file that it was read from

    @property
    def sentence(self) -> str | list[str]:
        return self.text if self.tokens is None else list(self.tokens)

    def to_jsonl(self) -> str:
        """A line of JSONL, without the fields that are unknown."""
        known = {k: v for k, v in asdict(self).items() if v is not None and v != "" and k != "line"}
        return json.dumps(known, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class Event:
    """Something that happened from `start` to `end`."""

    start: float
    end: float
    meaning: str


def meaning_text(rel: str, args: Iterable[str]) -> str:
    """A relation and its arguments as text."""
    inside = ", ".join(args)
    return f"{rel}({inside})" if inside else rel


def windows(
    texts: Iterable[tuple[float, str]], events: Iterable[Event], before: float = 5, after: float = 2
) -> list[Bag]:
    """Build the bag of each (time, text): the distinct meanings of the events that overlap its window.

    The window is [time - before, time + after]: people comment on what happened, and a home does what people
    said. A text without an event gets a bag without candidates. Events may come in any order, and so may
    texts; candidates keep the order of the events.
    """
    check_number(before=before, after=after, high=MOST)
    timed = sorted(enumerate(events), key=lambda pair: pair[1].start)
    for number, event in timed:
        if not event.end >= event.start:
            raise ValueError(f"event {number} ends at {event.end}, before it starts at {event.start}")
    wanted = sorted(enumerate(texts), key=lambda pair: pair[1][0])
    bags: list[Bag | None] = [None] * len(wanted)
    alive: list[tuple[int, Event]] = []
    arriving = iter([*timed, None])
    following = next(arriving)
    for place, (time, text) in wanted:
        while following is not None and following[1].start <= time + after:
            alive.append(following)
            following = next(arriving)
        alive = [pair for pair in alive if pair[1].end >= time - before]
        meanings = dict.fromkeys(event.meaning for _, event in sorted(alive, key=lambda pair: pair[0]))
        bags[place] = Bag(text, tuple(meanings), time=time)
    return [bag for bag in bags if bag is not None]
