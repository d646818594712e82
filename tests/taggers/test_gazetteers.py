"""Gazetteers: matches against a naive matcher, features, model files, replacement, and bad input."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm.files.errors import DataError
from structsvm.files.persist import ModelFileError, load_model, save_model
from taggers import NerTagger, SequenceTagger, commands
from taggers.features._gazetteer import Gazetteer
from taggers.features.extract import Extractor, KeyTable, encode
from taggers.features.feature_names import name_rows
from taggers.features.knowledge import Knowledge, read_gazetteer
from taggers.features.template import fitting_template, parse_template
from taggers.formats._columns import Columns
from tests.taggers.command_line import refused, run

CITIES = ["New York", "York", "Rome", "San Juan de la Cruz", "San Juan"]
X = [["Ada", "likes", city, "."] for city in ("Rome", "York", "Oslo", "Paris")] * 3
X += [["He", "left", "New", "York", "for", "San", "Juan"]] * 3
Y = [["B-PER", "O", "B-LOC" if tokens[2] in ("Rome", "York") else "B-ORG", "O"] for tokens in X[:12]]
Y += [["O", "O", "B-LOC", "I-LOC", "O", "B-LOC", "I-LOC"]] * 3
WORDS = st.lists(st.sampled_from("aAbBcé"), max_size=9)


def naive(entries, words, folded):
    """The longest entry at each word, from left to right."""
    fold = str.lower if folded else str
    known = {tuple(map(fold, entry)) for entry in entries}
    found, at = [None] * len(words), 0
    while at < len(words):
        sizes = [n for n in range(1, len(words) - at + 1) if tuple(map(fold, words[at : at + n])) in known]
        n = max(sizes, default=0)
        for k in range(n):
            found[at + k] = ("S" if n == 1 else "B" if k == 0 else "E" if k == n - 1 else "I", str(min(n, 9)))
        at += max(n, 1)
    return found


@given(
    st.lists(st.lists(st.sampled_from("aAbBcé"), min_size=1, max_size=4), min_size=1, max_size=6),
    st.lists(WORDS, min_size=1, max_size=3),
    st.booleans(),
)
def test_matches_are_those_of_a_naive_matcher(entries, sentences, folded):
    gazetteer = read_gazetteer([" ".join(entry) for entry in entries], folded=folded)
    assert len(gazetteer) == len({tuple(map(str.lower, e)) if folded else tuple(e) for e in entries})
    for words in sentences:
        assert gazetteer.matches(words) == naive(entries, words, folded)


@given(st.lists(WORDS.filter(len), min_size=1, max_size=4), st.booleans())
def test_the_extractor_sees_the_matches(sentences, folded):
    entries = [["a", "b"], ["é"], ["b", "c", "a"], ["c"]]
    knowledge = Knowledge(gazetteers={"list": read_gazetteer(entries, folded=folded)})
    template = parse_template("list[0], list[-1]|list_length[0], lower[0]|list[1]", knowledge=knowledge)
    extractor, table, columns = Extractor(template, knowledge), KeyTable(), Columns.from_sentences(sentences)
    rows = encode(columns, extractor, table, grow=True)
    names = name_rows(table, extractor, [columns])
    got = [names[row] for row in rows.rows.tolist()]
    expected = []
    for words in sentences:
        found = naive(entries, words, folded)
        pairs = [("_B-1", ""), *(pair or (None, None) for pair in found), ("_B+1", "")]
        for at, word in enumerate(words):
            (before, _), (here, length), (after, _) = pairs[at : at + 3]
            expected += [f"w.list[0]={here}"] * (here is not None)
            expected += [f"w.list[-1]|w.list_length[0]={before}|{length}"] * bool(before and length)
            expected += [f"w.lower[0]|w.list[1]={word.lower()}|{after}"] * bool(after)
    assert got == expected


def test_named_templates_use_gazetteers_by_themselves():
    knowledge = Knowledge(gazetteers={"city": read_gazetteer(CITIES)})
    plain, extended = fitting_template("ner", 1), fitting_template("ner", 1, knowledge)
    assert {pattern.text for pattern in set(extended.patterns) - set(plain.patterns)} == {
        "w.city[-1]", "w.city[0]", "w.city[1]", "w.city[0]|w.city_length[0]", "w.city[0]|w.short_shape[0]",
    }  # fmt: skip
    own = fitting_template("ner + city[0]", 1, knowledge)
    assert len(own.patterns) == len(plain.patterns) + 1


def test_a_gazetteer_helps_and_is_saved_and_replaced(tmp_path):
    tagger = NerTagger(gazetteers={"city": CITIES}).fit(X, Y)
    test = [["He", "likes", "Rome", "."]]
    assert tagger.predict(test) == [["O", "O", "B-LOC", "O"]]
    for name, saving in (("model", {}), ("small", {"dtype": "int8"})):
        tagger.save(tmp_path / name, **saving)
        code = (
            f"from taggers import NerTagger; print(NerTagger.load({str(tmp_path / name)!r}).predict({test}))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "[['O', 'O', 'B-LOC', 'O']]\n"
    loaded = NerTagger.load(tmp_path / "model")
    assert (
        loaded.model_.space.knowledge.gazetteers["city"] == tagger.model_.space.knowledge.gazetteers["city"]
    )
    assert pickle.loads(pickle.dumps(loaded)).predict(X) == tagger.predict(X)
    features = {name for token in loaded.explain(test[0]) for name, _ in token["features"]}
    assert "w.city[0]|w.city_length[0]=S|1" in features
    size = commands.inspect(loaded.model_)["knowledge"]["city"]
    assert size["entries"] == 5
    weights = loaded.model_.weights
    new = [["He", "likes", "Lund", "."]]
    before = loaded.predict_margins(new)
    loaded.replace_knowledge(gazetteers={"city": [*CITIES, "Lund"]})
    assert loaded.predict_margins(new) != before
    assert loaded.predict(new) == [["O", "O", "B-LOC", "O"]]
    assert loaded.model_.weights is weights
    with pytest.raises(ValueError, match="the model has no gazetteers called 'town'; its gazetteers: city"):
        loaded.replace_knowledge(gazetteers={"town": ["Rome"]})


def test_a_gazetteer_on_the_command_line(tmp_path):
    rows = (zip(tokens, labels, strict=True) for tokens, labels in zip(X, Y, strict=True))
    text = "\n".join("".join(f"{w} {y}\n" for w, y in pairs) for pairs in rows)
    (tmp_path / "train").write_text(text)
    (tmp_path / "cities").write_text("\n".join(CITIES))
    (tmp_path / "more").write_text("Lund\n")
    (tmp_path / "new").write_text("He\nlikes\nLund\n.\n")
    done = run("train", "ner", "train", "-o", "m", "--gazetteer", "city=cities", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    margins = []
    for more in ([], ["--gazetteer", "city=more"]):
        done = run("tag", "m", "new", "--scores", *more, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        word, label, margin = done.stdout.split(b"\n")[2].split()
        assert word == b"Lund"
        margins.append(float(margin) if label == b"B-LOC" else -float(margin))
    assert margins[1] > margins[0]
    refused(run("tag", "m", "new", "--gazetteer", "cities", cwd=tmp_path), 2, "has no name; write NAME=FILE")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "g: the gazetteer has no entries"),
        (b" \n\r\n", "g: the gazetteer has no entries"),
        (b"Rome\nNew York\tLOC\n", "g:2: an entry must not contain a tab.*--classes"),
        (b"Rome\nM\xfcnchen\n", "g:2: not valid UTF-8"),
        (b"\x1f\x8bno gzip", "g: the gzip file is damaged"),
    ],
)
def test_bad_files_are_refused(tmp_path, monkeypatch, text, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g").write_bytes(text)
    with pytest.raises(DataError, match=words):
        SequenceTagger(gazetteers=["city=g"]).fit(X, Y)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"Big": ["a"]}, "the name 'Big' must consist of lower-case letters"),
        ({"shape": ["a"]}, "'shape' is the name of a column or attribute"),
        ({"prefix": ["a"]}, "'prefix' is the name of a column or attribute"),
        ({"a_length": ["a"]}, "must consist of"),
        (["x=a", "x=b"], "'x' occurs twice"),
        ({"city": 3}, "must be a file or a list of entries, got 3"),
    ],
)
def test_bad_options_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        SequenceTagger(gazetteers=given).fit(X, Y)


def test_what_matches_nothing_and_what_no_pattern_reads_get_a_warning():
    with pytest.warns(UserWarning, match="the gazetteer river matches nothing in the training data"):
        NerTagger(gazetteers={"river": ["Nile"]}).fit(X, Y)
    with pytest.warns(UserWarning, match=r"no pattern of the template reads city; .*'city\[-1..1\]'"):
        tagger = SequenceTagger(template="w[0]", gazetteers={"city": CITIES}).fit(X, Y)
    assert not tagger.model_.space.knowledge.gazetteers
    with pytest.raises(ValueError, match="unknown attribute 'city'"):
        SequenceTagger(template="city[0]").fit(X, Y)


@pytest.mark.parametrize(
    ("array", "change"),
    [
        ("gazetteers.city.ends", lambda a: a[:-1]),
        ("gazetteers.city.ends", lambda a: a + 7),
        ("gazetteers.city.keys", lambda a: a[:-1]),
        ("gazetteers.city.keys", lambda a: a.astype(np.float64)),
    ],
)
def test_forged_gazetteers_are_refused(tmp_path, array, change):
    NerTagger(gazetteers={"city": [f"City {k}" for k in range(40)] + CITIES}).fit(X, Y).save(tmp_path / "m")
    arrays, meta = load_model(tmp_path / "m")
    arrays[array] = change(arrays[array])
    save_model(tmp_path / "m", arrays, meta)
    with pytest.raises(ModelFileError, match="does not contain a consistent tagger"):
        NerTagger.load(tmp_path / "m")


@given(st.binary(max_size=60) | st.text("ab \t\n\ré", max_size=30).map(str.encode), st.booleans())
def test_any_bytes_are_read_or_refused(data, folded):
    try:
        text = data.decode()
        gazetteer = Gazetteer.from_text(data, folded=folded, name="g")
    except (UnicodeDecodeError, DataError):
        return
    for line in text.replace("\r", " ").split("\n"):
        words = line.split(" ")
        words = [word for word in words if word]
        if words:
            assert all(pair is not None for pair in gazetteer.matches(words))
