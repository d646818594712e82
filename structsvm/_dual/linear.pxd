# cython: language_level=3
from libc.stdint cimport int32_t

from structsvm._dual.blocks cimport Blocks
from structsvm._dual.difference cimport Difference
from structsvm._dual.dual cimport Dual
from structsvm._dual.oracle cimport Oracle


cdef struct Output:
    double alpha            # -beta of the papers, >= 0
    double loss             # as the dual sees it: rescaled, or its root with quadratic slacks
    double norm             # squared norm of the difference
    double v                # violation, valid within one step only
    Difference d            # d(y), with places for indices where w is in blocks
    Py_ssize_t round        # of a shard, in which it was last added to w; otherwise 0


cdef struct Pattern:
    Py_ssize_t slot
    double upper            # C times the sample weight
    double beta             # of the true output: the sum of the alphas
    Py_ssize_t n, capacity
    Output* outputs         # in one block with the products
    double* products        # <d(a), d(b)>, capacity x capacity, NaN if not known yet; NULL if there are many


cdef class LinearDual(Dual):
    cdef readonly Oracle oracle
    cdef object array                       # w, or
    cdef readonly Blocks blocks             # w if it is in blocks, otherwise None
    cdef readonly double sigma              # factor of the squared norms
    cdef bint takes_pairs                   # whether outputs can be pairs; see difference.h
    cdef double* w
    cdef Pattern* patterns
    cdef Py_ssize_t capacity
    cdef Py_ssize_t* position               # of a slot among the support patterns, or -1
    cdef double* upper                      # of a slot
    cdef char* held                         # whether a slot stays when it is no support pattern
    cdef Py_ssize_t n_slots
    cdef Difference looked                  # what the oracle found, once `pack` was called; with indices
    cdef int32_t* room                      # where it lies
    cdef int32_t* spare                     # places or indices of one or two differences
    cdef Py_ssize_t n_spare
    cdef Py_ssize_t packable                # entries that there is room for
    cdef bint packed                        # whether `pack` was called for what was found last
    cdef Py_ssize_t most_products           # outputs of a pattern whose inner products are kept

    cdef double look(self, Py_ssize_t slot, bint counted, double floor) except? -1.0 nogil
    cdef int pack(self) except -1 nogil
    cdef bint spare_for(self, Py_ssize_t n) noexcept nogil
    cdef const int32_t* located(self, const int32_t* indices, Py_ssize_t n) except NULL nogil
    cdef Difference named(self, const Difference* d, int32_t* room) noexcept nogil
    cdef double norm(self, Pattern* p, Py_ssize_t k) noexcept nogil
    cdef double true_violation(self, Pattern* p) noexcept nogil
    cdef int violations(self, Pattern* p) except -1 nogil
    cdef Py_ssize_t giver(self, Pattern* p, double* v) noexcept nogil
    cdef Py_ssize_t taker(self, Pattern* p, double* v) noexcept nogil
    cdef Py_ssize_t match(self, Pattern* p) noexcept nogil
    cdef int step(self, Pattern* p, Py_ssize_t a, Py_ssize_t b, double gap) except -1 nogil
    cdef void shift(self, double step, Output* out) noexcept nogil
    cdef double inner(self, const Difference* a, const Difference* b) noexcept nogil
    cdef Pattern* insert_pattern(self, Py_ssize_t slot) except NULL nogil
    cdef double product(self, Pattern* p, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef bint widen(self, Pattern* p) noexcept nogil
    cdef Py_ssize_t insert_output(self, Pattern* p) except -1 nogil
    cdef void remove_output(self, Pattern* p, Py_ssize_t k) noexcept nogil
    cdef int remove_pattern(self, Py_ssize_t position) except -1 nogil
