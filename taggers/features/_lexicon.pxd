# cython: language_level=3
"""Attributes of words, computed once for each distinct word."""
from libc.stdint cimport int32_t, uint64_t

from taggers.features._table cimport KeyTable

cdef struct Recipe:
    int kind                        # of the attribute; 0 for one that only Python knows
    int n                           # its length, for a prefix, a suffix or an n-gram
    int place                       # of an n-gram among the different ones of the word, from 1
    const uint64_t* slots           # for a word class: the table of the words that have one
    const uint64_t* keys
    uint64_t mask
    const int32_t* classes          # the class of each of them
    const uint64_t* values          # the value of each class
    bint again                      # the classes of the attribute before: the word need not be looked up


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
    cdef Py_ssize_t sentence            # of the columns that are read, for messages; -1 for a single word
    cdef Py_ssize_t token               # the same within the sentence
    cdef list classes                   # what the recipes of word classes point into

    cdef inline const uint64_t* known(self, uint64_t key) noexcept nogil:
        """The attributes of the word with this hash, until the next call; NULL where it is new."""
        cdef Py_ssize_t row = self.words.find(key)
        return self.values + row * self.width if row >= 0 else NULL

    cdef const uint64_t* entry(self, uint64_t key, const char* text, Py_ssize_t n) except NULL nogil
    cdef int begin(self, Py_ssize_t sentence) except -1 nogil
    cdef int _derive(self, uint64_t* values, const char* text, Py_ssize_t n) except -1
    cdef bytes _value(self, Py_ssize_t at, str word)
    cdef int _classify(self, Py_ssize_t at, word_classes, int bits) except -1
