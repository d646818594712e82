# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Search among all trees, with scores of arcs, and of arcs with a sibling or with the grandparent.

Over arcs, the search is exact (Eisner). With larger parts, it climbs: it changes one head after the other,
first from the best tree over arcs and then from the greedy tree, and takes the better result. Only the
KEPT heads of each word whose arcs have the highest scores, and its head in the greedy tree, are tried.
Climbing can make arcs cross.
"""
from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from structsvm.problems.dependency.spanning cimport Room, eisner, widen
from structsvm.rng cimport rng_below, rng_next
from structsvm.signals cimport check_signals
from taggers.dependencies._lines cimport ACTIONS, Line, Lines, find
from taggers.dependencies._lines cimport place as spot
from taggers.features._hash cimport mix
from taggers.features._table cimport prefetch

import numpy as np

cdef enum:
    MOST = 128          # templates
    CELLS = 4           # of a template
    PLACES = 8          # of a part, GRAPH_PLACES in templates.py
    FACTS = 4           # numbers of a part, GRAPH_NUMBERS in templates.py
    KINDS = 3           # of parts: an arc; an arc and the sibling before it; an arc and the grandparent
    KEPT = 6            # heads of each word that climbing tries
    ROUNDS = 30         # of climbing, at most
    FAR = 30            # words between h and d whose tags count
    BETWEEN = 64        # different tags of them
    LONGEST = 250       # words of a sentence


cdef struct Work:               # what one thread needs for one sentence after the other
    int32_t n
    int64_t first
    Py_ssize_t width            # of a row of attributes
    const uint64_t* attributes
    int32_t* guess              # the greedy tree
    int32_t* gold
    int32_t* tree               # the tree that changes
    int32_t* best               # the best tree so far
    int32_t* puncts             # before each word
    int32_t* verbs
    int32_t* heads              # KEPT of each word
    double* scores              # of arcs, with the costs of wrong ones when learning
    uint64_t* keys              # of parts whose scores are known
    float* known
    uint64_t mask
    Room room
    int64_t[PLACES] row
    uint64_t[FACTS] facts
    uint32_t[MOST + BETWEEN] tags   # of the features of one part
    int n_tags
    int context                     # the direction and length of its arc


cdef inline int32_t least(int32_t a, int32_t b) noexcept nogil:
    return a if a < b else b


cdef inline int bucket(int32_t distance) noexcept nogil:
    if distance < 4:
        return distance - 1
    return 3 if distance < 6 else 4 if distance < 10 else 5 if distance < 20 else 6


cdef int32_t inner(const int32_t* tree, int32_t h, int32_t d, int32_t none) noexcept nogil:
    """The sibling of d that is next to it on the way to the head h, or none."""
    cdef int32_t k, step = 1 if h > d else -1
    if h == 0:
        return none
    k = d + step
    while k != h:
        if tree[k] == h:
            return k
        k += step
    return none


cdef int32_t outer(const int32_t* tree, int32_t h, int32_t d, int32_t n) noexcept nogil:
    """The sibling of d that is next to it on the way from the head h, or n + 1."""
    cdef int32_t k, step = -1 if h > d else 1
    if h == 0:
        return n + 1
    k = d + step
    while 1 <= k <= n:
        if tree[k] == h:
            return k
        k += step
    return n + 1


cdef inline bint below(const int32_t* tree, int32_t k, int32_t top) noexcept nogil:
    """Whether k is top or one of its descendants."""
    while k > 0:
        if k == top:
            return True
        k = tree[k]
    return False


cdef class Graph:
    """Scores of the parts of trees.

    templates: for each a list of cells (place, attribute); place -1: a number. One that names a sibling or a
    grandparent makes features of such parts, another one of arcs. punct, verb: the hashes of these tags.
    """

    cdef public Lines lines
    cdef int16_t[MOST][CELLS][2] cells
    cdef int[MOST] n_cells
    cdef uint64_t[MOST] seeds
    cdef int[KINDS + 1] begins          # the templates of each kind
    cdef readonly bint second           # whether there are other parts than arcs
    cdef uint64_t punct, verb, random
    cdef double steps

    def __init__(self, templates, uint64_t punct, uint64_t verb, uint64_t seed=0):
        cdef Py_ssize_t t = 0, c
        cdef uint64_t state = 13
        if not 0 < len(templates) <= MOST:
            raise ValueError(f"{len(templates)} templates; at most {MOST} are possible")
        for kind in range(KINDS):
            self.begins[kind] = t
            for template in templates:
                places = {place for place, _ in template}
                if kind != (1 if 2 in places else 2 if 3 in places else 0):
                    continue
                self.n_cells[t] = len(template)
                self.seeds[t] = rng_next(&state)
                for c, (position, attribute) in enumerate(template):
                    self.cells[t][c][0], self.cells[t][c][1] = position, attribute
                t += 1
        self.begins[KINDS] = t
        self.second = self.begins[1] < t
        self.punct, self.verb, self.random = punct, verb, seed
        self.lines = Lines()

    # Parts of trees.

    cdef void look(self, Work* k, int kind, int32_t h, int32_t d, int32_t x) noexcept nogil:
        """Find the tags of the features of a part; x: the sibling or the grandparent."""
        cdef int32_t none = k.n + 1, low, high
        cdef int t, c
        cdef uint64_t key, between, seen = 0
        cdef int n = 0
        cdef int32_t[PLACES] at
        at[0], at[1], at[2], at[3] = h, d, x, x
        at[4], at[5] = (h - 1 if h > 0 else none), (h + 1 if h > 0 else none)
        at[6], at[7] = (d - 1 if d > 1 else none), d + 1
        for c in range(PLACES):
            k.row[c] = (k.first + at[c] + 1 if at[c] < none else 1) * k.width if at[c] else 0
        low, high = (h, d) if h < d else (d, h)
        k.facts[0] = k.guess[d] == h
        k.facts[1] = least(k.puncts[high] - k.puncts[low + 1], 2)
        k.facts[2] = least(k.verbs[high] - k.verbs[low + 1], 2)
        k.facts[3] = 0 if x >= none else 1 if x < low else 2 if x > high else 3
        k.context = 1 + 7 * (d > h) + bucket(high - low)
        for t in range(self.begins[kind], self.begins[kind + 1]):
            key = self.seeds[t]
            for c in range(self.n_cells[t]):
                if self.cells[t][c][0] < 0:
                    key = mix(key, k.facts[self.cells[t][c][1]])
                else:
                    key = mix(key, k.attributes[k.row[self.cells[t][c][0]] + self.cells[t][c][1]])
            k.tags[n] = <uint32_t>(key >> 32) | (<uint32_t>(key >> 32) == 0)
            prefetch(self.lines.at + spot(k.tags[n], self.lines.size))
            n += 1
        if kind == 0 and h:
            key = mix(mix(17, k.attributes[k.row[0] + 1]), k.attributes[k.row[1] + 1])
            for c in range(low + 1, least(high, low + FAR)):
                between = k.attributes[(k.first + c + 1) * k.width + 1]
                if seen >> (between % BETWEEN) & 1:
                    continue
                seen |= <uint64_t>1 << (between % BETWEEN)
                between = mix(key, between)
                k.tags[n] = <uint32_t>(between >> 32) | (<uint32_t>(between >> 32) == 0)
                n += 1
        k.n_tags = n

    cdef float score(self, Work* k, int kind, int32_t h, int32_t d, int32_t x) noexcept nogil:
        cdef int t
        cdef float total = 0
        cdef const Line* line
        self.look(k, kind, h, d, x)
        for t in range(k.n_tags):
            line = find(self.lines.at, self.lines.size, k.tags[t])
            if line.tag:
                total += line.w[0] + line.w[k.context]
        return total

    cdef float part(self, Work* k, int kind, int32_t h, int32_t d, int32_t x) noexcept nogil:
        """The score of a part, which is computed once if there is room for it."""
        cdef uint64_t key = (<uint64_t>kind << 60) | (<uint64_t>h << 40) | (<uint64_t>d << 20) | <uint64_t>x
        cdef uint64_t at = (mix(7, key) >> 20) & k.mask
        if k.keys[at] != key:
            k.keys[at], k.known[at] = key, self.score(k, kind, h, d, x)
        return k.known[at]

    cdef double whole(self, Work* k, const int32_t* tree) noexcept nogil:
        """The score of a tree."""
        cdef int32_t d, h
        cdef double total = 0
        for d in range(1, k.n + 1):
            h = tree[d]
            total += k.scores[h * (k.n + 1) + d]
            if self.second and h:
                total += self.part(k, 1, h, d, inner(tree, h, d, k.n + 1))
                total += self.part(k, 2, h, d, tree[h])
        return total

    # Search.

    cdef int room(self, Work* k) except -1:
        """Memory for sentences of up to LONGEST words; `leave` frees it."""
        cdef Py_ssize_t n = LONGEST + 2
        k.room.values, k.room.numbers, k.room.n = NULL, NULL, 0
        k.scores = <double*>malloc(n * n * sizeof(double))
        k.guess = <int32_t*>malloc(6 * n * sizeof(int32_t))
        k.heads = <int32_t*>malloc(n * (KEPT + 2) * sizeof(int32_t))
        k.mask = (1 << 14) - 1
        k.keys = <uint64_t*>malloc((k.mask + 1) * sizeof(uint64_t))
        k.known = <float*>malloc((k.mask + 1) * sizeof(float))
        if not (k.scores and k.guess and k.heads and k.keys and k.known):
            self.leave(k)
            raise MemoryError("no memory to search for trees")
        k.gold, k.tree, k.best = k.guess + n, k.guess + 2 * n, k.guess + 3 * n
        k.puncts, k.verbs = k.guess + 4 * n, k.guess + 5 * n
        k.guess[0] = k.gold[0] = k.tree[0] = k.best[0] = -1
        return 0

    cdef void leave(self, Work* k) noexcept:
        free(k.scores)
        free(k.guess)
        free(k.heads)
        free(k.keys)
        free(k.known)
        free(k.room.values)
        free(k.room.numbers)

    cdef int begin(self, Work* k, const uint64_t[:, ::1] attributes, int64_t start, int64_t stop,
                   const int32_t* guess, const int32_t* gold) except -1 nogil:
        """Note a sentence, and score all arcs; gold: NULL, or the right heads, other arcs cost 1."""
        cdef int32_t d, h, n = <int32_t>(stop - start)
        cdef Py_ssize_t at
        k.n, k.first, k.attributes, k.width = n, start, &attributes[0, 0], attributes.shape[1]
        k.puncts[0] = k.verbs[0] = k.puncts[1] = k.verbs[1] = 0
        for d in range(1, n + 1):
            k.guess[d] = guess[start + d - 1]
            k.puncts[d + 1] = k.puncts[d] + (attributes[start + d + 1, 1] == self.punct)
            k.verbs[d + 1] = k.verbs[d] + (attributes[start + d + 1, 1] == self.verb)
        memset(k.keys, 255, (k.mask + 1) * sizeof(uint64_t))
        for d in range(1, n + 1):
            for h in range(n + 1):
                if h != d:
                    at = h * (n + 1) + d
                    k.scores[at] = self.score(k, 0, h, d, n + 1)
                    if gold != NULL:
                        k.scores[at] += gold[start + d - 1] != h
        widen(&k.room, n)
        return 0

    cdef void search(self, Work* k) noexcept nogil:
        """Find the best tree: exactly over arcs, by climbing over larger parts."""
        cdef double found, top
        eisner(k.scores, k.n, k.best, &k.room)
        if not self.second:
            return
        self.choose(k)
        memcpy(k.tree, k.best, (k.n + 1) * sizeof(int32_t))
        self.climb(k)
        top = self.whole(k, k.tree)
        memcpy(k.best, k.tree, (k.n + 1) * sizeof(int32_t))
        memcpy(k.tree, k.guess, (k.n + 1) * sizeof(int32_t))
        self.climb(k)
        found = self.whole(k, k.tree)
        if found > top:
            memcpy(k.best, k.tree, (k.n + 1) * sizeof(int32_t))

    cdef void choose(self, Work* k) noexcept nogil:
        """Choose the heads of each word that climbing tries; -1 after the last one."""
        cdef int32_t d, h, j, n = k.n
        cdef int32_t* kept
        cdef double value
        for d in range(1, n + 1):
            kept = k.heads + d * (KEPT + 2)
            for j in range(KEPT + 2):
                kept[j] = -1
            for h in range(n + 1):
                if h == d:
                    continue
                value = k.scores[h * (n + 1) + d]
                j = KEPT
                while j > 0 and (kept[j - 1] < 0 or k.scores[kept[j - 1] * (n + 1) + d] < value):
                    kept[j] = kept[j - 1]
                    j -= 1
                kept[j] = h
            kept[KEPT] = k.guess[d]
            for j in range(KEPT):
                if kept[j] == k.guess[d]:
                    kept[KEPT] = -1

    cdef double gain(self, Work* k, int32_t h, int32_t d) noexcept nogil:
        """Return how much the arc from h to d adds to the score of the tree, in which d has no head."""
        cdef int32_t n = k.n, s, o, c
        cdef double total = k.scores[h * (n + 1) + d]
        if h:
            s, o = inner(k.tree, h, d, n + 1), outer(k.tree, h, d, n)
            total += self.part(k, 1, h, d, s) + self.part(k, 2, h, d, k.tree[h])
            if o <= n:
                total += self.part(k, 1, h, o, d) - self.part(k, 1, h, o, s)
        for c in range(1, n + 1):
            if k.tree[c] == d:
                total += self.part(k, 2, d, c, h)
        return total

    cdef void climb(self, Work* k) noexcept nogil:
        """Change one head after the other while that improves the tree."""
        cdef int32_t d, h, j, old, best, _
        cdef int32_t* tree = k.tree
        cdef double value, top
        cdef bint changed = True
        for _ in range(ROUNDS):
            if not changed:
                break
            changed = False
            for d in range(1, k.n + 1):
                old = tree[d]
                if old == 0:
                    continue
                tree[d] = -1
                best, top = old, self.gain(k, old, d)
                for j in range(KEPT + 1):
                    h = k.heads[d * (KEPT + 2) + j]
                    if h <= 0 or h == old or below(tree, h, d):
                        continue
                    value = self.gain(k, h, d)
                    if value > top + 1e-6:
                        best, top = h, value
                tree[d] = best
                changed |= best != old
            if not changed:
                changed = self.turn(k)

    cdef bint turn(self, Work* k) noexcept nogil:
        """Let another word be the child of the root if that improves the tree."""
        cdef int32_t d, j, old, root = 1
        cdef double value, top = self.whole(k, k.tree)
        while k.tree[root]:
            root += 1
        for d in range(1, k.n + 1):
            for j in range(KEPT + 1):
                if k.heads[d * (KEPT + 2) + j] == 0 and d != root:
                    old = k.tree[d]
                    k.tree[d], k.tree[root] = 0, d
                    value = self.whole(k, k.tree)
                    if value > top + 1e-6:
                        return True
                    k.tree[d], k.tree[root] = old, 0
        return False

    # Learning.

    def epoch(self, const uint64_t[:, ::1] attributes, const int64_t[::1] ptr, const int32_t[::1] guess,
              const int32_t[::1] heads):
        """Make one passive-aggressive pass over the shuffled sentences; return the share of right heads."""
        cdef Py_ssize_t i, j, n = ptr.shape[0] - 1, right = 0
        order = np.arange(n)
        cdef int64_t[::1] places = order
        for i in range(n - 1, 0, -1):
            j = rng_below(&self.random, i + 1)
            places[i], places[j] = places[j], places[i]
        cdef Work work
        self.room(&work)
        try:
            with nogil:
                for i in range(n):
                    j = places[i]
                    if 0 < ptr[j + 1] - ptr[j] <= LONGEST:
                        right += self.learn(&work, attributes, ptr[j], ptr[j + 1], &guess[0], &heads[0])
                    if i % 20 == 0:
                        with gil:
                            check_signals()
        finally:
            self.leave(&work)
        return <double>right / max(heads.shape[0], 1)

    cdef Py_ssize_t learn(self, Work* k, const uint64_t[:, ::1] attributes, int64_t start, int64_t stop,
                          const int32_t* guess, const int32_t* heads) except -1 nogil:
        cdef int32_t d
        cdef Py_ssize_t right = 0
        cdef double loss, norm
        self.begin(k, attributes, start, stop, guess, heads)
        for d in range(1, k.n + 1):
            k.gold[d] = heads[start + d - 1]
        self.search(k)
        self.steps += 1
        for d in range(1, k.n + 1):
            right += k.best[d] == k.gold[d]
        loss = self.whole(k, k.best) - self.whole(k, k.gold)
        if right < k.n and loss > 0:
            norm = self.differences(k, 0)
            self.differences(k, loss / norm)
        return right

    cdef double differences(self, Work* k, double step) except -1 nogil:
        """Move the weights from the parts of the best tree to those of the right one; or count them."""
        cdef int32_t d, a, b, none = k.n + 1, s, r
        cdef double norm = 0
        for d in range(1, k.n + 1):
            a, b = k.gold[d], k.best[d]
            if a != b:
                norm += self.update(k, 0, a, d, none, step) + self.update(k, 0, b, d, none, -step)
            if not self.second:
                continue
            s = inner(k.gold, a, d, none) if a else -1
            r = inner(k.best, b, d, none) if b else -1
            if a != b or s != r:
                norm += self.update(k, 1, a, d, s, step) + self.update(k, 1, b, d, r, -step)
            s = k.gold[a] if a else -1
            r = k.best[b] if b else -1
            if a != b or s != r:
                norm += self.update(k, 2, a, d, s, step) + self.update(k, 2, b, d, r, -step)
        return norm

    cdef double update(self, Work* k, int kind, int32_t h, int32_t d, int32_t x,
                       double step) except -1 nogil:
        cdef Line* line
        cdef int t, count
        cdef float often = <float>(step * self.steps), by = <float>step
        if x < 0:
            return 0
        self.look(k, kind, h, d, x)
        count = k.n_tags
        if step == 0:
            return 2 * count
        self.lines.reserve(count)
        for t in range(k.n_tags):
            line = find(self.lines.at, self.lines.size, k.tags[t])
            self.lines.n_used += line.tag == 0
            line.tag = k.tags[t]
            line.w[0] += by
            line.w[k.context] += by
            self.lines.total(line, 0)[0] += often
            self.lines.total(line, k.context // ACTIONS)[k.context % ACTIONS] += often
        return 2 * count

    def averaged(self, const uint32_t[::1] tags) -> np.ndarray:
        """The averages of the weights of some features after all steps, for parsing only."""
        return self.lines.averaged(tags, <float>max(self.steps, 1))

    def total(self, const uint64_t[:, ::1] attributes, const int32_t[::1] guess, heads) -> float:
        """The score of a tree over the words of one sentence."""
        cdef int32_t d
        cdef Work work
        if not 0 < guess.shape[0] <= LONGEST:
            raise ValueError(f"{guess.shape[0]} words; a sentence has 1 to {LONGEST} of them here")
        self.room(&work)
        try:
            self.begin(&work, attributes, 0, guess.shape[0], &guess[0], NULL)
            for d in range(1, work.n + 1):
                work.tree[d] = heads[d - 1]
            return self.whole(&work, work.tree)
        finally:
            self.leave(&work)

    def parse(self, const uint64_t[:, ::1] attributes, const int64_t[::1] ptr, int32_t[::1] heads,
              Py_ssize_t first, Py_ssize_t last):
        """Improve the trees of some sentences; those of more than LONGEST words stay as they are."""
        cdef Py_ssize_t i
        cdef int32_t d
        cdef Work work
        self.room(&work)
        try:
            with nogil:
                for i in range(first, last):
                    if not 0 < ptr[i + 1] - ptr[i] <= LONGEST:
                        continue
                    self.begin(&work, attributes, ptr[i], ptr[i + 1], &heads[0], NULL)
                    self.search(&work)
                    for d in range(1, work.n + 1):
                        heads[ptr[i] + d - 1] = work.best[d]
                    if i % 20 == 0:
                        with gil:
                            check_signals()
        finally:
            self.leave(&work)

    def explain(self, const uint64_t[:, ::1] attributes, const int32_t[::1] guess, heads):
        """Return the parts of the tree of one sentence with each word's arc. guess: its greedy heads.

        For each part: the first of its templates and how many it has, the weights of its features, the rows
        of attributes of its places, and its numbers. Features without a template follow those with one.
        """
        cdef int32_t d, h, none = <int32_t>len(heads) + 1
        cdef Py_ssize_t t, c
        cdef Work work
        cdef const Line* line
        found = []
        if not 0 < guess.shape[0] <= LONGEST:
            return [[] for _ in range(guess.shape[0])]
        self.room(&work)
        try:
            self.begin(&work, attributes, 0, guess.shape[0], &guess[0], NULL)
            for d in range(1, none):
                work.tree[d] = heads[d - 1]
            for d in range(1, none):
                h, parts = work.tree[d], []
                pairs = [(0, none)]
                if h and self.second:
                    pairs += [(1, inner(work.tree, h, d, none)), (2, work.tree[h])]
                for kind, other in pairs:
                    self.look(&work, kind, h, d, other)
                    weights = np.zeros(work.n_tags, np.float32)
                    for t in range(work.n_tags):
                        line = find(self.lines.at, self.lines.size, work.tags[t])
                        if line.tag:
                            weights[t] = line.w[0] + line.w[work.context]
                    places = [work.row[c] // work.width for c in range(PLACES)]
                    facts = [int(work.facts[c]) for c in range(FACTS)]
                    n_named = self.begins[kind + 1] - self.begins[kind]
                    parts.append((self.begins[kind], n_named, weights, places, facts))
                found.append(parts)
            return found
        finally:
            self.leave(&work)
