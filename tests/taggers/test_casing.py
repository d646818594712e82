"""How often words have capitals: the classes against a naive twin, and models that contain them."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm.files.errors import DataError
from taggers import NerTagger, SequenceTagger
from taggers.features.casing import find_casing
from taggers.features.knowledge import Knowledge
from taggers.features.template import parse_template
from taggers.formats._columns import Columns
from tests.taggers.tagger_twins import text_hash

WORDS = ["rome", "Rome", "ROME", "the", "The", "ést", "Ést", "a", "A", "7"]
sentences = st.lists(st.lists(st.sampled_from(WORDS), max_size=6), max_size=12)


def naive(sentences, word):
    """The class of a word: its other occurrences, and those of them that are in lower case."""
    lower, upper = Counter(), Counter()
    for tokens in sentences:
        for place, token in enumerate(tokens):
            if not token[:1].isupper():
                lower[token.lower()] += 1
            elif place:
                upper[token.lower()] += 1
    small, large = lower[word.lower()], upper[word.lower()]
    seen = {token for tokens in sentences for token in tokens}
    if (small and word[:1].isupper() and word in seen) or not small:
        large = max(large - 1, 0)
    else:
        small -= 1
    if not small + large:
        return None
    share = small / (small + large)
    step = "a" if not share else "b" if share < 0.25 else "c" if share < 0.75 else "d" if share < 1 else "e"
    return f"{sum(small + large >= limit for limit in (2, 5, 20))}{step}"


@given(sentences, st.sampled_from([2, 5, 20, 30]))
def test_classes_are_those_of_the_definition(few, times):
    many = few + [["the", "Rome", "rome"]] * (times * (len(few) % 2))
    found = find_casing(Columns.from_sentences(many))
    for word in [*WORDS, "RomE", "unseen"]:
        assert found(word) == naive(many, word)


def test_classes_do_not_depend_on_how_words_are_given():
    X = [["The", "Rome", "of", "the", "rome"], ["Rome", "Rome", "of"]]
    strings = {text_hash(word): word for words in X for word in words}
    keys = np.array([[text_hash(word)] for words in X for word in words], np.uint64)
    hashed = Columns.from_keys(keys, np.array([0, 5, 8]), strings.__getitem__)
    first, other = find_casing(Columns.from_sentences(X)), find_casing(hashed)
    assert len(first.keys)
    np.testing.assert_array_equal(first.keys, other.keys)
    np.testing.assert_array_equal(first.numbers, other.numbers)


def test_words_that_occur_once_look_like_new_words():
    found = find_casing(Columns.from_sentences([["we", "saw", "Rome", "twice"], ["saw", "we"]]))
    assert found("Rome") is found("rome") is found("Paris") is None
    assert found("saw") == found("Saw") == "0e"


def test_a_capital_at_the_beginning_says_nothing():
    found = find_casing(Columns.from_sentences([["Saw", "we"], ["Saw", "she"], ["they", "saw"]]))
    assert found("Saw") == "0e"


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_saved_model_has_the_classes(tmp_path, dtype):
    X = [["The", "man", "saw", "Rome", "again"], ["the", "Rome", "of", "man"], ["Man", "of", "Oslo"]]
    y = [["O", "O", "O", "B-LOC", "O"], ["O", "B-LOC", "O", "O"], ["O", "O", "B-LOC"]]
    tagger = NerTagger(template="ner + casing[0]").fit(X, y)
    tagger.save(tmp_path / "m", dtype=dtype)
    loaded = NerTagger.load(tmp_path / "m")
    classes = loaded.model_.space.knowledge.classes["casing"]
    assert list(map(classes, ("the", "The", "rome", "Rome", "Oslo"))) == [None, "0e", "0a", "0a", None]
    assert loaded.predict(X) == tagger.predict(X)


def test_no_text_gives_no_classes_and_learns_all_the_same():
    online = SequenceTagger(template="w[0], casing[0]").declare(["n", "v"])
    assert not len(online.model_.space.knowledge.classes["casing"].keys)
    assert online.partial_fit([["na", "va"]], [["n", "v"]]).predict([["na", "va"]]) == [["n", "v"]]


def test_n_grams_share_their_features_wherever_they_are():
    tagger = SequenceTagger(template="gram3[0]", keep_names=True).fit(
        [["xanna", "ob"], ["annaxy"]], [["n", "o"], ["n"]]
    )
    names = [name for name in tagger.model_.space.names if name]
    assert sorted(names) == [f"w.gram3[0]={gram}" for gram in ("ann", "axy", "nax", "nna", "xan")]
    told = tagger.explain(["yanna"])
    assert {name for name, _ in told[0]["features"]} >= {"w.gram3[0]=ann", "w.gram3[0]=nna"}


def test_only_words_have_classes_and_every_column_n_grams():
    assert parse_template("casing[-1..1], w[0]").learned_classes == {"casing"}
    with pytest.raises(DataError, match="only words"):
        parse_template("p.casing[0]")
    tagger = SequenceTagger(template="w[0], p.gram2[0]").fit([[("a", "xyz")]], [["n"]])
    assert len(tagger.model_.space) == 3
    with pytest.raises(ValueError, match="name of a column or attribute"):
        Knowledge(gazetteers={"gram": None})
