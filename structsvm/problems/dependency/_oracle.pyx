# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The oracle of dependency trees: scores of all arcs, then the best or the most violated tree."""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc, realloc

from structsvm._dual.oracle cimport Oracle
from structsvm.machine import Unsupported
from structsvm.problems.dependency.spanning cimport Room, eisner, spanning, widen

from structsvm.problems.dependency.problem import ArcFeatures

import numpy as np


cdef struct Sentence:
    Py_ssize_t n
    const int64_t* ptr
    const int32_t* index
    const int32_t* head     # of each word, from 0 on
    const int32_t* label


cdef class DependencyOracle(Oracle):
    """Sentences with their trees by slot."""

    cdef readonly object problem
    cdef list stored                # (x, heads, labels): what the sentences point into
    cdef list free_slots
    cdef Sentence* sentences
    cdef Py_ssize_t n_slots, width
    cdef Py_ssize_t n_labels, n_arc_features
    cdef bint projective
    cdef Room room
    cdef double* scores             # of the best label of each arc
    cdef int32_t* labels            # that label
    cdef int32_t* heads

    def __init__(self, problem):
        self.problem = problem
        self.stored, self.free_slots = [], []
        self.n_weights = problem.n_features
        self.n_labels, self.n_arc_features = max(problem.n_labels, 1), problem.n_arc_features
        self.projective = problem.projective

    def __dealloc__(self):
        free(self.sentences)
        free(self.room.values)
        free(self.room.numbers)
        free(self.scores)
        free(self.labels)
        free(self.heads)

    def configure(self, *, rescaling, slack):
        if rescaling != "margin" or slack != "l1":
            raise Unsupported(
                "dependency trees need margin rescaling with L1 slacks, whose loss is a sum over arcs")
        Oracle.configure(self, rescaling=rescaling, slack=slack)

    def sizes(self, slots) -> np.ndarray:
        return np.array([float(self.sentences[<Py_ssize_t>slot].n) ** 3 + 1 for slot in slots])

    def add(self, X, y) -> np.ndarray:
        """Store sentences with their trees."""
        X, y = list(X), list(y)
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} sentences but y has {len(y)} trees")
        return self.put([self.checked(k, x, tree) for k, (x, tree) in enumerate(zip(X, y, strict=True))])

    def checked(self, k, x, tree) -> tuple:
        ptr, index = np.ascontiguousarray(x[0], np.int64), np.ascontiguousarray(x[1], np.int32)
        n = round((np.sqrt(4 * len(ptr) - 3) - 1) / 2)
        if n < 1 or len(ptr) != (n + 1) * n + 1:
            raise ValueError(f"sentence {k}: {len(ptr) - 1} arcs; n words have (n + 1) * n of them")
        if ptr[0] or ptr[len(ptr) - 1] != len(index) or (np.diff(ptr) < 0).any():
            raise ValueError(
                f"sentence {k}: ptr must increase from 0 to the number of features, {len(index)}")
        if len(index) and not 0 <= index.min() <= index.max() < self.n_arc_features:
            raise ValueError(f"sentence {k}: a feature outside 0..{self.n_arc_features - 1}")
        if len(tree) != n or not self.problem.contains(ArcFeatures(ptr, index), tree):
            kind = "projective tree" if self.projective else "tree"
            raise ValueError(
                f"sentence {k}: the heads must form a {kind} with one root over its {n} words, and labels "
                f"must be below {self.n_labels}")
        arcs = np.array(self.problem.arcs(tree), np.int32).reshape(n, 2)
        return ptr, index, np.ascontiguousarray(arcs[:, 0]), np.ascontiguousarray(arcs[:, 1])

    def put(self, sentences) -> np.ndarray:
        slots = np.empty(len(sentences), np.intp)
        cdef Sentence* more = <Sentence*>realloc(
            self.sentences, (self.n_slots + len(sentences) + 1) * sizeof(Sentence))
        cdef Py_ssize_t slot, widest = self.width
        cdef const int64_t[::1] ptr
        cdef const int32_t[::1] index, head, label
        if more == NULL:
            raise MemoryError(f"no memory for {len(sentences)} more sentences")
        self.sentences = more
        for k, one in enumerate(sentences):
            if self.free_slots:
                slot = self.free_slots.pop()
                self.stored[slot] = one
            else:
                slot = self.n_slots
                self.stored.append(one)
                self.n_slots += 1
            ptr, index, head, label = one
            self.sentences[slot].n = head.shape[0]
            self.sentences[slot].ptr = &ptr[0]
            self.sentences[slot].index = &index[0] if index.shape[0] else NULL
            self.sentences[slot].head, self.sentences[slot].label = &head[0], &label[0]
            widest = max(widest, head.shape[0])
            slots[k] = slot
        self.grow(widest)
        return slots

    cdef int grow(self, Py_ssize_t n) except -1:
        """Make room for sentences of n words."""
        if n <= self.width:
            return 0
        size = (n + 1) * (n + 1)
        free(self.scores)
        free(self.labels)
        free(self.heads)
        self.scores = <double*>malloc(size * sizeof(double))
        self.labels = <int32_t*>malloc(size * sizeof(int32_t))
        self.heads = <int32_t*>malloc((n + 1) * sizeof(int32_t))
        if self.scores == NULL or self.labels == NULL or self.heads == NULL:
            raise MemoryError(f"no memory for the arcs of a sentence of {n} words")
        widen(&self.room, n)
        self.width = n
        return 0

    def rows(self, slots) -> dict:
        """The stored sentences of some slots, as the arguments of add_rows."""
        return {"sentences": [[part.tolist() for part in self.stored[slot]] for slot in slots]}

    def add_rows(self, sentences) -> np.ndarray:
        found = [(ptr, index, list(zip(heads, labels)) if self.problem.n_labels else heads)
                 for ptr, index, heads, labels in sentences]
        return self.put([self.checked(k, (np.array(ptr, np.int64), np.array(index, np.int32)), tree)
                         for k, (ptr, index, tree) in enumerate(found)])

    @property
    def n_stored(self) -> int:
        """Sentences held."""
        return self.n_slots - len(self.free_slots)

    cdef int drop(self, Py_ssize_t slot) except -1 nogil:
        with gil:
            self.stored[slot] = None
            self.free_slots.append(slot)
        return 0

    cdef int find(self, Py_ssize_t slot, const double* w, bint augmented) except -1 nogil:
        cdef Sentence* s = &self.sentences[slot]
        cdef Py_ssize_t n = s.n, width = n + 1, d, at, room = 0
        cdef int32_t h, label
        self.score_arcs(s, w, augmented)
        if self.projective:
            eisner(self.scores, n, self.heads, &self.room)
        else:
            spanning(self.scores, n, self.heads, &self.room)
        for d in range(1, width):
            at = self.heads[d] * n + d - 1
            room += s.ptr[at + 1] - s.ptr[at]
            at = s.head[d - 1] * n + d - 1
            room += s.ptr[at + 1] - s.ptr[at]
        self.reserve(room)
        self.found.loss, self.found.n = 0, 0
        self.found.cost = <double>(s.ptr[width * n]) * self.n_labels + <double>n * n * n
        for d in range(1, width):
            h = self.heads[d]
            label = self.labels[h * width + d]
            if h == s.head[d - 1] and label == s.label[d - 1]:
                continue
            self.found.loss += 1
            self.note(s, s.head[d - 1] * n + d - 1, s.label[d - 1], 1)
            self.note(s, h * n + d - 1, label, -1)
        if not augmented:
            self.found.loss = 0
        return 0

    cdef inline void note(self, const Sentence* s, Py_ssize_t arc, int32_t label, double sign) noexcept nogil:
        cdef int64_t k
        for k in range(s.ptr[arc], s.ptr[arc + 1]):
            self.found.index[self.found.n] = <int32_t>(s.index[k] * self.n_labels + label)
            self.found.value[self.found.n] = sign
            self.found.n += 1

    cdef void score_arcs(self, const Sentence* s, const double* w, bint augmented) noexcept nogil:
        """The score of the best label of each arc; a wrong arc costs 1, and so does a wrong label."""
        cdef Py_ssize_t n = s.n, width = n + 1, h, d, arc, label
        cdef int64_t k
        cdef double score, best
        for h in range(width):
            for d in range(1, width):
                arc, best = h * n + d - 1, -INFINITY
                for label in range(self.n_labels):
                    score = 0
                    for k in range(s.ptr[arc], s.ptr[arc + 1]):
                        score += w[s.index[k] * self.n_labels + label]
                    if augmented and not (s.head[d - 1] == h and s.label[d - 1] == label):
                        score += 1
                    if score > best:
                        best, self.labels[h * width + d] = score, <int32_t>label
                self.scores[h * width + d] = best
