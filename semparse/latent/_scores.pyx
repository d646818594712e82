# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Everything that a chart adds up, for one sentence and given weights."""

import numpy as np

from semparse.latent._units cimport flat, ints

CHANNELS = ("word", "pair", "first", "later", "unused", "left", "right", "and")


cdef class Sentence:
    """Rows of features by position, and constants at spans of words.

    channels: for "word", "pair", "first" (an own word before any argument), "later" (after one), "unused",
    "left" and "right" (of an argument), a list of rows for each position. lexical: (start, end, column,
    role class, meaning, prior, rows). priors: (position, relation, amount) for own words.
    """

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


cdef class Layout:
    """The columns and special rows of a model: of nesting, for each role (last: the root) and column of
    a relation or constant; of relations, the bias and the row without own words; of roles, four rows by
    whether own words and arguments came before; which constants a role allows; the meaning of constants."""

    def __init__(self, nest_row, nest_relation, nest_constant, state_row, bias, wordless, allowed, meaning):
        self.nest_row, self.nest_relation = ints(nest_row), ints(nest_relation)
        self.nest_constant, self.state_row = ints(nest_constant), ints(state_row)
        self.bias, self.wordless, self.allowed = bias, wordless, allowed
        self.meaning = np.array(meaning or [0], np.uint64)


cdef void gather(
    Sentence x, int channel, int at, const double[:, ::1] w, double[::1] total, int to, int width, int low=0
):
    """Add the weights of the rows of a position, in `width` columns from `low`, to a part of an array."""
    cdef int r, c, which = channel * (x.n + 1) + at
    for r in range(x.first[which], x.first[which + 1]):
        for c in range(width):
            total[to + c] += w[x.row[r], low + c]


cdef int point(Scores scores) except -1:
    """Let the terms point to the arrays."""
    cdef Sentence sentence = scores.sentence
    cdef Layout layout = scores.layout
    cdef Terms* t = &scores.t
    t.n, t.n_relations, t.n_roles = scores.n, scores.n_relations, scores.n_roles
    t.n_lexical = sentence.n_lexical
    t.span, t.pair, t.first, t.later = &scores.span[0], &scores.pair[0], &scores.first[0], &scores.later[0]
    t.left, t.right, t.state = &scores.left[0], &scores.right[0], &scores.state[0]
    t.lexical, t.unused = &scores.lexical[0], &scores.unused[0]
    t.bias, t.wordless = &scores.bias[0], &scores.wordless[0]
    t.nesting = &scores.nesting[0, 0] if scores.nesting.shape[0] and scores.nesting.shape[1] else NULL
    t.nest_width = scores.nesting.shape[1]
    t.nest_row, t.nest_relation = &layout.nest_row[0], &layout.nest_relation[0]
    t.nest_constant, t.meaning = &layout.nest_constant[0], &layout.meaning[0]
    t.allowed, t.n_kinds = &layout.allowed[0, 0], layout.allowed.shape[1]
    t.start, t.end, t.kind = &sentence.start[0], &sentence.end[0], &sentence.kind[0]
    t.lexical_meaning = &sentence.meaning[0]
    return 0


cdef class Scores:
    """Everything that a chart adds up, for one sentence and given weights of the five tables."""

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
                gather(sentence, AND, j, relations, self.joined, j, 1, AND_LABEL)
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
        point(self)
        self.nothing = span_score(&self.t, NULL_LABEL, 0, n) + self.bias[NULL_LABEL]
        for j in range(n):
            self.nothing += self.unused[j]
