"""Packages whose public names are imported when they are first used, so that the command line starts fast."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package; modules: the public names of each module."""
    home = {name: module for module, names in modules.items() for name in names}

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
