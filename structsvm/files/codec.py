"""The content of model files as tables of fields: each has a name, a type with bounds, and a meaning.

One table writes a part of a file, reads it and checks it. A field with a type for arrays is an array of the
file; any other field is a key of its metadata. The checksum of a file proves nothing about its content: a
forged file may contain anything, so every value is checked before it is used.

    TABLE = Table(
        Field("words", names(), "the words, in the order of the rows"),
        Field("w", Array(np.float64, "words", "labels"), "the weights"),
        Field("steps", whole(low=1), "the number of updates", default=1),
    )
    arrays, meta = TABLE.write({"words": words, "w": w, "steps": steps})
    found = TABLE.read(arrays, meta, labels=3)       # a dict of checked values, or ValueError

The dimensions of arrays have names. A list sets the dimension that is called like its field, the caller may
set others, and the first array that has a dimension sets it for the arrays that follow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import dataclass
from reprlib import repr as short
from typing import Any

import numpy as np

from structsvm.files.persist import ModelFileError
from structsvm.validation import LARGEST, LARGEST_COUNT

REQUIRED: Any = object()  # instead of a default: a file without the field is refused
FLOAT_MAX, TINY = float(np.finfo(np.float64).max), float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Type:
    """The type of a JSON value: its description, for messages and the documentation, and its test."""

    text: str
    fits: Callable[[Any], bool]

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        """Raise ValueError for a value of another type."""
        if not self.fits(value):
            raise ValueError(f"{name} must be {self.text}, got {short(value)}")


FLAG = Type("true or false", lambda value: type(value) is bool)


def whole(low: int = 0, high: int = LARGEST_COUNT) -> Type:
    """Integers from `low` to `high`."""
    last, bits = f"{high:,}", high.bit_length()
    if high > 1 << 20 and high == 1 << (bits - 1):
        last = f"2^{bits - 1}"
    elif high > 1 << 20 and high == (1 << bits) - 1:
        last = f"2^{bits} - 1"
    return Type(
        f"an integer from {low:,} to {last}", lambda value: type(value) is int and low <= value <= high
    )


def number(low: float = -FLOAT_MAX, high: float = FLOAT_MAX) -> Type:
    """Finite numbers from `low` to `high`."""
    bounds = "" if high == FLOAT_MAX else f" from {low:g} to {high:g}"
    return Type(
        f"a finite number{bounds}", lambda value: type(value) in (int, float) and low <= value <= high
    )


POSITIVE = Type("a number above 0", number(TINY, LARGEST).fits)


def text(choices: Collection[str] = (), *, least: int = 0, utf8: bool = False) -> Type:
    """Strings: one of the choices, or any of at least this length. utf8: refuse lone surrogates."""

    def fits(value: Any) -> bool:
        if type(value) is not str or (value not in choices if choices else len(value) < least):
            return False
        return not utf8 or value.encode(errors="replace").decode() == value

    return Type("one of " + ", ".join(choices) if choices else "a string", fits)


def maybe(of: Type) -> Type:
    return Type(f"null or {of.text}", lambda value: value is None or of.fits(value))


def items(of: Type) -> Type:
    """Lists of values of one type."""
    return Type(
        f"a list; each value is {of.text}", lambda value: type(value) is list and all(map(of.fits, value))
    )


def row(*types: Type) -> Type:
    """Lists with one value of each of these types."""

    def fits(value: Any) -> bool:
        right = type(value) is list and len(value) == len(types)
        return right and all(of.fits(one) for of, one in zip(types, value, strict=True))

    return Type(f"a list of {len(types)} values", fits)


def names(of: Type | None = None, *, least: int = 0, most: int = LARGEST_COUNT) -> Type:
    """Lists of different strings."""
    lists = items(of or text())
    bound = f" of at most {most:,} names" if most < LARGEST_COUNT else ""
    return Type(
        f"a list{bound} that {'is not empty and ' * bool(least)}does not repeat a name",
        lambda value: lists.fits(value) and least <= len(value) <= most and len(set(value)) == len(value),
    )


def mapped(of: Type | None = None) -> Type:
    """Objects whose values have one type; None: any."""
    return Type(
        "an object" if of is None else f"an object; each value is {of.text}",
        lambda value: type(value) is dict and (of is None or all(map(of.fits, value.values()))),
    )


def record(required: Mapping[str, Type], optional: Mapping[str, Type], *, empty: bool = False) -> Type:
    """Objects with these keys; others are not checked. empty: allow an object without keys."""

    def fits(value: Any) -> bool:
        if type(value) is not dict or (empty and not value):
            return type(value) is dict
        known = {**required, **optional}
        return required.keys() <= value.keys() and all(
            known[key].fits(one) for key, one in value.items() if key in known
        )

    keys = [*required, *(f"{key} (optional)" for key in optional)]
    return Type("an object with " + ", ".join(keys) + ", or an empty one" * empty, fits)


class Array:
    """The type of an array: the types that its elements may have, and its dimensions, numbers or names.

    types: one or several; None: any. low, high: the bounds of the elements; floats are finite.
    """

    def __init__(
        self, types: Any, *shape: str | int, low: float | None = None, high: float | None = None
    ) -> None:
        self.types = types if isinstance(types, tuple | None) else (types,)
        self.shape, self.low, self.high = shape, low, high
        some = "an array" if self.types is None else " or ".join(np.dtype(one).name for one in self.types)
        self.text = f"{some} of shape ({', '.join(map(str, shape))})"

    def check(self, value: np.ndarray, name: str, sizes: dict[str, int]) -> None:
        """Raise ValueError for another array; it sets the dimensions that are not known yet."""
        right = (self.types is None or value.dtype in self.types) and value.ndim == len(self.shape)
        for dimension, size in zip(self.shape, value.shape, strict=False):
            expected = sizes.setdefault(dimension, size) if isinstance(dimension, str) else dimension
            right = right and expected == size
        if not right:
            known = [f"{key} = {sizes[key]}" for key in self.shape if isinstance(key, str) and key in sizes]
            raise ValueError(
                f"{name} must be {', '.join([self.text, *known])}, got {value.dtype} of {value.shape}"
            )
        high = self.high if self.high is not None else LARGEST if value.dtype.kind == "f" else None
        if value.size and (self.low is not None or high is not None):
            high = FLOAT_MAX if high is None else high
            low = -high if self.low is None else self.low
            if not low <= value.min().item() <= value.max().item() <= high:  # false for NaN, too
                raise ValueError(f"{name} has values that are not from {low:g} to {high:g}")


class Arrays:
    """The type of all arrays whose names begin with that of the field; their owner checks them.

    finite: refuse floats that are not finite, or too large to be squared.
    """

    text = "arrays"

    def __init__(self, *, finite: bool = True) -> None:
        self.finite = finite

    def check(self, value: dict[str, np.ndarray], name: str, sizes: dict[str, int]) -> None:
        """Raise ValueError for numbers that no array of the family may have."""
        for key, array in value.items():
            if self.finite and array.dtype.kind == "f":
                Array(array.dtype.type, *array.shape).check(array, name + key, {})


@dataclass(frozen=True)
class Field:
    """One value of a file.

    name: a key of the metadata or the name of an array; for `Arrays`, the beginning of their names.
    default: what a file without the field has. Metadata do not contain a default; None stands for no array.
    always: write the default, too.
    """

    name: str
    type: Type | Array | Arrays
    meaning: str
    default: Any = REQUIRED
    always: bool = False


class Table:
    """The fields of a file, or of a part of one."""

    def __init__(self, *fields: Field) -> None:
        self.fields = fields

    def __add__(self, other: Table) -> Table:
        return Table(*self.fields, *other.fields)

    def write(
        self, values: Mapping[str, Any], prefix: str = ""
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays and metadata with the values of all fields; prefix: of the names of the arrays."""
        arrays: dict[str, np.ndarray] = {}
        meta: dict[str, Any] = {}
        for field in self.fields:
            value = values[field.name]
            if isinstance(field.type, Arrays):
                arrays |= {prefix + field.name + key: array for key, array in value.items()}
            elif isinstance(field.type, Array):
                arrays |= {} if value is None else {prefix + field.name: value}
            elif field.always or value != field.default:
                meta[field.name] = value
        return arrays, meta

    def read(
        self, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], prefix: str = "", **sizes: int
    ) -> dict[str, Any]:
        """The values of all fields by name, after a check; raise ValueError for a value that is wrong.

        prefix: of the names of the arrays, and of all names in messages. sizes: dimensions of arrays that the
        fields do not set.
        """
        found: dict[str, Any] = {}
        for field in self.fields:
            start = prefix + field.name
            if isinstance(field.type, Arrays):
                value: Any = {k.removeprefix(start): v for k, v in arrays.items() if k.startswith(start)}
            elif isinstance(field.type, Array):
                value = arrays.get(start, REQUIRED)
            else:
                value = meta.get(field.name, REQUIRED)
            if value is not REQUIRED:
                field.type.check(value, start, sizes)
            elif field.default is REQUIRED:
                raise ValueError(f"{start} is missing")
            else:
                value = copy(field.default)
            if isinstance(value, list):
                sizes[field.name] = len(value)
            found[field.name] = value
        return found

    def markdown(self, prefix: str = "") -> str:
        """The fields as a Markdown table; prefix: of the names of the arrays."""
        lines = ["| name | type | meaning |", "|---|---|---|"]
        for field in self.fields:
            name = field.name if isinstance(field.type, Type) else prefix + field.name
            name += "*" * isinstance(field.type, Arrays)
            kind = field.type.text + ", optional" * (field.default is not REQUIRED)
            lines.append(f"| `{name}` | {kind} | {field.meaning} |")
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Kind:
    """A kind of model file: `kind` in its metadata, and its version under a key of its own, if it has one.

    what: what users call it. made_by: the end of the message about a file of another kind.
    """

    name: str
    what: str
    made_by: str
    key: str = ""
    versions: tuple[int, ...] = ()

    def check(self, path: str | os.PathLike[str], meta: Mapping[str, Any], **hints: str) -> None:
        """Raise ModelFileError for a file of another kind or version; hints: what to do with some kinds."""
        if (found := meta.get("kind")) != self.name:
            hint = hints.get(str(found), self.made_by)
            raise ModelFileError(
                f"Model file {path} is not a {self.what} but has the kind {found!r}; {hint}."
            )
        if self.versions and (version := meta.get(self.key, 1)) not in self.versions:
            raise ModelFileError(
                f"Model file {path} has {self.key} {version!r}, but this version reads {self.key} "
                f"{self.versions[-1]}; retrain the model, or use the version that wrote it."
            )
