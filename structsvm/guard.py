"""Let many threads read a model at a time, or one train it.

Compiled code runs without Python's global lock, so a thread that reads a model while another one trains it
would find arrays half changed, or already freed. Everything that trains runs in `with training(model):`, and
everything that reads in `with reading(model):` or in a method with the decorator `reads`.

* Training waits until the running reads have ended (Ctrl-C ends the wait); reads that start meanwhile, or
  during training, raise RuntimeError, and so does a second training.
* The thread that trains may read: a callback can predict. A read cannot train the model that it reads.
* A copy, a pickle and a forked process start free, except that a model which another thread was training at
  the moment of the fork is unusable in the child.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from structsvm._guard import reading, training

__all__ = ["reading", "reads", "training"]

Method = TypeVar("Method", bound=Callable[..., Any])


def reads(method: Method) -> Method:
    """A decorator for methods that read a model, and so cannot run while another thread trains it."""

    @wraps(method)
    def read(self: Any, *args: Any, **options: Any) -> Any:
        with reading(self):
            return method(self, *args, **options)

    return cast(Method, read)
