"""The options of the semantic parser: one table for the constructor, the command line, model files and docs.

`python -m semparse.options` prints the options as a Markdown table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from structsvm.options import (
    Option,
    check_conflicts,
    given_options,
    markdown,
    option,
    unchecked,
    with_options,
)

ALGORITHMS = ("latent", "paper")
FEATURES = ("classes", "pairs", "neighbours", "order", "sentence")
STRATEGIES = ("random", "left-right", "order-free")
EMPTIES = ("min", "max", "total")
MOST_CLAUSES = 8
USUAL_NOTHING = 0.4
MOST_ODDS = 1e6  # of meaning nothing, where the largest odds of a relation are 1
NESTED_PASSES = 5  # chosen within the training part of a fold of GeoQuery
LATENT = {"algorithm": ("latent",)}  # in `needs`
PAPER = {"algorithm": ("paper",)}


def is_list_of_features(name: str, value: Any) -> None:
    """Raise ValueError unless the value is a list of known features."""
    unknown = set(value) - set(FEATURES)
    if isinstance(value, str) or unknown:
        wrong = repr(value) if isinstance(value, str) else ", ".join(map(repr, unknown))
        raise ValueError(f"{name} must be a list of {', '.join(FEATURES)}, got {wrong}")


# The defaults of "latent" are the majority of what nested cross-validation chooses, see
# `python -m benchmarks semparse`.
@with_options
class ParserOptions:
    """The options of the semantic parser."""

    OPTIONS: ClassVar[dict[str, Option]]

    algorithm: str = option(
        help="latent, a linear model of whole meanings (see semparse.latent.parser), or paper, Algorithms 23 "
        "and 24 of Bordes' thesis (see semparse.thesis).",
        default="latent", choices=ALGORITHMS, flag="--algorithm",
    )  # fmt: skip
    C: float | None = option(
        help="The C of the SVM: the largest step.", default=0.1, defaults={}, above=0, high=1e6, flag="-C",
    )  # fmt: skip
    passes: int | None = option(
        help=f"Number of passes of fit over the data; {NESTED_PASSES} for latent if meanings are nested.",
        default=2, defaults={"paper": 1}, low=1, high=10_000, flag="--passes",
    )  # fmt: skip
    schema: Any = option(
        help="The relations and types that candidates must conform to: a JSON file; in Python a Schema or "
        "its JSON object. By default, learn it from the candidates.",
        default=None, valid=unchecked, flag="--schema", metavar="FILE",
    )  # fmt: skip
    threshold: float | None = option(
        help="Return no meaning if the best one leads the next by less than this, plus the share of words "
        "that training lacks and that name nothing. By default, fit estimates it if sentences have several "
        "candidates; else it is 0.",
        default=None, low=0, high=1e9, flag="--threshold",
    )  # fmt: skip
    average: bool = option(
        help="Predict with the mean of all weights so far, not with the last ones. LaRank's fit ends with "
        "one solution, so there is no mean.",
        default=True, flag="--average/--last", needs={"algorithm": ("paper",), "solver": ("pa",)},
    )  # fmt: skip
    solver: str = option(
        help="larank (used by fit), or pa for passive-aggressive steps.",
        default="larank", choices=("pa", "larank"), flag="--solver", needs=LATENT,
    )  # fmt: skip
    reprocess: int = option(
        help="Number of old sentences that partial_fit and LaRank revisit after each sentence.",
        default=2, low=0, high=1000, flag="--reprocess", needs=LATENT,
    )  # fmt: skip
    iterations: int = option(
        help="Number of EM iterations for the alignment.",
        default=8, low=1, high=1000, flag="--iterations", needs=LATENT,
    )  # fmt: skip
    prior: float = option(
        help="Weight of the EM alignment relative to the learned weights; 0.001 only breaks ties.",
        default=0.001, low=0, high=1e6, flag="--prior", needs=LATENT,
    )  # fmt: skip
    features: Any = option(
        help=f"Features in addition to the words: {', '.join(FEATURES)} (see semparse.latent.features). On "
        "the command line, separate them by commas; none for words only.",
        default=("pairs", "neighbours"), valid=is_list_of_features, flag="--features", metavar="NAMES",
        needs=LATENT,
    )  # fmt: skip
    on_topic: bool = option(
        help="If a sentence names things, learn only from candidates about these things.",
        default=False, flag="--on-topic", needs=LATENT,
    )  # fmt: skip
    unnamed: float | None = option(
        help="Allow constants that no word names, if no word names them in at least this share of their "
        "sentences, or if they fill at least half of a slot. In Python, None requires a word for each.",
        default=0.5, above=0, high=1.0, optional=True, flag="--unnamed", needs=LATENT,
    )  # fmt: skip
    empty_bags: str = option(
        help="Sentences without candidates: skip ignores them; nothing learns that they have no meaning.",
        default="skip", choices=("skip", "nothing"), flag="--empty-bags", needs=LATENT,
    )  # fmt: skip
    clauses: int | None = option(
        help="The largest number of meanings of one sentence, each in its own part of the sentence. By "
        "default, fit estimates from the sentences whether some have two or three.",
        default=None, low=1, high=MOST_CLAUSES, flag="--clauses", needs=LATENT,
    )  # fmt: skip
    nothing: float | None = option(
        help="The least odds that a sentence means nothing, compared with the likeliest relation (odds of "
        "1); 0 means that every sentence with candidates means one of them. By default, fit estimates it; "
        f"partial_fit begins with {USUAL_NOTHING}. If no sentence has more than one candidate, fit treats "
        "the candidates as correct; partial_fit always treats a single one so.",
        default=None, low=0, high=MOST_ODDS, flag="--nothing", needs=LATENT,
    )  # fmt: skip
    salience: float = option(
        help="match never matches a relation that is meant in a smaller share of the bags that contain it, "
        "because it treats such a relation as background.",
        default=0.3, low=0, high=1.0, flag="--salience",
    )  # fmt: skip
    strategy: str = option(
        help="The order in which words are labelled: random, left-right or order-free (the surest word "
        "first). random, with the last weights, is the algorithm exactly as printed in the thesis.",
        default="order-free", choices=STRATEGIES, flag="--strategy", needs=PAPER,
    )  # fmt: skip
    empties: str = option(
        help="The number of empty labels that complete a bag: min, max or total.",
        default="max", choices=EMPTIES, flag="--empties", needs=PAPER,
    )  # fmt: skip
    random_state: int = option(
        help="The random seed; the same seed gives the same model.",
        default=0, valid=unchecked, low=0, flag="--seed",
    )  # fmt: skip


OPTIONS: tuple[Option, ...] = tuple(ParserOptions.OPTIONS.values())


def check_types(parser: Any) -> None:
    """Raise ValueError for a value of the wrong type or below its bound.

    Loading accepts larger values: older versions had a bound for clauses only.
    """
    for one in OPTIONS:
        (one if one.name == "clauses" else replace(one, high=None)).check(getattr(parser, one.name))


def check_training(parser: Any, *, online: bool) -> None:
    """Raise ValueError for a value out of bounds, and for an option without effect.

    online: whether for `partial_fit`, where `average` always has an effect.
    """
    for one in OPTIONS:
        one.check(getattr(parser, one.name))
    given = given_options(parser)
    check_conflicts([one for one in OPTIONS if not (online and one.name == "average")], given, vars(parser))


def check_given(given: Mapping[str, Any]) -> None:
    """Raise ValueError for options of the command line without effect."""
    check_conflicts(OPTIONS, given, {one.name: one.initial for one in OPTIONS} | dict(given), flags=True)


def table(options: Iterable[Option] = OPTIONS) -> str:
    """The options as a Markdown table, for the reference page."""
    return markdown(tuple(options), {f"`{algorithm}`": (algorithm,) for algorithm in ALGORITHMS})


if __name__ == "__main__":
    print(table(), end="")
