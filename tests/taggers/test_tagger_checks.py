"""Every tagger passes the public checks of estimators."""

import numpy as np
import pytest

from structsvm.checks import check_estimator
from taggers import Chunker, NerTagger, PosTagger, SequenceTagger

WORDS = (
    "the", "cat", "sat", "on", "a", "mat", "while", "dogs", "ran", "in", "parks", "near", "old", "towns"
)  # fmt: skip
X = [[(WORDS[(k + j) % 14], "NN" if j % 2 else "DT") for j in range(3 + k % 4)] for k in range(16)]
PLAIN = [[word for word, _ in sentence] for sentence in X]
CHUNKS = [["B-NP" if j % 2 == 0 else "I-NP" for j in range(len(sentence))] for sentence in X]
TAGS = [["N" if word in ("cat", "mat", "dogs", "parks", "towns") else "X" for word in s] for s in PLAIN]
RNG = np.random.default_rng(1)
NUMBERS = RNG.integers(0, 300, (150, 8)).tolist()
NOISY = [[f"w{k}" for k in numbers] for numbers in NUMBERS]
NOISY_TAGS = [["ABCD"[(k * 7 + RNG.integers(0, 4) * (k % 3 == 0)) % 4] for k in ks] for ks in NUMBERS]
NOISY_CHUNKS = [["B-X" if k % 3 == 0 and RNG.random() < 0.8 else "O" for k in ks] for ks in NUMBERS]
FEATURES = [[{"word": word, "length": len(word) / 8} for word in s] for s in PLAIN]
BAD = [[{"new": 1.0}], [{"word": "cat", "other": 2.0}, {"length": float("nan")}]], [["N"], ["N", "X"]]


@pytest.mark.parametrize(
    ("make", "X", "y", "new"),
    [
        (lambda: Chunker(epochs=2), X, CHUNKS, (X[:1], [["B-VP"] * len(X[0])])),
        (lambda: NerTagger(epochs=2), PLAIN, CHUNKS, (PLAIN[:1], [["B-PER"] * len(PLAIN[0])])),
        (lambda: PosTagger(epochs=2), PLAIN, TAGS, (PLAIN[:1], [["V"] * len(PLAIN[0])])),
        (lambda: SequenceTagger(epochs=2), PLAIN, TAGS, (PLAIN[:1], [["V"] * len(PLAIN[0])])),
        (SequenceTagger, NOISY, NOISY_TAGS, (NOISY[:1], [["E"] * 8])),
        (NerTagger, NOISY, NOISY_CHUNKS, (NOISY[:1], [["B-Y"] * 8])),
    ],
    ids=["chunker", "ner-tagger", "pos-tagger", "sequence-tagger", "noisy-tags", "noisy-entities"],
)
def test_taggers_pass(make, X, y, new):
    check_estimator(make, X, y, new=new)


def test_taggers_of_ready_features_pass():
    check_estimator(SequenceTagger, FEATURES, TAGS, bad=BAD)
