"""Features: the compiled keys against a naive twin, the table, cutoffs, names."""

import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taggers.features import extract
from taggers.features._lexicon import Lexicon, hash_string
from taggers.features.attributes import ATTRIBUTES, attribute
from taggers.features.extract import Extractor, KeyTable, add_dense, concatenate, cut, encode
from taggers.features.feature_names import name_rows
from taggers.features.template import load_template, parse_template
from taggers.formats._columns import Columns
from tests.taggers.tagger_twins import feature_key, murmur64a, text_hash

NAMES = (*ATTRIBUTES, "prefix1", "prefix2", "prefix4", "suffix1", "suffix3", "suffix9",
         "lower_prefix1", "lower_prefix3", "lower_suffix2", "lower_suffix3", "lower_suffix9",
         "gram2_1", "gram2_3", "gram3_2", "gram4_10")  # fmt: skip
RICH = "w[-2..2], w[-1]|w[0], p[0], p[-1]|p[1]|p[0], bias, " + ", ".join(f"{name}[0]" for name in NAMES)
CRFPP = "# comment\nU00:%x[-2,0]\nU01:%x[0,0]/%x[1,1]\nU:%x[-1,0]\nU:%x[1,0]\nB\n"

words = st.text(alphabet="aBzZ09-'.éÉßǅ漢٣ ", max_size=6) | st.text(max_size=4).filter(str.isprintable)
sentences = st.lists(st.lists(st.tuples(words, words), max_size=5), max_size=4)


@given(st.binary(max_size=40))
def test_twin_hash_is_the_compiled_one(data):
    text = data.decode("latin-1")
    assert hash_string(text) == text_hash(text)


def test_hash_is_the_one_spacy_uses():
    # What spaCy 3.8's StringStore gives.
    assert hash_string("house") == 9471806766518506264
    assert hash_string("the") == 7425985699627899538
    assert hash_string("") == 0


@given(words | st.text(alphabet="aB9-", min_size=95, max_size=105))
def test_lexicon_agrees_with_the_definitions(word):
    expected = [text_hash(attribute(name)(word)) for name in NAMES]
    assert Lexicon(NAMES).hashes(word) == expected


@pytest.mark.parametrize(
    ("name", "word", "value"),
    [
        ("shape", "McDonald-1999", "XxXxxxx-dddd"),
        ("shape", "aaaaaaa", "xxxx"),
        ("short_shape", "McDonald-1999", "XxXx-d"),
        ("digits", "v2.10", "v0.00"),
        ("suffix2", "é", None),
        ("gram4_2", "Anna", None),
        ("gram2_3", "Annan", "na"),
        ("gram2_4", "Annan", None),
        ("gram3_2", "ÉCOLE", "col"),
        ("prefix2", "école", "éc"),
        ("lower_suffix3", "RUNNING", "ing"),
        ("lower_prefix2", "École", "éc"),
        ("lower_prefix3", "İa", "i̇a"),
        ("lower_suffix2", "A", None),
        ("has_digit", "a1", "1"),
        ("has_digit", "a", None),
        ("is_upper", "U.S.", "1"),
        ("is_title", "Anna-Lena", "1"),
        ("is_title", "McDonald", None),
    ],
)
def test_attributes(name, word, value):
    assert attribute(name)(word) == value


def test_a_new_attribute_is_one_line(monkeypatch):
    monkeypatch.setitem(ATTRIBUTES, "vowels", lambda text: "".join(c for c in text if c in "aeiou"))
    monkeypatch.setitem(ATTRIBUTES, "lower", str.upper)
    assert Lexicon(["vowels", "lower"]).hashes("table") == [text_hash("ae"), text_hash("TABLE")]
    assert parse_template("vowels[0]").patterns[0].text == "w.vowels[0]"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (len, "the attribute 'size' of 'purr' in sentence 1, token 2 returned 4, which is neither a string"),
        (int, "the attribute 'size' of 'purr' in sentence 1, token 2 raised ValueError: invalid literal"),
    ],
)
def test_a_faulty_attribute_is_named_with_sentence_and_token(monkeypatch, function, message):
    monkeypatch.setitem(ATTRIBUTES, "size", lambda text: function(text) if text == "purr" else None)
    extractor = Extractor(parse_template("size[0]"))
    columns = Columns.from_sentences([["Dogs", "bark"], ["Our", "cats", "purr"]])
    for extracted in (extractor.keys, lambda columns: extractor.rows(columns, KeyTable(), grow=True)):
        with pytest.raises(ValueError, match=message):
            extracted(columns)
    with pytest.raises(ValueError, match="the attribute 'size' of 'purr' r"):
        Lexicon(["size"]).hashes("purr")


