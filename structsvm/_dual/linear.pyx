# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""`LinearDual`: the dual with an explicit w, whatever the structure.

For a support pattern i it keeps the support outputs y: alpha, loss Delta and difference
d(y) = Phi(x_i, y_i) - Phi(x_i, y). With the violation v(y) = Delta - <w, d(y)>, SMOSTEP moves
lambda from output a to output b:

    lambda = clip((v(b) - v(a)) / ||d(a) - d(b)||^2, 0, room of a)
    w     += lambda (d(b) - d(a))
    dual  += lambda (v(b) - v(a)) - lambda^2 / 2 ||d(a) - d(b)||^2

The true output has d = 0, v = 0 and room C - beta. The other forms of the problem change only this much:
slack rescaling stores Delta d(y) for d(y); quadratic slacks take sqrt(Delta) for Delta, give the true output
v = beta / C and unlimited room, and add 1 / C to the curvature of a step from or to it. A shard (`shard.pyx`)
multiplies the squared norms, and its changes of w, by sigma, which is 1 here.

C = infinity is the hard margin, without slacks. The dual of a training set that is not separable has no
maximum, so training raises an error when the dual exceeds a limit.

w is an array or, for oracles that read it so, in `Blocks`: support outputs then hold places, not indices.
"""
from libc.float cimport DBL_MAX
from libc.math cimport INFINITY, NAN, sqrt
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memmove

from structsvm.signals cimport check_signals
from structsvm._dual.blocks cimport Blocks
from structsvm._dual.difference cimport (
    Difference, difference_add, difference_dot, difference_equal, difference_inner, difference_norm,
    difference_renumber, difference_size, is_pair, pack_sorted, pack_units, unpack)
from structsvm._dual.dual cimport Dual
from structsvm._dual.oracle cimport Found, Oracle
from structsvm._dual.sparse cimport canonical, dot_dense

import numpy as np

from structsvm._dual.dual import lengthened, shortened
from structsvm.validation import HARD, LARGEST_COUNT

cdef extern from "structsvm/_dual/vector.h" nogil:
    void prefetch_lines(const void* block, Py_ssize_t n_bytes)
    void prefetch_line(const void* at)

cdef Py_ssize_t TRUE_OUTPUT = -1
cdef Py_ssize_t NOBODY = -2
cdef double CLOSE = 1e-6            # far above what rounding makes of a violation
cdef Py_ssize_t LINE = 8            # weights in a cache line
cdef Py_ssize_t FETCHED = 64        # entries of a difference to fetch beforehand
cdef Py_ssize_t MOST_PRODUCTS = 64  # outputs of a pattern whose inner products are kept
cdef Py_ssize_t LOOKS_PER_POLL = 256
INCONSISTENT = "the saved training state is inconsistent: its arrays do not fit each other"


cdef int interrupted() noexcept nogil:
    """-1 if the handler of a signal has raised an exception, as that of Ctrl-C does."""
    with gil:
        return (<int (*)() noexcept>check_signals)()


cdef class LinearDual(Dual):
    """maximise sum alpha Delta - ||w||^2 / 2 with alpha >= 0, sum_y alpha_iy <= C_i and w = sum alpha d."""

    def __init__(
        self, Oracle oracle, *, double C, double tau, double kappa, uint64_t seed, n_weights=0,
        bint dense=False,
    ):
        self.oracle = oracle
        self.takes_pairs = True
        self.blocks = None if dense or oracle.pinned < 0 else Blocks(oracle.pinned)
        self.C, self.tau, self.kappa = C, tau, kappa
        if C == INFINITY:       # hard margin: a bound that no step reaches, and a limit on the dual
            self.C, self.kappa, self.limit = HARD, 0, sqrt(HARD)
        self.squared = oracle.squared
        self.most_products = MOST_PRODUCTS
        self.sigma = 1
        self.rng = seed
        self.grow(max(n_weights, oracle.n_weights))

    def __dealloc__(self):
        cdef Py_ssize_t position
        for position in range(self.n_patterns):
            while self.patterns[position].n:
                self.remove_output(&self.patterns[position], self.patterns[position].n - 1)
            free(self.patterns[position].outputs)
        free(self.patterns)
        free(self.position)
        free(self.upper)
        free(self.held)
        free(self.room)
        free(self.spare)

    # -- the three steps ------------------------------------------------------------------------

    cdef int process_new(self, Py_ssize_t slot) except -1 nogil:
        return 0 if self.position[slot] >= 0 else self.cut(slot, self.tau)

    cdef int process_old(self, Py_ssize_t position) except -1 nogil:
        cdef Pattern* p = &self.patterns[position]
        cdef double va, vb, v
        cdef Py_ssize_t a, b
        self.violations(p)
        a, b = self.giver(p, &va), self.taker(p, &vb)
        v = self.look(p.slot, True, max(vb, va + self.tau))
        if a == NOBODY:
            return 0
        if v > vb and v - va > self.tau:
            if not self.packed:     # rounding: with large numbers, the floor may lie above these two bounds
                self.pack()
            b, vb = self.match(p), v
            if b < 0:
                b = self.insert_output(p)
        return self.step(p, a, b, vb - va)

    cdef int optimize(self, Py_ssize_t position) except -1 nogil:
        cdef Pattern* p = &self.patterns[position]
        cdef double va, vb
        cdef Py_ssize_t a, b
        self.violations(p)
        a, b = self.giver(p, &va), self.taker(p, &vb)
        self.last_gap = vb - va if a != NOBODY else 0
        return self.step(p, a, b, self.last_gap)

    cdef int cut(self, Py_ssize_t slot, double epsilon) except -1 nogil:
        cdef Pattern* p
        cdef double va = 0, slack = 0, v
        cdef Py_ssize_t a = TRUE_OUTPUT, b = NOBODY
        if self.upper[slot] == 0:
            return 0
        if epsilon < 0 and self.position[slot] >= 0:
            return self.process_old(self.position[slot])
        self.oracle.expect(self.position[slot] < 0)
        v = self.look(slot, True, 0)
        if self.position[slot] < 0:
            if v <= max(epsilon, self.tau):
                return 0
            p = self.insert_pattern(slot)
        else:
            p = &self.patterns[self.position[slot]]
            self.violations(p)
            a = self.giver(p, &va)
            self.taker(p, &slack)
            if a == NOBODY or v <= max(slack, 0) + epsilon or v - va <= self.tau:
                return 0
            b = self.match(p)
        if b < 0:
            b = self.insert_output(p)
        return self.step(p, a, b, v - va)

    cdef void prefetch(self, Py_ssize_t position, int stage) noexcept nogil:
        cdef Pattern* p = &self.patterns[position]
        cdef Py_ssize_t k, j, start
        if stage == 0:
            prefetch_lines(p, sizeof(Pattern))
        elif stage == 1:
            prefetch_lines(p.outputs, p.n * sizeof(Output))
        elif stage == 2:
            for k in range(p.n):
                prefetch_lines(p.outputs[k].d.index, min(p.outputs[k].d.n, FETCHED) * sizeof(int32_t))
                if is_pair(&p.outputs[k].d):    # all outputs share their entries
                    prefetch_lines(p.outputs[k].d.value, min(p.outputs[k].d.n, FETCHED) * sizeof(double))
                    break
        else:
            for k in range(p.n):
                start = 0
                if is_pair(&p.outputs[k].d):
                    start = ~p.outputs[k].d.minus
                    if k and start // LINE == ~p.outputs[0].d.minus // LINE:
                        continue    # probably in the same cache line as the weight of the first output
                for j in range(min(p.outputs[k].d.n, FETCHED)):
                    prefetch_line(self.w + p.outputs[k].d.index[j] + start)

    # -- SMOSTEP and what it needs --------------------------------------------------------------

    cdef int step(self, Pattern* p, Py_ssize_t a, Py_ssize_t b, double gap) except -1 nogil:
        """SMOSTEP: move weight from a to b, whose violations differ by `gap`; remove empty outputs."""
        cdef Output* out
        cdef double curvature, step, room
        cdef Py_ssize_t k
        if gap <= self.tau or a == NOBODY:
            return 0
        curvature = self.norm(p, a) + self.norm(p, b)
        if a != TRUE_OUTPUT and b != TRUE_OUTPUT:
            curvature -= 2 * self.sigma * self.product(p, a, b)
            self.cost += difference_size(&p.outputs[a].d) + difference_size(&p.outputs[b].d)
        if a != TRUE_OUTPUT:
            room = p.outputs[a].alpha
        else:
            room = DBL_MAX if self.squared else p.upper - p.beta
        step = min(gap / curvature, room) if curvature > 0 else room
        if a != TRUE_OUTPUT:
            out = &p.outputs[a]
            out.alpha = 0 if step == room else out.alpha - step
            self.shift(-step, out)
            self.cost += difference_size(&out.d)
        if b != TRUE_OUTPUT:
            out = &p.outputs[b]
            out.alpha += step
            self.shift(step, out)
            self.cost += difference_size(&out.d)
        self.dual += step * gap - 0.5 * step * step * curvature
        self.n_steps += 1
        p.beta = 0
        for k in range(p.n - 1, -1, -1):
            if p.outputs[k].alpha <= 0:
                self.remove_output(p, k)
        for k in range(p.n):
            p.beta += p.outputs[k].alpha
        if p.n == 0:
            self.remove_pattern(self.position[p.slot])
        return 1

    cdef void shift(self, double step, Output* out) noexcept nogil:
        difference_add(self.w, step, &out.d)

    cdef double inner(self, const Difference* a, const Difference* b) noexcept nogil:
        """<a, b>."""
        return difference_norm(a) if a == b else difference_inner(a, b)

    cdef double look(self, Py_ssize_t slot, bint counted, double floor) except? -1.0 nogil:
        """Ask the oracle and return the violation of what it found, packed if it is above `floor`."""
        cdef Found* found = &self.oracle.found
        cdef Difference located
        cdef Py_ssize_t k
        cdef double v
        self.packed = False
        if self.takes_pairs:
            self.oracle.find_pair(slot, self.w)
        else:
            self.oracle.find(slot, self.w, True)
        if counted:
            self.n_argmax += 1
            self.cost += found.cost
            self.poll()
        found.loss = self.oracle.scaled_loss(found.loss)
        if found.pair != NULL:
            self.pack()
            v = found.loss - difference_dot(self.w, &self.looked)
            self.pause(self.looked.n)
            return v
        if self.oracle.slack_rescaling:
            for k in range(found.n):
                found.value[k] *= found.loss
        v = found.loss - dot_dense(self.w, self.located(found.index, found.n), found.value, found.n)
        self.pause(found.n)
        # This is rounded differently from what is packed, so a tie could favour the same output.
        if v <= floor - CLOSE:
            return v
        self.pack()
        located = self.looked
        located.index = <int32_t*>self.located(located.index, located.n)
        v = found.loss - difference_dot(self.w, &located)
        self.pause(located.n)
        return v

    cdef bint spare_for(self, Py_ssize_t n) noexcept nogil:
        """Make `spare` long enough; False if there is no memory."""
        cdef int32_t* grown
        if n > self.n_spare or self.spare == NULL:
            grown = <int32_t*>realloc(self.spare, (n + n // 2 + 1) * sizeof(int32_t))
            if grown == NULL:
                return False
            self.spare, self.n_spare = grown, n + n // 2
        return True

    cdef const int32_t* located(self, const int32_t* indices, Py_ssize_t n) except NULL nogil:
        """Where some indices of w are in memory, to read from; valid until `spare` is used again."""
        if self.blocks is None and indices != NULL:
            return indices
        if not self.spare_for(n):
            with gil:
                raise MemoryError(f"no memory for a difference of {n} entries")
        if n:
            self.blocks.locate(indices, self.spare, n)
        return self.spare

    cdef Difference named(self, const Difference* d, int32_t* room) noexcept nogil:
        """The difference of a support output, with indices instead of places; `room` is for them."""
        cdef Difference result = d[0]
        if self.blocks is not None:
            result.index = room
            self.blocks.name(d.index, room, d.n)
        return result

    cdef int pack(self) except -1 nogil:
        """Convert the output found to the form of support outputs."""
        cdef Found* found = &self.oracle.found
        cdef int32_t* grown
        cdef int units
        self.packed = found.pair != NULL
        if self.packed:
            self.looked = found.pair[0]
            return 0
        if found.n > self.packable or self.room == NULL:
            grown = <int32_t*>realloc(self.room, (5 * found.n + 1) * sizeof(int32_t))
            if grown == NULL:
                with gil:
                    raise MemoryError(f"no memory for a difference of {found.n} entries")
            self.room, self.packable = grown, found.n
        units = pack_units(&self.looked, found.index, found.value, found.n, self.room, interrupted)
        if units < 0:
            return -1   # with the exception of the signal's handler
        if not units:
            found.n = canonical(found.index, found.value, found.n)
            pack_sorted(&self.looked, found.index, found.value, found.n, self.room)
        self.packed = True
        return 0

    cdef double norm(self, Pattern* p, Py_ssize_t k) noexcept nogil:
        if k != TRUE_OUTPUT:
            return self.sigma * p.outputs[k].norm
        return 1 / p.upper if self.squared else 0

    cdef double true_violation(self, Pattern* p) noexcept nogil:
        return p.beta / p.upper if self.squared else 0

    cdef int violations(self, Pattern* p) except -1 nogil:
        cdef Output* out
        cdef Py_ssize_t k
        for k in range(p.n):
            out = &p.outputs[k]
            out.v = out.loss - difference_dot(self.w, &out.d)
            self.cost += difference_size(&out.d)
            self.pause(out.d.n)
        return 0

    cdef Py_ssize_t giver(self, Pattern* p, double* v) noexcept nogil:
        """The least violated support output that can give weight (c+ of the papers)."""
        cdef Py_ssize_t k, best = NOBODY
        v[0] = DBL_MAX
        if self.squared or p.beta <= p.upper * (1 - self.kappa):
            best, v[0] = TRUE_OUTPUT, self.true_violation(p)
        for k in range(p.n):
            if p.outputs[k].v < v[0] and p.outputs[k].alpha >= self.kappa * p.upper:
                best, v[0] = k, p.outputs[k].v
        return best

    cdef Py_ssize_t taker(self, Pattern* p, double* v) noexcept nogil:
        """The most violated support output (c- of the papers)."""
        cdef Py_ssize_t k, best = TRUE_OUTPUT
        v[0] = self.true_violation(p)
        for k in range(p.n):
            if p.outputs[k].v > v[0]:
                best, v[0] = k, p.outputs[k].v
        return best

    # -- support patterns and outputs -----------------------------------------------------------

    cdef Py_ssize_t match(self, Pattern* p) noexcept nogil:
        """The support output equal to the one packed, or NOBODY: same difference and loss, same output."""
        cdef Difference d
        cdef Py_ssize_t k
        for k in range(p.n):
            if p.outputs[k].loss == self.oracle.found.loss and p.outputs[k].d.n == self.looked.n:
                d = self.named(&p.outputs[k].d, self.spare)
                if difference_equal(&d, &self.looked):
                    return k
        return NOBODY

    cdef Pattern* insert_pattern(self, Py_ssize_t slot) except NULL nogil:
        cdef Pattern* p
        cdef Py_ssize_t capacity
        if self.n_patterns == self.capacity:
            capacity = 2 * self.capacity + 64
            p = <Pattern*>realloc(self.patterns, capacity * sizeof(Pattern))
            if p == NULL:
                with gil:
                    raise MemoryError(f"no memory for {capacity} support patterns")
            self.patterns, self.capacity = p, capacity
        p = &self.patterns[self.n_patterns]
        p.slot, p.upper, p.beta = slot, self.upper[slot], 0
        p.n = p.capacity = 0
        p.outputs, p.products = NULL, NULL
        self.position[slot] = self.n_patterns
        self.n_patterns += 1
        return p

    cdef double product(self, Pattern* p, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """<d(a), d(b)> of two outputs, computed once: they meet in many steps."""
        cdef double value = NAN if p.products == NULL else p.products[a * p.capacity + b]
        cdef Difference one, other
        if value != value:
            one = self.named(&p.outputs[a].d, self.spare)
            other = self.named(&p.outputs[b].d, self.spare + one.n)
            value = self.inner(&one, &other)
            if p.products != NULL:
                p.products[a * p.capacity + b] = p.products[b * p.capacity + a] = value
        return value

    cdef bint widen(self, Pattern* p) noexcept nogil:
        """Room for more outputs and their products; False if there is no memory."""
        cdef Py_ssize_t k, capacity = 2 * p.capacity + 2
        cdef Py_ssize_t kept = capacity if capacity <= self.most_products else 0
        cdef Output* outputs = <Output*>malloc(capacity * sizeof(Output) + kept * kept * sizeof(double))
        cdef double* products = <double*>(outputs + capacity) if kept else NULL
        if outputs == NULL:
            return False
        if p.n:
            memcpy(outputs, p.outputs, p.n * sizeof(Output))
        if products != NULL:
            for k in range(p.n):
                memcpy(products + k * capacity, p.products + k * p.capacity, p.n * sizeof(double))
        free(p.outputs)
        p.outputs, p.products, p.capacity = outputs, products, capacity
        return True

    cdef Py_ssize_t insert_output(self, Pattern* p) except -1 nogil:
        """Copy the output packed into the pattern's, alpha = 0; a new pattern is removed if this fails."""
        cdef Py_ssize_t k, capacity, n_values = 0, n = self.looked.n
        cdef Output* out
        cdef bint short_of_memory
        cdef char* block
        short_of_memory = not self.spare_for(2 * n)     # for products
        short_of_memory = short_of_memory or p.n == p.capacity and not self.widen(p)
        if not short_of_memory and not is_pair(&self.looked):
            # One block: the values, if any, behind the indices and aligned.
            capacity = (n + n % 2) * sizeof(int32_t)
            n_values = n - self.looked.minus
            block = <char*>malloc(capacity + n_values * sizeof(double) + 1)
            short_of_memory = block == NULL
        if short_of_memory:
            if p.n == 0:
                self.remove_pattern(self.position[p.slot])
            with gil:
                raise MemoryError(f"no memory for a support output of {n} entries")
        out = &p.outputs[p.n]
        out.d = self.looked
        if not is_pair(&out.d):
            out.d.index = <int32_t*>block
            if n:
                memcpy(out.d.index, self.looked.index, n * sizeof(int32_t))
            if self.blocks is not None:
                self.blocks.settle(out.d.index, n)
            out.d.value = <double*>(block + capacity)
            if n_values:
                memcpy(block + capacity, self.looked.value, n_values * sizeof(double))
        out.alpha, out.loss, out.round = 0, self.oracle.found.loss, 0
        out.norm = self.inner(&out.d, &out.d)
        if self.limit > 0:
            self.require_margin(out.norm, out.loss)
        if p.products != NULL:
            p.products[p.n * p.capacity + p.n] = out.norm
            for k in range(p.n):
                p.products[k * p.capacity + p.n] = p.products[p.n * p.capacity + k] = NAN
        p.n += 1
        self.n_outputs += 1
        return p.n - 1

    cdef void remove_output(self, Pattern* p, Py_ssize_t k) noexcept nogil:
        """The last output takes its place."""
        cdef Py_ssize_t j, last = p.n - 1
        if not is_pair(&p.outputs[k].d):
            free(p.outputs[k].d.index)
        p.outputs[k] = p.outputs[last]
        if p.products != NULL:
            for j in range(last):
                if j != k:
                    p.products[j * p.capacity + k] = p.products[k * p.capacity + j] = (
                        p.products[last * p.capacity + j])
            p.products[k * p.capacity + k] = p.outputs[k].norm
        p.n = last
        self.n_outputs -= 1

    cdef int remove_pattern(self, Py_ssize_t position) except -1 nogil:
        """Fill the gap with the last support pattern; drop patterns outside the training set."""
        cdef Py_ssize_t slot = self.patterns[position].slot
        free(self.patterns[position].outputs)
        self.n_patterns -= 1
        self.patterns[position] = self.patterns[self.n_patterns]
        self.position[self.patterns[position].slot] = position
        self.position[slot] = -1
        return 0 if self.held[slot] else self.oracle.drop(slot)

    # -- from Python ----------------------------------------------------------------------------

    def grow(self, Py_ssize_t n_weights):
        """Make w at least this long; new weights are zero."""
        cdef double[::1] view
        cdef Py_ssize_t old = 0 if self.array is None else len(self.array)
        if self.blocks is not None:
            self.blocks.grow(n_weights)
            self.w, self.oracle.places = self.blocks.cells, self.blocks.places
        elif n_weights > old or self.array is None:
            self.array = lengthened(self.array if old else np.zeros(0), n_weights)
            view = self.array
            self.w = &view[0] if n_weights else NULL
            self.oracle.attach(self.array)

    @property
    def n_weights(self) -> int:
        """The length of w."""
        return len(self.array) if self.blocks is None else self.blocks.n_weights

    @property
    def weights(self) -> np.ndarray:
        """w: the array itself, or a copy if it is in blocks."""
        return self.weights_at(slice(None))

    def weights_at(self, places) -> np.ndarray:
        """Some entries of w."""
        return self.array[places] if self.blocks is None else self.blocks.take(places)

    @property
    def norm(self) -> float:
        """||w||^2."""
        return self.array @ self.array if self.blocks is None else self.blocks.norm

    @property
    def losses(self) -> float:
        """sum alpha Delta, less beta^2 / 2 C for quadratic slacks: the dual is this minus ||w||^2 / 2."""
        cdef double total = 0
        cdef Py_ssize_t position, k
        cdef Pattern* p
        for position in range(self.n_patterns):
            p = &self.patterns[position]
            for k in range(p.n):
                total += p.outputs[k].alpha * p.outputs[k].loss
            if self.squared:
                total -= p.beta * p.beta / (2 * p.upper)
        return total

    def start_from(self, weights):
        """Set w, without support patterns."""
        self.grow(len(weights))
        self.write(weights)

    def write(self, weights):
        """Set the first weights of w, normally all."""
        if self.blocks is None:
            self.array[:len(weights)] = weights
        else:
            self.blocks.put(np.require(weights, np.float64, "CA"))

    def admit(self, const Py_ssize_t[::1] slots, const double[::1] sample_weight):
        """Add slots of the oracle to the training set, with their sample weights."""
        cdef Py_ssize_t k, n_slots = self.n_slots
        self.grow(self.oracle.n_weights)
        for k in range(slots.shape[0]):
            n_slots = max(n_slots, slots[k] + 1)
        if n_slots > self.n_slots:
            n_slots += n_slots // 2
            self.position = <Py_ssize_t*>checked(realloc(self.position, n_slots * sizeof(Py_ssize_t)))
            self.upper = <double*>checked(realloc(self.upper, n_slots * sizeof(double)))
            self.held = <char*>checked(realloc(self.held, n_slots * sizeof(char)))
            for k in range(self.n_slots, n_slots):
                self.position[k], self.upper[k], self.held[k] = -1, 0, 0
            self.n_slots = n_slots
        for k in range(slots.shape[0]):
            self.upper[slots[k]] = self.C * sample_weight[k]
            self.held[slots[k]] = 1

    def dismiss(self, const Py_ssize_t[::1] slots):
        """Remove slots from the training set: support patterns stay until they lose their coefficients."""
        cdef Py_ssize_t k
        for k in range(slots.shape[0]):
            # Once only, and only if admitted: Ctrl-C may have come before that, or after it was dismissed.
            if slots[k] < self.n_slots and self.held[slots[k]]:
                self.held[slots[k]] = 0
                if self.position[slots[k]] < 0:
                    self.oracle.drop(slots[k])

    def forget_patterns(self, Py_ssize_t n):
        """Drop the first n support patterns, mostly the oldest; what they taught stays in w."""
        cdef Py_ssize_t position, slot
        cdef Pattern* p
        n = min(n, self.n_patterns)
        for position in range(n):
            p = &self.patterns[position]
            slot = p.slot
            while p.n:
                self.remove_output(p, p.n - 1)
            free(p.outputs)
            self.position[slot] = -1
            if not self.held[slot]:
                self.oracle.drop(slot)
        self.n_patterns -= n
        if self.n_patterns:
            memmove(self.patterns, self.patterns + n, self.n_patterns * sizeof(Pattern))
        for position in range(self.n_patterns):
            self.position[self.patterns[position].slot] = position

    def forget_rows(self, const int32_t[::1] row_of, Py_ssize_t stride):
        """Drop rows of w, each `stride` long, as if no pattern had ever used them; row_of: see `shortened`.

        An array changes in place: this takes milliseconds, and no memory. Blocks are copied.
        """
        cdef Py_ssize_t position, j, k
        cdef Pattern* p
        self.oracle.forget_rows(row_of)
        for position in range(self.n_patterns):
            p = &self.patterns[position]
            for k in range(p.n):
                self.named(&p.outputs[k].d, p.outputs[k].d.index)
        if self.blocks is None:
            self.array = shortened(self.array, row_of, stride)
            self.oracle.attach(self.array)
        else:
            self.blocks = self.blocks.without(self.oracle.pinned, row_of, stride)
            self.grow(self.oracle.n_weights)
        for position in range(self.n_patterns):
            p = &self.patterns[position]
            for k in range(p.n):
                difference_renumber(&p.outputs[k].d, &row_of[0], stride)
                if self.blocks is not None:
                    self.blocks.settle(p.outputs[k].d.index, p.outputs[k].d.n)
                p.outputs[k].norm = difference_norm(&p.outputs[k].d)
            for k in range(p.n if p.products != NULL else 0):
                for j in range(p.n):
                    p.products[k * p.capacity + j] = p.outputs[k].norm if j == k else NAN

    def slacks(self, const Py_ssize_t[::1] slots, bint counted=False) -> np.ndarray:
        """xi of each pattern at the current w."""
        result = np.empty(slots.shape[0])
        cdef double[::1] xi = result
        cdef Py_ssize_t k
        self.grow(self.oracle.n_weights)
        with nogil:
            for k in range(slots.shape[0]):
                if k % LOOKS_PER_POLL == LOOKS_PER_POLL - 1:
                    with gil:
                        check_signals()
                xi[k] = max(0, self.look(slots[k], counted, DBL_MAX))
        return result

    def state(self, bint support=True) -> dict:
        """Everything but the oracle's patterns, as arrays: the input of restore().

        Without support patterns it is enough to predict, or to train on new data.
        """
        cdef Py_ssize_t position, k, n
        cdef Pattern* p
        cdef Difference d
        cdef int32_t[::1] index_view
        cdef double[::1] value_view
        slots, upper, counts = [], [], []
        alpha, loss, lengths, indices, values = [], [], [], [], []
        for position in range(self.n_patterns if support else 0):
            p = &self.patterns[position]
            slots.append(p.slot)
            upper.append(p.upper)
            counts.append(p.n)
            for k in range(p.n):
                alpha.append(p.outputs[k].alpha)
                loss.append(p.outputs[k].loss)
                n = difference_size(&p.outputs[k].d)
                lengths.append(n)
                indices.append(np.empty(n, np.int32))
                values.append(np.empty(n))
                if n:
                    index_view, value_view = indices[len(indices) - 1], values[len(values) - 1]
                    d = self.named(&p.outputs[k].d, self.spare)
                    unpack(&d, &index_view[0], &value_view[0])
        return {
            "weights": self.array.copy() if self.blocks is None else self.weights,
            "slots": np.array(slots, dtype=np.intp),
            "upper": np.array(upper, dtype=np.float64),
            "counts": np.array(counts, dtype=np.int64),
            "alpha": np.array(alpha, dtype=np.float64),
            "loss": np.array(loss, dtype=np.float64),
            "lengths": np.array(lengths, dtype=np.int64),
            "indices": np.concatenate([np.empty(0, np.int32), *indices]),
            "values": np.concatenate([np.empty(0), *values]),
            "counters": np.array([self.n_argmax, self.n_steps], dtype=np.int64),
            "objective": np.array([self.dual, self.cost], dtype=np.float64),
            "rng": np.array([self.rng], dtype=np.uint64),
        }

    def restore(self, state: dict):
        """Load a state() into a new machine; the oracle must hold the support patterns in its slots."""
        if self.n_patterns or self.n_steps:
            raise ValueError("only a new dual can be restored")
        self.grow(len(state["weights"]))
        check_state(state, len(self.array) if self.blocks is None else self.blocks.n_weights)
        cdef Pattern* p
        cdef Py_ssize_t i, j, k, at = 0, entry = 0
        cdef Found* found = &self.oracle.found
        cdef const Py_ssize_t[::1] slots = state["slots"]
        cdef const long long[::1] counts = state["counts"], lengths = state["lengths"]
        cdef const double[::1] alpha = state["alpha"], loss = state["loss"], values = state["values"]
        cdef const double[::1] upper = state["upper"]
        cdef const int32_t[::1] indices = state["indices"]
        self.admit(slots, np.ones(len(slots)))
        for i in range(slots.shape[0]):
            self.upper[slots[i]] = upper[i]
            p = self.insert_pattern(slots[i])
            self.held[slots[i]] = 0
            for j in range(counts[i]):
                self.oracle.reserve(lengths[entry])
                found.n, found.loss = lengths[entry], loss[entry]
                for k in range(lengths[entry]):
                    found.index[k], found.value[k] = indices[at + k], values[at + k]
                self.oracle.recall(slots[i], self.takes_pairs)
                self.pack()
                self.insert_output(p)
                p.outputs[j].alpha = alpha[entry]
                p.beta += alpha[entry]
                at += lengths[entry]
                entry += 1
        self.write(state["weights"])
        self.n_argmax, self.n_steps = state["counters"]
        self.dual, self.cost = state["objective"]
        self.rng = state["rng"][0]


