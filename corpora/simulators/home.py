"""Simulate a smart home: commands and comments, each with what the home logged around that time.

Options add the difficulties of real logs: talk that means nothing, names of several words, numbers in words,
arguments that nobody says, two clauses in a sentence, conditions, misspelt words, and names and numbers that
the training part lacks. The home, its words and its log are our own.
"""

from __future__ import annotations

import re
from random import Random

from corpora.bags import MOST_WRONG, Bag, meaning_text
from corpora.simulators import home_language as language
from corpora.simulators.home_language import COMMENTS, HERE, NUMBERS, RELATIONS, TYPES
from structsvm.validation import check_count, check_number

OPEN = tuple(rel for rel, slots in RELATIONS.items() if {"music", "person", *NUMBERS} & set(slots))
WITH_ROOM = tuple(rel for rel, slots in RELATIONS.items() if "room" in slots)
NUMBER_FORMS = ("digits", "words", "mixed")
ORDERS = ("before", "after", "mixed")
SAME_ROOM = 0.3  # the chance that another event is logged in the room of the one that is meant

Meaning = tuple[str, tuple[str, ...]]


class Home:
    """The events of a home and the sentences about them."""

    def __init__(self, rng: Random, *, multiword: bool, numbers: str, order: str) -> None:
        self.rng = rng
        self.numbers = numbers
        self.order = order
        longer = language.LONG if multiword else {}
        self.known = {kind: (*names, *longer.get(kind, ())) for kind, names in TYPES.items()}
        longer = language.NEW_LONG if multiword else {}
        self.new = self.known | {
            kind: (*names, *longer.get(kind, ())) for kind, names in language.NEW.items()
        }
        for kind in NUMBERS:  # every third number stays unseen
            self.known[kind] = tuple(n for n in TYPES[kind] if int(n) % 3)
            self.new[kind] = tuple(n for n in TYPES[kind] if not int(n) % 3)

    def event(self, relations: tuple[str, ...], *, new: bool = False, room: str | None = None) -> Meaning:
        """One of these relations with arguments: new names and numbers only, in a given room."""
        names = self.new if new else self.known
        rel = self.rng.choice(relations)
        meaning = rel, tuple(self.rng.choice(names[kind]) for kind in RELATIONS[rel])
        return _moved(meaning, room) if room else meaning

    def rule(self) -> tuple[Meaning, Meaning]:
        """A condition and the command that it triggers."""
        commands = tuple(rel for rel in RELATIONS if rel not in COMMENTS)
        return self.event(COMMENTS), self.event(commands)

    def say(self, meaning: Meaning, *, omit: bool = False, condition: bool = False) -> str:
        """A sentence, or the clause of a condition; omit leaves its room out."""
        rel, args = meaning
        frames = language.CONDITIONS if condition else language.FRAMES
        frame = self.rng.choice([frame for frame in frames[rel] if not omit or "[" in frame])
        frame = re.sub(r"\[.*?\]" if omit else r"[\[\]]", "", frame)
        return frame.format(*[self.name(arg) for arg in args])

    def name(self, symbol: str) -> str:
        if symbol.isdigit():
            words = self.numbers == "words" or (self.numbers == "mixed" and self.rng.random() < 0.5)
            return language.number_words(int(symbol)) if words else symbol
        return self.rng.choice(language.SYNONYMS.get(symbol, (symbol,))).replace("_", " ")

    def say_rule(self, condition: Meaning, command: Meaning) -> str:
        """Say "when B, A" (the condition comes before) or "A when B" (after)."""
        when = f"{self.rng.choice(language.WHEN)} {self.say(condition, condition=True)}"
        before = self.order == "before" or (self.order == "mixed" and self.rng.random() < 0.5)
        return f"{when} {self.say(command)}" if before else f"{self.say(command)} {when}"

    def say_nothing(self) -> str:
        """Talk that means nothing, often about the people and things of the home."""
        words = {kind: self.rng.choice(self.known[kind]) for kind in ("room", "device", "person", "percent")}
        words["other"] = self.rng.choice(self.known["person"])
        named = {kind: self.name(symbol) for kind, symbol in words.items()}
        filled = {kind: self.rng.choice(fillers) for kind, fillers in language.FILLERS.items()}
        return self.rng.choice(language.NOTHING).format(**named, **filled)


