# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The best tree over arc scores; score[h * (n + 1) + d] is that of the arc from h to d, and 0 is the root."""
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int32_t
from libc.stdlib cimport free, realloc

import numpy as np


cdef int widen(Room* room, Py_ssize_t n) except -1 nogil:
    """Make room for n words."""
    cdef Py_ssize_t size = (n + 1) * (n + 1)
    cdef double* values
    cdef int32_t* numbers
    if n <= room.n:
        return 0
    values = <double*>realloc(room.values, 4 * size * sizeof(double))
    if values != NULL:
        room.values = values
    numbers = <int32_t*>realloc(room.numbers, (4 * size + 4 * (n + 1)) * sizeof(int32_t))
    if numbers != NULL:
        room.numbers = numbers
    if values == NULL or numbers == NULL:
        with gil:
            raise MemoryError(f"no memory for the arcs of a sentence of {n} words")
    room.n = n
    return 0


cdef void eisner(const double* score, Py_ssize_t n, int32_t* head, Room* room) noexcept nogil:
    """Find the best projective tree with one root, in time n ** 3.

    Spans over the words a to b: complete or not, with the head on the left (right-headed: on the right).
    Each is the best one; its split is kept. The root is added at the end, so that it has one child.
    """
    cdef Py_ssize_t width = n + 1, size = width * width, length, a, b, k, at, top = 0
    cdef double* left = room.values             # incomplete, headed by a: arc a -> b
    cdef double* right = left + size            # incomplete, headed by b: arc b -> a
    cdef double* from_left = right + size       # complete, headed by a
    cdef double* from_right = from_left + size  # complete, headed by b
    cdef int32_t* split = room.numbers          # of incomplete spans
    cdef int32_t* split_left = split + size     # of complete spans
    cdef int32_t* split_right = split_left + size
    cdef int32_t* stack = split_right + size
    cdef double value, best
    cdef int32_t root, kind
    for a in range(1, n + 1):
        from_left[a * width + a] = from_right[a * width + a] = 0
    for length in range(1, n):
        for a in range(1, n - length + 1):
            b = a + length
            at = a * width + b
            best = -INFINITY
            split[at] = <int32_t>a
            for k in range(a, b):
                value = from_left[a * width + k] + from_right[(k + 1) * width + b]
                if value > best:
                    best, split[at] = value, <int32_t>k
            left[at] = best + score[a * width + b]
            right[at] = best + score[b * width + a]
            best = -INFINITY
            split_left[at] = <int32_t>b
            for k in range(a + 1, b + 1):
                value = left[a * width + k] + from_left[k * width + b]
                if value > best:
                    best, split_left[at] = value, <int32_t>k
            from_left[at] = best
            best = -INFINITY
            split_right[at] = <int32_t>a
            for k in range(a, b):
                value = from_right[a * width + k] + right[k * width + b]
                if value > best:
                    best, split_right[at] = value, <int32_t>k
            from_right[at] = best
    best, root = -INFINITY, 1
    for k in range(1, n + 1):
        value = score[k] + from_right[width + k] + from_left[k * width + n]
        if value > best:
            best, root = value, <int32_t>k
    head[root] = 0
    # A span is its ends and its kind: 0 complete, headed by a; 1 by b; 2 and 3 the same, incomplete.
    stack[0], stack[1], stack[2] = 1, root, 1
    stack[3], stack[4], stack[5] = root, <int32_t>n, 0
    top = 2
    while top:
        top -= 1
        a, b, kind = stack[3 * top], stack[3 * top + 1], stack[3 * top + 2]
        if a == b:
            continue
        at = a * width + b
        if kind >= 2:
            if kind == 2:
                head[b] = <int32_t>a
            else:
                head[a] = <int32_t>b
            k = split[at]
            stack[3 * top], stack[3 * top + 1], stack[3 * top + 2] = <int32_t>a, <int32_t>k, 0
            stack[3 * top + 3], stack[3 * top + 4], stack[3 * top + 5] = <int32_t>(k + 1), <int32_t>b, 1
        elif kind == 0:
            k = split_left[at]
            stack[3 * top], stack[3 * top + 1], stack[3 * top + 2] = <int32_t>a, <int32_t>k, 2
            stack[3 * top + 3], stack[3 * top + 4], stack[3 * top + 5] = <int32_t>k, <int32_t>b, 0
        else:
            k = split_right[at]
            stack[3 * top], stack[3 * top + 1], stack[3 * top + 2] = <int32_t>a, <int32_t>k, 1
            stack[3 * top + 3], stack[3 * top + 4], stack[3 * top + 5] = <int32_t>k, <int32_t>b, 3
        top += 2


