# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""64-bit key to row, by open addressing in plain arrays that a saved model maps into memory as they are."""
from libc.stdint cimport int32_t, uint64_t

import numpy as np

cdef uint64_t EMPTY = ~<uint64_t>0


cdef inline void put(uint64_t* slots, uint64_t mask, uint64_t key, Py_ssize_t row) noexcept nogil:
    cdef uint64_t at = key & mask
    while slots[at] != EMPTY:
        at = (at + 1) & mask
    slots[at] = (key >> 32 << 32) | <uint64_t>row


cdef bint is_sound(const uint64_t* slots, Py_ssize_t n, Py_ssize_t n_rows) noexcept nogil:
    """Whether lookups end, and end at a row there is."""
    cdef Py_ssize_t i, used = 0
    cdef bint inside = True
    for i in range(n):
        if slots[i] != EMPTY:
            used += 1
            inside &= <Py_ssize_t>(slots[i] & LOW) < n_rows
    return inside and used < n and used <= n_rows


cdef class KeyTable:
    """Keys and their rows, numbered in the order in which they came.

    Any number of threads may look keys up at the same time, while no thread adds any. Key 0 stands for "no
    feature" and is never found.

    Parameters
    ----------
    keys : the key of each row, to begin with.
    slots : the table over these keys, as saved; without it, it is built.
    """

    def __init__(self, keys=(), slots=None):
        cdef Py_ssize_t row
        self.key_array = np.ascontiguousarray(keys, np.uint64)
        self.n_rows = len(self.key_array)
        if self.n_rows >= 2**31 - 1:
            raise ValueError("more than 2**31 features")
        if slots is None:
            self.slot_array = np.full(max(64, 1 << (2 * self.n_rows).bit_length()), EMPTY, np.uint64)
            self._place()
            for row in range(self.n_rows):
                put(self.slots_at, self.mask, self.keys_at[row], row)
            return
        slots = np.ascontiguousarray(slots, np.uint64)
        if slots.ndim != 1 or len(slots) < 1 or len(slots) & (len(slots) - 1):
            raise ValueError("the feature table is damaged: its size is no power of two")
        self.slot_array = slots
        self._place()
        if not is_sound(self.slots_at, len(slots), self.n_rows):
            raise ValueError("the feature table is damaged: its rows are not those of its keys")

    cdef int _place(self) except -1:
        """Take the arrays' addresses; a read-only or borrowed array is copied before the first change."""
        cdef const uint64_t[::1] slots = self.slot_array
        cdef const uint64_t[::1] keys = self.key_array
        self.slots_at = <uint64_t*>&slots[0]
        self.keys_at = <uint64_t*>&keys[0] if keys.shape[0] else NULL
        self.mask = slots.shape[0] - 1
        self.room = 0
        return 0

    cdef int _grow(self) except -1:
        """Room for at least one row more, in arrays of our own, at most half full."""
        cdef Py_ssize_t row
        if self.n_rows >= 2**31 - 2:
            raise OverflowError("more than 2**31 features")
        keys = np.empty(max(32, 2 * self.n_rows), np.uint64)
        keys[:self.n_rows] = self.key_array[:self.n_rows]
        size = 2 * len(keys)
        self.key_array = keys
        self.slot_array = np.full(1 << (size - 1).bit_length(), EMPTY, np.uint64)
        self._place()
        for row in range(self.n_rows):
            put(self.slots_at, self.mask, self.keys_at[row], row)
        self.room = len(keys)
        return 0

    cdef int32_t add(self, uint64_t key) except -2 nogil:
        """The key's row, a new one where it has none; -1 for key 0."""
        cdef int32_t row = self.find(key)
        if row >= 0 or key == 0:
            return row
        if self.n_rows >= self.room:
            with gil:
                self._grow()
        row = <int32_t>self.n_rows
        self.keys_at[row] = key
        put(self.slots_at, self.mask, key, row)
        self.n_rows += 1
        return row

    @property
    def keys(self):
        """uint64: the key of each row."""
        return self.key_array[:self.n_rows]

    @property
    def slots(self):
        """uint64: the table itself, for saving beside the keys."""
        return self.slot_array

    def rows(self, keys, *, bint grow=False):
        """int32: the row of each key, -1 where there is none; with `grow`, new keys get new rows."""
        cdef const uint64_t[::1] wanted = np.ascontiguousarray(keys, np.uint64)
        cdef Py_ssize_t i
        result = np.empty(wanted.shape[0], np.int32)
        cdef int32_t[::1] out = result
        with nogil:
            for i in range(wanted.shape[0]):
                out[i] = self.add(wanted[i]) if grow else self.find(wanted[i])
        return result

    def reserve(self, Py_ssize_t n):
        """Make room for n rows at once, to save growing step by step."""
        if n > self.room and n < 2**31 - 1:
            rows, self.n_rows = self.n_rows, max(n // 2 + 1, self.n_rows)
            keys = np.zeros(self.n_rows, np.uint64)
            keys[:rows] = self.key_array[:rows]
            self.key_array, self.n_rows = keys, rows
            self._grow()

    def __len__(self):
        return self.n_rows

    def __reduce__(self):
        return KeyTable, (np.array(self.keys), np.array(self.slots))
