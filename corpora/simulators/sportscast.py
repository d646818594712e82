"""A simulated sportscast: a football game as a stream of events, and comments on them some seconds later.

It has the predicates, the ambiguity and the noise of the RoboCup sportscasts of Chen and Mooney (2008): 2.2
distinct candidates for a comment, and for 27% of the comments no right one among them, because they come too
late or describe no event. The game and all sentences are our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from corpora.bags import Bag, Event, meaning_text, windows

WINDOW = 5  # a comment goes with the events that touch the time steps from so many before it to its own
OFF_TOPIC = 0.26  # the chance of a comment about nothing, beside each that is about something
DELAYS = (0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 8)  # steps from the end of an event to the comment on it
# How often an event is commented on.
SPOKEN_OF = {
    "pass": 0.97, "badPass": 0.43, "steal": 0.36, "block": 0.29, "defense": 0.25, "turnover": 0.21,
    "playmode": 0.30, "kick": 0.07, "ballstopped": 0.0,
}  # fmt: skip
MODES = ("kick_off", "kick_in", "offside", "free_kick", "corner_kick", "goal_kick", "goal")
# What is said of an event, and how often; {0} and {1} are players, {side} a team.
SENTENCES: dict[str, tuple[tuple[int, str], ...]] = {
    "pass": (
        (30, "{0} feeds {1}"), (30, "{0} lays it off to {1}"), (6, "{0} feeds {1} out wide"),
        (6, "{0} lays it off towards {1} again"), (5, "a neat little ball from {0} finds {1}"),
        (5, "{0} finds {1}"), (4, "{0} finds {1} on the left"),
        (3, "with a lovely touch {0} feeds {1} in the centre circle"),
    ),
    "badPass": (
        (5, "a stray ball by {0} ends up with {1}"), (4, "{0} with a stray ball and {1} is there"),
        (3, "{0} misplaces it and {1} is there"), (2, "{0} misplaces that one badly and {1} gets to it"),
    ),
    "turnover": (
        (5, "{0} is dispossessed by {1}"), (3, "{0} dawdles and gets dispossessed by {1}"),
        (1, "well done {1} who leaves {0} dispossessed"),
    ),
    "kick": ((5, "{0} strikes"), (4, "{0} strikes it hard"), (2, "from way out {0} strikes")),
    "steal": ((4, "{0} nicks it"), (3, "{0} nicks it neatly"), (2, "{0} nicks it off a dozing opponent")),
    "defense": ((2, "{0} clears the danger"), (1, "at the back {0} clears")),
    "block": ((2, "the {side} keeper smothers it"), (1, "{0} smothers the effort")),
    "kick_off": ((1, "{side} restart from the centre spot"),),
    "kick_in": ((3, "over the line so a throw to {side}"), (2, "{side} throw")),
    "offside": ((2, "the flag is up against {side}"), (1, "{side} flagged again")),
    "free_kick": ((1, "whistle goes and {side} get a dead ball"),),
    "corner_kick": ((1, "{side} earn a corner"),),
    "goal_kick": ((1, "behind for a long restart by the {side} keeper"),),
    "goal": ((2, "it is in the net for {side}"), (1, "{side} celebrate")),
}  # fmt: skip
ABOUT_NOTHING = (
    "{0} keeps hold of it", "{0} looks up", "{0} is running at the defence", "nobody near {0} at all",
    "{0} shields it from {1}", "what a lively afternoon", "the crowd seems to enjoy this",
    "{0} waits for help",
)  # fmt: skip
OTHER = {"purple": "pink", "pink": "purple"}


@dataclass(frozen=True)
class Action:
    """Something that happened from time step `start` to `end`."""

    start: int
    end: int
    rel: str
    args: tuple[str, ...] = ()

    def __str__(self) -> str:
        return meaning_text(self.rel, self.args)


@dataclass(frozen=True)
class Comment:
    """A comment made at a time step, and the event it describes."""

    time: int
    text: str
    about: Action | None


class Game:
    """A possession chain over 22 players; `moves` plays it, a few events at a time."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = Random(f"sportscast {seed}")
        self.time = 0
        self.holder = "purple9"

    def moves(self) -> Iterator[list[Action]]:
        """Events in the order of their starts, move after move, without end."""
        yield self.stoppage("kick_off", "purple")
        while True:
            luck = self.rng.random()
            if luck < 0.56:
                yield self.good_pass()
            elif luck < 0.88:
                yield self.loss()
            elif luck < 0.94:
                yield self.shot()
            else:
                mode = self.rng.choices(MODES[1:4], (6, 1, 2))[0]
                yield self.stoppage(mode, self.rng.choice(["purple", "pink"]))

    def mate(self, of: str) -> str:
        """Somebody else of the same team."""
        team = self.team(of)
        return self.rng.choice([f"{team}{k}" for k in range(1, 12) if f"{team}{k}" != of])

    def opponent(self, of: str, first: int = 1) -> str:
        return f"{OTHER[self.team(of)]}{self.rng.randint(first, 11)}"

    @staticmethod
    def team(player: str) -> str:
        return player.rstrip("0123456789")

    def good_pass(self) -> list[Action]:
        passer, start = self.holder, self.time
        self.holder = self.mate(passer)
        self.time += min(self.rng.randint(5, 8) + int(self.rng.expovariate(0.7)), 56)
        found = [Action(start, self.time, "pass", (passer, self.holder))]
        if self.rng.random() < 0.66:
            found.insert(0, Action(start, start, "kick", (passer,)))
        self.time += self.rng.randint(1, 3)
        return found

    def loss(self) -> list[Action]:
        """The other team gets the ball: from a bad pass, or from the player's feet."""
        loser, start = self.holder, self.time
        self.holder = self.opponent(loser)
        found = [Action(start, start, "kick", (loser,))] if self.rng.random() < 0.6 else []
        self.time += self.rng.randint(3, 8)
        both = (loser, self.holder)
        if self.rng.random() < 0.65:
            found.append(Action(start, self.time, "badPass", both))
        if self.rng.random() < 0.2:
            found.append(Action(self.time, self.time, "steal", (self.holder,)))
        found.append(Action(self.time, self.time, "turnover", both))
        if self.rng.random() < 0.07:
            found.append(Action(self.time, self.time, "defense", (self.holder, self.holder)))
        self.time += self.rng.randint(1, 3)
        return found

    def shot(self) -> list[Action]:
        """A shot, and what comes of it: a save, a goal, or the ball behind the line."""
        shooter, start = self.holder, self.time
        team, keeper = self.team(shooter), f"{OTHER[self.team(shooter)]}1"
        found = [Action(start, start, "kick", (shooter,))]
        self.time += self.rng.randint(2, 5)
        luck = self.rng.random()
        if luck < 0.4:
            self.holder = keeper
            return [*found, Action(self.time, self.time, "block", (keeper,))]
        if luck < 0.6:
            found += self.stoppage("goal", team)
            return found + self.stoppage("kick_off", OTHER[team])
        mode = self.rng.choice(["corner_kick", "goal_kick"])
        return found + self.stoppage(mode, team if mode == "corner_kick" else OTHER[team])

    def stoppage(self, mode: str, side: str) -> list[Action]:
        """The game stops, and resumes with a player of `side`."""
        found = [Action(self.time, self.time, "playmode", (f"{mode}_{'l' if side == 'purple' else 'r'}",))]
        rest = self.rng.randint(5, 30)
        found += [Action(self.time + k, self.time + k, "ballstopped") for k in range(1, rest)]
        self.time += rest
        found.append(Action(self.time, self.time, "playmode", ("play_on",)))
        self.holder = self.mate(f"{side}1")
        return found


