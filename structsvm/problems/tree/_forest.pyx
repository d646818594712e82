# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""CKY: the forest of all trees over a sentence.

Its nodes are symbols over spans, its edges the ways to make them, each after all edges of the nodes that it
uses: what is best, in whatever sense, is found by one pass over the edges. Edges count: for the F1 loss,
a = 1 where a bracket is right and b = 1 for every bracket; for the 0/1 loss, a = 1 where anything is not as
in the right tree.
"""
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc, realloc

import numpy as np

cdef int32_t MOST = 1 << 20         # a count without a limit
cdef Py_ssize_t LONGEST = 400      # terminals of a sentence


cdef class Forest:
    """The nodes and edges over one sentence that lead to whole trees."""

    def __dealloc__(self):
        free(self.trees.edges)
        free(self.trees.offset)
        free(self.trees.width)

    cdef int add(self, Py_ssize_t head, Py_ssize_t left, Py_ssize_t right, Py_ssize_t rule) except -1:
        cdef Edge* edges
        if self.trees.n_edges == self.capacity:
            edges = <Edge*>realloc(self.trees.edges, (2 * self.capacity + 256) * sizeof(Edge))
            if edges == NULL:
                raise MemoryError(f"no memory for a forest of {self.trees.n_edges} edges")
            self.trees.edges, self.capacity = edges, 2 * self.capacity + 256
        edges = &self.trees.edges[self.trees.n_edges]
        edges.head, edges.left, edges.right = <int32_t>head, <int32_t>left, <int32_t>right
        edges.rule, edges.a, edges.b = <int32_t>rule, 0, 0
        self.trees.n_edges += 1
        return 0

    cdef int keep(self, const char[::1] useful) except -1:
        """Drop the edges that lead to no whole tree, and number the remaining nodes."""
        cdef Py_ssize_t k, n = 0
        cdef Edge* e
        numbers = np.cumsum(np.asarray(useful), dtype=np.int32) - np.int32(1)
        cdef const int32_t[::1] number = numbers
        for k in range(self.trees.n_edges):
            e = &self.trees.edges[k]
            if useful[e.head]:
                e.head = number[e.head]
                e.left = number[e.left] if e.left >= 0 else -1
                e.right = number[e.right] if e.right >= 0 else -1
                self.trees.edges[n] = e[0]
                n += 1
        self.trees.n_edges, self.trees.n_nodes = n, numbers[useful.shape[0] - 1] + 1
        e = <Edge*>realloc(self.trees.edges, max(n, 1) * sizeof(Edge))
        if e != NULL:
            self.trees.edges, self.capacity = e, max(n, 1)
        return 0

    cdef int lay_out(self) except -1:
        """Room for the strata of each node: as many as its trees can have."""
        cdef Py_ssize_t k, total = 0
        cdef Edge* e
        cdef int32_t a, b
        highest = np.zeros((2, self.trees.n_nodes), dtype=np.int32)
        cdef int32_t[:, ::1] most = highest
        self.trees.offset = <int32_t*>malloc((self.trees.n_nodes + 1) * sizeof(int32_t))
        self.trees.width = <int32_t*>malloc(self.trees.n_nodes * sizeof(int32_t))
        if self.trees.offset == NULL or self.trees.width == NULL:
            raise MemoryError(f"no memory for a forest of {self.trees.n_nodes} nodes")
        for k in range(self.trees.n_edges):
            e = &self.trees.edges[k]
            a, b = e.a, e.b
            if e.left >= 0:
                a, b = a + most[0, e.left], b + most[1, e.left]
            if e.right >= 0:
                a, b = a + most[0, e.right], b + most[1, e.right]
            most[0, e.head] = max(most[0, e.head], min(a, self.trees.limit))
            most[1, e.head] = max(most[1, e.head], b)
        sizes = (highest[0].astype(np.int64) + 1) * (highest[1] + 1)
        if sizes.sum() >= 2**31:
            raise ValueError("the sentence is too long for this loss; shorten it or use another loss")
        for k in range(self.trees.n_nodes):
            self.trees.offset[k], self.trees.width[k] = <int32_t>total, most[1, k] + 1
            total += <Py_ssize_t>(most[0, k] + 1) * (most[1, k] + 1)
        self.trees.offset[self.trees.n_nodes] = <int32_t>total
        self.trees.n_strata = total
        for k in range(self.trees.n_edges):
            e = &self.trees.edges[k]
            if e.left >= 0:
                self.trees.work += <double>sizes[e.left] * (sizes[e.right] if e.right >= 0 else 1)
        return 0


cdef class Chart:
    """Builds forests with the rules of a grammar."""

    def __init__(self, problem):
        self.problem = problem
        self.productions = problem.productions
        self.binary, self.unary = self.productions.binary, self.productions.unary
        self.starts, self.first = self.productions.starts, self.productions.first

    cdef Forest with_gold(self, words, tree):
        """The forest with what each edge adds to the counts, and the loss of each pair of them."""
        steps = np.array(self.productions.steps(tree), dtype=np.int32).reshape(-1, 5)
        cdef Forest forest = self.forest(words, steps)
        cdef Py_ssize_t a, b, n_b, n_gold
        if forest is None:
            raise ValueError("the grammar has no tree for it")
        forest.gold = np.array(self.productions.grammar.encode(tree), dtype=np.int32)
        cdef const int32_t[::1] rules = forest.gold
        forest.trees.gold, forest.trees.n_gold = &rules[0], rules.shape[0]
        n_gold = len(forest.gold) - 1
        n_b = forest.trees.width[forest.trees.n_nodes - 1]
        n_a = (forest.trees.n_strata - forest.trees.offset[forest.trees.n_nodes - 1]) // n_b
        if self.problem.count_loss == "0/1":
            loss = np.array([0.0, 1.0])[:n_a]
        else:
            # No tree has more right brackets than brackets.
            loss = np.array([
                self.problem.loss_of(a, b, n_gold) if a <= b and b else 0.0 for a in range(n_a)
                for b in range(n_b)])
            if loss[n_gold * n_b + n_gold] != 0:
                raise ValueError("the loss of the right tree must be 0")
        if not (np.isfinite(loss).all() and (loss >= 0).all()):
            raise ValueError("a loss must be finite and at least 0")
        forest.loss = loss
        cdef const double[::1] losses = loss
        forest.trees.loss = &losses[0]
        return forest

    cdef Forest forest(self, const int32_t[::1] words, const int32_t[:, ::1] gold):
        """All trees over the sentence, or None if there is none; gold holds the steps of the right tree."""
        cdef Py_ssize_t n = words.shape[0], n_symbols = self.productions.n_symbols, size, i, k
        if n > LONGEST:
            raise ValueError(f"a sentence of {n} terminals is too long; CKY supports at most {LONGEST}")
        cdef Forest forest = Forest()
        forest.words = np.array(words)
        chart = np.full((n * (n + 1) // 2, n_symbols), -1, dtype=np.int32)
        cdef int32_t[:, ::1] node = chart
        cdef list spans = []                # of each node: begin and symbol
        for size in range(1, n + 1):
            PyErr_CheckSignals()
            for i in range(n - size + 1):
                self.fill(forest, words, node, spans, i, i + size)
        root = forest.trees.n_nodes
        for k in range(self.starts.shape[0]):
            i = node[span(0, n), self.starts[k, 0]]
            if i >= 0:
                forest.add(root, i, -1, self.starts[k, 2])
        forest.trees.n_nodes += 1
        useful = np.zeros(forest.trees.n_nodes, dtype=np.int8)
        if forest.trees.n_edges == 0 or forest.trees.edges[forest.trees.n_edges - 1].head != root:
            return None
        self.mark(forest, useful)
        if gold is not None:
            self.count(forest, node, np.array([*spans, (0, self.productions.start)], np.int32), gold)
        forest.keep(useful)
        forest.trees.limit = 1 if self.problem.count_loss == "0/1" else MOST
        forest.lay_out()
        return forest

    cdef int fill(
        self, Forest forest, const int32_t[::1] words, int32_t[:, ::1] node, list spans, Py_ssize_t i,
        Py_ssize_t j
    ) except -1:
        """Nodes and edges over the span from i to j."""
        cdef Py_ssize_t k, left, r, here = span(i, j), symbol, head, right
        if j == i + 1:
            node[here, words[i]] = <int32_t>forest.trees.n_nodes
            forest.add(forest.trees.n_nodes, -1, -1, -1)
            forest.trees.n_nodes += 1
            spans.append((i, words[i]))
        for k in range(i + 1, j):
            for symbol in range(node.shape[1]):
                left = node[span(i, k), symbol]
                if left < 0:
                    continue
                for r in range(self.first[symbol], self.first[symbol + 1]):
                    right = node[span(k, j), self.binary[r, 1]]
                    if right >= 0:
                        head = self.made(forest, node, spans, here, i, self.binary[r, 2])
                        forest.add(head, left, right, self.binary[r, 3])
        for r in range(self.unary.shape[0]):
            left = node[here, self.unary[r, 0]]
            if left >= 0:
                head = self.made(forest, node, spans, here, i, self.unary[r, 1])
                forest.add(head, left, -1, self.unary[r, 2])
        return 0

    cdef Py_ssize_t made(
        self, Forest forest, int32_t[:, ::1] node, list spans, Py_ssize_t here, Py_ssize_t i,
        Py_ssize_t symbol
    ) except -1:
        """The node of a symbol, a new one if there is none."""
        if node[here, symbol] < 0:
            node[here, symbol] = <int32_t>forest.trees.n_nodes
            forest.trees.n_nodes += 1
            spans.append((i, symbol))
        return node[here, symbol]

    cdef int mark(self, Forest forest, char[::1] useful) except -1:
        """Mark the nodes that whole trees use: an edge comes after all edges that make what it uses."""
        cdef Py_ssize_t k
        cdef Edge* e
        useful[forest.trees.n_nodes - 1] = 1
        for k in range(forest.trees.n_edges - 1, -1, -1):
            e = &forest.trees.edges[k]
            if useful[e.head]:
                if e.left >= 0:
                    useful[e.left] = 1
                if e.right >= 0:
                    useful[e.right] = 1
        return 0

    cdef int count(
        self, Forest forest, const int32_t[:, ::1] node, const int32_t[:, ::1] places,
        const int32_t[:, ::1] gold
    ) except -1:
        """Compute the amounts that each edge adds to a and b."""
        cdef Py_ssize_t k, step, split, root = forest.trees.n_nodes - 1
        cdef Edge* e
        cdef bint exact = self.problem.count_loss == "0/1"
        of_node = np.full(forest.trees.n_nodes, -1, dtype=np.int32)
        cdef int32_t[::1] gold_of = of_node
        for k in range(gold.shape[0]):
            if gold[k, 0] == places[root, 1]:
                gold_of[root] = <int32_t>k
            else:
                gold_of[node[span(gold[k, 1], gold[k, 2]), gold[k, 0]]] = <int32_t>k
        for k in range(forest.trees.n_edges):
            e = &forest.trees.edges[k]
            step = gold_of[e.head]
            if exact:
                split = places[e.right, 0] if e.right >= 0 else -1
                e.a = e.left >= 0 and (step < 0 or gold[step, 3] != split or gold[step, 4] != e.rule)
            elif e.rule >= 0 and e.head != root:
                e.a, e.b = step >= 0, 1
        return 0


cdef inline Py_ssize_t span(Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """The number of the span from i to j."""
    return j * (j - 1) // 2 + i
