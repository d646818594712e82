"""Weights of tokens in `fit`, `partial_fit` and `resume` of a tagger."""

import numpy as np
import pytest

from taggers import NerTagger, SequenceTagger

X = [["in", "Rome"], ["in", "Oslo"], ["met", "Ida"], ["in", "Lima"], ["Ida", "met", "Rome"]] * 6
Y = [["O", "B-LOC"], ["O", "B-LOC"], ["O", "B-PER"], ["O", {"B-LOC", "B-PER"}], ["B-PER", "O", None]] * 6


def saved_bytes(tagger, path):
    tagger.save(path, training_state=True)
    return path.read_bytes()


def weights(value=None, seed=0):
    rng = np.random.default_rng(seed)
    return [[float(rng.choice([0.2, 0.5, 2.0])) if value is None else value for _ in row] for row in X]


@pytest.mark.parametrize("algorithm", ["larank", "pa", "svmstruct"])
@pytest.mark.parametrize("options", [{}, {"inference": "greedy"}, {"labels": "IOBES"}], ids=str)
@pytest.mark.filterwarnings("ignore:SVMstruct has not converged")
def test_weights_of_one_give_the_same_bytes_and_others_do_not(algorithm, options, tmp_path):
    files = []
    for name, token_weight in {"none": None, "ones": weights(1), "others": weights()}.items():
        tagger = NerTagger(algorithm=algorithm, C=0.01, **options).fit(X, Y, token_weight=token_weight)
        tagger.model_.report.pop("data")  # the checksum of the data, with their weights
        tagger.release().save(tmp_path / name)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]
    assert files[0] != files[2]


@pytest.mark.parametrize("inference", ["exact", "greedy"])
def test_a_weight_of_zero_is_a_token_without_a_label(inference):
    half = [[float(k % 2) for k, _ in enumerate(row)] for row in X]
    gaps = [[one if f else None for one, f in zip(*both, strict=True)] for both in zip(Y, half, strict=True)]
    first = NerTagger(inference=inference).fit(X, Y, token_weight=half)
    second = NerTagger(inference=inference).fit(X, gaps)
    assert first.predict(X) == second.predict(X)
    assert first.model_.report["dual"] == second.model_.report["dual"]


def test_the_larger_weight_decides():
    """A label of weight 0.1 loses against one of weight 1 where both cannot win."""
    words, labels = [["bank"]] * 2, [["A"], ["B"]]
    for right, factors in (("A", [[1], [0.1]]), ("B", [[0.1], [1]])):
        for inference in ("exact", "greedy"):
            tagger = SequenceTagger(template="w[0]", C=0.1, inference=inference, epochs=20)
            assert tagger.fit(words, labels, token_weight=factors).predict([["bank"]]) == [[right]]


def test_online_training_and_resumed_training_use_the_weights(tmp_path):
    factors = weights()
    online = NerTagger().partial_fit(X, Y, token_weight=factors)
    plain = NerTagger().partial_fit(X, Y)
    assert saved_bytes(plain, tmp_path / "a") != saved_bytes(online, tmp_path / "b")
    twin = NerTagger.load(tmp_path / "b")
    for one in (online, twin):
        one.partial_fit(X[:7], Y[:7])
    assert np.array_equal(online.model_.weights.dense(3), twin.model_.weights.dense(3))
    whole = NerTagger(epochs=4, jobs=1, shards=1).fit(X, Y, token_weight=factors)
    parts = NerTagger(epochs=2, jobs=1, shards=1).fit(X, Y, token_weight=factors)
    parts.set_params(epochs=2).resume(X, Y, token_weight=factors)
    assert parts.model_.report["dual"] == whole.model_.report["dual"]


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (weights(1)[:-1], ValueError, "X has 30 sentences but token_weight has 29"),
        ([*weights(1)[:-1], [1, 1]], ValueError, "sentence 29 has 3 tokens but 2 weights in token_weight"),
        ([[1, np.nan], *weights(1)[1:]], ValueError, "token_weight of sentence 0 .* got nan"),
        ([[1, 1], [-1, 1], *weights(1)[2:]], ValueError, "token_weight of sentence 1 .* got -1"),
        ([[1, 1], [1, "x"], *weights(1)[2:]], ValueError, "token_weight of sentence 1 .* got 'x'"),
        (
            [[1, 1e7], *weights(1)[1:]],
            ValueError,
            "token_weight of sentence 0 .* 0 or numbers from 1e-06 to 1,000,000",
        ),
        (weights(0), ValueError, "no token has a gold label"),
        (3, TypeError, "token_weight must hold a list of numbers for each sentence, got 3"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit", "resume"])
def test_bad_weights_are_refused_and_change_nothing(method, bad, error, message, tmp_path):
    tagger = NerTagger().fit(X, Y)
    before = saved_bytes(tagger, tmp_path / "a")
    with pytest.raises(error, match=message):
        getattr(tagger, method)(X, Y, token_weight=bad)
    assert saved_bytes(tagger, tmp_path / "b") == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "perceptron"}, "Perceptron does not support weights of tokens"),
        ({"algorithm": "crf"}, "RandomField does not support weights of tokens"),
    ],
)
def test_taggers_without_losses_of_tokens_are_refused(options, message):
    plain = [["O" if one is None or isinstance(one, set) else one for one in row] for row in Y]
    for method in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=message):
            getattr(SequenceTagger(**options), method)(X, plain, token_weight=weights())
