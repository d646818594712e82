"""Times of the day, in digits and in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from semparse.entities.numbers import number

TIME = r"(1?\d|2[0-3]):[0-5]\d"  # the hours below ten have no zero
LONG_TIME = r"([01]\d|2[0-3]):[0-5]\d"
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_PARTS = {"half": 30, "quarter": 15}
_NOON = {"am": 0, "a.m": 0, "pm": 12, "p.m": 12}


def time(x: Sequence[str], i: int) -> tuple[int, str | None]:
    """Where the time that begins at a word ends, and the time as "7:30"; None if none begins there.

    Times are 7:30, 7:30 pm, 7 pm, half past seven, quarter to seven and seven o'clock.
    """
    if clock := _CLOCK.fullmatch(x[i]):
        return _with_half(x, i + 1, int(clock[1]), int(clock[2]))
    if x[i] in _PARTS and i + 2 < len(x) and x[i + 1] in ("past", "to"):
        end, value = number(x, i + 2)
        hour = _hour(value)
        if hour is not None:
            minutes = _PARTS[x[i]] if x[i + 1] == "past" else -_PARTS[x[i]]
            return _with_half(x, end, (hour + (minutes < 0) * 23) % 24, minutes % 60)
        return i + 1, None
    end, value = number(x, i)
    hour = _hour(value)
    if hour is not None and x[end : end + 2] == ["o", "clock"]:
        return _with_half(x, end + 2, hour, 0)
    if hour is not None and end < len(x) and x[end] in _NOON:
        return _with_half(x, end, hour, 0)
    return i + 1, None


def _hour(value: str | None) -> int | None:
    return int(value) if value is not None and value.isdigit() and int(value) < 24 else None


def _with_half(x: Sequence[str], end: int, hour: int, minute: int) -> tuple[int, str]:
    """The time, with the half of the day that may follow."""
    if end < len(x) and x[end] in _NOON and hour <= 12:
        hour, end = hour % 12 + _NOON[x[end]], end + 1
    return end, f"{hour}:{minute:02}"
