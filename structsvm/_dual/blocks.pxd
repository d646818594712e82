# cython: language_level=3
from libc.stdint cimport int32_t, uint32_t

cdef enum:
    SHIFT = 3
    BLOCK = 1 << SHIFT


cdef packed struct Cell:    # of `structsvm.files.SparseRows`
    uint32_t label
    float value


cdef class Blocks:
    cdef readonly Py_ssize_t n_weights      # the length of w
    cdef double* cells                      # the blocks that take memory, in the order of their first use
    cdef int32_t* places                    # of each block of w among the cells; `zeros` if it has none
    cdef int32_t* origins                   # the other way round
    cdef int32_t zeros                      # a place that stays zero
    cdef int32_t n_places
    cdef object cell_array, place_array, origin_array

    cdef void locate(self, const int32_t* indices, int32_t* places, Py_ssize_t n) noexcept nogil
    cdef void settle(self, int32_t* indices, Py_ssize_t n) noexcept nogil
    cdef void name(self, const int32_t* places, int32_t* indices, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t copy_row(self, Py_ssize_t first, Py_ssize_t width, Cell* to) noexcept nogil
    cdef double at(self, Py_ssize_t index) noexcept nogil
