"""Clusters of words: their table of neighbours against a naive twin, what is grouped, and what uses them."""

import pickle
import random
from collections import Counter
from functools import partial

import numpy as np
import pytest
import scipy.sparse.linalg
from hypothesis import given
from hypothesis import strategies as st

from structsvm.files.errors import DataError
from structsvm.files.persist import ModelFileError, load_model, save_model
from taggers import SequenceTagger
from taggers.commands import inspect
from taggers.features import word_classes as module
from taggers.features._lexicon import Lexicon
from taggers.features.knowledge import Knowledge
from taggers.features.template import parse_template
from taggers.features.word_classes import WordClasses, _neighbours, find_word_classes
from taggers.formats._columns import Columns
from tests.taggers.tagger_twins import text_hash

TEMPLATE = "w[0], cluster[-1..1], cluster[-1]|cluster[1], y[-1]|cluster[0]"


def nonsense(n, seed=0):
    """Sentences of made-up determiners, adjectives, nouns and verbs, 40 of each, and the kinds of words."""
    rng = random.Random(seed)
    words = {
        kind: [f"{kind}{a}{b}" for a in "aeiouäöü" for b in "klmno"] for kind in ("det", "adj", "n", "v")
    }
    kinds = [["det", "adj", "n", "v"] if rng.random() < 0.5 else ["det", "n", "v"] for _ in range(n)]
    cased = [[rng.choice(words[kind]) for kind in kinds_of_one] for kinds_of_one in kinds]
    return [[words_of_one[0].title(), *words_of_one[1:]] for words_of_one in cased], kinds


X, Y = nonsense(900)
COLUMNS = Columns.from_sentences(X)


@given(
    st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=6), min_size=1, max_size=6), st.integers(1, 7)
)
def test_the_table_of_neighbours_is_the_naive_one(sentences, n):
    frequent, counts = min(n, module.NEIGHBOURS), Counter()
    for words in sentences:
        padded = [-1, *words, -1]
        for left, word, right in zip(padded, words, padded[2:], strict=False):
            for side, other in enumerate((left, right)):
                place = frequent + 1 if other < 0 else min(other, frequent)
                counts[word, side * (frequent + 2) + place] += word < n
    expected = np.zeros((n, 2 * (frequent + 2)))
    for (word, place), count in counts.items():
        if count:
            expected[word, place] = count
    rows, columns = expected.sum(axis=1, keepdims=True), expected.sum(axis=0)
    expected = np.sqrt(expected / np.maximum(rows, 1)) / np.maximum(columns, 1) ** 0.25
    lengths = [len(words) for words in sentences]
    ids = np.array([word for words in sentences for word in words])
    found = _neighbours(ids, np.concatenate([[0], np.cumsum(lengths)]), n)
    np.testing.assert_allclose(found.toarray(), expected)


def test_words_between_the_same_neighbours_share_a_cluster():
    found = find_word_classes(COLUMNS)
    pairs = [pair for words, labels in zip(X, Y, strict=True) for pair in zip(words, labels, strict=True)]
    kinds = {word.lower(): kind for word, kind in pairs}
    members = {}
    for word, kind in kinds.items():
        assert found(word) == found(word.upper()) is not None
        members.setdefault(found(word), Counter())[kind] += 1
    assert 4 <= len(members) <= len(kinds) // module.WORDS_PER_CLASS
    pure = sum(counts.most_common(1)[0][1] for counts in members.values())
    assert pure > 0.85 * len(kinds)
    assert found("unseen") is None
    once = find_word_classes(Columns.from_sentences([*X, ["once"]]))
    assert once("once") is None


def test_the_same_text_gives_the_same_clusters_whatever_it_came_from():
    first, again = find_word_classes(COLUMNS), find_word_classes(Columns.from_sentences(X))
    strings = {text_hash(word): word for words in X for word in words}
    keys = np.array([[text_hash(word)] for words in X for word in words], np.uint64)
    hashed = find_word_classes(Columns.from_keys(keys, COLUMNS.sentence_ptr, strings.__getitem__))
    for other in (again, hashed, pickle.loads(pickle.dumps(first))):
        np.testing.assert_array_equal(first.keys, other.keys)
        np.testing.assert_array_equal(first.numbers, other.numbers)


def test_clusters_repeat_where_the_table_has_equal_directions():
    """Words that stand beside each other only: the Krylov space ends early, and goes on from new vectors."""
    pairs = [[f"{side}{k}" for side in "lr"] for k in range(60)] * 2
    columns = Columns.from_sentences(pairs)
    first = find_word_classes(columns)
    for _ in range(3):
        np.testing.assert_array_equal(find_word_classes(columns).numbers, first.numbers)


