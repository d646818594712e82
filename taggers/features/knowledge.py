"""Knowledge from outside the labelled file: word classes and gazetteers, by the names that templates use.

Word classes called ``brown`` give the attribute ``brown``, the class of a word. If the classes are bit paths,
they also give ``brown4``, the first four bits of the path, and so on for any number of bits. A gazetteer
called ``city`` gives ``city``, the position of a word in a match (B, I, E, or S for a match of one word), and
``city_length``, the number of words of the match.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.files.codec import FLAG, Array, Field, Table, items, mapped, record, text
from structsvm.files.inputs import file_name, open_input
from taggers.features._extract import Extractor
from taggers.features._gazetteer import Gazetteer
from taggers.features.attributes import AFFIX, ATTRIBUTES, CASING, CLUSTER, GRAM, LEARNED
from taggers.features.casing import find_casing
from taggers.features.class_files import N_CLASSES, TEXT, read_classes, read_text, text_classes
from taggers.features.extract import as_columns
from taggers.features.packages import read_parts
from taggers.features.real_values import VECTORS as USUAL_VECTORS
from taggers.features.real_values import WordVectors, read_vectors
from taggers.features.template import Template, fitting_template, parse_template
from taggers.features.word_classes import WordClasses, find_word_classes
from taggers.formats._columns import Columns

NAME = re.compile("[a-z][a-z_]*")
BITS = re.compile(r"([a-z_]+?)(\d{0,3})")
LENGTH = "_length"
NAMED_FILE = re.compile(r"([a-z][a-z_]*)=(.+)", re.DOTALL)
UNNAMED = "="  # no name begins with it
RESERVED = ("w", "p", "c", "y", "bias", *ATTRIBUTES)

HASHES = (np.uint64, np.uint32)
CLASSES = Table(
    Field("keys", Array(HASHES, "words"), "hashes of words; 32 bits with float16 and int8 weights"),
    Field("numbers", Array((np.uint16, np.uint32), "words"), "the class of each word"),
)
GAZETTEER = Table(
    Field("keys", Array(HASHES, "beginnings"), "hashes of the beginnings of entries"),
    Field("ends", Array(np.uint8, "beginnings"), "whether an entry ends there"),
)
VECTORS = Table(
    Field("keys", Array(np.uint64, "words"), "hashes of words"),
    Field("table", Array((np.float16, np.float32), "words", "dimensions"), "the vector of each word"),
)
KNOWLEDGE = record(
    {"classes": mapped(items(text(least=1, utf8=True)))},
    {"gazetteers": mapped(FLAG), "vectors": items(text())},
)


@dataclass(frozen=True)
class Knowledge:
    """Word classes and gazetteers, each by its name."""

    classes: Mapping[str, WordClasses] = field(default_factory=dict)
    gazetteers: Mapping[str, Gazetteer] = field(default_factory=dict)
    vectors: Mapping[str, WordVectors] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.names:
            check_name(name)
        if twice := {name for name in self.names if self.names.count(name) > 1}:
            raise ValueError(
                f"two of word classes, gazetteers and vectors are called {min(twice)!r}; rename one"
            )

    @property
    def names(self) -> list[str]:
        """All names, without classes that are learned from the training text and need no file."""
        return [name for name in (*self.classes, *self.gazetteers, *self.vectors) if name not in LEARNED]

    def word_class(self, attribute: str) -> tuple[WordClasses, int] | None:
        """The word classes that an attribute looks up, and the number of bits; 0 for whole classes."""
        match = BITS.fullmatch(attribute)
        if not match or match[1] not in self.classes:
            return None
        return self.classes[match[1]], int(match[2] or 0)

    def gazetteer(self, attribute: str) -> tuple[str, bool] | None:
        """The name of the gazetteer that an attribute looks up, and whether it is the length of a match."""
        name = attribute.removesuffix(LENGTH)
        return (name, name != attribute) if name in self.gazetteers else None

    def has(self, attribute: str) -> bool:
        """Whether an attribute comes from a gazetteer or from word vectors."""
        return self.gazetteer(attribute) is not None or attribute in self.vectors

    def without(self, names: Collection[str]) -> Knowledge:
        """This knowledge without some names."""
        return Knowledge(
            {name: value for name, value in self.classes.items() if name not in names},
            {name: value for name, value in self.gazetteers.items() if name not in names},
            {name: value for name, value in self.vectors.items() if name not in names},
        )

    def with_classes(self, classes: Mapping[str, WordClasses]) -> Knowledge:
        """This knowledge with word classes added or replaced."""
        return replace(self, classes={**self.classes, **classes})

    def with_gazetteers(self, gazetteers: Mapping[str, Gazetteer]) -> Knowledge:
        """This knowledge with gazetteers added or replaced."""
        return replace(self, gazetteers={**self.gazetteers, **gazetteers})

    def match(self, attribute: str, words: Sequence[str]) -> list[str | None] | None:
        """The values of an attribute in a sentence; None if it does not come from a gazetteer."""
        found = self.gazetteer(attribute)
        if found is None:
            return None
        name, length = found
        return [pair and pair[length] for pair in self.gazetteers[name].matches(words)]

    def check_suffices(self, template: Template | None) -> None:
        """Raise ValueError if the template needs word classes that were learned, and there are none."""
        if template is not None and not template.learned_classes <= self.classes.keys():
            raise ValueError("the word classes are missing")

    def packed(self, dtype: str) -> tuple[dict[str, np.ndarray], dict[str, Any] | None]:
        """The arrays and the metadata for a model file; None if only the arrays are needed."""
        arrays: dict[str, np.ndarray] = {}
        exact = dtype == "float32"
        for name, classes in self.classes.items():
            keys = classes.keys if exact or name == CLUSTER else classes.table.halves
            arrays |= CLASSES.write({"keys": keys, "numbers": classes.numbers}, _place(name))[0]
        for name, entries in self.gazetteers.items():
            keys = entries.table.keys if exact and not entries.table.short else entries.table.halves
            arrays |= GAZETTEER.write({"keys": keys, "ends": entries.ends}, f"gazetteers.{name}.")[0]
        for name, vectors in self.vectors.items():
            numbers = vectors.table.astype("float32" if exact else "float16")
            arrays |= VECTORS.write({"keys": vectors.keys, "table": numbers}, f"vectors.{name}.")[0]
        classes_of = {name: list(classes.names) for name, classes in self.classes.items()}
        if not (self.gazetteers or self.vectors or any(classes_of.values())):
            return arrays, None
        folded = {name: entries.folded for name, entries in self.gazetteers.items()}
        used = {"vectors": list(self.vectors)} if self.vectors else {}
        return arrays, {"classes": classes_of, "gazetteers": folded, **used}

    @staticmethod
    def unpacked(arrays: Mapping[str, np.ndarray], known: dict[str, Any] | None) -> Knowledge:
        """The knowledge of a model file; raise ValueError for wrong arrays."""
        if known is None:
            known = {"classes": {CLUSTER: []} if "clusters.keys" in arrays else {}}
        classes, gazetteers, vectors = {}, {}, {}
        for name, called in known["classes"].items():
            classes[name] = WordClasses(**CLASSES.read(arrays, {}, _place(name)), names=tuple(called))
        for name, folded in known.get("gazetteers", {}).items():
            gazetteers[name] = Gazetteer(**GAZETTEER.read(arrays, {}, f"gazetteers.{name}."), folded=folded)
        for name in known.get("vectors", []):
            vectors[name] = WordVectors(**VECTORS.read(arrays, {}, f"vectors.{name}."))
        return Knowledge(classes, gazetteers, vectors)


def _place(name: str) -> str:
    """The beginning of the names of the arrays of word classes."""
    return "clusters." if name == CLUSTER else f"classes.{name}."


def choose_template(X: Any, width: int, settings: Mapping[str, Any]) -> tuple[Template, Knowledge]:
    """The template of a tagger's settings for new training data, and the knowledge that it uses.

    X: the sentences of the training data, or none; width: the number of input columns.
    """
    columns = as_columns(X)
    reading = {
        "folded": settings["fold_gazetteers"], "most": settings["class_words"],
        "n_classes": settings["n_classes"],
    }  # fmt: skip
    knowledge = read_knowledge(settings["classes"], settings["gazetteers"], settings["vectors"], **reading)
    if settings["knowledge"] is not None:
        packaged = read_knowledge(*read_parts(settings["knowledge"]), **reading)
        knowledge = replace(
            knowledge, classes={**packaged.classes, **knowledge.classes},
            gazetteers={**packaged.gazetteers, **knowledge.gazetteers},
        )  # fmt: skip
    if settings["text"] is not None:
        if TEXT in knowledge.names:
            raise ValueError(
                f"the classes of --text are called {TEXT}; choose another name for the other ones"
            )
        classes, _ = text_classes(settings["text"], settings["n_classes"], columns=columns)
        knowledge = knowledge.with_classes({TEXT: classes})
    template = fitting_template(settings["template"], width, knowledge)
    unused = template.warn_of_unread(width, knowledge)
    if unused:
        knowledge = knowledge.without(unused)
    if columns.n_tokens:
        warn_of_strangers(knowledge, columns)
    ways = {CLUSTER: find_word_classes, CASING: find_casing}
    learned = {name: ways[name](columns) for name in sorted(template.learned_classes)}
    return template, knowledge.with_classes(learned) if learned else knowledge


def read_knowledge(
    classes: Any = None,
    gazetteers: Any = None,
    vectors: Any = None,
    *,
    folded: bool = False,
    most: int | None = None,
    n_classes: int = N_CLASSES,
) -> Knowledge:
    """The knowledge of the options `classes`, `gazetteers` and `vectors` of a tagger."""
    found: dict[str, WordClasses] = {}
    for name, source in named_sources(classes, unnamed=True).items():
        read = read_classes(source, most=most, n_classes=n_classes)
        name = ("brown" if read.hierarchical else "classes") if name.startswith(UNNAMED) else name
        if name in found:
            raise ValueError(f"two word classes are called {name}; name them, as in first=FILE, second=FILE")
        found[name] = read
    entries = named_sources(gazetteers)
    lists = {name: read_gazetteer(source, folded=folded) for name, source in entries.items()}
    files = isinstance(vectors, Mapping) and all(isinstance(v, (str, Path)) for v in vectors.values())
    if vectors is not None and not files and not isinstance(vectors, (str, Path, list, tuple)):
        vectors = {USUAL_VECTORS: vectors}
    tables: dict[str, WordVectors] = {}
    for name, source in named_sources(vectors, unnamed=True).items():
        name = USUAL_VECTORS if name.startswith(UNNAMED) else name
        if name in tables:
            raise ValueError(f"two vectors are called {name}; name them, as in first=FILE, second=FILE")
        tables[name] = read_vectors(source, most=most)
    return Knowledge(found, lists, tables)


def named_sources(given: Any, *, unnamed: bool = False) -> dict[str, Any]:
    """{name: source} from a dict, or from texts such as NAME=FILE; with `unnamed`, a name may be missing."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    sources: dict[str, Any] = {}
    for number, item in enumerate([given] if isinstance(given, (str, Path)) else given):
        match = NAMED_FILE.fullmatch(item) if isinstance(item, str) else None
        name, source = (match[1], match[2]) if match else (f"{UNNAMED}{number}", item)
        if not match and not (unnamed and isinstance(item, (str, Path))):
            if isinstance(item, str) and "=" in item[:-1]:
                check_name(item.partition("=")[0])
            raise ValueError(f"{item!r} has no name; write NAME=FILE, or a dict of names in Python")
        if name in sources:
            raise ValueError(f"the name {name!r} occurs twice; each file needs its own name")
        sources[name] = source
    return sources


