"""Table C.2 of Bordes' thesis: concept labelling with world knowledge in a simulated house.

The worlds and sentences are simulated (corpora.simulators.house): compare orderings and rough sizes, not
digits. LaRank solves the problem of SVMstruct (label bigrams, a window of words, the world as indicators).
The rate and the epochs of each network, and C, were chosen in a development world that no test world shares
(`python -m benchmarks concepts`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from benchmarks.experiment import BORDES, Outcome, Row, experiment
from benchmarks.harness import measurements
from corpora.simulators.house import House

Predict = Callable[[Any, Any], Any]
BOTH = ("location", "containedby")
WEAK = "NN_OF, x + u (loc, contain), weak labels"
# Name: relations, order, weak, the thesis' errors in percent on training and test sentences.
NETWORKS: dict[str, tuple[Any, ...]] = {
    "NN, x": ((), "independent", False, 35.80, 36.97),
    "NN_LR, x": ((), "left-right", False, 32.80, 35.80),
    "NN_OF, x": ((), "order-free", False, 32.50, 35.87),
    "NN_OF, x + u (contain)": (("containedby",), "order-free", False, 15.15, 17.04),
    "NN_LR, x + u (loc, contain)": (BOTH, "left-right", False, 5.42, 5.75),
    "NN_OF, x + u (loc)": (("location",), "order-free", False, 5.07, 5.22),
    "NN_OF, x + u (loc, contain)": (BOTH, "order-free", False, 0.0, 0.11),
    WEAK: (BOTH, "order-free", True, 0.64, 0.72),
}
SVMS: dict[str, tuple[Any, ...]] = {  # relations and errors
    "SVMstruct, x": ((), 42.26, 42.61),
    "SVMstruct, x + u (loc, contain)": (BOTH, 18.68, 23.57),
}
NOTES = """\
Error: sentences with at least one wrong label, of as many training sentences as are tested, and of test
sentences. The simulated house follows the description of the thesis: its concepts, and in 55% of the
sentences one pronoun, as in its examples, for any of the arguments that it leaves resolvable, each as
likely. Where the thesis is silent, the house is ours. Nothing was chosen in these worlds: rates, passes and
C are those that did best in a development world. The rows are ordered as in the thesis but for two
neighbours: there NN_OF with locations comes before NN_LR, here after it. The number of sentences is not the
reason (`python -m benchmarks concepts`). The first fails where it matters who holds a thing or who sits,
the second where the pronoun comes before what resolves it; how often either is so the thesis does not say.
Nor does it say which features of the world SVMstruct had; ours are where each concept is and what holds it,
as inputs of every word. With weak labels, the passes by bags do not care for the order of the labels, and can
unlearn what word each belongs to; ConceptLabeller tries 2, 4 and 6 passes with aligned bags in each world,
and keeps the weights with the fewest mistakes in training."""
PRONOUNS = 0.64  # makes 55% of the sentences ambiguous
FIRST, WORLDS = 100, 10  # the seed of the first world, and how many there are
SIZES = {"n_train": 20000, "n_test": 2500}
# What `benchmarks.concepts` chose.
CHOSEN: dict[str, dict[str, Any]] = {
    "SVMstruct, x": {"C": 1.0},
    "SVMstruct, x + u (loc, contain)": {"C": 0.01},
    "NN, x": {"rate": 0.005, "epochs": 10},
    "NN_LR, x": {"rate": 0.02, "epochs": 6},
    "NN_OF, x": {"rate": 0.02, "epochs": 10},
    "NN_OF, x + u (contain)": {"rate": 0.01, "epochs": 10},
    "NN_LR, x + u (loc, contain)": {"rate": 0.01, "epochs": 6},
    "NN_OF, x + u (loc)": {"rate": 0.02, "epochs": 6},
    "NN_OF, x + u (loc, contain)": {"rate": 0.02, "epochs": 6},
    WEAK: {"rate": 0.02, "epochs": 6},
}


def scenes(n: int, seed: int) -> tuple[list[Any], list[Any], list[Any], float]:
    """Sentences, worlds, labels, and the share of ambiguous sentences."""
    found = list(islice(House(pronouns=PRONOUNS, seed=seed).scenes(), n))
    worlds = [{"location": s.universe.location, "containedby": s.universe.contained_by} for s in found]
    ambiguous = sum(s.ambiguous for s in found) / n
    return [s.tokens for s in found], worlds, [list(s.symbols) for s in found], ambiguous


def error(predicted: Sequence[Sequence[str]], right: Sequence[Sequence[str]]) -> float:
    """The share of sentences with at least one wrong label, in percent."""
    return 100 * sum(list(p) != list(y) for p, y in zip(predicted, right, strict=True)) / len(right)


def measure(
    names: list[str],
    seed: int,
    n_train: int,
    n_test: int,
    options: dict[str, dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Errors of methods in one world, with their options (those of CHOSEN by default).

    The training error is that of as many training sentences as are tested.
    """
    x, u, y, ambiguous = scenes(n_train + n_test, seed)
    train, test = slice(n_train), slice(n_train, None)
    rows = {}
    for name in names:
        fitted = network if name in NETWORKS else svm
        predict = fitted(name, seed, (x[train], u[train], y[train]), (options or CHOSEN).get(name, {}))
        rows[name] = {
            part: error(predict(x[where], u[where]), y[where])
            for part, where in (("train", slice(n_test)), ("test", test))
        }
    return {"rows": rows, "ambiguous": ambiguous}


