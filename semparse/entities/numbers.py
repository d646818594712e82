"""Numbers in digits and in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

NUMBER = r"[+-]?\d+(\.\d+)?"
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
)
_SMALL = {name: k for k, name in enumerate((_UNITS + " seventeen eighteen nineteen").split())}
_DECADES = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TENS = {name: 10 * k for k, name in enumerate(_DECADES, 2)}
_DIGITS = re.compile(NUMBER)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_ORDINAL = re.compile(r"(\d+)(st|nd|rd|th)")


def number(x: Sequence[str], i: int) -> tuple[int, str | None]:
    """Where the number that begins at a word ends, and its digits; None if no number begins there."""
    if _DIGITS.fullmatch(x[i]):
        return i + 1, x[i]
    if _THOUSANDS.fullmatch(x[i]):
        return i + 1, x[i].replace(",", "")
    if ordinal := _ORDINAL.fullmatch(x[i]):
        return i + 1, ordinal[1]
    parts = [part for word in x[i : i + 6] for part in (*word.split("-"), "")]
    total, used = 0, 0
    current: int | None = None
    last = 1000
    for place, part in enumerate(parts):
        value = _SMALL.get(part, _TENS.get(part))
        if part == "":
            continue
        if part == "hundred" and current is not None and 0 < current < 10:
            current, last = 100 * current, 100
        elif value is not None and (current is None or (value and _fits(value, last))):
            current, last = (current or 0) + value, value if value >= 20 else 1
        else:
            break
        if place + 1 < len(parts) and parts[place + 1] == "":
            used, total = i + sum(p == "" for p in parts[: place + 2]), current
    return (used, str(total)) if used else (i + 1, None)


def _fits(value: int, last: int) -> bool:
    """Whether a number word continues one that ended with `last`: "twenty seven", "two hundred five"."""
    return value < 10 if 20 <= last < 100 else last == 100 and value < 100
