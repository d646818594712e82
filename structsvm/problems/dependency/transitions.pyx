# cython: language_level=3
"""Arc-hybrid transitions for Python: one state, with its actions and their costs."""
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc

import numpy as np


cdef class ArcHybrid:
    """A state of the arc-hybrid system; see `transitions.pxd`."""

    cdef State state
    cdef int32_t* room

    def __cinit__(self, int n):
        if not 0 < n < 1 << 24:
            raise ValueError(f"n must be a number of words from 1 to 2**24 - 1, got {n}")
        self.room = <int32_t*>malloc(ARRAYS * (<Py_ssize_t>n + 2) * sizeof(int32_t))
        if self.room == NULL:
            raise MemoryError(f"no memory for a sentence of {n} words")
        place(&self.state, self.room, n + 2)
        begin(&self.state, n)

    def __dealloc__(self):
        free(self.room)

    @property
    def done(self) -> bool:
        """Whether the tree is complete."""
        return done(&self.state)

    @property
    def heads(self) -> list:
        """The head of each word, -1 while it has none."""
        return [self.state.head[k] for k in range(1, self.state.n + 1)]

    def legal(self) -> list:
        """The actions that are possible: 0 is SHIFT, 1 LEFT and 2 RIGHT."""
        return [] if done(&self.state) else [a for a in range(N_ACTIONS) if legal(&self.state, a)]

    def costs(self, heads) -> list:
        """How many arcs of the right tree each action makes unreachable; -1: the head is not known."""
        cdef const int32_t[::1] gold = np.array([-1, *heads], dtype=np.int32)
        cdef int32_t[3] cost
        if gold.shape[0] != self.state.n + 1:
            raise ValueError(f"{gold.shape[0] - 1} heads for {self.state.n} words")
        add_costs(&self.state, &gold[0], cost)
        return [cost[a] for a in range(N_ACTIONS)]

    def apply(self, int action):
        if action not in self.legal():
            raise ValueError(f"the action {action} is not possible in this state")
        apply(&self.state, action)