@given(sentences, st.sampled_from([RICH, CRFPP]))
def test_keys_agree_with_the_naive_twin(sentences, text):
    template = parse_template(text)
    columns = Columns.from_sentences([s for s in sentences if s])
    keys = Extractor(template).keys(columns)
    tokens = [(s, i) for s in sentences for i in range(len(s))]
    assert keys.tolist() == [[feature_key(p, s, i) for p in template.patterns] for s, i in tokens]


@given(sentences)
def test_rows_are_those_of_the_keys(sentences):
    columns = Columns.from_sentences(sentences)
    extractor = Extractor(parse_template(RICH))
    if columns.n_tokens == 0:
        return
    keys, table = extractor.keys(columns), KeyTable()
    grown = encode(columns, extractor, table, grow=True)
    order = list(dict.fromkeys(keys[keys != 0].tolist()))
    assert table.keys.tolist() == order
    expected = [[order.index(key) for key in token if key] for token in keys.tolist()]
    looked_up = encode(columns, extractor, KeyTable(table.keys))
    for found in (grown, looked_up):
        bounds = zip(found.token_ptr, found.token_ptr[1:], strict=False)
        assert [found.rows[a:b].tolist() for a, b in bounds] == expected
    fixed, _ = extractor.rows(columns, table, fixed=True)
    assert (fixed.reshape(keys.shape) >= 0).tolist() == (keys != 0).tolist()


def test_a_small_lexicon_forgets_and_changes_nothing():
    sentence = [(f"Word{i}é" if i % 2 else f"word-{i}", "X") for i in range(500)]
    columns = Columns.from_sentences([sentence[i : i + 7] for i in range(0, 500, 7)])
    template = parse_template(RICH)
    small = Extractor(template, lexicon_limit=3)
    for _ in range(2):
        np.testing.assert_array_equal(small.keys(columns), Extractor(template).keys(columns))


def test_threads_and_pickles_give_the_serial_rows():
    sentence = [(f"Wört{i % 97}", "X") for i in range(2000)]
    columns = Columns.from_sentences([sentence[i : i + 10] for i in range(0, 2000, 10)])
    extractor, table = Extractor(parse_template(RICH)), KeyTable()
    serial = encode(columns, extractor, table, grow=True)
    fresh = pickle.loads(pickle.dumps((extractor, table)))
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: encode(columns, *fresh), range(16)):
            np.testing.assert_array_equal(found.rows, serial.rows)


@pytest.mark.parametrize("grow", [True, False])
def test_threads_number_new_features_as_one_thread_does(grow, monkeypatch):
    monkeypatch.setattr(extract, "SMALLEST", 1)
    sentence = [(f"Wört{i % 97 * (i % 3)}", f"X{i // 700}") for i in range(2000)]
    columns = Columns.from_sentences([[], *(sentence[i : i + 10] for i in range(0, 2000, 10)), []])
    extractor = Extractor(parse_template(RICH))
    known = KeyTable(np.unique(extractor.keys(columns)[:300])[1:])
    results = []
    for jobs in (1, 2, 3, 300):
        table = pickle.loads(pickle.dumps(known))
        found = encode(columns, extractor, table, grow=grow, jobs=jobs)
        results.append((found.rows.tolist(), found.token_ptr.tolist(), table.keys.tolist()))
    assert all(result == results[0] for result in results)
    assert (len(results[0][2]) > len(known)) == grow


def test_too_few_columns_for_the_template():
    with pytest.raises(ValueError, match="needs 2 columns, but the input has 1"):
        Extractor(parse_template("p[0]")).keys(Columns.from_sentences([["a"]]))


@given(st.lists(st.integers(0, 2**64 - 1)), st.lists(st.integers(0, 2**64 - 1)))
def test_table_is_a_dict(keys, others):
    table, twin = KeyTable(), {}
    for key in keys:
        if key:
            twin.setdefault(key, len(twin))
    expected = [twin.get(key, -1) for key in keys]
    assert table.rows(np.array(keys, np.uint64), grow=True).tolist() == expected
    everything = np.array(keys + others, np.uint64)
    for again in (table, KeyTable(table.keys), pickle.loads(pickle.dumps(table))):
        assert again.rows(everything).tolist() == [twin.get(key, -1) for key in keys + others]
        assert len(again) == len(twin)


def test_table_over_read_only_arrays_copies_them_before_it_grows():
    keys = np.arange(1, 40, dtype=np.uint64)
    keys.flags.writeable = False
    mapped = KeyTable(keys)
    assert mapped.rows([5, 1000], grow=True).tolist() == [4, 39]
    assert mapped.keys.tolist() == [*range(1, 40), 1000]
    assert KeyTable(keys).rows([1000]).tolist() == [-1]


