# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Write labels into the bytes of a file in one pass; every other byte is copied."""
from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from taggers.formats._columns cimport Columns

import re

import numpy as np

from taggers.formats.base import MEMORY

MARK = re.compile(rb"^(?:\A\xef\xbb\xbf)?-DOCSTART-(?![^ \t\r\n])[^\n]*", re.MULTILINE)

cdef enum:
    SCORE_ROOM = 32
    MISC_ROOM = 8               # |Margin=


cdef struct Output:             # a `Layer` as compiled code sees it
    const int32_t* ids
    const char* labels          # all labels in a row; then "_" for none, and the label of -DOCSTART-
    const int64_t* label_ptr
    int32_t n_labels
    const double* scores
    Py_ssize_t column           # to replace; -1 to append


cdef struct Edit:
    const char* text
    Py_ssize_t size
    const int32_t* spans
    const int32_t* ends
    Py_ssize_t n_tokens
    const int32_t* marks        # where the lines with -DOCSTART- end
    Py_ssize_t n_marks
    Py_ssize_t width
    Output* outputs             # those that replace a column first, in the order of the columns
    Py_ssize_t n_outputs
    bint at_end                 # something goes to the end of each line
    bint misc                   # scores go into the last column, as Margin=
    char separator
    char* out


cdef inline char line_separator(const Edit* e, Py_ssize_t end) noexcept nogil:
    """Return what precedes the line's last column, or the file's separator if the line has one column."""
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


cdef inline char* put_label(char* out, const Output* output, int32_t label) noexcept nogil:
    cdef int64_t start = output.label_ptr[label]
    return put(out, output.labels + start, output.label_ptr[label + 1] - start)


cdef inline char* put_score(char* out, double score) noexcept nogil:
    cdef int n = snprintf(out, SCORE_ROOM, "%.4f", score)
    if n >= SCORE_ROOM:
        n = snprintf(out, SCORE_ROOM, "%.6e", score)
    return out + n


cdef inline char* put_misc(char* out, double score) noexcept nogil:
    """Add a score to the line's last column, which has just been written; `_` there means empty."""
    cdef char* last = out - 1
    if last[0] == b"_" and (last - 1)[0] == b"\t":
        out = last
    elif last[0] != b"\t":
        out[0] = b"|"
        out += 1
    return put_score(put(out, b"Margin=", 7), score)


cdef char* put_end(const Edit* e, char* out, Py_ssize_t token) noexcept nogil:
    """Append the columns and scores of a token to its line."""
    cdef char separator = line_separator(e, e.ends[token])
    cdef const Output* output
    cdef int32_t label
    cdef Py_ssize_t k
    for k in range(e.n_outputs):
        output = &e.outputs[k]
        if output.column < 0:
            label = output.ids[token]
            out[0] = separator
            out = put_label(out + 1, output, output.n_labels if label < 0 else label)
        if output.scores != NULL and e.misc:
            out = put_misc(out, output.scores[token])
        elif output.scores != NULL:
            out[0] = separator
            out = put_score(out + 1, output.scores[token])
    return out


cdef char* put_mark(const Edit* e, char* out, Py_ssize_t mark) noexcept nogil:
    """Append as many columns to a line with -DOCSTART- as tokens get."""
    cdef char separator = line_separator(e, e.marks[mark])
    cdef const Output* output
    cdef Py_ssize_t k
    for k in range(e.n_outputs):
        output = &e.outputs[k]
        if output.column < 0:
            out[0] = separator
            out = put_label(out + 1, output, output.n_labels + 1)
        if output.scores != NULL:
            out[0] = separator
            out[1] = b"_"
            out += 2
    return out


cdef Py_ssize_t apply(const Edit* e) noexcept nogil:
    """Copy the text with the outputs of each token, and return its new size."""
    cdef char* out = e.out
    cdef Py_ssize_t at = 0, token, k, j, mark = 0
    cdef const Output* output
    for token in range(e.n_tokens + 1):
        while mark < e.n_marks and (token == e.n_tokens or e.marks[mark] < e.ends[token]):
            out = put(out, e.text + at, e.marks[mark] - at)
            at = e.marks[mark]
            out = put_mark(e, out, mark)
            mark += 1
        if token == e.n_tokens:
            break
        for k in range(e.n_outputs):
            output = &e.outputs[k]
            if output.column >= 0 and output.ids[token] >= 0:
                j = 2 * (token * e.width + output.column)
                out = put(out, e.text + at, e.spans[j] - at)
                out = put_label(out, output, output.ids[token])
                at = e.spans[j] + e.spans[j + 1]
        if e.at_end:
            out = put(out, e.text + at, e.ends[token] - at)
            at = e.ends[token]
            out = put_end(e, out, token)
    out = put(out, e.text + at, e.size - at)
    return out - e.out


