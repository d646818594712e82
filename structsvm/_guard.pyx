# cython: language_level=3
"""The claims of `structsvm.guard`, compiled: no signal can arrive inside `__enter__` and `__exit__`.

The GIL makes each of these methods atomic; they never wait while they hold a lock, so a fork is safe too.
"""
cimport cython
from cpython.exc cimport PyErr_CheckSignals

import os
from time import sleep

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() noexcept

LONGEST = 0.01      # seconds between two looks at whether the readers have left

cdef Py_ssize_t forks = 0           # that led to this process
cdef object forking_thread = None   # the only one that the last fork left


def _forked():
    global forks, forking_thread
    forks += 1
    forking_thread = PyThread_get_thread_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@cython.no_gc
cdef class Guard:
    """Who trains and who reads a model: a copy of the model, or its pickle, starts with a free one."""

    cdef object trainer         # the id of the thread that trains, or None
    cdef dict readers           # by thread id, how many reads run
    cdef Py_ssize_t forks
    cdef bint torn              # training ran in another thread when the process was forked

    def __init__(self):
        self.trainer = None
        self.readers = {}
        self.forks = forks

    def __reduce__(self):
        return Guard, ()

    cdef int refresh(self) except -1:
        """In a child process, forget the threads that only the parent has."""
        if self.forks == forks:
            return 0
        self.forks = forks
        self.readers = {thread: n for thread, n in self.readers.items() if thread == forking_thread}
        if self.trainer is not None and self.trainer != forking_thread:
            self.torn, self.trainer = True, None
        return 0

    cdef int enter(self, object thread, object owner) except -1:
        """Count a read; -1 with RuntimeError if another thread trains."""
        self.refresh()
        if self.torn:
            self.refuse_torn(owner)
        if self.trainer is not None and self.trainer != thread:
            raise RuntimeError(
                f"this {type(owner).__name__} is being trained in another thread; wait until training ends")
        self.readers[thread] = self.readers.get(thread, 0) + 1
        return 0

    cdef int leave(self, object thread) except -1:
        self.refresh()
        count = self.readers.get(thread, 0)
        if count > 1:
            self.readers[thread] = count - 1
        elif count:
            del self.readers[thread]
        return 0

    cdef int claim(self, object thread, object owner) except -1:
        """Note who trains; -1 with RuntimeError if the model is in use in a way that cannot end."""
        self.refresh()
        if self.torn:
            self.refuse_torn(owner)
        if self.trainer is not None:
            raise RuntimeError(
                f"this {type(owner).__name__} is being trained; wait until training ends, or use another one")
        if thread in self.readers:
            raise RuntimeError(
                f"this {type(owner).__name__} is predicting in this thread: train it when that has ended")
        self.trainer = thread
        return 0

    cdef int release(self, object thread) except -1:
        self.refresh()
        if self.trainer == thread:
            self.trainer = None
        return 0

    cdef int refuse_torn(self, object owner) except -1:
        raise RuntimeError(
            f"this {type(owner).__name__} was being trained in another thread when the process was forked: "
            "load it again")


cdef Guard guard_of(object model):
    cdef dict attributes = model.__dict__
    found = attributes.get("_guard")
    return attributes.setdefault("_guard", Guard()) if found is None else found


@cython.no_gc
cdef class reading:
    """`with reading(model):` keep other threads from training the model; refuse if one is training it.

    owner: the object that the error names, if `model` is a part of it.
    """

    cdef Guard guard
    cdef object thread, owner
    cdef bint entered

    def __init__(self, model, owner=None):
        self.guard = guard_of(model)
        self.owner = model if owner is None else owner

    def __enter__(self):
        thread = PyThread_get_thread_ident()
        self.guard.enter(thread, self.owner)
        self.thread, self.entered = thread, True

    def __exit__(self, *error):
        self.close()

    def __dealloc__(self):
        self.close()

    cdef int close(self) except -1:
        if self.entered:
            self.entered = False
            self.guard.leave(self.thread)
        return 0


@cython.no_gc
cdef class training:
    """`with training(model):` claim the model for this thread, and wait until others have done reading it.

    While another thread trains it, or this one reads it, raise RuntimeError. So does training within
    training, except with nested=True, for what needs the model alone and may be called by a callback.
    """

    cdef Guard guard
    cdef object thread, owner
    cdef bint claimed, nested

    def __init__(self, model, owner=None, *, bint nested=False):
        self.guard = guard_of(model)
        self.owner = model if owner is None else owner
        self.nested = nested

    def __enter__(self):
        thread = PyThread_get_thread_ident()
        if self.nested and self.guard.trainer == thread:
            return
        self.guard.claim(thread, self.owner)
        self.thread, self.claimed = thread, True
        delay = LONGEST / 1024
        try:
            while self.guard.readers:
                sleep(delay)
                PyErr_CheckSignals()
                delay = min(2 * delay, LONGEST)
        except BaseException:
            self.close()
            raise

    def __exit__(self, *error):
        self.close()

    def __dealloc__(self):
        self.close()

    cdef int close(self) except -1:
        if self.claimed:
            self.claimed = False
            self.guard.release(self.thread)
        return 0
