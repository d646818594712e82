"""Labels that join the values of several columns, and the parts whose weights such labels share.

The label ``NOUN<tab>Case=Nom|Number=Sing`` has the values NOUN and Case=Nom|Number=Sing of two columns. Its
parts are NOUN, Case=Nom and Number=Sing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from structsvm.problems.sequence.label_parts import LabelParts

JOINT = "\t"  # never part of a column's value


def values(label: str, n: int) -> list[str]:
    """The values of the n columns that a label joins; older models join two of them by ``|``.

    >>> values("NOUN\tNN\t_", 3), values("NOUN|NN", 2)
    (['NOUN', 'NN', '_'], ['NOUN', 'NN'])
    """
    return label.split(JOINT) if n == 1 or JOINT in label else label.split("|", n - 1)


def part_names(label: str) -> list[str]:
    """The parts of a label, each with the number of its column.

    >>> part_names("NOUN\\tCase=Nom|Number=Sing")
    ['0 NOUN', '1 Case=Nom', '1 Number=Sing']
    """
    values = enumerate(label.split(JOINT))
    return [f"{column} {part}" for column, value in values for part in value.split("|")]


def all_parts(labels: Iterable[str]) -> list[str]:
    """The different parts of labels, in the order of their first use."""
    return list(dict.fromkeys(part for label in labels for part in part_names(label)))


@lru_cache(maxsize=16)
def label_parts(labels: tuple[str, ...]) -> LabelParts:
    """The parts of labels as numbers, their positions in `all_parts`."""
    number = {part: k for k, part in enumerate(all_parts(labels))}
    return LabelParts([[number[part] for part in part_names(label)] for label in labels])