def simulate_home(
    n: int,
    *,
    level: int = 2,
    missing: float = 0.2,
    off_topic: float = 0.0,
    two_clauses: float = 0.0,
    conditions: float = 0.0,
    order: str = "mixed",
    omitted: float = 0.0,
    unseen: float = 0.0,
    multiword: bool = False,
    numbers: str = "digits",
    misspelt: float = 0.0,
    seed: int = 0,
) -> list[Bag]:
    """Simulate n sentences, each with what the home logged and its gold meanings.

    Parameters
    ----------
    level : the average number of wrong candidates; there are 0 to 2 * level.
    missing : the share of meaningful sentences whose bags lack the right meaning.
    off_topic : the share of sentences that mean nothing (`gold` is empty); they have a candidate or more.
    two_clauses : the share of meaningful sentences with two meanings, both logged.
    conditions : the share of the others with a nested meaning, `when(came_home(anna), turn_on(lamp, hall))`.
    order : "before" (said as "when B, A"), "after" ("A when B") or "mixed".
    omitted : the share of commands in a room that do not say it; they mean the hall.
    unseen : the share of plain sentences that are about names and numbers which never occur otherwise.
    multiword : use names of several words too, as `living_room` for "living room".
    numbers : "digits", "words" ("twenty seven" for 27) or "mixed".
    misspelt : the share of words with a wrong, missing or additional letter.
    seed : the same options and seed give the same sentences.
    """
    _check(numbers=(numbers, NUMBER_FORMS), order=(order, ORDERS))
    shares = {
        "missing": missing, "off_topic": off_topic, "two_clauses": two_clauses, "conditions": conditions,
        "omitted": omitted, "unseen": unseen, "misspelt": misspelt,
    }  # fmt: skip
    check_number(high=1, **shares)
    check_count(level=level, high=MOST_WRONG)
    rng = Random(f"home {seed}")
    home = Home(rng, multiword=multiword, numbers=numbers, order=order)
    bags = []
    for _ in range(n):
        text, gold, room = _sentence(home, off_topic, two_clauses, conditions, omitted, unseen)
        lacking = not gold or rng.random() < missing
        candidates = [] if lacking else list(gold)
        wanted = max(len(candidates) + rng.randint(0, 2 * level), 1)
        while len(candidates) < wanted:
            other = _logged(home, conditions, room)
            if other not in candidates and other not in gold:
                candidates.append(other)
        rng.shuffle(candidates)
        bags.append(Bag(_typed(text, misspelt, rng), tuple(candidates), gold))
    return bags


def _typed(text: str, misspelt: float, rng: Random) -> str:
    """A text with some of its words misspelt, but no number and no word of one or two letters."""
    return " ".join(
        language.misspelt(word, rng) if len(word) > 2 and word.isalpha() and rng.random() < misspelt else word
        for word in text.split()
    )


def _sentence(
    home: Home, off_topic: float, two_clauses: float, conditions: float, omitted: float, unseen: float
) -> tuple[str, tuple[str, ...], str | None]:
    """A sentence, its meanings, and the room that it is about."""
    rng = home.rng
    if rng.random() < off_topic:
        return home.say_nothing(), (), None
    if rng.random() < two_clauses:
        both = [_plain(home, omitted, 0.0) for _ in range(2)]
        while both[0][1] == both[1][1]:
            both[1] = _plain(home, omitted, 0.0)
        (first, one, room), (second, two, _) = both
        return f"{first} {rng.choice(language.AND)} {second}", (one, two), room
    if rng.random() < conditions:
        condition, command = home.rule()
        return home.say_rule(condition, command), (_rule_text(condition, command),), None
    text, meaning, room = _plain(home, omitted, unseen)
    return text, (meaning,), room


def _plain(home: Home, omitted: float, unseen: float) -> tuple[str, str, str | None]:
    """A sentence with one clause, its meaning and its room."""
    new = home.rng.random() < unseen
    meaning = rel, _ = home.event(OPEN if new else tuple(RELATIONS), new=new)
    omit = rel in WITH_ROOM and home.rng.random() < omitted
    if omit:
        meaning = _moved(meaning, HERE)
    room = meaning[1][RELATIONS[rel].index("room")] if rel in WITH_ROOM else None
    return home.say(meaning, omit=omit), meaning_text(*meaning), room


def _moved(meaning: Meaning, room: str) -> Meaning:
    """The same in another room."""
    rel, args = meaning
    return rel, tuple(room if kind == "room" else arg for kind, arg in zip(RELATIONS[rel], args, strict=True))


def _logged(home: Home, conditions: float, room: str | None) -> str:
    """Something else that the home logged."""
    if home.rng.random() < conditions:
        return _rule_text(*home.rule())
    near = room if home.rng.random() < SAME_ROOM else None
    return meaning_text(*home.event(tuple(RELATIONS), room=near))


def _rule_text(condition: Meaning, command: Meaning) -> str:
    parts = [meaning_text(*part) if part[1] else f"{part[0]}()" for part in (condition, command)]
    return meaning_text("when", parts)


def _check(**choices: tuple[str, tuple[str, ...]]) -> None:
    for name, (value, allowed) in choices.items():
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
