# cython: language_level=3
"""One pass over the bytes of a column file."""
from libc.stdint cimport int32_t, int64_t

cdef enum Fault:
    NO_FAULT
    WRONG_COUNT       # a line has another number of columns than the first one
    WRONG_ID          # the first column is not a token number

cdef enum:            # values of `ColumnFormat.comments`
    NO_COMMENTS
    ALL_COMMENTS
    OTHER_COMMENTS

cdef struct Scanner:
    const char* data
    Py_ssize_t size
    Py_ssize_t begin            # after a byte order mark
    bint tabs                   # one tab separates columns, not runs of spaces and tabs
    int comments                # the flags of `ColumnFormat`
    bint numbered
    bint documents
    bint open_ended
    int32_t n_columns           # 0: not known yet
    int32_t width
    const int32_t* slot_of      # for each column of the file: its index among the wanted, or -1
    int32_t* spans
    int32_t* ends
    int32_t* lines
    int64_t* sentences
    Py_ssize_t n_tokens
    Py_ssize_t n_sentences
    Fault fault
    int32_t fault_line
    int32_t fault_count

cdef void scan(Scanner* s) noexcept nogil
cdef Py_ssize_t first_token_line(const Scanner* s, Py_ssize_t* end) noexcept nogil
cdef int32_t count_columns(const char* data, Py_ssize_t start, Py_ssize_t end, bint tabs) noexcept nogil
cdef Py_ssize_t utf8_error(const char* data, Py_ssize_t size) noexcept nogil
