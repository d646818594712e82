# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Attributes of words, computed once for each distinct word: those of short words here, others in Python.

`taggers.features.attributes` defines the attributes; a test compares the compiled results with it.
"""
from libc.stdint cimport int32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp

from taggers.features._hash cimport hash_text
from taggers.features._table cimport KeyTable, find

from taggers.features.attributes import AFFIX, ATTRIBUTES, attribute
from taggers.features.attributes import GRAM as GRAM_NAME

cdef enum Kind:
    PYTHON
    LOWER
    SHAPE
    SHORT_SHAPE
    DIGITS
    HAS_DIGIT
    HAS_HYPHEN
    IS_UPPER
    IS_TITLE
    PREFIX
    SUFFIX
    LOWER_PREFIX
    LOWER_SUFFIX
    GRAM
    WORD_CLASS

cdef enum:
    SHORT = 100         # attributes.LONG: Python handles longer words

cdef dict KINDS = {
    "lower": LOWER, "shape": SHAPE, "short_shape": SHORT_SHAPE, "digits": DIGITS, "has_digit": HAS_DIGIT,
    "has_hyphen": HAS_HYPHEN, "is_upper": IS_UPPER, "is_title": IS_TITLE, "prefix": PREFIX, "suffix": SUFFIX,
    "lower_prefix": LOWER_PREFIX, "lower_suffix": LOWER_SUFFIX, "gram": GRAM,
}
cdef dict DEFINED = dict(ATTRIBUTES)
cdef uint64_t YES = hash_text(b"1", 1)


cdef inline bint is_up(char c) noexcept nogil:
    return b"A" <= c <= b"Z"


cdef inline bint is_low(char c) noexcept nogil:
    return b"a" <= c <= b"z"


cdef inline bint is_digit(char c) noexcept nogil:
    return b"0" <= c <= b"9"


cdef inline char kind_of(char c) noexcept nogil:
    return b"X" if is_up(c) else b"x" if is_low(c) else b"d" if is_digit(c) else c


cdef uint64_t shape(const char* text, Py_ssize_t n, Py_ssize_t longest) noexcept nogil:
    cdef char[SHORT] out
    cdef char c
    cdef Py_ssize_t i, m = 0, run = 0
    for i in range(n):
        c = kind_of(text[i])
        run = run + 1 if i > 0 and c == kind_of(text[i - 1]) else 1
        if run <= longest:
            out[m] = c
            m += 1
    return hash_text(out, m)


cdef uint64_t mapped(const char* text, Py_ssize_t n, int kind) noexcept nogil:
    cdef char[SHORT] out
    cdef Py_ssize_t i
    for i in range(n):
        if kind == DIGITS:
            out[i] = b"0" if is_digit(text[i]) else text[i]
        else:
            out[i] = text[i] + 32 if is_up(text[i]) else text[i]
    return hash_text(out, n)


cdef uint64_t contains(const char* text, Py_ssize_t n, int kind) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        if (is_digit(text[i]) if kind == HAS_DIGIT else text[i] == b"-"):
            return YES
    return 0


cdef uint64_t is_cased(const char* text, Py_ssize_t n, bint title) noexcept nogil:
    """str.isupper and str.istitle: in a title, capitals start the runs of letters and only they do."""
    cdef Py_ssize_t i
    cdef bint any_up = False, after_letter = False
    for i in range(n):
        if is_up(text[i]):
            if title and after_letter:
                return 0
            any_up = True
        elif is_low(text[i]) and not (title and after_letter):
            return 0
        after_letter = is_up(text[i]) or is_low(text[i])
    return YES if any_up else 0


cdef int32_t word_class(const Recipe* recipe, uint64_t key, uint64_t lower) noexcept nogil:
    """The class of a word with these hashes, as it is written or in lower case; -1 if it has none."""
    cdef int32_t row = find(recipe.slots, recipe.keys, recipe.mask, key)
    if row < 0 and lower != key:
        row = find(recipe.slots, recipe.keys, recipe.mask, lower)
    return recipe.classes[row] if row >= 0 else -1


cdef uint64_t gram(const Recipe* recipe, const char* text, Py_ssize_t n) noexcept nogil:
    """The hash of the n-gram at the place of the recipe, among the different ones of a text in UTF-8."""
    cdef Py_ssize_t size, before, start = 0, left = recipe.place
    while True:
        size = first_bytes(text + start, n - start, recipe.n)
        if size < 0:
            return 0
        before = 0
        while before < start and memcmp(text + before, text + start, size) != 0:
            before += 1
        left -= before == start
        if left == 0:
            return hash_text(text + start, size)
        start += first_bytes(text + start, n - start, 1)


cdef uint64_t ascii_attribute(const Recipe* recipe, const char* text, Py_ssize_t n) noexcept nogil:
    """The hash of one attribute, other than a word class, of a short ASCII word."""
    cdef char[SHORT] lower
    cdef Py_ssize_t i
    if recipe.kind == GRAM:
        for i in range(n):
            lower[i] = text[i] + 32 if is_up(text[i]) else text[i]
        return gram(recipe, lower, n)
    if recipe.n:
        if n < recipe.n:
            return 0
        if recipe.kind == SUFFIX or recipe.kind == LOWER_SUFFIX:
            text += n - recipe.n
        if recipe.kind == PREFIX or recipe.kind == SUFFIX:
            return hash_text(text, recipe.n)
        return mapped(text, recipe.n, LOWER)
    if recipe.kind == SHAPE or recipe.kind == SHORT_SHAPE:
        return shape(text, n, 4 if recipe.kind == SHAPE else 1)
    if recipe.kind == LOWER or recipe.kind == DIGITS:
        return mapped(text, n, recipe.kind)
    if recipe.kind == HAS_DIGIT or recipe.kind == HAS_HYPHEN:
        return contains(text, n, recipe.kind)
    return is_cased(text, n, recipe.kind == IS_TITLE)


cdef inline bint is_ascii(const char* text, Py_ssize_t n) noexcept nogil:
    cdef char seen = 0
    cdef Py_ssize_t i
    for i in range(n):
        seen |= text[i]
    return not seen & 0x80


cdef inline Py_ssize_t first_bytes(const char* text, Py_ssize_t n, Py_ssize_t chars) noexcept nogil:
    """How many bytes the first characters of a text in UTF-8 have; -1 if there are fewer characters."""
    cdef Py_ssize_t at = 0
    while chars > 0:
        if at == n:
            return -1
        at += 1
        while at < n and (text[at] & 0xC0) == 0x80:
            at += 1
        chars -= 1
    return at


cdef inline Py_ssize_t last_bytes(const char* text, Py_ssize_t n, Py_ssize_t chars) noexcept nogil:
    cdef Py_ssize_t at = n
    while chars > 0:
        if at == 0:
            return -1
        at -= 1
        while at > 0 and (text[at] & 0xC0) == 0x80:
            at -= 1
        chars -= 1
    return n - at


cdef uint64_t affix(const Recipe* recipe, const char* text, Py_ssize_t n) noexcept nogil:
    cdef bint first = recipe.kind == PREFIX or recipe.kind == LOWER_PREFIX
    cdef Py_ssize_t size = first_bytes(text, n, recipe.n) if first else last_bytes(text, n, recipe.n)
    return 0 if size < 0 else hash_text(text if first else text + n - size, size)


cdef uint64_t respelled(str word, const char* text, int kind) noexcept:
    """The hash of a short word with each character replaced by its kind, or each digit by 0."""
    cdef char[4 * SHORT] out
    cdef Py_ssize_t longest = 4 if kind == SHAPE else 1 if kind == SHORT_SHAPE else SHORT
    cdef Py_ssize_t m = 0, run = 0, size, i
    cdef Py_UCS4 char, new, last = 0
    for char in word:
        size = 1 if char < 0x80 else 2 if char < 0x800 else 3 if char < 0x10000 else 4
        new = char
        if kind != DIGITS and char.isalpha():
            new = u"X" if char.isupper() else u"x"
        elif char.isdigit():
            new = u"0" if kind == DIGITS else u"d"
        run = run + 1 if new == last else 1
        last = new
        if run <= longest and new != char:
            out[m] = <char>new
            m += 1
        elif run <= longest:
            for i in range(size):
                out[m] = text[i]
                m += 1
        text += size
    return hash_text(out, m)


cdef uint64_t word_attribute(
    const Recipe* recipe, str word, const char* text, Py_ssize_t n, const char* lower, Py_ssize_t n_lower
) noexcept:
    """The hash of one attribute of a short word, which is also given in UTF-8 and in lower case."""
    cdef Py_UCS4 char
    if recipe.kind == PREFIX or recipe.kind == SUFFIX:
        return affix(recipe, text, n)
    if recipe.kind == LOWER_PREFIX or recipe.kind == LOWER_SUFFIX:
        return affix(recipe, lower, n_lower)
    if recipe.kind == GRAM:
        return gram(recipe, lower, n_lower)
    if recipe.kind == LOWER:
        return hash_text(lower, n_lower)
    if recipe.kind == SHAPE or recipe.kind == SHORT_SHAPE or recipe.kind == DIGITS:
        return respelled(word, text, recipe.kind)
    if recipe.kind == IS_UPPER:
        return YES if word.isupper() else 0
    if recipe.kind == IS_TITLE:
        return YES if word.istitle() else 0
    for char in word:
        if (char.isdigit() if recipe.kind == HAS_DIGIT else char == u"-"):
            return YES
    return 0


cdef class Lexicon:
    """The attributes, as hashes, of the words seen so far. For one thread at a time.

    Parameters
    ----------
    names : the attributes, as `taggers.features.attributes` calls them.
    limit : forget all words when there are more than this; results do not depend on it.
    knowledge : a `taggers.features.knowledge.Knowledge`, for the attributes that are word classes.
    """

    def __init__(self, names, *, Py_ssize_t limit=1_000_000, knowledge=None):
        self.names = tuple(names)
        self.functions = [attribute(name, knowledge) for name in self.names]
        self.classes = []
        self.limit = limit
        self.width = len(self.names)
        self.words = KeyTable()
        self.recipes = <Recipe*>calloc(self.width + 1, sizeof(Recipe))
        if self.recipes == NULL:
            raise MemoryError()
        self.compiled, self.sentence = True, -1
        for i, name in enumerate(self.names):
            affix, piece = AFFIX.fullmatch(name), GRAM_NAME.fullmatch(name)
            self.recipes[i].n = int(affix[3] if affix else piece[1] if piece else 0)
            self.recipes[i].place = int(piece[2]) if piece else 0
            # A user's own definition is not compiled, whatever its name.
            ours = ATTRIBUTES.get(name) is DEFINED.get(name)
            plain = name[:len(name) - 1] if affix else "gram" if piece else name
            self.recipes[i].kind = KINDS.get(plain, PYTHON) if ours else PYTHON
            found = None if knowledge is None or not ours else knowledge.word_class(name)
            if found is not None and self.recipes[i].kind == PYTHON:
                self._classify(i, found[0], found[1])
            self.compiled &= self.recipes[i].kind != PYTHON

    cdef int _classify(self, Py_ssize_t at, word_classes, int bits) except -1:
        """Make a recipe look up word classes."""
        cdef Recipe* recipe = &self.recipes[at]
        cdef KeyTable table = word_classes.table
        table = table.open(grow=False)
        cdef const int32_t[::1] classes = word_classes.known[1]
        cdef const uint64_t[::1] values = word_classes.values(bits)
        self.classes += word_classes, table
        recipe.again = at > 0 and self.recipes[at - 1].slots == table.slots_at
        recipe.kind, recipe.slots, recipe.mask = WORD_CLASS, table.slots_at, table.mask
        recipe.keys = NULL if table.short else table.keys_at
        if classes.shape[0]:
            recipe.classes, recipe.values = &classes[0], &values[0]
        return 0

    def __dealloc__(self):
        free(self.recipes)
        free(self.values)

    cdef const uint64_t* entry(self, uint64_t key, const char* text, Py_ssize_t n) except NULL nogil:
        """The attributes of the word with this hash, until the next call."""
        cdef const uint64_t* known = self.known(key)
        cdef Py_ssize_t row, i
        cdef int32_t found = -1
        cdef void* grown
        cdef uint64_t* out
        if known != NULL:
            return known
        if self.words.n_rows >= self.room:
            self.room = 2 * self.room + 1024
            grown = realloc(self.values, self.room * self.width * sizeof(uint64_t))
            if grown == NULL:
                self.room = self.words.n_rows
                with gil:
                    raise MemoryError()
            self.values = <uint64_t*>grown
        row = self.words.n_rows
        if self.compiled and n < SHORT and is_ascii(text, n):
            out = self.values + row * self.width
            for i in range(self.width):
                if self.recipes[i].kind != WORD_CLASS:
                    out[i] = ascii_attribute(&self.recipes[i], text, n)
                    continue
                if not self.recipes[i].again:
                    found = word_class(&self.recipes[i], key, mapped(text, n, LOWER))
                out[i] = self.recipes[i].values[found] if found >= 0 else 0
        else:
            with gil:
                self._derive(self.values + row * self.width, text, n)
        self.words.add(key)
        return self.values + row * self.width

    cdef int _derive(self, uint64_t* values, const char* text, Py_ssize_t n) except -1:
        cdef Py_ssize_t i
        cdef bytes value
        cdef str word = text[:n].decode()
        cdef bytes lower = word.lower().encode()
        cdef const char* lower_text = lower
        cdef Py_ssize_t n_lower = len(lower)
        cdef bint short_word = len(word) < SHORT
        cdef int32_t found = -1
        for i in range(self.width):
            if self.recipes[i].kind == WORD_CLASS:
                if not self.recipes[i].again:
                    found = word_class(&self.recipes[i], hash_text(text, n), hash_text(lower_text, n_lower))
                values[i] = self.recipes[i].values[found] if found >= 0 else 0
            elif self.recipes[i].kind == PYTHON or not short_word:
                value = self._value(i, word)
                values[i] = hash_text(value, len(value))
            else:
                values[i] = word_attribute(&self.recipes[i], word, text, n, lower_text, n_lower)
        return 0

    cdef bytes _value(self, Py_ssize_t at, str word):
        """The value of an attribute that a Python function computes; b"" for none."""
        try:
            value = self.functions[at](word)
            if value is None or isinstance(value, str):
                return (value or "").encode()
            found = f"returned {value!r}, which is neither a string nor None"
        except MemoryError:
            raise
        except Exception as error:
            found = f"raised {type(error).__name__}: {error}"
        where = f" in sentence {self.sentence}, token {self.token}" if self.sentence >= 0 else ""
        raise ValueError(f"the attribute {self.names[at]!r} of {word!r}{where} {found}; correct its function")

    cdef int begin(self, Py_ssize_t sentence) except -1 nogil:
        """Begin a sentence: forget all words if there are too many of them."""
        self.sentence = sentence
        if self.words.n_rows > self.limit:
            with gil:
                self.words = KeyTable()
        return 0

    def __len__(self):
        return len(self.words)

    def hashes(self, str text not None):
        """The hashes of one text's attributes, in the order of the names."""
        cdef bytes encoded = text.encode()
        cdef const uint64_t* values = self.entry(hash_text(encoded, len(encoded)), encoded, len(encoded))
        return [values[i] for i in range(self.width)]


def hash_string(str text not None):
    """The 64-bit hash of a column value: that of spaCy, except for some predefined symbols of spaCy."""
    cdef bytes encoded = text.encode()
    return hash_text(encoded, len(encoded))
