"""CRF++'s text models (``crf_learn -t``): labels, a template, the strings of features, and their weights.

The parts of the file are separated by empty lines. A feature that begins with U has a weight for each label,
one that begins with B for each pair of labels.
"""

from __future__ import annotations

import re

import numpy as np

from taggers.features.template import parse_template
from taggers.foreign.templates import Cells, checked_labels, integer, model_of
from taggers.model import TaggerModel

MAGIC = b"version: "
VERSION = "100"
HEADER = ("version", "cost-factor", "maxid", "xsize")
OUTSIDE = re.compile(r"_B([+-])([1-9]\d?)")


def read(data: bytes) -> TaggerModel:
    """The model in the content of a file; ValueError for content that is damaged or of another kind."""
    head, labels, patterns, features, weights = _parts(data)
    header = dict(line.partition(": ")[::2] for line in head)
    if tuple(header) != HEADER:
        raise ValueError(f"its header has the fields {', '.join(header)[:80]!r}, not {', '.join(HEADER)}")
    if header["version"] != VERSION:
        raise ValueError(f"its version is {header['version'][:20]}, but only {VERSION} is supported")
    if header["cost-factor"] != "1":
        raise ValueError(f"its cost-factor is {header['cost-factor'][:20]}, but only 1 is supported")
    if integer(header["maxid"]) != len(weights):
        raise ValueError(f"it has {len(weights)} weights instead of {header['maxid']}")
    template = parse_template("\n".join(patterns))
    if template.bigrams:
        raise ValueError(
            f"its pattern {template.bigrams[0].text!r} joins labels with words; train again with a plain B"
        )
    L, theta = len(checked_labels(labels)), np.array(list(map(float, weights)))
    if not np.isfinite(theta).all():
        raise ValueError("a weight is not finite")
    split = [line.partition(" ")[::2] for line in features]
    first = np.array([integer(place) for place, _ in split], np.int64)
    strings = [text for _, text in split]
    pairs = np.array([text.startswith("B") for text in strings], bool)
    sizes = np.where(pairs, L * L, L)
    if (first + sizes > len(theta)).any() or sizes.sum() > len(theta):
        raise ValueError("the weights of its features do not exist, or overlap")
    number = np.repeat(np.arange(len(strings)), sizes)
    within = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    cells = Cells(number, within + L * pairs[number], theta[first[number] + within])
    return model_of(template, labels, strings, cells, _outside)


def _parts(data: bytes) -> list[list[str]]:
    """The lines of the five parts."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError("it is not UTF-8; convert it, and use UTF-8 data with it") from error
    parts = [part.split("\n") if part else [] for part in text.rstrip("\n").split("\n\n", 4)]
    if len(parts) != 5:
        raise ValueError(f"it has {len(parts)} parts instead of 5")
    return parts


def _outside(text: str, furthest: int) -> list[int]:
    match = OUTSIDE.fullmatch(text)
    return [int(match[1] + match[2])] if match else []
