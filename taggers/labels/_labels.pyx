# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Labels as small integers."""
from libc.stdint cimport int32_t, uint64_t

from taggers.formats._columns cimport Columns
from taggers.features._hash cimport hash_text
from taggers.features._table cimport KeyTable

from itertools import chain

import numpy as np


cdef class Labels:
    """Distinct labels, numbered in the order in which they were added.

    Parameters
    ----------
    names : the labels that have numbers from the beginning.
    """
    cdef KeyTable table
    cdef readonly list names

    def __init__(self, names=()):
        self.table = KeyTable()
        self.names = []
        for i, name in enumerate(names):
            if self._add(name) != i:
                raise ValueError(f"label {name!r} occurs twice")

    def _add(self, str name not None):
        cdef bytes encoded = name.encode()
        cdef int32_t row = self.table.add(hash_text(encoded, len(encoded)))
        if row < 0:
            raise ValueError("a label is empty; every token needs one")
        if row == <Py_ssize_t>len(self.names):
            self.names.append(name)
        return row

    def ids(self, Columns columns not None, Py_ssize_t column, *, bint grow=False):
        """int32: the number of each token's label in one of the wanted columns.

        A label not seen before is -1, or gets the next number with `grow`. An empty one is always -1.
        """
        if not 0 <= column < columns.width and columns.n_tokens:
            raise ValueError(f"column must be one of the {columns.width} that were read, got {column}")
        cdef Py_ssize_t token
        cdef int32_t label
        cdef uint64_t key
        result = np.empty(columns.n_tokens, np.int32)
        cdef int32_t[::1] out = result
        cdef KeyTable table = self.table.open(grow=False)
        with nogil:
            for token in range(columns.n_tokens):
                key = columns.key(token * columns.width + column)
                label = table.find(key)
                if label < 0 and grow and key != 0:
                    with gil:
                        label = self._add(columns.text(token, column))
                        table = self.table.open(grow=False)
                out[token] = label
        return result

    def index(self, str name not None):
        """The label's number, or -1."""
        cdef bytes encoded = name.encode()
        return self.table.find(hash_text(encoded, len(encoded)))

    def encode(self, sentences, *, bint grow=False):
        """int32: the numbers of labels given in Python as lists of str, flattened."""
        distinct = dict.fromkeys(chain.from_iterable(sentences))
        number = {name: self._add(name) if grow else self.index(name) for name in distinct}
        return np.fromiter(map(number.__getitem__, chain.from_iterable(sentences)), np.int32)

    def __len__(self):
        return len(self.names)

    def __reduce__(self):
        return Labels, (self.names,)
