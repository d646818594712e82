"""spaCy's tests of its tagger."""

from tests.taggers.spacy_own import adopt

UNFIT = {
    "test_label_smoothing": "label smoothing belongs to the gradients of a neural model",
    "test_no_resize": "our components learn new labels at any time",
}
globals().update(adopt("pipeline.test_tagger", "tagger", UNFIT))
