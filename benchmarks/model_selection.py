"""Options chosen on training games only, for `benchmarks.semparse`: nested cross-validation on RoboCup.

A fold tests one game. Its options are chosen by leave-one-game-out within the other three: two train, the
third judges, the mean of the three judges and of a few seeds decides. Options of the default parser are too
many for a grid, so they are chosen one after the other from a start at which everything that was added to
the model is off: first the features, the most helpful one joining until none helps, then the rest in the
order of STAGES. The readings of the thesis are few and all tried.
"""

from __future__ import annotations

import statistics
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import product
from typing import Any

from corpora import simulate_sportscast
from corpora.bags import Bag
from corpora.readers.robocup import Game, load_robocup
from semparse import Ospas
from semparse.evaluation import Score, score_parses
from semparse.options import FEATURES

FOLDS = range(4)
INNER_SEEDS = 1
Options = dict[str, Any]

START: Options = {
    "features": (), "on_topic": False, "prior": 0.001, "iterations": 8, "passes": 1, "C": 0.1,
    "average": True, "solver": "pa", "reprocess": 2,
}  # fmt: skip # a prior of 0.001 only breaks ties
# Each stage: what may be changed of the options so far, beside leaving them as they are.
STAGES: dict[str, list[Options]] = {
    "iterations": [{"iterations": n} for n in (2, 4, 16)],
    "prior": [{"prior": 0.5}, {"prior": 1.0}],
    "on_topic": [{"on_topic": True}],
    "passes": [{"passes": 2}, {"passes": 4}],
    "C": [{"C": 0.03}, {"C": 0.3}],
    "average": [{"average": False}],
    "solver": [
        {"solver": "larank", "average": True, "passes": 1},
        {"solver": "larank", "average": True, "passes": 2, "reprocess": 1},
    ],
}
READINGS: list[Options] = [
    {"algorithm": "paper", "strategy": strategy, "empties": empties, "average": average}
    for strategy, empties, average in product(
        ("random", "left-right", "order-free"), ("min", "max", "total"), (False, True)
    )
]


@cache
def corpus() -> list[Game]:
    return load_robocup()


def examples(games: Sequence[Game], supervision: str) -> list[Bag]:
    """Training examples: bags as they are, or gold pairs."""
    if supervision == "ambiguous":
        return [bag for game in games for bag in game.bags]
    return [Bag(bag.text, bag.gold or (), bag.gold) for game in games for bag in game.gold]


def trained(games: Sequence[int], supervision: str, options: Options) -> Ospas:
    bags = examples([corpus()[k] for k in games], supervision)
    return Ospas(**options).fit([bag.sentence for bag in bags], [bag.candidates for bag in bags])


def key(options: Options) -> tuple[Any, ...]:
    return tuple(sorted(options.items()))


class Judge:
    """Scores of options within training games, each computed once."""

    def __init__(self, supervision: str = "ambiguous", seeds: int = INNER_SEEDS) -> None:
        self.supervision, self.seeds = supervision, seeds
        self._known: dict[Any, Any] = {}

    def parsing(self, fold: int, options: Options) -> float:
        """Mean F1 of leave-one-game-out within the training games of a fold."""
        inside = [k for k in FOLDS if k != fold]
        pairs = [(judge, tuple(k for k in inside if k != judge)) for judge in inside]
        return statistics.mean(
            self._once(pair, seed, options)[judge] for judge, pair in pairs for seed in range(self.seeds)
        )

    def _once(self, pair: tuple[int, ...], seed: int, options: Options) -> Any:
        """F1 in each of the two games that a pair leaves."""
        name = pair, seed, key(options)
        if name not in self._known:
            parser = trained(pair, self.supervision, options | {"random_state": seed})
            rest = [k for k in FOLDS if k not in pair]
            self._known[name] = {k: score_parses(parser, corpus()[k].gold).f1 for k in rest}
        return self._known[name]


class Choice:
    """Options of one fold, and all that was tried on the way, with its scores."""

    def __init__(self, score: Callable[[Options], float], least_gain: float = 0.0) -> None:
        self.score, self.least_gain, self.options = score, least_gain, dict(START)
        self.tried: list[dict[str, Any]] = []

    def stage(self, name: str, changes: list[Options]) -> bool:
        """Make the change that scores highest, if it gains enough; of equals keep what was there before."""
        choices = [self.options, *(self.options | change for change in changes)]
        scores = [self.score(options) for options in choices]
        best = scores.index(max(scores)) if max(scores) - scores[0] >= self.least_gain else 0
        self.tried.append({"stage": name, "changes": [{}, *changes], "scores": scores})
        self.options = choices[best]
        return best > 0

    def add_features(self) -> None:
        """The most helpful feature joins, until none helps."""
        while True:
            have = self.options["features"]
            more = [{"features": tuple(f for f in FEATURES if f in (*have, new))} for new in FEATURES]
            if not self.stage("features", [change for change in more if change["features"] != have]):
                return


def stagewise(score: Callable[[int, Options], float], stages: dict[str, list[Options]]) -> list[Choice]:
    """The options of each fold, by a score that may look at its training games only."""
    found = []
    for fold in FOLDS:
        choice = Choice(partial(score, fold))
        choice.add_features()
        for name, changes in stages.items():
            choice.stage(name, changes)
        found.append(choice)
    return found


def best_readings(judge: Judge, readings: Sequence[Options]) -> tuple[list[Options], list[list[float]]]:
    """For each fold the reading of the thesis that does best within its training games, and all scores."""
    scores = [[judge.parsing(fold, reading) for reading in readings] for fold in FOLDS]
    return [readings[row.index(max(row))] for row in scores], scores


def majority(chosen: Sequence[Options]) -> Options:
    """Of each option the value that most folds chose, of equals the one met first; features one by one."""
    found = {}
    for name in chosen[0]:
        if name == "features":
            wanted = Counter(feature for options in chosen for feature in options[name])
            found[name] = tuple(feature for feature in FEATURES if 2 * wanted[feature] > len(chosen))
        else:
            found[name] = Counter(options[name] for options in chosen).most_common(1)[0][0]
    return found


def told(options: Options) -> str:
    return ", ".join(
        f"{name} {'+'.join(value) or 'none' if isinstance(value, (tuple, list)) else value}"
        for name, value in options.items()
        if name != "algorithm"
    )


def sportscast(score: Callable[[Ospas, list[Bag]], Score], options: Options, seeds: int) -> list[float]:
    """Elsewhere, nothing chosen: 1,200 simulated comments to learn from, 400 of another game to test."""
    found = []
    for seed in range(seeds):
        bags, test = simulate_sportscast(1200, seed=seed), simulate_sportscast(400, seed=1000 + seed)
        parser = Ospas(random_state=seed, **options)
        parser.fit([bag.text for bag in bags], [bag.candidates for bag in bags])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of events that never happened in the first game
            found.append(score(parser, test).f1)
    return found
