"""Word classes from files: every format, prefixes of paths, model files, and bad input."""

import sys
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm.files.errors import DataError
from structsvm.files.persist import ModelFileError, load_model, save_model
from taggers import PosTagger, SequenceTagger
from taggers.features import word_classes
from taggers.features._lexicon import Lexicon
from taggers.features.class_files import read_classes
from taggers.features.extract import as_columns
from taggers.features.knowledge import Knowledge
from taggers.features.template import fitting_template
from tests.taggers.command_line import run
from tests.taggers.tagger_twins import text_hash

BROWN = "0010\tcat\t5\n0010\tdog\t9\n0110111\tParis\t2\n11\té\t7\n"
X = [["the", "cat", "sleeps"], ["a", "Paris", "dog"]] * 4
Y = [["D", "N", "V"], ["D", "E", "N"]] * 4


def test_brown_clusters_with_prefixes(tmp_path):
    (tmp_path / "paths").write_text(BROWN)
    classes = read_classes(tmp_path / "paths")
    assert classes.hierarchical
    assert [classes(word) for word in ("cat", "CAT", "Paris", "paris", "é")] == [
        "0010",
        "0010",
        "0110111",
        None,
        "11",
    ]
    assert classes("Paris", 4) == "0110"
    assert classes("é", 4) == "11"
    few = read_classes(tmp_path / "paths", most=2)
    assert [few(word) for word in ("cat", "dog", "Paris", "é")] == [None, "0010", None, "11"]


@given(st.sampled_from(["cat", "Paris", "é", "É"]) | st.text("caté É", max_size=4))
def test_the_lexicon_agrees_with_the_classes(word):
    knowledge = Knowledge(
        {"brown": read_classes({"cat": "0010", "Paris": "0110111", "é": "11", "x" * 120: "0"})}
    )
    names = ["brown", "brown2", "brown10", "lower"]
    for text in (word, "X" * 120):
        found = [knowledge.classes["brown"](text, bits) or "" for bits in (0, 2, 10)]
        assert Lexicon(names, knowledge=knowledge).hashes(text) == [
            *map(text_hash, found),
            text_hash(text.lower()),
        ]


def test_words_with_tags_are_ambiguity_classes(tmp_path):
    (tmp_path / "lexicon").write_text("walk\tNOUN\tVERB\nsaw\tVERB\nsaw\tNOUN\nNew York\tPROPN\n")
    classes = read_classes(tmp_path / "lexicon")
    assert classes("walk") == classes("saw") == "NOUN|VERB"
    assert classes("New York") == "PROPN"
    assert not classes.hierarchical
    (tmp_path / "columns").write_text("cat 7\ndog 7\n3 8\n")
    assert read_classes(tmp_path / "columns")("DOG") == "7"
    assert read_classes({"walk": ["VERB", "NOUN"], "cat": 7})("walk") == "NOUN|VERB"


def test_a_lexicon_with_many_tags_is_not_refused_as_text(tmp_path):
    lines = [f"word{k} lemma{k} tag{k}\n" for k in range(30)]
    (tmp_path / "lexicon").write_text("".join(lines))
    with pytest.warns(UserWarning, match="lexicon: looks like text, not word classes: 30 words have 60"):
        assert read_classes(tmp_path / "lexicon")("word7") == "lemma7|tag7"
    (tmp_path / "text").write_text("".join([*lines, "word7 other words\n"]))
    with pytest.raises(DataError, match="looks like text"):
        read_classes(tmp_path / "text")


