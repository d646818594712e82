import numpy as np

from taggers.features._table import KeyTable
from taggers.features.knowledge import Knowledge
from taggers.features.template import Template
from taggers.formats._columns import Columns

class Extractor:
    template: Template
    knowledge: Knowledge | None
    attributes: tuple[str, ...]
    document: tuple[str, ...]

    def __init__(
        self, template: Template, knowledge: Knowledge | None = None, *, lexicon_limit: int = 1_000_000
    ) -> None: ...
    def forget_words(self) -> None: ...
    @property
    def n_patterns(self) -> int: ...
    def rows(
        self,
        columns: Columns,
        table: KeyTable,
        *,
        grow: bool = False,
        fixed: bool = False,
        document: np.ndarray | None = None,
        start: int = 0,
        stop: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def keys(self, columns: Columns) -> np.ndarray: ...

def remap(rows: np.ndarray, token_ptr: np.ndarray, new_row: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...
def count_rows(counts: np.ndarray, rows: np.ndarray) -> None: ...
