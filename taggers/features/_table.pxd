# cython: language_level=3
"""A hash table from 64-bit keys to rows, by open addressing in plain arrays."""
from libc.stdint cimport int32_t, uint64_t

cdef extern from "structsvm/_dual/vector.h":
    void prefetch "prefetch_line"(const void* address) noexcept nogil

cdef enum:
    LOW = 0xFFFFFFFF


cdef inline int32_t find(
    const uint64_t* slots, const uint64_t* keys, uint64_t mask, uint64_t key,
) noexcept nogil:
    """The row of the key, or -1; without `keys`, that of a key with the same upper half.

    A slot holds the upper half of the key and the row, eight bytes in all. The upper half also selects the
    slot, so a table needs nothing else; an unseen key rarely touches more than one cache line.
    """
    cdef uint64_t tag = key >> 32, slot
    cdef uint64_t at = tag & mask
    if key == 0:
        return -1
    while True:
        slot = slots[at]
        if slot == ~<uint64_t>0:
            return -1
        if slot >> 32 == tag and (keys == NULL or keys[slot & LOW] == key):
            return <int32_t>(slot & LOW)
        at = (at + 1) & mask


cdef class KeyTable:
    cdef object slot_array      # uint64, a power of two of them; all ones where there is no key; or None
    cdef object key_array       # uint64: the key of each row, so that the table can be rebuilt larger
    cdef uint64_t* slots_at     # NULL after `pack`, until `ready`
    cdef uint64_t* keys_at
    cdef uint64_t mask
    cdef Py_ssize_t room        # rows that fit before the arrays grow; 0 for borrowed arrays
    cdef readonly Py_ssize_t n_rows
    cdef readonly bint short    # only the upper halves of the keys are known
    cdef bint taken             # a caller of `open` is adding keys, or this is a view

    cdef KeyTable open(self, bint grow)
    cdef int close(self, bint grow) except -1

    cdef inline int32_t find(self, uint64_t key) noexcept nogil:
        return find(self.slots_at, NULL if self.short else self.keys_at, self.mask, key)

    cdef inline void expect(self, uint64_t key) noexcept nogil:
        """Prefetch the memory that a lookup of the key reads first."""
        prefetch(self.slots_at + (key >> 32 & self.mask))

    cdef int32_t add(self, uint64_t key) except -2 nogil
    cdef int _grow(self, Py_ssize_t room=*) except -1
    cdef int _place(self, keys, slots) except -1
    cdef int ready(self) except -1
