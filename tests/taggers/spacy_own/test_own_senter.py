"""spaCy's tests of its senter."""

from tests.taggers.spacy_own import adopt

globals().update(adopt("pipeline.test_senter", "senter", {}))
