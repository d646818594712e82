# cython: language_level=3
"""A list of entries of one or more words, for compiled matching."""
from libc.stdint cimport uint8_t, uint64_t

from taggers.features._table cimport KeyTable

# Where the entries of a gazetteer are, and where the values of a sentence's tokens go.
cdef struct Matcher:
    const uint64_t* slots
    const uint64_t* keys
    uint64_t mask
    const uint8_t* ends
    Py_ssize_t source       # among a token's values: the hash of the word, or of its lower-case form
    Py_ssize_t position     # among a token's values: B, I, E or S; -1 if no pattern reads it
    Py_ssize_t length       # among a token's values: the words of the match; -1 if no pattern reads it


cdef class Gazetteer:
    cdef readonly KeyTable table        # the key of each beginning of an entry
    cdef readonly object ends           # uint8: whether an entry ends there
    cdef readonly bint folded           # entries are in lower case, and match words in lower case

    cdef int place(self, Matcher* matcher) except -1


cdef void put_matches(
    const Matcher* matcher, uint64_t* values, Py_ssize_t width, Py_ssize_t n
) noexcept nogil
