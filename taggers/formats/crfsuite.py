"""CRFsuite's format: a label and its features on each line, separated by tabs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from taggers.features._ready_features import item_rows
from taggers.formats._columns import Columns
from taggers.formats.columns import ColumnFormat

NAME = re.compile(r"(?:\\.|[^:])*", re.DOTALL)


class CrfsuiteFormat(ColumnFormat):
    """``label TAB name TAB name:value ...``; a backslash quotes a colon in a name."""

    name = "crfsuite"
    title = "CRFsuite's format"
    sign = "\t"
    label = 0
    replaces = True
    scores = ""
    ready = True
    n_columns = 1
    tabs = True
    open_ended = True

    def matches(self, head: Sequence[str]) -> bool:
        """All lines share the name of a feature, and most fields are features such as ``w[0]=dog``."""
        items = [line.split("\t")[1:] for line in head]
        names = [[item.partition("=")[0] for item in line if "=" in item[1:]] for line in items]
        shared = bool(head) and bool(set.intersection(*map(set, names)))
        return shared and 2 * sum(map(len, names)) >= sum(map(len, items))

    def features(
        self, columns: Columns, table: Any, *, grow: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        rows, token_ptr, values = item_rows(columns, table, grow=grow)
        return rows, token_ptr, values

    def feature_names(self, columns: Columns) -> Iterator[str]:
        for (start, length), end in zip(columns.spans[:, 0].tolist(), columns.ends.tolist(), strict=True):
            for item in columns.data[start + length : end].decode().split("\t"):
                name = NAME.match(item)
                if name and name[0]:
                    yield re.sub(r"\\(.)", r"\1", name[0], flags=re.DOTALL)


FORMAT = CrfsuiteFormat()
