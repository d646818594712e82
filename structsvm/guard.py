"""One thread trains a model at a time, and no other thread reads it meanwhile.

Compiled code trains without Python's global lock, so a second thread would find arrays half changed.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Call:
    """One call that trains; a weak reference to it tells whether it still runs."""

    __slots__ = ("__weakref__",)


@contextmanager
def training(model: Any) -> Iterator[None]:
    """Claim a model for the calling thread; raise RuntimeError if it is being trained already."""
    mine = _Call()  # if Ctrl-C hits the `finally` below, the claim dies with this call
    claim = (threading.get_ident(), weakref.ref(mine))
    if _trainer(model) is None:
        vars(model).pop("_trainer", None)
    try:
        if vars(model).setdefault("_trainer", claim) is not claim:
            raise RuntimeError(
                f"this {type(model).__name__} is being trained: wait until training ends, or use another one"
            )
        yield
    finally:
        if vars(model).get("_trainer") is claim:
            del model._trainer


def check_readable(model: Any) -> None:
    """Raise RuntimeError if another thread is training the model."""
    if _trainer(model) not in (None, threading.get_ident()):
        raise RuntimeError(
            f"this {type(model).__name__} is being trained in another thread: wait until training ends"
        )


def _trainer(model: Any) -> int | None:
    """The thread that is training the model."""
    thread, call = vars(model).get("_trainer", (None, lambda: None))
    return None if call() is None else thread