def write(Columns columns not None, layers, *, bint misc=False):
    """Return the file's bytes with the labels and scores of some `Layer`s.

    Labels replace a column or are appended; scores are appended, with four decimals. misc: scores go into
    the last column, as ``Margin=``.
    """
    cdef Edit e
    cdef Output* output
    cdef const int32_t[::1] ids
    cdef const int64_t[::1] label_ptr
    cdef const double[::1] scores
    cdef const int32_t[::1] marks
    cdef Py_ssize_t room
    if columns.format is MEMORY:
        raise ValueError("these columns were not read from a file, so no file can be written")
    for layer in layers:
        _check(columns, layer)
    replaced = [columns.wanted[layer.column] for layer in layers if layer.column is not None]
    if len(set(replaced)) < len(replaced):
        raise ValueError("two layers of labels cannot replace the same column")
    layers = sorted(
        layers, key=lambda layer: np.inf if layer.column is None else columns.wanted[layer.column]
    )
    e.text, e.size, e.spans, e.ends = columns.text_at, len(columns.data), columns.span_at, columns.end_at
    e.n_tokens, e.width, e.n_outputs = columns.n_tokens, columns.width, len(layers)
    e.separator = b"\t" if columns.separator == "\t" else b" "
    e.at_end = any(layer.column is None or layer.scores is not None for layer in layers)
    e.misc = misc
    room = e.size
    kept = []  # what the pointers point into
    e.marks, e.n_marks = NULL, 0
    if e.at_end and e.n_tokens and columns.format.documents and b"-DOCSTART-" in columns.data:
        marks = _marks(columns)
        e.n_marks = marks.shape[0]
        e.marks = &marks[0] if e.n_marks else NULL
    e.outputs = <Output*>calloc(max(e.n_outputs, 1), sizeof(Output))
    if e.outputs == NULL:
        raise MemoryError()
    try:
        for place, layer in enumerate(layers if e.n_tokens else ()):
            output = &e.outputs[<Py_ssize_t>place]
            outside = b"O" if "O" in layer.names else b"-X-"
            names = [name.encode() for name in layer.names] + [b"_", outside]
            text, sizes = b"".join(names), np.array([len(name) for name in names], np.int64)
            ids, label_ptr = layer.ids, np.concatenate([[0], np.cumsum(sizes)])
            kept += [text, ids, label_ptr]
            output.ids, output.labels, output.label_ptr = &ids[0], text, &label_ptr[0]
            output.n_labels = <int32_t>(len(names) - 2)
            output.column = -1 if layer.column is None else layer.column
            # The labels' own sizes; the size of the longest one for each token would be far too much.
            room += int(sizes[np.asarray(ids)].sum()) + e.n_tokens + e.n_marks * (3 + len(outside))
            if layer.scores is not None:
                scores = layer.scores
                kept.append(scores)
                output.scores = &scores[0]
                room += e.n_tokens * (SCORE_ROOM + MISC_ROOM)
        e.n_outputs = e.n_outputs if e.n_tokens else 0
        out = PyBytes_FromStringAndSize(NULL, room)
        e.out = PyBytes_AsString(out)
        with nogil:
            room = apply(&e)
    finally:
        free(e.outputs)
    return out if room == len(out) else out[:room]


def _marks(Columns columns):
    """int32: where the lines with -DOCSTART- end."""
    spaces = b"\r" if columns.separator == "\t" else b" \t\r"
    found = MARK.finditer(columns.data)
    return np.array([mark.start() + len(mark[0].rstrip(spaces)) for mark in found], np.int32)


def _check(Columns columns, layer):
    """Raise ValueError for a layer that does not fit the columns or could not be read back."""
    ids, n_labels = layer.ids, len(layer.names)
    if len(ids) != columns.n_tokens:
        raise ValueError(f"{len(ids)} labels for {columns.n_tokens} tokens")
    if columns.n_tokens and (np.max(ids) >= n_labels or np.min(ids) < -1):
        raise ValueError(f"label ids must be between -1 and {n_labels - 1}")
    if layer.column is not None and not 0 <= layer.column < columns.width:
        raise ValueError(f"column must be between 0 and {columns.width - 1}, got {layer.column}")
    if layer.scores is not None and len(layer.scores) != columns.n_tokens:
        raise ValueError(f"{len(layer.scores)} scores for {columns.n_tokens} tokens")
    breaks = "\n\r\t" if columns.separator == "\t" else "\n\r\t "
    for name in layer.names if columns.n_tokens else ():  # without tokens the separator is not known
        if not name or any(c in name for c in breaks):
            raise ValueError(f"label {name!r} cannot be written: it is empty or contains a separator")
