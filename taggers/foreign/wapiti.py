"""Wapiti's models (``#mdl#``): patterns, labels, the strings of features, and the weights that are not 0.

A pattern or string that begins with u has a weight for each label, one that begins with b for each pair of
labels, and one that begins with * has both.
"""

from __future__ import annotations

import re

import numpy as np

from taggers.features.template import parse_template
from taggers.foreign.templates import Cells, checked_labels, integer, model_of
from taggers.model import TaggerModel

MAGIC = b"#mdl#"
CRF = 2  # the type of a model; the others are for single labels
OUTSIDE = re.compile(r"_x([+-])([1-4#])")
FAR = 5  # _x-# and _x+# stand for this distance and more
COMMAND = re.compile(r"%(?!x\[[+-]?\d+,\d+\])")


class Lines:
    """The content of a file, read from its beginning."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def line(self, pattern: bytes) -> tuple[bytes, ...]:
        """The groups of the next line."""
        stop = self.data.find(b"\n", self.at)
        match = re.fullmatch(pattern, self.data[self.at : stop]) if stop >= 0 else None
        if match is None:
            raise ValueError(f"it is damaged at byte {self.at}")
        self.at = stop + 1
        return match.groups(b"")

    def strings(self, n: int) -> list[str]:
        """The next n strings, each after its length."""
        found = []
        for _ in range(n):
            colon = self.data.find(b":", self.at, self.at + 12)
            length = integer(self.data[self.at : colon].decode("latin-1")) if colon >= 0 else -1
            stop = colon + 1 + length
            if colon < 0 or self.data[stop : stop + 2] != b",\n":
                raise ValueError(f"it is damaged at byte {self.at}")
            try:
                found.append(self.data[colon + 1 : stop].decode())
            except UnicodeDecodeError:
                raise ValueError(f"the string at byte {self.at} is not UTF-8") from None
            self.at = stop + 2
        return found


def read(data: bytes) -> TaggerModel:
    """The model in the content of a file; ValueError for content that is damaged or of another kind."""
    file = Lines(data)
    kind, n_weights = map(int, file.line(rb"#mdl#(\d{1,3})#(\d{1,18})"))
    if kind != CRF:
        raise ValueError("its type is not crf; only conditional random fields are supported")
    n_patterns, ready = map(int, file.line(rb"#rdr#(\d{1,9})/\d{1,9}/([01])"))
    patterns = file.strings(n_patterns)
    labels = file.strings(int(file.line(rb"#qrk#(\d{1,18})")[0]))
    strings = file.strings(int(file.line(rb"#qrk#(\d{1,18})")[0]))
    cells = _cells(file, len(checked_labels(labels)), strings, n_weights)
    if ready or not patterns:
        raise ValueError("it has no patterns, so its features are in its data; train again with patterns")
    own = [f"U{pattern[1:]}" for pattern in patterns if _is_own(pattern)]
    template = parse_template("\n".join([*own, "B"]))
    return model_of(template, labels, [f"U{text[1:]}" for text in strings], cells, _outside)


def _is_own(pattern: str) -> bool:
    """Whether a pattern has weights for single labels; raise ValueError for patterns that we cannot use."""
    if COMMAND.search(pattern):
        raise ValueError(f"its pattern {pattern!r} has a command other than %x[offset,column]")
    if pattern[:1] not in ("u", "b", "*") or (pattern[0] != "u" and "%" in pattern):
        raise ValueError(f"its pattern {pattern!r} joins labels with words; train again with a plain b")
    return pattern[0] != "b"


def _cells(file: Lines, L: int, strings: list[str], n: int) -> Cells:
    """The next n weights, which are numbered in the order of the strings."""
    of_kind = {"u": L, "b": L * L, "*": L + L * L}
    sizes = np.array([of_kind.get(text[:1], 0) for text in strings], np.int64)
    ends = np.cumsum(sizes)
    places: list[int] = []
    values: list[float] = []
    for _ in range(n):
        place, value = file.line(rb"(\d{1,18})=(-?0x[0-9a-f.]{1,20}p[+-]\d{1,4})")
        places.append(int(place))
        values.append(float.fromhex(value.decode()))
    at = np.array(places, np.int64)
    number = np.searchsorted(ends, at, "right")
    if (number >= len(strings)).any() or not np.isfinite(values).all():
        raise ValueError("a weight belongs to no feature, or is not finite")
    pairs = np.array([L if text[:1] == "b" else 0 for text in strings], np.int64)
    start = ends - sizes
    return Cells(number, at - start[number] + pairs[number], np.array(values))


def _outside(text: str, furthest: int) -> list[int]:
    match = OUTSIDE.fullmatch(text)
    if match is None:
        return []
    sign = -1 if match[1] == "-" else 1
    return [sign * d for d in (range(FAR, furthest + 1) if match[2] == "#" else [int(match[2])])]
