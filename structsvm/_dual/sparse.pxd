# cython: language_level=3
"""Small sparse vectors as parallel arrays of int32 indices and doubles, sorted by index."""
from libc.stdint cimport int32_t

from structsvm.signals cimport check_signals

cdef enum:
    SIFTS_PER_POLL = 1 << 18    # entries sorted between two checks for Ctrl-C, for very long sentences


cdef inline double dot_dense(
    const double* w, const int32_t* index, const double* value, Py_ssize_t n
) noexcept nogil:
    # Four sums: one would wait for each addition to end before the next begins.
    cdef double a = 0, b = 0, c = 0, d = 0
    cdef Py_ssize_t k = 0
    while k + 4 <= n:
        a += w[index[k]] * value[k]
        b += w[index[k + 1]] * value[k + 1]
        c += w[index[k + 2]] * value[k + 2]
        d += w[index[k + 3]] * value[k + 3]
        k += 4
    while k < n:
        a += w[index[k]] * value[k]
        k += 1
    return (a + b) + (c + d)


cdef inline void add_to(
    double* w, double scale, const int32_t* index, const double* value, Py_ssize_t n
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        w[index[k]] += scale * value[k]


cdef inline void sift(int32_t* index, double* value, Py_ssize_t root, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t child
    cdef int32_t i = index[root]
    cdef double v = value[root]
    while True:
        child = 2 * root + 1
        if child >= n:
            break
        if child + 1 < n and index[child + 1] > index[child]:
            child += 1
        if index[child] <= i:
            break
        index[root] = index[child]
        value[root] = value[child]
        root = child
    index[root] = i
    value[root] = v


cdef inline Py_ssize_t canonical(int32_t* index, double* value, Py_ssize_t n) except -1 nogil:
    """Sort by index, add up repeats, drop zeros; returns the new length."""
    cdef Py_ssize_t k, m = 0
    cdef int32_t i
    cdef double v
    cdef bint in_order = True
    for k in range(1, n):
        if index[k] < index[k - 1]:
            in_order = False
            break
    if not in_order:  # heapsort: in place, no worst case
        for k in range(n // 2 - 1, -1, -1):
            sift(index, value, k, n)
            if k % SIFTS_PER_POLL == 0:
                with gil:
                    check_signals()
        for k in range(n - 1, 0, -1):
            i, v = index[k], value[k]
            index[k], value[k] = index[0], value[0]
            index[0], value[0] = i, v
            sift(index, value, 0, k)
            if k % SIFTS_PER_POLL == 0:
                with gil:
                    check_signals()
    k = 0
    while k < n:
        i, v = index[k], value[k]
        k += 1
        while k < n and index[k] == i:
            v += value[k]
            k += 1
        if v != 0:
            index[m], value[m] = i, v
            m += 1
    return m
