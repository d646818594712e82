"""Labels made of parts, such as a part of speech and features, that share the weights of their parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class LabelParts:
    """The parts of each label, as numbers from 0; no two labels have the same parts.

    `ids[ptr[y]:ptr[y + 1]]` are the parts of label y, in order. Labels are also nodes of a tree: node n is
    its parent with part `part[n]` added, and label y is node `node[y]`. Adding up the scores of all labels
    takes one addition for each node, and most labels share their first nodes.
    """

    def __init__(self, parts: Sequence[Sequence[int]]) -> None:
        lists = [sorted(set(one)) for one in parts]
        if not all(lists) or min(one[0] for one in lists) < 0:
            raise ValueError("a label must have at least one part, and parts are numbers from 0")
        if len(set(map(tuple, lists))) < len(lists):
            raise ValueError("two labels have the same parts")
        self.n_labels = len(lists)
        self.n_parts = 1 + max(one[-1] for one in lists)
        self.longest = max(map(len, lists))
        self.ptr = np.cumsum([0, *map(len, lists)], dtype=np.int32)
        self.ids = np.concatenate(lists).astype(np.int32)
        nodes: dict[tuple[int, ...], int] = {(): -1}
        parents: list[tuple[int, int]] = []
        for one in sorted(map(tuple, lists)):
            for end in range(1, len(one) + 1):
                if one[:end] not in nodes:
                    nodes[one[:end]] = len(parents)
                    parents.append((nodes[one[: end - 1]], one[end - 1]))
        self.parent, self.part = np.array(parents, np.int32).T.copy()
        self.node = np.array([nodes[tuple(one)] for one in lists], np.int32)

    def lists(self) -> list[list[int]]:
        """The parts of each label."""
        return [one.tolist() for one in np.split(self.ids, self.ptr[1:-1])]
