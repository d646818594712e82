"""Word classes from raw text, in memory that does not grow with the text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from taggers.features.word_classes import Text, WordClasses, learn_classes
from taggers.formats._columns import Columns
from taggers.formats.files import read_columns

NAME = "text"  # of the classes in templates


def text_classes(
    files: Any,
    n_classes: int,
    *,
    columns: Columns | None = None,
    encoding: str = "utf-8",
    progress: Callable[[int], None] | None = None,
) -> tuple[WordClasses, list[tuple[str, int]]]:
    """The classes of the words in files of plain text, and these words with their counts.

    columns: sentences that belong to the text too. progress: called with the number of tokens so far.
    """
    with Text() as text:
        if columns is not None:
            text.add(columns)
        for file in _list(files):
            for part in read_columns(file, "text", encoding=encoding):
                text.add(part)
                if progress is not None:
                    progress(text.n_tokens)
        classes, words = learn_classes(text, n_classes, named=True)
        return classes, [(word, int(text.counts[text.ids[word]])) for word in words]


def _list(files: Any) -> Iterable[str | Path]:
    return [files] if isinstance(files, (str, Path)) else files
