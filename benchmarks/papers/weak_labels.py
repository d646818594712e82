"""Figure C.3 of Bordes' thesis: a weakly labelled training triple (x, y, u), here of our simulated house."""

from __future__ import annotations

from typing import Any

from benchmarks.experiment import BORDES, Outcome, Row, experiment
from benchmarks.harness import measurements
from benchmarks.papers.labelling import CHOSEN, FIRST, WEAK, error, network, scenes

TRAINED, TESTED = 2_000, 500
PRONOUNS = {"he", "she", "it"}


def measure(seed: int, n_train: int, n_test: int) -> dict[str, Any]:
    """The first test sentence with a pronoun: its bag, the facts about it, and the predicted labels."""
    x, u, y, _ = scenes(n_train + n_test, seed)
    predict = network(WEAK, seed, (x[:n_train], u[:n_train], y[:n_train]), CHOSEN[WEAK])
    found = predict(x[n_train:], u[n_train:])
    shown = next(k for k in range(n_train, n_train + n_test) if PRONOUNS & set(x[k]))
    facts = [
        f"{relation}({c}) = {value}"
        for relation, values in u[shown].items()
        for c, value in values.items()
        if c in y[shown]
    ]
    return {
        "words": list(x[shown]), "bag": sorted(y[shown]), "facts": sorted(facts), "labels": list(y[shown]),
        "predicted": list(found[shown - n_train]), "error": error(found, y[n_train:]),
    }  # fmt: skip


@experiment(
    "figure-C.3", "A weakly labelled training triple", source=BORDES,
    instead="the thesis' sentence by one from our own simulated house.",
)  # fmt: skip
def figure_c_3(quick: bool) -> Outcome:
    size = {"n_train": 300, "n_test": 100} if quick else {"n_train": TRAINED, "n_test": TESTED}
    (run,) = measurements(__name__, [{"seed": FIRST, **size}])
    right = [a == b for a, b in zip(run["predicted"], run["labels"], strict=True)]
    rows = [
        Row("the triple", "words", None, [len(right)], 0),
        Row("the triple", "words that ConceptLabeller labels right", None, [sum(right)], 0),
        Row(f"{size['n_test']} test sentences", "error %", None, [run["error"]]),
    ]
    parts = {
        "x": " ".join(run["words"]),
        "y, a bag": "{" + ", ".join(run["bag"]) + "}",
        "u, of these concepts": "; ".join(run["facts"]),
        "predicted": " ".join(run["predicted"]),
    }
    triple = "\n".join(f"* {name}: `{text}`" for name, text in parts.items())
    notes = (
        f"ConceptLabeller has learned from {size['n_train']:,} such triples. The bag does not say which "
        "word has which label; `-` is the label of words without a concept."
    )
    return Outcome(rows, notes=f"{triple}\n\n{notes}")
