# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""An exact chart over the spans of a sentence: the best meanings of a grammar, and how the words say them.

A unit is a relation of a meaning. It covers a span: its own words, around the spans of its arguments, which
come in any order. An argument is a unit, a constant at the words that name it, or a constant that no word
names. One unit or several, side by side, cover the sentence; or the null unit does, which means nothing.
A unit without own words has the span of its argument; at most WRAPS of them may stand above one another.

`Units` is a grammar: all relations of a schema, for a search, or the nodes of one meaning, to align it. Both
run through the same programme, so that the score of an alignment is never above that of a search. Each cell
keeps the k best items whose meanings differ, which gives the k best meanings of the sentence exactly.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc, realloc

import numpy as np

cdef enum:
    OWN, CHILD, LEXICAL, DONE, ROOT, NOTHING
    WRAPS = 5
    SUBSETS = 4  # units with more slots take their arguments in order
    POLL = 128   # spans between two checks for Ctrl-C

cdef enum:
    NULL_LABEL, AND_LABEL  # the first columns of the table of relations

cdef uint64_t GOLDEN = 0x9E3779B97F4A7C15ULL

cdef struct Item:
    double score
    uint64_t meaning
    int node

cdef struct Node:  # how an item was made
    int kind, prev, child, a, b, start, end

cdef struct Grammar:  # see `Units`
    int n, n_slots, n_states, n_roots, most
    bint exact, nested
    int32_t* rel
    int32_t* first
    int32_t* size
    int32_t* least
    int32_t* state_first
    int32_t* role
    int32_t* copy
    int32_t* arc
    int32_t* arc_first
    int32_t* silent
    int32_t* silent_first
    uint64_t* want

cdef struct Terms:  # see `Scores`
    int n, n_relations, n_roles, n_lexical
    double* span
    double* pair
    double* first
    double* later
    double* left
    double* right
    double* state
    double* lexical
    double* unused
    double* bias
    double* wordless
    const double* nesting
    int nest_width, n_kinds
    int32_t* nest_row
    int32_t* nest_relation
    int32_t* nest_constant
    int32_t* start
    int32_t* end
    int32_t* kind
    uint64_t* lexical_meaning
    uint64_t* meaning
    const uint8_t* allowed


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    x ^= x >> 30
    x *= 0xBF58476D1CE4E5B9ULL
    x ^= x >> 27
    x *= 0x94D049BB133111EBULL
    return x ^ (x >> 31)


cdef inline uint64_t in_slot(uint64_t meaning, int slot) noexcept nogil:
    return mixed(meaning + GOLDEN * <uint64_t>(slot + 1))


cdef inline int place(Item* cell, int k, double score, uint64_t meaning) noexcept nogil:
    """Where a new item enters a cell of the k best with different meanings, or -1."""
    cdef int at = 0, last, t
    if not score > cell[k - 1].score:
        return -1
    while cell[at].score >= score:
        if cell[at].meaning == meaning:
            return -1
        at += 1
    last = at
    while last < k - 1 and cell[last].score > -INFINITY and cell[last].meaning != meaning:
        last += 1
    for t in range(last, at, -1):
        cell[t] = cell[t - 1]
    cell[at].score = score
    cell[at].meaning = meaning
    return at


cdef int32_t[::1] ints(values):
    return np.array(values, np.int32) if len(values) else np.zeros(1, np.int32)


cdef tuple flat(lists):
    """Lists as one array, and where each begins."""
    return (
        ints([value for row in lists for value in row]),
        ints(np.cumsum([0, *[len(row) for row in lists]]).tolist()),
    )


cdef class Units:
    """A grammar. For each unit: its relation, how many slots must be filled, and of each slot (role column,
    earlier slot that it copies or -1, units that may fill it, constants that may do so without a word, the
    meaning of the constant that must fill it or 0 for any that the role allows)."""

    cdef readonly int n_states  # sets of filled slots, of all units
    cdef int n, n_slots, most
    cdef bint exact, nested
    cdef int32_t[::1] rel, first, size, least, state_first
    cdef int32_t[::1] role, copy, arc, arc_first, silent, silent_first, roots
    cdef uint64_t[::1] want
    cdef Grammar g

    def __init__(self, units, roots, exact):
        slots = [slot for _, _, its in units for slot in its]
        sizes = [len(its) for _, _, its in units]
        self.n, self.n_slots, self.exact = len(units), len(slots), exact
        self.most = max(1, max(sizes, default=1))
        self.rel = ints([rel for rel, _, _ in units])
        self.least = ints([least for _, least, _ in units])
        self.size = ints(sizes)
        self.first = ints(np.cumsum([0, *sizes]).tolist())
        states = [2**size if size <= SUBSETS else size + 1 for size in sizes]
        self.state_first = ints(np.cumsum([0, *states]).tolist())
        self.n_states = sum(states)
        self.role = ints([slot[0] for slot in slots])
        self.copy = ints([slot[1] for slot in slots])
        self.arc, self.arc_first = flat([slot[2] for slot in slots])
        self.silent, self.silent_first = flat([slot[3] for slot in slots])
        self.want = np.array([slot[4] for slot in slots] or [0], np.uint64)
        self.roots = ints(roots)
        self.nested = any(slot[2] for slot in slots)
        self.g.n, self.g.n_slots, self.g.n_states = self.n, self.n_slots, self.n_states
        self.g.most = self.most
        self.g.exact, self.g.nested, self.g.n_roots = exact, self.nested, len(roots)
        self.g.rel, self.g.first = &self.rel[0], &self.first[0]
        self.g.size, self.g.least = &self.size[0], &self.least[0]
        self.g.state_first, self.g.role, self.g.copy = &self.state_first[0], &self.role[0], &self.copy[0]
        self.g.arc, self.g.arc_first = &self.arc[0], &self.arc_first[0]
        self.g.silent, self.g.silent_first = &self.silent[0], &self.silent_first[0]
        self.g.want = &self.want[0]


