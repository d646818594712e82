"""spaCy's tests of its ner."""

from tests.taggers.spacy_own import adopt

MOVES = "looks into the transitions of spaCy's parser"
UNFIT: dict[str, str] = {
    "test_issue1967": MOVES,
    "test_issue2179": MOVES,
    "test_issue3209": MOVES,
    "test_labels_from_BILUO": MOVES,
    "test_accept_blocked_token": MOVES,
    "test_overwrite_token": MOVES,
    "test_ner_warns_no_lookups": "our features do not read NORM, which needs the lookups",
}
globals().update(
    adopt("parser.test_ner", "ner", UNFIT, changes={', config={"model": {"use_upper": use_upper}}': ""})
)
