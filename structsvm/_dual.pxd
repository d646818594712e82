# cython: language_level=3
"""The dual of the structured SVM as the schedules see it: three steps and a value."""
from libc.stdint cimport uint64_t


cdef class Dual:
    cdef readonly double C
    cdef readonly double tau          # a step smaller than this in gradient is not taken
    cdef readonly double kappa        # an output with less room than this (times C) cannot give
    cdef readonly bint squared        # quadratic slacks
    cdef readonly double dual         # the dual objective
    cdef readonly double cost         # work done, in multiply-adds: a clock that is the same everywhere
    cdef readonly long long n_argmax
    cdef readonly long long n_steps
    cdef readonly Py_ssize_t n_patterns     # support patterns, at positions 0..n_patterns-1
    cdef readonly Py_ssize_t n_outputs      # support vectors, the true outputs not counted
    cdef double last_gap              # gradient difference met by the last optimize()
    cdef uint64_t rng

    cdef int process_new(self, Py_ssize_t slot) except -1 nogil
    cdef int process_old(self, Py_ssize_t position) except -1 nogil
    cdef int optimize(self, Py_ssize_t position) except -1 nogil
    cdef int cut(self, Py_ssize_t slot, double epsilon) except -1 nogil
    cdef double slack(self, Py_ssize_t slot) except -1.0 nogil
    cdef Py_ssize_t pick(self) noexcept nogil
