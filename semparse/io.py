"""Files of sentences with candidate meanings: JSONL, `text TAB mr;mr`, and RoboCup folders.

    {"text": "anna passes to bob", "candidates": ["pass(anna, bob)", {"rel": "kick", "args": ["anna"]}]}
    anna passes to bob<TAB>pass(anna, bob);kick(anna)

A line of JSONL needs `text` or `tokens`; `candidates`, `gold`, `time`, `id` and `symbols` are optional, and
so are `weights`, a number for each candidate, and `wrong`, meanings that the text does not have. All readers
raise DataError with file and line, and read the whole file or nothing.
"""

from __future__ import annotations

import io
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from corpora.bags import Bag
from corpora.readers.robocup import YEARS, Game, read_game
from semparse.evidence import check_weights
from semparse.meaning import MeaningError, as_mr, parse_mrs
from structsvm.files import DataError, file_name, open_input

FORMATS = ("jsonl", "tab", "robocup")
LONGEST_LINE = 16 << 20  # bytes, so that a small compressed file without line breaks does not fill the memory
KEYS = ("text", "tokens", "candidates", "weights", "wrong", "gold", "time", "id", "symbols")


def read_bags(path: str | os.PathLike[str], format: str | None = None, *, blank: bool = False) -> list[Bag]:
    """Read a file of bags, or the bags of a RoboCup folder; "-" is standard input, `.gz` is unpacked.

    blank: return an empty bag for each blank line, instead of skipping it.
    Without a format, a folder is read as RoboCup data. Files that end in `.jsonl` or `.json`, or begin with
    "{", are JSONL. All other files are `text TAB mr;mr`.
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    if _is_robocup(path, format):
        return [bag for game in _games(path) for bag in game.bags]
    lines = read_lines(path)
    if format is None:
        first = next((line for line in lines if line.strip()), "")
        named = str(path).removesuffix(".gz").endswith((".jsonl", ".json"))
        format = "jsonl" if named or first.lstrip().startswith("{") else "tab"
    return list((read_jsonl if format == "jsonl" else read_tab)(lines, str(path), blank=blank))


def read_tests(
    path: str | os.PathLike[str], format: str | None = None
) -> tuple[list[Bag], list[Bag], int | None]:
    """Bags to parse, bags to match, and the number of meanings that matching can find (None: count them).

    For a file, both are its sentences; with the format tab, the meanings of `text TAB mr;mr` are the right
    ones. For RoboCup, the sentences to parse are those with a gold meaning, even if no event fell in their
    window, and those with a bag that mean no event. Its bags are matched, so the meanings of comments without
    a bag are missed.
    """
    if _is_robocup(path, format):
        games = _games(path)
        gold = [bag for game in games for bag in game.gold]
        bags = [bag for game in games for bag in game.bags]
        return [*gold, *(bag for bag in bags if not bag.gold)], bags, len(gold)
    bags = read_bags(path, format)
    if format == "tab":
        return [replace(bag, candidates=(), gold=bag.candidates) for bag in bags], [], None
    return bags, bags, None


def _is_robocup(path: str | os.PathLike[str], format: str | None) -> bool:
    return format == "robocup" or (format is None and os.path.isdir(path))


def _games(path: str | os.PathLike[str]) -> list[Game]:
    years = [year for year in YEARS if (Path(path) / "training" / f"{year}final-train").exists()]
    if not years:
        raise DataError("contains no RoboCup game (training/2001final-train ...)", str(path))
    return [read_game(path, year) for year in years]


def read_jsonl(lines: Iterable[str], file: str = "", *, blank: bool = False) -> Iterator[Bag]:
    """Bags from lines of JSONL; blank lines are skipped, or become bags without a text."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            if blank:
                yield Bag("", line=number)
            continue
        try:
            value = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(f"no JSON ({error}); write one JSON object per line", file, number) from None
        try:
            yield _bag(value, number)
        except ValueError as error:
            raise DataError(str(error), file, number) from None


def _bag(value: Any, line: int) -> Bag:
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is not an object with text and candidates")
    unknown = [key for key in value if key not in KEYS]
    if unknown:
        raise ValueError(f"unknown key {unknown[0]!r}; use only {', '.join(KEYS)}")
    tokens, text = _words(value.get("tokens"), "tokens"), value.get("text")
    if text is None and tokens is not None:
        text = " ".join(tokens)
    if not isinstance(text, str) or not text.strip():
        raise ValueError("text or tokens must hold at least one word")
    time, name = value.get("time"), value.get("id", "")
    if time is not None and (isinstance(time, bool) or not isinstance(time, (int, float))):
        raise ValueError(f"time must be a number, got {time!r}")
    if not isinstance(name, (str, int)):
        raise ValueError(f"id must be a string or a number, got {name!r}")
    symbols = _words(value.get("symbols"), "symbols")
    candidates, gold = _meanings(value, "candidates") or (), _meanings(value, "gold")
    weights, wrong = value.get("weights"), _meanings(value, "wrong")
    if weights is not None:
        weights = tuple(check_weights(weights, len(candidates), "the line"))
    return Bag(text, candidates, gold, time, str(name), tokens, weights, wrong, symbols, line)


def _words(value: Any, key: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not value or not all(isinstance(word, str) and word for word in value):
        raise ValueError(f"{key} must be a list of words, got {value!r}")
    return tuple(value)


def _meanings(value: dict[str, Any], key: str) -> tuple[str, ...] | None:
    given = value.get(key)
    if given is None:
        return None
    if isinstance(given, (str, dict)):
        given = [given]
    if not isinstance(given, list):
        raise ValueError(f"{key} must be a list of meanings, got {given!r}")
    return tuple(str(as_mr(item)) for item in given)


def read_tab(lines: Iterable[str], file: str = "", *, blank: bool = False) -> Iterator[Bag]:
    """Bags from lines `text TAB mr;mr`; without a tab, or with nothing after it, there are no candidates.

    Blank lines are skipped, or become bags without a text.
    """
    for number, line in enumerate(lines, 1):
        text, *rest = line.rstrip("\r\n").split("\t")
        if not line.strip():
            if blank:
                yield Bag("", line=number)
            continue
        if len(rest) > 1:
            what = "write `text TAB mr;mr`, sentences with their candidate meanings"
            raise DataError(f"{len(rest)} tabs in a line; {what}", file, number)
        if not text.strip():
            raise DataError("the text before the tab is empty", file, number)
        try:
            candidates = tuple(str(mr) for mr in parse_mrs(rest[0] if rest else ""))
        except MeaningError as error:
            raise DataError(str(error), file, number) from None
        yield Bag(" ".join(text.split()), candidates, line=number)


def tab_line(bag: Bag, meanings: Iterable[str] | None = None) -> str:
    """A line `text TAB mr;mr` with the text of a bag and these meanings, or its candidates."""
    return f"{' '.join(bag.text.split())}\t{';'.join(bag.candidates if meanings is None else meanings)}\n"


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """The lines of a file or of standard input ("-"), which may be compressed and start with a BOM."""
    name = file_name(path)
    try:
        with open_input(path) as file:
            data = b"".join(_bounded(file, name))
        return list(io.StringIO(data.decode("utf-8-sig"), newline=None))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError("not valid UTF-8; convert the file to UTF-8", name, line) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot be read: {error}; is the file complete?", name) from None


def _bounded(file: BinaryIO, name: str) -> Iterator[bytes]:
    """The lines of a file; raise DataError for one that is too long."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            what = f"a line of more than {LONGEST_LINE >> 20} MB; is this the right file?"
            raise DataError(what, name, number)
        yield line
