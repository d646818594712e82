"""Check what the reader of CoNLL-U does not need: the numbers of words, ranges, and the order of FEATS."""

from __future__ import annotations

from structsvm.files.errors import DataError


def check_conllu(data: bytes, name: str) -> None:
    """Raise DataError for the first sentence whose numbers, ranges or FEATS break the rules of CoNLL-U.

    The lines must have been read before, so that each has ten columns and a number.
    """
    checked = {"_"}
    last = reach = reach_line = 0
    for number, line in enumerate(data.decode().split("\n"), 1):
        if not line[:1].isdigit():
            if not line.strip() and last:
                _check_reach(reach, last, name, reach_line)
                last = reach = 0
            continue
        fields = line.split("\t")
        if "." in fields[0]:
            continue
        first, _, end = fields[0].partition("-")
        if int(first) != last + 1:
            what = f"number {fields[0]} follows {last}; number the words of a sentence 1, 2, 3, ..."
            raise DataError(what, name, number)
        if end:
            if int(end) < int(first) or int(first) <= reach:
                raise DataError(f"the range {fields[0]} is empty or overlaps another one", name, number)
            reach, reach_line = int(end), number
            continue
        last += 1
        if fields[5] not in checked:
            _check_features(fields[5], name, number)
            checked.add(fields[5])
    _check_reach(reach, last, name, reach_line)


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
