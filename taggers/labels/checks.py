"""Warn of labels that look wrong, such as mixed schemes or labels from another column."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, takewhile

import numpy as np

from structsvm.files.errors import DataError
from taggers.formats._columns import Columns
from taggers.labels import schemes
from taggers.labels.label_encoding import MISSING, GoldLabels

UPOS = frozenset((
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT",
    "SCONJ", "SYM", "VERB", "X", "_",
))  # fmt: skip
SELDOM, OFTEN = 2, 100  # occurrences of a label that may be misspelt, and of the right one
SHORT = len("B-NP")  # B-PP is not B-NP misspelt
COLUMN = "check the column, or choose another with --column"


def tell_of_reading(columns: Columns, gold: GoldLabels) -> None:
    """Say in a line which labels of columns have other names now, and how many tokens have none."""
    if not columns.format.gaps:
        return
    texts, ids = columns.texts(columns.width - 1), gold.ids.tolist()
    if missing := ids.count(-1):
        at = ids.index(-1)
        _warn(
            f"{columns.name}:{columns.line(at)}",
            f"{texts[at] or 'an empty cell'} means that a token has no label; training leaves out these "
            f"tokens ({missing} of {len(ids)})",
        )
    for at, (text, k) in enumerate(zip(texts, ids, strict=True)):
        if k >= 0 and gold.names[k] != text:
            _warn(f"{columns.name}:{columns.line(at)}", f"labels such as {text} are read as {gold.names[k]}")
            return


def warn_of_labels_as_inputs(columns: Columns, gold: GoldLabels, width: int) -> None:
    """Warn if one of the first `width` input columns has labels of phrases of the same types as `gold`.

    Files with nested phrases have several such columns; files to tag have none.
    """
    types = _phrase_types(gold.distinct())
    for place in range(1, min(width, columns.width - 1)):
        texts = (columns.text(token, place) for token in range(columns.n_tokens))
        if _phrase_types(texts) & types:
            _warn(
                columns.name,
                f"column {columns.wanted[place]} (counted from 0) has labels like those that are learned, "
                "but is an input, so files to tag need it too; if it is another annotation, choose the "
                "input columns with --columns and the column of the labels with --column",
            )


def _phrase_types(labels: Iterable[str]) -> set[str]:
    """The types of labels of phrases; none if there are other labels, the first of which ends the search."""
    seen = {schemes.OUTSIDE}
    for label in labels:
        if label not in seen and not schemes.marks_phrase(label):
            return set()
        seen.add(label)
    return {schemes.split(one)[1] for one in seen - {schemes.OUTSIDE}}


class CountedLabels:
    """The labels of training data on disk or on a cluster: their names and counts, without their lines."""

    def __init__(self, file: str, triples: Counter[schemes.Triple]) -> None:
        self.file, self.triples = file, triples
        self.counts: Counter[str] = Counter()
        for (_, label, _), count in triples.items():
            self.counts[label] += count
        self.complete = True  # as these sources require

    def first(self, labels: Collection[str]) -> str:
        """The first one of these labels, with its line if that is known."""
        return next(label for label in self.counts if label in labels)

    def out_of_place(self, outer: str) -> tuple[int, str]:
        """How many labels are out of place in a scheme, and which."""
        wrong = {triple: n for triple, n in self.triples.items() if schemes.is_repaired(triple, outer)}
        return sum(wrong.values()), f"such as {min(label for _, label, _ in wrong)}" if wrong else ""


class LabelsOfFile(CountedLabels):
    """The labels of training data in memory."""

    def __init__(self, columns: Columns, gold: GoldLabels) -> None:
        self.file, self._columns, self._gold, self.complete = columns.name, columns, gold, gold.complete
        counts = np.bincount(gold.ids[gold.ids >= 0], minlength=len(gold.names)).tolist()
        self.counts = Counter(dict(zip(gold.names, counts, strict=True)))

    def first(self, labels: Collection[str]) -> str:
        wanted = [k for k, name in enumerate(self._gold.names) if name in labels]
        return self._at(int(np.argmax(np.isin(self._gold.ids, wanted))))

    def out_of_place(self, outer: str) -> tuple[int, str]:
        gold = self._gold
        wrong = schemes.ids_out_of_place(gold.ids, gold.names, gold.sentence_ptr, outer)
        return len(wrong), f"the first at {self._at(int(wrong[0]))}" if len(wrong) else ""

    def _at(self, token: int) -> str:
        return f"line {self._columns.line(token)}: {self._gold.names[self._gold.ids[token]]}"


def warn_of_training_labels(found: CountedLabels, outer: str) -> None:
    """Warn of labels out of place in their scheme, and of labels that fit no scheme."""
    if outer == "none":
        _warn(found.file, _without_scheme(found))
        return
    number, which = found.out_of_place(outer)
    if number:
        count = "1 label is" if number == 1 else f"{number} labels are"
        _warn(
            found.file,
            f"{count} out of place in {outer} ({which}) and interpreted as in conlleval; if you joined files "
            "with different schemes, convert them to the same one with structsvm convert",
        )


def warn_of_typos(found: CountedLabels) -> None:
    """Warn about rare phrase labels that are nearly the same as a frequent one.

    In a column of universal parts of speech, warn about other rare labels that are nearly the same as one of
    these in the file.
    """
    universal = 2 * len(set(found.counts) & UPOS) > len(found.counts)
    known = {
        name for name, count in found.counts.items()
        if (name in UPOS if universal else
            count >= OFTEN and schemes.marks_phrase(name) and len(name) > SHORT)
    }  # fmt: skip
    problem = "is not a universal part of speech" if universal else "is rare"
    for name, count in found.counts.items():
        near = [other for other in known if _nearly(name, other)]
        if near and name not in known and 0 < count <= SELDOM:
            line = found.first([name]).removesuffix(name)
            _warn(found.file, f"{line}the label {name} {problem}; did you mean {min(near)}?")


def _nearly(one: str, two: str) -> bool:
    """Whether two labels differ in one character or in the order of two, but not in a prefix such as B-.

    >>> _nearly("NUON", "NOUN"), _nearly("B-PERS", "B-PER"), _nearly("B_PER", "B-PER")
    (True, True, True)
    >>> _nearly("B-PER", "I-PER"), _nearly("B-PER", "B-ORG"), _nearly(".", "X")
    (False, False, False)
    """
    if min(len(one), len(two)) < 2:
        return False
    start = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))
    a, b = one[start:], two[start:]
    if start == 0 and a[1:2] == b[1:2] == "-":
        return False
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def check_spans(columns: Columns, labels: Collection[str]) -> None:
    """Reject documents that have spans, but no phrase among their labels, as no span fits the tokens."""
    unfit = [record.line for record in columns.origin or () if record.unfit]
    if unfit and not set(labels) - {schemes.OUTSIDE, MISSING}:
        raise DataError(
            "no phrase is left, as the spans do not fit the tokens; check their offsets: the first character "
            "is 0, and the end is the offset after the last one", columns.name, unfit[0],
        )  # fmt: skip


def check_scheme(columns: Columns, gold: GoldLabels, outer: str) -> None:
    """Reject labels that the scheme of a model does not have."""
    for number, name in enumerate(gold.names):
        try:
            schemes.convert([name], outer, outer)
        except ValueError as error:
            at = int(np.argmax(gold.ids == number))
            what = f"{str(error).rstrip('.')}; convert the file with structsvm convert --to {outer}"
            raise DataError(what, columns.name, columns.line(at)) from None


def _without_scheme(found: CountedLabels) -> str:
    """Why labels have no scheme: none of them marks phrases, or not all of them."""
    marks = {name for name in found.counts if schemes.marks_phrase(name)}
    if not marks:
        return f"the labels do not mark phrases with B-x and I-x and are used unchanged; {COLUMN}"
    others = found.counts.keys() - marks - {schemes.OUTSIDE}
    if others:
        return (
            f"phrase labels such as {min(marks)} are mixed with other labels ({found.first(others)}), so all "
            "labels are used unchanged"
        )
    return f"the labels ({', '.join(sorted(marks)[:6])} ...) mix schemes and are used unchanged"


def mark_phrases(labels: Collection[str]) -> bool:
    """Whether most labels other than O mark phrases, as B-x and I-x do."""
    others = [label for label in labels if label != schemes.OUTSIDE]
    return 2 * sum(map(schemes.marks_phrase, others)) >= len(others)


def all_mark_phrases(labels: Collection[str]) -> bool:
    """Whether all labels other than O mark phrases, and there is one."""
    others = [label for label in labels if label != schemes.OUTSIDE]
    return bool(others) and all(map(schemes.marks_phrase, others))


def check_gold(gold: Sequence[Sequence[str]], names: Sequence[str], columns: Columns) -> None:
    """Reject gold labels (the last column read) that share no label with the model's `names`."""
    seen = set(chain.from_iterable(gold)) - {schemes.OUTSIDE}
    known = set(names) - {schemes.OUTSIDE}
    if not seen or schemes.alike(seen, known):
        return
    column = columns.format.column_name(columns.wanted[-1])
    only = _some(known) or f"only {schemes.OUTSIDE}"
    raise DataError(
        f"column {column} has the labels {_some(seen)}, but the model has {only}; choose the column "
        "of the gold labels with --column, or use a model trained on such labels",
        columns.name,
    )


