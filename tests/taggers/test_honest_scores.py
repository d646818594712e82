"""Scores mean what people take them for: F1 of phrases, of the model that is saved."""

import re

import pytest
from sklearn.model_selection import cross_val_score

from taggers import Chunker, NerTagger, PosTagger, SequenceTagger, commands
from taggers.metrics import span_f1, token_accuracy
from tests.taggers.command_line import run
from tests.taggers.sentences import as_columns, chunk_data

X, Y = chunk_data(60)


@pytest.mark.parametrize("kind", [Chunker, NerTagger])
def test_the_score_of_a_phrase_tagger_is_the_f1_of_phrases(kind):
    tagger = kind(epochs=1, C=0.001).fit(X[:5], Y[:5])
    found = tagger.predict(X)
    assert tagger.score(X, Y) == pytest.approx(span_f1(Y, found))
    assert span_f1(Y, found) != pytest.approx(token_accuracy(Y, found))


def test_a_tagger_that_finds_nothing_has_the_score_zero():
    tagger = NerTagger(epochs=1).fit(X, Y).add_bias({"O": 1000})
    assert tagger.score(X, Y) == 0


def test_cross_validation_measures_phrases():
    scores = cross_val_score(Chunker(epochs=1, C=0.001), X, Y, cv=2)
    named = cross_val_score(
        Chunker(epochs=1, C=0.001), X, Y, cv=2, scoring=lambda tagger, x, y: span_f1(y, tagger.predict(x))
    )
    assert scores.tolist() == pytest.approx(named.tolist())


def test_only_complete_or_missing_labels_of_phrases_are_scored_by_f1():
    words, tags = [[t[0] for t in s] for s in X], [[t[1] for t in s] for s in X]
    for tagger in (PosTagger(epochs=1), SequenceTagger(epochs=1), NerTagger(epochs=1)):
        tagger.fit(words[:9], tags[:9])
        assert tagger.score(words, tags) == pytest.approx(token_accuracy(tags, tagger.predict(words)))
    gaps = [[None, *labels[1:]] for labels in Y]
    tagger = Chunker(epochs=1).fit(X[:5], Y[:5])
    found = tagger.predict(X)
    labelled = [[row[1:] for row in rows] for rows in (gaps, found)]
    assert tagger.score(X, gaps) == pytest.approx(span_f1(*labelled))
    sets = [[{"O", "B-NP"}, *labels[1:]] for labels in Y]
    assert tagger.score(X, sets) == pytest.approx(token_accuracy(sets, found))


def test_fitting_the_bias_returns_the_tagger_and_shows_the_bias():
    tagger = Chunker(C=0.01, epochs=1).fit(X[:9], Y[:9])
    assert tagger.bias_ == {}
    assert tagger.fit_bias(X, Y) is tagger
    assert set(tagger.bias_) <= {"O"}


@pytest.mark.parametrize("flags", [["--fit-bias"], ["--dtype", "int8"], ["--prune", "0.2"]])
def test_train_prints_the_held_out_score_of_the_saved_model(flags, tmp_path):
    (tmp_path / "train.txt").write_bytes(as_columns(8))
    (tmp_path / "dev.txt").write_bytes(as_columns(40, seed=3))
    told = run(
        "train", "chunk", "train.txt", "--dev", "dev.txt", "--epochs", "1", *flags, "-o", "m",
        cwd=tmp_path,
    )  # fmt: skip
    printed = re.search(rb"dev F1 of the saved model (\S+) \(", told.stderr)
    assert printed, told.stderr
    f1 = commands.evaluate(tmp_path / "m", tmp_path / "dev.txt").f1
    assert float(printed[1]) == pytest.approx(100 * f1, abs=0.006)


def test_the_explanation_names_features_whose_values_are_bytes_or_zero():
    tokens = [{"gone": 0, "word": b"dog", b"key": 2, "list": [b"a", "b"]}, {"word": b"runs", "last": 0.5}]
    tagger = SequenceTagger().fit([tokens] * 4, [["N", "V"]] * 4)
    noun, verb = tagger.explain(tokens)
    assert {name for name, _ in noun["features"]} == {"word:dog", "key", "list:a", "list:b"}
    assert {name for name, _ in verb["features"]} == {"word:runs", "last"}
    strings = [{"gone": 0, "word": "dog", "key": 2, "list": ["a", "b"]}, {"word": "runs", "last": 0.5}]
    same = SequenceTagger().fit([strings] * 4, [["N", "V"]] * 4).explain(strings)
    assert [one["features"] for one in same] == [noun["features"], verb["features"]]


def test_the_repr_of_a_loaded_tagger_stays_short(tmp_path):
    Chunker(epochs=1).fit(X, Y).save(tmp_path / "m")
    shown = repr(Chunker.load(tmp_path / "m"))
    assert len(shown) < 200
    assert "template=" in shown
    assert repr(Chunker(C=0.5, template="w[0]")) == "Chunker(C=0.5, template='w[0]')"