@pytest.mark.parametrize("header", ["", "40 3\n"])
def test_vectors_are_clustered(tmp_path, header):
    rng = np.random.default_rng(0)
    centres = np.eye(3)[[0, 1, 2, 2]] + [[0, 0, 0], [0, 0, 0], [0.5, 0, 0], [-0.5, 0, 0]]
    kinds = [k % 4 for k in range(40)]
    vectors = centres[kinds] + rng.normal(scale=0.01, size=(40, 3))
    lines = [f"w{k} {' '.join(map(str, vector))}\n" for k, vector in enumerate(vectors.tolist())]
    (tmp_path / "vectors").write_text(header + "".join(lines))
    classes = read_classes(tmp_path / "vectors", n_classes=4)
    paths = [classes(f"w{k}") for k in range(40)]
    assert len(set(paths)) == 4
    assert [paths[k] == paths[j] for k in range(40) for j in range(40)] == [
        kinds[k] == kinds[j] for k in range(40) for j in range(40)
    ]
    shared = [a == b for a, b in zip(paths[2], paths[3], strict=False)]
    assert shared[0], "the two nearest centres are joined first"
    assert read_classes(tmp_path / "vectors", n_classes=4, most=9)("w9") is None


def test_tables_of_spacy_have_their_first_bits_last(tmp_path, monkeypatch):
    import gzip
    import json

    path = tmp_path / "xx.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"de": 2, ",": 0, "la": 13}).encode()))
    table = types.SimpleNamespace(xx={"lexeme_cluster": path.with_suffix("")}, fr={})
    monkeypatch.setitem(sys.modules, "spacy_lookups_data", table)
    classes = read_classes("spacy:xx")
    assert classes("de", 4) == "0100"
    assert classes("la", 4) == "1011"
    assert classes(",") is None
    for language in ("fr", "yy"):
        with pytest.raises(ValueError, match=f"no word classes for '{language}'"):
            read_classes(f"spacy:{language}")
    monkeypatch.setitem(sys.modules, "spacy_lookups_data", None)
    with pytest.raises(ValueError, match="pip install spacy-lookups-data"):
        read_classes("spacy:xx")


def test_named_templates_use_classes_and_models_keep_them(tmp_path):
    (tmp_path / "paths").write_text(BROWN)
    tagger = PosTagger(classes=[tmp_path / "paths"]).fit(X, Y)
    texts = {pattern.text for pattern in tagger.model_.space.template.patterns}
    assert {"w.brown4[0]", "w.brown20[-2]", "w.brown6[-1]|w.brown6[0]"} <= texts
    for saving in ({}, {"dtype": "int8"}):
        tagger.save(tmp_path / "m", **saving)
        (tmp_path / "paths").unlink(missing_ok=True)
        loaded = PosTagger.load(tmp_path / "m")
        assert loaded.predict(X) == tagger.predict(X)
        assert loaded.model_.space.knowledge.classes["brown"]("Paris") == "0110111"
    features = {name for token in loaded.explain(["the", "cat"]) for name, _ in token["features"]}
    assert "w.brown4[0]=0010" in features
    loaded.replace_knowledge(classes={"brown": {"owl": "0010"}})
    assert loaded.model_.space.knowledge.classes["brown"]("owl") == "0010"
    two = PosTagger(template="pos + tags[0]", classes={"tags": {"cat": ["N", "V"]}, "brown": {"a": "01"}})
    names = two.fit(X, Y).model_.space.knowledge.names
    assert names == ["tags", "brown"]
    flat = fitting_template("label", 1, Knowledge({"tags": read_classes({"cat": "x"})}))
    assert "w.tags[-1]|w.tags[0]" in {pattern.text for pattern in flat.patterns}


