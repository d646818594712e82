"""Read two logs with times, what was said and what happened, from CSV or JSONL files.

    time,text                                    {"time": 12.5, "text": "it is too dark"}
    12.5,it is too dark

    time,meaning                                 {"start": 13, "end": 14, "meaning": "turn_on(lamp)"}
    13,"turn_on(lamp, hall)"                     {"time": 13, "rel": "turn_on", "args": ["lamp", "hall"]}
                                                 {"time": 13, "name": "dim", "arguments": {"level": 20}}

A time is a number (of seconds, for example) or a date such as 2026-05-01T18:30:05; all times of both files
must be of one kind. Other columns and keys are ignored. Readers raise DataError with file and line.

`fields` gives the names that a log uses: {"time": "at", "rel": "type", "args": "machine,level"} reads the
event {"at": 13, "type": "start", "machine": "press", "level": 3} as start(press, 3). If the files use
different names, list them: {"time": "at,when"}.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from corpora.bags import Bag, Event, windows
from semparse.io import read_lines
from semparse.meaning import MR, as_mr, parse_mrs
from structsvm.files import DataError, file_name

FIELDS = ("time", "start", "end", "text", "id", "gold", "meaning", "rel", "args", "name", "arguments")
ZONE = re.compile(r"(Z|[+-]\d\d:?\d\d)\s*$")  # at the end of a date


@dataclass
class Row:
    """The values of a line, and its times in seconds."""

    line: int
    values: dict[str, Any]
    start: float = 0.0
    end: float = 0.0


def read_windows(
    texts: str | os.PathLike[str],
    events: str | os.PathLike[str],
    *,
    before: float = 5,
    after: float = 2,
    by: str | None = None,
    fields: Mapping[str, str] = MappingProxyType({}),
) -> list[Bag]:
    """The bag of each text of a file, with the events of the other file in its window (`corpora.windows`).

    by: a column of both files, such as the user or the machine, or two, such as "user,who". A text then only
    gets events with its value, and events without a value. fields: the columns of the files by the names that
    are read here.

    With dates as times, `before` and `after` are seconds. A column `gold` (meanings separated by semicolons,
    none for a text that means nothing) and a column `id` are kept.
    """
    _check_fields(fields)
    spoken, kind = _timed(texts, fields)
    spoken = _without_blanks(spoken, texts)
    happened, other = _timed(events, fields)
    if kind != other:
        what = f"its times are {other}, but those of {file_name(texts)} are {kind}; use one kind"
        raise DataError(what, file_name(events))
    for column in (one for given in fields.values() for one in given.split(",")):
        if all(_value(row.values, column) is None for row in (*spoken, *happened)):
            raise DataError(f"has no {column!r}, and {file_name(texts)} has none", file_name(events))
    _warn_of_zones([*spoken, *happened])
    said = [_told(_text, row, texts) for row in spoken]
    done = [_told(_event, row, events) for row in happened]
    whose, their = _groups(spoken, by, texts), _groups(happened, by, events)
    bags = list(said)
    for group in dict.fromkeys(whose):
        places = [place for place, name in enumerate(whose) if name == group]
        own = [event for event, name in zip(done, their, strict=True) if name in (group, "")]
        found = windows(
            [(said[place].time, said[place].text) for place in places], own, before=before, after=after
        )
        for place, window in zip(places, found, strict=True):
            bags[place] = replace(said[place], candidates=window.candidates)
    return bags


def _without_blanks(rows: list[Row], path: str | os.PathLike[str]) -> list[Row]:
    """The rows without those whose text is blank, of which a warning gives the number."""
    blank = [row.line for row in rows if not str(row.values.get("text", "?")).strip()]
    if len(blank) == len(rows):
        raise DataError("all its texts are empty; is this the right file?", file_name(path))
    if blank:
        left = f"{len(blank)} such row{'s are' if len(blank) > 1 else ' is'} left out"
        warnings.warn(f"{file_name(path)}:{blank[0]}: the text is empty; {left}", stacklevel=3)
    left_out = {*blank}
    return [row for row in rows if row.line not in left_out]


def _check_fields(fields: Mapping[str, str]) -> None:
    unknown = [name for name in fields if name not in FIELDS]
    if unknown:
        raise ValueError(f"no field is called {unknown[0]!r}; name one of {', '.join(FIELDS)}")


def _groups(rows: list[Row], by: str | None, path: str | os.PathLike[str]) -> list[str]:
    """The value of a column in each row, or an empty string."""
    values = [None if by is None else _value(row.values, by) for row in rows]
    if by is not None and all(value is None for value in values):
        raise DataError(f"has no {by!r}; name a column of both files", file_name(path))
    return ["" if value is None else str(value) for value in values]


def _warn_of_zones(rows: list[Row]) -> None:
    """Warn if only some of the dates have a time zone."""
    dates = [str(row.values.get(name)) for row in rows for name in ("time", "start", "end")]
    zones = {bool(ZONE.search(date)) for date in dates if ":" in date}
    if len(zones) > 1:
        warnings.warn(
            "some dates have a time zone and some do not; those without are read as UTC; add the zones",
            stacklevel=4,
        )


def _told(convert: Any, row: Row, path: str | os.PathLike[str]) -> Any:
    """Convert a row; its ValueError becomes a DataError with file and line."""
    try:
        return convert(row)
    except ValueError as error:
        raise DataError(str(error), file_name(path), row.line) from None


def _timed(path: str | os.PathLike[str], fields: Mapping[str, str]) -> tuple[list[Row], str]:
    """All rows with their times and the names that are read here, and the kind of the times."""
    lines = read_lines(path)
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise DataError("is empty; is this the right file?", file_name(path))
    rows = list((_objects if first.lstrip().startswith("{") else _table)(lines, file_name(path)))
    for row in rows:
        row.values |= _renamed(row.values, fields)
    kinds = {kind: row for row in rows for kind in _told(_set_times, row, path)}
    if len(kinds) > 1:
        last = max(row.line for row in kinds.values())
        raise DataError("some times are numbers and some are dates; use one kind", file_name(path), last)
    if not rows:
        raise DataError("has a header only; is this the right file?", file_name(path))
    return rows, next(iter(kinds))


def _renamed(values: dict[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    """The values of a row by the names that are read here; `args` may be several columns."""
    found = {}
    for name, column in fields.items():
        columns = column.split(",")
        given = [value for one in columns if (value := _value(values, one)) not in (None, "")]
        if name == "args" and not (len(given) == 1 and isinstance(given[0], list)):
            found[name] = given
        elif given:
            found[name] = given[0]
    return found


def _value(values: Mapping[str, Any], column: str) -> Any:
    """The value of a column or key, or of the first of several; the columns of tables are in lower case."""
    found = (values.get(one.strip(), values.get(one.strip().lower())) for one in column.split(","))
    return next((value for value in found if value is not None), None)


def _objects(lines: list[str], file: str) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(f"no JSON ({error}); write one JSON object per line", file, number) from None
            if not isinstance(value, dict):
                raise DataError("is not a JSON object; write one object per line", file, number)
            yield Row(number, value)


def _table(lines: list[str], file: str) -> Iterator[Row]:
    """The rows of a CSV file with a header; values are separated by commas, semicolons or tabs."""
    header = next(line for line in lines if line.strip())
    mark = max(",;\t", key=header.count)
    reader = csv.reader(lines, delimiter=mark, strict=True)
    names: list[str] = []
    try:
        for row in reader:
            if row and not names:
                names = [name.strip().lower() for name in row]
                if _is_data(names):
                    what = "the first line has a time instead of names; begin with a header such as time,text"
                    raise DataError(what, file, reader.line_num)
            elif row:
                if len(row) != len(names):
                    what = f"the row has {len(row)} values, but the header has {len(names)} names"
                    raise DataError(
                        f"{what}; put a value that contains {mark!r} in quotes", file, reader.line_num
                    )
                yield Row(reader.line_num, dict(zip(names, row, strict=True)))
    except csv.Error as error:
        raise DataError(f"no CSV ({error}); close all quotes", file, reader.line_num) from None


def _is_data(names: list[str]) -> bool:
    """Whether a header has a time."""
    for name in names:
        try:
            _seconds(name)
        except ValueError:
            continue
        return True
    return False


def _set_times(row: Row) -> set[str]:
    """Convert the times of a row to seconds; return their kinds."""
    given = row.values
    name = "start" if given.get("time") in (None, "") else "time"
    if given.get(name) in (None, ""):
        raise ValueError(
            "has no 'time'; name its column or key with --field, such as --field time=at; if "
            "the files use different names, give both"
        )
    row.start, kind = _seconds(given[name])
    row.end, other = (row.start, kind) if given.get("end") in (None, "") else _seconds(given["end"])
    return {kind, other}


def _seconds(value: Any) -> tuple[float, str]:
    """A number, or a date as seconds since 1970 (in UTC if it has no time zone), and which of them it is."""
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            seconds, kind = float(value), "numbers"
        else:
            seconds, kind = _date_or_number(str(value).strip())
    except (ValueError, OverflowError):
        seconds = math.nan
    if not math.isfinite(seconds):
        raise ValueError(f"{value!r} is not a time; use a number or a date such as 2026-05-01T18:30:05")
    return seconds, kind


def _date_or_number(text: str) -> tuple[float, str]:
    try:
        return float(text), "numbers"
    except ValueError:
        date = datetime.fromisoformat(text)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp(), "dates"


def _text(row: Row) -> Bag:
    text, gold = row.values.get("text"), row.values.get("gold")
    if not isinstance(text, str):
        raise ValueError("has no 'text'; name its column with --field, or remove the row")
    meant = None if gold is None else tuple(map(str, _meanings(gold)))
    name = row.values.get("id")
    return Bag(" ".join(text.split()), (), meant, row.start, "" if name is None else str(name), line=row.line)


def _meanings(value: Any) -> list[MR]:
    if isinstance(value, str):
        return parse_mrs(value)
    if not isinstance(value, list):
        raise ValueError(f"gold must be a list of meanings, got {value!r}")
    return [as_mr(one) for one in value]


def _event(row: Row) -> Event:
    given = row.values
    keys = ("name", "arguments") if "arguments" in given else ("rel", "args")
    value = {key: given[key] for key in keys if key in given} if keys[0] in given else given.get("meaning")
    if value in (None, ""):
        raise ValueError("has no 'meaning', such as turn_on(lamp); name its column or key with --field")
    if row.end < row.start:
        raise ValueError("the event ends before it starts; swap its times")
    return Event(row.start, row.end, str(as_mr(value)))