cdef inline int states_of(Grammar* g, int u) noexcept nogil:
    return g.state_first[u + 1] - g.state_first[u]


cdef inline bint filled(Grammar* g, int u, int state, int slot) noexcept nogil:
    if g.size[u] <= SUBSETS:
        return state >> slot & 1
    return slot < state or 0 <= g.copy[g.first[u] + slot] < state


cdef inline int after(Grammar* g, int u, int state, int slot) noexcept nogil:
    """The state once a slot is filled, or -1 if that is impossible."""
    cdef int later, first = g.first[u]
    if g.copy[first + slot] >= 0:
        return -1
    if g.size[u] > SUBSETS:
        if state != slot:
            return -1
        state += 1
        while state < g.size[u] and g.copy[first + state] >= 0:
            state += 1
        return state
    if state >> slot & 1:
        return -1
    state |= 1 << slot
    for later in range(slot + 1, g.size[u]):
        if g.copy[first + later] == slot:
            state |= 1 << later
    return state


cdef inline uint64_t argument(Grammar* g, int u, int slot, uint64_t child) noexcept nogil:
    """The part of the meaning of a unit that an argument adds, with the slots that copy it."""
    cdef uint64_t total = in_slot(child, slot)
    cdef int later, first = g.first[u]
    for later in range(slot + 1, g.size[u]):
        if g.copy[first + later] == slot:
            total += in_slot(child, later)
    return total


cdef inline double span_score(Terms* s, int rel, int i, int j) noexcept nogil:
    """The words of a span and the pairs of neighbours in it; the edges of the sentence count as words."""
    cdef int low = 0 if i == 0 else i + 1, high = s.n + 1 if j == s.n else j
    cdef double total = s.span[j * s.n_relations + rel] - s.span[i * s.n_relations + rel]
    if high > low:
        total += s.pair[high * s.n_relations + rel] - s.pair[low * s.n_relations + rel]
    return total


cdef inline double nest(Terms* s, int role, int column) noexcept nogil:
    cdef int row = s.nest_row[role]
    return s.nesting[<Py_ssize_t>row * s.nest_width + column] if row >= 0 and column >= 0 else 0.0


cdef class Sentence:
    """Rows of features by position, and constants at spans of words.

    channels: for "word", "pair", "first" (an own word before any argument), "later" (after one), "unused",
    "left" and "right" (of an argument), a list of rows for each position. lexical: (start, end, column,
    role class, meaning, prior, rows). priors: (position, relation, amount) for own words.
    """

    cdef public int n
    cdef int32_t[::1] row, first  # of channel c at a position: first[c * (n + 1) + position]
    cdef int n_lexical
    cdef int32_t[::1] start, end, column, kind
    cdef uint64_t[::1] meaning
    cdef double[::1] prior, amount
    cdef int32_t[::1] lexical_row, lexical_first, position, relation
    cdef readonly int n_priors

    def __init__(self, n, channels, lexical, priors):
        self.n, self.n_lexical, self.n_priors = n, len(lexical), len(priors)
        self.row, self.first = flat([
            its[at] if at < len(its) else ()
            for its in (channels[name] for name in CHANNELS)
            for at in range(n + 1)
        ])
        self.start = ints([item[0] for item in lexical])
        self.end = ints([item[1] for item in lexical])
        self.column = ints([item[2] for item in lexical])
        self.kind = ints([item[3] for item in lexical])
        self.meaning = np.array([item[4] for item in lexical] or [0], np.uint64)
        self.prior = np.array([item[5] for item in lexical] or [0], np.float64)
        self.lexical_row, self.lexical_first = flat([item[6] for item in lexical])
        self.position = ints([prior[0] for prior in priors])
        self.relation = ints([prior[1] for prior in priors])
        self.amount = np.array([prior[2] for prior in priors] or [0], np.float64)