def test_another_process_needs_no_class_files(tmp_path):
    (tmp_path / "paths").write_text(BROWN)
    knowledge = {"classes": {"brown": tmp_path / "paths", "tags": {"sleeps": ["N", "V"]}}}
    tagger = PosTagger(**knowledge, gazetteers={"city": ["Paris", "New York"]}).fit(X, Y)
    tagger.save(tmp_path / "m")
    (tmp_path / "paths").unlink()
    sentences = [["the", "dog", "sleeps"], ["a", "New", "York", "cat"]]
    (tmp_path / "in").write_text("\n".join("".join(f"{word}\n" for word in words) for words in sentences))
    tagged = run("tag", "m", "in", cwd=tmp_path).stdout.decode()
    found = [[line.split()[1] for line in part.splitlines()] for part in tagged.strip().split("\n\n")]
    assert found == tagger.predict(sentences)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "c: the file of word classes is empty"),
        ("01\tcat\t5\n0 1\tdog\t3\n", "c:2: expected a path of 0 and 1, a word and a count"),
        ("cat\tN\n\ndog\n", "c:3: expected a word and its class"),
        ("cat 0.1 0.2 0.3\ndog 0.1 0.2\n", "c:2: 2 numbers, but the first vector has 3"),
        ("cat 0.1 0.2\ndog 0.1 0.2 0.3\n", "c:2: 3 numbers, but the first vector has 2"),
        ("cat 0.1 0.2 0.3\ndog 0.1 0.2 x\n", "c:2: expected a word and the numbers of its vector"),
        ("cat 0.1 0.2 0.3\ndog 0.1 0.2 nan\n", "c:2: the numbers of a vector must be finite"),
        ("cat\tN\nd\udcffog\tN\n", "c:2: not valid UTF-8"),
    ],
)
def test_bad_files_are_refused(tmp_path, monkeypatch, text, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError, match=words):
        SequenceTagger(classes="c").fit(X, Y)


def test_bad_options_are_refused(tmp_path):
    (tmp_path / "paths").write_text(BROWN)
    with pytest.raises(ValueError, match="two word classes are called brown"):
        PosTagger(classes=[tmp_path / "paths", str(tmp_path / "paths")]).fit(X, Y)
    with pytest.raises(ValueError, match="must be a file, spacy:LANGUAGE or a dict, got 3"):
        PosTagger(classes={"a": 3}).fit(X, Y)
    with pytest.raises(ValueError, match="are called 'a'; rename one"):
        PosTagger(classes={"a": {"cat": 1}}, gazetteers={"a": ["cat"]}).fit(X, Y)
    with pytest.warns(UserWarning, match="the word classes brown matches nothing"):
        PosTagger(classes={"brown": {"owl": "01"}}).fit(X, Y)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("classes.brown.keys", None),  # the classes are missing
        ("classes.brown.numbers", np.zeros(1, np.uint16)),
        ("classes.brown.numbers", np.full(4, 9, np.uint16)),
        ("classes.brown.keys", np.zeros(4, np.int64)),
        ("names", ["", "a", "b"]),
        ("names", [1, 2, 3]),
        ("names", "abc"),
        ("names", ["\udcff", "a", "b"]),
    ],
)
def test_forged_classes_are_refused(tmp_path, place, value):
    (tmp_path / "paths").write_text(BROWN)
    PosTagger(classes=tmp_path / "paths").fit(X, Y).save(tmp_path / "m")
    arrays, meta = load_model(tmp_path / "m")
    if place == "names":
        meta["knowledge"]["classes"]["brown"] = value
    elif value is None:
        del arrays[place]
    else:
        arrays[place] = value
    save_model(tmp_path / "m", arrays, meta)
    with pytest.raises(ModelFileError, match="does not contain a consistent tagger"):
        PosTagger.load(tmp_path / "m")


PIECES = ["0", "1", "\t", " ", "\n", "cat", "7", "0.5", "-", "é", "\ufeff"]


@given(
    st.binary(max_size=40) | st.lists(st.sampled_from(PIECES), max_size=25).map(lambda p: "".join(p).encode())
)
def test_any_bytes_are_read_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "classes"
    path.write_bytes(data)
    try:
        classes = read_classes(path, n_classes=2)
    except DataError as error:
        told = str(error)
    else:
        told = "read"
        assert len(classes.keys)
    assert "\n" not in told


def test_threads_do_not_get_the_classes_of_each_other(monkeypatch):
    """Another thread stores its classes between the comparison and the answer."""
    columns = as_columns([["a", "b"], ["b", "c"]] * 3)
    ours = word_classes.find_word_classes(columns)

    class Key(bytes):
        def __eq__(self, other):
            word_classes._last = other, "classes of another text"
            return bytes(self) == other

        __hash__ = bytes.__hash__

    monkeypatch.setattr(word_classes, "_last", (Key(word_classes._last[0]), ours))
    assert word_classes.find_word_classes(columns) is ours
