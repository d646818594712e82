"""Count the files and the crossings between files of a command: `python tests/walk.py tag MODEL FILE -o OUT`.

A crossing is a call from a function in one file of the packages to a function in another; each pair of
functions counts once. Calls while modules are imported do not count, nor do compiled functions.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGES = ("structsvm", "taggers", "semparse", "corpora")


def place(frame: FrameType | None) -> tuple[str, str] | None:
    """Return the module and the function of the nearest frame in the packages."""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.split(".")[0] in PACKAGES:
            return module, frame.f_code.co_qualname
        frame = frame.f_back
    return None


def imports(frame: FrameType | None) -> bool:
    """Whether a module of the packages is being imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"].split(".")[0] in PACKAGES:
            return True
        frame = frame.f_back
    return False


def walk(arguments: list[str]) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Run a command and return its crossings in the order of their first occurrence."""
    crossings: dict[Any, None] = {}

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event != "call" or frame.f_code.co_name == "<module>":
            return
        callee = place(frame)
        if callee is None or callee[0] != frame.f_globals.get("__name__"):
            return
        caller = place(frame.f_back)
        if caller is not None and caller[0] != callee[0] and not imports(frame):
            crossings.setdefault((caller, callee))

    sys.argv = ["structsvm", *arguments]
    try:
        from structsvm.cli.app import main
    except ImportError:  # before the packages were regrouped
        from taggers.cli import main  # type: ignore[import-not-found, no-redef]
    sys.setprofile(profile)
    try:
        main()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
    return list(crossings)


if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # from tests, `taggers` would be tests/taggers
    found = walk(sys.argv[1:])
    for (module, function), (other, called) in found:
        print(f"{module}.{function} -> {other}.{called}")
    files = {module for pair in found for module, _ in pair}
    print(f"{len(files)} files, {len(found)} crossings")
