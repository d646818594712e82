"""Reader of Jobs640: questions about jobs with FunQL meanings."""

from __future__ import annotations

import os
import re

from corpora.bags import Bag
from corpora.registry import find
from structsvm.files import DataError

_CONSTANT = re.compile(r"\bconst\(('[^']*'|[^()]*)\)")


def load_jobs(directory: str | os.PathLike[str] | None = None) -> tuple[list[Bag], list[Bag]]:
    """The 500 training and 140 test questions with their meanings.

    `const(java)` is read as `java`, and a parenthesis that one meaning lacks is added.
    """
    folder = find("jobs", directory)
    parts = []
    for name in ("train.tsv", "test.tsv"):
        bags = []
        for number, line in enumerate((folder / name).read_text(encoding="utf-8").splitlines(), 1):
            text, _, meaning = line.partition("\t")
            if not meaning.strip():
                raise DataError("has no meaning; download the file again", str(folder / name), number)
            meaning = _CONSTANT.sub(r"\1", meaning.strip())
            meaning += ")" * (meaning.count("(") - meaning.count(")"))
            bags.append(Bag(text.strip(), (meaning,), (meaning,), id=f"{name} {number}", line=number))
        parts.append(bags)
    return parts[0], parts[1]