def test_a_decomposition_that_does_not_converge_is_told_and_done_without(monkeypatch):
    real = scipy.sparse.linalg.eigsh
    monkeypatch.setattr("scipy.sparse.linalg.eigsh", partial(real, maxiter=1, tol=1e-300))
    with pytest.warns(UserWarning, match="no word classes were found.*No convergence"):
        tagger = SequenceTagger(template=TEMPLATE).fit(X, Y)
    assert len(tagger.model_.knowledge.classes["cluster"].keys) == 0
    assert tagger.score(X, Y) > 0.95


@given(st.sampled_from(["ab", "éa", "x", "İs"]) | st.text(alphabet="aAbBéÉİsx", max_size=3))
def test_the_lexicon_agrees_with_the_clusters(word):
    words = ["ab", "éa", "x", "i̇s", "x" * 120]
    found = WordClasses(
        np.array(list(map(text_hash, words)), np.uint64), np.array([3, 1, 3, 199, 7], np.uint16)
    )
    for text in (word, "X" * 120):
        expected = [text_hash(found(text)), text_hash(text.lower())]
        assert Lexicon(["cluster", "lower"], knowledge=Knowledge({"cluster": found})).hashes(text) == expected
    assert Lexicon(["cluster"]).hashes(word) == [0]


def test_too_little_text_has_no_clusters_and_trains_all_the_same():
    tagger = SequenceTagger(template=TEMPLATE).fit(X[:1], Y[:1])
    assert len(tagger.model_.knowledge.classes["cluster"].keys) == 0
    assert tagger.predict(X[:1]) == Y[:1]
    online = SequenceTagger(template=TEMPLATE).declare(["n", "v"])
    assert online.partial_fit([["na", "va"]], [["n", "v"]]).predict([["na", "va"]]) == [["n", "v"]]


def test_declared_text_is_clustered_for_online_learning():
    online = SequenceTagger(template=TEMPLATE).declare(["det", "adj", "n", "v"], X=X)
    found = online.model_.knowledge.classes["cluster"]
    np.testing.assert_array_equal(found.keys, find_word_classes(COLUMNS).keys)
    online.partial_fit(X[:30], Y[:30])
    unseen, golden = nonsense(50, seed=1)
    assert online.score(unseen, golden) > 0.95


def test_a_saved_tagger_has_its_clusters(tmp_path):
    tagger = SequenceTagger(template=TEMPLATE, keep_names=True).fit(X[:200], Y[:200])
    names = tagger.model_.feature_names
    assert None not in names
    assert any(name.startswith("w.cluster[0]=") for name in names)
    tagger.save(tmp_path / "a")
    loaded = SequenceTagger.load(tmp_path / "a")
    loaded.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    for other in (loaded, pickle.loads(pickle.dumps(tagger))):
        assert other.predict(X) == tagger.predict(X)
    assert inspect(tmp_path / "a", top=3)["strongest"]
    told = [name for token in loaded.explain(X[0]) for name, _ in token["features"]]
    assert f"w.cluster[0]={loaded.model_.knowledge.classes['cluster'](X[0][1])}" in told


def test_two_passes_are_one_and_one_more(tmp_path):
    whole = SequenceTagger(template=TEMPLATE, epochs=2).fit(X[:200], Y[:200])
    SequenceTagger(template=TEMPLATE, epochs=1).fit(X[:200], Y[:200]).save(
        tmp_path / "m", training_state=True
    )
    resumed = SequenceTagger.load(tmp_path / "m", epochs=1).resume(X[:200], Y[:200])
    np.testing.assert_array_equal(whole.model_.weights[:], resumed.model_.weights[:])


def test_other_columns_have_no_clusters():
    with pytest.raises(DataError, match="only words, the first column, have classes"):
        parse_template("p.cluster[0]")
    assert parse_template("w[0]").needs_word_classes is False


@pytest.mark.parametrize("numbers", [np.zeros(3, np.uint16), np.zeros(2, np.float32)])
def test_forged_clusters_are_refused(tmp_path, numbers):
    SequenceTagger(template=TEMPLATE).fit(X[:50], Y[:50]).save(tmp_path / "m")
    arrays, meta = load_model(tmp_path / "m")
    arrays |= {"clusters.keys": np.arange(2, dtype=np.uint64), "clusters.numbers": numbers}
    save_model(tmp_path / "m", arrays, meta)
    with pytest.raises(ModelFileError, match="class"):
        SequenceTagger.load(tmp_path / "m")
