# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Features given as strings with values: files of CRFsuite, and dicts and lists of python-crfsuite."""
cimport cython
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.math cimport isfinite
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport free, realloc, strtod
from libc.string cimport memcpy

from taggers.formats._columns cimport Columns
from taggers.features._hash cimport hash_text
from taggers.features._table cimport KeyTable

from collections.abc import Iterable, Mapping

import numpy as np

from structsvm.files.errors import DataError


cdef enum:
    AT_ONCE = 16    # features that are looked up together


@cython.no_gc
cdef class Items:
    """Collects rows and values, token by token; with `grow`, nothing else may grow the table meanwhile."""
    cdef KeyTable table
    cdef bint grow
    cdef bint plain                 # all values so far are 1
    cdef int32_t* rows
    cdef float* values
    cdef Py_ssize_t n
    cdef Py_ssize_t room
    cdef char* text                 # a feature's name as it is put together
    cdef Py_ssize_t text_room
    cdef uint64_t[AT_ONCE] keys     # whose rows are still to be found: their memory is on its way
    cdef double[AT_ONCE] given      # the values of these features
    cdef Py_ssize_t n_keys

    def __init__(self, KeyTable table not None, bint grow):
        self.table = table.open(grow)
        self.grow = grow
        self.plain = True

    def __dealloc__(self):
        if self.table is not None:
            self.table.close(self.grow)
        free(self.rows)
        free(self.values)
        free(self.text)

    cdef int put(self, const char* name, Py_ssize_t n, double value) except -1 nogil:
        """Add a feature of the current token; one with value 0, or unknown to the table, is left out."""
        cdef uint64_t key
        if value == 0:
            return 0
        key = hash_text(name, n) if n else hash_text(b"\0", 1)     # the empty name is one too
        self.table.expect(key)
        self.keys[self.n_keys], self.given[self.n_keys] = key, value
        self.n_keys += 1
        return self.find() if self.n_keys == AT_ONCE else 0

    cdef int find(self) except -1 nogil:
        """Find the rows of the features that were put."""
        cdef Py_ssize_t k
        cdef int32_t row
        if self.n + self.n_keys > self.room:
            self.widen()
        for k in range(self.n_keys):
            row = self.table.add(self.keys[k]) if self.grow else self.table.find(self.keys[k])
            if row >= 0:
                self.rows[self.n] = row
                self.values[self.n] = <float>self.given[k]
                self.plain &= self.given[k] == 1
                self.n += 1
        self.n_keys = 0
        return 0

    cdef int widen(self) except -1 nogil:
        cdef Py_ssize_t room = 2 * self.room + 1024
        cdef void* rows = realloc(self.rows, room * sizeof(int32_t))
        if rows != NULL:
            self.rows = <int32_t*>rows
        cdef void* values = realloc(self.values, room * sizeof(float))
        if values != NULL:
            self.values = <float*>values
        if rows == NULL or values == NULL:
            with gil:
                raise MemoryError()
        self.room = room
        return 0

    cdef int reserve(self, Py_ssize_t n) except -1 nogil:
        """Room for a name of n bytes."""
        cdef void* text
        if n > self.text_room:
            text = realloc(self.text, 2 * n)
            if text == NULL:
                with gil:
                    raise MemoryError()
            self.text = <char*>text
            self.text_room = 2 * n
        return 0

    def result(self):
        """The rows, and the values or None where all are 1."""
        rows, values = np.empty(self.n, np.int32), np.empty(0 if self.plain else self.n, np.float32)
        cdef int32_t[::1] row_view = rows
        cdef float[::1] value_view = values
        if self.n:
            memcpy(&row_view[0], self.rows, self.n * sizeof(int32_t))
            if not self.plain:
                memcpy(&value_view[0], self.values, self.n * sizeof(float))
        return rows, None if self.plain else values


