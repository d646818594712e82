"""Words as the parser reads them, and constants copied from them, against naive twins."""

import itertools
import random
import re
import tracemalloc
from collections import Counter

from semparse import Ospas, Schema
from semparse.entities.names import Words
from semparse.entities.numbers import number
from semparse.entities.spelling import one_edit

TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]


def in_words(n):
    if n < 20:
        return SMALL[n]
    if n < 100:
        return TENS[n // 10 - 2] + (f" {SMALL[n % 10]}" if n % 10 else "")
    return f"{SMALL[n // 100]} hundred" + (f" {in_words(n % 100)}" if n % 100 else "")


def test_numbers_are_read_from_words_and_digits():
    for n in range(1000):
        words = in_words(n).split()
        assert number([*words, "degrees"], 0) == (len(words), str(n))
        assert number([str(n), "percent"], 0) == (1, str(n))
    assert number(["twenty-seven"], 0) == (1, "27")
    assert number(["degrees"], 0) == (1, None)


def test_one_edit_is_a_letter_more_less_or_changed_or_two_exchanged():
    def near(word):
        cuts = [(word[:i], word[i:]) for i in range(len(word) + 1)]
        found = {a + b[1:] for a, b in cuts if b} | {a + c + b for a, b in cuts for c in "abc"}
        found |= {a + c + b[1:] for a, b in cuts if b for c in "abc"}
        return found | {a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1} | {word}

    words = ["".join(letters) for n in (2, 3) for letters in itertools.product("abc", repeat=n)]
    for word, other in itertools.product(words, words):
        assert one_edit(word, other) == (other in near(word)), (word, other)


def test_a_rare_word_is_read_as_the_frequent_one_that_it_misspells():
    words = Words(Counter({"kitchen": 9, "kitchne": 1, "chicken": 9}), Schema({}, {}))
    assert [word.form for word in words.read(["kitchne", "kitche", "chicken", "attic"])] == [
        "kitchen", "kitchen", "chicken", "attic"
    ]  # fmt: skip


def test_the_memory_of_a_word_does_not_grow_with_the_square_of_its_length():
    words = Words(Counter({"kitchen": 9}), Schema({}, {}))
    tracemalloc.start()
    try:
        words.read(["ab" * 5000])
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_copied_constants_are_those_of_a_naive_matcher():
    """All spans whose text matches the pattern of an open type, unless new words run on, and no others."""
    schema = {
        "relations": {"call": {"slots": ["person"]}, "page": {"slots": ["code"]}},
        "types": {"person": ["anna", "bob"], "code": ["a1"]},
        "open": {"person": True, "code": "[a-z][0-9]+"},
    }
    data = [(f"call {name} now", [f"call({name})"]) for name in ("anna", "bob")] * 3
    data += [(f"page {code}", [f"page({code})"]) for code in ("a1", "b2", "c3")]
    parser = Ospas(schema=schema).fit(*zip(*data, strict=True))
    rng = random.Random(0)
    for _ in range(30):
        x = [rng.choice(["call", "x7", "zed", "page", "now", "q12"]) for _ in range(rng.randint(1, 6))]
        view = parser.model_.viewer.view(x, grow=False)
        found = {(m.start, m.end, m.label[1], m.value) for m in view.mentions if not isinstance(m.label, str)}
        cut = {i for i in range(1, len(x)) if {x[i - 1], x[i]}.isdisjoint({"call", "page", "now"})}
        wanted = {
            (i, j, "person", " ".join(x[i:j]))
            for i in range(len(x))
            for j in range(i + 1, len(x) + 1)
            if cut.isdisjoint({i, j})
        } | {(i, i + 1, "code", word) for i, word in enumerate(x) if re.fullmatch("[a-z][0-9]+", word)}
        assert found == wanted
    assert [str(parse) for parse in parser.parse("call zed now")] == ["call(zed)"]
    assert [str(parse) for parse in parser.parse("page x77")] == ["page(x77)"]
