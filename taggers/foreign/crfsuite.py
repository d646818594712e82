"""CRFsuite's binary models (``lCRF``): labels, attributes, and a weight for each feature.

A file has a header, a list of features, two databases of strings (labels and attributes) and lists of the
features of each label and attribute. The last ones follow from the features, so they are not read. Numbers
are little-endian; offsets count from the beginning of the file, in a database from its own beginning.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from taggers.features.extract import KeyTable, encode_dicts
from taggers.features.space import FeatureSpace
from taggers.foreign.weights import weight_rows
from taggers.labels.space import LabelSpace
from taggers.model import TaggerModel

MAGIC = b"lCRF"
HEADER = struct.Struct("<4sI4sI8I")
DATABASE = struct.Struct("<4s5I")
CHUNK = struct.Struct("<4s2I")
RECORD = struct.Struct("<iI")
KIND, VERSION, BYTE_ORDER = b"FOMC", 100, 0x62445371
FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
STATE, TRANSITION = 0, 1


def read(data: bytes) -> TaggerModel:
    """The model in the content of a file; ValueError for content that is damaged or of another kind."""
    if len(data) < HEADER.size:
        raise ValueError("it ends within its header")
    magic, size, kind, version, _, n_labels, n_attributes, *offsets = HEADER.unpack_from(data)
    if magic != MAGIC or kind != KIND:
        raise ValueError(f"its kind is {kind!r}, but only {KIND!r} is supported")
    if version != VERSION:
        raise ValueError(f"its version is {version}, but only {VERSION} is supported")
    if size != len(data):
        raise ValueError(f"it has {len(data)} bytes instead of {size}")
    features = _features(data, offsets[0])
    labels = [_text(name) for name in _strings(data, offsets[1], n_labels, "label")]
    names = _strings(data, offsets[2], n_attributes, "attribute")
    state, transition = features["type"] == STATE, features["type"] == TRANSITION
    if not (state | transition).all():
        raise ValueError("a feature is of an unknown type")
    if (features["label"] >= n_labels).any():
        raise ValueError("a feature has a label that does not exist")
    sources = np.where(state, n_attributes, n_labels)
    if (features["source"] >= sources).any():
        raise ValueError("a feature has a source that does not exist")
    table = KeyTable()
    attributes: Any = names  # as bytes, which need not be UTF-8
    rows = encode_dicts([[attributes]], table, grow=True).rows
    if len(rows) != len(names):
        raise ValueError(f"its {len(names)} attributes are read as {len(rows)} features")
    row_of = features["source"].astype(np.int64)
    row_of[state] = rows[row_of[state]] + n_labels + 1
    weights = weight_rows(row_of, features["label"], features["weight"], n_labels, n_labels + 1 + len(table))
    known: list[str | None] = [None] * len(table)
    for row, name in zip(rows.tolist(), names, strict=True):
        known[row] = name.decode("utf-8", "replace")
    return TaggerModel(
        FeatureSpace(table=table, names=known), LabelSpace(tuple(labels)), weights, likelihood=True
    )


def _features(data: bytes, offset: int) -> np.ndarray:
    """The features, as an array of FEATURE."""
    kind, size, n = _header(CHUNK, data, offset)
    start = offset + CHUNK.size
    if kind != b"FEAT" or start + n * FEATURE.itemsize > len(data) or size < n * FEATURE.itemsize:
        raise ValueError(f"its list of {n} features is damaged")
    return np.frombuffer(data, FEATURE, n, start)


def _strings(data: bytes, offset: int, n: int, what: str) -> list[bytes]:
    """The strings of a database, by their numbers."""
    kind, size, _, order, n_offsets, backward = _header(DATABASE, data, offset)
    end = offset + size
    if kind != b"CQDB" or order != BYTE_ORDER or end > len(data):
        raise ValueError(f"its {what}s are damaged")
    if n != n_offsets or backward + 4 * n > size:
        raise ValueError(f"it has {n_offsets} {what}s instead of {n}, or their list is damaged")
    found = []
    room = size  # records may not overlap: together, they could ask for the square of the size of the file
    for number, place in enumerate(np.frombuffer(data, "<u4", n, offset + backward).tolist()):
        at = offset + place
        if at + RECORD.size > end:
            raise ValueError(f"{what} {number} lies outside the file")
        own, length = RECORD.unpack_from(data, at)
        at += RECORD.size
        if own != number or not 0 < length <= end - at or data[at + length - 1]:
            raise ValueError(f"{what} {number} is damaged")
        if (room := room - RECORD.size - length) < 0:
            raise ValueError(f"{what} {number} overlaps another one")
        found.append(data[at : at + length - 1])
    return found


def _header(layout: struct.Struct, data: bytes, offset: int) -> tuple[Any, ...]:
    """The values at the beginning of a part of the file."""
    if offset + layout.size > len(data):
        raise ValueError("a part lies outside the file")
    return layout.unpack_from(data, offset)


def _text(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        raise ValueError(f"the label {name!r} is not UTF-8") from None
