"""Taggers that are trained as conditional random fields: probabilities, missing labels, files, refusals."""

import math
from itertools import chain, product

import numpy as np
import pytest

from structsvm.optimizers import RandomField
from taggers import Chunker, MorphTagger, NerTagger, SequenceTagger
from taggers.tagger import TASKS
from tests.taggers.command_line import refused, run
from tests.taggers.sentences import as_columns, chunk_data

X, Y = chunk_data(80)
WORDS = [[word for word, _ in sentence] for sentence in X]


@pytest.fixture(scope="module")
def field():
    return SequenceTagger(algorithm="crf", template="w[0], p[-1..1]", constrained=False).fit(X, Y)


def test_each_kind_of_tagger_trains_a_random_field():
    for kind in TASKS.values():
        tagger = kind(algorithm="crf", epochs=1).fit(WORDS, Y)
        assert isinstance(tagger.optimizer_, RandomField)
        assert tagger.model_.labels.inference == "exact"
        rows = tagger.predict_marginals(WORDS[:2])[0]
        assert all(math.isclose(sum(row.values()), 1, abs_tol=1e-5) for row in rows)


def test_probabilities_predict_how_often_labels_are_right_without_calibration(field):
    held_out, gold = chunk_data(200, seed=9)
    rows = chain.from_iterable(field.predict_marginals(held_out))
    best = [max(row.items(), key=lambda pair: pair[1]) for row in rows]
    right = [label == true for (label, _), true in zip(best, chain.from_iterable(gold), strict=True)]
    assert np.mean(right) == pytest.approx(np.mean([p for _, p in best]), abs=0.05)


def test_scores_of_the_n_best_are_logarithms_of_probabilities(field):
    tokens = X[0][:2]
    labels = field.classes_
    scores = {tuple(path): score for score, path in field.predict_nbest([tokens], 1000)[0]}
    assert len(scores) == len(labels) ** 2
    total = np.logaddexp.reduce([*scores.values()])
    sums = {label: 0.0 for label in labels}
    for path in product(labels, repeat=2):
        sums[path[1]] += math.exp(scores[path] - total)
    found = field.predict_marginals([tokens])[0][1]
    assert found == pytest.approx(sums, abs=1e-4)
    assert field.explain(tokens)[0]["label"] == field.tag(tokens)[0]


def test_log_likelihoods_are_those_of_enumeration(field):
    tokens, labels = X[0][:2], field.classes_
    pairs = [list(pair) for pair in product(labels, repeat=2)]
    each = dict(zip(map(tuple, pairs), field.log_likelihood([tokens] * len(pairs), pairs), strict=True))
    assert math.isclose(sum(map(math.exp, each.values())), 1, rel_tol=1e-6)
    first, second = labels[:2]
    wanted = sum(math.exp(each[one, last]) for one in (first, second) for last in labels)
    some, all_ = field.log_likelihood([tokens] * 2, [[{first, second}, None], [None, None]])
    assert math.exp(some) == pytest.approx(wanted, rel=1e-6)
    assert all_ == pytest.approx(0, abs=1e-9)
    with pytest.raises(ValueError, match="unknown label 'new'"):
        field.log_likelihood([tokens], [["new", first]])


@pytest.mark.parametrize("constrained", [True, False])
def test_probabilities_of_the_labellings_of_a_scheme_add_up_to_1(constrained):
    y = [["B-A" if t % 3 == 0 else "I-A" if t % 3 == 1 else "O" for t in range(len(s))] for s in WORDS]
    tagger = NerTagger(algorithm="crf", template="w[0]", constrained=constrained).fit(WORDS, y)
    assert (tagger.model_.labels.outer, tagger.model_.labels.inner) == ("IOB2", "IOBES")
    tokens = WORDS[0][:3]
    every = [*product(tagger.classes_, repeat=3)]
    found = dict(zip(every, tagger.log_likelihood([tokens] * len(every), every), strict=True))
    assert math.isclose(sum(map(math.exp, found.values())), 1, rel_tol=1e-6)
    if constrained:
        assert found["O", "I-A", "O"] == -math.inf
    wanted = np.logaddexp.reduce([value for path, value in found.items() if path[1] == "B-A"])
    alone = tagger.log_likelihood([tokens], [[None, "B-A", None]])[0]
    assert alone == pytest.approx(wanted, abs=1e-9)
    others = tagger.log_likelihood([tokens] * 2, [[None, "B-A", None], ["B-A", "I-A", "O"]])
    assert others[0] == pytest.approx(alone, abs=1e-12)
    assert tagger.log_likelihood([[]], [[]]) == [0]


def test_greedy_inference_has_no_log_likelihood():
    greedy = Chunker(inference="greedy").fit(X, Y)
    with pytest.raises(ValueError, match="needs exact inference"):
        greedy.log_likelihood(X[:1], Y[:1])


def test_missing_labels_and_sets_are_summed_out():
    partial = [
        [None if t % 3 == 1 else {label, "O"} if t % 3 == 2 else label for t, label in enumerate(labels)]
        for labels in Y
    ]
    tagger = Chunker(algorithm="crf").fit(X, partial)
    assert tagger.score(X, Y) > 0.8


def test_a_saved_random_field_predicts_and_learns_the_same(field, tmp_path):
    field.save(tmp_path / "m", training_state=True)
    loaded = SequenceTagger.load(tmp_path / "m")
    assert loaded.algorithm == "crf"
    assert loaded.model_.probable
    assert loaded.predict_marginals(X[:5]) == field.predict_marginals(X[:5])
    loaded.partial_fit([[("new", "X")]], [["B-NEW"]])
    assert "B-NEW" in loaded.classes_
    field.save(tmp_path / "weights")
    with pytest.warns(UserWarning, match="training state"):
        few = SequenceTagger.load(tmp_path / "weights").partial_fit(X[:1], Y[:1])
    assert np.mean([a == b for a, b in zip(few.predict(X), field.predict(X), strict=True)]) > 0.8


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (NerTagger, {"inference": "greedy"}, "crf needs exact inference"),
        (SequenceTagger, {"order": 2}, "crf needs exact inference"),
        (SequenceTagger, {"template": "w[0], y[-2]"}, "crf needs exact inference"),
        (SequenceTagger, {"template": "w[0], y[-1]|w[0]"}, "no features joined with a label"),
        (MorphTagger, {"share": True}, "share needs greedy inference"),
        (SequenceTagger, {"reprocess": 2}, "reprocess has no effect with algorithm='crf'"),
        (SequenceTagger, {"label_weight": {"O": 2.0}}, "label_weight has no effect with algorithm='crf'"),
        (SequenceTagger, {"max_support": 9}, "max_support has no effect with algorithm='crf'"),
    ],
)
def test_options_that_a_random_field_cannot_have_are_refused(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(algorithm="crf", **options).fit(WORDS, Y)


def test_the_command_line_trains_tags_and_prints_probabilities(tmp_path):
    (tmp_path / "train.txt").write_bytes(as_columns(80))
    train = ("train", "chunk", "train.txt", "--algorithm", "crf", "-o", "m.ssvm")
    assert run(*train, cwd=tmp_path).returncode == 0
    done = run("tag", "m.ssvm", "train.txt", "--probabilities", cwd=tmp_path)
    assert done.returncode == 0
    assert b"calibrated" not in done.stderr
    assert 0.5 < float(done.stdout.split(b"\n")[0].split()[-1]) <= 1
    done = run(*train, "--memory", "200M", cwd=tmp_path)
    refused(done, 2, "crf trains only from memory; use larank, or data in memory")
