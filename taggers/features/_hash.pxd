# cython: language_level=3
"""Hash texts to 64 bits, and mix hashes."""
from libc.stdint cimport uint64_t

cdef extern from "taggers/features/murmur.h":
    uint64_t murmur "taggers_murmur"(const char* text, Py_ssize_t n, uint64_t seed) noexcept nogil

cdef enum:
    TEXT_SEED = 1       # as in spaCy's StringStore, so the attribute ids of a Doc are our hashes
    PATTERN_SEED = 2
    MARKER_SEED = 3     # so that no word equals the marker beyond the end of a sentence


cdef inline uint64_t hash_text(const char* text, Py_ssize_t n) noexcept nogil:
    """The hash of a value; 0, as in spaCy, for the empty text."""
    return murmur(text, n, TEXT_SEED) if n > 0 else 0


cdef inline uint64_t mix(uint64_t key, uint64_t value) noexcept nogil:
    """A key that depends on both and on their order; one-to-one in `value` for a given key."""
    key = (key ^ value) * <uint64_t>0x9FB21C651E98DF25
    return key ^ (key >> 32)
