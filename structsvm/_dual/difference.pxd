# cython: language_level=3
"""Sparse differences in the form that the dual keeps."""
from libc.stdint cimport int32_t

cdef extern from "structsvm/_dual/difference.h" nogil:
    ctypedef struct Difference:
        Py_ssize_t n            # entries, each with an index of its own
        int32_t plus            # those of 1 end here,
        int32_t minus           # those of -1 here, and the others are behind; each of the three sorted
        int32_t* index
        const double* value     # of the others

    bint is_pair(const Difference* x)
    Difference pair_of(
        int32_t* rows, const double* value, Py_ssize_t n, int32_t a, int32_t b)
    double difference_dot(const double* w, const Difference* x)
    void difference_add(double* w, double scale, const Difference* x)
    double difference_norm(const Difference* x)
    double difference_inner(const Difference* a, const Difference* b)
    bint difference_equal(const Difference* a, const Difference* b)
    int pack_units(
        Difference* to, const int32_t* index, double* value, Py_ssize_t n, int32_t* room,
        int (*poll)() noexcept nogil)
    void pack_sorted(Difference* to, const int32_t* index, double* value, Py_ssize_t n, int32_t* room)
    void difference_renumber(Difference* x, const int32_t* row_of, Py_ssize_t stride)
    Py_ssize_t difference_size(const Difference* x)
    void unpack(const Difference* x, int32_t* index, double* value)