def read_gazetteer(source: Any, *, folded: bool = False) -> Gazetteer:
    """A gazetteer from a file with one entry per line, or from an iterable of entries.

    The words of an entry are separated by spaces; in Python, an entry can also be a list of words.
    """
    if isinstance(source, (str, Path)):
        with open_input(source) as file:
            text = read_text(file, file_name(source))
        return Gazetteer.from_text(text, folded=folded, name=file_name(source))
    if not isinstance(source, Iterable):
        raise ValueError(f"a gazetteer must be a file or a list of entries, got {source!r}"[:300])
    entries = [entry if isinstance(entry, str) else " ".join(entry) for entry in source]
    return Gazetteer.from_text("\n".join(entries).encode(), folded=folded, name="gazetteer")


def warn_of_strangers(knowledge: Knowledge, columns: Columns) -> None:
    """Warn about word classes and gazetteers that match none of the words."""
    for name in knowledge.names:
        kind = "gazetteer" if name in knowledge.gazetteers else "word classes"
        if name in knowledge.vectors:
            kind = "word vectors"
        if not matched(knowledge, name, columns).any():
            warnings.warn(
                f"the {kind} {name} matches nothing in the training data; check its language, its case and "
                "how it splits words",
                stacklevel=6,
            )


def matched(knowledge: Knowledge, name: str, columns: Columns) -> np.ndarray:
    """Which tokens word classes, a gazetteer or word vectors have a value for."""
    if name in knowledge.vectors:
        return np.asarray(knowledge.vectors[name].rows(columns) >= 0)
    template = parse_template(f"{name}[0]", knowledge=knowledge)
    return Extractor(template, knowledge).keys(columns).ravel() != 0


def check_name(name: str) -> None:
    """Raise ValueError for a name that templates could not use, or that means something else there."""
    if not NAME.fullmatch(name) or name.endswith(LENGTH):
        raise ValueError(
            f"the name {name!r} must consist of lower-case letters and underscores, such as brown or city"
        )
    if name in RESERVED or AFFIX.fullmatch(f"{name}1") or GRAM.fullmatch(f"{name}2_1"):
        raise ValueError(f"{name!r} is the name of a column or attribute in templates; choose another name")
