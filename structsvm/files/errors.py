"""The error for wrong input data, with the place where it was found."""

from __future__ import annotations


def one_line(text: str) -> str:
    """Escape line ends and control characters, because data can put any character into a message."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class DataError(ValueError):
    """Wrong input data, reported as ``file:line: what is wrong; what to do``."""

    def __init__(self, what: str, file: str = "", line: int = 0) -> None:
        place = f"{file or '<input>'}:{line}: " if line else f"{file}: " if file else ""
        super().__init__(one_line(place + what))
        self.what = what
        self.file = file
        self.line = line

    def __reduce__(self) -> tuple[type[DataError], tuple[str, str, int]]:
        return type(self), (self.what, self.file, self.line)