def network(name: str, seed: int, train: tuple[Any, Any, Any], options: dict[str, Any]) -> Predict:
    from semparse import ConceptLabeller

    relations, order, weak, *_ = NETWORKS[name]
    labeller = ConceptLabeller(relations=relations, order=order, random_state=seed, **options)
    if weak:
        train = (*train[:2], [sorted(labels) for labels in train[2]])
    return labeller.fit(*train, weak=weak).predict


def svm(name: str, seed: int, train: tuple[Any, Any, Any], options: dict[str, Any]) -> Predict:
    from taggers import SequenceTagger

    relations, *_ = SVMS[name]
    tagger = SequenceTagger(template=None, inference="exact", epochs=3, random_state=seed, **options)
    tagger.fit(indicators(*train[:2], relations), train[2])
    return lambda sentences, worlds: tagger.predict(indicators(sentences, worlds, relations))


def indicators(sentences: Any, worlds: Any, relations: tuple[str, ...]) -> list[list[list[str]]]:
    """A window of 13 words, and for each concept where it is and what contains it."""
    found = []
    for words, world in zip(sentences, worlds, strict=True):
        shared = [f"{r}({c})={v}" for r in relations for c, v in world[r].items()]
        padded = [*[""] * 6, *words, *[""] * 6]
        found.append([[*(f"{k}:{padded[i + k]}" for k in range(13)), *shared] for i in range(len(words))])
    return found


@experiment(
    "table-C.2",
    "Concept labelling with world knowledge",
    source=BORDES,
    instead="the thesis' 50,000 simulated sentences by 20,000 of our own simulator, in ten worlds.",
    because={
        "SVMstruct, x [+] u": "the thesis does not say which features of the world SVMstruct had",
        "weak": "we first align the bags with IBM Model 1, and try 2, 4 and 6 passes over the aligned bags",
        r"[(]loc[)]": "locations do not say who holds a thing; how often that matters is not published",
        "": "we simulate our own house, whose share of ambiguous sentences may differ",
    },
)
def table_c_2(quick: bool) -> Outcome:
    job = {"names": [*SVMS, *NETWORKS], **({"n_train": 1000, "n_test": 300} if quick else SIZES)}
    runs = measurements(__name__, [{**job, "seed": FIRST + k} for k in range(1 if quick else WORLDS)])
    rows = [
        Row(name, f"{part} error, %", entry[place], [run["rows"][name][part] for run in runs])
        for part, place in (("train", -2), ("test", -1))
        for name, entry in (SVMS | NETWORKS).items()
    ]
    weak = ", ".join(f"{run['rows'][WEAK]['test']:.2f}" for run in runs)
    return Outcome(rows, notes=f"{NOTES} Test errors with weak labels, world by world: {weak}.")
