"""spaCy's tests of its lemmatizer of edit trees."""

from tests.taggers.spacy_own import adopt

UNFIT: dict[str, str] = {
    "test_initialize_from_labels": "looks into the edit trees; our labels are edit scripts",
    "test_incomplete_data": "calls the Thinc model",
    "test_lemmatizer_label_data": "looks into the edit trees; our labels are edit scripts",
}
CHANGES = {'{"top_k": top_k}': '{"columns": ["ORTH"]}'}  # the docs have no POS
globals().update(
    adopt(
        "pipeline.test_edit_tree_lemmatizer", "trainable_lemmatizer", UNFIT, ours="structsvm_lemmatizer",
        changes=CHANGES,
    )
)  # fmt: skip
