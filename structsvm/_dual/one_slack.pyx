# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""One slack for all examples (Joachims et al. 2009): n-slack with a single pattern, the training set itself.

Its most violated output joins those of the examples; its difference is their weighted mean: see `MeanOracle`.
Such cutting planes are few but long, so `OneSlackDual` optimizes them by their inner products.
"""
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from structsvm.signals cimport check_signals
from structsvm._dual.difference cimport difference_add
from structsvm._dual.linear cimport LinearDual, Pattern
from structsvm._dual.oracle cimport Found, Oracle
from structsvm._dual.sparse cimport add_to, dot_dense

import numpy as np

cdef Py_ssize_t TRUE_OUTPUT = -1        # as in the dual
cdef Py_ssize_t NOBODY = -2
cdef Py_ssize_t FINDS_PER_POLL = 256    # examples between two checks for Ctrl-C
cdef long long MOST_STEPS = 100_000     # of one optimize()


cdef struct Batch:
    Py_ssize_t n
    Py_ssize_t* slots       # of the examples' own oracle
    double* share           # of their weights; one block of memory with the slots


cdef class MeanOracle(Oracle):
    """A slot is a whole batch of examples; its difference and loss are the means of theirs."""

    cdef readonly Oracle inner
    cdef Batch* batches
    cdef Py_ssize_t n_slots, n_dropped
    cdef Py_ssize_t vacant          # the slot dropped last, or -1; its `n` is the one dropped before
    cdef double* sums               # the mean difference, dense; zeros between two calls
    cdef Py_ssize_t n_sums

    def __init__(self, Oracle inner):
        if inner.squared:
            raise ValueError("one slack for all examples is not squared: use slack='l1', or n slacks")
        self.inner = inner
        self.n_weights = inner.n_weights
        self.vacant = -1

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
        if share.shape[0] != self.batches[slots[0]].n:
            raise ValueError(f"{share.shape[0]} weights for {self.batches[slots[0]].n} examples")
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
        counts = np.asarray(counts, dtype=np.int64)
        if np.any(counts < 0) or counts.sum() != len(shares):
            raise ValueError(f"batches of {counts.sum()} examples with {len(shares)} shares")
        together = self.inner.add_rows(**members)
        if len(together) != len(shares):
            raise ValueError(f"{len(together)} examples with {len(shares)} shares")
        for count in counts:
            slots.append(self.put(together[at:at + count], shares[at:at + count]))
            at += count
        return np.array(slots, dtype=np.intp)

    @property
    def n_stored(self) -> int:
        """The number of stored batches."""
        return self.n_slots - self.n_dropped

    cdef Py_ssize_t put(self, members, shares) except -1:
        cdef const Py_ssize_t[::1] slots = members
        cdef const double[::1] share = shares
        cdef Py_ssize_t n = slots.shape[0], slot = self.vacant
        cdef Batch batch
        cdef Batch* batches
        if share.shape[0] != n:
            raise ValueError(f"{n} examples with {share.shape[0]} shares")
        if slot < 0:
            batches = <Batch*>realloc(self.batches, (self.n_slots + 1) * sizeof(Batch))
            if batches == NULL:
                raise MemoryError("no memory for another batch")
            self.batches = batches
        batch.n, batch.slots = n, <Py_ssize_t*>malloc(n * (sizeof(Py_ssize_t) + sizeof(double)) + 1)
        if batch.slots == NULL:
            raise MemoryError(f"no memory for a batch of {n} examples")
        batch.share = <double*>(batch.slots + n)
        if n:
            memcpy(batch.slots, &slots[0], n * sizeof(Py_ssize_t))
            memcpy(batch.share, &share[0], n * sizeof(double))
        if slot < 0:
            slot = self.n_slots
            self.n_slots += 1
        else:
            self.vacant = self.batches[slot].n
            self.n_dropped -= 1
        self.batches[slot] = batch
        self.n_weights = self.inner.n_weights
        return slot

    cdef int drop(self, Py_ssize_t slot) except -1 nogil:
        cdef Batch* batch = &self.batches[slot]
        cdef Py_ssize_t k
        for k in range(batch.n):
            self.inner.drop(batch.slots[k])
        free(batch.slots)
        batch.n, batch.slots, self.vacant = self.vacant, NULL, slot
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
                    check_signals()
            self.inner.find(batch.slots[k], w, augmented)
            cost += one.cost + one.n
            own = one.loss
            scale = batch.share[k] * (own if self.inner.slack_rescaling else 1)
            # An example whose right output is the most violated one adds nothing.
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
        """Fill `sums` with a zero for each weight."""
        cdef double* sums
        if self.n_sums < self.n_weights:
            sums = <double*>realloc(self.sums, self.n_weights * sizeof(double))
            if sums == NULL:
                with gil:
                    raise MemoryError(f"no memory for a difference of {self.n_weights} entries")
            self.sums, self.n_sums = sums, self.n_weights
        memset(self.sums, 0, self.n_sums * sizeof(double))
        return 0


cdef class OneSlackDual(LinearDual):
    """The dual of few, long cutting planes: OPTIMIZE solves a pattern's working set to the end."""

    def __init__(self, Oracle oracle, **options):
        super().__init__(oracle, **options)
        self.most_products = 2**31      # the steps use nothing else

    cdef double look(self, Py_ssize_t slot, bint counted, double floor) except? -1.0 nogil:
        if counted:
            self.n_argmax += (<MeanOracle>self.oracle).batches[slot].n - 1
        return LinearDual.look(self, slot, counted, floor)

    cdef int optimize(self, Py_ssize_t position) except -1 nogil:
        """Make SMO steps among the outputs of a pattern on their products alone, then update w once."""
        cdef Pattern* p = &self.patterns[position]
        cdef const double* of = p.products
        cdef Py_ssize_t room = p.capacity, a, b, k
        cdef double va, vb, step
        cdef long long begun = self.n_steps
        cdef double* before
        self.violations(p)
        before = <double*>malloc(p.n * sizeof(double) + 1)
        if before == NULL:
            with gil:
                raise MemoryError("no memory for the coefficients of cutting planes")
        for k in range(p.n):
            before[k] = p.outputs[k].alpha
        self.last_gap = 0
        while self.n_steps - begun < MOST_STEPS:
            a, b = self.giver(p, &va), self.taker(p, &vb)
            if a == NOBODY or vb - va <= self.tau:
                break
            if self.n_steps == begun:
                self.last_gap = vb - va
            step = self.move(p, a, b, vb - va)
            for k in range(p.n):
                if a != TRUE_OUTPUT:
                    p.outputs[k].v += step * of[k * room + a]
                if b != TRUE_OUTPUT:
                    p.outputs[k].v -= step * of[k * room + b]
            self.cost += 2 * p.n
        for k in range(p.n - 1 if self.n_steps > begun else -1, -1, -1):
            difference_add(self.w, p.outputs[k].alpha - before[k], &p.outputs[k].d)
            self.cost += p.outputs[k].d.n
            if p.outputs[k].alpha <= 0:
                self.remove_output(p, k)
        free(before)
        if p.n == 0:
            self.remove_pattern(position)
        return self.n_steps > begun

    cdef double move(
        self, Pattern* p, Py_ssize_t a, Py_ssize_t b, double gap
    ) noexcept nogil:
        """SMOSTEP without w: the step taken from a to b."""
        cdef double curvature = 0, available = p.upper - p.beta, step
        cdef Py_ssize_t k
        if a != TRUE_OUTPUT:
            available = p.outputs[a].alpha
            curvature += p.outputs[a].norm
        if b != TRUE_OUTPUT:
            curvature += p.outputs[b].norm
        if a != TRUE_OUTPUT and b != TRUE_OUTPUT:
            curvature -= 2 * p.products[a * p.capacity + b]
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
        cdef Py_ssize_t j, k = LinearDual.insert_output(self, p)
        for j in range(k):
            self.product(p, j, k)
        return k
