"""Models that come along, known by their names."""

from __future__ import annotations

import os
from pathlib import Path

from structsvm.files.persist import ModelFileError

FOLDER = Path(__file__).parent / "models"
BUNDLED = ("en-pos",)


def find_model(name: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The file of a model that comes along, or the path as it is; a file of that name comes first."""
    try:
        os.stat(name)
    except FileNotFoundError:
        if str(name) in BUNDLED:
            return FOLDER / f"{name}.ssvm"
        known = ", ".join(BUNDLED)
        raise ModelFileError(
            f"Model file {name} does not exist: check its name; models that come along: {known}."
        ) from None
    except (OSError, ValueError):
        pass  # told where the file is read
    return name
