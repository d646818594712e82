# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The network of concept labelling: greedy inference in any order, and its update after the first mistake.

A labelling y of the words x, in a world u, scores (thesis, C.4)

    g(x, y, u) = sum over labelled i of  g_i . h(y_i)
    g_i        = b_g + sum over the window of  D(x_j) W_j  +  sum over its labelled j != i of  C(y_j, u) V_j
    h(c)       = b_h + C(c, u) H

where C(c, u) joins the vectors of the names of c and of what c is related to in u. A step labels one word,
j with c, and adds to the score

    gain(j, c) = g_j . h(c)  +  sum over labelled i of  C(c, u) V_(j - i) . h(y_i)
               = b_h . g_j + C(c, u) . q_j
    q_j        = H g_j + sum over labelled i of  V_(j - i) h(y_i)

so that all concepts of a word are scored by one vector, q_j, kept up to date as words get their labels.
"""
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

import numpy as np

cdef extern from "semparse/concepts/_floats.h" nogil:
    void axpy(float*, float, const float*, ptrdiff_t)
    float dot(const float*, const float*, ptrdiff_t)
    void add_product(float*, const float*, const float*, ptrdiff_t, ptrdiff_t)
    void add_back_product(float*, const float*, const float*, ptrdiff_t, ptrdiff_t)
    void add_outer(float*, float, const float*, const float*, ptrdiff_t, ptrdiff_t)

cdef enum:
    ORDER_FREE = 0
    LEFT_RIGHT = 1
    INDEPENDENT = 2

ORDERS = {"order-free": ORDER_FREE, "left-right": LEFT_RIGHT, "independent": INDEPENDENT}
MISFIT = "a word, concept or sentence is out of range: the model changed while it was used"


cdef inline void clear(float[:, ::1] rows) noexcept nogil:
    memset(&rows[0, 0], 0, rows.shape[0] * rows.shape[1] * sizeof(float))


cdef class Network:
    """Parameters, and the state of one sentence; arrays in C order, as `concepts.parameters` makes them."""

    cdef readonly object arrays
    cdef float[:, ::1] words, concepts, H
    cdef float[:, :, ::1] W, V
    cdef float[::1] b_g, b_h
    cdef Py_ssize_t d, D, N, n_labels, n_names, n_relations, reach, length, n_words
    cdef int order
    # Of the sentence at hand:
    cdef const int32_t* x
    cdef const int32_t* world  # the value of each relation, concept by concept
    cdef int32_t[::1] y
    cdef float[:, ::1] g, q, feedback, h, vectors, gains, parts
    # Of the update:
    cdef float[:, ::1] weight, mixed, change_g, change_h, change_word, change_name
    cdef float[::1] total, row
    cdef int32_t[::1] touched

    def __init__(self, arrays, Py_ssize_t longest, str order):
        self.arrays = arrays
        self.words, self.concepts, self.H = arrays["words"], arrays["concepts"], arrays["H"]
        self.W, self.V = arrays["W"], arrays["V"]
        self.b_g, self.b_h = arrays["b_g"], arrays["b_h"]
        self.d, self.D, self.N = self.words.shape[1], self.H.shape[0], self.H.shape[1]
        self.n_names = self.concepts.shape[0]
        self.n_labels = self.n_names - 1  # the last one is "none"
        self.n_relations = self.D // self.d - 1
        self.reach = self.W.shape[0] // 2
        self.order = ORDERS[order]
        self.n_words = self.words.shape[0]
        if not (
            self.n_labels > 0 and self.d > 0 and self.N > 0 and self.n_words > 1 and self.n_relations >= 0
            and self.D == (self.n_relations + 1) * self.d and self.concepts.shape[1] == self.d
            and self.W.shape[0] == self.V.shape[0] == 2 * self.reach + 1
            and self.W.shape[1] == self.d and self.V.shape[1] == self.D
            and self.W.shape[2] == self.V.shape[2] == self.b_g.shape[0] == self.b_h.shape[0] == self.N
        ):
            raise ValueError("the arrays of the network do not fit together")
        self.y = np.zeros(longest, np.int32)
        self.g, self.h, self.change_g, self.change_h = (
            np.zeros((longest, self.N), np.float32) for _ in range(4)
        )
        self.q, self.feedback, self.vectors, self.mixed = (
            np.zeros((longest, self.D), np.float32) for _ in range(4)
        )
        self.gains, self.weight = (np.zeros((longest, self.n_labels), np.float32) for _ in range(2))
        self.parts = np.zeros((self.n_relations + 1, self.n_names), np.float32)
        self.change_word = np.zeros((longest + 2 * self.reach, self.d), np.float32)
        self.change_name = np.zeros((self.n_names, self.d), np.float32)
        self.row, self.total = np.zeros(self.D, np.float32), np.zeros(longest, np.float32)
        self.touched = np.zeros(longest, np.int32)

    cdef bint fits(
        self, const int32_t[::1] words, const int32_t[::1] starts, const int32_t[:, ::1] worlds, Py_ssize_t i
    ) noexcept nogil:
        """Whether every number of sentence i and its world is in range."""
        cdef Py_ssize_t j, n_values = self.n_relations * self.n_labels
        if not 0 <= i < starts.shape[0] - 1 or i >= worlds.shape[0] or worlds.shape[1] < max(1, n_values):
            return False
        if not 0 <= starts[i] < starts[i + 1] <= words.shape[0]:
            return False
        if starts[i + 1] - starts[i] > self.y.shape[0]:
            return False
        for j in range(starts[i], starts[i + 1]):
            if not 0 <= words[j] < self.n_words:
                return False
        for j in range(n_values):
            if not 0 <= worlds[i, j] < self.n_names:
                return False
        return True

    cdef inline int32_t word(self, Py_ssize_t at) noexcept nogil:
        """The word at a place, 0 outside the sentence."""
        return self.x[at] if 0 <= at < self.length else 0

    cdef inline int32_t name(self, Py_ssize_t part, int32_t concept) noexcept nogil:
        """The name that stands in a part of a concept's vector: its own, or what it is related to."""
        return concept if part == 0 else self.world[(part - 1) * self.n_labels + concept]

    cdef void vector(self, int32_t concept, float* out) noexcept nogil:
        """C(c, u)."""
        cdef Py_ssize_t part, k
        cdef int32_t name
        for part in range(self.n_relations + 1):
            name = self.name(part, concept)
            for k in range(self.d):
                out[part * self.d + k] = self.concepts[name, k]

    cdef void start(self, const int32_t* x, const int32_t* world, Py_ssize_t length) noexcept nogil:
        """Begin a sentence, with all words unlabelled."""
        cdef Py_ssize_t j, k, offset
        self.x, self.world, self.length = x, world, length
        for j in range(length):
            self.y[j] = -1
            for k in range(self.N):
                self.g[j, k] = self.b_g[k]
            for offset in range(-self.reach, self.reach + 1):
                add_product(&self.g[j, 0], &self.words[self.word(j + offset), 0],
                            &self.W[offset + self.reach, 0, 0], self.d, self.N)
            memset(&self.feedback[j, 0], 0, self.D * sizeof(float))
            self.score(j)

    cdef void score(self, Py_ssize_t j) noexcept nogil:
        """gains[j, c] for all concepts."""
        cdef Py_ssize_t part, k
        cdef int32_t c
        cdef float bias = dot(&self.b_h[0], &self.g[j, 0], self.N)
        for k in range(self.D):
            self.q[j, k] = self.feedback[j, k]
        add_back_product(&self.q[j, 0], &self.g[j, 0], &self.H[0, 0], self.D, self.N)
        memset(&self.parts[0, 0], 0, (self.n_relations + 1) * self.n_names * sizeof(float))
        for part in range(self.n_relations + 1):
            add_back_product(&self.parts[part, 0], &self.q[j, part * self.d], &self.concepts[0, 0],
                             self.n_names, self.d)
        for c in range(<int32_t>self.n_labels):
            self.gains[j, c] = bias
            for part in range(self.n_relations + 1):
                self.gains[j, c] += self.parts[part, self.name(part, c)]

    cdef void label(self, Py_ssize_t k, int32_t c) noexcept nogil:
        """Label word k, and let the unlabelled words around it know."""
        cdef Py_ssize_t j, n
        self.y[k] = c
        if self.order == INDEPENDENT:
            return
        self.vector(c, &self.vectors[k, 0])
        for n in range(self.N):
            self.h[k, n] = self.b_h[n]
        add_product(&self.h[k, 0], &self.vectors[k, 0], &self.H[0, 0], self.D, self.N)
        for j in range(max(0, k - self.reach), min(self.length, k + self.reach + 1)):
            if self.y[j] < 0:
                add_product(&self.g[j, 0], &self.vectors[k, 0], &self.V[k - j + self.reach, 0, 0],
                            self.D, self.N)
                add_back_product(&self.feedback[j, 0], &self.h[k, 0], &self.V[j - k + self.reach, 0, 0],
                                 self.D, self.N)

    cdef Py_ssize_t choose(self, int32_t* concept) noexcept nogil:
        """The word to label next, and the concept: of all the best, or of the next word; -1 at the end."""
        cdef Py_ssize_t j, chosen = -1
        cdef int32_t c
        for j in range(self.length):
            if self.y[j] >= 0:
                continue
            self.score(j)
            for c in range(<int32_t>self.n_labels):
                if chosen < 0 or self.gains[j, c] > self.gains[chosen, concept[0]]:
                    chosen, concept[0] = j, c
            if self.order != ORDER_FREE:
                break
        return chosen

    cdef bint learn(
        self, const int32_t* truth, int32_t* bag, float rate
    ) noexcept nogil:
        """Label one sentence up to the first mistake and correct it; True if there was none.

        The truth is the concept of each word or, where a bag is given, only how often each concept occurs.
        """
        cdef int32_t c = 0
        cdef Py_ssize_t j = self.choose(&c)
        while j >= 0:
            if not (bag[c] > 0 if bag != NULL else truth[j] == c):
                self.update(j, c, truth, bag, rate)
                return False
            if bag != NULL:
                bag[c] -= 1
            self.label(j, c)
            j = self.choose(&c)
        return True

    cdef void update(
        self, Py_ssize_t wrong, int32_t wrong_concept, const int32_t* truth, const int32_t* bag, float rate
    ) noexcept nogil:
        """A gradient step: every right continuation is to score above the wrong one, by a margin of 1.

        The loss is the mean of max(0, 1 + gain(wrong) - gain(right)) over the right ones.
        """
        cdef Py_ssize_t j
        cdef int32_t c
        cdef float n_right = 0
        cdef float limit = self.gains[wrong, wrong_concept] + 1
        for j in range(self.length):
            memset(&self.weight[j, 0], 0, self.n_labels * sizeof(float))
            if self.y[j] >= 0 or (self.order != ORDER_FREE and j != wrong):
                continue
            for c in range(<int32_t>self.n_labels):
                if (bag[c] > 0 if bag != NULL else truth[j] == c) and self.gains[j, c] < limit:
                    self.weight[j, c] = 1
                    n_right += 1
        self.weight[wrong, wrong_concept] = -n_right
        self.gradients()
        self.apply(rate / n_right)

    cdef void gradients(self) noexcept nogil:
        """Those of the vectors, from the parameters as they are: sum over (j, c) of weight * gain(j, c)."""
        cdef Py_ssize_t j, k, at
        clear(self.change_word)
        clear(self.change_name)
        clear(self.change_h)
        for j in range(self.length):
            self.touched[j] = self.combine(j)
            if not self.touched[j]:
                continue
            for at in range(j, j + 2 * self.reach + 1):
                add_back_product(&self.change_word[at, 0], &self.change_g[j, 0], &self.W[at - j, 0, 0],
                                 self.d, self.N)
            for k in range(max(0, j - self.reach), min(self.length, j + self.reach + 1)):
                if self.y[k] >= 0 and self.order != INDEPENDENT:
                    memset(&self.row[0], 0, self.D * sizeof(float))
                    add_back_product(&self.row[0], &self.change_g[j, 0], &self.V[k - j + self.reach, 0, 0],
                                     self.D, self.N)
                    self.spread(self.y[k], 1, &self.row[0])
                    add_product(&self.change_h[k, 0], &self.mixed[j, 0], &self.V[j - k + self.reach, 0, 0],
                                self.D, self.N)
        for k in range(self.length):
            if self.y[k] >= 0 and self.order != INDEPENDENT:
                memset(&self.row[0], 0, self.D * sizeof(float))
                add_back_product(&self.row[0], &self.change_h[k, 0], &self.H[0, 0], self.D, self.N)
                self.spread(self.y[k], 1, &self.row[0])

    cdef bint combine(self, Py_ssize_t j) noexcept nogil:
        """mixed[j], total[j], change_g[j]: the sums of weight * C(c, u), weight and weight * h(c) over c."""
        cdef int32_t c
        cdef Py_ssize_t n
        cdef float weight
        cdef bint touched = False
        self.total[j] = 0
        memset(&self.mixed[j, 0], 0, self.D * sizeof(float))
        for c in range(<int32_t>self.n_labels):
            weight = self.weight[j, c]
            if weight != 0:
                touched = True
                self.vector(c, &self.row[0])
                axpy(&self.mixed[j, 0], weight, &self.row[0], self.D)
                self.total[j] += weight
                self.spread(c, weight, &self.q[j, 0])
        if touched:
            for n in range(self.N):
                self.change_g[j, n] = self.total[j] * self.b_h[n]
            add_product(&self.change_g[j, 0], &self.mixed[j, 0], &self.H[0, 0], self.D, self.N)
        return touched

    cdef void spread(self, int32_t concept, float weight, const float* change) noexcept nogil:
        """Give the change of a concept's vector to the names it is made of."""
        cdef Py_ssize_t part
        for part in range(self.n_relations + 1):
            axpy(&self.change_name[self.name(part, concept), 0], weight, change + part * self.d, self.d)

    cdef void apply(self, float rate) noexcept nogil:
        """Change the matrices by products of the vectors as they were, and then the vectors."""
        cdef Py_ssize_t j, k, offset
        cdef int32_t c
        for j in range(self.length):
            if self.touched[j]:
                axpy(&self.b_g[0], rate, &self.change_g[j, 0], self.N)
                axpy(&self.b_h[0], rate * self.total[j], &self.g[j, 0], self.N)
                add_outer(&self.H[0, 0], rate, &self.mixed[j, 0], &self.g[j, 0], self.D, self.N)
                for offset in range(-self.reach, self.reach + 1):
                    add_outer(&self.W[offset + self.reach, 0, 0], rate,
                              &self.words[self.word(j + offset), 0], &self.change_g[j, 0], self.d, self.N)
                for k in range(max(0, j - self.reach), min(self.length, j + self.reach + 1)):
                    if self.y[k] >= 0 and self.order != INDEPENDENT:
                        add_outer(&self.V[k - j + self.reach, 0, 0], rate, &self.vectors[k, 0],
                                  &self.change_g[j, 0], self.D, self.N)
                        add_outer(&self.V[j - k + self.reach, 0, 0], rate, &self.mixed[j, 0],
                                  &self.h[k, 0], self.D, self.N)
            elif self.y[j] >= 0 and self.order != INDEPENDENT:
                axpy(&self.b_h[0], rate, &self.change_h[j, 0], self.N)
                add_outer(&self.H[0, 0], rate, &self.vectors[j, 0], &self.change_h[j, 0], self.D, self.N)
        for k in range(self.length + 2 * self.reach):
            axpy(&self.words[self.word(k - self.reach), 0], rate, &self.change_word[k, 0], self.d)
        for c in range(<int32_t>self.n_names):
            axpy(&self.concepts[c, 0], rate, &self.change_name[c, 0], self.d)

    def train(
        self, const int32_t[::1] words, const int32_t[::1] starts, const int32_t[:, ::1] worlds,
        const int32_t[::1] truth, const int64_t[::1] visits, bint weak, float rate
    ):
        """Visit sentences; how many were labelled without a mistake."""
        cdef Py_ssize_t right = 0, n, i, j
        cdef int32_t[::1] bag = np.zeros(self.n_labels, np.int32)
        cdef bint fits = truth.shape[0] == words.shape[0]
        for j in range(truth.shape[0]):
            fits = fits and 0 <= truth[j] < self.n_labels
        with nogil:
            for n in range(visits.shape[0]):
                i = visits[n]
                fits = fits and self.fits(words, starts, worlds, i)
                if not fits:
                    break
                if weak:
                    memset(&bag[0], 0, self.n_labels * sizeof(int32_t))
                    for j in range(starts[i], starts[i + 1]):
                        bag[truth[j]] += 1
                self.start(&words[starts[i]], &worlds[i, 0], starts[i + 1] - starts[i])
                right += self.learn(&truth[starts[i]], &bag[0] if weak else NULL, rate)
        if not fits:
            raise IndexError(MISFIT)
        return right

    def predict(
        self, const int32_t[::1] words, const int32_t[::1] starts, const int32_t[:, ::1] worlds,
        int32_t[::1] out
    ):
        """Label sentences."""
        cdef Py_ssize_t i, j
        cdef int32_t c = 0
        cdef bint fits = out.shape[0] == words.shape[0]
        with nogil:
            for i in range(starts.shape[0] - 1):
                fits = fits and self.fits(words, starts, worlds, i)
                if not fits:
                    break
                self.start(&words[starts[i]], &worlds[i, 0], starts[i + 1] - starts[i])
                j = self.choose(&c)
                while j >= 0:
                    self.label(j, c)
                    out[starts[i] + j] = c
                    j = self.choose(&c)
        if not fits:
            raise IndexError(MISFIT)