@given(st.lists(st.integers(1, 2**64 - 1), unique_by=lambda key: key >> 32), st.integers(0, 2**32 - 1))
def test_table_of_upper_halves_tells_keys_apart_by_these(keys, low):
    whole = KeyTable(np.array(keys, np.uint64))
    table = KeyTable(whole.halves)
    assert table.short
    assert not whole.short
    same_half = (np.array(keys, np.uint64) >> np.uint64(32) << np.uint64(32)) | np.uint64(low)
    expected = [row if key else -1 for row, key in enumerate(same_half.tolist())]
    again = pickle.loads(pickle.dumps(table))
    for one in (table, again):
        assert one.rows(same_half).tolist() == expected
    other = np.uint64((max([0, *keys]) >> 32) + 1 << 32) if max([0, *keys]) < 2**64 - 2**32 else np.uint64(0)
    assert again.rows([other], grow=True).tolist() == [len(keys) if other else -1]
    assert again.rows(same_half).tolist() == expected


def test_a_packed_table_has_the_same_rows_when_it_is_used_again():
    keys = np.random.default_rng(0).integers(1, 2**63, 500).astype(np.uint64)
    table = KeyTable()
    table.rows(keys, grow=True)
    table.pack()
    assert table.keys.tolist() == keys.tolist()
    assert table.rows(keys).tolist() == list(range(500))
    table.pack()
    assert table.rows([5, keys[3]], grow=True).tolist() == [500, 3]
    table.pack()
    table.truncate(400)
    assert table.rows(keys[398:402]).tolist() == [398, 399, -1, -1]
    table.pack()
    table.reserve(5000)
    assert table.rows(keys[:400]).tolist() == list(range(400))


def test_reserve_keeps_what_is_there():
    table = KeyTable([7, 9])
    table.reserve(5000)
    assert table.rows([9, 7, 8], grow=True).tolist() == [1, 0, 2]
    assert table.keys.tolist() == [7, 9, 8]


@pytest.mark.parametrize("keys", [np.zeros(10**5, np.uint32), np.arange(10**5, dtype=np.uint64)])
def test_keys_that_are_not_hashes_are_refused_before_they_take_forever(keys):
    with pytest.raises(ValueError, match="not hashes"):
        KeyTable(keys)


def test_cut_drops_rare_features_everywhere():
    extractor, table = Extractor(parse_template("w[0], w[1]")), KeyTable()
    texts = [["a", "b", "a"], ["c", "a"], ["b"]]
    parts = [encode(Columns.from_sentences(texts[:1]), extractor, table, grow=True)]
    parts.append(encode(Columns.from_sentences(texts[1:]), extractor, table, grow=True))
    counts = Counter(extractor.keys(Columns.from_sentences(texts)).ravel().tolist())
    kept, small = cut(parts, table, 2)
    assert set(small.keys.tolist()) == {key for key, count in counts.items() if count >= 2}
    again = encode(Columns.from_sentences(texts), extractor, small)
    whole = concatenate(kept)
    for field in ("rows", "token_ptr", "sentence_ptr"):
        np.testing.assert_array_equal(getattr(whole, field), getattr(again, field))
        assert getattr(whole, field).dtype == getattr(again, field).dtype


def test_dense_features_join_the_sparse_ones():
    columns, table = Columns.from_sentences([["a", "b"], ["a"]]), KeyTable()
    sparse = encode(columns, Extractor(parse_template("w[0]")), table, grow=True)
    features = add_dense(sparse, [[0.5, 0.0], [0.0, 0.0], [2.0, -1.0]], table, grow=True)
    assert features.rows.tolist() == [0, 2, 1, 0, 2, 3]
    assert features.values.tolist() == [1.0, 0.5, 1.0, 1.0, 2.0, -1.0]
    assert features.token_ptr.tolist() == [0, 2, 3, 6]
    with pytest.raises(ValueError, match="shape"):
        add_dense(sparse, np.zeros((2, 2)), table)
    with pytest.raises(ValueError, match="NaN"):
        add_dense(sparse, np.full((3, 1), np.nan), table)


def test_features_have_names():
    columns, table = Columns.from_sentences([[("Cats", "N"), ("purr", "V")]]), KeyTable()
    extractor = Extractor(parse_template("w[-1]|p[0], suffix3[0]\nU1:%x[0,0]/%x[1,1]"))
    table.rows([hash_string("extra")], grow=True)
    encode(columns, extractor, table, grow=True)
    assert name_rows(table, extractor, [columns], ["extra", "unknown"]) == [
        "extra",
        "w[-1]|p[0]=_B-1|N",
        "w.suffix3[0]=ats",
        "U1:Cats/V",
        "w[-1]|p[0]=Cats|V",
        "w.suffix3[0]=urr",
        "U1:purr/_B+1",
    ]


def test_no_word_equals_the_marker_beyond_a_sentence():
    keys = Extractor(parse_template("U:%x[0,0]\nU:%x[-1,0]")).keys(Columns.from_sentences([["_B-1"]]))
    assert keys[0, 0] != keys[0, 1]
    assert murmur64a(b"_B-1", 1) != murmur64a(b"_B-1", 3)


def test_the_classic_template_has_nineteen_patterns():
    assert len(load_template("conll2000").patterns) == 19
