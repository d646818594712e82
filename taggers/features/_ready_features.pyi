from collections.abc import Iterable

import numpy as np

from taggers.features._table import KeyTable
from taggers.formats._columns import Columns

def dict_rows(
    sentences: Iterable[Iterable[object]], table: KeyTable, *, grow: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]: ...
def item_rows(
    columns: Columns, table: KeyTable, *, grow: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]: ...
def number_rows(
    columns: Columns, column: int, offset: int, name: str, table: KeyTable, *, grow: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]: ...
