# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Labels back into the file: every byte of the input unchanged but for the predicted column."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t
from libc.stdio cimport snprintf
from libc.string cimport memcpy

from taggers.formats._columns cimport Columns

import numpy as np

cdef enum:
    SCORE_ROOM = 32


cdef struct Edit:
    const char* text
    const int32_t* spans
    const int32_t* ends
    Py_ssize_t n_tokens
    Py_ssize_t size
    Py_ssize_t width
    Py_ssize_t column           # to replace; -1 to append
    const int32_t* ids
    const char* labels          # all labels one after the other, the stand-in for no label last
    const int64_t* label_ptr
    Py_ssize_t n_labels
    const double* scores
    Py_ssize_t n_scores
    char separator
    char* out


cdef inline char line_separator(const Edit* e, Py_ssize_t end) noexcept nogil:
    """What stands before the line's last column, or the file's separator in a line of one column."""
    if e.separator == b"\t":
        return b"\t"
    while end > 0 and e.text[end - 1] != b"\n":
        end -= 1
        if e.text[end] == b" " or e.text[end] == b"\t":
            return e.text[end] if end > 0 and e.text[end - 1] != b"\n" else b" "
    return b" "


cdef inline char* put(char* out, const char* source, Py_ssize_t n) noexcept nogil:
    memcpy(out, source, n)
    return out + n


cdef inline char* put_score(char* out, double score) noexcept nogil:
    cdef int n = snprintf(out, SCORE_ROOM, "%.4f", score)
    if n >= SCORE_ROOM:
        n = snprintf(out, SCORE_ROOM, "%.6e", score)
    return out + n


cdef Py_ssize_t apply(const Edit* e) noexcept nogil:
    """Copy the text with each token's column replaced, or appended, and its scores appended."""
    cdef char* out = e.out
    cdef Py_ssize_t at = 0, token, stop, j
    cdef int32_t label
    cdef char separator
    for token in range(e.n_tokens):
        label = e.ids[token]
        if e.column >= 0:
            if label >= 0:
                j = 2 * (token * e.width + e.column)
                stop = e.spans[j]
                out = put(out, e.text + at, stop - at)
                out = put(out, e.labels + e.label_ptr[label], e.label_ptr[label + 1] - e.label_ptr[label])
                at = stop + e.spans[j + 1]
            if e.n_scores == 0:
                continue
        stop = e.ends[token]
        out = put(out, e.text + at, stop - at)
        at = stop
        separator = line_separator(e, stop)
        if e.column < 0:
            if label < 0:
                label = <int32_t>e.n_labels
            out[0] = separator
            out = put(out + 1, e.labels + e.label_ptr[label], e.label_ptr[label + 1] - e.label_ptr[label])
        for j in range(e.n_scores):
            out[0] = separator
            out = put_score(out + 1, e.scores[token * e.n_scores + j])
    out = put(out, e.text + at, e.size - at)
    return out - e.out


def write(
    Columns columns not None, const int32_t[::1] ids, labels, *, column=None,
    const double[:, ::1] scores=None,
):
    """The file's bytes with a label for each token.

    Parameters
    ----------
    columns : what was read.
    ids : for each token its label's place in `labels`; -1 leaves the column as it is, or appends ``_``.
    labels : the labels, str or bytes.
    column : the place among the wanted columns of the one to replace; None appends a column.
    scores : [n_tokens, k], appended as k more columns with four decimals.
    """
    cdef Edit e
    cdef Py_ssize_t room
    names = [label.encode() if isinstance(label, str) else bytes(label) for label in labels] + [b"_"]
    _check(columns, ids, names, column, scores)
    text = b"".join(names)
    sizes = np.array([len(name) for name in names], np.int64)
    cdef const int64_t[::1] label_ptr = np.concatenate([[0], np.cumsum(sizes)])
    e.text, e.size, e.spans, e.ends = columns.text_at, len(columns.data), columns.span_at, columns.end_at
    e.n_tokens, e.width = columns.n_tokens, columns.width
    e.column = -1 if column is None else column
    e.ids = &ids[0] if e.n_tokens else NULL
    e.labels, e.label_ptr, e.n_labels = text, &label_ptr[0], len(names) - 1
    e.n_scores = 0 if scores is None else scores.shape[1]
    e.scores = &scores[0, 0] if e.n_scores and e.n_tokens else NULL
    e.separator = b"\t" if columns.separator == "\t" else b" "
    # The widest label's size for each token is too much room; the labels' own sizes are just enough.
    room = int(sizes[np.asarray(ids)].sum()) if e.n_tokens else 0
    room += e.size + e.n_tokens * (1 + e.n_scores * (SCORE_ROOM + 1))
    cdef bytes out = PyBytes_FromStringAndSize(NULL, room)
    e.out = PyBytes_AS_STRING(out)
    with nogil:
        room = apply(&e)
    return out if room == len(out) else out[:room]     # no copy, which would keep other threads waiting


def _check(Columns columns, const int32_t[::1] ids, list names, column, const double[:, ::1] scores):
    if columns.format == "memory":
        raise ValueError("these columns were not read from a file, so there is nothing to write back")
    if ids.shape[0] != columns.n_tokens:
        raise ValueError(f"{ids.shape[0]} labels for {columns.n_tokens} tokens")
    if columns.n_tokens and (np.max(ids) >= len(names) - 1 or np.min(ids) < -1):
        raise ValueError(f"a label id is outside 0..{len(names) - 2}")
    if column is not None and not 0 <= column < columns.width:
        raise ValueError(f"column {column} is none of the {columns.width} that were read")
    if scores is not None and scores.shape[0] != columns.n_tokens:
        raise ValueError(f"{scores.shape[0]} rows of scores for {columns.n_tokens} tokens")
    breaks = b"\n\r\t" if columns.separator == "\t" else b"\n\r\t "
    for name in names if columns.n_tokens else ():  # without a token it is not known what separates columns
        if not name or any(c in breaks for c in name):
            name = name.decode(errors="replace")
            raise ValueError(f"label {name!r} cannot be written: it is empty or holds a separator")
