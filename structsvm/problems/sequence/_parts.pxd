# cython: language_level=3
from libc.stdint cimport int32_t


cdef struct Tree:                   # of a LabelParts
    Py_ssize_t n_labels, n_parts, n_nodes, longest
    const int32_t* ptr
    const int32_t* ids
    const int32_t* parent
    const int32_t* part
    const int32_t* node


cdef class Parts:
    cdef Tree tree
    cdef const int32_t[::1] ptr, ids, parent, part, node


cdef inline void add_nodes_float(const Tree* tree, const float* parts, float* nodes) noexcept nogil:
    """nodes[n]: the sum of the scores of the parts of node n; nodes[-1] is 0."""
    cdef Py_ssize_t n
    nodes[-1] = 0
    for n in range(tree.n_nodes):
        nodes[n] = nodes[tree.parent[n]] + parts[tree.part[n]]


cdef inline void add_nodes_double(const Tree* tree, const double* parts, double* nodes) noexcept nogil:
    cdef Py_ssize_t n
    nodes[-1] = 0
    for n in range(tree.n_nodes):
        nodes[n] = nodes[tree.parent[n]] + parts[tree.part[n]]
