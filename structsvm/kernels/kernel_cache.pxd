# cython: language_level=3
from libc.stdint cimport int64_t


cdef class KernelRows:
    cdef readonly object inputs             # a structsvm.kernels.functions.Inputs: patterns and their kernels
    cdef readonly int64_t n_kernels         # kernel values computed
    cdef readonly Py_ssize_t n              # support patterns
    cdef readonly Py_ssize_t capacity
    cdef readonly Py_ssize_t n_rows         # rows in the cache
    cdef public object kept                 # KeptValues of other patterns, or None

    cdef bint single                        # rows hold float32, not float64
    cdef Py_ssize_t size                    # bytes of a kernel value
    cdef double cache_bytes
    cdef double[::1] diagonal               # of support patterns
    cdef Py_ssize_t[::1] slot               # of a support pattern in the current batch, or -1
    cdef Py_ssize_t[::1] position           # of a slot among the support patterns, or -1
    cdef char** rows                        # of support patterns, or NULL where evicted
    cdef Py_ssize_t[::1] filled             # how much of a row there is
    cdef Py_ssize_t[::1] length             # how much of it there is room for
    cdef double n_bytes                     # of all rows in the cache
    cdef int64_t[::1] used                  # when the row was last used
    cdef int64_t now

    cdef Py_ssize_t n_block                 # the patterns to come next: their rows, and kernels of each other
    cdef char** block_rows
    cdef Py_ssize_t block_length            # of each
    cdef double[:, ::1] block_kernel
    cdef Py_ssize_t[::1] block_slots
    cdef Py_ssize_t[::1] pending            # of a slot in the block, or -1

    cdef bint interrupted                   # by Ctrl-C, which waits until a step is complete
    cdef object interrupt

    cdef char* fetch(self, Py_ssize_t p) except NULL nogil
    cdef bint fill(self, Py_ssize_t p) noexcept nogil
    cdef void fill_all(self) noexcept
    cdef void complete(self, char* row, Py_ssize_t p) noexcept nogil
    cdef Py_ssize_t roomy(self) noexcept nogil
    cdef bint fits(self) noexcept nogil
    cdef void drop(self, Py_ssize_t p) noexcept nogil
    cdef void hold(self, Py_ssize_t p, char* row, Py_ssize_t length) noexcept
    cdef char* fresh(self, Py_ssize_t slot) noexcept nogil
    cdef double own(self, Py_ssize_t slot) noexcept nogil
    cdef double get(self, char* row, Py_ssize_t at) noexcept nogil
    cdef void put(self, char* row, Py_ssize_t at, double value) noexcept nogil
    cdef double dot(self, char* row, const double* x) noexcept nogil
    cdef void add(self, double* y, double a, char* row) noexcept nogil
    cdef void add_n(self, double* y, double a, char* row, Py_ssize_t n) noexcept nogil
    cdef Py_ssize_t insert(self, Py_ssize_t slot) except -1 nogil
    cdef int remove(self, Py_ssize_t p) except -1 nogil
    cdef int settle(self) except -1 nogil
    cdef void make_room(self) noexcept nogil
    cdef void clear_block(self) noexcept
    cdef int grow(self, Py_ssize_t capacity) except -1
