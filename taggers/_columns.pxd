# cython: language_level=3
"""Column files in memory: the bytes as they came, and where each token's columns lie in them."""
from libc.stdint cimport int32_t, int64_t


cdef class Columns:
    cdef readonly bytes data            # every byte of the chunk, unchanged
    cdef readonly str name              # the file, for messages
    cdef readonly str format            # columns, conllu, crfsuite or memory
    cdef readonly str separator         # "\t", or " " for runs of spaces and tabs
    cdef readonly tuple wanted          # which columns of the file are kept, in this order
    cdef readonly Py_ssize_t width      # how many they are
    cdef readonly Py_ssize_t n_columns  # how many the file has
    cdef readonly Py_ssize_t n_tokens
    cdef readonly Py_ssize_t n_sentences
    cdef readonly Py_ssize_t first_line
    cdef readonly object spans          # int32 [n_tokens, width, 2]: start and length of each column
    cdef readonly object ends           # int32 [n_tokens]: where the last column of the line ends
    cdef readonly object lines          # int32 [n_tokens]: the token's line, counted from first_line
    cdef readonly object sentence_ptr   # int64 [n_sentences + 1]: first token of each sentence
    cdef const char* text_at            # data
    cdef const int32_t* span_at         # spans
    cdef const int32_t* end_at          # ends
    cdef const int64_t* sentence_at     # sentence_ptr

    cdef int _point(self) except -1
