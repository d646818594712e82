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


cdef object new_slots(const uint64_t[::1] keys, Py_ssize_t n, object size):
    """Return `size` slots that contain the first n keys."""
    cdef Py_ssize_t row
    array = np.full(size, EMPTY, np.uint64)
    cdef uint64_t[::1] slots = array
    for row in range(n):
        put(&slots[0], slots.shape[0] - 1, keys[row], row)
    return array


cdef class KeyTable:
    """Keys and their rows, numbered in the order in which the keys were added.

    Any number of threads may look keys up while one adds keys. Lookups use a view, which keeps the arrays
    that were current when it was opened (see `open`). Key 0 stands for "no feature" and is never found.

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
        keys = keys << np.uint64(32) if self.short else keys
        self.n_rows = len(keys)
        if self.n_rows >= 2**31 - 1:
            raise ValueError("more than 2**31 features")
        if room > self.n_rows:
            keys = np.concatenate([keys, np.zeros(room - self.n_rows, np.uint64)])
        self._place(keys, np.full(n_slots(len(keys)), EMPTY, np.uint64))
        self.room = room if room > self.n_rows else 0
        for row in range(self.n_rows):
            if row + AHEAD < self.n_rows:
                self.expect(self.keys_at[row + AHEAD])
            taken += put(self.slots_at, self.mask, self.keys_at[row], row)
            if taken > MOST_TAKEN * (self.n_rows + 64):
                raise ValueError("the feature keys are not hashes: too many are alike")

    cdef KeyTable open(self, bint grow):
        """Return this table, to add keys until `close`, or a view of it, to look keys up.

        A view keeps its arrays alive. A thread can use it without the GIL while another thread packs the
        table or adds keys, which may replace the arrays. A view may or may not find keys added later.
        """
        cdef KeyTable view
        while self.slots_at == NULL:
            self.ready()
        if not grow:
            view = KeyTable.__new__(KeyTable)
            view.slot_array, view.slots_at, view.mask = self.slot_array, self.slots_at, self.mask
            view.key_array, view.keys_at = self.key_array, self.keys_at
            view.n_rows, view.short, view.taken = self.n_rows, self.short, True
            return view
        if self.taken:
            raise RuntimeError("another thread is adding features to this table; wait until training ends")
        self.taken = True
        return self

    cdef int close(self, bint grow) except -1:
        if grow:
            self.taken = False
        return 0

    cdef int _place(self, keys, slots) except -1:
        """Replace both arrays at once; a read-only or borrowed array is copied before the first change."""
        cdef const uint64_t[::1] slot_view = slots
        cdef const uint64_t[::1] key_view = keys
        old = self.slot_array, self.key_array   # freed only after both are replaced
        self.slot_array, self.slots_at, self.mask = slots, <uint64_t*>&slot_view[0], slot_view.shape[0] - 1
        self.key_array, self.keys_at = keys, <uint64_t*>&key_view[0] if key_view.shape[0] else NULL
        del old
        return 0

    cdef int _grow(self, Py_ssize_t room=0) except -1:
        """Make room for at least one more row, in our own arrays, at most half full."""
        if self.n_rows >= 2**31 - 2:
            raise OverflowError("more than 2**31 features")
        keys = np.zeros(max(32, 2 * self.n_rows, room), np.uint64)
        keys[:self.n_rows] = self.key_array[:self.n_rows]
        self._place(keys, new_slots(keys, self.n_rows, n_slots(len(keys))))
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
        if not self.taken:
            self.slots_at = NULL
            self.slot_array = None

    cdef int ready(self) except -1:
        """Build the slots if `pack` has freed them."""
        keys, n = self.key_array, self.n_rows
        slots = new_slots(keys, n, n_slots(len(keys)))
        if self.slots_at == NULL and self.key_array is keys and self.n_rows == n:
            self._place(keys, slots)    # otherwise another thread changed them while NumPy ran
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
        result = np.empty(wanted.shape[0], np.int32)
        cdef int32_t[::1] out = result
        cdef KeyTable table = self.open(grow)
        try:
            with nogil:
                for i in range(wanted.shape[0]):
                    if i + AHEAD < wanted.shape[0]:
                        table.expect(wanted[i + AHEAD])
                    out[i] = table.add(wanted[i]) if grow else table.find(wanted[i])
        finally:
            table.close(grow)
        return result

    def reserve(self, Py_ssize_t n):
        """Make room for n rows at once, instead of growing step by step."""
        if n > self.room and n < 2**31 - 1:
            self.open(grow=True)
            try:
                self._grow(n)
            finally:
                self.close(grow=True)

    def truncate(self, Py_ssize_t n):
        """Forget the rows from n on."""
        if n >= self.n_rows:
            return
        if self.slots_at != NULL:
            self.open(grow=True)
            try:
                self._place(self.key_array, new_slots(self.key_array, n, len(self.slot_array)))
            finally:
                self.close(grow=True)
        self.n_rows, self.room = n, 0

    def __len__(self):
        return self.n_rows

    def __reduce__(self):
        return KeyTable, (self.halves if self.short else np.array(self.keys),)
