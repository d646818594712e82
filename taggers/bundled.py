"""Models that come along, known by their names."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "models"
BUNDLED = ("en-pos",)


def find_model(name: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The file of a model that comes along, or the path as it is; a file of that name comes first."""
    if str(name) in BUNDLED and not os.path.exists(name):
        return FOLDER / f"{name}.ssvm"
    return name
