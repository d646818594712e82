"""Damage bytes, lines, columns and encodings; forge model files with a checksum that fits."""

from __future__ import annotations

import gzip
import io
import json
import random
import re
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.files.persist import load_model, save_model

PIECES = [
    b"\0", b"\r\n", b"\r", b"\xef\xbb\xbf", "\u2028".encode(), b"\xff\xfe", b"\t", b" ", b"\n\n", b"_", b"#",
    b"-DOCSTART-", b"B-X", b"I-", b"O", b":", b"=", b"nan", b"-1", b"1e999", b"qid:1", b"(", b")", b",", b'"',
    b"\\", b"\x1b[31m", b"1-2", b"1.1", b"|", b"9" * 30, "é".encode()[:1], b"<script>", b"%", b"{", b"]",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2, 255, 2**31, 2**40, 10**40, -0.5, 1e308, float("nan"), "", "x", "none",
    "exact", "greedy", "w[0]", "rbf", "\ud800", "\n", [], [0], ["a", "a"], {}, {"a": 1}, [[[]]],
    3, 7, 1e-300, -1e308, 2**53, 10**9, "linear", "poly", "balanced", "larank", "perceptron", "\0",
    "x" * 10**5, "w[-99999999..99999999]",
    "y[-1]|w[0]", "cluster[0]", ["x"] * 300, [None], ["", ""], [[0, 0.5, 1]],
]  # fmt: skip

MOST = 1 << 24  # bytes; repeated pieces of repeated pieces would fill the memory of the fuzzer


def mutated(rng: random.Random, content: bytes) -> bytes:
    """The content after one to four changes, of which each leaves at most `MOST` bytes."""
    for _ in range(rng.randint(1, 4)):
        content = rng.choice(CHANGES)(rng, content)[:MOST]
    return _huge(rng, content) if rng.random() < 0.01 else content


def _flip(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]


