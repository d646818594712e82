"""Probabilities of labels: against all labellings one by one, calibrated, saved, and on the command line."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structsvm.files.persist import ModelFileError, load_model, save_model
from structsvm.problems.sequence import Decoder, SequenceProblem, Sequences
from taggers import Chunker, SequenceTagger, commands
from taggers.labels import schemes
from taggers.metrics import calibration_error
from tests.taggers.sentences import as_columns, chunk_data

X, Y = chunk_data(60)
X_TEST, Y_TEST = chunk_data(20, seed=1)


@given(st.integers(1, 4), st.integers(1, 3), st.floats(0.2, 5), st.integers(0, 99))
def test_marginals_are_sums_over_all_labellings(n, n_labels, temperature, seed):
    rng = np.random.default_rng(seed)
    barred = rng.random((n_labels + 1, n_labels)) < 0.2
    barred[:, 0] = False
    problem = SequenceProblem(n_labels, barred=(barred, np.arange(n_labels) > 0))
    weights = np.zeros((problem.history + 3, problem.stride), np.float32)
    weights[:, :n_labels] = rng.normal(size=(len(weights), n_labels))
    data = Sequences(rng.integers(0, 3, 2 * n).astype(np.int32), np.arange(n + 1) * 2, np.array([0, n]))
    total, expected = 0.0, np.zeros((n, n_labels))
    for path in itertools.product(range(n_labels), repeat=n):
        before = (n_labels, *path)
        if path[-1] > 0 or any(barred[a, b] for a, b in itertools.pairwise(before)):
            continue
        score = sum(weights[a, b] for a, b in itertools.pairwise(before))
        score += sum(
            weights[problem.history + data.rows[2 * t + k], y] for t, y in enumerate(path) for k in (0, 1)
        )
        share = np.exp(score / temperature)
        total += share
        expected[np.arange(n), path] += share
    found = Decoder(problem, weights).marginals(data, temperature)
    np.testing.assert_allclose(found, expected / total, atol=2e-4)


@pytest.mark.parametrize("inference", ["exact", "greedy"])
@pytest.mark.parametrize("labels", ["IOBES", "none"])
def test_the_probabilities_of_a_token_add_up_to_one(inference, labels, tmp_path):
    tagger = SequenceTagger(template="chunk", inference=inference, labels=labels, constrained=True).fit(X, Y)
    tagger.calibrate(X_TEST, Y_TEST)
    found = tagger.predict_marginals(X_TEST)
    predicted = tagger.predict(X_TEST)
    agree = 0
    for tokens, labels_of_one in zip(found, predicted, strict=True):
        assert len(tokens) == len(labels_of_one)
        for token, label in zip(tokens, labels_of_one, strict=True):
            assert set(token) == set(tagger.model_.names)
            assert sum(token.values()) == pytest.approx(1, abs=1e-4)
            agree += max(token, key=token.__getitem__) == label
    assert agree > 0.95 * sum(map(len, predicted))
    tagger.save(tmp_path / "m")
    assert SequenceTagger.load(tmp_path / "m").predict_marginals(X_TEST) == found


def test_calibration_lowers_the_error_and_is_checked_in_files(tmp_path):
    noisy = [[label if k % 4 else "O" for k, label in enumerate(labels)] for labels in Y]
    tagger = Chunker(C=0.001).fit(X, noisy)
    test = [[label if k % 4 else "O" for k, label in enumerate(labels)] for labels in Y_TEST]
    before = calibration_error(test, tagger.predict_marginals(X_TEST))
    assert tagger.model_.temperature == 1
    tagger.calibrate(X_TEST, test)
    assert tagger.model_.temperature != 1
    assert calibration_error(test, tagger.predict_marginals(X_TEST)) < before
    tagger.save(tmp_path / "m")
    arrays, meta = load_model(tmp_path / "m")
    for wrong in (0, -1.0, "hot", 1e300):
        save_model(tmp_path / "m", arrays, {**meta, "temperature": wrong})
        with pytest.raises(ModelFileError, match="temperature"):
            Chunker.load(tmp_path / "m")


def test_schemes_without_a_rule_for_single_labels_are_refused():
    for label, source, target in (("B-X", "IOB2", "IOBES"), ("I-X", "IOBES", "IOB1")):
        with pytest.raises(ValueError, match="have no probabilities in"):
            schemes.renamed(label, source, target)
    assert schemes.renamed("U-X", "BILUO", "IOBES") == "S-X"


def test_on_the_command_line(tmp_path):
    for name, seed in (("train", 5), ("dev", 3)):
        (tmp_path / name).write_bytes(as_columns(40, seed=seed))
    model = tmp_path / "m"
    commands.train("chunk", tmp_path / "train", model, dev=tmp_path / "dev", calibrate=True)
    commands.tag(model, tmp_path / "dev", tmp_path / "out", probabilities=True)
    rows = [line.split() for line in (tmp_path / "out").read_text().splitlines() if line]
    assert all(0 < float(row[-1]) <= 1 for row in rows)
    assert len(rows[0]) == 5
    with pytest.raises(ValueError, match="--probabilities cannot be combined"):
        commands.tag(model, tmp_path / "dev", tmp_path / "out", probabilities=True, scores=True)
    with pytest.raises(ValueError, match="--calibrate has no effect without --dev"):
        commands.train("chunk", tmp_path / "train", model, calibrate=True)
