# cython: language_level=3
"""The best tree over arc scores: projective (Eisner) or any (Chu-Liu and Edmonds), with one root."""
from libc.stdint cimport int32_t


cdef struct Room:
    double* values      # what the algorithms need for sentences of up to `n` words
    int32_t* numbers
    Py_ssize_t n


cdef int widen(Room* room, Py_ssize_t n) except -1 nogil
cdef void eisner(const double* score, Py_ssize_t n, int32_t* head, Room* room) noexcept nogil
cdef void spanning(const double* score, Py_ssize_t n, int32_t* head, Room* room) noexcept nogil