cdef Py_ssize_t append(Items items, Py_ssize_t at, object name) except -1:
    """Write a name at position `at` of the text, and return where it ends."""
    cdef const char* text
    cdef Py_ssize_t n
    if isinstance(name, str):
        text = PyUnicode_AsUTF8AndSize(name, &n)
    elif isinstance(name, bytes):
        text, n = name, len(name)
    else:
        raise TypeError(f"a feature name must be a str, got {name!r}")
    items.reserve(at + n + 1)
    memcpy(items.text + at, text, n)
    return at + n


cdef int put_value(Items items, object name, object value, Py_ssize_t prefix, int depth) except -1:
    """Add what a dict says under a name, after a prefix: a number, a string, or more features."""
    cdef Py_ssize_t end
    cdef double number
    if value is False and type(name) is str:    # common, and left out
        return 0
    end = append(items, prefix, name)
    if type(value) is float or type(value) is int or type(value) is bool:
        number = value
    elif isinstance(value, (str, bytes)):
        items.text[end] = b":"
        end = append(items, end + 1, value)
        number = 1.0
    elif isinstance(value, (dict, list, tuple, set, frozenset, Mapping)):
        items.text[end] = b":"
        return put_item(items, value, end + 1, depth + 1)
    else:
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"the value of feature {name!r} must be a number, a str or more features, got {value!r}"
            ) from None
    if not isfinite(<float>number):
        raise ValueError(f"feature {name!r} must have a finite value that fits 32 bits, got {value!r}")
    return items.put(items.text, end, number)


cdef int put_item(Items items, object item, Py_ssize_t prefix, int depth) except -1:
    """Add the features of one token, after a prefix: names, or a dict with numbers, strings or more."""
    if depth > 20:
        raise ValueError("features are nested more than 20 levels deep")
    if type(item) is dict:
        for name, value in (<dict>item).items():
            put_value(items, name, value, prefix, depth)
    elif type(item) is list:
        for name in <list>item:
            items.put(items.text, append(items, prefix, name), 1.0)
    elif isinstance(item, (str, bytes)):
        raise TypeError(f"the features of a token must be a list of strings or a dict, got {item!r}")
    elif isinstance(item, Mapping):
        for name, value in item.items():
            put_value(items, name, value, prefix, depth)
    elif isinstance(item, Iterable):
        for name in item:
            items.put(items.text, append(items, prefix, name), 1.0)
    else:
        raise TypeError(
            f"a token must be a str, a tuple of str, or its features as a dict or list, got {item!r}"
        )
    return 0


def dict_rows(sentences, KeyTable table not None, *, bint grow=False):
    """Rows, token_ptr, sentence_ptr and values of sentences of tokens in python-crfsuite's format."""
    cdef Items items = Items(table, grow)
    token_ptr, sentence_ptr = [0], [0]
    items.reserve(64)
    for number, sentence in enumerate(sentences):
        for at, token in enumerate(sentence):
            try:
                put_item(items, token, 0, 0)
            except (TypeError, ValueError, OverflowError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"{error} (sentence {number}, token {at})") from None
            items.find()
            token_ptr.append(items.n)
        sentence_ptr.append(len(token_ptr) - 1)
    rows, values = items.result()
    return rows, np.array(token_ptr, np.int64), np.array(sentence_ptr, np.int64), values


cdef bint parse_number(const char* text, Py_ssize_t n, double* number) noexcept nogil:
    """A decimal number that fills the whole text, and is finite in 32 bits."""
    cdef char[64] copy
    cdef char* end
    if n >= 64 or n == 0 or text[0] == b" ":
        return False
    memcpy(copy, text, n)
    copy[n] = 0
    number[0] = strtod(copy, &end)
    return end == copy + n and isfinite(<float>number[0])


cdef int put_field(Items items, const char* field, Py_ssize_t n) except -1 nogil:
    """One ``name`` or ``name:value`` of a line, where a backslash quotes the next byte; 1 for a bad value."""
    cdef Py_ssize_t i = 0, m = 0
    cdef double number = 1
    items.reserve(n + 1)
    while i < n and field[i] != b":":
        if field[i] == b"\\" and i + 1 < n:
            i += 1
        items.text[m] = field[i]
        m += 1
        i += 1
    if i + 1 < n and not parse_number(field + i + 1, n - i - 1, &number):
        return 1
    items.put(items.text, m, number)
    return 0


