# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The grammars of a chart: all relations of a schema, for a search, or the nodes of one meaning, to align it.

A unit is a relation of a meaning. It covers a span: its own words, around the spans of its arguments, which
come in any order. An argument is a unit, a constant at the words that name it, or a constant that no word
names. A state of a unit is the set of its filled slots.
"""

from libc.stdint cimport int32_t

import numpy as np


cdef int32_t[::1] ints(values):
    return np.array(values, np.int32) if len(values) else np.zeros(1, np.int32)


cdef tuple flat(lists):
    """Lists as one array, and where each begins."""
    return (
        ints([value for row in lists for value in row]),
        ints(np.cumsum([0, *[len(row) for row in lists]]).tolist()),
    )


cdef class Units:
    """A grammar. For each unit: its relation, how many slots must be filled, whether it has no own words, and
    of each slot (role column, earlier slot that it copies or -1, units that may fill it, constants that may
    do so without a word, the meaning of the constant that must fill it or 0 for any that the role allows)."""
    def __init__(self, units, roots, exact):
        slots = [slot for *_, its in units for slot in its]
        sizes = [len(its) for *_, its in units]
        self.n, self.n_slots, self.exact = len(units), len(slots), exact
        self.most = max(1, max(sizes, default=1))
        self.rel = ints([unit[0] for unit in units])
        self.least = ints([unit[1] for unit in units])
        self.mute = ints([unit[2] for unit in units])
        self.size = ints(sizes)
        self.first = ints(np.cumsum([0, *sizes]).tolist())
        states = [2**size if size <= SUBSETS else size + 1 for size in sizes]
        self.state_first = ints(np.cumsum([0, *states]).tolist())
        self.n_states = sum(states)
        self.role = ints([slot[0] for slot in slots])
        self.copy = ints([slot[1] for slot in slots])
        self.arc, self.arc_first = flat([slot[2] for slot in slots])
        self.silent, self.silent_first = flat([slot[3] for slot in slots])
        self.want = np.array([slot[4] for slot in slots] or [0], np.uint64)
        self.roots = ints(roots)
        self.nested = any(slot[2] for slot in slots)
        self.g.n, self.g.n_slots, self.g.n_states = self.n, self.n_slots, self.n_states
        self.g.most = self.most
        self.g.exact, self.g.nested, self.g.n_roots = exact, self.nested, len(roots)
        self.g.rel, self.g.first = &self.rel[0], &self.first[0]
        self.g.size, self.g.least = &self.size[0], &self.least[0]
        self.g.state_first, self.g.role, self.g.copy = &self.state_first[0], &self.role[0], &self.copy[0]
        self.g.arc, self.g.arc_first = &self.arc[0], &self.arc_first[0]
        self.g.silent, self.g.silent_first = &self.silent[0], &self.silent_first[0]
        self.g.want, self.g.mute = &self.want[0], &self.mute[0]
