# cython: language_level=3
"""Grammars of the chart, as C reads them; see `_units.pyx`."""

from libc.stdint cimport int32_t, uint64_t

cdef enum:
    SUBSETS = 6  # units with more slots take their arguments in order


cdef struct Grammar:  # see `Units`
    int n, n_slots, n_states, n_roots, most
    bint exact, nested
    int32_t* rel
    int32_t* first
    int32_t* size
    int32_t* least
    int32_t* state_first
    int32_t* role
    int32_t* copy
    int32_t* arc
    int32_t* arc_first
    int32_t* silent
    int32_t* silent_first
    int32_t* mute
    uint64_t* want


cdef int32_t[::1] ints(values)
cdef tuple flat(lists)


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    x ^= x >> 30
    x *= 0xBF58476D1CE4E5B9ULL
    x ^= x >> 27
    x *= 0x94D049BB133111EBULL
    return x ^ (x >> 31)


cdef inline uint64_t in_slot(uint64_t meaning, int slot) noexcept nogil:
    return mixed(meaning + 0x9E3779B97F4A7C15ULL * <uint64_t>(slot + 1))


cdef inline uint64_t unit_meaning(int rel, uint64_t arguments) noexcept nogil:
    return mixed(arguments + 0x9E3779B97F4A7C15ULL * <uint64_t>rel)


cdef inline int states_of(Grammar* g, int u) noexcept nogil:
    return g.state_first[u + 1] - g.state_first[u]


cdef inline bint filled(Grammar* g, int u, int state, int slot) noexcept nogil:
    if g.size[u] <= SUBSETS:
        return state >> slot & 1
    return slot < state or 0 <= g.copy[g.first[u] + slot] < state


cdef inline int after(Grammar* g, int u, int state, int slot) noexcept nogil:
    """The state once a slot is filled, or -1 if that is impossible."""
    cdef int later, first = g.first[u]
    if g.copy[first + slot] >= 0:
        return -1
    if g.size[u] > SUBSETS:
        if state != slot:
            return -1
        state += 1
        while state < g.size[u] and g.copy[first + state] >= 0:
            state += 1
        return state
    if state >> slot & 1:
        return -1
    state |= 1 << slot
    for later in range(slot + 1, g.size[u]):
        if g.copy[first + later] == slot:
            state |= 1 << later
    return state


cdef inline uint64_t argument(Grammar* g, int u, int slot, uint64_t child) noexcept nogil:
    """The part of the meaning of a unit that an argument adds, with the slots that copy it."""
    cdef uint64_t total = in_slot(child, slot)
    cdef int later, first = g.first[u]
    for later in range(slot + 1, g.size[u]):
        if g.copy[first + later] == slot:
            total += in_slot(child, later)
    return total


cdef class Units:
    cdef readonly int n_states  # sets of filled slots, of all units
    cdef int n, n_slots, most
    cdef bint exact, nested
    cdef int32_t[::1] rel, first, size, least, state_first, mute
    cdef int32_t[::1] role, copy, arc, arc_first, silent, silent_first, roots
    cdef uint64_t[::1] want
    cdef Grammar g
