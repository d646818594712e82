# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The weights of a conditional random field, learned by stochastic gradient steps.

Step t moves w against the gradient of C times one sentence's -log p(y | x), and of its share of |w|^2 / 2.
The model is the mean of all w, weighted by t, which forgets the first ones [Lacoste-Julien et al. 2012]. w is
scale * last; sum_t t w_t is moments + spread * last, so that a step costs the size of its sentence.
"""
from libc.math cimport INFINITY, exp, isfinite
from libc.stdint cimport int32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from structsvm._dual.perceptron cimport PerceptronWeights
from structsvm.problems.sequence._chain cimport Chain
from structsvm.problems.sequence._oracles cimport ExactOracle, poll
from structsvm.problems.sequence._sentences cimport Sentence

import numpy as np

from structsvm.files.codec import Array, Field, Table
from structsvm.machine import Unsupported

cdef extern from "structsvm/problems/sequence/_forward.h" nogil:
    void spend_on_rows(
        double* w, double* moments, const int32_t* rows, const float* values, Py_ssize_t n,
        Py_ssize_t stride, const double* share, double time)

cdef enum:
    SAMPLE = 500            # sentences on which the rate is chosen
    FEW = 50                # fewer say little about it
    SENTENCES_BEFORE = 10000    # that are assumed to have taught the weights of `start_from`

cdef double SMALLEST = 1e-6     # scale
cdef double STEEPEST = 8        # the largest step for a token whose features have the norm 1
cdef double USUAL = 2, LEAST = 1e-6, MOST = 1e3     # rates for such tokens
STATE = Table(
    Field("figures", Array(np.float64, 8, low=0.0), "scale, spread, total, before, rate, chosen"),
    Field("assumed", Array(np.float64, 1, low=0.0), "the sentences before that nobody has seen", np.zeros(1)),
)


cdef class FieldChain(Chain):
    """The lattice of a sentence, and what its gradient is added to."""

    cdef ExactOracle oracle
    cdef const Sentence* x
    cdef double* moments        # or NULL
    cdef double* all            # tokens x stride: `emission` of all labels, while `restrict` has changed it
    cdef Py_ssize_t all_room
    cdef double spread, sign
    cdef bint labelled          # each token has one right label, which `spend` subtracts
    cdef int32_t[::1] best      # the most probable label of each token

    def __init__(self, ExactOracle oracle):
        super().__init__(oracle.n_labels)
        self.oracle = oracle
        self.barred = &oracle.barred[0, 0]
        self.best = np.zeros(1, np.int32)

    def __dealloc__(self):
        free(self.all)

    cdef int prepare(self, Sentence* x) except -1 nogil:
        """Make room for a sentence."""
        cdef Py_ssize_t t
        cdef double* block
        self.x, self.labelled = x, True
        for t in range(x.n_tokens):
            self.labelled &= x.gold[t] >= 0
        self.widen(x.n_tokens)
        if self.room > self.best.shape[0]:
            with gil:
                self.best = np.zeros(self.room, np.int32)
        if not self.labelled and self.all_room < self.room:
            block = <double*>realloc(self.all, self.room * self.stride * sizeof(double))
            if block == NULL:
                with gil:
                    raise MemoryError(f"no memory for a sentence of {x.n_tokens} tokens")
            self.all, self.all_room = block, self.room
        return 0

    cdef double score(self, const double* w, double scale) except? -1 nogil:
        """Fill `emission`; return what log Z lacks then, less the score of the right labels, if known."""
        cdef const Sentence* x = self.x
        cdef Py_ssize_t t, y, stride = self.stride, before = self.n_labels
        cdef const float* entering = &self.oracle.barred[self.n_labels, 0]
        cdef double top, total = 0
        cdef double* row
        cdef double* scores = self.oracle.scores
        self.tabulate(w, stride, scale)
        for t in range(x.n_tokens):
            self.oracle.score(w, x, t)
            row = self.emission + t * stride
            if t == 0:
                for y in range(self.n_labels):
                    scores[y] += w[self.n_labels * stride + y]
            top = scores[0]
            for y in range(1, self.n_labels):
                top = max(top, scores[y])
            for y in range(stride):
                row[y] = 0
            for y in range(self.n_labels):
                if t or entering[y] == 0:
                    row[y] = exp(scale * (scores[y] - top))
            total += scale * top
            if self.labelled:
                total -= scale * scores[x.gold[t]]
                if t:
                    total -= scale * w[before * stride + x.gold[t]]
                before = x.gold[t]
        for y in range(self.n_labels):
            if self.oracle.barred_end[y] != 0:
                row[y] = 0
        return total + (x.n_tokens - 1) * self.highest

    cdef bint is_possible(self) noexcept nogil:
        """Whether the right labels have a probability above 0."""
        cdef Py_ssize_t t
        cdef const int32_t* gold = self.x.gold
        for t in range(self.x.n_tokens):
            if self.emission[t * self.stride + gold[t]] == 0:
                return False
            if t and self.table[gold[t - 1] * self.stride + gold[t]] == 0:
                return False
        return True

    cdef void restrict(self) noexcept nogil:
        """Set the emission of labels that the annotation excludes to 0."""
        cdef Py_ssize_t t, y
        for t in range(self.x.n_tokens):
            for y in range(self.n_labels):
                if not self.oracle.permits(self.x.gold[t], y):
                    self.emission[t * self.stride + y] = 0

    cdef void spend(self, Py_ssize_t token, double* out) noexcept nogil:
        """Add the gradient of a token to the rows of its features."""
        cdef const Sentence* x = self.x
        cdef const int32_t* rows = self.oracle.rows_of(x, token)
        cdef Py_ssize_t y, best = 0, n = self.n_labels, first = x.token_ptr[token]
        for y in range(1, n):
            if self.sign * self.share[y] > self.sign * self.share[best]:
                best = y
        self.best[token] = <int32_t>best
        if self.labelled:
            self.share[x.gold[token]] -= self.sign
        spend_on_rows(
            out + self.oracle.offset, NULL if self.moments == NULL else self.moments + self.oracle.offset,
            rows, NULL if x.values == NULL else x.values + first, x.token_ptr[token + 1] - first,
            self.stride, self.share, self.spread)
        if token == 0:
            self.add(n, self.share, out)

    cdef void add(self, Py_ssize_t row, const double* values, double* out) noexcept nogil:
        """Add to a row of the label history."""
        cdef Py_ssize_t y, at = row * self.stride
        for y in range(self.n_labels):
            out[at + y] += values[y]
            if self.moments != NULL:
                self.moments[at + y] -= self.spread * values[y]

    cdef void add_pairs(self, double* out) noexcept nogil:
        """Add the gradient of the pairs of labels, and clear their sums."""
        cdef Py_ssize_t p, y, at
        for p in range(self.n_labels):
            at = p * self.stride
            for y in range(self.n_labels):
                self.share[y] = self.pairs[at + y] * self.table[at + y]
            self.add(p, self.share, out)
        self.clear_pairs()
        for y in range(self.n_labels):
            self.share[y] = 0
        for p in range(1, self.x.n_tokens if self.labelled else 0):
            y = self.x.gold[p]
            self.share[y] = -self.sign
            self.add(self.x.gold[p - 1], self.share, out)
            self.share[y] = 0

    cdef double expect(
        self, Sentence* x, double sign, const double* w, double scale, double* out
    ) except? -1 nogil:
        """Return -log p(right labels), and add sign times its gradient to `out` unless it is NULL.

        The result is not finite, and nothing is added, if the right labels are impossible. `out` may be w.
        """
        cdef double loss, right = 0
        cdef Py_ssize_t size = x.n_tokens * self.stride * sizeof(double)
        self.prepare(x)
        loss = self.score(w, scale)
        if not self.labelled:
            memcpy(self.all, self.emission, size)
            self.restrict()
            right = self.forwards(x.n_tokens)
            if not isfinite(right):
                return INFINITY
            if out != NULL:
                self.sign = -sign
                self.backwards(0, x.n_tokens, -sign, out)
            memcpy(self.emission, self.all, size)
            loss = 0
        elif not self.is_possible():
            return INFINITY
        loss += self.forwards(x.n_tokens) - right
        if not isfinite(loss):
            return INFINITY
        if out != NULL:
            self.sign = sign
            self.backwards(0, x.n_tokens, sign, out)
            self.add_pairs(out)
        return max(0, loss)


cdef class FieldWeights(PerceptronWeights):
    """Minimises |w|^2 / 2 + sum of C_i times -log p(y_i | x_i); `visit` makes a step for each slot.

    Patterns whose labels the scheme excludes are not learned; `n_impossible` counts them.
    """

    cdef readonly FieldChain chain
    cdef readonly double C
    cdef readonly long long n_impossible
    cdef double scale, spread, total    # see above; the sum of all t
    cdef double[3] before, here         # sentences, tokens and their |x|^2, of earlier training sets, of this
    cdef double assumed                 # the sentences of `before` that `start_from` assumes
    cdef double rate                    # of the first step, times the mean |x|^2
    cdef double chosen                  # the sentences on which the rate has been chosen

    def __init__(self, oracle, *, double C):
        if type(oracle) is not ExactOracle:
            raise Unsupported(
                "a random field needs sequences with exact inference, a loss for each token, and no features "
                "joined with a label")
        super().__init__(oracle, average=True)
        self.chain, self.C = FieldChain(oracle), C
        self.scale, self.rate = 1, USUAL

    def admit(self, slots, sample_weight):
        """Add slots of the oracle to the training set, with their sample weights."""
        cdef const Sentence* x
        cdef Py_ssize_t slot, t
        super().admit(slots, sample_weight)
        self.here[0] += len(slots)
        for slot in slots:
            x = self.chain.oracle.of_slot[slot]
            self.here[1] += x.n_tokens
            for t in range(x.n_tokens):
                self.here[2] += norm_of(x, t)

    def dismiss(self, const Py_ssize_t[::1] slots):
        """Remove slots from the training set."""
        cdef Py_ssize_t k
        super().dismiss(slots)
        for k in range(3):
            self.before[k] += self.here[k]
            self.here[k] = 0

    @property
    def n_patterns(self) -> int:
        """Sentences."""
        return int(self.before[0] - self.assumed + self.here[0])

    def choose_rate(self, slots):
        """Choose the rate by trials on the first of these slots, if they are many more than last time."""
        cdef Py_ssize_t[::1] sample = np.array(slots[:SAMPLE], dtype=np.intp)
        if sample.shape[0] < max(FEW, 2 * self.chosen):
            return
        best, found = self.trial(sample, USUAL), USUAL
        for factor in (2.0, 0.5):
            rate = USUAL * factor
            while LEAST < rate < MOST and (value := self.trial(sample, rate)) < best:
                best, found, rate = value, rate, rate * factor
            if found != USUAL:
                break
        self.rate, self.chosen = found, sample.shape[0]

    def trial(self, const Py_ssize_t[::1] slots, double rate) -> float:
        """The objective of some slots after a pass over them from zeros."""
        cdef double[::1] w = np.zeros(self.oracle.n_weights)
        cdef Py_ssize_t k, n = slots.shape[0]
        cdef double loss = 0, scale = 1, decay = self.decay()
        with nogil:
            for k in range(n + n // 4 + 1):
                if k == n:
                    loss = 0
                loss += self.step(slots[k % n], 1, &w[0], NULL, self.eta(rate, k), &scale)
                scale /= 1 + decay * self.eta(rate, k)
        weights = np.asarray(w)
        value = loss + decay / 2 * scale * scale * float(weights @ weights) * (n // 4 + 1)
        return value if np.isfinite(value) else np.inf

    cdef double decay(self) noexcept nogil:
        """The share of |w|^2 / 2 in the objective of a sentence."""
        return 1 / (self.C * max(1.0, self.before[0] + self.here[0]))

    cdef double eta(self, double rate, double time) noexcept nogil:
        """The length of a step."""
        rate *= (self.before[1] + self.here[1]) / max(self.before[2] + self.here[2], 1.0)
        return rate / (1 + self.decay() * rate * time)

    cdef double step(
        self, Py_ssize_t slot, double sample_weight, double* w, double* moments, double eta, double* scale
    ) except? -1 nogil:
        """A step against the gradient of a sentence; return its loss, not finite if it is impossible."""
        cdef Sentence* x = self.chain.oracle.of_slot[slot]
        cdef double largest = 1e-100
        cdef Py_ssize_t t
        for t in range(x.n_tokens):
            largest = max(largest, norm_of(x, t))
        eta = min(eta, STEEPEST / largest) * sample_weight
        self.chain.moments, self.chain.spread = moments, self.spread
        return self.chain.expect(x, -eta / scale[0], w, scale[0], w)

    def visit(self, const Py_ssize_t[::1] slots):
        """Make a step for each slot, in order."""
        cdef double[::1] w = self.last, moments = self.moments
        cdef const double[::1] weight = self.sample_weight
        cdef unsigned char[::1] seen = self.wrong
        cdef ExactOracle oracle = self.chain.oracle
        cdef Sentence* x
        cdef double eta
        cdef Py_ssize_t k, t
        with nogil:
            for k in range(slots.shape[0]):
                poll()
                oracle.expect(True)
                eta = self.eta(self.rate, self.n_seen)
                if isfinite(self.step(slots[k], weight[slots[k]], &w[0], &moments[0], eta, &self.scale)):
                    x = oracle.of_slot[slots[k]]
                    for t in range(x.n_tokens if oracle.unseen else 0):
                        oracle.note(x, t, self.chain.best[t])
                    self.n_updates += 1
                else:
                    self.n_impossible += 1
                self.n_wrong += not seen[slots[k]]
                seen[slots[k]] = 1
                self.n_seen += 1
                self.scale /= 1 + self.decay() * eta
                self.spread += self.n_seen * self.scale
                self.total += self.n_seen
                if self.scale < SMALLEST:
                    for t in range(w.shape[0]):
                        w[t] *= self.scale
                    self.spread /= self.scale
                    self.scale = 1

    def weights_at(self, places) -> np.ndarray:
        """Some entries of `weights`."""
        if not self.total:
            return self.scale * self.last[places]
        return (self.moments[places] + self.spread * self.last[places]) / self.total

    def start_from(self, weights):
        """Set w, as if many sentences had taught it."""
        super().start_from(weights)
        self.before[0] = self.assumed = SENTENCES_BEFORE

    def forget_patterns(self, n):
        """Raise Unsupported: there are no support patterns."""
        raise Unsupported("a random field cannot forget patterns: it keeps none")

    def slacks(self, const Py_ssize_t[::1] slots, bint counted=False) -> np.ndarray:
        """-log p of the labels of each pattern; `counted` makes no difference."""
        return self.losses(slots, None, None)

    def gradient(self, const Py_ssize_t[::1] slots, const double[::1] sample_weight) -> np.ndarray:
        """The gradient of the weighted sum of `slacks` at w."""
        self.grow(self.oracle.n_weights)
        result = np.zeros(len(self.last))
        self.losses(slots, sample_weight, result)
        return result

    def losses(self, const Py_ssize_t[::1] slots, const double[::1] sample_weight, double[::1] out):
        """-log p of the labels of each pattern; add the gradient to `out` unless it is None."""
        self.grow(self.oracle.n_weights)
        cdef const double[::1] w = self.weights
        result = np.empty(slots.shape[0])
        cdef double[::1] xi = result
        cdef FieldChain chain = self.chain
        cdef Py_ssize_t k
        chain.moments = NULL
        with nogil:
            for k in range(slots.shape[0]):
                poll()
                xi[k] = chain.expect(
                    chain.oracle.of_slot[slots[k]], 1 if out is None else sample_weight[k], &w[0], 1,
                    NULL if out is None else &out[0])
        return result

    def state(self) -> dict:
        """The input of restore(), as arrays."""
        figures = [self.scale, self.spread, self.total, *list(self.before), self.rate, self.chosen]
        return {
            "weights": self.last.copy(),
            "moments": self.moments.copy(),
            "counters": np.array([self.n_seen, self.n_updates, self.n_wrong], dtype=np.int64),
            "figures": np.array(figures),
            "assumed": np.array([self.assumed]),
        }

    def restore(self, state: dict):
        """Load a state() into a new machine."""
        read = STATE.read(state, {})
        figures, assumed = read["figures"], read["assumed"][0]
        if not SMALLEST <= figures[0] <= 1:
            raise ValueError("the scale of the training state is out of range")
        if assumed > figures[3]:
            raise ValueError("the training state assumes more sentences than it counts")
        super().restore(state)
        self.scale, self.spread, self.total = figures[:3]
        self.before[0], self.before[1], self.before[2] = figures[3:6]
        self.assumed = assumed
        self.rate, self.chosen = figures[6:]


cdef double norm_of(const Sentence* x, Py_ssize_t t) noexcept nogil:
    """|x|^2 of a token, with 1 for the label before."""
    cdef Py_ssize_t k
    cdef double norm = 1
    if x.values == NULL:
        return 1 + x.token_ptr[t + 1] - x.token_ptr[t]
    for k in range(x.token_ptr[t], x.token_ptr[t + 1]):
        norm += <double>x.values[k] * x.values[k]
    return norm
