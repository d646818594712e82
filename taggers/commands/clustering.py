"""`structsvm classes`: from raw text to a file of word classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from structsvm.files.atomic import atomic_write, check_output
from structsvm.files.errors import DataError
from structsvm.files.inputs import file_name
from taggers.features.class_files import text_classes


def classes(
    files: Sequence[str | Path],
    output: str | Path,
    *,
    n_classes: int = 500,
    encoding: str = "utf-8",
    progress: Callable[[int], None] | None = None,
) -> dict[str, int]:
    """Learn word classes from files of plain text, write them, and return how many there are.

    Parameters
    ----------
    progress
        Called with the number of tokens read so far.
    """
    check_output(output, *files)
    tokens = 0

    def count(so_far: int) -> None:
        nonlocal tokens
        tokens = so_far
        if progress is not None:
            progress(so_far)

    found, words = text_classes(files, n_classes, encoding=encoding, progress=count)
    if not words:
        raise DataError("too little text to learn word classes from; give more of it", file_name(files[0]))
    with atomic_write(output) as out:
        for (word, seen), number in zip(words, found.numbers.tolist(), strict=True):
            out.write(f"{found.names[number]}\t{word}\t{seen}\n".encode())
    return {"words": len(words), "classes": len(set(found.numbers.tolist())), "tokens": tokens}
