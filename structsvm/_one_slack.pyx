# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""One slack for all examples (Joachims et al. 2009): n-slack with a single pattern, the training set itself.

Its most violated output is what all examples find, each for itself, and its difference their weighted mean:
`MeanOracle`. Such cutting planes are few but long, so `OneSlackDual` optimizes them by their inner products.
"""
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from structsvm._difference cimport difference_add, difference_inner
from structsvm._linear_dual cimport LinearDual, Output, Pattern
from structsvm._oracle cimport Found, Oracle
from structsvm._sparse cimport add_to, dot_dense

import numpy as np

cdef Py_ssize_t TRUE_OUTPUT = -1        # as in the dual
cdef Py_ssize_t NOBODY = -2
cdef Py_ssize_t FINDS_PER_POLL = 256    # examples between two looks at Ctrl-C
cdef long long MOST_STEPS = 100_000     # of one optimize()


cdef struct Batch:
    Py_ssize_t n
    Py_ssize_t* slots       # of the examples' own oracle
    double* share           # of their weights; one block of memory with the slots


cdef class MeanOracle(Oracle):
    """A slot is a whole batch of examples; what is found for it is the mean of what they find."""

    cdef readonly Oracle inner
    cdef Batch* batches
    cdef Py_ssize_t n_slots, n_dropped
    cdef double* sums               # the mean difference, dense; zeros between two calls
    cdef Py_ssize_t n_sums

    def __init__(self, Oracle inner):
        if inner.squared:
            raise ValueError("one slack for all examples is not squared: use slack='l1', or n slacks")
        self.inner = inner
        self.n_weights = inner.n_weights

    def __dealloc__(self):
        cdef Py_ssize_t slot
        for slot in range(self.n_slots):
            free(self.batches[slot].slots)
        free(self.batches)
        free(self.sums)

    def attach(self, weights):
        self.inner.attach(weights)

    def add(self, X, y) -> np.ndarray:
        """Store examples, as one batch; slot_weights gives them their shares."""
        members = self.inner.add(X, y)
        return np.array([self.put(members, np.ones(len(members)))], dtype=np.intp)

    def slot_weights(self, slots, sample_weight) -> np.ndarray:
        """The weight of a batch is that of its examples together."""
        weight = np.asarray(self.inner.slot_weights(self.members(slots[0]), sample_weight))
        cdef const double[::1] share = weight / max(weight.sum(), 1e-300)
        if share.shape[0]:
            memcpy(self.batches[slots[0]].share, &share[0], share.shape[0] * sizeof(double))
        return np.array([weight.sum()])

    def members(self, Py_ssize_t slot) -> np.ndarray:
        """The slots of a batch's examples in their own oracle."""
        cdef Py_ssize_t n = self.batches[slot].n
        return np.array(<Py_ssize_t[:n]>self.batches[slot].slots) if n else np.empty(0, np.intp)

    def shares(self, Py_ssize_t slot) -> np.ndarray:
        cdef Py_ssize_t n = self.batches[slot].n
        return np.array(<double[:n]>self.batches[slot].share) if n else np.empty(0)

    def rows(self, slots) -> dict:
        """The stored batches of some slots, as the arguments of add_rows."""
        members = [self.members(slot) for slot in slots]
        together = np.concatenate([np.empty(0, np.intp), *members])
        return {
            "members": self.inner.rows(together),
            "counts": np.array([len(batch) for batch in members], dtype=np.intp),
            "shares": np.concatenate([np.empty(0), *(self.shares(slot) for slot in slots)]),
        }

    def add_rows(self, members, counts, shares) -> np.ndarray:
        slots, at = [], 0
        together = self.inner.add_rows(**members)
        for count in counts:
            slots.append(self.put(together[at:at + count], shares[at:at + count]))
            at += count
        return np.array(slots, dtype=np.intp)

    @property
    def n_stored(self) -> int:
        """Batches held."""
        return self.n_slots - self.n_dropped

    cdef Py_ssize_t put(self, members, shares) except -1:
        cdef const Py_ssize_t[::1] slots = members
        cdef const double[::1] share = shares
        cdef Py_ssize_t n = slots.shape[0]
        cdef Batch* batches = <Batch*>realloc(self.batches, (self.n_slots + 1) * sizeof(Batch))
        if batches == NULL:
            raise MemoryError("no memory for another batch")
        self.batches = batches
        cdef Batch* batch = &batches[self.n_slots]
        batch.n, batch.slots = n, <Py_ssize_t*>malloc(n * (sizeof(Py_ssize_t) + sizeof(double)) + 1)
        if batch.slots == NULL:
            raise MemoryError(f"no memory for a batch of {n} examples")
        batch.share = <double*>(batch.slots + n)
        if n:
            memcpy(batch.slots, &slots[0], n * sizeof(Py_ssize_t))
            memcpy(batch.share, &share[0], n * sizeof(double))
        self.n_slots += 1
        self.n_weights = self.inner.n_weights
        return self.n_slots - 1

    cdef int drop(self, Py_ssize_t slot) except -1 nogil:
        cdef Batch* batch = &self.batches[slot]
        cdef Py_ssize_t k
        for k in range(batch.n):
            self.inner.drop(batch.slots[k])
        free(batch.slots)
        batch.n, batch.slots = 0, NULL
        self.n_dropped += 1
        return 0

    cdef int find(self, Py_ssize_t slot, const double* w, bint augmented) except -1 nogil:
        cdef Batch* batch = &self.batches[slot]
        cdef Found* one = &self.inner.found
        cdef double loss = 0, cost = 0, scale, own
        cdef Py_ssize_t k, n = 0
        self.clear()
        for k in range(batch.n):
            if k % FINDS_PER_POLL == FINDS_PER_POLL - 1:
                with gil:
                    PyErr_CheckSignals()
            self.inner.find(batch.slots[k], w, augmented)
            cost += one.cost + one.n
            own = one.loss
            scale = batch.share[k] * (own if self.inner.slack_rescaling else 1)
            # An example whose right output is the most violated one has nothing to say.
            if augmented and batch.share[k] * own <= scale * dot_dense(w, one.index, one.value, one.n):
                continue
            loss += batch.share[k] * own
            add_to(self.sums, scale, one.index, one.value, one.n)
        for k in range(self.n_sums):
            n += self.sums[k] != 0
        self.reserve(n)
        n = 0
        for k in range(self.n_sums):
            if self.sums[k] != 0:
                self.found.index[n], self.found.value[n] = <int32_t>k, self.sums[k]
                n += 1
        self.found.n, self.found.loss, self.found.cost = n, loss, cost
        return 0

    cdef int clear(self) except -1 nogil:
        """Zeros in `sums`, as many as there are weights."""
        cdef double* sums
        if self.n_sums < self.n_weights:
            sums = <double*>realloc(self.sums, self.n_weights * sizeof(double))
            if sums == NULL:
                with gil:
                    raise MemoryError(f"no memory for a difference of {self.n_weights} entries")
            self.sums, self.n_sums = sums, self.n_weights
        memset(self.sums, 0, self.n_sums * sizeof(double))
        return 0


