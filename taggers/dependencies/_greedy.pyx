# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Greedy parsing with arc-hybrid transitions: features of states, learning with a dynamic oracle."""
from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc

from structsvm.problems.dependency.transitions cimport (
    ARRAYS, N_ACTIONS, RIGHT, SHIFT, State, add_costs, apply, begin, done, legal, place,
)
from structsvm.rng cimport rng_below, rng_next, rng_uniform
from structsvm.signals cimport check_signals
from taggers.dependencies._lines cimport ACTIONS, Line, Lines, find
from taggers.dependencies._lines cimport place as spot
from taggers.features._hash cimport mix
from taggers.features._table cimport prefetch

import numpy as np

cdef enum:
    MOST = 128          # templates
    CELLS = 4           # of a template
    PLACES = 20         # of a state, STATE_PLACES in templates.py
    FACTS = 8           # numbers of a state, STATE_NUMBERS in templates.py


cdef struct Work:           # what one thread needs
    State state
    int32_t* room
    int32_t* gold
    uint64_t* facts         # FACTS numbers
    int64_t[PLACES] row
    uint32_t[MOST] tags
    Py_ssize_t width
    int context0, context1


cdef inline int bucket(int32_t distance) noexcept nogil:
    return 1 if distance < 2 else 2 if distance < 3 else 3 if distance < 6 else 4


cdef inline int32_t least(int32_t a, int32_t b) noexcept nogil:
    return a if a < b else b


