"""Model files: arrays and a JSON text in one file, which is read without executing code.

The file is an uncompressed `.npz` that `numpy.load` also reads: a zip of

    structsvm.json    first: the keys magic ("structsvm"), format (1), library (its version), arrays, meta
    <name>.npy        each array, in order of the names, its data at a multiple of 64 bytes of the file

and the archive comment `structsvm crc32 xxxxxxxx`, the CRC of every byte before those eight digits. The first
member's name and the comment are the same in all formats, so a damaged file can be distinguished from a newer
format. CRC-32 detects accidental damage; it checks 10 MB in 3 ms, SHA-256 in 6 ms, blake2b in 12 ms. Loading
never executes anything. A forged file can contain any numbers, so the caller must check that they are
consistent.

A file is read into memory, never mapped: a mapped model that another program overwrites or truncates would
change under the process that uses it, or kill it. Reading takes about a millisecond per megabyte, including
the checksum.
"""

import contextlib
import errno
import io
import json
import math
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from structsvm.files.atomic import atomic_write
from structsvm.files.errors import one_line

FORMAT = 1
MAGIC = "structsvm"
JSON_NAME = "structsvm.json"
ALIGNMENT = 64
LONGEST_MESSAGE = 1000  # a forged file may put anything where a message quotes it

_LOCAL_HEADER = struct.Struct("<26xHH")  # lengths of the name and of the extra field, which follow it
_HEAD = re.compile(rb"PK\x03\x04.{26}structsvm\.json", re.DOTALL)
_TAIL = re.compile(rb"structsvm crc32 ([0-9a-f]{8})")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_HEAD_SIZE = _LOCAL_HEADER.size + len(JSON_NAME)
_TAIL_SIZE = len("structsvm crc32 ") + 8
_ZIP64_EXTRA = 20  # what zipfile appends to the extra field under force_zip64
_ALIGNMENT_EXTRA_ID = 0xD935  # the id Android's zipalign registered for the purpose

_FOREIGN = "is not a structsvm model; use a file written by structsvm."
_DAMAGED = "is damaged or incomplete; copy it again, or retrain the model."


class ModelFileError(ValueError):
    """A model file cannot be used; the message names the file and says what to do, in one short line."""

    def __init__(self, message: str) -> None:
        line = one_line(message)
        super().__init__(line if len(line) <= LONGEST_MESSAGE else f"{line[:400]} ... {line[-200:]}")


