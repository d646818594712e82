"""RoboCup sportscasting, English: four games with comments, events, ambiguous bags and gold meanings.

Read as distributed: XML-like files without entities, meanings with blanks around their marks (removed here),
candidates repeated in a bag (kept once), texts of the bags cleaned by hand where those of the gold are not.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from corpora.bags import Bag, Event
from corpora.registry import find
from structsvm.files import DataError

YEARS = ("2001", "2002", "2003", "2004")

_EXAMPLE = re.compile(r'<example\s+id="(\d+)">(.*?)</example>', re.DOTALL)
_NL = re.compile(r"<nl[^>]*>(.*?)</nl>", re.DOTALL)
_SEMID = re.compile(r"<semid>([\d\s]*)</semid>")
_SEM = re.compile(r'<sem\s+id="(\d+)">(.*?)</sem>', re.DOTALL)
_MEANING = re.compile(r"\w+(\(\w+(,\w+)*\))?")
_MRL = re.compile(r"<mrl[^>]*>(.*?)</mrl>", re.DOTALL)


@dataclass(frozen=True)
class Game:
    """One final.

    bags: comments with at least one event in their window; their gold is empty if no event is meant. gold:
    every comment that means an event, even if its bag lacks the event or it has no bag.
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
            raise DataError(f"{line.strip()!r} is not a comment; write `time | text`", str(path), number)
        comments.append((float(time), " ".join(text.split())))
    return comments


def _read_events(path: Path) -> list[Event]:
    events = []
    for number, line in _lines(path):
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not parts[0].isdecimal() or not parts[1].isdecimal():
            raise DataError(
                f"{line.strip()!r} is not an event; write `start | end | meaning`", str(path), number
            )
        events.append(Event(float(parts[0]), float(parts[1]), _packed(parts[2], path, number)))
    return events


def _read_training(path: Path, year: str, gold: dict[str, Bag]) -> list[Bag]:
    text = _text(path)
    sems = {
        match[1]: _packed(match[2], path, _line(text, match.start()))
        for match in _whole(path, text, _SEM, "sem")
    }
    bags = []
    for match in _whole(path, text, _EXAMPLE, "example"):
        number, body = match.groups()
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
    for match in _whole(path, text, _EXAMPLE, "example"):
        number, body = match.groups()
        nl, mrl = _NL.search(body), _MRL.search(body)
        if nl is None or mrl is None:
            raise _broken(path, text, match, "lacks its <nl> or <mrl>")
        meant = _packed(mrl[1], path, _line(text, match.start()))
        bags.append(Bag(" ".join(nl[1].split()), (), (meant,), id=f"{year}-{number}"))
    return bags


def _whole(path: Path, text: str, pattern: re.Pattern[str], name: str) -> list[re.Match[str]]:
    """All elements of a name; raises DataError at the first that is not whole."""
    opened = [match.start() for match in re.finditer(rf"<{name}\s", text)]
    found = []
    for start, following in pairwise([*opened, len(text)]):
        match = pattern.match(text, start, following)
        if match is None:
            what = f'this <{name}> is incomplete; write <{name} id="1"> ... </{name}>'
            raise DataError(what, str(path), _line(text, start))
        found.append(match)
    if not found:
        raise DataError(f"holds no <{name}>: is this the right file?", str(path))
    return found


def _broken(path: Path, text: str, match: re.Match[str], what: str) -> DataError:
    return DataError(f"example {match[1]} {what}", str(path), _line(text, match.start()))


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _packed(meaning: str, path: Path, line: int) -> str:
    """A meaning without its blanks."""
    packed = "".join(meaning.split())
    if not _MEANING.fullmatch(packed):
        raise DataError(f"{meaning.strip()!r} is not a meaning such as pass ( a , b )", str(path), line)
    return packed


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}); check the folder", str(path)) from None
    except UnicodeDecodeError:
        raise DataError("is not in UTF-8; convert it", str(path)) from None


def _lines(path: Path) -> list[tuple[int, str]]:
    return [(n, line) for n, line in enumerate(_text(path).splitlines(), 1) if line.strip()]
