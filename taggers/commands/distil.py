"""`structsvm distil`: from raw text and sources of labels to a model file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from structsvm.files.atomic import atomic_write, check_output
from structsvm.options import check_rules
from structsvm.validation import check_choice
from taggers.commands.training import check_saving
from taggers.conflicts import DISTIL
from taggers.formats.files import open_columns
from taggers.memory import release_memory
from taggers.options import checked_settings
from taggers.tagger import TASKS
from taggers.weak import sources as weak
from taggers.weak.distil import Distilled
from taggers.weak.distil import distil as learn
from taggers.weak.merging import write_merged
from taggers.weak.report import html_report

CHOICES = ("ner", "chunk", "pos", "label")


def distil(
    task: str,
    raw: str | Path,
    output: str | Path,
    *,
    gazetteers: Sequence[str] = (),
    phrases: str | Path | None = None,
    patterns: Sequence[str | Path] = (),
    regexes: Sequence[str] = (),
    teachers: Sequence[str | Path] = (),
    annotators: Sequence[str | Path] = (),
    columns: Sequence[int | str] = (),
    gold: str | Path | None = None,
    cache: str | Path | None = None,
    report: str | Path | None = None,
    merged: str | Path | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    told: Callable[[str, int], Any] | None = None,
    **options: Any,
) -> Distilled:
    """Train a tagger on raw text with sources of labels instead of gold labels, and save it.

    Parameters
    ----------
    gazetteers, regexes
        As TYPE=FILE and TYPE=EXPRESSION.
    annotators
        Files with labels of the raw text, in these columns (by default the last one); each column is one
        source.
    told
        Receives what is done and a count. See `taggers.weak.distil`.
    """
    check_choice(task=(task, CHOICES))
    check_rules(
        DISTIL, task=task, gazetteers=gazetteers, phrases=phrases, annotators=annotators, columns=columns
    )
    files = [one.partition("=")[2] for one in gazetteers]
    read = [raw, phrases, *files, *patterns, *annotators, gold]
    more = {"--cache": cache, "--report": report, "--merged": merged}
    check_saving(output, [*read, *more.values()])
    for name, written in more.items():
        if written is None:
            continue
        check_output(written, *read)
        for other, path in more.items():
            if other > name and path is not None and Path(path).resolve() == Path(written).resolve():
                raise ValueError(f"{name} and {other} are the same file, {path}; choose different names")
    tagger = TASKS[task](**{name: value for name, value in options.items() if value is not None})
    checked_settings(tagger)
    with open_columns(raw, format, encoding=encoding, prefers_text=True) as opened:
        same: dict[str, str] = {}  # one object for all places of a word
        X = [[same.setdefault(word, word) for word in words] for words in opened.read().sentences(0)]
    release_memory()
    made: list[weak.Source] = []
    if gazetteers:
        made.append(weak.gazetteer(_typed("--gazetteer", gazetteers, "FILE"), phrases=phrases))
    if regexes:
        made.append(weak.regex(_typed("--regex", regexes, "EXPRESSION")))
    made += [weak.patterns(path) for path in patterns]
    made += [weak.teacher(name, task=task) for name in teachers]
    labelled: dict[str, str] = {"format": "auto" if format == "text" else format, "encoding": encoding}
    made += [
        source
        for path in annotators
        for source in weak.annotators(path, X, label=columns or None, **labelled)
    ]
    if not made:
        raise ValueError(
            "there are no sources; add --gazetteer, --regex, --patterns, --teacher or --annotators"
        )
    if merged is not None and (len(made) < 2 or not (annotators or teachers)):
        raise ValueError(
            "--merged needs at least two sources, one of them --annotators or --teacher; add one"
        )
    known = None if gold is None else weak.read_words(gold, **labelled)
    done = learn(X, made, task=task, tagger=tagger, gold=known, cache=cache, callback=told)
    if merged is not None and done.consensus is None:
        raise ValueError(
            "--merged needs a source that labels words O, but all sources only list phrases; "
            "leave out --merged"
        )
    done.tagger.save(output)
    if merged is not None and done.consensus is not None:
        write_merged(merged, done.X, done.consensus)
    if report is not None:
        with atomic_write(report) as out:
            out.write(html_report(done, title=str(output)).encode())
    return done


def _typed(flag: str, given: Sequence[str], what: str) -> list[tuple[str, str]]:
    """Pairs of a type and what follows it."""
    pairs = [(type_, rest) for type_, _, rest in (one.partition("=") for one in given)]
    for (type_, rest), one in zip(pairs, given, strict=True):
        if not type_ or not rest or " " in type_:
            raise ValueError(f"{flag} must be TYPE={what}, such as PER={what.lower()}, got {one!r}")
    return pairs
