"""The interface of a file format: recognise it, read it and write labels back into it.

To add a format, write one module with a subclass of `Format` and an instance of it called `FORMAT`, and add
the module's name to `taggers.formats.NAMES`. Nothing else in the project compares formats by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from taggers.formats._scan import find_last_boundary
from taggers.labels import schemes

if TYPE_CHECKING:
    import numpy as np

    from taggers.features._table import KeyTable
    from taggers.formats._columns import Columns
    from taggers.formats.files import Opened


class FileColumns(TypedDict, total=False):
    """The format and columns of the training file of a model, which says how other files are read.

    inputs, label: the columns of the inputs and of the labels (the first one of several), counted from 0.
    parts: the names of several label columns. header: of the label column in a table.
    """

    format: str
    inputs: list[int]
    label: int
    n_columns: int
    parts: list[str]
    header: str
    task: str


class Layer(NamedTuple):
    """One column of labels to write.

    ids: int32, for each token its label's index in `names`; -1 keeps the column, or appends ``_``.
    column: the index, among the columns that were read, of the one to replace; None appends a column.
    scores: float64, a number for each token to write after the label; None writes none.
    """

    ids: np.ndarray
    names: Sequence[str]
    column: int | None = None
    scores: np.ndarray | None = None


class Format(ABC):
    """A file format. Instances have no state; one object serves all files.

    name: what ``--format`` and model files call it.
    title: what messages call it.
    sign: a string that the first lines of every such file contain; detection skips the format without it.
    names: the names of the columns, where the format defines them.
    n_columns: how many columns each line has; 0 if the first line of a file decides.
    words: the column of words.
    label: the label column that training uses by default; -1 is the last column.
    replaces: labels always replace the label column; otherwise they are appended unless the user asks for
        replacement. N-best labels can only be appended.
    scores: where scores go: "columns" appends them, "misc" writes ``Margin=`` into the last column,
        "records" writes them with the labels, "" means that the format has no room for them.
    ready: lines hold features instead of words, and `features` returns them.
    gaps: cells of the label column that mean "no gold label"; a hyphen only among labels of phrases.
    documents: a ``-DOCSTART-`` line separates documents.
    block: the most bytes that a sentence (a line, for text) may have.
    """

    name: str
    title: str
    sign: str = ""
    names: tuple[str, ...] = ()
    n_columns: int = 0
    words: int = 0
    label: int = -1
    replaces: bool = False
    scores: str = "columns"
    ready: bool = False
    gaps: tuple[str, ...] = ()
    documents: bool = False
    block: int = 64 << 20

    @abstractmethod
    def matches(self, head: Sequence[str]) -> bool:
        """Return whether the first lines of a file, without blank ones, look like this format."""

    @abstractmethod
    def read(self, opened: Opened, wanted: Sequence[int]) -> Iterator[Columns]:
        """Find the tokens of each of the `opened.blocks()`, and keep the wanted columns (-1 is the last)."""

    @abstractmethod
    def write(self, columns: Columns, layers: Sequence[Layer]) -> bytes:
        """Return the bytes that were read, with labels; keep every other byte."""

    def of_file(self, head: Sequence[str]) -> Format:
        """Return the format of a file with these first lines: this one, or one that knows its columns."""
        return self

    def of_model(self, files: FileColumns) -> Format:
        """Return the format for a model whose training file is described by `files`."""
        return self

    def column(self, name: str) -> int:
        """Return the number of a column that a user names or counts from 0; -1 is the last one."""
        if name.lower() in self.names:
            return self.names.index(name.lower())
        try:
            return int(name)
        except ValueError:
            from structsvm.validation import meant  # with numpy: only for the error

            known = f" or one of {', '.join(self.names)}" if self.names else f" for {self.title}"
            raise ValueError(
                f"column must be a number (0 is the first, -1 the last){known}, got {name!r}"
                f"{meant(name, self.names)}"
            ) from None

    def choose(self, name: str) -> tuple[Format, int]:
        """Return the format for a file whose label column a user names or counts, and its number."""
        return self, self.column(name)

    def own_label(self, name: str) -> int:
        """Return the label column by default, or raise DataError if it is not clear; name: of the file."""
        return self.label

    # cut(data, start) returns where the last complete sentence ends, if after `start`; otherwise 0.
    cut: Callable[[bytes, int], int] = staticmethod(find_last_boundary)

    def label_elsewhere(self, name: str) -> int:
        """Return the label column for a model that was trained on another format, or raise DataError."""
        return self.label

    def missing(self, column: int) -> str | None:
        """Return the value that means "no gold label" in a column, if there is one."""
        return None

    def labels(self, values: Sequence[str], column: int) -> list[str]:
        """Return the labels in some values of a column; `write` puts them there.

        Labels of phrases get their usual names: PER-B and B_PER become B-PER.
        """
        usual = schemes.respelled(set(values))
        return [usual.get(value, value) for value in values] if usual else list(values)

    def column_name(self, column: int) -> str:
        """Return what messages call a column."""
        return self.names[column] if self.names else f"{column} (counted from 0)"

    def features(
        self, columns: Columns, table: KeyTable, *, grow: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the rows, token_ptr and values of ready features (values: None if all are 1).

        table: the `KeyTable` from features to rows; with `grow`, new features get new rows.
        """
        raise ValueError(f"files of the format {self.name} hold words, not features")

    def feature_names(self, columns: Columns) -> Iterator[str]:
        """Return the names of ready features, as their keys are computed from them."""
        return iter(())


class Memory(Format):
    """Sentences that Python code passed in; they belong to no file."""

    name = "memory"
    title = "data in memory"

    def matches(self, head: Sequence[str]) -> bool:
        return False

    def read(self, opened: Opened, wanted: Sequence[int]) -> Iterator[Columns]:
        raise ValueError("data in memory cannot be read from a file")

    def write(self, columns: Columns, layers: Sequence[Layer]) -> bytes:
        raise ValueError("these columns were not read from a file, so no file can be written")


MEMORY = Memory()
