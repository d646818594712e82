# cython: language_level=3
cdef extern from "structsvm/problems/sequence/_forward.h" nogil:
    double forward_step(
        double* next, const double* previous, const double* table, const double* weight,
        Py_ssize_t n_labels, Py_ssize_t stride)


cdef class Chain:
    cdef readonly Py_ssize_t n_labels
    cdef Py_ssize_t stride, room    # labels, padded; tokens
    cdef double* emission           # tokens x stride: exp(score), or 0 for labels that are not allowed
    cdef double* forward            # tokens x stride
    cdef double* after              # stride x 2
    cdef double* table              # labels x stride: exp(weight of a pair)
    cdef double* turned             # the same, transposed
    cdef double* pairs              # labels x stride: sums of forward times backward
    cdef double* share              # stride: the probabilities of a token's labels
    cdef double* ones               # stride
    cdef double highest             # weight of a pair
    cdef const float* barred        # of pairs, labels x stride: 0 where allowed; or NULL

    cdef int widen(self, Py_ssize_t n_tokens) except -1 nogil
    cdef void tabulate(self, const double* pairs, Py_ssize_t width, double scale) noexcept nogil
    cdef double forwards(self, Py_ssize_t n) noexcept nogil
    cdef void backwards(self, Py_ssize_t first, Py_ssize_t n, double sign, double* out) noexcept nogil
    cdef void spend(self, Py_ssize_t token, double* out) noexcept nogil
    cdef void clear_pairs(self) noexcept nogil
    cdef void add_expected_pairs(self, double* out, Py_ssize_t width) noexcept nogil
