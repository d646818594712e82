"""Dates with a year, in digits and with names of months."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date as Date

from semparse.entities.numbers import number

DATE = r"\d{4}-\d\d-\d\d"
_NAMES = "january february march april may june july august september october november december"
_MONTH = {name[:n]: k for k, name in enumerate(_NAMES.split(), 1) for n in (3, len(name))}


def date(x: Sequence[str], i: int) -> tuple[int, str | None]:
    """Where the date that begins at a word ends, and the date as "2026-05-03"; None if none begins there.

    Dates are 2026-05-03, 3 May 2026, 3rd of May 2026 and May 3rd, 2026.
    """
    if re.fullmatch(DATE, x[i]):
        try:
            return i + 1, str(Date.fromisoformat(x[i]))
        except ValueError:
            return i + 1, None
    words = [word for word in x[i : i + 4] if word != "of"][:3]
    end = i + len(words) + ("of" in x[i : i + len(words)])
    if len(words) == 3 and x[end - 1] == words[2]:
        for day, month in ((words[0], words[1]), (words[1], words[0])):
            its, year = number([day], 0)[1], words[2]
            if month in _MONTH and its is not None and its.isdigit() and year.isdigit() and len(year) == 4:
                try:
                    return end, str(Date(int(year), _MONTH[month], int(its)))
                except ValueError:
                    continue
    return i + 1, None
