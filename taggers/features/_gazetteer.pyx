# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Lists of names, matched in sentences: the longest entry at each word, from left to right.

An entry is a path in a trie over the hashes of words. The trie is one hash table: each beginning of an
entry has a key, mixed from the key of the beginning before and the next word.
"""
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memchr

from taggers.features._hash cimport hash_text, mix
from taggers.features._table cimport KeyTable, find, prefetch

import numpy as np

from structsvm.files.errors import DataError

cdef enum:
    LONGEST = 9     # longer matches share one length
    AHEAD = 8       # tokens whose first lookup is prefetched

cdef uint64_t ROOT = hash_text(b"gazetteer", 9)
cdef uint64_t[4] POSITIONS = [hash_text(b"B", 1), hash_text(b"I", 1), hash_text(b"E", 1), hash_text(b"S", 1)]
cdef uint64_t[10] LENGTHS
cdef char[10] DIGITS = b"0123456789"
for _digit in range(10):
    LENGTHS[_digit] = hash_text(&DIGITS[_digit], 1)


cdef inline void expect(const Matcher* matcher, uint64_t word) noexcept nogil:
    """Prefetch the slot where the entries that begin with a word are."""
    prefetch(matcher.slots + (mix(ROOT, word) >> 32 & matcher.mask))


cdef void put_matches(
    const Matcher* matcher, uint64_t* values, Py_ssize_t width, Py_ssize_t n
) noexcept nogil:
    """Fill the positions and lengths of the matches among n tokens, with `width` values each."""
    cdef Py_ssize_t i = 0, j, stop
    cdef uint64_t key
    cdef int row
    for j in range(min(n, <Py_ssize_t>AHEAD)):
        expect(matcher, values[j * width + matcher.source])
    while i < n:
        if i + AHEAD < n:
            expect(matcher, values[(i + AHEAD) * width + matcher.source])
        key = ROOT
        stop = i
        for j in range(i, n):
            key = mix(key, values[j * width + matcher.source])
            row = find(matcher.slots, matcher.keys, matcher.mask, key)
            if row < 0:
                break
            if matcher.ends[row]:
                stop = j + 1
        for j in range(i, stop):
            if matcher.position >= 0:
                values[j * width + matcher.position] = POSITIONS[
                    3 if stop == i + 1 else 0 if j == i else 2 if j == stop - 1 else 1
                ]
            if matcher.length >= 0:
                values[j * width + matcher.length] = LENGTHS[min(stop - i, <Py_ssize_t>LONGEST)]
        i = max(stop, i + 1)


cdef class Gazetteer:
    """Entries of one or more words.

    Parameters
    ----------
    keys : uint64, or uint32 for their upper halves alone: the key of each beginning of an entry.
    ends : uint8: 1 where an entry ends.
    folded : whether the entries are in lower case and match words in lower case.
    """

    def __init__(self, keys=(), ends=(), *, bint folded=False):
        cdef KeyTable table = keys if isinstance(keys, KeyTable) else KeyTable(keys)
        self.table = table.open(grow=False)     # matchers point into its arrays
        self.ends = np.ascontiguousarray(ends, np.uint8)
        self.folded = folded
        if self.ends.shape != (len(self.table),) or self.ends.max(initial=0) > 1:
            raise ValueError("every beginning of an entry must have a mark")

    @staticmethod
    def from_text(bytes text not None, *, bint folded=False, str name=""):
        """A gazetteer from UTF-8 text with one entry per line, its words separated by spaces."""
        cdef KeyTable table = KeyTable()
        cdef const char* data
        cdef Py_ssize_t at = 0, stop, size, line = 0, word
        cdef uint64_t key
        cdef const void* found
        cdef int row = 0
        if folded:
            text = text.decode().lower().encode()
        data, size = text, len(text)
        marks = np.zeros(sum(map(text.count, (b" ", b"\n", b"\r"))) + 2, np.uint8)
        cdef uint8_t[::1] ends = marks
        with nogil:
            while at < size:
                line += 1
                found = memchr(data + at, c"\n", size - at)
                stop = size if found == NULL else <const char*>found - data
                key, row = ROOT, -1
                while at < stop:
                    while at < stop and (data[at] == c" " or data[at] == c"\r"):
                        at += 1
                    word = at
                    while at < stop and data[at] != c" " and data[at] != c"\r" and data[at] != c"\t":
                        at += 1
                    if at < stop and data[at] == c"\t":
                        with gil:
                            raise DataError(
                                "an entry must not contain a tab; write its words with spaces between them, "
                                "and give a lexicon of words and tags with --classes", name, line)
                    if at > word:
                        key = mix(key, hash_text(data + word, at - word))
                        row = table.add(key)
                if row >= 0:
                    ends[row] = 1
                at = stop + 1
        if not len(table):
            raise DataError("the gazetteer has no entries; write one entry per line", name)
        return Gazetteer(table, marks[:len(table)], folded=folded)

    def __len__(self):
        """The number of entries."""
        return int(self.ends.sum())

    def __eq__(self, other):
        return (
            isinstance(other, Gazetteer) and self.folded == other.folded
            and np.array_equal(self.table.keys, other.table.keys) and np.array_equal(self.ends, other.ends)
        )

    __hash__ = None

    cdef int place(self, Matcher* matcher) except -1:
        """Tell compiled code where the entries are."""
        cdef const uint8_t[::1] ends = self.ends
        matcher.slots, matcher.mask = self.table.slots_at, self.table.mask
        matcher.keys = NULL if self.table.short else self.table.keys_at
        matcher.ends = &ends[0] if ends.shape[0] else NULL
        return 0

    def matches(self, words):
        """For each word of a sentence (position, length) in a match, as text, or None."""
        cdef Matcher matcher
        cdef Py_ssize_t n = len(words), i
        self.place(&matcher)
        matcher.source, matcher.position, matcher.length = 0, 1, 2
        values = np.zeros((n + 1, 3), np.uint64)
        cdef uint64_t[:, ::1] view = values
        for i, word in enumerate(words):
            text = (word.lower() if self.folded else word).encode()
            view[i, 0] = hash_text(text, len(text))
        put_matches(&matcher, &view[0, 0], 3, n)
        letters = dict(zip((POSITIONS[0], POSITIONS[1], POSITIONS[2], POSITIONS[3]), "BIES"))
        digits = {LENGTHS[i]: str(i) for i in range(10)}
        return [
            (letters[position], digits[length]) if position else None
            for position, length in values[:n, 1:].tolist()
        ]

    def __reduce__(self):
        return _restore, (self.table, self.ends, self.folded)


def _restore(table, ends, folded):
    return Gazetteer(table, ends, folded=folded)
