# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Patterns with one sparse vector x as input and a joint feature q (x) x, for a small vector q of the output.

Weights of one input feature lie side by side: w[feature * width + r]. An oracle for such a problem
subclasses `SparseInputs` and only writes `find`.
"""
from libc.stdint cimport int32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

cdef extern from "structsvm/problems/project.h" nogil:
    void projected(
        double* scores, const double* w, const int32_t* index, const double* value, Py_ssize_t n,
        Py_ssize_t width)

import numpy as np


ROWS = 1024     # converted at a time


cdef class SparseInputs(Oracle):
    """Stores copies of sparse inputs by slot, with the integer targets of each."""

    def __init__(self, problem, Py_ssize_t n_inputs, Py_ssize_t width):
        if n_inputs * width >= 2**31:
            raise ValueError(f"{n_inputs} input features x {width} output features exceed 2**31 weights")
        self.problem = problem
        self.width = width
        self.n_weights = n_inputs * width
        self.scores = <double*>calloc(width, sizeof(double))
        if self.scores == NULL:
            raise MemoryError(f"no memory for {width} scores")

    def __dealloc__(self):
        cdef Py_ssize_t slot
        for slot in range(self.n_slots):
            free(self.inputs[slot].value)
        free(self.inputs)
        free(self.free_slots)
        free(self.scores)

    def add(self, X, y) -> np.ndarray:
        """Store the rows of X with their outputs."""
        X = self.problem.checked(X)
        pointers, targets = self.problem.encode_outputs(y)
        if X.shape[0] != len(pointers) - 1:
            raise ValueError(f"X has {X.shape[0]} patterns but y has {len(pointers) - 1} outputs")
        self.check_targets(pointers, np.asarray(targets))       # all of them, before any is stored
        slots = [np.empty(0, np.intp)]
        for at in range(0, X.shape[0], ROWS):       # so that the copies in other forms stay small
            rows, ends = self.problem.encode_inputs(X[at:at + ROWS]), pointers[at:at + ROWS + 1]
            slots.append(self.add_rows(rows.indptr, rows.indices, rows.data, ends - ends[0],
                                       targets[ends[0]:ends[len(ends) - 1]]))
        return np.concatenate(slots)

    def add_rows(self, indptr, indices, data, pointers, targets) -> np.ndarray:
        """Store inputs, the arrays of a CSR matrix, and targets; all are checked before any is stored."""
        indptr, pointers = check_pointers(indptr, len(indices)), check_pointers(pointers, len(targets))
        if len(indptr) != len(pointers) or np.shape(data) != np.shape(indices):
            raise ValueError("the arrays of the stored patterns do not fit each other")
        check_range("feature", indices, self.n_weights // self.width)
        check_range("target", targets, self.n_targets())
        self.check_targets(pointers, np.asarray(targets))
        cdef const long long[::1] start = np.ascontiguousarray(indptr, dtype=np.int64)
        cdef const long long[::1] first = np.ascontiguousarray(pointers, dtype=np.int64)
        cdef const int32_t[::1] index = np.append(np.asarray(indices, dtype=np.int32), np.int32(0))
        cdef const double[::1] value = np.append(np.asarray(data, dtype=np.float64), 0.0)
        cdef const int32_t[::1] target = np.append(np.asarray(targets, dtype=np.int32), np.int32(0))
        cdef Py_ssize_t k, n = start.shape[0] - 1
        cdef bint old
        result = np.empty(n, dtype=np.intp)
        cdef Py_ssize_t[::1] slots = result
        self.need(self.n_slots + n)
        for k in range(n):
            old = k < self.n_free
            slots[k] = self.free_slots[self.n_free - 1 - k] if old else self.n_slots + k - self.n_free
        for k in range(n):
            self.store(slots[k], &index[start[k]], &value[start[k]], start[k + 1] - start[k],
                       &target[first[k]], first[k + 1] - first[k])
            if self.n_free:
                self.n_free -= 1
            else:
                self.n_slots += 1
        return result

    def n_targets(self) -> int:
        """The number of targets."""
        return self.width

    def check_targets(self, pointers, targets):
        """Refuse targets that `find` does not accept."""

    @property
    def n_stored(self) -> int:
        """The number of stored patterns."""
        return self.n_slots - self.n_free

    def rows(self, const Py_ssize_t[::1] slots) -> dict:
        """The stored patterns of some slots, as the arrays that add_rows takes."""
        cdef Py_ssize_t k
        cdef Input* x
        sizes, counts = [], []
        indices, data, targets = [np.empty(0, np.int32)], [np.empty(0)], [np.empty(0, np.int32)]
        for k in range(slots.shape[0]):
            x = &self.inputs[slots[k]]
            sizes.append(x.n)
            counts.append(x.n_targets)
            if x.n:
                indices.append(np.array(<int32_t[:x.n]>x.index) // np.int32(self.width))
                data.append(np.array(<double[:x.n]>x.value))
            if x.n_targets:
                targets.append(np.array(<int32_t[:x.n_targets]>x.target))
        return {
            "indptr": np.append(0, np.cumsum(sizes, dtype=np.int64)).astype(np.int64),
            "indices": np.concatenate(indices),
            "data": np.concatenate(data),
            "pointers": np.append(0, np.cumsum(counts, dtype=np.int64)).astype(np.int64),
            "targets": np.concatenate(targets),
        }

    cdef int need(self, Py_ssize_t n_slots) except -1:
        cdef void* block
        if n_slots <= self.inputs_capacity:
            return 0
        n_slots += n_slots // 2
        block = realloc(self.inputs, n_slots * sizeof(Input))
        if block != NULL:
            self.inputs = <Input*>block
            block = realloc(self.free_slots, n_slots * sizeof(Py_ssize_t))
        if block == NULL:
            raise MemoryError(f"no memory for {n_slots} patterns")
        self.free_slots = <Py_ssize_t*>block
        self.inputs_capacity = n_slots
        return 0

    cdef int store(
        self, Py_ssize_t slot, const int32_t* index, const double* value, Py_ssize_t n,
        const int32_t* target, Py_ssize_t n_targets
    ) except -1:
        cdef Input* x = &self.inputs[slot]
        cdef Py_ssize_t k, size = n * sizeof(double) + (n + n_targets) * sizeof(int32_t)
        cdef double* block = <double*>malloc(size + 1)
        if block == NULL:
            raise MemoryError(f"no memory for a pattern of {n} features")
        x.n, x.n_targets, x.value = n, n_targets, block
        x.index = <int32_t*>(block + n)
        x.target = x.index + n
        memcpy(x.value, value, n * sizeof(double))
        x.paired = n > 0
        for k in range(n):
            x.index[k] = <int32_t>(index[k] * self.width)
            if value[k] == 0 or value[k] == -1 or k and (
                index[k] <= index[k - 1] or value[k - 1] == 1 and value[k] != 1
            ):
                x.paired = False
        memcpy(x.target, target, n_targets * sizeof(int32_t))
        return 0

    cdef int drop(self, Py_ssize_t slot) except -1 nogil:
        free(self.inputs[slot].value)
        self.inputs[slot].value = NULL
        self.free_slots[self.n_free] = slot
        self.n_free += 1
        return 0

    cdef void project(self, Input* x, const double* w) noexcept nogil:
        """scores[r] = sum over features of x_f w[f * width + r]."""
        projected(self.scores, w, x.index, x.value, x.n, self.width)
        self.found.cost = x.n * self.width

    cdef int emit(self, Input* x, const double* q) except -1 nogil:
        """Fill `found` with the difference q (x) x, in order of index."""
        cdef Py_ssize_t k, r, at = 0, used = 0
        for r in range(self.width):
            used += q[r] != 0
        self.reserve(x.n * used)
        for k in range(x.n):
            for r in range(self.width):
                if q[r] != 0:
                    self.found.index[at] = <int32_t>(x.index[k] + r)
                    self.found.value[at] = x.value[k] * q[r]
                    at += 1
        self.found.n = at
        return 0


def check_pointers(pointers, Py_ssize_t n) -> np.ndarray:
    """Checked starts and ends of the parts of an array of n values: from 0 to n, never decreasing."""
    pointers = whole(pointers)
    last = len(pointers) - 1
    if last < 0 or pointers[0] != 0 or pointers[last] != n or (pointers[1:] < pointers[:last]).any():
        raise ValueError("the arrays of the stored patterns do not fit each other")
    return np.ascontiguousarray(pointers, dtype=np.int64)


def check_range(what, values, Py_ssize_t n):
    """Refuse values outside 0 .. n - 1."""
    values = whole(values)
    if values.size and not 0 <= values.min() <= values.max() < n:
        raise ValueError(f"a stored pattern has a {what} outside 0..{n - 1}")


def whole(values) -> np.ndarray:
    """A 1-d array of integers."""
    values = np.asarray(values)
    if values.ndim != 1 or values.size and values.dtype.kind not in "iu":
        raise ValueError(f"the stored patterns hold an array of {values.dtype} instead of integers")
    return values