cdef struct Products:
    Py_ssize_t room
    double* of              # room x room, in the order of the pattern's outputs


cdef class OneSlackDual(LinearDual):
    """The dual of few, long cutting planes: OPTIMIZE solves a pattern's working set to the end."""

    cdef Products* products         # of a slot
    cdef Py_ssize_t n_products

    def __dealloc__(self):
        cdef Py_ssize_t slot
        for slot in range(self.n_products):
            free(self.products[slot].of)
        free(self.products)
        self.products = NULL

    cdef double look(self, Py_ssize_t slot, bint counted, double floor) except? -1.0 nogil:
        if counted:
            self.n_argmax += (<MeanOracle>self.oracle).batches[slot].n - 1
        return LinearDual.look(self, slot, counted, floor)

    cdef int optimize(self, Py_ssize_t position) except -1 nogil:
        """SMO steps among the outputs of a pattern, on their products alone; then w follows at once."""
        cdef Pattern* p = &self.patterns[position]
        cdef Products* products = &self.products[p.slot]
        cdef double* of = products.of
        cdef Py_ssize_t room = products.room, a, b, k
        cdef double va, vb, step
        cdef long long begun = self.n_steps
        cdef double* before = of + room * room
        for k in range(p.n):
            before[k] = p.outputs[k].alpha
        self.violations(p)
        self.last_gap = 0
        while self.n_steps - begun < MOST_STEPS:
            a, b = self.giver(p, &va), self.taker(p, &vb)
            if a == NOBODY or vb - va <= self.tau:
                break
            if self.n_steps == begun:
                self.last_gap = vb - va
            step = self.move(p, of, room, a, b, vb - va)
            for k in range(p.n):
                if a != TRUE_OUTPUT:
                    p.outputs[k].v += step * of[k * room + a]
                if b != TRUE_OUTPUT:
                    p.outputs[k].v -= step * of[k * room + b]
            self.cost += 2 * p.n
        if self.n_steps == begun:
            return 0
        for k in range(p.n - 1, -1, -1):
            difference_add(self.w, p.outputs[k].alpha - before[k], &p.outputs[k].d)
            self.cost += p.outputs[k].d.n
            if p.outputs[k].alpha <= 0:
                self.remove_output(p, k)
        if p.n == 0:
            self.remove_pattern(position)
        return 1

    cdef double move(
        self, Pattern* p, const double* of, Py_ssize_t room, Py_ssize_t a, Py_ssize_t b, double gap
    ) noexcept nogil:
        """SMOSTEP without w: the step taken from a to b."""
        cdef double curvature = 0, available = p.upper - p.beta, step
        cdef Py_ssize_t k
        if a != TRUE_OUTPUT:
            available = p.outputs[a].alpha
            curvature += of[a * room + a]
        if b != TRUE_OUTPUT:
            curvature += of[b * room + b]
        if a != TRUE_OUTPUT and b != TRUE_OUTPUT:
            curvature -= 2 * of[a * room + b]
        step = min(gap / curvature, available) if curvature > 0 else available
        if a != TRUE_OUTPUT:
            p.outputs[a].alpha = 0 if step == available else p.outputs[a].alpha - step
        if b != TRUE_OUTPUT:
            p.outputs[b].alpha += step
        self.dual += step * gap - 0.5 * step * step * curvature
        self.n_steps += 1
        p.beta = 0
        for k in range(p.n):
            p.beta += p.outputs[k].alpha
        return step

    cdef Py_ssize_t insert_output(self, Pattern* p) except -1 nogil:
        cdef Py_ssize_t k, j, room
        cdef double* of
        cdef Output* new
        self.make_room(p)
        k = LinearDual.insert_output(self, p)
        of, room, new = self.products[p.slot].of, self.products[p.slot].room, &p.outputs[k]
        for j in range(k):
            of[j * room + k] = of[k * room + j] = difference_inner(&new.d, &p.outputs[j].d)
        of[k * room + k] = new.norm
        return k

    cdef void remove_output(self, Pattern* p, Py_ssize_t k) noexcept nogil:
        """The last output takes its place, in the products too."""
        cdef Py_ssize_t j, room, last = p.n - 1
        cdef double* of
        if self.products != NULL:
            of, room = self.products[p.slot].of, self.products[p.slot].room
            for j in range(p.n):
                of[j * room + k] = of[j * room + last]
            for j in range(p.n):
                of[k * room + j] = of[last * room + j]
        LinearDual.remove_output(self, p, k)

    cdef int make_room(self, Pattern* p) except -1 nogil:
        """Room for the products of one more output, and behind them for as many alphas."""
        cdef Products* products = <Products*>self.products
        cdef Py_ssize_t k, room
        cdef double* of
        cdef bint short_of_memory = False
        if p.slot >= self.n_products:
            products = <Products*>realloc(self.products, (p.slot + 1) * sizeof(Products))
            short_of_memory = products == NULL
            if not short_of_memory:
                memset(products + self.n_products, 0, (p.slot + 1 - self.n_products) * sizeof(Products))
                self.products, self.n_products = products, p.slot + 1
        if not short_of_memory and products[p.slot].room <= p.n:
            room = 2 * p.n + 16
            of = <double*>malloc(room * (room + 1) * sizeof(double))
            short_of_memory = of == NULL
            if not short_of_memory:
                for k in range(p.n):
                    memcpy(of + k * room, products[p.slot].of + k * products[p.slot].room,
                           p.n * sizeof(double))
                free(products[p.slot].of)
                products[p.slot].of, products[p.slot].room = of, room
        if short_of_memory:
            if p.n == 0:
                self.remove_pattern(self.position[p.slot])
            with gil:
                raise MemoryError("no memory for the products of cutting planes")
        return 0
