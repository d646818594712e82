"""RoboCup sportscasting, English: four games with comments, events, ambiguous bags and gold meanings.

Read as distributed: XML-like files without entities, meanings with blanks around their marks (removed here),
candidates repeated in a bag (kept once), texts of the bags cleaned by hand where those of the gold are not.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from corpora.bags import Bag, Event
from corpora.errors import DataError
from corpora.registry import find

YEARS = ("2001", "2002", "2003", "2004")

_EXAMPLE = re.compile(r'<example\s+id="(\d+)">(.*?)</example>', re.DOTALL)
_NL = re.compile(r"<nl[^>]*>(.*?)</nl>", re.DOTALL)
_SEMID = re.compile(r"<semid>([\d\s]*)</semid>")
_SEM = re.compile(r'<sem\s+id="(\d+)">(.*?)</sem>', re.DOTALL)
_MRL = re.compile(r"<mrl[^>]*>(.*?)</mrl>", re.DOTALL)


@dataclass(frozen=True)
class Game:
    """One final.

    bags: comments with at least one event in their window; gold is empty where no event is meant.
    gold: every comment that means an event, also those whose bag lacks it or that have no bag.
    """

    year: str
    comments: list[tuple[float, str]]
    events: list[Event]
    bags: list[Bag]
    gold: list[Bag]


def load_robocup(directory: str | os.PathLike[str] | None = None) -> list[Game]:
    """Read the four games of the corpus, 2001 to 2004."""
    return [read_game(find("robocup", directory), year) for year in YEARS]


def read_game(folder: str | os.PathLike[str], year: str) -> Game:
    """Read one game of a folder with nl, events, training and gold; raises DataError with file and line."""
    folder = Path(folder)
    gold = _read_gold(folder / "gold" / f"{year}final-gold", year)
    return Game(
        year,
        _read_comments(folder / "nl" / f"{year}final-comments"),
        _read_events(folder / "events" / f"{year}final-processed-events"),
        _read_training(folder / "training" / f"{year}final-train", year, {bag.id: bag for bag in gold}),
        gold,
    )


def _read_comments(path: Path) -> list[tuple[float, str]]:
    comments = []
    for number, line in _lines(path):
        time, bar, text = line.partition("|")
        if not bar or not time.strip().isdecimal():
            raise DataError(f"{line.strip()!r} is no comment: write `time | text`", str(path), number)
        comments.append((float(time), " ".join(text.split())))
    return comments


def _read_events(path: Path) -> list[Event]:
    events = []
    for number, line in _lines(path):
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not parts[0].isdecimal() or not parts[1].isdecimal():
            raise DataError(f"{line.strip()!r} is no event: write `start | end | meaning`", str(path), number)
        events.append(Event(float(parts[0]), float(parts[1]), _packed(parts[2])))
    return events


def _read_training(path: Path, year: str, gold: dict[str, Bag]) -> list[Bag]:
    text = _text(path)
    sems = {match[1]: _packed(match[2]) for match in _SEM.finditer(text)}
    bags = []
    for match, (number, body) in _examples(path, text):
        nl, semid = _NL.search(body), _SEMID.search(body)
        if nl is None or semid is None:
            raise _broken(path, text, match, "lacks its <nl> or <semid>")
        unknown = [sem for sem in semid[1].split() if sem not in sems]
        if unknown:
            raise _broken(path, text, match, f"names the event {unknown[0]}, which no <sem> has")
        candidates = tuple(dict.fromkeys(sems[sem] for sem in semid[1].split()))
        name = f"{year}-{number}"
        meant = tuple(gold[name].gold or ()) if name in gold else ()
        bags.append(Bag(" ".join(nl[1].split()), candidates, meant, id=name))
    return bags


def _read_gold(path: Path, year: str) -> list[Bag]:
    text = _text(path)
    bags = []
    for match, (number, body) in _examples(path, text):
        nl, mrl = _NL.search(body), _MRL.search(body)
        if nl is None or mrl is None:
            raise _broken(path, text, match, "lacks its <nl> or <mrl>")
        bags.append(Bag(" ".join(nl[1].split()), (), (_packed(mrl[1]),), id=f"{year}-{number}"))
    return bags


def _examples(path: Path, text: str) -> list[tuple[re.Match[str], tuple[str, str]]]:
    found = [(match, (match[1], match[2])) for match in _EXAMPLE.finditer(text)]
    opened = text.count("<example ")
    if not found or len(found) != opened:
        line = text.count("\n", 0, found[-1][0].end() if found else 0) + 1
        raise DataError(
            f'{opened} examples begin but {len(found)} are whole (<example id="1"> ... </example>): '
            "the file is damaged after this line",
            str(path),
            line,
        )
    return found


def _broken(path: Path, text: str, match: re.Match[str], what: str) -> DataError:
    line = text.count("\n", 0, match.start()) + 1
    return DataError(f"example {match[1]} {what}", str(path), line)


def _packed(meaning: str) -> str:
    return "".join(meaning.split())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}): check the folder", str(path)) from None
    except UnicodeDecodeError:
        raise DataError("is not in UTF-8: convert it", str(path)) from None


def _lines(path: Path) -> list[tuple[int, str]]:
    return [(n, line) for n, line in enumerate(_text(path).splitlines(), 1) if line.strip()]
