# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Extract the feature rows of whole files: hash columns, mix them by template, look each feature up once."""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from structsvm.signals cimport check_signals
from taggers.formats._columns cimport Columns
from taggers.features._gazetteer cimport Gazetteer, Matcher, put_matches
from taggers.features._hash cimport MARKER_SEED, PATTERN_SEED, mix, murmur
from taggers.features._lexicon cimport Lexicon
from taggers.features._table cimport KeyTable

import numpy as np

from taggers.features.attributes import DOCUMENT as DOCUMENT_ATTRIBUTES

cdef enum:
    BLOCK = 8           # tokens whose table slots are prefetched before the first is read
    SIGNALS = 1 << 16   # tokens between two checks for Ctrl-C

cdef enum Special:
    TEXT = -1           # the text of the column itself
    MATCH = -2          # from a gazetteer, once the whole sentence is known
    DOCUMENT = -3       # the first attribute of the document; the caller passes its values

# The cells of a template for compiled code. A token has one value for each (column, attribute) in use. The
# values of a sentence lie in one array, with markers before and after them, so that a cell always has the
# same distance from its token.
cdef struct Plan:
    Py_ssize_t n_patterns
    const uint64_t* pattern_ids
    const int32_t* cell_ptr             # [n_patterns + 1]
    const int32_t* cell_delta           # distance of a cell's value from its token's first value
    Py_ssize_t n_sources
    const int32_t* source_column        # the columns in use
    const int32_t* value_ptr            # [n_sources + 1]: their values among a token's values
    const int32_t* value_attribute      # of each value: which of the lexicon's, or one of the Special
    Py_ssize_t n_values
    Py_ssize_t pad                      # the farthest offset
    const uint64_t* before              # [pad]: the markers at distance 1, 2, ...
    const uint64_t* behind
    Py_ssize_t n_matchers
    Matcher* matchers                   # the gazetteers in use
    Py_ssize_t n_document               # number of values of a token that depend on the document


cdef void put_markers(const Plan* plan, uint64_t* values, Py_ssize_t n) noexcept nogil:
    """Put markers before and after a sentence of n tokens."""
    cdef Py_ssize_t d, v
    for d in range(plan.pad):
        for v in range(plan.n_values):
            values[(plan.pad - 1 - d) * plan.n_values + v] = plan.before[d]
            values[(plan.pad + n + d) * plan.n_values + v] = plan.behind[d]


cdef const uint64_t* attributes(
    Columns columns, Lexicon lexicon, uint64_t key, Py_ssize_t at
) except NULL nogil:
    """The attributes of a value; where values are hashes, the text is only fetched for new ones."""
    cdef const uint64_t* known
    if columns.key_at == NULL:
        return lexicon.entry(key, columns.text_at + columns.span_at[2 * at], columns.span_at[2 * at + 1])
    known = lexicon.known(key)
    return known if known != NULL else from_hash(columns, lexicon, key)


cdef const uint64_t* from_hash(Columns columns, Lexicon lexicon, uint64_t key) except NULL with gil:
    cdef bytes text = columns.strings(key).encode()
    return lexicon.entry(key, text, len(text))


cdef int put_values(
    const Plan* plan, Columns columns, Lexicon lexicon, const uint64_t* document, Py_ssize_t first,
    Py_ssize_t n, uint64_t* values,
) except -1 nogil:
    """Fill the values of a sentence's tokens: hashes of texts, attributes out of the lexicon, matches.

    document: for all tokens, the values that depend on the document.
    """
    cdef Py_ssize_t i, c, v, at
    cdef uint64_t key
    cdef const uint64_t* derived
    cdef uint64_t* out = values + plan.pad * plan.n_values
    for i in range(n):
        lexicon.token = i
        for c in range(plan.n_sources):
            at = (first + i) * columns.width + plan.source_column[c]
            key = columns.key(at)
            derived = NULL
            for v in range(plan.value_ptr[c], plan.value_ptr[c + 1]):
                if plan.value_attribute[v] == TEXT:
                    out[v] = key
                elif plan.value_attribute[v] <= DOCUMENT:
                    out[v] = document[(first + i) * plan.n_document + DOCUMENT - plan.value_attribute[v]]
                elif key == 0 or plan.value_attribute[v] == MATCH:
                    out[v] = 0
                else:
                    if derived == NULL:
                        derived = attributes(columns, lexicon, key, at)
                    out[v] = derived[plan.value_attribute[v]]
        out += plan.n_values
    for i in range(plan.n_matchers):
        put_matches(&plan.matchers[i], values + plan.pad * plan.n_values, plan.n_values, n)
    return 0


