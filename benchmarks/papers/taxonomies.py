"""Table 4.1 of Tsochantaridis' thesis: classes in a tree, flat or not, with the 0/1 or the tree loss.

The patents of WIPO-alpha are not free. Generated texts replace them: 96 groups of the same depth on three
levels. C and margin re-scaling are fixed, not chosen. Absolute numbers mean nothing: compare the gains.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.experiment import TSOCHANTARIDIS, Outcome, Row, experiment
from benchmarks.harness import measurements

# class features of the taxonomy, tree loss
VARIANTS = {
    "flat, 0/1 loss": (False, False),
    "taxonomy, 0/1 loss": (True, False),
    "flat, tree loss": (False, True),
    "taxonomy, tree loss": (True, True),
}
FLAT, BOTH = "flat, 0/1 loss", "taxonomy, tree loss"
# accuracy and tree loss of these two, by examples per class
PAPER = {4: ((28.32, 29.74), (1.36, 1.21)), 2: ((20.20, 21.73), (1.54, 1.33))}
C = 10.0
BRANCHES, TEXTS, WORDS = (4, 6, 4), 12, 60  # of a node on each level, of a group, of a text
COMMON, OWN = 2000, 60  # common words and words of each node, drawn by Zipf's law
SHARE = 0.15  # of words that belong to a node above the group, or to the group


def questions(seed: int) -> tuple[list[str], np.ndarray, str]:
    """TREC questions of classes with at least ten of them."""
    from corpora import load_trec

    split = load_trec()
    names, counts = np.unique(split.y_train, return_counts=True)
    kept = np.isin(split.y_train, names[counts >= 10])
    return [x for x, keep in zip(split.X_train, kept, strict=True) if keep], split.y_train[kept], ":"


def patents(seed: int) -> tuple[list[str], np.ndarray, str]:
    """Generated texts: common words, and words of each node on the path to the group."""
    rng = np.random.default_rng(1000 + seed)
    groups = [f"{a}.{b}.{c}" for a, b, c in np.ndindex(*BRANCHES)]
    common, own = (zipf(size, (len(groups), TEXTS, WORDS), rng) for size in (COMMON, OWN))
    levels = len(BRANCHES)
    odds = [1 - SHARE, *[SHARE / levels] * levels]
    level = rng.choice(levels + 1, size=common.shape, p=odds)  # 0: a common word
    X = [
        " ".join(
            f"{'.'.join(group.split('.')[:depth])}w{small}" if depth else f"w{large}"
            for depth, small, large in zip(level[k, text], own[k, text], common[k, text], strict=True)
        )
        for k, group in enumerate(groups)
        for text in range(TEXTS)
    ]
    return X, np.repeat(groups, TEXTS), "."


def zipf(size: int, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    odds = 1 / np.arange(1, size + 1)
    return rng.choice(size, size=shape, p=odds / odds.sum())


SETS = {"patent-like": patents, "TREC questions": questions}


def measure(data: str, draws: int, per_class: int) -> dict[str, Any]:
    """Accuracy and tree loss of each variant in several draws of the training examples."""
    return {"runs": [draw(data, seed, per_class) for seed in range(draws)]}


def draw(data: str, seed: int, per_class: int) -> dict[str, tuple[float, float]]:
    """Train on some texts of each class; accuracy and tree loss on the others."""
    from corpora import tfidf
    from structsvm import LaRank, Multiclass
    from structsvm.problems import Taxonomy

    texts, y, separator = SETS[data](seed)
    order = np.random.default_rng(seed).permutation(len(y))
    chosen = np.concatenate([order[y[order] == label][:per_class] for label in np.unique(y)])
    rest = np.setdiff1d(order, chosen)
    train, test = tfidf([texts[k] for k in chosen], [texts[k] for k in rest])
    taxonomy = Taxonomy.of_names(np.unique(y).tolist(), separator)
    found = {}
    for name, (features, loss) in VARIANTS.items():
        problem = Multiclass(**taxonomy.options(features=features, loss=loss))
        learner = LaRank(problem, C=C, gap_tolerance="C", rescaling="margin").fit(train, y[chosen])
        answers = learner.predict(test)
        found[name] = 100 * float(np.mean(answers == y[rest])), taxonomy.mean_loss(y[rest], answers)
    return found


def change(runs: list[dict[str, Any]], place: int) -> list[float]:
    """The change by the taxonomy and its loss in each draw, in percent of the flat machine."""
    return [100 * (run[BOTH][place] / run[FLAT][place] - 1) for run in runs]


@experiment(
    "svmstruct-table-4.1",
    "Classification with taxonomies, few examples per class",
    source=TSOCHANTARIDIS,
    corpora=("trec_questions",),
    instead="the patents of WIPO-alpha by generated texts and by TREC questions.",
    because={"": "our texts are not those of the thesis; compare the signs of the gains, not their sizes"},
)
def table_4_1(quick: bool) -> Outcome:
    rows = []
    for data in SETS:
        for per_class, papers in PAPER.items():
            job = {"data": data, "draws": 1 if quick else 10, "per_class": per_class}
            runs = measurements(__name__, [job])[0]["runs"]
            title = f"{data}, {per_class} a class"
            for k, measured in enumerate(("accuracy, %", "tree loss")):
                for name in VARIANTS:
                    rows.append(Row(f"{title}: {name}", measured, None, [run[name][k] for run in runs]))
                flat, both = papers[k]
                published = round(100 * (both / flat - 1), 1) if data == "patent-like" else None
                label = f"{measured.partition(',')[0]}, change in %"
                rows.append(Row(f"{title}: {BOTH} against {FLAT}", label, published, change(runs, k), 1))
    return Outcome(
        rows,
        notes=f"""Ten draws of training examples, tested on the other texts; generated texts are new in each
draw. All four use C = {C:g} per example and margin re-scaling. A text has {WORDS} words, of which
{100 * SHARE:g}% belong to the group or to a node above it. The paper's changes are those of its printed
numbers. Words are weighted by tf-idf.""",
    )
