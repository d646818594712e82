# cython: language_level=3
"""Attributes of words, computed once for each distinct word."""
from libc.stdint cimport uint64_t

from taggers.features._table cimport KeyTable

cdef struct Recipe:
    int kind        # of the attribute; 0 for one that only Python knows
    int n           # its length, for a prefix or suffix


cdef class Lexicon:
    cdef KeyTable words
    cdef readonly tuple names           # the attributes
    cdef list functions                 # their definitions in Python
    cdef readonly Py_ssize_t limit      # forget all words when there are more
    cdef Py_ssize_t width
    cdef Py_ssize_t room
    cdef Recipe* recipes
    cdef uint64_t* values               # [room, width]: the hashes of each word's attributes, 0 for none
    cdef bint compiled                  # no attribute needs Python
    cdef KeyTable classified            # the words that have a class, in lower case
    cdef const uint64_t[::1] class_values

    cdef inline const uint64_t* known(self, uint64_t key) noexcept nogil:
        """The attributes of the word with this hash, until the next call; NULL where it is new."""
        cdef Py_ssize_t row = self.words.find(key)
        return self.values + row * self.width if row >= 0 else NULL

    cdef inline uint64_t word_class(self, uint64_t lower) noexcept nogil:
        cdef Py_ssize_t row = self.classified.find(lower)
        return self.class_values[row] if row >= 0 else 0

    cdef const uint64_t* entry(self, uint64_t key, const char* text, Py_ssize_t n) except NULL nogil
    cdef int forget(self) except -1 nogil
    cdef int _derive(self, uint64_t* values, const char* text, Py_ssize_t n) except -1
