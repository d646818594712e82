# cython: language_level=3
"""Tokens of a file: its bytes, unchanged, and the position of each token's columns in them."""
from libc.stdint cimport int32_t, int64_t, uint64_t

from taggers.features._hash cimport hash_text
from taggers.formats._scan cimport Scanner


cdef class Columns:
    cdef readonly bytes data            # every byte of the chunk, unchanged
    cdef readonly str name              # the file, for messages
    cdef readonly object format         # the `Format`
    cdef readonly str separator         # "\t", or " " for runs of spaces and tabs
    cdef readonly tuple wanted          # the columns of the file that are kept, in this order
    cdef readonly Py_ssize_t width      # their number
    cdef readonly Py_ssize_t n_columns  # the number of columns in the file
    cdef readonly Py_ssize_t n_tokens
    cdef readonly Py_ssize_t n_sentences
    cdef readonly Py_ssize_t first_line
    cdef readonly object spans          # int32 [n_tokens, width, 2]: start and length of each column
    cdef readonly object ends           # int32 [n_tokens]: where the last column of the line ends
    cdef readonly object lines          # int32 [n_tokens]: the token's line, counted from first_line
    cdef readonly object sentence_ptr   # int64 [n_sentences + 1]: first token of each sentence
    cdef readonly object keys           # uint64 [n_tokens, width]: hashes instead of texts, or None
    cdef readonly object strings        # function from such a hash to its text
    cdef public object own              # features of the user: for each sentence a list of dicts, or None
    cdef public object documents        # the first sentence of each document, or None if it is not known
    cdef public object origin           # the documents that these columns were made from, or None
    cdef const char* text_at            # data
    cdef const int32_t* span_at         # spans
    cdef const int32_t* end_at          # ends
    cdef const int64_t* sentence_at     # sentence_ptr
    cdef const uint64_t* key_at         # keys, or NULL

    cdef inline uint64_t key(self, Py_ssize_t at) noexcept nogil:
        """Return the hash of the value at token * width + column."""
        if self.key_at != NULL:
            return self.key_at[at]
        return hash_text(self.text_at + self.span_at[2 * at], self.span_at[2 * at + 1])

    cdef int _point(self) except -1
    cdef Py_ssize_t _begin(self, Scanner* s, separator, Py_ssize_t n_columns) except -2
