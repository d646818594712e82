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
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc

from semparse.latent._scores cimport (
    AND, AND_LABEL, FIRST, LATER, LEFT, NULL_LABEL, PAIR, RIGHT, UNUSED, WORD, Layout, Scores, Sentence,
    Terms, nest, span_score,
)
from semparse.latent._units cimport (
    Grammar, Units, after, argument, filled, in_slot, mixed, states_of, unit_meaning,
)

cdef enum:
    OWN, CHILD, LEXICAL, DONE, ROOT, NOTHING
    WRAPS = 5
    POLL = 128   # spans between two checks for Ctrl-C

cdef struct Item:
    double score
    uint64_t meaning
    int node

cdef struct Node:  # how an item was made
    int kind, prev, child, a, b, start, end


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
            if units.mute[u]:
                return 0
            cell = self.at(self.partial, 2 * base + 1, i, j)
            at = place(cell, self.k, s.first[i * R + rel] + s.unused[i], 0)
            if at >= 0:
                cell[at].node = self._node(OWN, -1, -1, rel, 0, i, j)
            return 0
        for state in range(0 if units.mute[u] else states):
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
                    unit_meaning(rel, partial[t].meaning + ends[c].meaning),
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
                                self.s, len(self.scores.layout.nest_row) - 1,
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
