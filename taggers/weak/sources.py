"""Sources of labels that may be wrong: lists of names, patterns, annotators, models, your own functions.

A source answers for each token of a sentence with a label in IOB2, with a set of the labels that it allows,
or with None if it says nothing. These are the values from which taggers learn.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from structsvm.files.errors import DataError
from structsvm.files.inputs import file_name, open_input
from taggers.formats.sources import read_sentences
from taggers.labels import schemes
from taggers.labels.label_encoding import GoldLabels
from taggers.labels.schemes import split
from taggers.options import PHRASE_TASKS

OUTSIDE = schemes.OUTSIDE
PIECE = re.compile(r"\w+|[^\w\s]")
SHORT = 6  # letters of an abbreviation, at most
BATCH = 256  # sentences that a teacher answers at a time
SPACY = "spacy:"
Sentences = Sequence[Sequence[str]]
Votes = list[list[Any]]
Pairs = Mapping[str, Any] | Sequence[tuple[str, Any]]  # types and what belongs to them


@dataclass(frozen=True)
class Source:
    """Something that labels sentences.

    name: in messages and reports. answer: a function from sentences to lists of answers, one for
    each token. cached: whether to save its answers on disk, because it is slow. version:
    distinguishes its answers from those of other versions. whole: whether it must see all sentences at once.
    """

    name: str
    answer: Callable[[Sentences], Votes]
    cached: bool = False
    version: str = ""
    whole: bool = False


def function(labels: Callable[[Sequence[str]], Sequence[Any]], name: str = "") -> Source:
    """Make a source of a function from the tokens of a sentence to their labels."""
    return Source(name or getattr(labels, "__name__", "function"), lambda X: [list(labels(x)) for x in X])


class Phrases:
    """Phrases with the types that they can have, matched in sentences: the longest one, from left to right.

    Phrases and words are compared by pieces (runs of letters and digits, single other characters), so they
    match however a text was split into tokens. Abbreviations, such as ALL, match as they are written; other
    phrases match in any case.
    """

    def __init__(self) -> None:
        self.types: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self.lengths: dict[str, set[int]] = defaultdict(set)

    def add(self, phrase: str, type_: str) -> bool:
        """Add a phrase; return whether it has any pieces."""
        pieces = tuple(PIECE.findall(phrase))
        text = "".join(pieces)
        if len(text) > SHORT or text[1:] == text[1:].lower():
            pieces = tuple(map(str.lower, pieces))
        if pieces:
            self.types[pieces].add(type_)
            self.lengths[pieces[0]].add(len(pieces))
        return bool(pieces)

    def matches(self, words: Sequence[str]) -> list[tuple[int, int, set[str]]]:
        """The matches in a sentence: first token, end, and types."""
        pieces: list[str] = []
        token_at: dict[int, int] = {}  # the token that begins at a piece
        for token, word in enumerate(words):
            token_at[len(pieces)] = token
            pieces += PIECE.findall(word) or [word]
        token_at[len(pieces)] = len(words)
        spellings = (pieces, [piece.lower() for piece in pieces])
        found, at = [], 0
        while at < len(pieces):
            length, types = 0, set()
            if at in token_at:
                for one in spellings:
                    for n in self.lengths.get(one[at], ()):
                        key = tuple(one[at : at + n])
                        if n > length and at + n in token_at and key in self.types:
                            length, types = n, self.types[key]
            if length:
                found.append((token_at[at], token_at[at + length], types))
            at += length or 1
        return found


def gazetteer(lists: Pairs, *, phrases: Any = None, name: str = "gazetteer") -> Source:
    """Lists of names, one or several for each type, as files with one entry per line or as entries.

    phrases: a list of phrases that may be names, of unknown type. Tokens in no phrase get no answer.
    """
    table, pairs = Phrases(), _pairs(lists)
    types = sorted({type_ for type_, _ in pairs})
    for type_, entries in [*pairs, ("", phrases)]:
        if entries is None:
            continue
        what = f"the list {file_name(entries) if isinstance(entries, str | Path) else type_ or 'phrases'}"
        if not sum(table.add(entry, type_) for entry in _entries(entries)):
            raise DataError(f"{what} has no entries; write one entry per line")

    def labels(words: Sequence[str]) -> list[Any]:
        row: list[Any] = [None] * len(words)
        for start, stop, found in table.matches(words):
            known = sorted(found - {""})
            for k in range(start, stop):
                names = [f"{'BI'[k > start]}-{type_}" for type_ in known or types]
                open_ = [*names, *([] if known else [OUTSIDE])]
                row[k] = names[0] if len(open_) == 1 else frozenset(open_)
        return row

    return function(labels, name)


def _pairs(given: Pairs) -> list[tuple[str, Any]]:
    return list(given.items()) if isinstance(given, Mapping) else list(given)


def _entries(source: Any) -> Iterator[str]:
    if not isinstance(source, str | Path):
        yield from source
        return
    with open_input(source) as file:
        for number, line in enumerate(file, 1):
            try:
                yield line.decode("utf-8-sig").strip()
            except UnicodeDecodeError:
                raise DataError("is not in UTF-8; convert it", file_name(source), number) from None


def regex(expressions: Pairs, name: str = "regex") -> Source:
    """Regular expressions, one or several for each type; they see the tokens joined by spaces.

    A match must begin and end at the borders of tokens.
    """
    compiled = []
    for type_, expression in _pairs(expressions):
        try:
            compiled.append((type_, re.compile(expression)))
        except re.error as error:
            raise ValueError(f"the regular expression {expression!r} of {type_} is wrong: {error}") from None

    def labels(words: Sequence[str]) -> list[Any]:
        row: list[Any] = [None] * len(words)
        starts, stops, at = {}, {}, 0
        for k, word in enumerate(words):
            starts[at], stops[at + len(word)] = k, k + 1
            at += len(word) + 1
        for type_, expression in compiled:
            for match in expression.finditer(" ".join(words)):
                start, stop = starts.get(match.start()), stops.get(match.end())
                if start is not None and stop is not None and start < stop and not any(row[start:stop]):
                    row[start:stop] = [f"B-{type_}"] + [f"I-{type_}"] * (stop - start - 1)
        return row

    return function(labels, name)


def patterns(path: str | Path) -> Source:
    """The patterns of a spaCy EntityRuler, as JSON lines."""
    spacy = _spacy("patterns of an EntityRuler")
    ruler = spacy.blank("xx").add_pipe("entity_ruler")
    count = 0
    with open_input(path) as file:
        for count, line in enumerate(file, 1):
            if line.strip():
                try:
                    ruler.add_patterns([json.loads(line)])
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    what = f'is not a pattern such as {{"label": "ORG", "pattern": "Apple"}}: {error!r}'
                    raise DataError(what[:300], file_name(path), count) from None
    if not count:
        raise DataError("has no patterns; write one JSON object per line", file_name(path))

    def answer(X: Sentences) -> Votes:
        docs = (spacy.tokens.Doc(ruler.nlp.vocab, words=list(x)) for x in X)
        return [[label if label != OUTSIDE else None for label in _phrases(ruler(doc))] for doc in docs]

    return Source(file_name(path), answer)


def teacher(name: str | Path, *, task: str = "ner") -> Source:
    """A model file of ours, or `spacy:NAME` for a pipeline of spaCy (a package or a folder)."""
    if not str(name).startswith(SPACY):
        from taggers.tagger import SequenceTagger

        model = SequenceTagger.load(name)
        if any(map(schemes.marks_phrase, model.model_.names)) != (task in PHRASE_TASKS) and task != "label":
            example = min(model.model_.names, key=lambda label: label == OUTSIDE)
            raise ValueError(
                f"the teacher {name} has labels such as {example}, which are none of task {task}"
            )
        version = hashlib.sha256(Path(name).read_bytes()).hexdigest()[:16]
        return Source(file_name(name), lambda X: model.predict(list(map(list, X))), True, version)
    spacy = _spacy(f"the teacher {name}")
    called = str(name).removeprefix(SPACY)
    try:
        nlp = spacy.load(called)
    except (OSError, ValueError, ImportError) as error:
        raise ValueError(f"spaCy cannot load {called}: {str(error).splitlines()[0]}") from None
    phrases = task in PHRASE_TASKS
    needs = "ner" if phrases else "tagger, morphologizer"
    if not any(part in nlp.pipe_names for part in needs.split(", ")):
        raise ValueError(f"the pipeline {called} has no {needs}, only {', '.join(nlp.pipe_names)}")

    def answer(X: Sentences) -> Votes:
        docs = nlp.pipe(spacy.tokens.Doc(nlp.vocab, words=list(x)) for x in X)
        return [_phrases(doc) if phrases else [token.pos_ or None for token in doc] for doc in docs]

    return Source(str(name), answer, True, f"{nlp.meta['version']} {needs}")


def _spacy(what: str) -> Any:
    try:
        import spacy
        import spacy.tokens
    except ModuleNotFoundError as error:
        raise ValueError(f"{what} needs spaCy; install it with pip install spacy") from error
    return spacy


def _phrases(doc: Any) -> list[str]:
    return [
        f"{token.ent_iob_}-{token.ent_type_}" if token.ent_iob_ in "BI" and token.ent_type_ else OUTSIDE
        for token in doc
    ]


def read_words(path: str | Path, **options: Any) -> tuple[list[list[str]], Votes]:
    """The same as `read_sentences`, with the first input column only."""
    X, y = read_sentences(path, **options)
    return [[word[0] if isinstance(word, tuple) else word for word in words] for words in X], y


def annotators(
    path: str | Path,
    X: Sentences,
    *,
    label: int | str | Sequence[int | str] | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
) -> list[Source]:
    """The labels in a file of sentences that X contains.

    label: the column of the labels, or several columns, one for each annotator.

    If the file has most sentences several times, as with several answers of a language model, each answer
    becomes a source. Sentences that the file lacks get no answer.
    """
    if not isinstance(label, int | str | None):
        found = []
        for column in label:
            for one in annotators(path, X, label=column, format=format, encoding=encoding):
                found.append(replace(one, name=f"{one.name}, column {column}"))
        return found
    words, y = read_words(path, label=label, format=format, encoding=encoding)
    name = file_name(path)
    answers: dict[tuple[str, ...], list[list[Any]]] = defaultdict(list)
    for sentence, labels in zip(words, y, strict=True):
        answers[tuple(sentence)].append(labels)
    wanted = Counter(map(tuple, X))
    common = [sentence for sentence in answers if sentence in wanted]
    if not common:
        example = " ".join(next(iter(answers)))[:60]
        what = f"has none of the sentences to label; its first one is {example!r}"
        raise DataError(f"{what}; annotate the same text, split into the same tokens", name)
    if 2 * len(common) < len(answers):
        what = f"only {len(common)} of its {len(answers)} sentences are to be labelled"
        warnings.warn(f"{name}: {what}", stacklevel=2)
    counts = sorted(-(-len(answers[sentence]) // wanted[sentence]) for sentence in common)
    turns = counts[-1] if counts[len(counts) // 2] > 1 else 1  # else only some short sentences are repeated

    def answer(turn: int, X: Sentences) -> Votes:
        seen: Counter[tuple[str, ...]] = Counter()
        rows: Votes = []
        for sentence in map(tuple, X):
            found, often = answers.get(sentence, []), max(wanted[sentence], 1)
            place = turn * often + seen[sentence] % often  # a gold sentence may be in the text, too
            seen[sentence] += 1
            rows.append(found[place] if place < len(found) else [None] * len(sentence))
        return rows

    return [
        Source(name if turns == 1 else f"{name} ({turn + 1})", partial(answer, turn), whole=True)
        for turn in range(turns)
    ]


def collect(
    X: Sentences,
    sources: Sequence[Source],
    *,
    phrases: bool = True,
    cache: str | Path | None = None,
    callback: Callable[[str, int], Any] | None = None,
) -> dict[str, Votes]:
    """The answers of each source, checked; sources that say nothing are left out, with a warning.

    cache: a file that keeps the answers of teachers, so that a second call asks only about new sentences.
    callback: receives the name of a source and the number of sentences that it has answered.
    """
    kept = _Cache(cache)
    found: dict[str, Votes] = {}
    for source in sources:
        if source.name in found:
            raise ValueError(f"two sources are called {source.name}; give them different names")
        step = len(X) if source.whole else BATCH
        rows: Votes = []
        for start in range(0, len(X), max(step, 1)):
            rows += kept.answers(source, X[start : start + step])
            if callback is not None:
                callback(source.name, len(rows))
        rows = checked(source.name, X, rows, phrases=phrases)
        counts = Counter(label for row in rows for label in row)
        if not counts.keys() - {None, OUTSIDE if phrases else None}:
            warnings.warn(f"the source {source.name} finds nothing in {len(X)} sentences, so it is left out; "
                          "check its language, its case and its types", stacklevel=2)  # fmt: skip
        elif phrases and None not in counts and len({split(str(label))[1] for label in counts}) == 1:
            what = f"gives every token the same answer, {next(iter(counts))}, so it is left out"
            warnings.warn(f"the source {source.name} {what}", stacklevel=2)
        else:
            found[source.name] = rows
    if not found:
        raise ValueError("no source says anything about these sentences, so there is nothing to learn")
    return found


def checked(name: str, X: Sentences, rows: Votes, *, phrases: bool) -> Votes:
    """The answers in IOB2, with None for empty sets; raise ValueError for wrong ones."""
    if len(rows) != len(X):
        raise ValueError(f"the source {name} answered {len(rows)} of {len(X)} sentences")
    for number, (words, row) in enumerate(zip(X, rows, strict=True)):
        if len(words) != len(row):
            what = f"gives {len(row)} labels to sentence {number}, which has {len(words)} tokens"
            raise ValueError(f"the source {name} {what}")
    try:
        gold = GoldLabels.from_lists(rows)
        gold.distinct()  # refuses what are no labels
    except (ValueError, TypeError) as error:
        raise ValueError(f"the source {name}: {error}") from None
    if not phrases:
        return gold.lists()
    rows = gold.of_phrases().lists()
    known = [[_certain(*pair) for pair in zip(row, [*row[1:], None], strict=True)] for row in rows]
    names = {one for row in known for one in row} - {OUTSIDE}
    scheme = schemes.detect(known) if names else "IOB2"
    if scheme == "none":
        label = min(names)
        raise ValueError(f"the source {name} has labels such as {label}, which mark no phrases")
    usual = [schemes.convert(row, scheme, "IOB2") for row in known]
    return [
        [new if isinstance(old, str) else (frozenset(old) if old else None)
         for old, new in zip(row, labels, strict=True)]
        for row, labels in zip(rows, usual, strict=True)
    ]  # fmt: skip


def _certain(label: Any, after: Any) -> str:
    """A label; for a set the one that the label after it continues, or O."""
    if isinstance(label, str):
        return label
    begun = [one for one in label or () if one != OUTSIDE and after == f"I-{split(one)[1]}"]
    return min(begun, default=OUTSIDE)


class _Cache:
    """Answers in a file of JSON lines, to which each batch is appended: an interruption loses one batch."""

    def __init__(self, path: str | Path | None) -> None:
        self.path = None if path is None else Path(path)
        self.known: dict[str, list[Any]] = {}
        if self.path is not None and self.path.exists():
            lines = self.path.read_bytes().split(b"\n")
            for number, line in enumerate(lines, 1):
                try:
                    if line:
                        record = json.loads(line)
                        self.known[record["key"]] = list(record["labels"])
                except (ValueError, KeyError, TypeError):
                    if number < len(lines):  # else a writer was killed in the middle of its last line
                        what = "is not an answer of a teacher; choose another file for the cache"
                        raise DataError(what, str(path), number) from None

    def answers(self, source: Source, X: Sentences) -> Votes:
        """Answers from the file, or from the source."""
        if self.path is None or not source.cached:
            return source.answer(X)
        keys = [_key(source, words) for words in X]
        new = {key: words for key, words in zip(keys, X, strict=True) if key not in self.known}
        if new:
            rows = source.answer(list(new.values()))
            lines = [{"key": key, "labels": row} for key, row in zip(new, rows, strict=True)]
            with self.path.open("ab") as file:
                if file.tell():
                    file.write(b"\n")  # ends a line that was cut off
                file.write("\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode())
            self.known.update(zip(new, rows, strict=True))
        return [self.known[key] for key in keys]


def _key(source: Source, words: Sequence[str]) -> str:
    text = "\0".join([source.name, source.version, *words])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
