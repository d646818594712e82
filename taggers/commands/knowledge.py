"""`structsvm knowledge`: the word classes and names for a language, and how much they help on your data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from taggers.features.knowledge import matched, read_knowledge
from taggers.features.packages import LICENCES, PARTS, check_language, read_parts, sources
from taggers.labels.files import joined, read_files, read_held_out
from taggers.labels.schemes import OUTSIDE
from taggers.sources.memory import MemorySource
from taggers.tagger import TASKS


class Listed(NamedTuple):
    """A part: its name, its meaning, its packages with their licences, and those that are not installed.

    words: how many words or names it has for the language; None without a language or a package, and 0 if the
    package has nothing for the language.
    """

    name: str
    text: str
    packages: dict[str, str]
    missing: list[str]
    words: int | None


class Brought(NamedTuple):
    """The share of the tokens that a part has a value for, and the score of a tagger with it alone.

    in_phrases: the share for the tokens in phrases; None if the labels do not mark phrases. score: F1 or
    accuracy on the held-out data; None without them. name: a part, "none" or "all".
    """

    name: str
    covered: float
    in_phrases: float | None
    score: float | None


def listed(language: str | None = None) -> list[Listed]:
    """All parts; with a language, also how many words each has for it."""
    if language is not None:
        check_language(language)
    rows = []
    for part in PARTS:
        words = None
        if language is not None and not part.missing:
            classes, gazetteers = sources(language, [part])
            found = read_knowledge(classes, gazetteers)
            words = sum(map(len, found.gazetteers.values()))
            words += sum(len(one.keys) for one in found.classes.values())
        licences = {name: LICENCES[name] for name in part.packages}
        rows.append(Listed(part.name, part.text, licences, part.missing, words))
    return rows


def report(
    task: str,
    knowledge: str,
    file: str | Path | Sequence[str | Path],
    *,
    dev: str | Path | None = None,
    inputs: Sequence[int | str] | None = None,
    label: int | str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    random_state: int = 0,
) -> Iterator[Brought]:
    """Yield what each part covers in labelled files and, with `dev`, the score of a tagger with it alone."""
    if task not in TASKS or task == "morph":
        raise ValueError(f"task must be one of pos, chunk, ner and label, got {task!r}")
    data = joined(read_files(file, format=format, encoding=encoding, inputs=inputs, labels=[label]))
    if data.columns.format.ready:
        raise ValueError(f"knowledge has no effect on {data.columns.format.title}, which contains features")
    held_out = None
    if dev is not None:
        read = read_held_out(dev, data.file_columns(task), data.columns.name, encoding)
        held_out = TASKS[task]().held_out(*read)
    classes, gazetteers = read_parts(knowledge)
    found = read_knowledge(classes, gazetteers)
    names = sorted(data.gold.distinct())
    labels = data.gold.positions(names)
    in_phrase = (labels >= 0) & (labels != names.index(OUTSIDE)) if {OUTSIDE} < {*names} else None
    for name, used in {"none": [], **{name: [name] for name in found.names}, "all": found.names}.items():
        covered = np.zeros(data.columns.n_tokens, bool)
        for one in used:
            covered |= matched(found, one, data.columns)
        score = None
        if held_out is not None:
            given = [{one: source[one] for one in used if one in source} for source in (classes, gazetteers)]
            tagger = TASKS[task](classes=given[0], gazetteers=given[1], random_state=random_state)
            tagger.fit_scored(MemorySource(*data), held_out)
            score = max(tagger.dev_scores_)
        within = None if in_phrase is None else float(covered[in_phrase].mean())
        yield Brought(name, float(covered.mean()), within, score)
