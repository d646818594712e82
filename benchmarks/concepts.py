"""Choose the options for table C.2 (`benchmarks.papers.labelling`), in a world that is never tested on.

The learning rate, then the number of passes of each network, and C of SVMstruct are those with the smallest
error on new sentences. The module also checks whether more sentences would change the order of the rows that
differs from the thesis.
"""

from __future__ import annotations

from typing import Any

from benchmarks.harness import measurements, publish, table
from benchmarks.papers.labelling import CHOSEN, NETWORKS, SVMS

MODULE = "benchmarks.papers.labelling"
DEVELOPMENT = 9999
ASKED = ("NN_LR, x + u (loc, contain)", "NN_OF, x + u (loc)", "SVMstruct, x + u (loc, contain)")
MORE = (10000, 30000)
RATES, PASSES, CS = (0.005, 0.01, 0.02), (6, 10), (0.01, 0.1, 1.0)


def main(*, quick: bool = False) -> None:
    """Publish what was tried and chosen; quick tries one network on few sentences."""
    size = {"n_train": 500, "n_test": 200} if quick else {"n_train": 5000, "n_test": 2500}
    names = list(NETWORKS)[:1] if quick else [*SVMS, *NETWORKS]
    tried: dict[str, list[tuple[float, dict[str, Any]]]] = {}
    for name in names:
        found = tried[name] = []
        for options in (
            [{"C": C} for C in CS] if name in SVMS else [{"rate": r, "epochs": PASSES[0]} for r in RATES]
        ):
            found.append((error_with(name, options, size), options))
        if name in NETWORKS:
            options = best(found) | {"epochs": PASSES[1]}
            found.append((error_with(name, options, size), options))
    chosen = {name: best(found) for name, found in tried.items()}
    rows = [
        [name, told(options), f"{error:.2f}"] for name, found in tried.items() for error, options in found
    ]
    text = f"{size['n_train']} training and {size['n_test']} test sentences of the development world.\n\n"
    text += table(["method", "options", "test error, %"], rows)
    text += "\n\nThe same world, with more training sentences and the options of the table:\n\n"
    grown = {
        name: [error_with(name, CHOSEN[name], size | {"n_train": n}) for n in MORE]
        for name in ASKED[: 0 if quick else None]
    }
    text += table(
        ["method", *map(str, MORE)], [[name, *(f"{e:.2f}" for e in errors)] for name, errors in grown.items()]
    )
    changed = [name for name in chosen if chosen[name] != CHOSEN[name]]
    text += f"\n\nChoices that differ from `{MODULE}`: {', '.join(changed) or 'none'}."
    publish(
        f"concepts-development{'-quick' if quick else ''}",
        text,
        {"tried": tried, "chosen": chosen, "more": grown},
    )


def error_with(name: str, options: dict[str, Any], size: dict[str, int]) -> float:
    job = {"names": [name], "seed": DEVELOPMENT, "options": {name: options}, **size}
    (run,) = measurements(MODULE, [job])
    return run["rows"][name]["test"]


def best(tried: list[tuple[float, dict[str, Any]]]) -> dict[str, Any]:
    """The options with the smallest error, of equals the first."""
    return min(tried, key=lambda pair: pair[0])[1]


def told(options: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items())
