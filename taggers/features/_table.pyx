# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A hash table from 64-bit keys to rows, by open addressing in plain arrays."""
from libc.stdint cimport int32_t, uint64_t

import numpy as np

cdef uint64_t EMPTY = ~<uint64_t>0
cdef enum:
    MOST_TAKEN = 50     # slots visited per key, on average, before a table is refused; hashes need one
    AHEAD = 16          # keys whose slots are fetched while others are entered


cdef inline Py_ssize_t put(uint64_t* slots, uint64_t mask, uint64_t key, Py_ssize_t row) noexcept nogil:
    """Enter a key, and return how many slots were taken before one was free."""
    cdef uint64_t at = key >> 32 & mask
    cdef Py_ssize_t taken = 0
    while slots[at] != EMPTY:
        at = (at + 1) & mask
        taken += 1
    slots[at] = (key >> 32 << 32) | <uint64_t>row
    return taken


cdef object n_slots(object n_keys):
    """The slots of a table that is at most half full."""
    return max(64, 1 << (2 * n_keys - 1).bit_length())


cdef class KeyTable:
    """Keys and their rows, numbered in the order in which the keys were added.

    Any number of threads may look keys up at the same time, as long as none adds keys. Key 0 stands for "no
    feature" and is never found.

    Parameters
    ----------
    keys : the initial key of each row: uint64, or uint32 for the upper halves of keys alone, which mistake an
        unseen key for a known one once in 2**32 / len(keys) times.
    room : rows to make room for, if more than there are keys.
    """

    def __init__(self, keys=(), Py_ssize_t room=0):
        cdef Py_ssize_t row, taken = 0
        keys = np.asarray(keys, None if len(keys) or isinstance(keys, np.ndarray) else np.uint64)
        self.short = keys.dtype == np.uint32
        keys = np.require(keys, np.uint64, "CA")
        self.key_array = keys << np.uint64(32) if self.short else keys
        self.n_rows = len(self.key_array)
        if self.n_rows >= 2**31 - 1:
            raise ValueError("more than 2**31 features")
        if room > self.n_rows:
            self.key_array = np.concatenate([self.key_array, np.zeros(room - self.n_rows, np.uint64)])
        self.slot_array = np.full(n_slots(len(self.key_array)), EMPTY, np.uint64)
        self._place()
        self.room = room if room > self.n_rows else 0
        for row in range(self.n_rows):
            if row + AHEAD < self.n_rows:
                self.expect(self.keys_at[row + AHEAD])
            taken += put(self.slots_at, self.mask, self.keys_at[row], row)
            if taken > MOST_TAKEN * (self.n_rows + 64):
                raise ValueError("the feature keys are not hashes: too many are alike")

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
        """Make room for at least one more row, in our own arrays, at most half full."""
        cdef Py_ssize_t row
        if self.n_rows >= 2**31 - 2:
            raise OverflowError("more than 2**31 features")
        keys = np.empty(max(32, 2 * self.n_rows), np.uint64)
        keys[:self.n_rows] = self.key_array[:self.n_rows]
        self.key_array = keys
        self.slot_array = np.full(n_slots(len(keys)), EMPTY, np.uint64)
        self._place()
        for row in range(self.n_rows):
            put(self.slots_at, self.mask, self.keys_at[row], row)
        self.room = len(keys)
        return 0

    cdef int32_t add(self, uint64_t key) except -2 nogil:
        """The row of the key, a new one for a new key; -1 for key 0."""
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

    def pack(self):
        """Free the memory of the slots, most of a table; the next lookup builds them again."""
        self.slot_array, self.slots_at = None, NULL

    cdef int ready(self) except -1:
        """Build the slots if `pack` has freed them; whatever calls `find` or `add` begins with this."""
        cdef Py_ssize_t row
        cdef uint64_t[::1] slots
        if self.slots_at != NULL:
            return 0
        array = np.full(n_slots(len(self.key_array)), EMPTY, np.uint64)
        if self.slots_at != NULL:       # NumPy may have let another thread build them
            return 0
        slots = array
        self.mask = slots.shape[0] - 1
        for row in range(self.n_rows):
            put(&slots[0], self.mask, self.keys_at[row], row)
        self.slot_array, self.slots_at = array, &slots[0]
        return 0

    @property
    def keys(self):
        """uint64: the key of each row."""
        return self.key_array[:self.n_rows]

    @property
    def halves(self):
        """uint32: the upper half of each key."""
        return (self.keys >> np.uint64(32)).astype(np.uint32)

    def rows(self, keys, *, bint grow=False):
        """int32: the row of each key, -1 for unknown ones; with `grow`, new keys get new rows."""
        cdef const uint64_t[::1] wanted = np.require(keys, np.uint64, "CA")
        cdef Py_ssize_t i
        self.ready()
        result = np.empty(wanted.shape[0], np.int32)
        cdef int32_t[::1] out = result
        with nogil:
            for i in range(wanted.shape[0]):
                if i + AHEAD < wanted.shape[0]:
                    self.expect(wanted[i + AHEAD])
                out[i] = self.add(wanted[i]) if grow else self.find(wanted[i])
        return result

    def reserve(self, Py_ssize_t n):
        """Make room for n rows at once, instead of growing step by step."""
        if n > self.room and n < 2**31 - 1:
            rows, self.n_rows = self.n_rows, max(n // 2 + 1, self.n_rows)
            keys = np.zeros(self.n_rows, np.uint64)
            keys[:rows] = self.key_array[:rows]
            self.key_array, self.n_rows = keys, rows
            self._grow()

    def truncate(self, Py_ssize_t n):
        """Forget the rows from n on."""
        cdef Py_ssize_t row
        if n >= self.n_rows:
            return
        self.n_rows = n
        if self.slots_at == NULL:
            return
        self.slot_array = np.full(len(self.slot_array), EMPTY, np.uint64)
        self._place()
        for row in range(n):
            put(self.slots_at, self.mask, self.keys_at[row], row)

    def __len__(self):
        return self.n_rows

    def __reduce__(self):
        return KeyTable, (self.halves if self.short else np.array(self.keys),)
