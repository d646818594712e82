"""Find the bundled models by name."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from structsvm.files.persist import ModelFileError

FOLDER = Path(__file__).parent / "models"
BUNDLED = ("en-pos", "en", "af")


def find_model(name: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The path of a model file, or of a bundled model if no file has that name."""
    try:
        mode = os.stat(name).st_mode
    except FileNotFoundError:
        if str(name) in BUNDLED:
            return FOLDER / f"{name}.ssvm"
        known = ", ".join(BUNDLED)
        raise ModelFileError(
            f"Model file {name} does not exist; check its name (included models: {known})."
        ) from None
    except (OSError, ValueError):
        return name  # reading the file raises the error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a pipe would make the program wait
        raise ModelFileError(f"Model file {name} is not a regular file; copy the model to a file.")
    return name
