# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Tokens of a file: its bytes, unchanged, and the position of each token's columns in them."""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memchr

from taggers.formats._scan cimport (
    NO_COMMENTS,
    NO_FAULT,
    OTHER_COMMENTS,
    WRONG_ID,
    Scanner,
    count_columns,
    first_token_line,
    scan,
    utf8_error,
)

import numpy as np

from structsvm.files.errors import DataError
from taggers.formats.base import MEMORY


COMMENTS = ("", "all", "other")  # `ColumnFormat.comments` by their numbers in the scanner


def count_lines(bytes data not None, end=None) -> int:
    """How often a line ends in the data, up to `end`; `bytes.count` takes several times as long."""
    return np.count_nonzero(np.frombuffer(data, np.uint8)[:end] == 10)


def look(bytes data not None, format, separator=None, *, str name="") -> tuple:
    """Return the separator and the number of columns of the first token's line; 0 columns without a token.

    data: the first lines of a file. The parameters are those of `Columns`.
    """
    cdef Scanner s
    cdef Columns columns = Columns.__new__(Columns)
    columns.data, columns.format, columns.name, columns.first_line = data, format, name, 1
    columns._check_bytes()
    found = columns._begin(&s, separator, 0) >= 0
    return columns.separator, columns.n_columns if found else 0


