"""Model files of `Ospas`: parameters and names as JSON, counts and weights as arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from semparse.schema import Schema
from structsvm.files.persist import ModelFileError, load_model, save_model

KIND = "ospas"


def save_ospas(parser: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted parser; see `Ospas.save`."""
    model = parser._fitted()
    # What has been set since training tells nothing of the model, but for what is looked at to answer.
    parameters = parser._trained_with | {name: getattr(parser, name) for name in ("threshold", "salience")}
    if isinstance(parameters["schema"], Schema):
        parameters["schema"] = parameters["schema"].to_json()
    if not isinstance(parameters["random_state"], (int, np.integer, type(None))):
        parameters["random_state"] = None
    arrays, meta = model.state()
    save_model(
        path,
        arrays,
        {
            "kind": KIND,
            "parameters": parameters,
            "schema": model.schemas.to_json(),
            "rng": parser._rng.bit_generator.state,
            "model": meta,
        },
    )


def load_ospas(cls: type, path: str | os.PathLike[str]) -> Any:
    """Read a parser; see `Ospas.load`."""
    arrays, meta = load_model(path)
    if meta.get("kind") != KIND:
        raise ModelFileError(
            f"Model file {path} is no semantic parser: it says {meta.get('kind')!r}. Give one that "
            "`structsvm parse train` or Ospas.save wrote."
        )
    try:
        parameters = dict(meta["parameters"])
        parameters["features"] = tuple(parameters["features"])  # a list in JSON
        parser = cls(**parameters)
        model, rng = parser._new_model()
        model.schemas.set_json(meta["schema"])
        rng.bit_generator.state = meta["rng"]
        model.set_state(arrays, meta["model"])
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, MemoryError) as error:
        raise ModelFileError(
            f"Model file {path} does not hold a parser that fits together ({error}): train it anew."
        ) from error
    parser._adopt(model, rng)
    return parser