cdef void spanning(const double* score, Py_ssize_t n, int32_t* head, Room* room) noexcept nogil:
    """Find the best tree with one root, in time n ** 3: contract cycles (Chu-Liu and Edmonds), then expand.

    An arc from the root costs more than all other arcs together, so that the best tree has only one.
    """
    cdef Py_ssize_t width = n + 1, size = width * width, k, m = width, cycles = 0
    cdef double* value = room.values            # of the arcs between nodes, words or contracted cycles
    cdef int32_t* source = room.numbers         # the arcs between words that they stand for
    cdef int32_t* target = source + size
    cdef int32_t* member = target + size        # for each cycle and word: its node in the cycle, or -1
    cdef int32_t* within = member + size        # for each cycle and node: the arc in the cycle that enters it
    cdef int32_t* node = within + size          # the nodes that are left, the root first
    cdef int32_t* best = node + width           # the best head of each node
    cdef int32_t* mark = best + width
    cdef int32_t* of_word = mark + width        # the node of each word
    cdef int32_t h, d, start
    cdef double large = 1
    for h in range(width):
        for d in range(1, width):
            large += 2 * fabs(score[h * width + d]) if h != d else 0
    for h in range(width):
        node[h] = of_word[h] = h
        for d in range(1, width):
            value[h * width + d] = score[h * width + d] - (large if h == 0 else 0)
            source[h * width + d], target[h * width + d] = h, d
    while True:
        for k in range(1, m):
            best[node[k]] = best_head(value, width, node, m, node[k])
        start = on_cycle(node, m, best, mark)
        if start < 0:
            break
        for k in range(m):
            mark[node[k]] = -1
        d = start
        while mark[d] < 0:
            mark[d] = 1
            within[cycles * width + d] = best[d] * <int32_t>width + d
            d = best[d]
        # Arcs between words, because those between nodes change.
        for k in range(m):
            if mark[node[k]] > 0:
                d = within[cycles * width + node[k]]
                within[cycles * width + node[k]] = source[d] * <int32_t>width + target[d]
        for k in range(width):
            member[cycles * width + k] = of_word[k] if mark[of_word[k]] > 0 else -1
        m = contract(value, source, target, width, node, m, best, mark, start)
        for k in range(width):
            if member[cycles * width + k] >= 0:
                of_word[k] = start
        cycles += 1
    for k in range(width):
        head[k] = -1
    for k in range(1, m):
        d = best[node[k]] * <int32_t>width + node[k]
        head[target[d]] = source[d]
    while cycles:
        cycles -= 1
        expand(member + cycles * width, within + cycles * width, width, head)


cdef inline int32_t best_head(
    const double* value, Py_ssize_t width, const int32_t* node, Py_ssize_t m, int32_t d
) noexcept nogil:
    cdef Py_ssize_t k
    cdef int32_t best = -1
    for k in range(m):
        if node[k] != d and (best < 0 or value[node[k] * width + d] > value[best * width + d]):
            best = node[k]
    return best


cdef int32_t on_cycle(const int32_t* node, Py_ssize_t m, const int32_t* best, int32_t* mark) noexcept nogil:
    """Return a node on a cycle of best heads, or -1."""
    cdef Py_ssize_t k
    cdef int32_t d
    for k in range(m):
        mark[node[k]] = -1
    for k in range(1, m):
        d = node[k]
        while d and mark[d] < 0:
            mark[d] = node[k]
            d = best[d]
        if d and mark[d] == node[k]:
            return d
    return -1


cdef Py_ssize_t contract(
    double* value, int32_t* source, int32_t* target, Py_ssize_t width, int32_t* node, Py_ssize_t m,
    const int32_t* best, const int32_t* mark, int32_t start
) noexcept nogil:
    """Make one node of a cycle, the marked nodes, and return how many nodes are left.

    An arc into the cycle replaces the arc within that enters the same node.
    """
    cdef Py_ssize_t k, j, left = 0
    cdef int32_t u, c, into, out
    cdef double more
    for k in range(m):
        u = node[k]
        if mark[u] > 0:
            continue
        into = out = -1
        for j in range(m):
            c = node[j]
            if mark[c] < 0:
                continue
            if out < 0 or value[c * width + u] > value[out * width + u]:
                out = c
            more = value[u * width + c] - value[best[c] * width + c]
            if into < 0 or more > value[u * width + into] - value[best[into] * width + into]:
                into = c
        more = value[u * width + into] - value[best[into] * width + into]
        source[u * width + start] = source[u * width + into]
        target[u * width + start] = target[u * width + into]
        value[u * width + start] = more
        if u:
            value[start * width + u] = value[out * width + u]
            source[start * width + u], target[start * width + u] = (
                source[out * width + u], target[out * width + u])
    for k in range(m):
        if mark[node[k]] < 0 or node[k] == start:
            node[left] = node[k]
            left += 1
    return left


cdef void expand(
    const int32_t* member, const int32_t* within, Py_ssize_t width, int32_t* head
) noexcept nogil:
    """Keep the arcs within a cycle but the one into the node that an arc from outside enters."""
    cdef Py_ssize_t k
    cdef int32_t entered = -1
    for k in range(1, width):
        if member[k] >= 0 and head[k] >= 0:
            entered = member[k]
    for k in range(1, width):
        if member[k] >= 0 and member[k] != entered:
            head[within[member[k]] % width] = within[member[k]] // <int32_t>width


cdef class Trees:
    """The best trees over arrays of arc scores, for Python."""

    cdef Room room

    def __dealloc__(self):
        free(self.room.values)
        free(self.room.numbers)

    def best(self, scores, bint projective=True) -> np.ndarray:
        """The head of each word; scores[h, d] is that of the arc from h to d, counted from 1; 0: the root."""
        cdef const double[:, ::1] score = np.ascontiguousarray(scores, np.float64)
        cdef Py_ssize_t n = score.shape[0] - 1
        if n < 1 or score.shape[1] != n + 1:
            raise ValueError(f"scores must have n + 1 rows and columns for n words, got {scores.shape}")
        if not np.isfinite(score).all():
            raise ValueError("the scores of arcs must be finite")
        heads = np.empty(n + 1, np.int32)
        cdef int32_t[::1] head = heads
        with nogil:
            widen(&self.room, n)
            if projective:
                eisner(&score[0, 0], n, &head[0], &self.room)
            else:
                spanning(&score[0, 0], n, &head[0], &self.room)
        return heads[1:]