cdef class Columns:
    """The tokens of a file, or of some whole sentences of it, as bytes and flat arrays of positions.

    Parameters
    ----------
    data : the bytes, in UTF-8.
    wanted : the columns to keep; 0 is the first column of the file, -1 the last.
    format : a `ColumnFormat` or its name.
    separator : ``"\\t"`` for one tab between columns, ``" "`` for runs of spaces and tabs; None uses a tab
        if the first token's line has one.
    name, first_line : for messages.
    n_columns : the number of columns that each line must have; 0 uses that of the first token's line.
    """

    def __init__(
        self, bytes data not None, wanted=(0,), *, format="columns", separator=None, str name="",
        Py_ssize_t first_line=1, Py_ssize_t n_columns=0,
    ):
        if isinstance(format, str):
            from taggers.formats.registry import find

            format = find(format)
        if separator is not None and separator not in ("\t", " "):
            raise ValueError(f"separator must be a tab or a space, got {separator!r}")
        self.data = data
        self.format = format
        self.name = name
        self.first_line = first_line
        self._check_bytes()
        self._scan(wanted, separator, n_columns)
        self._point()

    def _check_bytes(self):
        """Raise DataError for data that are not UTF-8 text."""
        cdef const char* data = self.data
        cdef const char* nul
        cdef Py_ssize_t size = len(self.data), bad
        if size >= 2**31 - 1:
            raise DataError("more than 2 GB in one piece; split the file", self.name)
        with nogil:
            nul = <const char*>memchr(data, 0, size)
            bad = utf8_error(data, size)
        if nul != NULL:
            line = self.data.count(b"\n", 0, nul - data)
            what = "contains a NUL byte; is this a text file in UTF-8? If it is in UTF-16, set the encoding"
            self._refuse(what, line)
        if bad >= 0:
            self._refuse(
                f"byte 0x{self.data[bad]:02x} is not valid UTF-8; set the encoding, such as latin-1",
                self.data.count(b"\n", 0, bad),
            )

    def _refuse(self, what, Py_ssize_t line):
        raise DataError(what, self.name, self.first_line + line)

    def _scan(self, wanted, separator, Py_ssize_t n_columns):
        """Find the columns of each token."""
        cdef Scanner s
        cdef Py_ssize_t start, slot, column, room = count_lines(self.data) + 2
        cdef int32_t[::1] slot_of, spans, ends, lines
        cdef int64_t[::1] sentences
        start = self._begin(&s, separator, n_columns)
        self.wanted = self._resolve(tuple(wanted), start) if start >= 0 else tuple(wanted)
        self.width = s.width = len(self.wanted)
        slot_of = np.full(self.n_columns + 1, -1, np.int32)
        if start >= 0:
            for slot, column in enumerate(self.wanted):
                slot_of[column] = slot
        array_spans = np.empty((room, self.width, 2), np.int32)
        array_ends, array_lines = np.empty(room, np.int32), np.empty(room, np.int32)
        array_sentences = np.zeros(room + 1, np.int64)
        spans, ends, lines, sentences = array_spans.reshape(-1), array_ends, array_lines, array_sentences
        s.slot_of, s.spans = &slot_of[0], &spans[0] if self.width else NULL
        s.ends, s.lines, s.sentences = &ends[0], &lines[0], &sentences[0]
        s.n_tokens = s.n_sentences = 0
        s.fault = NO_FAULT
        with nogil:
            scan(&s)
        if s.fault != NO_FAULT:
            self._explain(s.fault, s.fault_count, s.fault_line)
        self.n_tokens, self.n_sentences = s.n_tokens, s.n_sentences
        self.spans = array_spans[:self.n_tokens]
        self.ends, self.lines = array_ends[:self.n_tokens], array_lines[:self.n_tokens]
        self.sentence_ptr = array_sentences[:self.n_sentences + 1]

    cdef Py_ssize_t _begin(self, Scanner* s, separator, Py_ssize_t n_columns) except -2:
        """Return where the first token's line starts, or -1; it gives the separator and n_columns."""
        cdef Py_ssize_t start, end = 0
        format = self.format
        s.data = self.data
        s.size = len(self.data)
        s.begin = 3 if self.first_line == 1 and self.data.startswith(b"\xef\xbb\xbf") else 0
        s.comments, s.numbered = COMMENTS.index(format.comments), format.numbered
        s.documents, s.open_ended = format.documents, format.open_ended
        n_columns = format.n_columns or n_columns
        s.tabs = separator == "\t"
        s.n_columns = 0 if separator is None else n_columns
        start = first_token_line(s, &end)
        if start < 0 and s.comments == OTHER_COMMENTS and s.n_columns == 0:
            # Only lines that begin with "# ", so these are tokens.
            s.comments = NO_COMMENTS
            start = first_token_line(s, &end)
            s.comments = OTHER_COMMENTS
        if separator is None:
            separator = "\t" if format.tabs or b"\t" in self.data[max(start, 0):end] else " "
        s.tabs = separator == "\t"
        if not n_columns and start >= 0:
            n_columns = count_columns(s.data, start, end, s.tabs)
        self.separator = separator
        self.n_columns = s.n_columns = n_columns
        return start

    def _resolve(self, tuple wanted, Py_ssize_t start):
        """Return the wanted columns with none counted from the end."""
        n = self.n_columns
        resolved = tuple(column + n if column < 0 else column for column in wanted)
        missing = [column for column in wanted if not -n <= column < n]
        twice = [column for column in wanted if resolved.count(column) > 1]
        what = ""
        if missing:
            what = (
                f"{n} column{'s' * (n != 1)}, so there is no column {missing[0]} "
                "(the first is 0, the last -1); choose another column or separator"
            )
        elif twice:
            what = f"column {twice[0]} of {n} is used twice; choose different columns for inputs and labels"
        if what:
            self._refuse(what, self.data.count(b"\n", 0, start))
        return resolved

    def _explain(self, int fault, int found, Py_ssize_t line):
        if fault == WRONG_ID:
            what = f"the first column is not a {self.format.title} token number; try the format columns"
        else:
            what = self.format.wrong_count(found, self.n_columns, self.separator)
        self._refuse(what, line)

    cdef int _point(self) except -1:
        """Store the addresses that compiled code reads."""
        cdef const int32_t[::1] spans = self.spans.reshape(-1)
        cdef const int32_t[::1] ends = self.ends
        cdef const int64_t[::1] sentences = self.sentence_ptr
        self.text_at = self.data
        self.span_at = &spans[0] if spans.shape[0] else NULL
        self.end_at = &ends[0] if ends.shape[0] else NULL
        self.sentence_at = &sentences[0]
        cdef const uint64_t[:, ::1] keys
        if self.keys is not None and self.keys.size:
            keys = self.keys
            self.key_at = &keys[0, 0]
        return 0

    @staticmethod
    def from_sentences(sentences, *, str name="<memory>"):
        """Make columns from Python sentences, whose tokens are str or tuples of str."""
        cdef Columns self = Columns.__new__(Columns)
        lengths = [len(sentence) for sentence in sentences]
        tokens = [token for sentence in sentences for token in sentence]
        if tokens and not isinstance(tokens[0], str):
            self.width = len(tokens[0])
            if self.width == 0:
                raise DataError(f"token {tokens[0]!r} has no columns; a token needs at least one", name)
            for token in tokens:
                if len(token) != self.width or isinstance(token, str):
                    raise DataError(f"token {token!r} must have {self.width} columns, as the first one", name)
            tokens = [value for token in tokens for value in token]
        else:
            self.width = 1
        try:
            values = [token.encode() for token in tokens]
        except AttributeError:
            at = next(at for at, token in enumerate(tokens) if not hasattr(token, "encode"))
            ends = np.cumsum(lengths) * self.width
            number = int(np.searchsorted(ends, at, "right"))
            place = (at - (int(ends[number - 1]) if number else 0)) // self.width
            raise TypeError(
                f"a token must be a str or a tuple of str, got {tokens[at]!r:.200} "
                f"(sentence {number}, token {place})"
            ) from None
        sizes = np.fromiter(map(len, values), np.int64, len(values))
        if sizes.sum() >= 2**31 - 1:
            raise DataError("more than 2 GB of text at once; pass it in parts", name)
        self.data, self.name, self.format, self.separator = b"".join(values), name, MEMORY, "\t"
        self.wanted, self.n_columns = tuple(range(self.width)), self.width
        self.n_sentences, self.n_tokens = len(lengths), len(values) // self.width
        spans = np.stack([np.cumsum(sizes) - sizes, sizes], 1).astype(np.int32)
        self.spans = np.ascontiguousarray(spans.reshape(self.n_tokens, self.width, 2))
        self.ends = np.zeros(self.n_tokens, np.int32)
        self.lines = np.zeros(self.n_tokens, np.int32)
        self.sentence_ptr = np.concatenate([[0], np.cumsum(np.array(lengths, np.int64))])
        self._point()
        return self

    @staticmethod
    def from_keys(keys, sentence_ptr, strings, *, str name="<memory>"):
        """Make columns from the hashes of their values, uint64 [n_tokens, width].

        The hashes are those of `hash_string`. `strings` maps a hash to its text.
        """
        cdef Columns self = Columns.__new__(Columns)
        self.keys = np.ascontiguousarray(keys, np.uint64)
        self.sentence_ptr = ptr = np.ascontiguousarray(sentence_ptr, np.int64)
        inside = self.keys.ndim == 2 and len(ptr) and ptr[0] == 0 and ptr[len(ptr) - 1] == len(self.keys)
        if not inside or (ptr[1:] < ptr[:len(ptr) - 1]).any():
            raise ValueError(
                "keys must have two dimensions; sentence_ptr must increase from 0 to their number")
        if self.keys.shape[1] == 0:
            raise ValueError("keys have no columns; a token needs at least one")
        self.n_tokens, self.width = self.keys.shape
        self.n_sentences = len(ptr) - 1
        self.data, self.name, self.format, self.separator, self.strings = b"", name, MEMORY, "\t", strings
        self.wanted, self.n_columns = tuple(range(self.width)), self.width
        self.spans, self.ends = np.zeros((0, self.width, 2), np.int32), np.zeros(self.n_tokens, np.int32)
        self.lines = self.ends
        self._point()
        return self

    @staticmethod
    def from_spans(
        bytes data not None, spans, ends, lines, sentence_ptr, *, format, wanted=(0,), Py_ssize_t n_columns,
        str separator=" ", str name="", Py_ssize_t first_line=1,
    ):
        """Make columns from positions that a format found by itself.

        spans: int32 [n_tokens, n_columns, 2], start and length of each column. ends: int32 [n_tokens],
        where each line ends. lines: int32 [n_tokens], counted from 0. sentence_ptr: int64, the first token of
        each sentence and the number of tokens.
        """
        cdef Columns self = Columns.__new__(Columns)
        self.data, self.name, self.first_line = data, name, first_line
        self.format, self.separator = format, separator
        self._check_bytes()
        self.ends, self.lines = np.ascontiguousarray(ends, np.int32), np.ascontiguousarray(lines, np.int32)
        self.n_tokens, self.n_columns = len(self.ends), n_columns
        self.wanted = self._resolve(tuple(wanted), int(self.ends[0])) if self.n_tokens else tuple(wanted)
        self.width = len(self.wanted)
        spans = np.asarray(spans, np.int32).reshape(self.n_tokens, n_columns, 2)
        self.spans = np.ascontiguousarray(spans[:, list(self.wanted)])
        self.sentence_ptr = np.ascontiguousarray(sentence_ptr, np.int64)
        self.n_sentences = len(self.sentence_ptr) - 1
        self._check_positions()
        self._point()
        return self

    @staticmethod
    def joined(parts):
        """Join columns of the same width one after the other; `line` then counts the lines of all of them."""
        cdef Columns self = Columns.__new__(Columns)
        first, name = parts[0], ", ".join([part.name for part in parts])
        starts = np.cumsum([0] + [len(part.data) + 1 for part in parts])
        if starts[len(parts)] >= 2**31 - 1:
            raise DataError("more than 2 GB together; train with --memory", name)
        lines = np.cumsum([0] + [count_lines(part.data) + 1 for part in parts])
        tokens = np.cumsum([0] + [part.n_tokens for part in parts])
        self.data, self.name, self.first_line = b"\n".join([part.data for part in parts]), name, 1
        self.format, self.separator, self.wanted = first.format, first.separator, first.wanted
        self.width, self.n_columns, self.n_tokens = first.width, first.n_columns, tokens[len(parts)]
        self.spans = np.concatenate([
            part.spans + np.array([at, 0], np.int32) for part, at in zip(parts, starts.astype(np.int32))
        ])
        self.ends, self.lines = (
            np.concatenate([array + at for array, at in zip(arrays, places.astype(np.int32))])
            for arrays, places in (
                ([part.ends for part in parts], starts), ([part.lines for part in parts], lines)
            )
        )
        pointers = [part.sentence_ptr[1:] + at for part, at in zip(parts, tokens)]
        self.sentence_ptr = np.concatenate([np.zeros(1, np.int64), *pointers])
        self.n_sentences = len(self.sentence_ptr) - 1
        self._point()
        return self

    def _check_positions(self):
        """Raise ValueError for positions outside the data: compiled code trusts them."""
        starts, lengths = self.spans[..., 0].astype(np.int64), self.spans[..., 1].astype(np.int64)
        inside = np.all((starts >= 0) & (lengths >= 0) & (starts + lengths <= len(self.data)))
        ends_inside = np.all((self.ends >= 0) & (self.ends <= len(self.data)))
        if not inside or not ends_inside or len(self.lines) != self.n_tokens:
            raise ValueError("a span, an end or a line lies outside the data")
        ptr, last = self.sentence_ptr, len(self.sentence_ptr) - 1
        if ptr.ndim != 1 or last < 0 or ptr[0] or ptr[last] != self.n_tokens or np.any(np.diff(ptr) < 0):
            raise ValueError(f"sentence_ptr must rise from 0 to {self.n_tokens}, the number of tokens")

    def line(self, Py_ssize_t token):
        """Return the token's line in the file, counted from 1."""
        return self.first_line + int(self.lines[token])

    def text(self, Py_ssize_t token, Py_ssize_t column=0):
        """Return the token's text in one of the wanted columns (its index among them)."""
        if self.keys is not None:
            return self.strings(int(self.keys[token, column]))
        start, length = self.spans[token, column].tolist()
        return self.data[start:start + length].decode()

    def texts(self, Py_ssize_t column=0):
        """Return one wanted column as a flat list of str."""
        if self.keys is not None:
            return list(map(self.strings, self.keys[:, column].tolist()))
        data = self.data
        spans = self.spans[:, column].tolist()
        return [data[start:start + length].decode() for start, length in spans]

    def sentences(self, Py_ssize_t column=0):
        """Return one wanted column as a list of str per sentence."""
        return self._by_sentence(self.texts(column))

    def labels(self, Py_ssize_t column=0):
        """Return the labels in one wanted column as a list of str per sentence."""
        return self._by_sentence(self.format.labels(self.texts(column), self.wanted[column]))

    def _by_sentence(self, list flat):
        ptr = self.sentence_ptr.tolist()
        return [flat[start:stop] for start, stop in zip(ptr, ptr[1:])]

    def __len__(self):
        return self.n_tokens

    def __repr__(self):
        return f"<Columns {self.name or 'of bytes'}: {self.n_sentences} sentences, {self.n_tokens} tokens>"