def _insert(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(PIECES) * rng.choice((1, 1, 1, 2, 50)) + content[at:]


def _cut(rng: random.Random, content: bytes) -> bytes:
    first, last = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    return content[:first] + content[last:] if rng.random() < 0.7 else content[:first]


def _lines(rng: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    choice = rng.randrange(4)
    if choice == 0:
        lines[at], lines[other] = lines[other], lines[at]
    elif choice == 1:
        lines.insert(at, lines[other])
    elif choice == 2:
        del lines[at]
    else:
        lines[at] = lines[at] * rng.choice((2, 3, 400))
    return b"\n".join(lines)


def _columns(rng: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    separator = b"\t" if b"\t" in content else b" "
    for at in range(len(lines)) if rng.random() < 0.3 else [rng.randrange(len(lines))]:
        cells = lines[at].split(separator)
        choice = rng.randrange(3)
        if choice == 0:
            cells.insert(rng.randrange(len(cells) + 1), rng.choice(PIECES))
        elif choice == 1:
            cells.pop(rng.randrange(len(cells)))
        else:
            cells[rng.randrange(len(cells))] = rng.choice(PIECES)
        lines[at] = separator.join(cells)
    return b"\n".join(lines)


def _encoding(rng: random.Random, content: bytes) -> bytes:
    choice = rng.randrange(5)
    if choice == 0:
        return content.replace(b"\n", b"\r\n")
    if choice == 1:
        return b"\xef\xbb\xbf" + content
    if choice == 2:
        return content.decode("latin-1").encode("utf-16")
    if choice == 3:
        return gzip.compress(content, 1)[: rng.choice((None, 20, -4))]
    return content.decode("latin-1").encode()


def _huge(rng: random.Random, content: bytes) -> bytes:
    """A line, a cell or a sentence of up to a megabyte."""
    lines = content.split(b"\n")
    at, times = rng.randrange(len(lines)), rng.choice((1_000, 20_000))
    cells = lines[at].split(b"\t" if b"\t" in content else b" ")
    if rng.random() < 0.5:
        lines[at] = rng.choice(cells)[:20] * times
    else:
        lines[at:at] = [lines[at][:60]] * times
    return b"\n".join(lines)


def _repeat(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + content[at : at + 40] * rng.choice((3, 300, 3000)) + content[at:]


CHANGES = [_flip, _insert, _insert, _cut, _lines, _lines, _columns, _columns, _encoding, _repeat]


def damaged(rng: random.Random, content: bytes) -> bytes:
    """A model file with other bytes, under its old checksum or one that fits."""
    content = _flip(rng, content) if rng.random() < 0.6 else _cut(rng, content)
    if rng.random() < 0.5 and len(content) > 8:
        content = content[:-8] + b"%08x" % zlib.crc32(content[:-8])
    return content


def forge(rng: random.Random, source: Path, target: Path, other: Path) -> None:
    """Write a model whose JSON or arrays are not what was saved, with a right checksum.

    Parts may come from another model.
    """
    arrays, meta = load_model(source)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        choice = rng.random()
        if choice < 0.03:
            _grow(rng, arrays, meta)
        elif choice < 0.05:
            _mix(rng, arrays, meta, *load_model(other))
        elif arrays and choice < 0.5:
            name = rng.choice(sorted(arrays))
            changed = _array(rng, arrays[name])
            if changed is None:
                del arrays[name]
            else:
                arrays[name] = changed
        else:
            meta = changed_json(rng, meta)
    try:
        save_model(target, arrays, meta)
    except (TypeError, ValueError):  # what no writer of ours could have written either
        save_model(target, load_model(source)[0], {"kind": rng.choice(VALUES[:20])})


def _grow(rng: random.Random, arrays: dict[str, Any], meta: dict[str, Any]) -> None:
    """Add thousands of labels, classes or words, and places for them in an array."""
    more = rng.choice((300, 3_000, 9_000))
    for values in meta.values():
        if isinstance(values, list) and values and isinstance(values[0], str):
            values += [f"{rng.choice(('', 'B-', 'I-'))}{number}" for number in range(more)]
    if "classes" in arrays and arrays["classes"].dtype.kind == "i":
        arrays["classes"] = np.arange(more)
    name = rng.choice(sorted(arrays)) if rng.random() < 0.3 or "counts" not in arrays else "counts"
    if arrays[name].ndim:
        zeros = np.zeros((more, *arrays[name].shape[1:]), arrays[name].dtype)
        arrays[name] = np.concatenate([zeros, arrays[name]])


def _mix(
    rng: random.Random,
    arrays: dict[str, Any],
    meta: dict[str, Any],
    more: dict[str, Any],
    text: dict[str, Any],
) -> None:
    """Take an array, or a part of the JSON, from another model."""
    if more and rng.random() < 0.5:
        name = rng.choice(sorted(more))
        arrays[name] = more[name]
    else:
        name = rng.choice(sorted(text.keys() - {"kind", "estimator"}))
        meta[name] = text[name]


def tricked(rng: random.Random, source: Path, target: Path) -> None:
    """Write the members of a model as a zip that `save_model` would not write, with a right checksum."""
    with zipfile.ZipFile(source) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    choice, at = rng.randrange(6), rng.randrange(len(members))
    method = zipfile.ZIP_STORED
    if choice == 0:
        members.insert(rng.randrange(1, len(members) + 1), members[at])  # twice the same name
    elif choice == 1:
        evil = rng.choice(["/etc/x.npy", "../x.npy", "a/../../x.npy", "C:\\x.npy", "\0.npy", "é.npy", ".npy"])
        members.append((evil, members[at][1]))
    elif choice == 2:
        method = rng.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    elif choice == 3:
        members[at] = (members[at][0], b"\0" * 30_000_000)
        method = zipfile.ZIP_DEFLATED  # a bomb
    elif choice == 4:
        rng.shuffle(members)
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w") as archive:
        warnings.simplefilter("ignore")
        archive.comment = b"structsvm crc32 00000000"
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=method)
    content = bytearray(made.getvalue())
    if choice == 5:  # two entries for the bytes of one member, or sizes and offsets that lie
        entries = [found.start() for found in re.finditer(b"PK\x01\x02", content)]
        entry = rng.choice(entries)
        field = rng.choice([(20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (42, 4), (8, 2), (10, 2)])
        start = entry + field[0]
        donor = rng.choice(entries) + field[0]
        lie = rng.randbytes(field[1]) if rng.random() < 0.5 else content[donor : donor + field[1]]
        content[start : start + field[1]] = lie
    content[-8:] = b"%08x" % zlib.crc32(content[:-8])
    target.write_bytes(content)


def _array(rng: random.Random, array: np.ndarray) -> np.ndarray | None:
    choice = rng.randrange(8)
    if choice == 0:
        return None
    if choice == 1:
        return array[: rng.randrange(len(array) + 1)] if array.ndim else array.reshape(1)
    if choice == 2:
        return np.concatenate([array, array]) if array.ndim else array
    if choice == 3:
        kinds = ["f4", "f8", "i4", "i8", "u1", "u2", "U3"] if array.dtype.kind in "iufb" else ["U1", "S9"]
        with np.errstate(all="ignore"):
            return array.astype(rng.choice(kinds))
    if choice == 4:
        return array.reshape(-1, 1) if rng.random() < 0.5 else array.reshape(1, *array.shape)
    if not array.size or array.dtype.kind not in "iufb":
        return array[:0] if array.ndim else array
    flat = array.copy().reshape(-1)
    extremes = [0, 1, -1, 2, 127, 255, 65535, 2**31 - 1, -(2**31), 2**62, len(flat), len(flat) + 1]
    if array.dtype.kind == "f":
        extremes += [np.nan, np.inf, -np.inf, 1e300, 0.5]  # type: ignore[list-item]
    for _ in range(rng.choice((1, 1, 3))):
        with np.errstate(all="ignore"):
            value = np.array([rng.choice(extremes)]).astype(flat.dtype)
            at = rng.choice((0, len(flat) - 1, rng.randrange(len(flat))))
            flat[at] = value[0] if rng.random() < 0.7 else flat[rng.randrange(len(flat))]
    return flat.reshape(array.shape)


def changed_json(rng: random.Random, value: Any) -> Any:
    """A copy with one value changed, removed or repeated."""
    value = json.loads(json.dumps(value))
    node = value
    while isinstance(node, (dict, list)) and node:
        key = rng.choice(sorted(node)) if isinstance(node, dict) else rng.randrange(len(node))
        inner = node[key]
        if isinstance(inner, (dict, list)) and inner and rng.random() < 0.7:
            node = inner
            continue
        choice = rng.randrange(5)
        if choice == 0:
            del node[key]
        elif choice == 1 and isinstance(node, list):
            node.insert(key, inner)
        else:
            node[key] = rng.choice(VALUES)
        break
    return value
