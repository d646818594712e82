# cython: language_level=3
"""The scores of a sentence, as the chart reads them; see `_scores.pyx`."""

from libc.stdint cimport int32_t, uint8_t, uint64_t

cdef enum:
    NULL_LABEL, AND_LABEL  # the first columns of the table of relations

cdef enum:
    WORD, PAIR, FIRST, LATER, UNUSED, LEFT, RIGHT, AND

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
    cdef public int n
    cdef int32_t[::1] row, first  # of channel c at a position: first[c * (n + 1) + position]
    cdef int n_lexical
    cdef int32_t[::1] start, end, column, kind
    cdef uint64_t[::1] meaning
    cdef double[::1] prior, amount
    cdef int32_t[::1] lexical_row, lexical_first, position, relation
    cdef readonly int n_priors


cdef class Layout:
    cdef int32_t[::1] nest_row, nest_relation, nest_constant, state_row
    cdef int bias, wordless
    cdef const uint8_t[:, ::1] allowed
    cdef uint64_t[::1] meaning


cdef class Scores:
    cdef Sentence sentence
    cdef Layout layout
    cdef int n, n_relations, n_roles
    cdef const double[:, ::1] nesting
    cdef double[::1] span, pair, first, later, left, right, state, lexical, unused, bias, wordless, joined
    cdef double nothing
    cdef Terms t
