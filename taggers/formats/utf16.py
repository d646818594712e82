"""Translate offsets between characters and UTF-16 units, as JavaScript counts."""

from __future__ import annotations

import re
from bisect import bisect_left

WIDE = re.compile("[\U00010000-\U0010ffff]")


class Offsets:
    """Translates offsets in characters of a text to UTF-16 units and back."""

    def __init__(self, text: str) -> None:
        self._wide = [found.start() for found in WIDE.finditer(text)]  # characters of two units
        self._units = [start + n for n, start in enumerate(self._wide)]  # where they begin

    def units(self, at: int) -> int:
        """The offset in UTF-16 units, from one in characters."""
        return at + bisect_left(self._wide, at)

    def characters(self, at: int) -> int:
        """The offset in characters, from one in UTF-16 units; inside of a character, where it begins."""
        return at - bisect_left(self._units, at)