cdef inline void put_keys(const Plan* plan, const uint64_t* token, uint64_t* keys) noexcept nogil:
    """The key of each pattern at one token; 0 where a cell has no value."""
    cdef Py_ssize_t p, c
    cdef uint64_t key, value
    cdef bint missing
    for p in range(plan.n_patterns):
        key = plan.pattern_ids[p]
        missing = False
        for c in range(plan.cell_ptr[p], plan.cell_ptr[p + 1]):
            value = token[plan.cell_delta[c]]
            missing |= value == 0
            key = mix(key, value)
        keys[p] = 0 if missing else key


cdef const uint64_t* longs_of(const uint64_t[::1] array) noexcept:
    return &array[0]


cdef const int32_t* ints_of(const int32_t[::1] array) noexcept:
    return &array[0]


cdef class Extractor:
    """A compiled template: turns columns into keys and rows. Many threads may use it at the same time.

    Parameters
    ----------
    template : a `taggers.features.template.Template`.
    knowledge : a `taggers.features.knowledge.Knowledge`, where the template needs it.
    lexicon_limit : distinct words kept with their attributes, for each thread.
    """
    cdef readonly object template
    cdef readonly object knowledge
    cdef readonly tuple attributes
    cdef readonly tuple document    # the attributes that depend on the document
    cdef Plan plan
    cdef tuple arrays               # what the plan points into
    cdef Py_ssize_t width
    cdef Py_ssize_t lexicon_limit
    cdef list idle                  # lexicons that no thread uses

    def __init__(self, template, knowledge=None, *, Py_ssize_t lexicon_limit=1_000_000):
        self.template = template
        self.knowledge = knowledge
        self.width = template.width
        self.lexicon_limit = lexicon_limit
        self.idle = []
        self._arrange([pattern for pattern in template.patterns])

    def __dealloc__(self):
        free(self.plan.matchers)

    def _matched(self, names):
        """{gazetteer: (source of its words, [attribute of the position, of the length])} for attributes."""
        used = {}
        for attribute in sorted(names):
            found = None if self.knowledge is None else self.knowledge.gazetteer(attribute)
            if found is not None:
                gazetteer = self.knowledge.gazetteers[found[0]]
                source = "lower" if gazetteer.folded else ""
                used.setdefault(found[0], (source, [None, None]))[1][found[1]] = attribute
        return used

    def _arrange(self, list patterns):
        cells = [cell for pattern in patterns for cell in pattern.cells]
        matched = self._matched({cell.attribute for cell in cells})
        filled = {name for _, pair in matched.values() for name in pair if name}
        read = {(cell.column, cell.attribute) for cell in cells} | {(0, word) for word, _ in matched.values()}
        sources = sorted({column for column, _ in read})
        values = sorted(read)
        self.document = tuple(name for name in DOCUMENT_ATTRIBUTES if (0, name) in read)
        given = filled | set(self.document)
        self.attributes = tuple(sorted({name for _, name in values if name and name not in given}))
        self.plan.n_document = len(self.document)
        self.plan.pad = max((abs(cell.offset) for cell in cells), default=0)
        self.plan.n_patterns = len(patterns)
        self.plan.n_sources, self.plan.n_values = len(sources), len(values)
        index = {value: i for i, value in enumerate(values)}
        columns = [column for column, _ in values]
        ids = [_seeded(pattern.identity, PATTERN_SEED) for pattern in patterns]
        before = [_seeded(f"_B-{d + 1}", MARKER_SEED) for d in range(self.plan.pad)]
        behind = [_seeded(f"_B+{d + 1}", MARKER_SEED) for d in range(self.plan.pad)]
        cell_ptr = np.cumsum([0] + [len(pattern.cells) for pattern in patterns])
        deltas = [cell.offset * len(values) + index[cell.column, cell.attribute] for cell in cells]
        value_ptr = [columns.index(column) for column in sources] + [len(columns)]
        special = {name: DOCUMENT - k for k, name in enumerate(self.document)}
        special |= {"": TEXT} | dict.fromkeys(filled, MATCH)
        uses = [special[name] if name in special else self.attributes.index(name) for _, name in values]
        words = [np.array(array + [0], np.uint64) for array in (ids, before, behind)]
        lists = (cell_ptr, deltas, sources, value_ptr, uses)
        ints = [np.append(array, 0).astype(np.int32) for array in lists]
        self.arrays = (*words, *ints)
        self.plan.pattern_ids = longs_of(words[0])
        self.plan.before = longs_of(words[1])
        self.plan.behind = longs_of(words[2])
        self.plan.cell_ptr = ints_of(ints[0])
        self.plan.cell_delta = ints_of(ints[1])
        self.plan.source_column = ints_of(ints[2])
        self.plan.value_ptr = ints_of(ints[3])
        self.plan.value_attribute = ints_of(ints[4])
        self._place_matchers(matched, index)

    def _place_matchers(self, dict matched, dict index):
        cdef Gazetteer gazetteer
        cdef Matcher* matcher
        self.plan.matchers = <Matcher*>calloc(len(matched) + 1, sizeof(Matcher))
        if self.plan.matchers == NULL:
            raise MemoryError()
        self.plan.n_matchers = len(matched)
        for i, (name, (source, pair)) in enumerate(matched.items()):
            gazetteer = self.knowledge.gazetteers[name]
            matcher = &self.plan.matchers[i]
            gazetteer.place(matcher)
            matcher.source = index[0, source]
            matcher.position = index[0, pair[0]] if pair[0] else -1
            matcher.length = index[0, pair[1]] if pair[1] else -1
        self.arrays += tuple(self.knowledge.gazetteers[name] for name in matched)

    def forget_words(self):
        """Free the memory of the attributes of words; they are computed again when they are needed."""
        self.idle.clear()

    @property
    def n_patterns(self):
        """The most features that a token can have."""
        return self.plan.n_patterns

    def rows(
        self, Columns columns not None, KeyTable table not None, *, bint grow=False, bint fixed=False,
        const uint64_t[:, ::1] document=None, Py_ssize_t start=0, stop=None,
    ):
        """The feature rows of all tokens, or those of the sentences from `start` to `stop`, and where those
        of each token begin.

        Returns ``rows`` (int32) and ``token_ptr`` (int64, n_tokens + 1). Features that are not in the table
        are left out; with `grow` they become new rows; with `fixed` they are -1 and each token has
        n_patterns rows. document: the values of the attributes in `self.document`, for each token.
        """
        cdef Lexicon lexicon = self._start(columns)
        cdef Py_ssize_t n, given = 0 if document is None else document.shape[1]
        if given != self.plan.n_document or given and document.shape[0] != columns.n_tokens:
            raise ValueError(f"every token needs {self.plan.n_document} values of its document, got {given}")
        cdef const uint64_t* document_at = &document[0, 0] if given and columns.n_tokens else NULL
        cdef Py_ssize_t end = columns.n_sentences if stop is None else stop
        n = columns.sentence_at[end] - columns.sentence_at[start]
        rows, token_ptr = np.empty(n * self.plan.n_patterns + 1, np.int32), np.zeros(n + 1, np.int64)
        cdef int32_t[::1] row_view = rows
        cdef int64_t[::1] ptr_view = token_ptr
        cdef uint64_t* scratch = self._scratch(columns)
        cdef KeyTable opened = None
        try:
            opened = table.open(grow)
            with nogil:
                n = self._fill(
                    columns, opened, lexicon, document_at, scratch, grow, fixed, start, end, &row_view[0],
                    &ptr_view[0] - columns.sentence_at[start])
        finally:
            free(scratch)
            if opened is not None:
                opened.close(grow)
        del row_view
        rows.resize(n, refcheck=False)
        self.idle.append(lexicon)
        return rows, token_ptr

    def keys(self, Columns columns not None):
        """uint64 [n_tokens, n_patterns]: the feature keys of each token, 0 where a pattern has none.

        For templates without attributes that depend on the document.
        """
        if self.document:
            raise ValueError(f"{self.document[0]} depends on the document; use rows")
        cdef Lexicon lexicon = self._start(columns)
        cdef Py_ssize_t sentence, first, n, i
        result = np.zeros((columns.n_tokens, self.plan.n_patterns), np.uint64)
        cdef uint64_t[:, ::1] out = result
        cdef uint64_t* values = self._scratch(columns)
        cdef uint64_t* token
        try:
            with nogil:
                for sentence in range(columns.n_sentences):
                    first = columns.sentence_at[sentence]
                    n = columns.sentence_at[sentence + 1] - first
                    lexicon.begin(sentence)
                    put_markers(&self.plan, values, n)
                    put_values(&self.plan, columns, lexicon, NULL, first, n, values)
                    token = values + self.plan.pad * self.plan.n_values
                    for i in range(n if self.plan.n_patterns else 0):
                        put_keys(&self.plan, token + i * self.plan.n_values, &out[first + i, 0])
        finally:
            free(values)
        self.idle.append(lexicon)
        return result

    def _start(self, Columns columns):
        """A lexicon that no other thread uses."""
        if columns.n_tokens and columns.width < self.width:
            raise ValueError(f"the template needs {self.width} columns, but the input has {columns.width}")
        try:
            return self.idle.pop()
        except IndexError:
            return Lexicon(self.attributes, limit=self.lexicon_limit, knowledge=self.knowledge)

    cdef uint64_t* _scratch(self, Columns columns) except NULL:
        """Room for the values of the longest sentence, and for the keys of a block after them."""
        longest = int(np.diff(columns.sentence_ptr).max()) if columns.n_sentences else 0
        size = (longest + 2 * self.plan.pad) * self.plan.n_values + BLOCK * self.plan.n_patterns + 1
        cdef uint64_t* scratch = <uint64_t*>malloc(<size_t>size * sizeof(uint64_t))
        if scratch == NULL:
            raise MemoryError(f"not enough memory for a sentence of {longest} tokens")
        return scratch

    cdef Py_ssize_t _fill(
        self, Columns columns, KeyTable table, Lexicon lexicon, const uint64_t* document, uint64_t* values,
        bint grow, bint fixed, Py_ssize_t low, Py_ssize_t high, int32_t* rows, int64_t* token_ptr,
    ) except -1 nogil:
        cdef const Plan* plan = &self.plan
        cdef Py_ssize_t sentence, first, n, i, start, stop, j, used = 0, checked = 0, m = plan.n_patterns
        cdef uint64_t* keys
        cdef int32_t row
        for sentence in range(low, high):
            first = columns.sentence_at[sentence]
            n = columns.sentence_at[sentence + 1] - first
            lexicon.begin(sentence)
            put_markers(plan, values, n)
            put_values(plan, columns, lexicon, document, first, n, values)
            keys = values + (n + 2 * plan.pad) * plan.n_values
            stop = 0
            while stop < n:
                start = stop
                stop = min(start + BLOCK, n)
                if first + stop - checked > SIGNALS:
                    checked = first + stop
                    with gil:
                        check_signals()
                for i in range(start, stop):
                    put_keys(plan, values + (plan.pad + i) * plan.n_values, keys + (i - start) * m)
                    for j in range((i - start) * m, (i - start + 1) * m):
                        table.expect(keys[j])
                for i in range(start, stop):
                    for j in range((i - start) * m, (i - start + 1) * m):
                        row = table.add(keys[j]) if grow else table.find(keys[j])
                        rows[used] = row
                        used += fixed or row >= 0
                    token_ptr[first + i + 1] = used
        return used

    def __reduce__(self):
        return _restore, (self.template, self.knowledge, self.lexicon_limit)


def _restore(template, knowledge, lexicon_limit):
    return Extractor(template, knowledge, lexicon_limit=lexicon_limit)


def _seeded(str text, uint64_t seed):
    cdef bytes encoded = text.encode()
    return murmur(encoded, len(encoded), seed)


def remap(const int32_t[::1] rows, const int64_t[::1] token_ptr, const int32_t[::1] new_row):
    """The rows with their new numbers, without those that become -1, and their token_ptr."""
    cdef Py_ssize_t i, j, used = 0, n = token_ptr.shape[0] - 1
    kept, ptr = np.empty(rows.shape[0] + 1, np.int32), np.zeros(n + 1, np.int64)
    cdef int32_t[::1] out = kept
    cdef int64_t[::1] out_ptr = ptr
    with nogil:
        for i in range(n):
            for j in range(token_ptr[i], token_ptr[i + 1]):
                out[used] = new_row[rows[j]]
                used += out[used] >= 0
            out_ptr[i + 1] = used
    del out
    kept.resize(used, refcheck=False)
    return kept, ptr


def count_rows(int64_t[::1] counts, const int32_t[::1] rows):
    """Add one to the count of each row that occurs."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(rows.shape[0]):
            counts[rows[i]] += 1
