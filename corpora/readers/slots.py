"""Reader of SNIPS and ATIS: sentences with an intent and its slots, as meanings `intent(slot=value)`."""

from __future__ import annotations

import json
import os
from pathlib import Path

from corpora.bags import Bag
from corpora.registry import find
from structsvm.files import DataError

PARTS = ("train", "valid", "test")


def load_slots(name: str, directory: str | os.PathLike[str] | None = None) -> dict[str, list[Bag]]:
    """The training, validation and test sentences of "snips" or "atis", each with its meaning.

    A value has the words of the sentence. A slot that occurs twice has a list of values.
    """
    if name not in ("snips", "atis"):
        raise ValueError(f"name must be snips or atis, got {name!r}")
    return {part: read_slots(find("slots", directory) / name / part) for part in PARTS}


def read_slots(folder: str | os.PathLike[str]) -> list[Bag]:
    """The sentences of a folder with the parallel files `seq.in`, `seq.out` (BIO) and `label`."""
    names = ("seq.in", "seq.out", "label")
    lines = [(Path(folder) / one).read_text(encoding="utf-8").splitlines() for one in names]
    if len({len(its) for its in lines}) > 1:
        raise DataError("seq.in, seq.out and label have different numbers of lines", str(folder))
    bags = []
    for number, (text, marks, intent) in enumerate(zip(*lines, strict=True), 1):
        words, tags = text.split(), marks.split()
        if len(words) != len(tags) or not intent.strip():
            raise DataError("the words, tags and intents do not match", str(Path(folder) / "seq.out"), number)
        meaning = _meaning(intent.strip(), words, tags)
        bags.append(Bag(text.strip(), (meaning,), (meaning,), tokens=tuple(words), line=number))
    return bags


def _meaning(intent: str, words: list[str], tags: list[str]) -> str:
    """The text of an intent and its slots; an I without a B begins a slot."""
    found: list[tuple[str, list[str]]] = []
    last = "O"
    for word, tag in zip(words, tags, strict=True):
        slot = tag[2:]
        if tag.startswith("I-") and found and last[2:] == slot:
            found[-1][1].append(word)
        elif tag != "O":
            found.append((slot, [word]))
        last = tag
    values: dict[str, list[str]] = {}
    for slot, its in found:
        values.setdefault(slot, []).append(json.dumps(" ".join(its), ensure_ascii=False))
    texts = {slot: its[0] if len(its) == 1 else f"[{', '.join(its)}]" for slot, its in values.items()}
    args = [f"{slot}={text}" for slot, text in texts.items()]
    return f"{intent}({', '.join(args)})" if args else intent
