"""spaCy's tests of its parser; those of its beam and of its Thinc models do not apply."""

import taggers.spacy.parser  # noqa: F401  (registers the factory)
from tests.taggers.spacy_own import adopt

CHANGES = {'["structsvm_parser", "beam_parser"]': '["structsvm_parser"]', "@pytest.mark.slow": ""}
UNFIT = {"test_parser_configs": "the configs are those of a neural network"}
globals().update(adopt("parser.test_parse", "parser", UNFIT, changes=CHANGES))