def warn_of_gold(
    gold: Sequence[Sequence[str]], names: Sequence[str], outer: str, file: str, answers: str
) -> None:
    """Warn of gold labels that differ from the predicted ones: no common label, or another scheme."""
    seen = set(chain.from_iterable(gold)) - {schemes.OUTSIDE}
    if seen and not schemes.alike(seen, names):
        _warn(file, f"the labels are {_some(seen)}, and none of them is among {answers}")
        return
    theirs = schemes.detect(gold)
    if "none" not in (outer, theirs) and theirs != outer and schemes.count_violations(gold, outer):
        _warn(
            file,
            f"the labels are in {theirs}, {answers} in {outer}; F1 compares phrases, but accuracy compares "
            f"the labels as written; convert the file with structsvm convert --to {outer}",
        )


def warn_of_unknown(columns: Columns, place: int, names: Collection[str], *, phrases: bool) -> None:
    """Warn of gold labels in a column that the model cannot predict, such as misspelt ones.

    phrases: compare only the types of phrases, since the file may use another scheme than the model.
    """

    def shown(label: str) -> str:
        return schemes.split(label)[1] if phrases and schemes.marks_phrase(label) else label

    texts = list(chain.from_iterable(columns.labels(place)))
    if phrases:
        usual = schemes.typed(set(texts))
        texts = [usual.get(text, text) for text in texts]
    known = {shown(name) for name in names} | {schemes.OUTSIDE, columns.format.missing(columns.wanted[place])}
    unknown = {label for label in set(texts) if shown(label) not in known}
    if unknown:
        at, count = _first(texts, unknown), sum(label in unknown for label in texts)
        _warn(
            f"{columns.name}:{columns.line(at)}",
            f"the model does not know the label {texts[at]}, so it counts as wrong; check the spelling "
            f"(unknown labels: {len(unknown)}, tokens with them: {count})",
        )


def warn_of_upos(columns: Columns, place: int) -> None:
    """Warn of values in a UPOS column that are not universal parts of speech; training uses them anyway."""
    texts = columns.texts(place)
    strange = set(texts) - UPOS
    if strange:
        at, count = _first(texts, strange), sum(text in strange for text in texts)
        _warn(
            f"{columns.name}:{columns.line(at)}",
            f"{texts[at]} is not a universal part of speech, and is used unchanged; check the spelling "
            f"(such values: {_some(strange)}; tokens with them: {count})",
        )


def _first(texts: Sequence[str], wanted: Collection[str]) -> int:
    return next(at for at, text in enumerate(texts) if text in wanted)


def _some(labels: Collection[str]) -> str:
    """
    >>> _some({"N", "V", "D", "A"}), _some({"N"})
    ('A, D, N ...', 'N')
    """
    return ", ".join(sorted(labels)[:3]) + (" ..." if len(labels) > 3 else "")


def _warn(file: str, what: str) -> None:
    warnings.warn(f"{file}: {what}", UserWarning, stacklevel=3)
