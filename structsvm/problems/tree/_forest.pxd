# cython: language_level=3
from libc.stdint cimport int32_t


cdef struct Edge:
    int32_t head, left, right       # nodes; left -1: a terminal; right -1: one child
    int32_t rule                    # -1 inside of a right side
    int32_t a, b                    # what it adds to the counts


cdef struct Trees:
    Py_ssize_t n_nodes, n_edges, n_strata, n_gold
    Edge* edges
    int32_t* offset                 # of the strata of a node, n_nodes + 1 of them
    int32_t* width                  # how many values b takes in a node
    int32_t limit                   # of a: a higher count is taken for this one
    const int32_t* gold             # the rules of the right tree
    const double* loss              # of the strata of the root
    double work                     # multiply-adds of a pass over all strata


cdef class Forest:
    cdef Trees trees
    cdef Py_ssize_t capacity
    cdef readonly object words      # the terminals
    cdef readonly object gold       # the arrays behind trees.gold and trees.loss
    cdef readonly object loss

    cdef int add(self, Py_ssize_t head, Py_ssize_t left, Py_ssize_t right, Py_ssize_t rule) except -1
    cdef int keep(self, const char[::1] useful) except -1
    cdef int lay_out(self) except -1


cdef class Chart:
    cdef readonly object problem
    cdef object productions
    cdef const int32_t[:, ::1] binary, unary, starts
    cdef const int32_t[::1] first           # binary rules by their first symbol

    cdef Forest with_gold(self, words, tree)
    cdef Forest forest(self, const int32_t[::1] words, const int32_t[:, ::1] gold)
    cdef int fill(
        self, Forest forest, const int32_t[::1] words, int32_t[:, ::1] node, list spans, Py_ssize_t i,
        Py_ssize_t j) except -1
    cdef Py_ssize_t made(
        self, Forest forest, int32_t[:, ::1] node, list spans, Py_ssize_t here, Py_ssize_t i,
        Py_ssize_t symbol) except -1
    cdef int mark(self, Forest forest, char[::1] useful) except -1
    cdef int count(
        self, Forest forest, const int32_t[:, ::1] node, const int32_t[:, ::1] places,
        const int32_t[:, ::1] gold) except -1
