"""RoboCup, matching: which of the events in its window does each comment mean, if any?

As in the literature, it is measured on the games that are learned from, three at a time: F1 of the candidates
picked, where comments that have no window count as missed. Each comment is matched by a parser that learned
from the other comments of these games (`Ospas.match_apart`).

The parser has its default options. Only the salience for a game is chosen, by matching in the three other
games: a parser learns from the bags of all four games, which contain no gold labels. For comparison, there is
also the salience chosen on the single game that a fold does not match.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.harness import (
    RESULTS,
    drop_measurements,
    keep_measurements,
    mean_spread,
    measurements,
    publish,
    table,
)
from benchmarks.model_selection import FOLDS, Options, corpus, examples, sportscast, trained
from corpora.bags import windows
from semparse import Ospas
from semparse.evaluation import score_matches
from semparse.meaning import as_mr

SEEDS, FEW, PARTS = 10, 3, 5
SALIENCES = (0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
DEFAULT = {name: value for name, value in Ospas().get_params().items() if name != "random_state"}
PUBLISHED = [
    ["Chen & Mooney 2008 (WASPER-GEN)", "0.65"],
    ["Bordes 2010, weak concept labelling", "0.669"],
    ["Liang et al. 2009", "0.757"],
    ["Kim & Mooney 2010", "0.885"],
]


def measure(options: Options, games: list[int], seed: int, apart: bool) -> dict[str, Any]:
    """All matches in some games, as (game, right or not, salience); `apart`: learned from the others."""
    bags = [(k, bag) for k in games for bag in corpus()[k].bags]
    sentences, candidates = [bag.sentence for _, bag in bags], [bag.candidates for _, bag in bags]
    options = options | {"random_state": seed, "salience": 0.0}
    if apart:
        found = Ospas(**options).matches_apart(sentences, candidates, parts=PARTS)
    else:
        model = trained(games, "ambiguous", options).model_
        pairs = zip(sentences, candidates, strict=True)
        found = [model.match(*both) for both in map(prepared, pairs)]
    gold = [{as_mr(mr) for mr in bag.gold or ()} for _, bag in bags]
    return {
        "matches": [
            (k, match.mr in right, match.salience)
            for (k, _), match, right in zip(bags, found, gold, strict=True)
            if match is not None
        ]
    }


def prepared(pair: tuple[Any, Any]) -> tuple[list[str], list[Any]]:
    from semparse.examples import checked_bag, checked_tokens

    return checked_tokens(pair[0], "the sentence"), checked_bag(pair[1], "the sentence", None)


def f1(run: dict[str, Any], games: list[int], salience: float) -> float:
    """F1 of the matches in some games, of relations that are salient enough."""
    answers = [right for k, right, found in run["matches"] if k in games and found >= salience]
    n_gold = sum(len(corpus()[k].gold) for k in games)
    return 2 * sum(answers) / (len(answers) + n_gold)


def of(options: Options, games: list[int], seed: int, *, apart: bool = True) -> dict[str, Any]:
    job = {name: value for name, value in options.items() if name != "salience"}
    (run,) = measurements(__name__, [{"options": job, "games": games, "seed": seed, "apart": apart}])
    return run


def chosen(judges: list[int]) -> float:
    """The salience that does best in some games."""
    run = of(DEFAULT, list(FOLDS), 0)
    return max(SALIENCES, key=lambda salience: f1(run, judges, salience))


def outer(options: Callable[[int, int], Options], seeds: int, *, apart: bool = True) -> list[list[float]]:
    """For each fold F1 in the games that it matches, one for each seed; `options` are of (fold, game)."""
    found = []
    for fold in FOLDS:
        inside = [k for k in FOLDS if k != fold]
        n_gold = sum(len(corpus()[k].gold) for k in inside)
        scores = []
        for seed in range(seeds):
            answers = [
                right
                for game in inside
                for k, right, salience in of(options(fold, game), inside, seed, apart=apart)["matches"]
                if k == game and salience >= options(fold, game).get("salience", 0.0)
            ]
            scores.append(2 * sum(answers) / (len(answers) + n_gold))
        found.append(scores)
    return found


def rebuilt() -> int:
    """How many of the candidate sets `corpora.windows` makes as they are in the corpus."""
    same = 0
    for game in corpus():
        bags = {bag.id: set(bag.candidates) for bag in game.bags}
        for number, bag in enumerate(windows(game.comments, game.events, after=0)):
            same += set(bag.candidates) == bags.get(f"{game.year}-{number}", set())
    return same


def main(quick: bool = False) -> None:
    """Publish the table; measurements are kept until it is complete, so that a run can be resumed."""
    end = "-quick" if quick else ""
    keep_measurements(RESULTS / f"matching{end}-measured.jsonl", resume=True)
    seeds = 2 if quick else SEEDS
    by_others = [chosen([k for k in FOLDS if k != game]) for game in FOLDS]
    by_one = [chosen([fold]) for fold in FOLDS]
    results = {
        "Ospas, salience of each game chosen in the three others": outer(
            lambda _, game: DEFAULT | {"salience": by_others[game]}, seeds
        ),
        "Ospas, salience chosen in the one game that is not matched": outer(
            lambda fold, _: DEFAULT | {"salience": by_one[fold]}, seeds
        ),
        "Ospas()": outer(lambda *_: DEFAULT, seeds),
        "Ospas(), learned from the same comments": outer(lambda *_: DEFAULT, FEW, apart=False),
        'Ospas(algorithm="paper")': outer(lambda *_: {"algorithm": "paper"}, seeds),
    }
    figures = {
        "results": results, "chosen": by_others, "chosen in one game": by_one, "seeds": seeds,
        "rebuilt": rebuilt(), "sportscast": sportscast(score_matches, {}, FEW),
    }  # fmt: skip
    publish(f"matching{end}", report(figures), figures)
    drop_measurements()


def report(figures: dict[str, Any]) -> str:
    years = ["2001", "2002", "2003", "2004"]
    rows = [
        [name, mean_spread([statistics.mean(c) for c in zip(*folds, strict=True)], 3),
         *(mean_spread(fold, 3) for fold in folds)]
        for name, folds in figures["results"].items()
    ]  # fmt: skip
    comments = sum(len(game.comments) for game in corpus())
    held = sum(bool(set(bag.candidates) & set(bag.gold or ())) for bag in examples(corpus(), "ambiguous"))
    gold = sum(len(game.gold) for game in corpus())
    return "\n\n".join(
        [
            "RoboCup English, F1 of matching, mean of four folds ± standard deviation over "
            f"{figures['seeds']} seeds, and for each game that is not matched:",
            table(["parser", "F1", *years], [*rows, *([*row, "", "", "", ""] for row in PUBLISHED)]),
            f"The windows contain {held} of {gold} right meanings, so recall cannot exceed "
            f"{held / gold:.3f}.",
            f"`corpora.windows` builds {figures['rebuilt']} of the {comments} candidate sets of the corpus "
            "from its comments and events.",
            "F1 of Ospas() on the simulated sportscast, 1,200 training comments and 400 test comments from "
            f"another game: {mean_spread(figures['sportscast'], 3)}.",
            "Salience chosen for each game on the three others: "
            f"{', '.join(map(str, figures['chosen']))}; on each game for the three others: "
            f"{', '.join(map(str, figures['chosen in one game']))}.",
            READING,
        ]
    )


READING = """\
In the first two rows, the gold meaning of a comment never influences how it is matched, and gold meanings are
never used for training. The default salience was chosen on all four games. The row below it shows the cost of
matching comments with a parser that was trained on them: it also finds an event for comments that mean none.
We designed the form of the model with knowledge of all four games, and matching apart with knowledge of
2002."""
