"""The options of the taggers, in one table for the constructor, the command line, model files and the docs.

`python -m taggers.options` prints the options as a Markdown table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, TypeVar

from taggers.features.template import furthest_label

ALGORITHMS = ("larank", "pa", "perceptron", "svmstruct")
SCHEMES = ("none", "IOB1", "IOB2", "IOBES", "BILUO")
TASKS = ("pos", "morph", "chunk", "ner", "label")
DEV_EPOCHS = 8  # at most, if held-out data decide when to stop
INFERENCE = {"morph": "greedy"}  # tasks whose default is not exact
# Settings that are better than the defaults on some corpora: `train --dev` trains with both and compares.
RIVALS: dict[str, dict[str, Any]] = {"ner": {"inference": "greedy", "labels": "IOB2"}}

KINDS = {bool: "True or False", int: "an integer", float: "a number", str: "a string", dict: "a dict"}

Class = TypeVar("Class", bound=type)


@dataclass(frozen=True)
class Option:
    """One option of a tagger.

    type: the type of its values, in Python and in model files.
    tasks: the defaults of single tasks. The constructor leaves such options at None, and the class of the
    task chooses. None if all tasks have the same default.
    greedy: the default with greedy inference, if it differs.
    flag: its name on the command line; "" if it exists only in Python.
    low, high: the smallest and the largest allowed value. choices: the allowed values.
    kept: whether model files contain it. fixed_on_resume: whether resumed training must use the same value.
    algorithms: the algorithms that use it. needs: without one of these options, it has no effect.
    repeatable: whether its flag can be given several times.
    search: the values that `tune` tries besides the default; one that starts with + extends the default.
    """

    name: str
    type: type
    default: Any
    help: str
    tasks: Mapping[str, Any] | None = None
    greedy: Any = None
    flag: str = ""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    low: int | None = None
    high: float | None = None
    kept: bool = True
    fixed_on_resume: bool = False
    algorithms: tuple[str, ...] = ALGORITHMS
    needs: tuple[str, ...] = ()
    repeatable: bool = False
    search: tuple[Any, ...] = ()

    @property
    def initial(self) -> Any:
        """The default of the constructor; None means that the class chooses."""
        return self.default if self.tasks is None else None

    def value(self, task: str, inference: str | None = None) -> Any:
        """The default for a task, with the given inference or that of the task."""
        if self.greedy is not None and (inference or INFERENCE.get(task)) == "greedy":
            return self.greedy
        return (self.tasks or {}).get(task, self.default)

    def fits(self, value: Any) -> bool:
        """Whether a value has the right type; a NumPy scalar counts as the number that it holds."""
        plain = value.item() if getattr(value, "shape", None) == () else value
        return isinstance(plain, (int, float) if self.type is float else self.type)

    def check(self, value: Any) -> None:
        """Raise ValueError for a value of the wrong type or out of range."""
        if self.choices and value not in self.choices:
            raise ValueError(f"{self.name} must be one of {', '.join(self.choices)}, got {value!r}")
        if value is None and self.default is None:
            return
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if self.low is not None and not (whole and int(value) >= self.low):
            raise ValueError(f"{self.name} must be an integer of at least {self.low}, got {value!r}")
        if value is not None and not self.fits(value):
            raise ValueError(f"{self.name} must be {KINDS[self.type]}, got {value!r}")
        if self.high is not None and value is not None and not value <= self.high:
            raise ValueError(f"{self.name} must be at most {self.high:,}, got {value!r}")


OPTIONS = (
    Option(
        "template",
        object,
        "label",
        "The features to extract: conll2000, pos, chunk, ner, label, a template file (in our syntax or that "
        "of CRF++), or patterns such as 'w[-1..1], w[-1]|w[0], y[-1]|w[0]'; y[-1] is the previous label. Add "
        "several with +, as in 'ner + c2[-1..1]', or repeat the flag.",
        tasks={"pos": "pos", "morph": "pos", "chunk": "chunk", "ner": "ner"},
        flag="--template",
        kept=False,
        fixed_on_resume=True,
        repeatable=True,
        search=("label", "ner", "+ cluster[-1..1]"),
    ),
    Option(
        "classes",
        object,
        None,
        "Word classes from a file: Brown clusters, words with classes or tags, word vectors, or "
        "spacy:LANGUAGE. Use them as attributes in templates, as in 'ner + brown4[0]'; named templates use "
        "them automatically. In Python, pass a file, a list of files, or a dict of names.",
        flag="--classes",
        metavar="[NAME=]FILE",
        kept=False,
        fixed_on_resume=True,
        repeatable=True,
    ),
    Option(
        "text",
        object,
        None,
        "Raw text from which word classes are learned, together with the words of the training data; they "
        "are called text in templates.",
        flag="--text",
        metavar="FILE",
        kept=False,
        fixed_on_resume=True,
        repeatable=True,
    ),
    Option(
        "class_words",
        int,
        None,
        "Keep only this many words of each file of word classes, the most frequent ones.",
        flag="--class-words",
        low=1,
        high=10**9,
        kept=False,
        fixed_on_resume=True,
        needs=("classes",),
    ),
    Option(
        "n_classes",
        int,
        500,
        "The number of classes into which the words of --text or word vectors are clustered.",
        flag="--n-classes",
        low=2,
        high=1_000_000,
        kept=False,
        fixed_on_resume=True,
        needs=("text", "classes"),
    ),
    Option(
        "gazetteers",
        object,
        None,
        "A list of names, one per line: the longest match is an attribute in templates, as in 'ner + "
        "city[-1..1]'; named templates use it automatically. In Python, pass a list of NAME=FILE, or a dict "
        "that maps names to files or lists of entries.",
        flag="--gazetteer",
        metavar="NAME=FILE",
        kept=False,
        fixed_on_resume=True,
        repeatable=True,
    ),
    Option(
        "fold_gazetteers",
        bool,
        False,
        "Ignore case when matching gazetteers.",
        flag="--fold-gazetteers",
        kept=False,
        fixed_on_resume=True,
        needs=("gazetteers",),
    ),
    Option(
        "vectors",
        object,
        None,
        "Word vectors as real-valued features, from a text file of word2vec, GloVe or fastText: vectors[0] "
        "in templates; named templates use them automatically. In Python, also a dict "
        "of names and files, a dict of words and numbers, or a spaCy pipeline.",
        flag="--vectors",
        metavar="[NAME=]FILE",
        kept=False,
        fixed_on_resume=True,
        repeatable=True,
    ),
    Option(
        "features",
        object,
        None,
        "A function that adds features to a token. It receives the tokens of a sentence and a position, and "
        "returns a dict or a list. Model files do not contain it: pass it to `load` too.",
        kept=False,
    ),
    Option(
        "documents",
        int,
        20,
        "Number of sentences in a document, if the data do not mark where documents begin (-DOCSTART-, # "
        "newdoc). Templates use documents in doc_form and doc_label, as in 'ner + doc_form[0]'.",
        flag="--documents",
        low=1,
        high=10**9,
        fixed_on_resume=True,
    ),
    Option(
        "algorithm",
        str,
        "larank",
        "The training algorithm: larank, pa, perceptron or svmstruct.",
        tasks={},
        flag="--algorithm",
        choices=ALGORITHMS,
    ),
    Option(
        "inference",
        str,
        "exact",
        "exact (Viterbi) or greedy (label by label, several times faster). If you do not set it, an order "
        "other than 1 and templates with y[-2] or earlier labels imply greedy.",
        tasks=INFERENCE,
        flag="--inference",
        choices=("exact", "greedy"),
        fixed_on_resume=True,
        search=("exact", "greedy"),
    ),
    Option(
        "order",
        int,
        1,
        "Number of previous labels that greedy inference uses as features.",
        tasks={},
        greedy=2,
        flag="--order",
        low=0,
        fixed_on_resume=True,
    ),
    Option(
        "epochs",
        int,
        2,
        f"Number of passes over the data. With held-out data the default is at most {DEV_EPOCHS}: training "
        "stops when the score does not improve.",
        tasks={},
        flag="--epochs",
        low=1,
        high=10_000,
    ),
    Option(
        "C",
        float,
        0.1,
        "The C of the SVM: a larger value fits the training data more closely.",
        tasks={"pos": 0.07, "chunk": 0.05, "ner": 0.05},
        flag="-C",
        high=1_000_000,
        algorithms=("larank", "pa", "svmstruct"),
        search=(0.02, 0.05, 0.1, 0.2),
    ),
    Option(
        "reprocess",
        int,
        5,
        "n_R of LaRank: the number of times it reprocesses old examples after each new one.",
        tasks={},
        greedy=1,
        flag="--reprocess",
        low=0,
        high=1_000,
        algorithms=("larank",),
    ),
    Option(
        "cutoff",
        int,
        1,
        "Drop features that occur fewer times than this in the training data.",
        tasks={},
        flag="--cutoff",
        low=1,
        high=10**9,
        fixed_on_resume=True,
        search=(1, 2),
    ),
    Option(
        "labels",
        str,
        "none",
        "Convert labels to this scheme for training: IOB1, IOB2, IOBES or BILUO; none keeps them unchanged.",
        tasks={"chunk": "IOBES", "ner": "IOBES"},
        flag="--labels",
        choices=SCHEMES,
        fixed_on_resume=True,
        search=("IOB2", "IOBES"),
    ),
    Option(
        "constrained",
        bool,
        False,
        "Predict only label sequences that are valid in the scheme. The task label has a scheme only if all "
        "labels of the training data fit it.",
        tasks={"chunk": True, "ner": True, "label": True},
        fixed_on_resume=True,
    ),
    Option(
        "share",
        bool,
        False,
        "Labels share the weights of their parts (Case=Nom of all labels that have it); greedy only.",
        tasks={"morph": True},
        fixed_on_resume=True,
    ),
    Option(
        "label_weight",
        dict,
        None,
        "Cost of missing a label, a phrase type, or any phrase (phrases=3). In Python, pass a dict; on the "
        "command line, repeat the flag.",
        flag="--label-weight",
        metavar="LABEL=FACTOR",
        repeatable=True,
    ),
    Option(
        "keep_names",
        bool,
        False,
        "Save the names of the features (about 30 bytes each), so that inspect can show them.",
        flag="--keep-names",
    ),
    Option(
        "max_features",
        int,
        None,
        "For streams: the maximum number of features that partial_fit keeps. It forgets those whose weights "
        "are all zero, then those not seen for longest.",
        low=4,
        high=10**9,
    ),
    Option(
        "max_support",
        int,
        None,
        "For streams: the most support patterns (sentences, or tokens if greedy) that partial_fit keeps for "
        "reprocessing; what the older ones taught stays in the weights.",
        low=4,
        high=10**9,
        algorithms=("larank", "pa", "svmstruct"),
    ),
    Option(
        "patience",
        int,
        2,
        "Stop after this many passes without a better score on held-out data.",
        low=0,
        high=10_000,
    ),
    Option(
        "random_state",
        int,
        0,
        "The random seed; the same seed gives the same model, bit for bit.",
        flag="--seed",
        low=0,
        kept=False,
    ),
    Option(
        "jobs",
        int,
        1,
        "Number of threads that train (LaRank only), label sentences and score held-out data; 0 uses all "
        "cores.",
        flag="--jobs",
        low=0,
        high=1_024,
        kept=False,
    ),
    Option(
        "shards",
        int,
        None,
        "Number of parts of the data that learn at the same time; by default one for each thread, or fewer "
        "for a small data set. Set it to get the same model, bit for bit, with any number of threads.",
        flag="--shards",
        low=1,
        high=10_000,
        algorithms=("larank",),
    ),
    Option(
        "callback",
        object,
        None,
        "Called with a TrainingPoint several times per second; training stops when it returns True. If it "
        "has a method `scored`, this receives each score on held-out data. If its attribute "
        "`primal` is true, the last point of each pass also has the primal objective and the duality gap.",
        kept=False,
    ),
)


def with_options(options: Iterable[Option]) -> Callable[[Class], Class]:
    """Class decorator that adds the options to the constructor, as keywords, and to the docstring."""
    table = tuple(options)

    def decorate(cls: Class) -> Class:
        def __init__(self: Any, **values: Any) -> None:
            call = _signature(table, own=False).bind(**values)
            call.apply_defaults()
            vars(self).update(call.arguments)

        __init__.__signature__ = _signature(table, own=True)  # type: ignore[attr-defined]
        __init__.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = __init__  # type: ignore[misc]
        cls.OPTIONS = {option.name: option for option in table}  # type: ignore[attr-defined]
        lines = [f"{option.name}: {option.help}" for option in table]
        cls.__doc__ = "\n\n    ".join([(cls.__doc__ or "").rstrip(), "Options:", *lines]) + "\n"
        return cls

    return decorate


def _signature(options: Iterable[Option], *, own: bool) -> inspect.Signature:
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)] if own else []
    for option in options:
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(option.name, kind, default=option.initial))
    return inspect.Signature(parameters)


def settings(tagger: Any) -> dict[str, Any]:
    """The value of every option of a tagger: the given one, or the default of its task."""
    given = {name: getattr(tagger, name) for name in tagger.OPTIONS}
    if given["inference"] is None and needs_greedy(given):
        given["inference"] = "greedy"
    return {
        name: option.value(tagger.TASK, given["inference"]) if given[name] is None else given[name]
        for name, option in tagger.OPTIONS.items()
    }


def needs_greedy(given: Mapping[str, Any]) -> bool:
    """Whether exact inference is impossible with the given order and template."""
    return given["order"] not in (None, 1) or (
        given["template"] is not None and furthest_label(given["template"]) > 1
    )


def checked_settings(tagger: Any) -> dict[str, Any]:
    """The settings for training; refuse values out of range and options without effect.

    Optimizers check the range of C, and random_state, which need not be a number.
    """
    values, table = settings(tagger), tagger.OPTIONS.values()
    for option in table:
        if option.name != "random_state":
            try:
                option.check(values[option.name])
            except ValueError as error:
                raise ValueError(f"{error}{_remedy(tagger, option)}") from None
    function = values.get("features")
    if function is not None and not callable(function):
        raise ValueError(f"features must be a function of tokens and a position, got {function!r}"[:300])
    callback = values.get("callback")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function of one TrainingPoint, got {callback!r}")
    check_used({name: getattr(tagger, name) for name in tagger.OPTIONS}, values["algorithm"], table)
    return values


def _remedy(tagger: Any, option: Option) -> str:
    """Say what to do about a value out of range from a model file, which may be older than the bound."""
    saved = {} if tagger._trainer is None else tagger._trainer.model.parameters
    if option.name not in saved or saved[option.name] != getattr(tagger, option.name):
        return ""
    flag = f" ({option.flag} on the command line)" if option.flag else ""
    return f"; the model was saved with this value, so load it with another {option.name}{flag}"


def check_used(
    given: Mapping[str, Any], algorithm: str, options: Iterable[Option] = OPTIONS, *, flags: bool = False
) -> None:
    """Raise ValueError for a given option that has no effect on the algorithm.

    flags: the options come from the command line; also refuse those whose `needs` are not given there.
    """
    flag = {option.name: option.flag for option in options}
    for option in options:
        if flags and option.needs and given.get(option.name) and not any(map(given.get, option.needs)):
            needed = " or ".join(flag[name] for name in option.needs)
            raise ValueError(f"{option.flag} has no effect without {needed}; leave it out")
        if given.get(option.name) is not None and algorithm in ALGORITHMS:
            name = option.flag if flags else option.name
            if algorithm not in option.algorithms:
                raise ValueError(f"{name} has no effect on {algorithm}; leave it out")


def check_resumed(given: Mapping[str, Any], options: Iterable[Option] = OPTIONS) -> None:
    """Raise ValueError for a command-line option that cannot change when training resumes."""
    for option in options:
        if option.fixed_on_resume and given.get(option.name) is not None:
            raise ValueError(f"{option.flag or option.name} cannot change with --resume; leave it out")


def markdown(options: Iterable[Option] = OPTIONS) -> str:
    """The options as a Markdown table, for the reference page."""
    heads = ["Python", "Command line", *(f"`{task}`" for task in TASKS), "Meaning"]
    lines = [heads, ["---"] * len(heads)]
    for option in options:
        flag = f"`{option.flag}`" if option.flag else ""
        defaults = [_shown(option.value(task)) for task in TASKS]
        lines.append([f"`{option.name}`", flag, *defaults, _meaning(option)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _shown(value: Any) -> str:
    return "" if value is None else f"`{value}`"


def _meaning(option: Option) -> str:
    text = option.help.replace("|", "\\|")
    if option.algorithms != ALGORITHMS:
        text += f" Only for {', '.join(option.algorithms)}."
    return text + (" Fixed when you resume training." if option.fixed_on_resume else "")


if __name__ == "__main__":
    print(markdown(), end="")
