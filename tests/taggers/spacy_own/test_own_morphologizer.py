"""spaCy's tests of its morphologizer."""

from tests.taggers.spacy_own import adopt

UNFIT = {
    "test_label_smoothing": "label smoothing belongs to the gradients of a neural model",
    "test_no_resize": "our components learn new labels at any time",
    "test_overfitting_IO": "spaCy learns a missing POS as an empty one; we learn nothing from such a token",
}
globals().update(adopt("pipeline.test_morphologizer", "morphologizer", UNFIT))
