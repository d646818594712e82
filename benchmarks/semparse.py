"""RoboCup sportscasting, four folds: parsers learned from ambiguous bags and from gold pairs, and matching.

A fold trains on three games and is tested on the gold sentences of the fourth; matching is measured on the
games trained on. Figures are means of the four folds, with the standard deviation of that mean over seeds.
Options are also chosen by nested cross-validation: C and passes by folds among the three training games, and
the salience by matching in the fourth game, which a matching figure does not see. Times are CPU seconds.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations, product
from typing import Any

from benchmarks.harness import in_own_process, publish, table
from corpora.bags import Bag
from corpora.robocup import Game, load_robocup
from semparse import Ospas
from semparse.evaluation import score_matches, score_parses

FOLDS = range(4)
SEEDS = 10
FEW_SEEDS = 3  # for what is chosen, and for the readings
CS, PASSES = (0.03, 0.1, 0.3), (2, 4)
SALIENCES = (0.0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
PAPER: dict[str, Any] = {"algorithm": "paper"}
READINGS: list[dict[str, Any]] = [
    {"strategy": strategy, "empties": empties, "average": average}
    for strategy in ("random", "left-right", "order-free")
    for empties in ("min", "max", "total")
    for average in (False, True)
]
PUBLISHED = [
    ["Bordes 2010, OSPAS, one pass", "0.737", "0.871", ""],
    ["Chen & Mooney 2008 (KRISPER; WASPER-GEN)", "0.740", "", "0.65"],
    ["Kim & Mooney 2010", "0.810", "", "0.885"],
    ["Börschinger et al. 2011", "0.860", "", ""],
]


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """A result and the CPU seconds it took: other programs may be at work beside this one."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


@cache
def corpus() -> list[Game]:
    return load_robocup()


def examples(games: Sequence[Game], supervision: str) -> list[Bag]:
    """Training examples: bags as they are, or gold pairs."""
    if supervision == "ambiguous":
        return [bag for game in games for bag in game.bags]
    return [Bag(bag.text, bag.gold or (), bag.gold) for game in games for bag in game.gold]


def trained(games: Sequence[Game], supervision: str, options: dict[str, Any]) -> tuple[Ospas, float]:
    """A parser and the seconds that its training took."""
    bags = examples(games, supervision)
    return timed(
        lambda: Ospas(**options).fit([bag.sentence for bag in bags], [bag.candidates for bag in bags])
    )


def measure(
    train: list[int],
    test: int | None,
    supervision: str,
    options: dict[str, Any],
    seeds: int,
    saliences: list[float],
) -> dict[str, Any]:
    """F1 of the parses of one game, and of matchings in the training games, for each seed."""
    games = corpus()
    found: dict[str, Any] = {"parsing": [], "matching": [], "seconds": [], "parse_ms": []}
    inside = [games[k] for k in train]
    if test is not None:
        found["one_pass"] = trained(inside, supervision, {**options, "passes": 1})[1]
    for seed in range(seeds):
        parser, seconds = trained(inside, supervision, {**options, "random_state": seed})
        found["seconds"].append(seconds)
        if test is not None:
            score, parsing = timed(lambda: score_parses(parser, games[test].gold))  # noqa: B023
            found["parsing"].append(score.f1)
            found["parse_ms"].append(1000 * parsing / len(games[test].gold))
        row = []
        for salience in saliences:
            parser.set_params(salience=salience)
            n_gold = sum(len(game.gold) for game in inside)
            row.append(score_matches(parser, examples(inside, "ambiguous"), n_gold).f1)
        found["matching"].append(row)
    return found


def apart(**job: Any) -> dict[str, Any]:
    """`measure` in a process of its own."""
    return in_own_process("benchmarks.semparse", job)


def four_folds(
    supervision: str,
    options: Sequence[dict[str, Any]],
    seeds: int,
    saliences: Sequence[list[float]],
    measured: Callable[..., dict[str, Any]],
) -> dict[str, Any]:
    """The figures of the four folds, each with its options, and their mean for each seed."""
    folds = [
        measured(
            train=[k for k in FOLDS if k != fold],
            test=fold,
            supervision=supervision,
            options=options[fold],
            seeds=seeds,
            saliences=saliences[fold],
        )
        for fold in FOLDS
    ]
    matching = [[row[0] for row in fold["matching"] if row] for fold in folds]
    return {
        "folds": folds,
        "parsing": [statistics.mean(fold["parsing"][s] for fold in folds) for s in range(seeds)],
        "matching": [statistics.mean(rows) for rows in zip(*matching, strict=True)],
        "seconds": statistics.median(s for fold in folds for s in fold["seconds"]),
        "one_pass": statistics.median(fold["one_pass"] for fold in folds),
        "parse_ms": statistics.median(s for fold in folds for s in fold["parse_ms"]),
    }


def chosen_options(quick: bool) -> list[dict[str, Any]]:
    """For each fold the C and passes that do best within its training games: two train, the third judges."""
    inner: dict[tuple[float, int, int, tuple[int, ...]], float] = {}
    grid = [(0.1, 4)] if quick else list(product(CS, PASSES))
    for (C, passes), pair in product(grid, combinations(FOLDS, 2)):
        for judge in (k for k in FOLDS if k not in pair):
            figures = measure(list(pair), judge, "ambiguous", {"C": C, "passes": passes}, 1, [])
            inner[C, passes, judge, pair] = figures["parsing"][0]
    chosen = []
    for fold in FOLDS:
        inside = [k for k in FOLDS if k != fold]
        means = {
            (C, passes): statistics.mean(
                inner[C, passes, judge, tuple(k for k in inside if k != judge)] for judge in inside
            )
            for C, passes in grid
        }
        C, passes = max(means, key=lambda pair: means[pair])
        chosen.append({"C": C, "passes": passes})
    return chosen


