# cython: language_level=3
"""The dual of the structured SVM as the schedules see it: three steps and a value."""
from libc.stdint cimport uint64_t


cdef enum:
    OPTIMIZE_BURST = 10     # OPTIMIZE steps of one REPROCESS


cdef class Dual:
    cdef readonly double C
    cdef public double tau                  # SMOSTEP exits where the gradient gained is no larger
    cdef readonly double kappa              # an output gives only if it has at least kappa * C
    cdef readonly bint squared              # quadratic slacks
    cdef readonly double dual               # the dual objective
    cdef readonly double cost               # work done, in multiply-adds: a clock that is the same everywhere
    cdef readonly long long n_argmax
    cdef readonly long long n_steps
    cdef readonly Py_ssize_t n_patterns     # support patterns, at positions 0 .. n_patterns - 1
    cdef readonly Py_ssize_t n_outputs      # their outputs, the true ones not counted
    cdef readonly Py_ssize_t block          # patterns to visit in one call; 0: any number
    cdef double limit                       # upper limit of the dual objective; 0: none
    cdef double polled                      # the cost at the last check for Ctrl-C
    cdef double last_gap                    # gradient difference that the last optimize() met
    cdef uint64_t rng

    cdef int process_new(self, Py_ssize_t slot) except -1 nogil
    cdef int process_old(self, Py_ssize_t position) except -1 nogil
    cdef int optimize(self, Py_ssize_t position) except -1 nogil
    cdef int optimize_burst(self) except -1 nogil
    cdef void prefetch(self, Py_ssize_t position, int stage) noexcept nogil
    cdef int cut(self, Py_ssize_t slot, double epsilon) except -1 nogil
    cdef int poll(self) except -1 nogil
    cdef void require_margin(self, double norm, double loss) noexcept nogil
    cdef int pause(self, Py_ssize_t n) except -1 nogil
    cdef Py_ssize_t pick(self) noexcept nogil
