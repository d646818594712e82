"""Clusters of words: their table of neighbours against a naive twin, what is grouped, and what uses them."""

import gzip
import itertools
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
from taggers import SequenceTagger, commands
from taggers.commands import inspect
from taggers.features import word_classes as module
from taggers.features._lexicon import Lexicon
from taggers.features.class_files import read_classes, text_classes
from taggers.features.knowledge import Knowledge
from taggers.features.template import parse_template
from taggers.features.word_classes import WordClasses, _neighbours, _weighted, find_word_classes
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
    with module.Text() as text:
        for words in sentences:
            text.add(Columns.from_sentences([[f"w{word}" for word in words]]))
        rank = np.full(len(text.counts) + 1, n)
        for word, k in text.ids.items():
            rank[k] = min(int(word[1:]), n)
        for size in (1, 3, module.PART):
            found = _weighted(_neighbours(text.parts(size), rank, n))
            np.testing.assert_allclose(found.toarray(), expected)


def naive_table(words, sentences):
    """The weighted neighbours of each word, left and right; all words are frequent."""
    place = {word: k for k, word in enumerate([*words, "rare", "edge"])}
    table = np.zeros((len(words), 2 * len(place)))
    for one in sentences:
        padded = ["edge", *one, "edge"]
        for left, word, right in zip(padded, one, padded[2:], strict=False):
            table[place[word], place[left]] += 1
            table[place[word], len(place) + place[right]] += 1
    rows, columns = table.sum(axis=1, keepdims=True), table.sum(axis=0)
    return np.sqrt(table / rows) / np.maximum(columns, 1) ** 0.25


def naive_groups(vectors, weights, k):
    """Spherical k-means, one vector after the other."""
    centres = [vector for vector in vectors[:k]]
    for last in [False] * module.ROUNDS + [True]:
        nearest = [max(range(k), key=lambda c: vector @ centres[c]) for vector in vectors]
        for c in range(0 if last else k):
            total = sum((w * v for w, v, n in zip(weights, vectors, nearest, strict=True) if n == c), 0.0)
            length = np.linalg.norm(total)
            centres[c] = total / length if length > 0 else centres[c]
    return nearest


def naive_tree(centres):
    """The groups of classes that Ward's method joins: always the pair that adds least to the variance."""
    groups, found = [frozenset([c]) for c in range(len(centres))], set()

    def cost(pair):
        a, b = (centres[sorted(group)] for group in pair)
        return len(a) * len(b) / (len(a) + len(b)) * np.sum((a.mean(axis=0) - b.mean(axis=0)) ** 2)

    while len(groups) > 1:
        pair = min(itertools.combinations(groups, 2), key=cost)
        groups = [group for group in groups if group not in pair] + [pair[0] | pair[1]]
        found.add(groups[-1])
    return found


@pytest.mark.parametrize("seed", range(3))
def test_the_classes_of_a_toy_text_are_those_of_a_direct_computation(seed):
    sentences = [[word.lower() for word in words] for words in nonsense(120, seed)[0]]
    counts = Counter(word for words in sentences for word in words)
    sentences = [[word for word in words if counts[word] > 1] for words in sentences]
    with module.Text() as text:
        text.add(Columns.from_sentences([words for words in sentences if words]))
        words, _ = text.frequent(module.MOST_CLASSIFIED)
        found, listed = module.learn_classes(text, 7, named=True)
        weights = [np.sqrt(text.counts[text.ids[word]]) for word in words]
    table = naive_table(words, [words for words in sentences if words])
    left, scale, _ = np.linalg.svd(table, full_matrices=False)
    vectors = (left * scale)[:, : min(module.DIMENSIONS, min(table.shape) - 1)]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = naive_groups(vectors, weights, 7)
    assert listed == words
    assert found.numbers.tolist() == expected
    sums = np.array([vectors[np.array(expected) == c].sum(axis=0) for c in range(7)])
    centres = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    prefixes = {path[:n] for path in found.names for n in range(len(path))}
    joined = {frozenset(c for c, path in enumerate(found.names) if path.startswith(p)) for p in prefixes}
    assert joined == naive_tree(centres)


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


def test_a_decomposition_that_does_not_converge_is_reported_and_done_without(monkeypatch):
    real = scipy.sparse.linalg.eigsh
    monkeypatch.setattr("scipy.sparse.linalg.eigsh", partial(real, maxiter=1, tol=1e-300))
    with pytest.warns(UserWarning, match="no word classes were found.*No convergence"):
        tagger = SequenceTagger(template=TEMPLATE).fit(X, Y)
    assert len(tagger.model_.space.knowledge.classes["cluster"].keys) == 0
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
    assert len(tagger.model_.space.knowledge.classes["cluster"].keys) == 0
    assert tagger.predict(X[:1]) == Y[:1]
    online = SequenceTagger(template=TEMPLATE).declare(["n", "v"])
    assert online.partial_fit([["na", "va"]], [["n", "v"]]).predict([["na", "va"]]) == [["n", "v"]]