def chosen_saliences() -> list[float]:
    """For each fold the salience that matches best in the fourth game, trained on alone."""
    chosen = []
    for fold in FOLDS:
        figures = measure([fold], None, "ambiguous", {}, FEW_SEEDS, list(SALIENCES))
        means = [statistics.mean(column) for column in zip(*figures["matching"], strict=True)]
        best = [s for s, mean in zip(SALIENCES, means, strict=True) if mean == max(means)]
        chosen.append(statistics.median_low(best))
    return chosen


def main(quick: bool = False) -> None:
    seeds = 2 if quick else SEEDS
    default = Ospas().salience
    plain: list[dict[str, Any]] = [{}] * 4
    saliences, chosen = chosen_saliences(), chosen_options(quick)
    print("chosen", saliences, chosen, flush=True)
    variants: dict[str, tuple[list[dict[str, Any]], list[list[float]]]] = {
        "default": (plain, [[default]] * 4),
        "nested": (chosen, [[salience] for salience in saliences]),
        "paper": ([PAPER] * 4, [[default]] * 4),
    }
    results = {}
    for name, (options, wanted) in variants.items():
        n = min(seeds, FEW_SEEDS) if name == "nested" else seeds
        results[name] = {
            "ambiguous": four_folds("ambiguous", options, n, wanted, apart),
            "gold": four_folds("gold", options, n, [[]] * 4, apart),
        }
        print(name, *(spread(results[name][kind]["parsing"]) for kind in ("ambiguous", "gold")), flush=True)
    readings = [
        (
            reading,
            four_folds("ambiguous", [PAPER | reading] * 4, min(seeds, FEW_SEEDS), [[]] * 4, measure),
            four_folds("gold", [PAPER | reading] * 4, min(seeds, FEW_SEEDS), [[]] * 4, measure),
        )
        for reading in (READINGS[-2:] if quick else READINGS)
    ]
    figures = {
        "results": results,
        "chosen": chosen,
        "saliences": saliences,
        "readings": [{"options": r, "ambiguous": a["parsing"], "gold": g["parsing"]} for r, a, g in readings],
    }
    publish("semparse", report(results, readings, chosen, saliences, seeds), figures)


def spread(values: Sequence[float]) -> str:
    if not values:
        return ""
    return f"{statistics.mean(values):.3f} ± {statistics.stdev(values):.3f}"


def report(
    results: dict[str, Any],
    readings: Sequence[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]],
    chosen: Sequence[dict[str, Any]],
    saliences: Sequence[float],
    seeds: int,
) -> str:
    names = {
        "default": "Ospas()",
        "nested": f"Ospas, options chosen in other games ({min(seeds, FEW_SEEDS)} seeds)",
        "paper": 'Ospas(algorithm="paper")',
    }
    rows = [
        [
            names[name],
            spread(figures["ambiguous"]["parsing"]),
            spread(figures["gold"]["parsing"]),
            spread(figures["ambiguous"]["matching"]),
            f"{figures['ambiguous']['seconds']:.2f}",
            f"{figures['ambiguous']['one_pass']:.2f}",
            f"{figures['ambiguous']['parse_ms']:.2f}",
        ]
        for name, figures in results.items()
    ]
    head = ["parser", "ambiguous F1", "gold pairs F1", "matching F1", "training s", "one pass s", "parse ms"]
    years = table(
        ["parser", "2001", "2002", "2003", "2004"],
        [
            [f"{names[name]}, {kind}", *[spread(fold["parsing"]) for fold in figures[kind]["folds"]]]
            for name, figures in results.items()
            for kind in ("ambiguous", "gold")
        ],
    )
    silent = table(
        ["next word", "empties", "weights", "ambiguous F1", "gold pairs F1"],
        [
            [
                r["strategy"],
                r["empties"],
                "mean" if r["average"] else "last",
                spread(a["parsing"]),
                spread(g["parsing"]),
            ]
            for r, a, g in readings
        ],
    )
    return "\n\n".join(
        [
            f"RoboCup English, mean of four folds ± standard deviation over {seeds} seeds",
            table(head, [*rows, *[[*row, "", "", ""] for row in PUBLISHED]]),
            "By the game that is tested:",
            years,
            f"Chosen by nested cross-validation, for each fold: {json.dumps(chosen)}, salience "
            f"{json.dumps(list(saliences))}.",
            "Where the thesis is silent: which word Algorithm 24 takes next, how many empty labels complete "
            f"a bag, and with which weights it predicts (C = 0.1 and one pass always; {FEW_SEEDS} seeds). "
            '`algorithm="paper"` is order-free, min, mean by default.',
            silent,
            "How to read it: C and passes of the second row were chosen without the game that it is tested "
            "on; for matching, its salience was, and C and passes by parsing within the games that are "
            "matched. Its features, and those of the first row, are the same, and were designed with "
            "all four games in sight; so was the default salience: for matching, quote the second row. The "
            "reading of the thesis was chosen as the one that comes near both of its figures.",
        ]
    )
