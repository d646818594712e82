"""The options of the taggers: one table for the constructor, the command line, model files and the docs.

`python -m taggers.options` prints the options as a Markdown table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from structsvm.files.quantise import DTYPES
from structsvm.options import (
    GIVEN,
    Option,
    check_conflicts,
    given_options,
    is_function,
    markdown,
    option,
    unchecked,
    with_options,
)
from taggers.features.template import furthest_label

ALGORITHMS = ("larank", "pa", "perceptron", "svmstruct", "crf")
SCHEMES = ("none", "IOB1", "IOB2", "IOBES", "BILUO", "BMES", "BMEWO")
TASKS = ("pos", "morph", "chunk", "ner", "label")
PHRASE_TASKS = ("chunk", "ner")  # their labels mark phrases
INFERENCE = {"morph": "greedy"}  # tasks whose default is not exact
# Settings that are better than the defaults on some corpora: `train --dev` trains with both and compares.
RIVALS: dict[str, dict[str, Any]] = {"ner": {"inference": "greedy", "labels": "IOB2"}}


@with_options
class TaggerOptions:
    """The options of all taggers. The defaults depend on the task, and on greedy inference."""

    OPTIONS: ClassVar[dict[str, Option]]

    template: Any = option(
        help="The features to extract: conll2000, pos, chunk, ner, label, a template file (in our syntax or "
        "that of CRF++), or patterns such as 'w[-1..1], w[-1]|w[0], y[-1]|w[0]'; y[-1] is the previous "
        "label. Add several with +, as in 'ner + c2[-1..1]', or repeat the flag.",
        default="label", defaults={"pos": "pos", "morph": "pos", "chunk": "chunk", "ner": "ner"},
        flag="--template", repeatable=True, kept=False, fixed_on_resume=True,
        search=("label", "ner", "+ cluster[-1..1]"),
    )  # fmt: skip
    classes: Any = option(
        help="Word classes from a file: Brown clusters, words with classes or tags, word vectors, or "
        "spacy:LANGUAGE. Use them as attributes in templates, as in 'ner + brown4[0]'; named templates use "
        "them automatically. In Python, pass a file, a list of files, or a dict of names.",
        default=None, flag="--classes", metavar="[NAME=]FILE", repeatable=True, kept=False,
        fixed_on_resume=True,
        sources=("memory",),
    )  # fmt: skip
    knowledge: str | None = option(
        help="Word classes and names for a language, such as en, es or de, from packages that you install "
        "with pip; es:brown,first uses only these parts. `structsvm knowledge list` lists the parts, and "
        "named templates use it automatically.",
        default=None, flag="--knowledge", metavar="LANGUAGE[:PARTS]", kept=False, fixed_on_resume=True,
        sources=("memory",),
    )  # fmt: skip
    text: Any = option(
        help="Raw text from which word classes are learned, together with the words of the training data; "
        "they are called text in templates.",
        default=None, flag="--text", metavar="FILE", repeatable=True, kept=False, fixed_on_resume=True,
        sources=("memory",),
    )  # fmt: skip
    class_words: int | None = option(
        help="Keep only this many words of each set of word classes, the most frequent ones.",
        default=None, low=1, flag="--class-words", kept=False, fixed_on_resume=True,
        sources=("memory",), needs={"classes": GIVEN, "knowledge": GIVEN},
    )  # fmt: skip
    n_classes: int = option(
        help="The number of classes into which the words of --text or word vectors are clustered.",
        default=500, low=2, high=1_000_000, flag="--n-classes", kept=False, fixed_on_resume=True,
        sources=("memory",), needs={"text": GIVEN, "classes": GIVEN},
    )  # fmt: skip
    gazetteers: Any = option(
        help="A list of names, one per line: the longest match is an attribute in templates, as in 'ner + "
        "city[-1..1]'; named templates use it automatically. In Python, pass a list of NAME=FILE, or a dict "
        "that maps names to files or lists of entries.",
        default=None, flag="--gazetteer", metavar="NAME=FILE", repeatable=True, kept=False,
        fixed_on_resume=True,
        sources=("memory",),
    )  # fmt: skip
    fold_gazetteers: bool = option(
        help="Ignore case when matching gazetteers.",
        default=False, flag="--fold-gazetteers", kept=False, fixed_on_resume=True, sources=("memory",),
        needs={"gazetteers": GIVEN, "knowledge": GIVEN},
    )  # fmt: skip
    vectors: Any = option(
        help="Word vectors as real-valued features, from a text file of word2vec, GloVe or fastText: "
        "vectors[0] in templates; named templates use them automatically. In Python, also a dict of names "
        "and files, a dict of words and numbers, or a spaCy pipeline.",
        default=None, flag="--vectors", metavar="[NAME=]FILE", repeatable=True, kept=False,
        fixed_on_resume=True,
        sources=("memory",),
    )  # fmt: skip
    features: Any = option(
        help="A function that adds features to a token. It receives the tokens of a sentence and a "
        "position, and returns a dict or a list. Model files do not contain it: pass it to `load` too.",
        default=None, valid=is_function, kept=False,
        sources=("memory",),
    )  # fmt: skip
    documents: int = option(
        help="Number of sentences in a document, if the data do not mark where documents begin (-DOCSTART-, "
        "# newdoc). Templates use documents in doc_form and doc_label, as in 'ner + doc_form[0]'.",
        default=20, low=1, flag="--documents", fixed_on_resume=True,
        sources=("memory",),
    )  # fmt: skip
    algorithm: str | None = option(
        help="The training algorithm: larank, pa, perceptron, svmstruct, or crf, a conditional random field, "
        "whose probabilities need no calibration.",
        default="larank", defaults={}, choices=ALGORITHMS, flag="--algorithm",
    )  # fmt: skip
    inference: str | None = option(
        help="exact (Viterbi) or greedy (label by label, several times faster). If you do not set it, an "
        "order other than 1 and templates with y[-2] or earlier labels imply greedy.",
        default="exact", defaults={"crf": "exact"} | INFERENCE, choices=("exact", "greedy"),
        flag="--inference", fixed_on_resume=True, search=("exact", "greedy"),
    )  # fmt: skip
    order: int | None = option(
        help="Number of previous labels that greedy inference uses as features.",
        default=1, defaults={"greedy": 2}, low=0, flag="--order", fixed_on_resume=True,
    )  # fmt: skip
    epochs: int | None = option(
        help="Number of passes over the data. With held-out data, the best pass counts, and training stops "
        "if `patience` passes have not improved the score.",
        default=2, defaults={"crf": 6}, low=1, high=10_000, flag="--epochs",
    )  # fmt: skip
    C: float | None = option(
        help="The C of the SVM or the random field: a larger value fits the training data more closely. For "
        "SVMs and ready features (dicts, items of CRFsuite), the default is 2.5 divided by the mean "
        "squared length of a token's features.",
        default=0.1, above=0, defaults={"crf": 1.0, "pos": 0.07, "chunk": 0.05, "ner": 0.05},
        high=1_000_000, flag="-C", needs={"algorithm": ("larank", "pa", "svmstruct", "crf")},
        search=(0.02, 0.05, 0.1, 0.2),
    )  # fmt: skip
    reprocess: int | None = option(
        help="n_R of LaRank: the number of times it reprocesses old examples after each new one.",
        default=5, defaults={"greedy": 1}, low=0, high=1_000, flag="--reprocess",
        needs={"algorithm": ("larank",)},
    )  # fmt: skip
    cutoff: int | None = option(
        help="Drop features that occur fewer times than this in the training data.",
        default=1, defaults={}, low=1, flag="--cutoff", fixed_on_resume=True, search=(1, 2),
    )  # fmt: skip
    labels: str | None = option(
        help="Convert labels to this scheme for training: IOB1, IOB2, IOBES, BILUO, BMES or BMEWO; none "
        "keeps them unchanged.",
        default="none", defaults={"chunk": "IOBES", "ner": "IOBES"}, choices=SCHEMES, flag="--labels",
        fixed_on_resume=True, search=("IOB2", "IOBES"),
    )  # fmt: skip
    constrained: bool | None = option(
        help="Predict only label sequences that are valid in the scheme. The task label has a scheme only "
        "if all labels of the training data fit it.",
        default=False, defaults={"chunk": True, "ner": True, "label": True}, fixed_on_resume=True,
    )  # fmt: skip
    share: bool | None = option(
        help="Labels share the weights of their parts (Case=Nom of all labels that have it); greedy only.",
        default=False, defaults={"crf": False, "morph": True}, fixed_on_resume=True,
        sources=("memory",),
    )  # fmt: skip
    label_weight: dict[str, float] | None = option(
        help="Cost of missing a label, a phrase type, or any phrase (phrases=3). In Python, pass a dict; on "
        "the command line, repeat the flag.",
        default=None, flag="--label-weight", metavar="LABEL=FACTOR", repeatable=True,
        needs={"algorithm": ("larank", "pa", "perceptron", "svmstruct")},
    )  # fmt: skip
    keep_names: bool = option(
        help="Save the names of the features (about 30 bytes each), so that inspect can show them.",
        default=False, flag="--keep-names",
    )  # fmt: skip
    max_features: int | None = option(
        help="For streams: the maximum number of features that partial_fit keeps. It forgets those whose "
        "weights are all zero, then those not seen for longest.",
        default=None, low=4,
    )  # fmt: skip
    max_support: int | None = option(
        help="For streams: the most support patterns (sentences, or tokens if greedy) that partial_fit "
        "keeps for reprocessing; what the older ones taught stays in the weights.",
        default=None, low=4, needs={"algorithm": ("larank", "pa", "svmstruct")},
    )  # fmt: skip
    patience: int = option(
        help="Stop after this many passes without a better score on held-out data.",
        default=2, low=0, high=10_000,
    )  # fmt: skip
    random_state: int = option(
        help="The random seed; the same seed and number of shards give the same model, bit for bit.",
        default=0, valid=unchecked, low=0, flag="--seed", kept=False,
    )  # fmt: skip
    jobs: int = option(
        help="Number of threads that train (LaRank on data in memory), label sentences and score held-out "
        "data; 0 uses all cores.",
        default=1, low=0, high=1_024, flag="--jobs", kept=False,
    )  # fmt: skip
    shards: int | None = option(
        help="Number of parts of the data that learn at the same time; by default one for each thread, or "
        "fewer for a small data set, and on a cluster one for each thread of its workers. It changes the "
        "model: set it to get the same model, bit for bit, with any number of threads and workers.",
        default=None, low=1, high=10_000, flag="--shards", needs={"algorithm": ("larank",)},
        sources=("memory", "cluster"),
    )  # fmt: skip
    callback: Any = option(
        help="Called with a TrainingPoint several times per second; training stops when it returns True. If "
        "it has a method `scored`, this receives each score on held-out data. If its attribute `primal` is "
        "true, the last point of each pass also has the primal objective and the duality gap.",
        default=None, valid=is_function, kept=False,
    )  # fmt: skip


@with_options
class TrainOptions:
    """The options of `structsvm train` that choose where the data are and what becomes of the model."""

    OPTIONS: ClassVar[dict[str, Option]]

    dev: str = option(
        help="Held-out file: keep the model of the best epoch. For labels of phrases, also find a bias of O. "
        "For ner, also train with greedy inference and IOB2; this stops after a pass that is not better than "
        "the defaults by more than one standard error. The same holds for a smaller C, if labels look wrong, "
        "and for doc_form and doc_label, if both files mark their documents.",
        default=None, flag="--dev",
    )  # fmt: skip
    resume: str = option(
        help="Resume the training of this model.",
        default=None, flag="--resume",
        sources=("memory",),
    )  # fmt: skip
    keep_state: bool = option(
        help="Save the training state, so that training resumes exactly.",
        default=False, flag="--keep-state", excludes={"prune": GIVEN, "dtype": GIVEN},
        sources=("memory",),
    )  # fmt: skip
    dtype: str = option(
        help="Type of the saved weights: float32, float16 or int8, the smallest.",
        default="float32", choices=DTYPES, flag="--dtype",
    )  # fmt: skip
    prune: float = option(
        help="Drop weights of this magnitude or less, and features left without weights.",
        default=None, low=0, flag="--prune",
    )  # fmt: skip
    calibrate: bool = option(
        help="Calibrate the probabilities of labels on the --dev file.",
        default=False, flag="--calibrate", needs={"dev": GIVEN},
    )  # fmt: skip
    fit_bias: bool = option(
        help="Find the bias of O with the best F1 on the --dev file.",
        default=False, flag="--fit-bias", needs={"dev": GIVEN}, excludes={"task": ("pos", "morph")},
    )  # fmt: skip
    curve: str = option(
        help="Write the training curve (seconds, dual, ...) to this file.",
        default=None, flag="--curve",
        sources=("memory",),
    )  # fmt: skip
    cluster: str = option(
        help="Train on a Dask cluster: the address of its scheduler, such as tcp://host:8786, or local:4 for "
        "4 processes on this machine. The file can be a quoted pattern, such as 'part-*.conll.gz'. The model "
        "depends on the number of threads of the cluster unless you set --shards.",
        default=None, flag="--cluster", excludes={"memory": GIVEN},
    )  # fmt: skip
    checkpoint: str = option(
        help="With --cluster: save every round in this folder; the same command continues a training that "
        "was stopped.",
        default=None, flag="--checkpoint", needs={"cluster": GIVEN},
    )  # fmt: skip
    memory: str = option(
        help="Train in about this much memory, such as 200M, on a file of any size. Slices of the file are "
        "kept in the folder for temporary files.",
        default=None, flag="--memory",
    )  # fmt: skip


OPTIONS: tuple[Option, ...] = tuple(TaggerOptions.OPTIONS.values())


def defaults(task: str, inference: str | None = None, algorithm: str | None = None) -> tuple[str, ...]:
    """The kinds of defaults for a task, an algorithm and an inference, by default those of the task.

    See `Option.value`.
    """
    usual = "exact" if algorithm == "crf" else INFERENCE.get(task, "exact")
    return algorithm or "larank", inference or usual, task


def needs_greedy(given: Mapping[str, Any]) -> bool:
    """Whether exact inference is impossible with the given order and template."""
    return given["order"] not in (None, 1) or (
        given["template"] is not None and furthest_label(given["template"]) > 1
    )


def checked_settings(tagger: Any, source: str = "memory") -> dict[str, Any]:
    """The settings for training; refuse values out of range and options without effect.

    source: where the training data are.
    """
    values: dict[str, Any] = tagger.settings()
    table = tuple(tagger.OPTIONS.values())
    for one in table:
        try:
            one.check(values[one.name])
        except ValueError as error:
            raise ValueError(f"{error}{_remedy(tagger, one)}") from None
    check_conflicts(table, given_options(tagger), values, source=source)
    if values["algorithm"] == "crf" and values["inference"] != "exact":
        raise ValueError(
            "crf needs exact inference; leave out the inference greedy, orders other than 1 and y[-2] in the "
            "template, or use another algorithm"
        )
    if source != "memory" and values["algorithm"] != "larank":
        raise ValueError(f"{values['algorithm']} trains only from memory; use larank, or data in memory")
    return values


def _remedy(tagger: Any, one: Option) -> str:
    """Say what to do about a value out of range from a model file, which may be older than the bound."""
    saved = {} if tagger._state is None else tagger._state.model.parameters
    if one.name not in saved or saved[one.name] != getattr(tagger, one.name):
        return ""
    flag = f" ({one.flag} on the command line)" if one.flag else ""
    return f"; the model was saved with this value, so load it with another {one.name}{flag}"


def table(options: Iterable[Option] = OPTIONS) -> str:
    """The options as a Markdown table, for the reference page."""
    return markdown(tuple(options), {f"`{task}`": defaults(task) for task in TASKS})


if __name__ == "__main__":
    print(table(), end="")
