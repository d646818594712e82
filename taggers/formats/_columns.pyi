from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from taggers.formats.base import Format

def count_lines(data: bytes, end: int | None = None) -> int: ...
def look(data: bytes, format: Format, separator: str | None = None, *, name: str = "") -> tuple[str, int]: ...

class Columns:
    data: bytes
    name: str
    format: Format
    separator: str
    wanted: tuple[int, ...]
    width: int
    n_columns: int
    n_tokens: int
    n_sentences: int
    first_line: int
    spans: np.ndarray
    ends: np.ndarray
    lines: np.ndarray
    sentence_ptr: np.ndarray
    keys: np.ndarray | None
    strings: Callable[[int], str] | None
    documents: np.ndarray | None
    origin: list[Any] | None
    own: list[list[Any]] | None
    def __init__(
        self,
        data: bytes,
        wanted: Sequence[int] = (0,),
        *,
        format: Format | str = "columns",
        separator: str | None = None,
        name: str = "",
        first_line: int = 1,
        n_columns: int = 0,
    ) -> None: ...
    @staticmethod
    def from_sentences(
        sentences: Sequence[Sequence[str | tuple[str, ...]]], *, name: str = "<memory>"
    ) -> Columns: ...
    @staticmethod
    def from_keys(
        keys: np.ndarray, sentence_ptr: np.ndarray, strings: Callable[[int], str], *, name: str = "<memory>"
    ) -> Columns: ...
    @staticmethod
    def from_spans(
        data: bytes,
        spans: npt.ArrayLike,
        ends: npt.ArrayLike,
        lines: npt.ArrayLike,
        sentence_ptr: npt.ArrayLike,
        *,
        format: Format,
        wanted: Sequence[int] = (0,),
        n_columns: int,
        separator: str = " ",
        name: str = "",
        first_line: int = 1,
    ) -> Columns: ...
    @staticmethod
    def joined(parts: Sequence[Columns]) -> Columns: ...
    def line(self, token: int) -> int: ...
    def text(self, token: int, column: int = 0) -> str: ...
    def texts(self, column: int = 0) -> list[str]: ...
    def sentences(self, column: int = 0) -> list[list[str]]: ...
    def labels(self, column: int = 0) -> list[list[str]]: ...
    def __len__(self) -> int: ...
