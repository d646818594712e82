"""Check what the CoNLL-U reader does not: numbers of words and empty nodes, ranges, the order of FEATS."""

from __future__ import annotations

import warnings

from structsvm.files.errors import DataError
from taggers.formats.conllu import COLUMN, FORMAT

FEATS = COLUMN["feats"]
LONG = 5  # a sentence with at least this many words should have a feature
MANY = 0.1  # warn if more than this share of long sentences has no features


def check_conllu(data: bytes, name: str) -> None:
    """Raise DataError for the first sentence whose numbers, ranges or FEATS break the rules of CoNLL-U.

    Warn if FEATS seem to be missing in some sentences. The lines must already have been read, so that each
    is known to have ten columns and a number.
    """
    checked = {"_"}
    last = empty = reach = reach_line = with_features = 0
    long, bare = 0, list[int]()  # the number of long sentences, and a line of each one without features
    for number, line in enumerate([*data.decode().removeprefix("\ufeff").split("\n"), ""], 1):
        if not line[:1].isdigit():
            if not line.strip():
                empty = 0
            if not line.strip() and last:
                _check_reach(reach, last, name, reach_line)
                if last >= LONG:
                    long += 1
                    bare += [number - last] * (not with_features)
                last = reach = with_features = 0
            continue
        fields = line.rstrip("\r").split("\t")
        if "" in fields:
            what = f"{FORMAT.names[fields.index('')].upper()} is empty; write _ for no value"
            raise DataError(what, name, number)
        if "." in fields[0]:
            empty += 1
            if fields[0] != f"{last}.{empty}":
                what = f"number {fields[0]} instead of {last}.{empty}; an empty node takes the number of "
                what += "the word before it, or 0 before the first word"
                raise DataError(what, name, number)
            continue
        first, _, end = fields[0].partition("-")
        if int(first) != last + 1:
            what = f"number {fields[0]} instead of {last + 1}; number the words of a sentence 1, 2, 3, ..."
            raise DataError(what, name, number)
        if end:
            if int(end) < int(first) or int(first) <= reach:
                raise DataError(f"the range {fields[0]} is empty or overlaps another one", name, number)
            reach, reach_line = int(end), number
            continue
        last, empty = last + 1, 0
        with_features += fields[FEATS] != "_"
        if fields[FEATS] not in checked:
            _check_features(fields[FEATS], name, number)
            checked.add(fields[FEATS])
    if MANY * long < len(bare) < long:
        warnings.warn(
            f"{name}:{bare[0]}: no word of this sentence has FEATS ({len(bare)} of {long} sentences with at "
            f"least {LONG} words have none); _ means that a word has no features, so leave out sentences "
            "whose FEATS are unknown",
            stacklevel=3,
        )


def _check_reach(reach: int, last: int, name: str, line: int) -> None:
    if reach > last:
        raise DataError(f"the range ends at {reach}, but its sentence has {last} words", name, line)


def _check_features(text: str, name: str, line: int) -> None:
    names = [feature.partition("=")[0] for feature in text.split("|")]
    if any("=" not in feature for feature in text.split("|")):
        what = f"FEATS must be pairs such as Case=Nom|Number=Sing, or _ for none, got {text!r}"
    elif len({*names}) < len(names):
        what = f"FEATS {text!r} has a feature twice; join its values by commas"
    elif names != sorted(names, key=str.lower):
        what = f"FEATS {text!r} is out of order; sort the features by name"
    else:
        return
    raise DataError(what, name, line)
