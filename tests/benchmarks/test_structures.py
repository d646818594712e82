"""The measuring parts of the experiments on structures, on small data of our own."""

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.papers import entities, parsing, strings, taxonomies

SENTENCES = [["Anna", "lives", "in", "Bonn", "since", "1999"], ["The", "UN", "met", "Anna"], ["in", "Rome"]]


def test_written_out_features_are_the_polynomial_kernel_between_tokens():
    X = [entities.features(words) for words in SENTENCES]
    encoder = entities.Encoder(X, 2)
    sequences = encoder.sequences(X)
    dense = np.zeros((12, encoder.n_rows))
    for t in range(12):
        part = slice(sequences.token_ptr[t], sequences.token_ptr[t + 1])
        dense[t, sequences.rows[part]] = sequences.values[part]
    tokens = [set(token) for x in X for token in x]
    kernel = [[(1 + len(a & b)) ** 2 for b in tokens] for a in tokens]
    np.testing.assert_allclose(dense @ dense.T, kernel, rtol=1e-5)


@pytest.mark.parametrize("method", ["HMM", "CRF", "perceptron", *entities.FORMS])
def test_every_method_learns_names(method):
    pytest.importorskip("pycrfsuite")
    X = [entities.features(words) for words in SENTENCES] * 4
    y = [["B-PER", "O", "O", "B-LOC", "O", "O"], ["O", "B-ORG", "O", "B-PER"], ["O", "B-LOC"]] * 4
    run = entities.crf if method == "CRF" else lambda *data: entities.run(method, 2, *data)
    figures = run(X, y, X[:3], y[:3])
    assert figures["test"] <= (40 if method == "HMM" else 0)


def test_relative_frequencies_of_the_hmm_are_probabilities():
    X = entities.Encoder([[["a"], ["b"]], [["a"]]], 1).sequences([[["a"], ["b"]], [["a"]]])
    weights = np.zeros((3 + 3, 8))
    entities.hmm(weights, X, np.array([0, 1, 1]), 2)
    p = np.exp(weights[:, :2])
    np.testing.assert_allclose(p[:3].sum(axis=1), 1)
    np.testing.assert_allclose(p[3:].sum(axis=0), 1)
    np.testing.assert_allclose(p[2], [1 / 2, 1 / 2])  # one sentence begins with each label
    np.testing.assert_allclose(p[3], [2 / 4, 2 / 5])  # "a" with label 0 once of 1 + 3, with 1 once of 2 + 3


def test_generated_strings_are_those_of_three_classes():
    X, y = strings.generate(600, np.random.default_rng(0))
    assert {len(x) for x in X} == set(range(10, 16))
    assert 0.25 < np.mean([set(x) <= set("cd") for x in X]) < 0.42
    repeats = [np.mean([a == b for a, b in pairwise(x)]) for x in X]
    assert np.mean([r > 0.5 for r in repeats]) == pytest.approx(2 / 3, abs=0.12)
    assert np.mean([output in strings.OUTPUTS for output in y]) > 0.55**2
    assert {len(output) for output in y} == {2, 3, 4, 5, 6}


def test_a_string_has_no_loss_only_against_itself():
    assert strings.string_loss(["ab", "abad"], ["ab", "abad"]) == 0
    assert strings.string_loss(["ab", "abad"], ["ba", "abad"]) == 0.5


def test_the_form_of_a_grammar_learner_is_scored():
    trees = [("S", ("NP", "DT", "NN"), ("VP", "V")), ("S", ("NP", "NN"), ("VP", "V", ("NP", "NN")))] * 5
    for form, _ in parsing.METHODS.values():
        assert parsing.run(form, trees, trees[:2])["scores"].f1 == 100


def test_groups_of_generated_texts_have_one_depth_and_share_words_with_their_nodes():
    X, y, separator = taxonomies.patents(0)
    groups = set(y.tolist())
    assert len(groups) == 96
    assert {group.count(separator) for group in groups} == {2}
    assert {len(x.split()) for x in X} == {taxonomies.WORDS}
    words = " ".join(x for x, group in zip(X, y, strict=True) if group == "1.2.3").split()
    owners = {word.partition("w")[0] for word in words}
    assert owners == {"", "1", "1.2", "1.2.3"}
    assert np.mean(["w" in word and word[0] != "w" for word in words]) == pytest.approx(0.15, abs=0.05)


def test_a_taxonomy_with_its_loss_lowers_the_tree_loss_of_few_examples(monkeypatch):
    monkeypatch.setattr(taxonomies, "BRANCHES", (3, 3, 3))
    found = taxonomies.draw("patent-like", seed=0, per_class=2)
    assert set(found) == set(taxonomies.VARIANTS)
    assert taxonomies.change([found], 1)[0] < 0


def test_kde_answers_with_the_output_that_its_regression_points_to():
    rng = np.random.default_rng(0)
    kinds = rng.integers(3, size=60)
    features = np.eye(3)[kinds] + 0.1 * rng.normal(size=(60, 3))
    y = [["abad", "abbd", "aabc"][kind] for kind in kinds]
    assert strings.kde(features, y, np.eye(3)) == ["abad", "abbd", "aabc"]
    outputs = np.eye(3)[kinds]
    two = strings.nearest_outputs(features, outputs, np.eye(3), width=1.0, ridge=0.01, components=2)
    np.testing.assert_array_equal(kinds[two], [0, 1, 2])
    far = strings.nearest_outputs(features, outputs, np.eye(3), width=1.0, ridge=1e9, components=2)
    assert len(set(kinds[far])) == 1  # the mean: nothing of the inputs is left
