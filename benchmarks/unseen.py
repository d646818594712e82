"""Names with words that the training data do not contain: `python -m benchmarks unseen`.

The preset ner is trained with and without the attributes that are meant for such names, on some sentences
and on all, and scored on the development data. A name is unseen if one of its words does not occur in the
training data, as a name or not.
`--tasks` chooses corpora and keeps the other results.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks import reach
from benchmarks.harness import cpu_timed, kept_figures, measurements, publish, spread, table
from taggers.labels.schemes import spans

MODULE = "benchmarks.unseen"
CORPORA = tuple(name for name, (task, *_) in reach.SETS.items() if task == "ner")
SEEDS = 1
SIZES = (2000, None)  # training sentences, None: all
TEMPLATES = {
    "ner": "ner",
    "with n-grams": "ner + gram4[0]",
    "with both": "ner + gram4[0] + casing[0] + casing[0]|short_shape[0]",
}
COLUMNS = {"f1": "F1", "precision": "precision", "recall": "recall", "seen": "recall, seen",
           "unseen": "recall, unseen"}  # fmt: skip


def main(*, quick: bool = False, tasks: Sequence[str] = ()) -> None:
    """Publish a table; quick: one corpus, few sentences and one seed."""
    name, seeds, sizes = ("unseen-quick", 1, (1000,)) if quick else ("unseen", SEEDS, SIZES)
    kept: dict[str, Any] = {} if quick or not tasks else dict(kept_figures(name) or {})
    for corpus in ("Danish",) if quick else tasks or CORPORA:
        for size in sizes:
            kept[f"{corpus}, {size or 'all'}"] = {
                title: measurements(
                    MODULE,
                    [{"name": corpus, "title": title, "seed": seed, "most": size} for seed in range(seeds)],
                )
                for title in TEMPLATES
            }
    rows = [
        [corpus, title, *(spread(runs, key, 2) for key in COLUMNS), f"{median(runs, 'train'):.1f}"]
        for corpus, programs in kept.items()
        for title, runs in programs.items()
    ]
    for size in sizes:
        for title in TEMPLATES:
            some = [kept[one][title] for one in kept if one.endswith(f", {size or 'all'}")]
            means = [statistics.mean(run[key] for runs in some for run in runs) for key in COLUMNS]
            seconds = sum(median(runs, "train") for runs in some)
            rows.append(
                [f"mean, {size or 'all'}", title, *(f"{mean:.2f}" for mean in means), f"{seconds:.1f}"]
            )
    header = ["corpus, sentences", "template", *COLUMNS.values(), "training, CPU s"]
    publish(name, table(header, rows), kept)


def median(runs: list[dict[str, Any]], key: str) -> float:
    """The median of a figure over the seeds."""
    return statistics.median(run[key] for run in runs)


def measure(name: str, title: str, seed: int, most: int | None) -> dict[str, Any]:
    """Train with a template of `TEMPLATES`, and score on the development data."""
    from taggers.tagger import NerTagger

    (X, y), (X_dev, y_dev) = reach.load(name, "train", "dev")
    step = max(1, len(X) // most) if most else 1
    X, y = X[::step][:most], y[::step][:most]
    tagger = NerTagger(template=TEMPLATES[title], random_state=seed)
    _, seconds = cpu_timed(lambda: tagger.fit(X, y))
    words = {token for tokens in X for token in tokens}
    counts = {key: [0, 0] for key in ("all", "seen", "unseen")}  # correct and gold names
    n_found = 0
    for tokens, gold, found in zip(X_dev, y_dev, tagger.predict(X_dev), strict=True):
        right = set(spans(found, "IOB2"))
        n_found += len(right)
        for phrase in spans(gold, "IOB2"):
            kind = "seen" if words.issuperset(tokens[phrase[1] : phrase[2]]) else "unseen"
            for key in ("all", kind):
                counts[key][0] += phrase in right
                counts[key][1] += 1
    correct, n_gold = counts["all"]
    recalls = {key: 100 * right / max(gold, 1) for key, (right, gold) in counts.items()}
    return {
        "f1": 200 * correct / max(n_found + n_gold, 1), "precision": 100 * correct / max(n_found, 1),
        "recall": recalls.pop("all"), **recalls, "train": seconds,
        "share": counts["unseen"][1] / max(n_gold, 1),
    }  # fmt: skip
