# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Labels of the arcs of trees, from the root downwards: multiclass PA-I with features of the tree."""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memset

from structsvm.rng cimport rng_below, rng_next
from structsvm.signals cimport check_signals
from taggers.features._hash cimport mix
from taggers.features._table cimport prefetch

import numpy as np

cdef enum:
    MOST = 128          # templates
    CELLS = 4           # of a template
    PLACES = 16         # of an arc, ARC_PLACES in templates.py
    FACTS = 10          # numbers of an arc, ARC_NUMBERS in templates.py
    LANES = 8           # rows are a multiple of this many labels long


cdef struct Work:
    int32_t* room           # of the arrays below, each with n + 2 elements
    int32_t* head
    int32_t* next           # the next sibling to the right, or n + 1
    int32_t* last           # the previous sibling
    int32_t* first          # the leftmost child
    int32_t* final          # the rightmost child
    int32_t* n_left
    int32_t* n_right
    int32_t* queue
    int32_t* label
    Py_ssize_t width
    int64_t[PLACES] row
    uint64_t[FACTS] facts
    uint32_t[MOST] tags
    float* scores


cdef class Labels:
    """Scores of the labels of an arc, by weights of features; templates extract them from its tree.

    templates: for each a list of cells (place, attribute); place -1: a number. roots: for each label, 1 if a
    child of the root may have it, 2 if another word may, or 3. learning: keep what averages need.
    """

    cdef int16_t[MOST][CELLS][2] cells
    cdef int[MOST] n_cells
    cdef uint64_t[MOST] seeds
    cdef readonly Py_ssize_t n_templates, n_labels, stride, n_rows
    cdef Py_ssize_t room
    cdef uint64_t* slots                # a tag and a row each; 0: free
    cdef uint32_t mask
    cdef float* weights
    cdef float* sums                    # for the average; NULL if not learning
    cdef bint learning
    cdef uint8_t* roots
    cdef double steps
    cdef uint64_t random

    def __init__(self, templates, const uint8_t[::1] roots, *, bint learning=False, uint64_t seed=0):
        cdef Py_ssize_t t, c, n_labels = roots.shape[0]
        cdef uint64_t state = 11
        if not 0 < len(templates) <= MOST:
            raise ValueError(f"{len(templates)} templates; at most {MOST} are possible")
        self.n_templates, self.n_labels = len(templates), n_labels
        self.stride = (n_labels + LANES - 1) // LANES * LANES
        for t, template in enumerate(templates):
            self.n_cells[t] = len(template)
            self.seeds[t] = rng_next(&state)
            for c, (position, attribute) in enumerate(template):
                self.cells[t][c][0], self.cells[t][c][1] = position, attribute
        self.random = seed
        self.mask = (1 << 10) - 1
        self.learning = learning
        self.slots = <uint64_t*>calloc(self.mask + 1, sizeof(uint64_t))
        self.roots = <uint8_t*>calloc(n_labels, 1)
        if self.slots == NULL or self.roots == NULL:
            raise MemoryError("no memory for the weights of labels")
        for t in range(n_labels):
            self.roots[t] = roots[t]
        self.grow(1 << 8)

    def __dealloc__(self):
        free(self.slots)
        free(self.roots)
        free(self.weights)
        free(self.sums)

    cdef float* longer(self, float* rows, Py_ssize_t room) except NULL:
        """Rows with room for more of them; `add` clears a new one, so that others take no memory yet."""
        cdef float* more = <float*>realloc(rows, room * self.stride * sizeof(float))
        if more == NULL:
            raise MemoryError(f"no memory for the weights of {room} features")
        return more

    cdef int grow(self, Py_ssize_t room) except -1:
        self.weights = self.longer(self.weights, room)
        if self.learning:
            self.sums = self.longer(self.sums, room)
        self.room = room
        return 0

    cdef int widen(self) except -1:
        """Twice as many slots."""
        cdef Py_ssize_t k, n = <Py_ssize_t>self.mask + 1
        cdef uint64_t* old = self.slots
        cdef uint64_t* slots = <uint64_t*>calloc(2 * n, sizeof(uint64_t))
        cdef uint32_t at
        if slots == NULL:
            raise MemoryError(f"no memory for {2 * n} features")
        self.slots, self.mask = slots, <uint32_t>(2 * n - 1)
        for k in range(n):
            if old[k]:
                at = <uint32_t>(old[k] >> 32) & self.mask
                while slots[at]:
                    at = (at + 1) & self.mask
                slots[at] = old[k]
        free(old)
        return 0

    cdef inline int32_t find(self, uint32_t tag) noexcept nogil:
        """The row of a feature, or -1."""
        cdef uint32_t at = tag & self.mask
        while self.slots[at]:
            if <uint32_t>(self.slots[at] >> 32) == tag:
                return <int32_t>self.slots[at]
            at = (at + 1) & self.mask
        return -1

    cdef inline bint fits(self, Py_ssize_t label, int32_t head) noexcept nogil:
        return self.roots[label] & (1 if head == 0 else 2)

    cdef int32_t add(self, uint32_t tag) except -1 nogil:
        cdef int32_t row = self.find(tag)
        cdef uint32_t at
        if row >= 0:
            return row
        if self.n_rows == self.room:
            with gil:
                self.grow(2 * self.room)
        if 2 * self.n_rows > <Py_ssize_t>self.mask:
            with gil:
                self.widen()
        at = tag & self.mask
        while self.slots[at]:
            at = (at + 1) & self.mask
        self.slots[at] = <uint64_t>tag << 32 | <uint64_t>self.n_rows
        memset(self.weights + self.n_rows * self.stride, 0, self.stride * sizeof(float))
        if self.learning:
            memset(self.sums + self.n_rows * self.stride, 0, self.stride * sizeof(float))
        self.n_rows += 1
        return <int32_t>(self.n_rows - 1)

    cdef int prepare(self, Work* k, const int32_t* heads, Py_ssize_t n) except -1 nogil:
        """Note the tree of a sentence: the children of each word, and an order from the root downwards."""
        cdef int32_t* room
        cdef int32_t d, h, none = <int32_t>n + 1
        cdef Py_ssize_t j, end
        if n + 2 > k.width:
            room = <int32_t*>realloc(k.room, 2 * (n + 2) * 10 * sizeof(int32_t))
            if room == NULL:
                with gil:
                    raise MemoryError(f"no memory for a sentence of {n} words")
            k.room, k.width = room, 2 * (n + 2)
        k.head, k.next, k.last, k.first = k.room, k.room + k.width, k.room + 2 * k.width, k.room + 3 * k.width
        k.final, k.n_left = k.room + 4 * k.width, k.room + 5 * k.width
        k.n_right, k.queue, k.label = k.room + 6 * k.width, k.room + 7 * k.width, k.room + 8 * k.width
        for j in range(n + 2):
            k.next[j] = k.last[j] = k.first[j] = k.final[j] = none
            k.n_left[j] = k.n_right[j] = 0
            k.label[j] = <int32_t>self.n_labels
        k.head[0] = k.head[none] = none
        for j in range(n):
            d, h = <int32_t>j + 1, heads[j]
            k.head[d] = h
            if k.first[h] == none:
                k.first[h] = d
            else:
                k.next[k.final[h]], k.last[d] = d, k.final[h]
            k.final[h] = d
            if d < h:
                k.n_left[h] += 1
            else:
                k.n_right[h] += 1
        k.queue[0], end, j = 0, 1, 0
        while j < end:
            d = k.first[k.queue[j]]
            while d != none:
                k.queue[end] = d
                end, d = end + 1, k.next[d]
            j += 1
        return 0

    cdef void look(self, Work* k, int32_t d, const uint64_t* attributes, Py_ssize_t width, int64_t first,
                   int32_t n) noexcept nogil:
        cdef int32_t none = n + 1, h = k.head[d], c, t, distance = d - h
        cdef uint64_t key
        cdef int32_t[PLACES] at
        at[0], at[1], at[2] = d, h, k.head[h]
        at[3], at[4] = d - 1, d + 1
        at[5], at[6] = (h - 1 if h > 0 else none), (h + 1 if h > 0 else none)
        at[7], at[8] = k.first[d] if k.first[d] < d else none, k.final[d] if k.final[d] > d else none
        at[9] = k.next[at[7]] if at[7] != none and k.next[at[7]] < d else none
        at[10] = k.last[at[8]] if at[8] != none and d < k.last[at[8]] < none else none
        at[11], at[12] = k.last[d], k.next[d]
        at[13], at[14] = k.first[h], k.final[h]
        at[15] = d - 2 if d > 1 else none
        for c in range(PLACES):
            k.row[c] = (first + at[c] + 1 if at[c] < none else 1) * width if at[c] else 0
        # 1, 2, 3 to 6, more; on each side.
        if not -3 < distance < 3:
            distance = (3 if distance > 0 else -3) * (1 + (not -7 < distance < 7))
        k.facts[0] = distance + 100
        k.facts[1], k.facts[2] = k.label[h], k.label[k.last[d]]
        k.facts[3] = k.label[k.last[k.last[d]]] if k.last[d] != none else self.n_labels
        k.facts[4], k.facts[5] = k.n_left[d], k.n_right[d]
        k.facts[6] = d < h
        k.facts[7], k.facts[8] = k.last[d] == none, k.next[d] == none
        k.facts[9] = k.label[k.head[h]]
        for t in range(self.n_templates):
            key = mix(self.seeds[t], d < h)
            for c in range(self.n_cells[t]):
                if self.cells[t][c][0] < 0:
                    key = mix(key, k.facts[self.cells[t][c][1]])
                else:
                    key = mix(key, attributes[k.row[self.cells[t][c][0]] + self.cells[t][c][1]])
            k.tags[t] = <uint32_t>(key >> 32) | (<uint32_t>(key >> 32) == 0)
            prefetch(self.slots + (k.tags[t] & self.mask))

    cdef void score(self, Work* k) noexcept nogil:
        cdef Py_ssize_t t, y, used = 0
        cdef int32_t row
        cdef int32_t[MOST] rows
        cdef const float* w
        for t in range(self.n_templates):
            row = self.find(k.tags[t])
            if row >= 0:
                rows[used] = row
                used += 1
                for y in range(0, self.stride, 16):
                    prefetch(self.weights + row * self.stride + y)
        for y in range(self.stride):
            k.scores[y] = 0
        for t in range(used):
            w = self.weights + rows[t] * self.stride
            for y in range(self.stride):
                k.scores[y] += w[y]

    def epoch(self, const uint64_t[:, ::1] attributes, const int64_t[::1] ptr, const int32_t[::1] heads,
              const int32_t[::1] labels):
        """One pass over the sentences in random order; return the share of right labels. -1: not known."""
        cdef Py_ssize_t i, j, n = ptr.shape[0] - 1, right = 0
        order = np.arange(n)
        cdef int64_t[::1] places = order
        for i in range(n - 1, 0, -1):
            j = rng_below(&self.random, i + 1)
            places[i], places[j] = places[j], places[i]
        cdef Work work
        work.room, work.width = NULL, 0
        room = np.zeros(self.stride, np.float32)
        cdef float[::1] scores = room
        work.scores = &scores[0]
        try:
            with nogil:
                for i in range(n):
                    right += self.learn(&work, attributes, ptr[places[i]], ptr[places[i] + 1], &heads[0],
                                        &labels[0])
                    if i % 100 == 0:
                        with gil:
                            check_signals()
        finally:
            free(work.room)
        return <double>right / max(labels.shape[0], 1)

    cdef Py_ssize_t learn(self, Work* k, const uint64_t[:, ::1] attributes, int64_t start, int64_t stop,
                          const int32_t* heads, const int32_t* labels) except -1 nogil:
        cdef Py_ssize_t j, t, n = stop - start, right = 0
        cdef int32_t d, y, bad, best, row
        cdef double loss
        cdef float step, often
        self.prepare(k, heads + start, n)
        for j in range(1, n + 1):
            d = k.queue[j]
            y = labels[start + d - 1]
            self.look(k, d, &attributes[0, 0], attributes.shape[1], start, <int32_t>n)
            self.score(k)
            bad = best = -1
            for t in range(self.n_labels):
                if t != y and self.fits(t, k.head[d]) and (bad < 0 or k.scores[t] > k.scores[bad]):
                    bad = <int32_t>t
            best = y if y >= 0 and (bad < 0 or k.scores[y] > k.scores[bad]) else bad
            k.label[d] = best
            self.steps += 1
            right += best == y
            if y < 0 or bad < 0:
                continue
            loss = 1 - (k.scores[y] - k.scores[bad])
            if loss > 0:
                step = <float>(loss / (2 * self.n_templates))
                often = <float>(step * self.steps)
                for t in range(self.n_templates):
                    row = self.add(k.tags[t])
                    self.weights[row * self.stride + y] += step
                    self.weights[row * self.stride + bad] -= step
                    self.sums[row * self.stride + y] += often
                    self.sums[row * self.stride + bad] -= often
        return right

    @property
    def tags(self) -> np.ndarray:
        """The feature of each row."""
        tags = np.empty(self.n_rows, np.uint32)
        cdef uint32_t[::1] tag = tags
        cdef Py_ssize_t k
        for k in range(<Py_ssize_t>self.mask + 1):
            if self.slots[k]:
                tag[<uint32_t>self.slots[k]] = self.slots[k] >> 32
        return tags

    def averaged(self, const uint32_t[::1] tags) -> np.ndarray:
        """The averages of the weights of some features of this table after all steps."""
        w = np.empty((tags.shape[0], self.n_labels), np.float32)
        cdef float[:, ::1] weights = w
        cdef Py_ssize_t k, y, at
        cdef double steps = max(self.steps, 1)
        for k in range(tags.shape[0]):
            at = self.find(tags[k]) * self.stride
            for y in range(self.n_labels):
                weights[k, y] = self.weights[at + y]
                if self.learning:
                    weights[k, y] -= <float>(self.sums[at + y] / steps)
        return w

    def fill(self, const uint32_t[::1] tags, const uint32_t[::1] ptr, const uint32_t[:] places,
             const float[:] values):
        """Take rows: tags[k] has the weights values[j] of the labels places[j], for j from ptr[k] on."""
        cdef Py_ssize_t k, j
        cdef int32_t row
        if ptr.shape[0] != tags.shape[0] + 1 or places.shape[0] != values.shape[0]:
            raise ValueError(f"{tags.shape[0]} tags for weights of {ptr.shape[0] - 1} features")
        if tags.shape[0] > self.room:
            self.grow(tags.shape[0])
        for k in range(tags.shape[0]):
            if tags[k] == 0 or self.find(tags[k]) >= 0:
                raise ValueError("a tag is zero or appears twice")
            row = self.add(tags[k])
            for j in range(ptr[k], ptr[k + 1]):
                if places[j] < self.n_labels:
                    self.weights[row * self.stride + places[j]] = values[j]

    def label(self, const uint64_t[:, ::1] attributes, const int64_t[::1] ptr, const int32_t[::1] heads,
              int32_t[::1] labels, Py_ssize_t first, Py_ssize_t last):
        """Fill in the labels of the words of some sentences, whose heads form trees."""
        cdef Py_ssize_t i
        cdef Work work
        work.room, work.width = NULL, 0
        room = np.zeros(self.stride, np.float32)
        cdef float[::1] scores = room
        work.scores = &scores[0]
        try:
            with nogil:
                for i in range(first, last):
                    self.build(&work, attributes, ptr[i], ptr[i + 1], &heads[0], &labels[0])
                    if i % 100 == 0:
                        with gil:
                            check_signals()
        finally:
            free(work.room)

    cdef int build(self, Work* k, const uint64_t[:, ::1] attributes, int64_t start, int64_t stop,
                   const int32_t* heads, int32_t* labels) except -1 nogil:
        cdef Py_ssize_t j, t, n = stop - start
        cdef int32_t d, best
        self.prepare(k, heads + start, n)
        for j in range(1, n + 1):
            d = k.queue[j]
            self.look(k, d, &attributes[0, 0], attributes.shape[1], start, <int32_t>n)
            self.score(k)
            best = -1
            for t in range(self.n_labels):
                if self.fits(t, k.head[d]) and (best < 0 or k.scores[t] > k.scores[best]):
                    best = <int32_t>t
            k.label[d] = best
            labels[start + d - 1] = best
        return 0

    def explain(self, const uint64_t[:, ::1] attributes, const int32_t[::1] heads):
        """Explain the label of each word of one sentence, whose heads form a tree.

        For each word: the label, the margin to the best other label, the weight of each template in this
        margin, the rows of attributes of the places, and the numbers; the last four are None if no other
        label was possible.
        """
        cdef Py_ssize_t j, t, c, n = heads.shape[0]
        cdef int32_t d, best, other, row
        cdef Work work
        work.room, work.width = NULL, 0
        room = np.zeros(self.stride, np.float32)
        cdef float[::1] scores = room
        work.scores = &scores[0]
        found = [None] * n
        try:
            self.prepare(&work, &heads[0], n)
            for j in range(1, n + 1):
                d = work.queue[j]
                self.look(&work, d, &attributes[0, 0], attributes.shape[1], 0, <int32_t>n)
                self.score(&work)
                best = other = -1
                for t in range(self.n_labels):
                    if not self.fits(t, work.head[d]):
                        continue
                    if best < 0 or scores[t] > scores[best]:
                        best, other = <int32_t>t, best
                    elif other < 0 or scores[t] > scores[other]:
                        other = <int32_t>t
                work.label[d] = best
                weights = np.zeros(self.n_templates, np.float32)
                for t in range(self.n_templates):
                    row = self.find(work.tags[t])
                    if row >= 0 and other >= 0:
                        weights[t] = self.weights[row * self.stride + best]
                        weights[t] -= self.weights[row * self.stride + other]
                places = [work.row[c] // attributes.shape[1] for c in range(PLACES)]
                reasons = (scores[best] - scores[other] if other >= 0 else 0.0, weights, places,
                           [int(work.facts[c]) for c in range(FACTS)])
                found[d - 1] = best, (None if other < 0 else reasons)
            return found
        finally:
            free(work.room)