def test_declared_text_is_clustered_for_online_learning():
    online = SequenceTagger(template=TEMPLATE).declare(["det", "adj", "n", "v"], X=X)
    found = online.model_.space.knowledge.classes["cluster"]
    np.testing.assert_array_equal(found.keys, find_word_classes(COLUMNS).keys)
    online.partial_fit(X[:30], Y[:30])
    unseen, golden = nonsense(50, seed=1)
    assert online.score(unseen, golden) > 0.95


def test_a_saved_tagger_has_its_clusters(tmp_path):
    tagger = SequenceTagger(template=TEMPLATE, keep_names=True).fit(X[:200], Y[:200])
    names = tagger.model_.space.names
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
    assert f"w.cluster[0]={loaded.model_.space.knowledge.classes['cluster'](X[0][1])}" in told


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
    assert parse_template("w[0]").learned_classes == set()


@pytest.mark.parametrize("numbers", [np.zeros(3, np.uint16), np.zeros(2, np.float32)])
def test_forged_clusters_are_refused(tmp_path, numbers):
    SequenceTagger(template=TEMPLATE).fit(X[:50], Y[:50]).save(tmp_path / "m")
    arrays, meta = load_model(tmp_path / "m")
    arrays |= {"clusters.keys": np.arange(2, dtype=np.uint64), "clusters.numbers": numbers}
    save_model(tmp_path / "m", arrays, meta)
    with pytest.raises(ModelFileError, match=r"clusters\.numbers must be"):
        SequenceTagger.load(tmp_path / "m")


def test_classes_of_raw_text_are_paths_and_files_of_them_are_brown_clusters(tmp_path):
    lines = "\n".join(" ".join(words) for words in X)
    (tmp_path / "raw.gz").write_bytes(gzip.compress(lines.encode()))
    found = commands.classes([tmp_path / "raw.gz"], tmp_path / "c.tsv", n_classes=8)
    assert found["tokens"] == COLUMNS.n_tokens
    read = read_classes(tmp_path / "c.tsv")
    learned, words = text_classes(tmp_path / "raw.gz", 8)
    assert read.hierarchical
    assert found["words"] == len(words) == len(read.keys)
    assert found["classes"] <= 8
    for word, count in words:
        assert read(word) == learned(word)
        assert count == sum(token.lower() == word for tokens in X for token in tokens)
    kinds = {}
    for tokens, labels in zip(X, Y, strict=True):
        for token, kind in zip(tokens, labels, strict=True):
            kinds.setdefault(learned(token), Counter())[kind] += 1
    assert sum(max(counts.values()) for counts in kinds.values()) > 0.9 * COLUMNS.n_tokens
    (tmp_path / "few").write_text("too few words\n")
    with pytest.raises(DataError, match="few: too little text"):
        commands.classes([tmp_path / "few"], tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_training_learns_classes_from_more_text(tmp_path):
    """A word that is only in the raw text is known by its neighbours there."""
    raw = [" ".join(words) for words in X if words[-1] != "n"]
    (tmp_path / "raw").write_text("\n".join(raw))
    seen = {word.lower() for words in X[:30] for word in words}
    tagger = SequenceTagger(template="label", text=tmp_path / "raw", n_classes=8).fit(X[:30], Y[:30])
    assert "w.text4[0]" in {pattern.text for pattern in tagger.model_.space.template.patterns}
    classes = tagger.model_.space.knowledge.classes["text"]
    unseen = next(word for words in X for word in words if word.lower() not in seen)
    assert classes(unseen) is not None
    again = SequenceTagger(template="label", text=[str(tmp_path / "raw")], n_classes=8).fit(X[:30], Y[:30])
    assert again.predict(X) == tagger.predict(X)
    plain = SequenceTagger(template="label").fit(X[:30], Y[:30])
    assert tagger.score(X, Y) >= plain.score(X, Y)
    tagger.save(tmp_path / "m")
    assert SequenceTagger.load(tmp_path / "m").predict(X) == tagger.predict(X)
    with pytest.raises(ValueError, match="the classes of --text are called text"):
        SequenceTagger(text=tmp_path / "raw", classes={"text": {"a": "b"}}).fit(X, Y)


def test_a_long_text_forgets_rare_words(monkeypatch):
    monkeypatch.setattr(module, "MOST_WORDS", 50)
    monkeypatch.setattr(module, "IN_MEMORY", 100)
    with module.Text() as text:
        for k in range(40):
            text.add(Columns.from_sentences([["the", f"once{k}", f"twice{k // 2}", "often"]] * 1 + [["the"]]))
        words, _ = text.frequent(1000)
        assert len(text.ids) <= 54
    assert words[:2] == ["the", "often"]