cdef class Arcs:
    """Scores of actions: weights of the features that templates make of a state.

    templates: for each a list of cells (place, attribute); place -1: a number.
    contexts: for each template 0, 1 or 2: no context, the distance of s0 and b0, or that of s1 and s0.
    """

    cdef public Lines lines
    cdef int16_t[MOST][CELLS][2] cells
    cdef int[MOST] n_cells
    cdef int[MOST] context
    cdef uint64_t[MOST] seeds
    cdef Py_ssize_t n_templates
    cdef double steps
    cdef uint64_t random

    def __init__(self, templates, contexts, uint64_t seed=0):
        cdef Py_ssize_t t, c
        cdef uint64_t state = 7
        if not 0 < len(templates) <= MOST:
            raise ValueError(f"{len(templates)} templates; at most {MOST} are possible")
        self.n_templates = len(templates)
        for t, template in enumerate(templates):
            self.n_cells[t] = len(template)
            self.context[t] = contexts[t]
            self.seeds[t] = rng_next(&state)
            for c, (position, attribute) in enumerate(template):
                self.cells[t][c][0], self.cells[t][c][1] = position, attribute
        self.lines = Lines()
        self.random = seed

    cdef void look(self, Work* k, const uint64_t* attributes, Py_ssize_t width, int64_t first) noexcept nogil:
        """Find the words that the features of a state are about; then their tags."""
        cdef State* s = &k.state
        cdef int32_t none = s.n + 1, s0, s1, s2, b0, t, c
        cdef uint64_t key
        cdef int32_t[PLACES] at
        s0 = s.stack[s.size - 1]
        s1 = s.stack[s.size - 2] if s.size > 1 else none
        s2 = s.stack[s.size - 3] if s.size > 2 else none
        b0 = s.front
        at[0], at[1], at[2], at[3] = s0, s1, s2, b0
        at[4], at[5], at[6] = least(b0 + 1, none), least(b0 + 2, none), least(b0 + 3, none)
        at[7], at[8], at[9], at[10] = s.left[s0], s.left2[s0], s.right[s0], s.right2[s0]
        at[11], at[12], at[13], at[14] = s.left[s1], s.left2[s1], s.right[s1], s.right2[s1]
        at[15], at[16] = s.left[b0], s.left2[b0]
        at[17], at[18], at[19] = s.left[at[7]], s.right[at[9]], s.right[at[13]]
        # The root and no word have the first two rows of the attributes.
        for c in range(PLACES):
            k.row[c] = (first + at[c] + 1 if at[c] < none else 1) * width if at[c] else 0
        k.context0 = bucket(b0 - s0) if s0 and b0 < none else 0
        k.context1 = bucket(s0 - s1) if s1 < none and s1 else 0
        k.facts[0] = least(b0 - s0, 10) if b0 < none else 11
        k.facts[1] = least(s0 - s1, 10) if s1 < none else 11
        k.facts[2], k.facts[3] = s.n_left[s0], s.n_right[s0]
        k.facts[4], k.facts[5] = s.n_left[s1], s.n_right[s1]
        k.facts[6] = s.n_left[b0]
        k.facts[7] = s.size == 1 | (<int>(s0 == 0) << 1)
        for t in range(self.n_templates):
            key = self.seeds[t]
            for c in range(self.n_cells[t]):
                if self.cells[t][c][0] < 0:
                    key = mix(key, k.facts[self.cells[t][c][1]])
                else:
                    key = mix(key, attributes[k.row[self.cells[t][c][0]] + self.cells[t][c][1]])
            k.tags[t] = <uint32_t>(key >> 32) | (<uint32_t>(key >> 32) == 0)
            prefetch(self.lines.at + spot(k.tags[t], self.lines.size))

    cdef void score(self, const Work* k, double* scores) noexcept nogil:
        cdef Py_ssize_t t
        cdef const Line* line
        cdef const float* w
        cdef int context
        cdef float a = 0, b = 0, c = 0
        for t in range(self.n_templates):
            line = find(self.lines.at, self.lines.size, k.tags[t])
            if line.tag == 0:
                continue
            w = line.w
            a, b, c = a + w[0], b + w[1], c + w[2]
            context = self.chosen(k, t)
            if context:
                w += ACTIONS * context
                a, b, c = a + w[0], b + w[1], c + w[2]
        scores[0], scores[1], scores[2] = a, b, c

    cdef inline int chosen(self, const Work* k, Py_ssize_t t) noexcept nogil:
        return k.context0 if self.context[t] == 1 else k.context1 if self.context[t] == 2 else 0

    cdef int update(self, const Work* k, int up, int down, float step) except -1 nogil:
        """Add to the weights of one action and subtract from those of another."""
        cdef Py_ssize_t t
        cdef Line* line
        cdef float* total
        cdef int context
        cdef float often = <float>(step * self.steps)
        self.lines.reserve(self.n_templates)
        for t in range(self.n_templates):
            line = find(self.lines.at, self.lines.size, k.tags[t])
            self.lines.n_used += line.tag == 0
            line.tag = k.tags[t]
            line.w[up] += step
            line.w[down] -= step
            total = self.lines.total(line, 0)
            total[up] += often
            total[down] -= often
            context = self.chosen(k, t)
            if context:
                line.w[ACTIONS * context + up] += step
                line.w[ACTIONS * context + down] -= step
                total = self.lines.total(line, context)
                total[up] += often
                total[down] -= often
        return 0

    def epoch(self, const uint64_t[:, ::1] attributes, const int64_t[::1] ptr, const int32_t[::1] heads,
              double explore):
        """One pass of PA-I over the sentences in random order; explore: how often to follow predictions.

        attributes: the rows of the root, of no word, and of each word. Return the share of right actions.
        """
        cdef Py_ssize_t i, n = ptr.shape[0] - 1, right = 0, total = 0
        order = np.arange(n)
        cdef int64_t[::1] places = order
        for i in range(n - 1, 0, -1):
            j = rng_below(&self.random, i + 1)
            places[i], places[j] = places[j], places[i]
        cdef Work work
        work.room, work.width = NULL, 0
        room = np.zeros(FACTS, np.uint64)
        cdef uint64_t[::1] facts = room
        work.facts = &facts[0]
        try:
            with nogil:
                for i in range(n):
                    self.learn(&work, attributes, ptr[places[i]], ptr[places[i] + 1], &heads[0], explore,
                               &right, &total)
                    if i % 100 == 0:
                        with gil:
                            check_signals()
        finally:
            free(work.room)
        return <double>right / max(total, 1)

    cdef int widen(self, Work* k, Py_ssize_t n) except -1 nogil:
        cdef int32_t* room
        if n + 2 > k.width:
            room = <int32_t*>realloc(k.room, (ARRAYS + 1) * 2 * (n + 2) * sizeof(int32_t))
            if room == NULL:
                with gil:
                    raise MemoryError(f"no memory for a sentence of {n} words")
            k.room, k.width = room, 2 * (n + 2)
            k.gold = room + ARRAYS * k.width
        place(&k.state, k.room, k.width)
        begin(&k.state, <int32_t>n)
        return 0

    cdef int learn(self, Work* k, const uint64_t[:, ::1] attributes, int64_t start, int64_t stop,
                   const int32_t* heads, double explore, Py_ssize_t* right,
                   Py_ssize_t* total) except -1 nogil:
        cdef Py_ssize_t i
        cdef int a, best, good, bad, cheapest
        cdef double[3] scores
        cdef int32_t[3] cost
        cdef double norm, loss
        self.widen(k, stop - start)
        for i in range(stop - start):
            k.gold[i + 1] = heads[start + i]
        while not done(&k.state):
            self.look(k, &attributes[0, 0], attributes.shape[1], start)
            self.score(k, scores)
            add_costs(&k.state, k.gold, cost)
            best = good = bad = -1
            cheapest = 1 << 30
            for a in range(N_ACTIONS):
                if legal(&k.state, a) and cost[a] < cheapest:
                    cheapest = cost[a]
            for a in range(N_ACTIONS):
                if not legal(&k.state, a):
                    continue
                if best < 0 or scores[a] > scores[best]:
                    best = a
                if cost[a] == cheapest:
                    if good < 0 or scores[a] > scores[good]:
                        good = a
                elif bad < 0 or scores[a] > scores[bad]:
                    bad = a
            self.steps += 1
            total[0] += 1
            right[0] += cost[best] == cheapest
            if bad >= 0:
                loss = 1 - (scores[good] - scores[bad])
                if loss > 0:
                    norm = 0
                    for i in range(self.n_templates):
                        norm += 2 + 2 * (self.chosen(k, i) > 0)
                    self.update(k, good, bad, <float>(loss / norm))
            if explore > 0 and rng_uniform(&self.random) < explore:
                apply(&k.state, best)
            else:
                apply(&k.state, good)
        return 0

    def averaged(self, const uint32_t[::1] tags) -> np.ndarray:
        """The averages of the weights of some features after all steps, for parsing only."""
        return self.lines.averaged(tags, <float>max(self.steps, 1))

    def parse(self, const uint64_t[:, ::1] attributes, const int64_t[::1] ptr, int32_t[::1] heads,
              Py_ssize_t first, Py_ssize_t last):
        """Fill in the heads of the words of some sentences, counted from 1 in each; 0 is the root."""
        cdef Py_ssize_t i
        cdef Work work
        work.room, work.width = NULL, 0
        room = np.zeros(FACTS, np.uint64)
        cdef uint64_t[::1] facts = room
        work.facts = &facts[0]
        try:
            with nogil:
                for i in range(first, last):
                    self.build(&work, attributes, ptr[i], ptr[i + 1], &heads[0])
                    if i % 100 == 0:
                        with gil:
                            check_signals()
        finally:
            free(work.room)

    cdef int build(self, Work* k, const uint64_t[:, ::1] attributes, int64_t start, int64_t stop,
                   int32_t* heads) except -1 nogil:
        cdef Py_ssize_t i
        cdef double[3] scores
        self.widen(k, stop - start)
        while not done(&k.state):
            apply(&k.state, self.choose(k, attributes, start, scores))
        for i in range(stop - start):
            heads[start + i] = k.state.head[i + 1]
        return 0

    cdef int choose(self, Work* k, const uint64_t[:, ::1] attributes, int64_t start,
                    double* scores) noexcept nogil:
        """The best legal action; scores are computed only if several are legal."""
        cdef int a, best = -1
        if k.state.size == 1:
            return SHIFT
        if k.state.front > k.state.n:
            return RIGHT
        self.look(k, &attributes[0, 0], attributes.shape[1], start)
        self.score(k, scores)
        for a in range(N_ACTIONS):
            if legal(&k.state, a) and (best < 0 or scores[a] > scores[best]):
                best = a
        return best

    def explain(self, const uint64_t[:, ::1] attributes):
        """Explain the action that gives each word of one sentence its head.

        For each word: the head, the margin to the best other action, the weight of each template in this
        margin, the rows of attributes of the places, and the numbers; None if no other action was possible.
        """
        cdef Work work
        cdef double[3] scores
        cdef int a, best, other
        cdef int32_t word
        cdef State* s = &work.state
        work.room, work.width = NULL, 0
        room = np.zeros(FACTS, np.uint64)
        cdef uint64_t[::1] facts = room
        work.facts = &facts[0]
        cdef Py_ssize_t n = attributes.shape[0] - 2
        found = [None] * n
        try:
            self.widen(&work, n)
            while not done(s):
                forced = s.size == 1 or s.front > s.n
                best = self.choose(&work, attributes, 0, scores)
                word = s.stack[s.size - 1]
                if best != SHIFT and not forced:
                    other = -1
                    for a in range(N_ACTIONS):
                        if a != best and legal(s, a) and (other < 0 or scores[a] > scores[other]):
                            other = a
                    found[word - 1] = self.reasons(&work, scores, best, other, attributes.shape[1])
                apply(s, best)
            return [(s.head[k + 1], reasons) for k, reasons in enumerate(found)]
        finally:
            free(work.room)

    cdef object reasons(self, const Work* k, const double* scores, int best, int other, Py_ssize_t width):
        cdef Py_ssize_t t, c
        cdef const Line* line
        if other < 0:
            return None
        weights = np.zeros(self.n_templates, np.float32)
        cdef float[::1] weight = weights
        for t in range(self.n_templates):
            line = find(self.lines.at, self.lines.size, k.tags[t])
            if line.tag:
                weight[t] = line.w[best] - line.w[other]
                c = ACTIONS * self.chosen(k, t)
                if c:
                    weight[t] += line.w[c + best] - line.w[c + other]
        places = [k.row[c] // width for c in range(PLACES)]
        return scores[best] - scores[other], weights, places, [int(k.facts[c]) for c in range(FACTS)]
