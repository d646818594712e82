"""Every tagger passes the public checks of estimators."""

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


@pytest.mark.parametrize(
    ("make", "X", "y", "new"),
    [
        (lambda: Chunker(epochs=2), X, CHUNKS, (X[:1], [["B-VP"] * len(X[0])])),
        (lambda: NerTagger(epochs=2), PLAIN, CHUNKS, (PLAIN[:1], [["B-PER"] * len(PLAIN[0])])),
        (lambda: PosTagger(epochs=2), PLAIN, TAGS, (PLAIN[:1], [["V"] * len(PLAIN[0])])),
        (lambda: SequenceTagger(epochs=2), PLAIN, TAGS, (PLAIN[:1], [["V"] * len(PLAIN[0])])),
    ],
    ids=["chunker", "ner-tagger", "pos-tagger", "sequence-tagger"],
)
def test_taggers_pass(make, X, y, new):
    check_estimator(make, X, y, new=new)
