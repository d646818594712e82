# cython: language_level=3
from libc.stdint cimport int32_t

from structsvm._dual.oracle cimport Oracle


cdef struct Input:
    Py_ssize_t n
    Py_ssize_t n_targets
    double* value           # one block: values, indices, targets
    int32_t* index          # where the weights of each feature begin: feature * width
    int32_t* target
    bint paired             # whether differences can be pairs of this input; see difference.h


cdef class SparseInputs(Oracle):
    cdef readonly object problem
    cdef Input* inputs
    cdef Py_ssize_t n_slots, inputs_capacity
    cdef Py_ssize_t* free_slots
    cdef Py_ssize_t n_free
    cdef readonly Py_ssize_t width      # weights of one input feature
    cdef double* scores                 # width of them

    cdef void project(self, Input* x, const double* w) noexcept nogil
    cdef int emit(self, Input* x, const double* q) except -1 nogil
    cdef int store(
        self, Py_ssize_t slot, const int32_t* index, const double* value, Py_ssize_t n,
        const int32_t* target, Py_ssize_t n_targets
    ) except -1
    cdef int need(self, Py_ssize_t n_slots) except -1