CHANNELS = ("word", "pair", "first", "later", "unused", "left", "right", "and")
cdef enum:
    WORD, PAIR, FIRST, LATER, UNUSED, LEFT, RIGHT, AND


cdef class Layout:
    """The columns and special rows of a model: of nesting, for each role (last: the root) and column of
    a relation or constant; of relations, the bias and the row without own words; of roles, four rows by
    whether own words and arguments came before; which constants a role allows; the meaning of constants."""

    cdef int32_t[::1] nest_row, nest_relation, nest_constant, state_row
    cdef int bias, wordless
    cdef const uint8_t[:, ::1] allowed
    cdef uint64_t[::1] meaning

    def __init__(self, nest_row, nest_relation, nest_constant, state_row, bias, wordless, allowed, meaning):
        self.nest_row, self.nest_relation = ints(nest_row), ints(nest_relation)
        self.nest_constant, self.state_row = ints(nest_constant), ints(state_row)
        self.bias, self.wordless, self.allowed = bias, wordless, allowed
        self.meaning = np.array(meaning or [0], np.uint64)


cdef void gather(
    Sentence x, int channel, int at, const double[:, ::1] w, double[::1] total, int to, int width
):
    """Add the weights of the rows of a position to a part of an array."""
    cdef int r, c, which = channel * (x.n + 1) + at
    for r in range(x.first[which], x.first[which + 1]):
        for c in range(width):
            total[to + c] += w[x.row[r], c]


cdef class Scores:
    """Everything that a chart adds up, for one sentence and given weights of the five tables."""

    cdef Sentence sentence
    cdef Layout layout
    cdef int n, n_relations, n_roles
    cdef const double[:, ::1] nesting
    cdef double[::1] span, pair, first, later, left, right, state, lexical, unused, bias, wordless, joined
    cdef double nothing
    cdef Terms t

    def __init__(self, Sentence sentence, Layout layout, int n_relations, int n_roles,
                 const double[:, ::1] relations, const double[:, ::1] roles, const double[:, ::1] constants,
                 const double[:, ::1] unused, const double[:, ::1] nesting):
        cdef int n = sentence.n, j, c, r, t, R = n_relations, Q = max(n_roles, 1)
        self.sentence, self.layout, self.n, self.n_relations, self.n_roles = sentence, layout, n, R, Q
        self.nesting = nesting
        self.span, self.pair = np.zeros((n + 1) * R), np.zeros((n + 2) * R)
        self.first, self.later = np.zeros(n * R + 1), np.zeros(n * R + 1)
        self.left, self.right = np.zeros((n + 1) * Q), np.zeros((n + 1) * Q)
        self.state = np.zeros(4 * Q)
        self.unused, self.joined = np.zeros(n + 1), np.zeros(n + 1)
        self.bias, self.wordless = np.zeros(R), np.zeros(R)
        for j in range(n + 1):
            gather(sentence, PAIR, j, relations, self.pair, (j + 1) * R, R)
            gather(sentence, LEFT, j, roles, self.left, j * Q, n_roles)
            gather(sentence, RIGHT, j, roles, self.right, j * Q, n_roles)
            if j < n:
                gather(sentence, WORD, j, relations, self.span, (j + 1) * R, R)
                gather(sentence, FIRST, j, relations, self.first, j * R, R)
                gather(sentence, LATER, j, relations, self.later, j * R, R)
                gather(sentence, UNUSED, j, unused, self.unused, j, 1)
                self._add_and(relations, j)
        for t in range(sentence.n_priors):
            self.first[sentence.position[t] * R + sentence.relation[t]] += sentence.amount[t]
            self.later[sentence.position[t] * R + sentence.relation[t]] += sentence.amount[t]
        for j in range(n + 1):
            for c in range(R):
                if j:
                    self.span[j * R + c] += self.span[(j - 1) * R + c]
                self.pair[(j + 1) * R + c] += self.pair[j * R + c]
        for t in range(4):
            if layout.state_row[t] >= 0:
                for c in range(n_roles):
                    self.state[t * Q + c] += roles[layout.state_row[t], c]
        for c in range(R):
            self.bias[c] = relations[layout.bias, c] if layout.bias >= 0 else 0.0
            self.wordless[c] = relations[layout.wordless, c] if layout.wordless >= 0 else 0.0
        self.lexical = np.zeros(sentence.n_lexical + 1)
        for t in range(sentence.n_lexical):
            self.lexical[t] = sentence.prior[t]
            for r in range(sentence.lexical_first[t], sentence.lexical_first[t + 1]):
                self.lexical[t] += constants[sentence.lexical_row[r], sentence.column[t]]
        self._point()
        self.nothing = span_score(&self.t, NULL_LABEL, 0, n) + self.bias[NULL_LABEL]
        for j in range(n):
            self.nothing += self.unused[j]

    cdef _point(self):
        cdef Sentence sentence = self.sentence
        cdef Layout layout = self.layout
        cdef Terms* t = &self.t
        t.n, t.n_relations, t.n_roles = self.n, self.n_relations, self.n_roles
        t.n_lexical = sentence.n_lexical
        t.span, t.pair, t.first, t.later = &self.span[0], &self.pair[0], &self.first[0], &self.later[0]
        t.left, t.right, t.state = &self.left[0], &self.right[0], &self.state[0]
        t.lexical, t.unused = &self.lexical[0], &self.unused[0]
        t.bias, t.wordless = &self.bias[0], &self.wordless[0]
        t.nesting = &self.nesting[0, 0] if self.nesting.shape[0] and self.nesting.shape[1] else NULL
        t.nest_width = self.nesting.shape[1]
        t.nest_row, t.nest_relation = &layout.nest_row[0], &layout.nest_relation[0]
        t.nest_constant, t.meaning = &layout.nest_constant[0], &layout.meaning[0]
        t.allowed, t.n_kinds = &layout.allowed[0, 0], layout.allowed.shape[1]
        t.start, t.end, t.kind = &sentence.start[0], &sentence.end[0], &sentence.kind[0]
        t.lexical_meaning = &sentence.meaning[0]

    cdef void _add_and(self, const double[:, ::1] relations, int at):
        cdef Sentence x = self.sentence
        cdef int r, which = AND * (x.n + 1) + at
        for r in range(x.first[which], x.first[which + 1]):
            self.joined[at] += relations[x.row[r], AND_LABEL]