cdef void* checked(void* block) except NULL:
    if block == NULL:
        raise MemoryError("no memory for the training set")
    return block


def check_state(state: dict, n_weights: int) -> None:
    """Refuse arrays that do not fit each other or have impossible values, because they index w."""
    kinds = {
        "weights": np.float64, "slots": np.intp, "upper": np.float64, "counts": np.int64, "alpha": np.float64,
        "loss": np.float64, "lengths": np.int64, "indices": np.int32, "values": np.float64,
        "counters": np.int64, "objective": np.float64, "rng": np.uint64,
    }
    if not all(state[name].ndim == 1 and state[name].dtype == kind for name, kind in kinds.items()):
        raise ValueError(INCONSISTENT)
    n_outputs, n_entries = len(state["alpha"]), len(state["indices"])
    counts, lengths, indices = state["counts"], state["lengths"], state["indices"]
    fits = (
        len(state["weights"]) == n_weights
        and len(state["slots"]) == len(state["upper"]) == len(counts)
        and len(state["loss"]) == len(lengths) == n_outputs and len(state["values"]) == n_entries
        and ((counts > 0) & (counts <= n_outputs)).all() and ((lengths >= 0) & (lengths <= n_entries)).all()
        and counts.sum() == n_outputs and lengths.sum() == n_entries
        and (state["slots"] >= 0).all() and len(np.unique(state["slots"])) == len(state["slots"])
        and (n_entries == 0 or 0 <= indices.min() <= indices.max() < n_weights)
        and len(state["counters"]) == len(state["objective"]) == 2 and len(state["rng"]) >= 1
        and ((state["counters"] >= 0) & (state["counters"] <= LARGEST_COUNT)).all()
        and all(np.isfinite(state[name]).all() for name, kind in kinds.items() if kind is np.float64)
        and (state["alpha"] >= 0).all() and (state["upper"] > 0).all() and (state["loss"] >= 0).all()
    )
    if not fits:
        raise ValueError(INCONSISTENT)
    output = np.repeat(np.arange(n_outputs), lengths)
    last = max(n_entries - 1, 0)
    if ((indices[1:] <= indices[:last]) & (output[1:] == output[:last])).any():
        raise ValueError(INCONSISTENT)