def comment_on(event: Action, rng: Random) -> str | None:
    """A sentence about an event; None for those of which nobody ever speaks."""
    kind, side = event.rel, ""
    if kind == "playmode":
        kind, _, end = event.args[0].rpartition("_")
        side = {"l": "purple", "r": "pink"}.get(end, "")
    if kind not in SENTENCES:
        return None
    if kind == "block":
        side = Game.team(event.args[0])
    weights, sentences = zip(*SENTENCES[kind], strict=True)
    return str(rng.choices(sentences, weights)[0]).format(*event.args, side=side)


def comments_on(move: list[Action], rng: Random) -> list[Comment]:
    """The comments on a move: at most one about it, and occasionally one about no event at all."""
    found = []
    told = [event for event in move if rng.random() < SPOKEN_OF[event.rel]]
    if told:
        event = rng.choice(told)
        text = comment_on(event, rng)
        if text is not None:
            found.append(Comment(event.end + rng.choice(DELAYS), text, event))
            if rng.random() < OFF_TOPIC:
                players = [arg for arg in event.args if arg[-1].isdigit()] or ["purple7"]
                nothing = rng.choice(ABOUT_NOTHING).format(players[0], players[-1])
                found.append(Comment(event.start + rng.randint(-3, 3), nothing, None))
    return found


def broadcast(n: int, *, seed: int = 0) -> tuple[list[Action], list[Comment]]:
    """A game with at least n comments: what happened, and what was said, both in order of time."""
    game = Game(seed)
    actions: list[Action] = []
    comments: list[Comment] = []
    for move in game.moves():
        actions += move
        comments += comments_on(move, game.rng)
        if len(comments) >= n:
            break
    # Later actions could still touch what was said after the last one.
    return actions, sorted((c for c in comments if c.time < game.time), key=lambda c: c.time)


def simulate_sportscast(n: int, *, seed: int = 0) -> list[Bag]:
    """Simulate n comments, each with the events in the five time steps before it and its gold event."""
    wanted = n
    while True:
        actions, comments = broadcast(wanted, seed=seed)
        events = [Event(action.start, action.end, str(action)) for action in actions]
        texts = [(comment.time, comment.text) for comment in comments]
        found = zip(windows(texts, events, before=WINDOW, after=0), comments, strict=True)
        bags = [replace(bag, gold=(str(c.about),) if c.about else ()) for bag, c in found if bag.candidates]
        if len(bags) >= n:
            return bags[:n]
        wanted += n - len(bags) + 10
