"""A simulated house: actors, things and places, events that are coherent, and sentences about them.

The world of Bordes' thesis: 15 verbs and 43 concepts (appendix C.5), for its data set AmbigHouse (6.2.2) and
for concept labelling with world knowledge. The lists, preconditions and the grammar are our own.

    (verb, args) = event(u)         a random action that makes sense in the universe u
    (x, y) = generate(verb, args)   a sentence, and the concept that each word names
    u = execute(verb, args, u)      the only way the universe changes
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from random import Random

from corpora.bags import MOST_WRONG, Bag, meaning_text
from corpora.simulators.house_language import Describer, pronoun
from structsvm.validation import check_count

VERBS = (
    "move", "get", "give", "put", "sleep", "wake_up", "play", "drink", "eat", "bring", "drop", "sit",
    "stand_up", "cook", "work",
)  # fmt: skip
# inherit(c): the type of each thing, and the type of each type.
INHERIT = {
    **dict.fromkeys(["John", "Mark", "Harry"], "male"),
    **dict.fromkeys(["Gina", "Francoise", "Maggie"], "female"),
    **dict.fromkeys(["cat", "dog", "hamster", "bird"], "animal"),
    **dict.fromkeys(["water", "milk"], "beverage"),
    **dict.fromkeys(["chocolate", "yoghurt", "salad", "rice", "apple", "orange", "bread"], "food"),
    **dict.fromkeys(["doll", "toy", "ball", "football", "videogame", "book"], "plaything"),
    **dict.fromkeys(["kitchen", "bedroom", "hall", "livingroom", "garden", "bathroom"], "room"),
    **dict.fromkeys(["chair", "armchair", "stool"], "seat"),
    **dict.fromkeys(["couch", "bed"], "lying"),
    **dict.fromkeys(["fridge", "closet", "cupboard"], "container"),
    **dict.fromkeys(["sideboard", "desk", "table", "shelf"], "support"),
    "male": "human", "female": "human", "human": "actor", "animal": "actor",
    "beverage": "object", "food": "object", "plaything": "object",
    "seat": "furniture", "lying": "furniture", "container": "furniture", "support": "furniture",
    "room": "place", "furniture": "place",
}  # fmt: skip
HOME = {
    "chair": "kitchen", "armchair": "livingroom", "stool": "bathroom", "couch": "livingroom",
    "bed": "bedroom", "fridge": "kitchen", "closet": "bedroom", "cupboard": "kitchen",
    "sideboard": "livingroom", "desk": "bedroom", "table": "garden", "shelf": "hall",
}  # fmt: skip


def _members(kind: str) -> tuple[str, ...]:
    """The concepts that inherit from a type, directly or not."""
    found: list[str] = []
    for name, parent in INHERIT.items():
        if parent == kind:
            found += _members(name) or [name]
    return tuple(found)


ACTORS, OBJECTS, ROOMS, FURNITURE = map(_members, ("actor", "object", "room", "furniture"))
PATIENCE = 200  # actions drawn in vain for one that is not among the candidates yet
THINGS = (*ACTORS, *OBJECTS, *ROOMS, *FURNITURE)
CONCEPTS = (*VERBS, *THINGS)
MEMBERS = {kind: _members(kind) for kind in INHERIT.values()}
CONTAINING = tuple(f for f in FURNITURE if f not in MEMBERS["seat"])


@dataclass
class Universe:
    """location(c), containedby(c) and state(c), of concepts that have them."""

    location: dict[str, str]
    contained_by: dict[str, str]
    asleep: set[str]

    def copy(self) -> Universe:
        return Universe(dict(self.location), dict(self.contained_by), set(self.asleep))

    def near(self, a: str, b: str) -> bool:
        return self.location[a] == self.location[b]

    def holds(self, actor: str, thing: str) -> bool:
        return self.contained_by.get(thing) == actor

    def up(self, actor: str) -> bool:
        """Awake and on its feet."""
        return actor not in self.contained_by

    def state(self, actor: str) -> str:
        return "asleep" if actor in self.asleep else "standing" if self.up(actor) else "sitting"

    def whereabouts(self, thing: str) -> str:
        """The thing or person that has a thing, or the room it is in."""
        return self.contained_by.get(thing, self.location[thing])

    def go(self, actor: str, room: str) -> None:
        """Move an actor, with all it holds."""
        self.location[actor] = room
        for thing, holder in self.contained_by.items():
            if holder == actor:
                self.location[thing] = room

    def place(self, thing: str, holder: str | None) -> None:
        """Put a thing or an actor into, onto or into the hands of something; None: nowhere special."""
        if holder is None:
            self.contained_by.pop(thing, None)
        else:
            self.contained_by[thing] = holder
            self.location[thing] = self.location[holder]


# Slots of each verb: the kinds of its arguments.
SLOTS: dict[str, tuple[str, ...]] = {
    "move": ("actor", "room", "room"), "get": ("actor", "object", "place"),
    "give": ("human", "object", "human"), "put": ("human", "object", "furniture"),
    "sleep": ("actor", "lying"), "wake_up": ("actor",), "play": ("actor", "plaything"),
    "drink": ("actor", "beverage"), "eat": ("actor", "food"), "bring": ("actor", "object", "room"),
    "drop": ("actor", "object", "room"), "sit": ("actor", "seat"), "stand_up": ("actor",),
    "cook": ("human", "food"), "work": ("human", "support"),
}  # fmt: skip

# Preconditions, by what location and containedby show of the arguments.
_CONDITIONS: dict[str, Callable[..., bool]] = {
    "move": lambda u, a, r, s: u.up(a) and u.location[a] == r != s,
    "get": lambda u, a, o, p: u.up(a) and u.near(a, o) and u.whereabouts(o) == p,
    "give": lambda u, a, o, b: u.up(a) and u.holds(a, o) and a != b and u.near(a, b) and b not in u.asleep,
    "put": lambda u, a, o, f: u.up(a) and u.holds(a, o) and u.near(a, f) and f in CONTAINING,
    "sleep": lambda u, a, f: u.up(a) and u.near(a, f),
    "wake_up": lambda u, a: a in u.asleep,
    "play": lambda u, a, o: a not in u.asleep and u.near(a, o) and u.contained_by.get(o, a) == a,
    "drink": lambda u, a, o: u.up(a) and u.holds(a, o),
    "eat": lambda u, a, o: u.up(a) and u.holds(a, o),
    "bring": lambda u, a, o, r: u.up(a) and u.holds(a, o) and u.location[a] != r,
    "drop": lambda u, a, o, r: u.up(a) and u.holds(a, o) and u.location[a] == r,
    "sit": lambda u, a, f: u.up(a) and u.near(a, f),
    "stand_up": lambda u, a: u.state(a) == "sitting",
    "cook": lambda u, a, o: u.up(a) and u.location[a] == "kitchen" and u.near(a, o),
    "work": lambda u, a, f: u.up(a) and u.near(a, f) and f == "desk",
}


def coherent(verb: str, args: tuple[str, ...], u: Universe) -> bool:
    """Whether an action makes sense, by the relations of its arguments."""
    right_kinds = all(arg in MEMBERS[kind] for arg, kind in zip(args, SLOTS[verb], strict=True))
    return right_kinds and _CONDITIONS[verb](u, *args)


def execute(verb: str, args: tuple[str, ...], u: Universe, rng: Random) -> None:
    """Change the universe by an action."""
    actor = args[0]
    if verb in ("move", "bring"):
        u.go(actor, args[-1])
    elif verb == "get":
        u.place(args[1], actor)
    elif verb in ("give", "put"):
        u.place(args[1], args[2])
    elif verb == "drop":
        u.place(args[1], None)
    elif verb in ("eat", "drink"):
        u.place(args[1], rng.choice(["fridge", "cupboard"]))
    elif verb in ("sleep", "sit"):
        u.place(actor, args[1])
        u.asleep |= {actor} if verb == "sleep" else set()
    elif verb in ("wake_up", "stand_up"):
        u.place(actor, None)
        u.asleep.discard(actor)


@dataclass(frozen=True)
class Scene:
    """A sentence about an action, what its words name, and the universe before the action."""

    tokens: tuple[str, ...]
    symbols: tuple[str, ...]
    verb: str
    args: tuple[str, ...]
    universe: Universe
    ambiguous: bool


class House:
    """The simulation; pronouns: how often a sentence is to name somebody by one, where it can be resolved."""

    def __init__(self, *, pronouns: float = 0.0, seed: int = 0) -> None:
        self.rng = Random(f"house {seed}")
        self.pronouns = pronouns
        self.describer = Describer(self.rng, second_names=pronouns == 0)
        location = HOME | {a: self.rng.choice(ROOMS) for a in ACTORS}
        self.universe = Universe(location, {}, set())
        for thing in OBJECTS:
            self.universe.place(thing, self.rng.choice(CONTAINING))

    def event(self) -> tuple[str, tuple[str, ...]]:
        """A random coherent action."""
        u = self.universe
        taken = set(u.contained_by.values())
        while True:
            verb, actor = self.rng.choice(VERBS), self.rng.choice(ACTORS)
            here = {
                thing for thing in THINGS if u.location.get(thing, u.location[actor]) == u.location[actor]
            }
            fillers = [[c for c in MEMBERS[kind] if c in here] for kind in SLOTS[verb][1:]]
            choices = [args for args in product([actor], *fillers) if coherent(verb, args, u)]
            if verb in ("sit", "sleep"):
                choices = [args for args in choices if args[1] not in taken]
            elif verb == "get" and sum(holder == actor for holder in u.contained_by.values()) > 1:
                continue
            if choices:
                return verb, self.rng.choice(choices)

    def scenes(self) -> Iterator[Scene]:
        """Action after action, without end."""
        while True:
            verb, args = self.event()
            before = self.universe.copy()
            hidden = self._hidden(verb, args) if self.rng.random() < self.pronouns else None
            tokens, symbols = self.describer.describe(verb, args, hidden)
            yield Scene(tokens, symbols, verb, args, before, hidden is not None)
            execute(verb, args, self.universe, self.rng)

    def _hidden(self, verb: str, args: tuple[str, ...]) -> int | None:
        """An argument that is the only one its pronoun can mean here, if there is any."""
        places = [k for k, arg in enumerate(args) if pronoun(arg, k)]
        self.rng.shuffle(places)
        for k in places:
            others = [c for c in THINGS if c != args[k] and pronoun(c, k) == pronoun(args[k], k)]
            if not any(coherent(verb, (*args[:k], c, *args[k + 1 :]), self.universe) for c in others):
                return k
        return None


def simulate_house(n: int, *, level: int = 1, seed: int = 0) -> list[Bag]:
    """AmbigHouse: n sentences without pronouns, each with its meaning and `level` others on average.

    The others are actions that are coherent in the same universe. There are 0 to 2 * level of them, or fewer
    if there are not enough.
    """
    check_count(level=level, high=MOST_WRONG)
    world = House(seed=seed)
    bags = []
    for scene in islice(world.scenes(), n):
        right = meaning_text(scene.verb, scene.args)
        candidates = [right]
        wanted = 1 + world.rng.randint(0, 2 * level)
        tries = 0
        while len(candidates) < wanted and tries < PATIENCE:
            other = meaning_text(*world.event())
            tries = tries + 1 if other in candidates else 0
            candidates += [] if tries else [other]
        world.rng.shuffle(candidates)
        bags.append(Bag(" ".join(scene.tokens), tuple(candidates), (right,), symbols=scene.symbols))
    return bags