cdef class Chart:
    """The k best meanings of a sentence by a grammar; `best` has (score, meaning, node) of each."""

    cdef Scores scores
    cdef Units units
    cdef Grammar* g
    cdef Terms* s
    cdef Node* nodes
    cdef Item* partial  # by unit and state, whether it has own words, and span
    cdef Item* whole    # by unit and span
    cdef Item* filler   # by slot and span
    cdef Item* ends     # ways to complete a unit by constants without words, by unit and state
    cdef int32_t* fills  # their constants, by slot
    cdef int32_t* changed
    cdef int n, k, cells, n_nodes, room, clauses
    cdef public list best

    def __cinit__(self):
        self.nodes = NULL

    def __dealloc__(self):
        free(self.nodes)
        free(self.fills)

    def __init__(self, Scores scores, Units units, int k, int clauses, bint null):
        cdef int n = scores.n
        self.scores, self.units, self.k, self.n = scores, units, k, n
        self.g, self.s = &units.g, &scores.t
        self.cells, self.clauses = (n + 1) * (n + 1), min(clauses, n)   # a clause has at least one word
        cdef Py_ssize_t size = (2 * units.n_states + units.n + units.n_slots + 1) * <Py_ssize_t>self.cells * k
        self.partial = <Item*>malloc((size + <Py_ssize_t>units.n_states * k) * sizeof(Item))
        self.fills = <int32_t*>malloc((<Py_ssize_t>units.n_states * k * units.most + 1) * sizeof(int32_t))
        self.changed = <int32_t*>malloc((2 * units.n + units.n_slots + 1) * sizeof(int32_t))
        try:
            if self.partial == NULL or self.fills == NULL or self.changed == NULL:
                raise MemoryError("no memory for a chart; split the sentence")
            self.whole = self.partial + <Py_ssize_t>2 * units.n_states * self.cells * k
            self.filler = self.whole + <Py_ssize_t>units.n * self.cells * k
            self.ends = self.partial + size
            for t in range(size + <Py_ssize_t>units.n_states * k):
                self.partial[t].score = -INFINITY
            with nogil:
                self._complete_all()
                self._add_words()
                self._fill_spans()
            self.best = self._roots(null)
        finally:
            free(self.partial)
            free(self.changed)
            self.partial = NULL

    cdef int _node(self, int kind, int prev, int child, int a, int b, int start, int end) except -1 nogil:
        cdef Node* more
        if self.n_nodes == self.room:
            self.room = 2 * self.room + 256
            more = <Node*>realloc(self.nodes, self.room * sizeof(Node))
            if more == NULL:
                with gil:
                    raise MemoryError("no memory for a chart; split the sentence")
            self.nodes = more
        more = self.nodes + self.n_nodes
        more.kind, more.prev, more.child, more.a, more.b = kind, prev, child, a, b
        more.start, more.end = start, end
        self.n_nodes += 1
        return self.n_nodes - 1

    cdef inline Item* at(self, Item* base, int which, int i, int j) noexcept nogil:
        return base + (<Py_ssize_t>which * self.cells + i * (self.n + 1) + j) * self.k

    # -- completing a unit by constants that no word names ----------------------------------------

    cdef int _complete_all(self) except -1 nogil:
        cdef int u, state
        for u in range(self.g.n):
            for state in range(states_of(self.g, u)):
                self._complete(u, state)
        return 0

    cdef int _complete(self, int u, int state) except -1 nogil:
        """The k best ways to fill the other slots; ways are extended slot by slot, in two buffers."""
        cdef Grammar* units = self.g
        cdef int k = self.k, size = units.size[u], most = units.most, slot, top = -1, t, s, q, c, at
        cdef int index = units.state_first[u] + state, earlier
        cdef Item* ends = self.ends + <Py_ssize_t>index * k
        cdef int32_t* fills = self.fills + <Py_ssize_t>index * k * most
        cdef Item* now = <Item*>malloc(<Py_ssize_t>2 * k * sizeof(Item))
        cdef int32_t* kept = <int32_t*>malloc(<Py_ssize_t>2 * k * most * sizeof(int32_t))
        if now == NULL or kept == NULL:
            with gil:
                free(now)
                free(kept)
                raise MemoryError("no memory for a chart; split the sentence")
        cdef Item* new = now + k
        cdef int32_t* fresh = kept + k * most
        for slot in range(size):
            if filled(self.g, u, state, slot):
                top = slot
        for t in range(k):
            now[t].score = -INFINITY
        now[0].score, now[0].meaning = 0.0, 0
        for s in range(k * most):
            kept[s] = -1
        for slot in range(size + 1):
            if slot >= units.least[u] and slot > top:
                for t in range(k):
                    if now[t].score > -INFINITY:
                        keep(ends, fills, k, most, now[t].score, now[t].meaning, kept + t * most, -1, 0)
            if slot == size or filled(self.g, u, state, slot):
                continue
            q = units.first[u] + slot
            earlier = units.copy[q]
            for t in range(k):
                new[t].score = -INFINITY
            for t in range(k):
                if now[t].score == -INFINITY:
                    continue
                if earlier >= 0:
                    c = kept[t * most + earlier]
                    if c >= 0:
                        keep(new, fresh, k, most, now[t].score,
                             now[t].meaning + in_slot(self.s.meaning[c], slot),
                             kept + t * most, slot, c)
                    continue
                for at in range(units.silent_first[q], units.silent_first[q + 1]):
                    c = units.silent[at]
                    keep(new, fresh, k, most,
                         now[t].score + nest(self.s, units.role[q], self.s.nest_constant[c]),
                         now[t].meaning + in_slot(self.s.meaning[c], slot),
                         kept + t * most, slot, c)
            for t in range(k):
                now[t] = new[t]
            for t in range(k * most):
                kept[t] = fresh[t]
        free(now)
        free(kept)
        return 0

    # -- the spans ----------------------------------------------------------------------------------

    cdef int _add_words(self) except -1 nogil:
        """Constants at their words fill slots."""
        cdef Terms* s = self.s
        cdef Grammar* units = self.g
        cdef int t, q, at
        cdef Item* cell
        cdef bint fits
        for t in range(s.n_lexical):
            for q in range(units.n_slots):
                if units.exact:
                    fits = units.want[q] == s.lexical_meaning[t]
                else:
                    fits = True
                if fits and s.allowed[units.role[q] * s.n_kinds + s.kind[t]]:
                    cell = self.at(self.filler, q, s.start[t], s.end[t])
                    at = place(cell, self.k, self.s.lexical[t], s.lexical_meaning[t])
                    if at >= 0:
                        cell[at].node = self._node(LEXICAL, -1, -1, t, 0, s.start[t], s.end[t])
        return 0

    cdef int _fill_spans(self) except -1 nogil:
        cdef int length, i, u, done = 0
        cdef bint inner = self.g.nested or self.clauses > 1 or (self.g.exact and self.g.n_roots > 1)
        for length in range(1, self.n + 1):
            for i in range(self.n - length + 1 if inner else 1):
                done += 1
                if done % POLL == 0:
                    with gil:
                        PyErr_CheckSignals()
                for u in range(self.g.n):
                    self._extend(u, i, i + length)
                    self._finish(u, i, i + length)
                self._wrap(i, i + length)
        return 0

    cdef int _extend(self, int u, int i, int j) except -1 nogil:
        """Partial units of a span from those of shorter ones: one more own word, or one more argument."""
        cdef Grammar* units = self.g
        cdef Terms* s = self.s
        cdef int R = s.n_relations, rel = units.rel[u], base = units.state_first[u]
        cdef int states = states_of(self.g, u)
        cdef int state, own, t, m, slot, q, to, at
        cdef double gain
        cdef Item* cell
        cdef Item* before
        cdef Item* child
        if j == i + 1:
            cell = self.at(self.partial, 2 * base + 1, i, j)
            at = place(cell, self.k, s.first[i * R + rel] + s.unused[i], 0)
            if at >= 0:
                cell[at].node = self._node(OWN, -1, -1, rel, 0, i, j)
            return 0
        for state in range(states):
            gain = s.unused[j - 1] + (s.later[(j - 1) * R + rel] if state else s.first[(j - 1) * R + rel])
            cell = self.at(self.partial, 2 * (base + state) + 1, i, j)
            for own in range(2):
                before = self.at(self.partial, 2 * (base + state) + own, i, j - 1)
                for t in range(self.k):
                    if before[t].score == -INFINITY:
                        break
                    at = place(cell, self.k, before[t].score + gain, before[t].meaning)
                    if at >= 0:
                        cell[at].node = self._node(OWN, before[t].node, -1, rel, state != 0, j - 1, j)
        for slot in range(units.size[u]):
            q = units.first[u] + slot
            for m in range(i + 1, j):
                child = self.at(self.filler, q, m, j)
                if child[0].score == -INFINITY:
                    continue
                for state in range(states):
                    to = after(self.g, u, state, slot)
                    if to >= 0:
                        for own in range(2):
                            before = self.at(self.partial, 2 * (base + state) + own, i, m)
                            if before[0].score > -INFINITY:
                                cell = self.at(self.partial, 2 * (base + to) + own, i, j)
                                self._attach(cell, before, child, u, slot, 2 * own + (state != 0), m, j)
        return 0

    cdef int _attach(
        self, Item* cell, Item* before, Item* child, int u, int slot, int state, int m, int j
    ) except -1 nogil:
        """Add each of the k best arguments to each of the k best partial units."""
        cdef Terms* s = self.s
        cdef int q = self.g.first[u] + slot, role = self.g.role[q], t, c, at
        cdef double gain = s.left[m * s.n_roles + role] + s.right[j * s.n_roles + role]
        gain += s.state[state * s.n_roles + role]
        cdef double score
        for t in range(self.k):
            if before != NULL and before[t].score == -INFINITY:
                break
            for c in range(self.k):
                if child[c].score == -INFINITY:
                    break
                score = gain + child[c].score + (before[t].score if before != NULL else 0.0)
                if not score > cell[self.k - 1].score:
                    break
                at = place(
                    cell, self.k, score,
                    (before[t].meaning if before != NULL else 0)
                    + argument(self.g, u, slot, child[c].meaning),
                )
                if at >= 0:
                    cell[at].node = self._node(
                        CHILD, before[t].node if before != NULL else -1, child[c].node, q, state, m, j
                    )
            if before == NULL:
                break
        return 0

    cdef bint _finish(self, int u, int i, int j) except -1 nogil:
        """Complete the partial units of a span; whether any is new."""
        cdef int state, own
        cdef bint new = False
        for state in range(states_of(self.g, u)):
            for own in range(2):
                if self._finish_state(u, state, own, i, j):
                    new = True
        self.changed[u] = new
        return new

    cdef bint _finish_state(self, int u, int state, int own, int i, int j) except -1 nogil:
        cdef int index = self.g.state_first[u] + state, rel = self.g.rel[u], t, c, at
        cdef Item* partial = self.at(self.partial, 2 * index + own, i, j)
        cdef Item* ends = self.ends + <Py_ssize_t>index * self.k
        cdef Item* cell = self.at(self.whole, u, i, j)
        cdef double gain
        cdef bint new = False
        if partial[0].score == -INFINITY or ends[0].score == -INFINITY:
            return False
        gain = span_score(self.s, rel, i, j) + self.s.bias[rel]
        if not own:
            gain += self.s.wordless[rel]
        for t in range(self.k):
            for c in range(self.k):
                if partial[t].score == -INFINITY or ends[c].score == -INFINITY:
                    break
                at = place(
                    cell, self.k, gain + partial[t].score + ends[c].score,
                    mixed(partial[t].meaning + ends[c].meaning + GOLDEN * <uint64_t>rel),
                )
                if at >= 0:
                    cell[at].node = self._node(DONE, partial[t].node, own, u, index * self.k + c, i, j)
                    new = True
        return new

    cdef int _wrap(self, int i, int j) except -1 nogil:
        """Units without own words around one argument that covers the whole span, layer by layer."""
        cdef Grammar* units = self.g
        cdef int32_t* fresh = self.changed + units.n
        cdef int32_t* open = fresh + units.n
        cdef int layer, q, u, v, slot, to, e, t, at
        cdef bint any_new = True
        cdef Item* cell
        cdef Item* child
        for q in range(units.n_slots):
            open[q] = self.at(self.filler, q, i, j)[0].score > -INFINITY
        for layer in range(WRAPS + 1):
            for q in range(units.n_slots):
                cell = self.at(self.filler, q, i, j)
                for e in range(units.arc_first[q], units.arc_first[q + 1]):
                    v = units.arc[e]
                    if self.changed[v]:
                        child = self.at(self.whole, v, i, j)
                        for t in range(self.k):
                            if child[t].score == -INFINITY:
                                break
                            at = place(
                                cell, self.k,
                                child[t].score
                                + nest(self.s, units.role[q], self.s.nest_relation[units.rel[v]]),
                                child[t].meaning,
                            )
                            if at >= 0:
                                cell[at].node = child[t].node
                                open[q] = 1
            if not any_new:
                break
            any_new = False
            for u in range(units.n):
                fresh[u] = 0
                for slot in range(units.size[u]):
                    q = units.first[u] + slot
                    to = after(self.g, u, 0, slot)
                    if open[q] and to >= 0:
                        cell = self.at(self.partial, 2 * (units.state_first[u] + to), i, j)
                        self._attach(cell, NULL, self.at(self.filler, q, i, j), u, slot, 0, i, j)
                        if layer < WRAPS and self._finish_state(u, to, 0, i, j):
                            fresh[u] = any_new = True
            for q in range(units.n_slots):
                open[q] = 0
            for u in range(units.n):
                self.changed[u] = fresh[u]
        return 0

    # -- the sentence -------------------------------------------------------------------------------

    cdef list _roots(self, bint null):
        """The k best ways to cover the sentence by units, one of each root if the grammar is exact."""
        cdef Units units = self.units
        cdef int roots = len(units.roots) if units.n else 0, n = self.n, k = self.k
        cdef int states = (1 << roots) if units.exact else self.clauses + 1
        cdef int state, to, i, j, t, c, at, r, u
        cdef double gain
        cdef Item* cell
        cdef Item* child
        cdef Item* before
        cdef Item* cover = <Item*>malloc((states * (n + 1) + 1) * k * sizeof(Item))
        if cover == NULL:
            raise MemoryError("no memory for a chart; split the sentence")
        cdef Item* final = cover + states * (n + 1) * k
        try:
            for t in range((states * (n + 1) + 1) * k):
                cover[t].score = -INFINITY
            cover[0].score, cover[0].meaning, cover[0].node = 0.0, 0, -1
            for i in range(n):
                for state in range(states):
                    before = cover + (state * (n + 1) + i) * k
                    if before[0].score == -INFINITY or (state == 0) != (i == 0):
                        continue
                    for r in range(roots):
                        u = units.roots[r]
                        to = state | 1 << r if units.exact else state + 1
                        if to == state or to >= states:
                            continue
                        for j in range(i + 1, n + 1):
                            child = self.at(self.whole, u, i, j)
                            cell = cover + (to * (n + 1) + j) * k
                            gain = nest(
                                self.s,                                 len(self.scores.layout.nest_row) - 1,
                                self.scores.layout.nest_relation[units.rel[u]],
                            )
                            if state:
                                gain += self.scores.joined[i]
                            for t in range(k):
                                for c in range(k):
                                    if before[t].score == -INFINITY or child[c].score == -INFINITY:
                                        break
                                    at = place(
                                        cell, k, before[t].score + child[c].score + gain,
                                        before[t].meaning + mixed(child[c].meaning),
                                    )
                                    if at >= 0:
                                        cell[at].node = self._node(
                                            ROOT, before[t].node, child[c].node, u, state != 0, i, j
                                        )
            for state in range(1, states):
                if not units.exact or state == states - 1:
                    cell = cover + (state * (n + 1) + n) * k
                    for t in range(k):
                        if cell[t].score > -INFINITY:
                            at = place(final, k, cell[t].score, cell[t].meaning)
                            if at >= 0:
                                final[at].node = cell[t].node
            if null:
                at = place(final, k, self.scores.nothing, 0)
                if at >= 0:
                    final[at].node = self._node(NOTHING, -1, -1, 0, 0, 0, n)
            return [
                (final[t].score, final[t].meaning, final[t].node)
                for t in range(k) if final[t].score > -INFINITY
            ]
        finally:
            free(cover)

    # -- reading an answer --------------------------------------------------------------------------

    def trees(self, int node):
        """The units of an answer from left to right: (relation, start, end, own words, arguments by slot).
        An argument is such a unit, ("word", number of the lexical item) or ("silent", column)."""
        found = []
        while node >= 0 and self.nodes[node].kind == ROOT:
            found.append(self._tree(self.nodes[node].child))
            node = self.nodes[node].prev
        return found[::-1]

    cdef object _tree(self, int node):
        cdef Node* done = self.nodes + node
        if done.kind == LEXICAL:
            return "word", done.a
        cdef int u = done.a, slot, q, first = self.units.first[u], step = done.prev, most = self.units.most
        cdef int32_t* fills = self.fills + <Py_ssize_t>done.b * most
        args = [None] * self.units.size[u]
        own = []
        for slot in range(self.units.size[u]):
            if fills[slot] >= 0:
                args[slot] = "silent", fills[slot]
        while step >= 0:
            if self.nodes[step].kind == OWN:
                own.append(self.nodes[step].start)
            else:
                q = self.nodes[step].a
                args[q - first] = self._tree(self.nodes[step].child)
                for slot in range(q - first + 1, self.units.size[u]):
                    if self.units.copy[first + slot] == q - first:
                        args[slot] = args[q - first]
            step = self.nodes[step].prev
        while args and args[len(args) - 1] is None:
            args.pop()
        return self.units.rel[u], done.start, done.end, own[::-1], args

    def prior(self, int node):
        """The part of a score that comes from the alignment, not from weights."""
        total = 0.0
        while node >= 0 and self.nodes[node].kind == ROOT:
            total += self._prior(self.nodes[node].child)
            node = self.nodes[node].prev
        return total

    cdef double _prior(self, int node):
        cdef Sentence x = self.scores.sentence
        cdef int step = self.nodes[node].prev, t
        cdef double total = 0.0
        if self.nodes[node].kind == LEXICAL:
            return x.prior[self.nodes[node].a]
        while step >= 0:
            if self.nodes[step].kind == CHILD:
                total += self._prior(self.nodes[step].child)
            else:
                for t in range(x.n_priors):
                    if x.position[t] == self.nodes[step].start and x.relation[t] == self.nodes[step].a:
                        total += x.amount[t]
            step = self.nodes[step].prev
        return total

    def features(self, int node):
        """All terms of a score as (table, row, column); a term counts as often as it is listed."""
        found = []
        if self.nodes[node].kind == NOTHING:
            self._span(found, NULL_LABEL, 0, self.n)
            self._one(found, "relations", self.scores.layout.bias, NULL_LABEL)
            for j in range(self.n):
                self._rows(found, "unused", UNUSED, j, 0)
            return found
        while node >= 0:
            rel = self.units.rel[self.nodes[node].a]
            self._nested(found, len(self.scores.layout.nest_row) - 1, self.scores.layout.nest_relation[rel])
            if self.nodes[node].b:
                self._rows(found, "relations", AND, self.nodes[node].start, AND_LABEL)
            self._unit(found, self.nodes[node].child)
            node = self.nodes[node].prev
        return found

    cdef _unit(self, list found, int node):
        cdef Node done = self.nodes[node]
        cdef Node step
        cdef int at, slot, q, role
        cdef Layout layout = self.scores.layout
        rel = self.units.rel[done.a]
        self._span(found, rel, done.start, done.end)
        self._one(found, "relations", layout.bias, rel)
        if not done.child:
            self._one(found, "relations", layout.wordless, rel)
        for slot in range(self.units.size[done.a]):
            q = self.units.first[done.a] + slot
            column = self.fills[<Py_ssize_t>done.b * self.units.most + slot]
            if column >= 0 and self.units.copy[q] < 0:
                self._nested(found, self.units.role[q], layout.nest_constant[column])
        at = done.prev
        while at >= 0:
            step = self.nodes[at]
            if step.kind == OWN:
                self._rows(found, "relations", LATER if step.b else FIRST, step.start, rel)
                self._rows(found, "unused", UNUSED, step.start, 0)
            else:
                role = self.units.role[step.a]
                self._rows(found, "roles", LEFT, step.start, role)
                self._rows(found, "roles", RIGHT, step.end, role)
                self._one(found, "roles", layout.state_row[step.b], role)
                if self.nodes[step.child].kind == LEXICAL:
                    self._word(found, self.nodes[step.child].a)
                else:
                    below = self.units.rel[self.nodes[step.child].a]
                    self._nested(found, role, layout.nest_relation[below])
                    self._unit(found, step.child)
            at = step.prev

    cdef _word(self, list found, int item):
        cdef Sentence sentence = self.scores.sentence
        for r in range(sentence.lexical_first[item], sentence.lexical_first[item + 1]):
            found.append(("constants", sentence.lexical_row[r], sentence.column[item]))

    cdef _span(self, list found, int rel, int i, int j):
        for at in range(i, j):
            self._rows(found, "relations", WORD, at, rel)
        for at in range(0 if i == 0 else i + 1, self.n + 1 if j == self.n else j):
            self._rows(found, "relations", PAIR, at, rel)

    cdef _rows(self, list found, str table, int channel, int at, int column):
        cdef Sentence x = self.scores.sentence
        cdef int r, which = channel * (x.n + 1) + at
        for r in range(x.first[which], x.first[which + 1]):
            found.append((table, x.row[r], column))

    cdef _one(self, list found, str table, int row, int column):
        if row >= 0:
            found.append((table, row, column))

    cdef _nested(self, list found, int role, int column):
        row = self.scores.layout.nest_row[role]
        if row >= 0 and column >= 0:
            found.append(("nesting", row, column))


cdef inline void keep(
    Item* cell, int32_t* fills, int k, int most, double score, uint64_t meaning, int32_t* source,
    int slot, int c
) noexcept nogil:
    """Enter a way to complete a unit, with its constants, plus one at a slot (-1: none)."""
    cdef int t, s, at
    # Move the constants exactly as `place` moves the items.
    cdef int last = k - 1
    for t in range(k):
        if cell[t].score == -INFINITY or cell[t].meaning == meaning:
            last = t
            break
    at = place(cell, k, score, meaning)
    if at < 0:
        return
    for t in range(last, at, -1):
        for s in range(most):
            fills[t * most + s] = fills[(t - 1) * most + s]
    for s in range(most):
        fills[at * most + s] = source[s]
    if slot >= 0:
        fills[at * most + slot] = c
