# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""One pass over the bytes of a column file, without Python objects and without copies."""
from libc.stdint cimport int32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memset


cdef inline bint is_space(char c) noexcept nogil:
    return c == b" " or c == b"\t"


cdef inline Py_ssize_t line_stop(const char* data, Py_ssize_t start, Py_ssize_t size) noexcept nogil:
    """Where the line's newline is, or the end of the data."""
    cdef const char* newline = <const char*>memchr(data + start, c"\n", size - start)
    return size if newline == NULL else newline - data


cdef inline Py_ssize_t line_end(const char* data, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    """Where the line's text ends, without a carriage return."""
    return stop - 1 if stop > start and data[stop - 1] == b"\r" else stop


cdef inline bint is_blank(const char* data, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    while start < end and is_space(data[start]):
        start += 1
    return start == end


cdef inline bint is_docstart(const char* data, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    return (
        end - start >= 10 and data[start] == b"-" and memcmp(data + start, b"-DOCSTART-", 10) == 0
        and (end - start == 10 or is_space(data[start + 10]))
    )


cdef inline void note(
    const Scanner* s, int32_t column, Py_ssize_t start, Py_ssize_t end, int32_t* spans,
) noexcept nogil:
    """Write the span of a column, if it is wanted."""
    if column < s.n_columns and s.slot_of[column] >= 0:
        spans[2 * s.slot_of[column]] = <int32_t>start
        spans[2 * s.slot_of[column] + 1] = <int32_t>(end - start)


cdef inline int32_t split_tabs(
    const Scanner* s, Py_ssize_t start, Py_ssize_t end, int32_t* spans,
) noexcept nogil:
    """Write the spans of the wanted columns, and return how many columns there are."""
    cdef int32_t column = 0
    cdef Py_ssize_t i = start
    while True:
        while i < end and s.data[i] != b"\t":
            i += 1
        note(s, column, start, i, spans)
        column += 1
        if i >= end or (s.open_ended and column == s.n_columns):
            return column
        i += 1
        start = i


cdef inline int32_t split_runs(
    const Scanner* s, Py_ssize_t start, Py_ssize_t end, int32_t* spans, int32_t* last,
) noexcept nogil:
    """The same for runs of spaces and tabs; `last` receives where the last column ends."""
    cdef int32_t column = 0
    cdef Py_ssize_t i = start
    while True:
        while i < end and is_space(s.data[i]):
            i += 1
        if i == end:
            return column
        start = i
        while i < end and not is_space(s.data[i]):
            i += 1
        note(s, column, start, i, spans)
        last[0] = <int32_t>i
        column += 1


cdef int32_t count_columns(const char* data, Py_ssize_t start, Py_ssize_t end, bint tabs) noexcept nogil:
    """Return how many columns a line has."""
    cdef Scanner s
    cdef int32_t[2] unused
    memset(&s, 0, sizeof(Scanner))
    s.data = data
    if tabs:
        return split_tabs(&s, start, end, unused)
    return split_runs(&s, start, end, unused, unused)


cdef bint has_key(const char* data, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Whether a line looks like `# key = value`."""
    cdef Py_ssize_t i = start + 2
    if end - start < 6 or data[start + 1] != b" ":
        return False
    while i < end and not is_space(data[i]):
        i += 1
    return i > start + 2 and i + 2 < end and memcmp(data + i, b" = ", 3) == 0


cdef bint is_comment(const Scanner* s, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Whether a line that begins with #, before the first token of a sentence, is a comment."""
    if s.comments != OTHER_COMMENTS:
        return s.comments == ALL_COMMENTS
    if end - start < 2 or not is_space(s.data[start + 1]):
        return False
    if s.n_columns == 0 or has_key(s.data, start, end):
        return True
    return count_columns(s.data, start, end, s.tabs) != s.n_columns


cdef inline bint is_token(const Scanner* s, Py_ssize_t start, Py_ssize_t end, bint inside) noexcept nogil:
    """Whether a line that is not blank is a token; `inside`: the sentence has begun."""
    if not inside and s.data[start] == b"#" and is_comment(s, start, end):
        return False
    return not (s.documents and is_docstart(s.data, start, end))


cdef inline int id_kind(const char* data, Py_ssize_t start, Py_ssize_t end) noexcept nogil:
    """Return 1 if a line's first column numbers a token, 0 for a range or an empty node, else -1."""
    cdef int kind = 1
    cdef Py_ssize_t i = start
    while i < end and data[i] != b"\t":
        if data[i] == b"-" or data[i] == b".":
            if kind == 0 or i == start:
                return -1
            kind = 0
        elif data[i] < b"0" or data[i] > b"9":
            return -1
        i += 1
    return -1 if i == start else kind


cdef Py_ssize_t first_token_line(const Scanner* s, Py_ssize_t* end) noexcept nogil:
    """Return where the first line with a token starts, or -1; `end` receives its end."""
    cdef Py_ssize_t start = s.begin, stop
    while start < s.size:
        stop = line_stop(s.data, start, s.size)
        end[0] = line_end(s.data, start, stop)
        if not is_blank(s.data, start, end[0]) and is_token(s, start, end[0], False):
            return start
        start = stop + 1
    return -1


cdef void scan(Scanner* s) noexcept nogil:
    """Fill the scanner's arrays, which have room for a token and a sentence per line."""
    cdef Py_ssize_t start = s.begin, stop, end, sentence = 0, token = 0
    cdef int32_t line = 0, got
    cdef int kind = 1
    while start < s.size:
        stop = line_stop(s.data, start, s.size)
        end = line_end(s.data, start, stop)
        if is_blank(s.data, start, end) or not is_token(s, start, end, token > s.sentences[sentence]):
            if token > s.sentences[sentence]:
                sentence += 1
                s.sentences[sentence] = token
        else:
            s.ends[token] = <int32_t>end
            s.lines[token] = line
            if s.numbered:
                kind = id_kind(s.data, start, end)
            if s.tabs:
                got = split_tabs(s, start, end, s.spans + 2 * s.width * token)
            else:
                got = split_runs(s, start, end, s.spans + 2 * s.width * token, s.ends + token)
            if got != s.n_columns or kind < 0:
                s.fault = WRONG_COUNT if got != s.n_columns else WRONG_ID
                s.fault_line = line
                s.fault_count = got
                return
            token += kind
        line += 1
        start = stop + 1
    if token > s.sentences[sentence]:
        sentence += 1
        s.sentences[sentence] = token
    s.n_tokens = token
    s.n_sentences = sentence


cdef Py_ssize_t utf8_error(const char* data, Py_ssize_t size) noexcept nogil:
    """Return the first byte of an invalid UTF-8 sequence, or -1; reads ASCII eight bytes at a time."""
    cdef const unsigned char* p = <const unsigned char*>data
    cdef Py_ssize_t i = 0, n, j
    cdef uint64_t word
    cdef unsigned char c, low, high
    while i < size:
        c = p[i]
        if c < 0x80:
            while i + 8 <= size:
                memcpy(&word, p + i, 8)
                if word & <uint64_t>0x8080808080808080:
                    break
                i += 8
            while i < size and p[i] < 0x80:
                i += 1
            continue
        # The second byte's range excludes overlong forms, surrogates and what lies beyond U+10FFFF.
        low = 0xA0 if c == 0xE0 else 0x90 if c == 0xF0 else 0x80
        high = 0x9F if c == 0xED else 0x8F if c == 0xF4 else 0xBF
        n = 2 if 0xC2 <= c <= 0xDF else 3 if 0xE0 <= c <= 0xEF else 4 if 0xF0 <= c <= 0xF4 else 0
        if n == 0 or i + n > size or p[i + 1] < low or p[i + 1] > high:
            return i
        for j in range(2, n):
            if p[i + j] & 0xC0 != 0x80:
                return i
        i += n
    return -1


def find_last_boundary(bytes text not None, Py_ssize_t floor=0) -> int:
    """Return where the last blank line ends, if at `floor` or later; otherwise 0."""
    cdef const char* data = text
    cdef Py_ssize_t i = len(text) - 1, j
    while i >= floor and i >= 0:
        if data[i] == b"\n":
            j = i - 1
            if j >= 0 and data[j] == b"\r":
                j -= 1
            while j >= 0 and is_space(data[j]):
                j -= 1
            if j < 0 or data[j] == b"\n":
                return i + 1
            i = j
        else:
            i -= 1
    return 0
