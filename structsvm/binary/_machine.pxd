# cython: language_level=3
from libc.stdint cimport int64_t, uint64_t

from structsvm.kernels.kernel_cache cimport KernelRows


cdef class Machine:
    cdef readonly KernelRows rows
    cdef readonly double bias
    cdef readonly int64_t n_steps
    cdef uint64_t rng
    cdef double[::1] alpha                  # of support patterns, with the sign of y
    cdef double[::1] f                      # sum_s alpha_s k(x_s, x), without the bias
    cdef double[::1] y
    cdef double[::1] upper                  # C times the weight
    cdef const double[::1] labels           # y and upper of the batch, by slot
    cdef const double[::1] uppers

    cdef int visit(self, Py_ssize_t slot) except -1 nogil
    cdef double score(self, Py_ssize_t slot) noexcept nogil
    cdef Py_ssize_t insert(self, Py_ssize_t slot, double f) except -1 nogil
    cdef int remove(self, Py_ssize_t p) except -1 nogil
    cdef int change(self, Py_ssize_t p, double step) except -1 nogil
    cdef void reserve(self, Py_ssize_t capacity)
