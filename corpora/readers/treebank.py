"""Trees in Penn Treebank's brackets, as nested tuples: ("S", ("NP", "DT", "NN"), ("VP", "VBZ"))."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpora.registry import find
from structsvm.files import DataError

EMPTY = "-NONE-"  # the tag of traces, which no word stands for
Tree = Any  # str, or a tuple of a label and trees


def read_trees(text: str, *, file: str = "") -> Iterator[Tree]:
    """Read bracketed trees, one after the other: (S (NP (DT the) (NN cat)) (VP (VBZ sleeps))).

    A bracket without a label around a whole tree, as in the Penn Treebank, is removed.
    """
    stack: list[tuple[list[Any], int]] = []  # open brackets, and their lines
    for number, line in enumerate(text.splitlines(), 1):
        for token in re.findall(r"[()]|[^\s()]+", line):
            if token == "(":
                stack.append(([], number))
            elif not stack:
                what = "a bracket is closed that was not opened" if token == ")" else f"{token!r} is outside"
                raise DataError(f"{what}; write trees as in (NP (DT the) (NN cat))", file, number)
            elif token != ")":
                stack[-1][0].append(token)
            else:
                node = whole(stack.pop()[0], not stack, file, number)
                if stack:
                    stack[-1][0].append(node)
                else:
                    yield node
    if stack:
        raise DataError("this bracket is not closed", file, stack[-1][1])


def whole(parts: list[Any], outermost: bool, file: str, line: int) -> Tree:
    """A bracket as a node."""
    if outermost and len(parts) == 1 and isinstance(parts[0], tuple):
        return parts[0]
    if len(parts) < 2 or not isinstance(parts[0], str):
        raise DataError("a bracket needs a label and at least one child", file, line)
    return tuple(parts)


def skeleton(tree: Tree) -> Tree | None:
    """The tree with tags instead of words, without traces, functions (NP-SBJ) and repeated labels."""
    label, *children = tree
    if len(children) == 1 and isinstance(children[0], str):
        return None if label == EMPTY else label
    kept = [child for child in map(skeleton, children) if child is not None]
    if not kept:
        return None
    label = re.split(r"[-=|]", label)[0] or label
    if len(kept) == 1 and not isinstance(kept[0], str) and kept[0][0] == label:
        return kept[0]
    return (label, *kept)


def load_treebank(
    directory: str | os.PathLike[str] | None = None, *, max_length: int | None = None
) -> list[Tree]:
    """The parsed sample of the Penn Treebank, with tags instead of words, up to max_length tags."""
    trees = []
    for path in sorted((find("treebank_sample", directory) / "combined").glob("*.mrg")):
        for tree in read_trees(Path(path).read_text(encoding="latin-1"), file=str(path)):
            bare = skeleton(tree)
            if isinstance(bare, tuple) and (max_length is None or n_leaves(bare) <= max_length):
                trees.append(bare)
    return trees


def n_leaves(tree: Tree) -> int:
    """The number of words (or of tags in their place) in a tree."""
    return 1 if isinstance(tree, str) else sum(map(n_leaves, tree[1:]))