@contextlib.contextmanager
def consistent(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Raise ModelFileError for every error that the content of a file causes."""
    try:
        yield
    except ModelFileError:
        raise  # of a part of the file
    except Exception as error:
        reason = " ".join(str(error).split())
        raise ModelFileError(
            f"Model file {path} does not contain a consistent {what} ({reason}); retrain the model."
        ) from error


def save_model(
    path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]
) -> None:
    """Write arrays and a JSON-serialisable dictionary to one file, completely or not at all.

    The file appears under its name only when it is complete and flushed to disk. If writing fails (OSError
    for a full disk, KeyboardInterrupt), an existing file stays and no temporary file remains. Equal content
    gives equal bytes: keys of `meta` are sorted, arrays are in C order, timestamps are fixed. Array names
    consist of letters, digits and `_.-`; arrays of Python objects are rejected.
    """
    content = {name: np.asarray(arrays[name], order="C") for name in sorted(arrays)}
    for name, array in content.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"Array name {name!r} must consist of letters, digits and _ . - only.")
        if array.dtype.hasobject or not array.dtype.itemsize:
            raise ValueError(f"Array {name!r} must contain numbers or text of fixed size, got {array.dtype}.")
    description = {"magic": MAGIC, "format": FORMAT, "library": _library_version(), "arrays": list(content)}
    description["meta"] = dict(meta)
    text = json.dumps(description, sort_keys=True, default=_plain).encode("ascii")

    target = Path(os.path.realpath(path))  # so that a link stays a link
    if target.exists() and not target.is_file():
        raise OSError(f"{path} exists and is not a regular file; save the model under another name.")
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "No such directory", str(target.parent))
    with atomic_write(target, compress=False) as stream:
        _write(stream, text, content)


def load_model(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read a file of `save_model`; raise ModelFileError for any other content.

    The arrays are writable and share one buffer in memory; later changes to the file do not affect them.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ModelFileError("is not a regular file; use a model written by structsvm.")
        with open(path, "rb") as stream:
            return _load(stream)
    except ModelFileError as error:
        raise ModelFileError(f"Model file {path} {error}") from None
    except FileNotFoundError:
        raise ModelFileError(f"Model file {path} does not exist; check its name.") from None
    except OSError as error:
        raise ModelFileError(f"Model file {path} cannot be read: {error.strerror or error}.") from None
    except Exception as error:  # whatever zipfile, json and numpy make of bytes that are not ours
        raise ModelFileError(f"Model file {path} {_DAMAGED}") from error


def _write(stream: BinaryIO, text: bytes, arrays: Mapping[str, np.ndarray]) -> None:
    with zipfile.ZipFile(stream, "w") as archive:
        with archive.open(_member(JSON_NAME), "w", force_zip64=True) as member:
            member.write(text)
        for name, array in arrays.items():
            with archive.open(_member(f"{name}.npy", stream.tell()), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
        archive.comment = b"structsvm crc32 00000000"
    stream.seek(0)
    checksum = 0
    left = os.fstat(stream.fileno()).st_size - 8
    while left:
        block = stream.read(min(left, 1 << 20))
        checksum = zlib.crc32(block, checksum)
        left -= len(block)
    stream.seek(-8, os.SEEK_END)
    stream.write(b"%08x" % checksum)


def _member(name: str, offset: int | None = None) -> zipfile.ZipInfo:
    """Describe a member by its content alone; given its offset, pad to align its data."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.create_system = 3  # Unix, also when written elsewhere
    info.external_attr = 0o644 << 16
    if offset is not None:
        # NumPy pads the .npy header to a multiple of 64 bytes, so it suffices to align the member.
        start = offset + _LOCAL_HEADER.size + len(name) + 6 + _ZIP64_EXTRA
        padding = -start % ALIGNMENT
        info.extra = struct.pack(f"<HHH{padding}x", _ALIGNMENT_EXTRA_ID, 2 + padding, ALIGNMENT)
    return info


def _load(stream: BinaryIO) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    size = os.fstat(stream.fileno()).st_size
    head = stream.read(_HEAD_SIZE)
    stream.seek(max(0, size - _TAIL_SIZE))
    started, ended = _HEAD.fullmatch(head), _TAIL.fullmatch(stream.read())
    if not (started and ended):
        cut = len(head) < _HEAD_SIZE and b"PK\3\4".startswith(head[:4])
        raise ModelFileError(_DAMAGED if started or ended or cut else _FOREIGN)
    buffer = _read(stream, size)
    if zlib.crc32(buffer[:-8]) != int(ended[1], 16):  # type: ignore[arg-type]
        raise ModelFileError(_DAMAGED)
    members = _members(stream, buffer)
    description = json.loads(bytes(members.pop(JSON_NAME)))
    if description["magic"] != MAGIC:
        raise ModelFileError(_FOREIGN)
    if description["format"] > FORMAT:
        raise ModelFileError(
            f"has format {description['format']}, written by structsvm {description['library']}, but this "
            f"version reads only up to format {FORMAT}; upgrade structsvm."
        )
    if [f"{name}.npy" for name in description["arrays"]] != list(members):
        raise ModelFileError(_DAMAGED)
    arrays = {name.removesuffix(".npy"): _array(member) for name, member in members.items()}
    return arrays, dict(description["meta"])


def _read(stream: BinaryIO, size: int) -> np.ndarray:
    """Read the whole file to where its arrays are aligned in memory as they are in the file."""
    room = np.empty(size + ALIGNMENT, dtype=np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    buffer = room[start : start + size]
    stream.seek(0)
    if stream.readinto(buffer) != size:  # type: ignore[attr-defined]
        raise ModelFileError(_DAMAGED)
    return buffer


def _members(stream: BinaryIO, buffer: np.ndarray) -> dict[str, np.ndarray]:
    """Return the bytes of each member as they are in the file, in order; nothing is ever decompressed.

    Only what `save_model` writes is accepted: members that are stored, that follow one another without
    overlap, and whose names are plain and distinct. A size or offset beyond the file gives other bytes than
    the member's own header describes, which `_array` finds.
    """
    members: dict[str, np.ndarray] = {}
    end = 0
    with zipfile.ZipFile(stream) as archive:
        for info in archive.infolist():
            stored = info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size
            named = _NAME.fullmatch(info.orig_filename) and info.filename not in members
            if not stored or not named or info.header_offset < end:
                raise ModelFileError(_DAMAGED)
            header = buffer[info.header_offset : info.header_offset + _LOCAL_HEADER.size]
            name_size, extra_size = _LOCAL_HEADER.unpack(header.tobytes())
            start = info.header_offset + _LOCAL_HEADER.size + name_size + extra_size
            end = start + info.file_size
            members[info.filename] = buffer[start:end]
    return members


def _array(member: np.ndarray) -> np.ndarray:
    """View the bytes of a `.npy` file as its array."""
    header = io.BytesIO(member[: 1 << 16].tobytes())
    if np.lib.format.read_magic(header) != (1, 0):
        raise ModelFileError(_DAMAGED)
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(header)
    data = member[header.tell() :]
    size_fits = dtype.itemsize and math.prod(shape) * dtype.itemsize == len(data)
    if fortran or dtype.hasobject or not size_fits:
        raise ModelFileError(_DAMAGED)
    array: np.ndarray = np.ndarray(shape, dtype, buffer=data)
    return array if array.flags.aligned else array.copy()  # another zip program does not align members


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"`meta` can contain only JSON values, got {type(value).__name__}: {value!r}.")


def _library_version() -> str:
    try:
        return version("structsvm-nlp")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "unknown"
