# cython: language_level=3
"""Check for Ctrl-C in compiled code, in the main thread and in others.

Python runs the handlers of signals in the main thread only. A `Stop` asks other threads to end: their next
check raises `Stopped`.
"""
from cpython.exc cimport PyErr_CheckSignals

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() noexcept

cdef list stopped = []      # the id of a thread, once for each `Stop` that asks it to end


class Stopped(BaseException):
    """Raised in a thread that a `Stop` asks to end."""


cdef int check_signals() except -1:
    """Run the handlers of signals, and raise what they raise; needs the GIL."""
    PyErr_CheckSignals()
    if stopped and PyThread_get_thread_ident() in stopped:
        raise Stopped
    return 0


cdef class Stop:
    """Stops several threads: after `ask()`, a thread inside `with stop:` ends at its next check.

    Stops can be nested: the thread also ends at a check inside or after an inner block.
    """

    cdef readonly bint asked
    cdef list threads       # their ids, once for each block that they are in

    def __init__(self):
        self.threads = []

    def __enter__(self):
        thread = PyThread_get_thread_ident()
        self.threads.append(thread)
        if self.asked:
            stopped.append(thread)

    def __exit__(self, *error):
        thread = PyThread_get_thread_ident()
        self.threads.remove(thread)
        if self.asked:
            stopped.remove(thread)

    def ask(self):
        """Ask all threads to end; a handler of signals may call this."""
        if not self.asked:
            self.asked = True
            stopped.extend(self.threads)
