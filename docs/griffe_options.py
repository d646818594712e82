"""Show the options of classes on the API pages: `with_options` adds them to docstrings at run time."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import griffe


class Options(griffe.Extension):
    """Give classes with options the docstrings that they have at run time."""

    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        """Replace the docstring of a class that `with_options` decorates."""
        if any(str(one.value) == "with_options" for one in cls.decorators):
            found = getattr(import_module(cls.module.path), cls.name)
            cls.docstring = griffe.Docstring(inspect.getdoc(found) or "", parent=cls)
