# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The oracle of weighted grammars: the best tree for each value of the loss, by a pass over a forest.

A stratum (a, b) of a node holds the best of its trees with these counts (see `_forest`); the loss of a whole
tree is a function of its counts, so that the most violated tree is the best one of some stratum of the root.
"""
from libc.math cimport INFINITY
from libc.stdint cimport int32_t
from libc.stdlib cimport free, realloc

from structsvm.signals cimport check_signals
from structsvm._dual.oracle cimport Oracle
from structsvm.problems.tree._forest cimport Chart, Edge, Forest, Trees

import numpy as np


cdef double JOINS_PER_POLL = 1e7    # pairs of strata between two checks for Ctrl-C


cdef struct Back:                   # how the best tree of a stratum was made
    int32_t edge, left, right       # an edge, and the strata of its nodes


cdef class TreeOracle(Oracle):
    """Forests by slot; the most violated tree of each."""

    cdef readonly object problem
    cdef Chart chart
    cdef list forests
    cdef list free_slots
    cdef Trees** of_slot                    # what the same forests hold
    cdef Py_ssize_t n_slots
    cdef double* best                       # strata of all nodes
    cdef Back* back
    cdef int32_t* ones                      # a layout with one stratum a node
    cdef int32_t* plain
    cdef int32_t* stack
    cdef int32_t* answer                    # rules of the tree found
    cdef Py_ssize_t room, n_answer

    def __init__(self, problem):
        self.problem = problem
        self.chart = Chart(problem)
        self.n_weights = len(problem.grammar)
        self.forests, self.free_slots = [], []

    def __dealloc__(self):
        free(self.of_slot)
        free(self.best)
        free(self.back)
        free(self.ones)
        free(self.plain)
        free(self.stack)
        free(self.answer)

    def add(self, X, y) -> np.ndarray:
        """Store sentences with their trees."""
        X, y = list(X), list(y)
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} sentences but y has {len(y)} trees")
        forests = []
        for k, (x, tree) in enumerate(zip(X, y, strict=True)):
            try:
                if not self.problem.contains(x, tree):
                    raise ValueError("the tree and the sentence have different terminals")
                forests.append(self.chart.with_gold(self.problem.productions.encode(x), tree))
            except ValueError as error:
                raise ValueError(f"sentence {k}: {error}") from None
        return self.put(forests)

    def add_rows(self, sentences, rules) -> np.ndarray:
        """Store sentences as rows() gave them."""
        names = self.problem.grammar.terminals
        decode = self.problem.grammar.decode
        return self.add(*zip(*(
            (words, decode(numbers, words))
            for words, numbers in zip(([names[k] for k in one] for one in sentences), rules, strict=True)
        ), strict=True)) if len(sentences) else np.empty(0, np.intp)

    def rows(self, slots) -> dict:
        """The stored sentences of some slots: terminals, and the rules of their trees."""
        forests = [self.forests[slot] for slot in slots]
        return {
            "sentences": [(<Forest>forest).words.tolist() for forest in forests],
            "rules": [(<Forest>forest).gold.tolist() for forest in forests],
        }

    def put(self, forests) -> np.ndarray:
        slots = np.empty(len(forests), dtype=np.intp)
        cdef Trees** of_slot = <Trees**>realloc(
            self.of_slot, (self.n_slots + len(forests) + 1) * sizeof(Trees*))
        if of_slot == NULL:
            raise MemoryError(f"no memory for {len(forests)} more sentences")
        self.of_slot = of_slot
        for k, forest in enumerate(forests):
            if self.free_slots:
                slot = self.free_slots.pop()
                self.forests[slot] = forest
            else:
                slot = self.n_slots
                self.forests.append(forest)
                self.n_slots += 1
            slots[k] = slot
            self.of_slot[<Py_ssize_t>slot] = &(<Forest>forest).trees
        return slots

    @property
    def n_stored(self) -> int:
        """The number of stored sentences."""
        return self.n_slots - len(self.free_slots)

    cdef int drop(self, Py_ssize_t slot) except -1 nogil:
        with gil:
            self.forests[slot] = None
            self.free_slots.append(slot)
        return 0

    # -- finding trees --------------------------------------------------------------------------

    cdef int find(self, Py_ssize_t slot, const double* w, bint augmented) except -1 nogil:
        cdef const Trees* forest = self.of_slot[slot]
        cdef Py_ssize_t k, at, stratum = 0
        cdef double gold = 0, value, most = -INFINITY
        self.widen(max(forest.n_strata, forest.n_nodes + 1))
        self.found.loss = 0
        if augmented:
            self.inside(forest, w, forest.offset, forest.width, forest.limit)
            for k in range(forest.n_gold):
                gold += w[forest.gold[k]]
            at = forest.offset[forest.n_nodes - 1]
            for k in range(forest.n_strata - at):
                if self.best[at + k] > -INFINITY:
                    value = self.violation(forest.loss[k], gold - self.best[at + k])
                    if value > most:
                        stratum, most = k, value
            self.check_found(most)
            self.found.loss = forest.loss[stratum]
            self.unpack(forest, forest.offset, stratum)
            self.found.cost = forest.work
        else:
            self.inside(forest, w, self.plain, self.ones, 0)
            self.check_found(self.best[forest.n_nodes - 1])
            self.unpack(forest, self.plain, 0)
            self.found.cost = forest.n_edges
        self.reserve(forest.n_gold + self.n_answer)
        for k in range(forest.n_gold):
            self.found.index[k], self.found.value[k] = forest.gold[k], 1
        self.found.n = forest.n_gold
        for k in range(self.n_answer):
            self.found.index[self.found.n], self.found.value[self.found.n] = self.answer[k], -1
            self.found.n += 1
        return 0

    def parse(self, const int32_t[::1] words, weights):
        """The rules of the best tree over a sentence, top down; None where there is no tree."""
        cdef const double[::1] w = np.ascontiguousarray(weights, dtype=np.float64)
        if w.shape[0] != self.n_weights:
            raise ValueError(f"{w.shape[0]} weights for a grammar of {self.n_weights} rules")
        cdef Forest forest = self.chart.forest(words, None)
        if forest is None:
            return None
        self.widen(forest.trees.n_nodes + 1)
        self.inside(&forest.trees, &w[0], self.plain, self.ones, 0)
        self.check_found(self.best[forest.trees.n_nodes - 1])
        self.unpack(&forest.trees, self.plain, 0)
        return [self.answer[k] for k in range(self.n_answer)]

    cdef int check_found(self, double value) except -1 nogil:
        """Where no tree has a score, there is none to unpack."""
        if value == -INFINITY:
            with gil:
                raise ValueError("no tree has a finite score; weights must be finite")
        return 0

    cdef int inside(
        self, const Trees* forest, const double* w, const int32_t* offset, const int32_t* width, int32_t limit
    ) except -1 nogil:
        """The best tree of each stratum of each node: one pass over the edges."""
        cdef Edge* e
        cdef Py_ssize_t k, s, a, b, base, n_left, n_right
        cdef int32_t more_b
        cdef double own, work = 0
        for k in range(offset[forest.n_nodes]):
            self.best[k] = -INFINITY
        for k in range(forest.n_edges):
            e = &forest.edges[k]
            own = w[e.rule] if e.rule >= 0 else 0
            more_b = e.b if limit else 0
            base = offset[e.head]
            if e.left < 0:
                self.best[base] = 0
                self.back[base].edge = <int32_t>k
                continue
            n_left = offset[e.left + 1] - offset[e.left]
            work += <double>n_left * (offset[e.right + 1] - offset[e.right] if e.right >= 0 else 1)
            if work > JOINS_PER_POLL:
                work = 0
                with gil:
                    check_signals()
            for s in range(n_left):
                if self.best[offset[e.left] + s] == -INFINITY:
                    continue
                a, b = s // width[e.left] + e.a, s % width[e.left] + more_b
                if e.right < 0:
                    self.improve(base + min(a, limit) * width[e.head] + b,
                                 own + self.best[offset[e.left] + s], k, s, 0)
                    continue
                n_right = offset[e.right + 1] - offset[e.right]
                self.join(e, k, s, own + self.best[offset[e.left] + s], base, a, b, n_right, offset, width,
                          limit)
        return 0

    cdef inline void join(
        self, const Edge* e, Py_ssize_t k, Py_ssize_t s, double value, Py_ssize_t base, Py_ssize_t a,
        Py_ssize_t b, Py_ssize_t n_right, const int32_t* offset, const int32_t* width, int32_t limit
    ) noexcept nogil:
        """One stratum of the left node with all of the right one."""
        cdef const double* right = self.best + offset[e.right]
        cdef Py_ssize_t r = 0, right_a = 0, right_b, wide = width[e.right], row
        while r < n_right:
            row = base + min(a + right_a, limit) * width[e.head] + b
            for right_b in range(wide):
                if right[r] > -INFINITY:
                    self.improve(row + right_b, value + right[r], k, s, r)
                r += 1
            right_a += 1

    cdef inline void improve(
        self, Py_ssize_t at, double value, Py_ssize_t edge, Py_ssize_t left, Py_ssize_t right
    ) noexcept nogil:
        if value > self.best[at]:
            self.best[at] = value
            self.back[at].edge, self.back[at].left = <int32_t>edge, <int32_t>left
            self.back[at].right = <int32_t>right

    cdef void unpack(self, const Trees* forest, const int32_t* offset, Py_ssize_t stratum) noexcept nogil:
        """The rules of the root's best tree in a stratum, top down and from left to right, into `answer`."""
        cdef Py_ssize_t depth = 1
        cdef Edge* e
        cdef Back* back
        self.stack[0], self.stack[1] = <int32_t>(forest.n_nodes - 1), <int32_t>stratum
        self.n_answer = 0
        while depth:
            depth -= 1
            back = &self.back[offset[self.stack[2 * depth]] + self.stack[2 * depth + 1]]
            e = &forest.edges[back.edge]
            if e.rule >= 0:
                self.answer[self.n_answer] = e.rule
                self.n_answer += 1
            if e.right >= 0:
                self.stack[2 * depth], self.stack[2 * depth + 1] = e.right, back.right
                depth += 1
            if e.left >= 0:
                self.stack[2 * depth], self.stack[2 * depth + 1] = e.left, back.left
                depth += 1

    cdef int widen(self, Py_ssize_t n) except -1 nogil:
        """Room for a pass over n strata; a tree has no more nodes than its forest."""
        if n > self.room:
            with gil:
                self.reallocate(n + n // 2)
        return 0

    cdef int reallocate(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t k
        self.best = <double*>enough(realloc(self.best, n * sizeof(double)))
        self.back = <Back*>enough(realloc(self.back, n * sizeof(Back)))
        self.ones = <int32_t*>enough(realloc(self.ones, n * sizeof(int32_t)))
        self.plain = <int32_t*>enough(realloc(self.plain, n * sizeof(int32_t)))
        self.answer = <int32_t*>enough(realloc(self.answer, n * sizeof(int32_t)))
        self.stack = <int32_t*>enough(realloc(self.stack, 2 * n * sizeof(int32_t)))
        for k in range(n):
            self.ones[k], self.plain[k] = 1, <int32_t>k
        self.room = n
        return 0


cdef void* enough(void* block) except NULL:
    if block == NULL:
        raise MemoryError("no memory for the trees")
    return block