def item_rows(Columns columns not None, KeyTable table not None, *, bint grow=False):
    """Rows, token_ptr and values of a file of CRFsuite, whose first column is the label."""
    if not columns.format.ready or columns.wanted != (0,):
        raise ValueError("columns must be read with format='crfsuite' to have ready features")
    cdef Items items = Items(table, grow)
    cdef Py_ssize_t token, at, stop, end, bad = -1
    cdef const char* text = columns.text_at
    result = np.zeros(columns.n_tokens + 1, np.int64)
    cdef int64_t[::1] token_ptr = result
    with nogil:
        for token in range(columns.n_tokens):
            end = columns.end_at[token]
            at = columns.span_at[2 * token] + columns.span_at[2 * token + 1] + 1
            while at < end and bad < 0:
                stop = at
                while stop < end and text[stop] != b"\t":
                    stop += 1
                if stop > at and put_field(items, text + at, stop - at):
                    bad = token
                at = stop + 1
            items.find()
            token_ptr[token + 1] = items.n
            if bad >= 0:
                break
    if bad >= 0:
        raise DataError(
            "the value of a feature is not a number that fits 32 bits; write name:1.5, and \\: for a colon "
            "in a name",
            columns.name, columns.line(bad),
        )
    rows, values = items.result()
    return rows, result, values


cdef int put_number(Items items, const char* cell, Py_ssize_t n, Py_ssize_t prefix) except -1 nogil:
    """Add a cell: a number, ``name:number``, or no value (empty or _); return 1 for a bad cell."""
    cdef Py_ssize_t colon = n - 1
    cdef double number = 0
    if n == 0 or n == 1 and cell[0] == b"_":
        return 0
    while colon >= 0 and cell[colon] != b":":
        colon -= 1
    if not parse_number(cell + colon + 1, n - colon - 1, &number):
        return 1
    items.reserve(prefix + n)
    if colon > 0:
        memcpy(items.text + prefix, cell, colon)
    items.put(items.text, prefix + max(colon, 0), number)
    return 0


def number_rows(
    Columns columns not None, Py_ssize_t column, Py_ssize_t offset, str name not None,
    KeyTable table not None, *, bint grow=False,
):
    """Rows, token_ptr and values of the numbers in a column at an offset; features are called name:NAME."""
    if columns.key_at != NULL:
        raise ValueError(f"{name} needs a column of text, but these columns have only hashes")
    if columns.n_tokens and not 0 <= column < columns.width:
        raise ValueError(f"{name} needs {column + 1} columns, but the input has {columns.width}")
    cdef Items items = Items(table, grow)
    cdef bytes prefix = name.encode() + b":"
    cdef Py_ssize_t sentence, token, at, span, bad = -1, length = len(prefix)
    items.reserve(length)
    memcpy(items.text, <const char*>prefix, length)
    result = np.zeros(columns.n_tokens + 1, np.int64)
    cdef int64_t[::1] token_ptr = result
    with nogil:
        for sentence in range(columns.n_sentences):
            for token in range(columns.sentence_at[sentence], columns.sentence_at[sentence + 1]):
                at = token + offset
                if columns.sentence_at[sentence] <= at < columns.sentence_at[sentence + 1]:
                    span = 2 * (at * columns.width + column)
                    if put_number(
                        items, columns.text_at + columns.span_at[span], columns.span_at[span + 1], length
                    ):
                        bad = at
                        break
                items.find()
                token_ptr[token + 1] = items.n
            if bad >= 0:
                break
    if bad >= 0:
        raise DataError(
            f"{columns.text(bad, column)[:40]!r} is not a number that fits 32 bits, but the template reads "
            f"{name}; write 0.37 or name:0.37, and _ for no value", columns.name, columns.line(bad),
        )
    rows, values = items.result()
    return rows, result, values
