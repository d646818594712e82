"""A pipeline that one thread updates while another one uses it."""

import threading
from dataclasses import replace

import pytest

spacy = pytest.importorskip("spacy")

from tests.taggers.spacy_docs import examples  # noqa: E402


@pytest.mark.parametrize("name", ["structsvm_tagger", "structsvm_chunker", "structsvm_ner"])
def test_a_pipeline_refuses_other_threads_during_an_update(name):
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe(name)
    data = examples(nlp.vocab, 40)
    nlp.initialize(lambda: data)
    nlp.update(data)
    found = []

    def ask(_):
        def work():
            try:
                list(nlp.pipe([example.reference.copy() for example in data[:2]]))
                found.append("served")
            except RuntimeError as error:
                found.append(str(error))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(60)

    pipe.model.callback = ask
    nlp.update(data)
    pipe.model.callback = None
    assert set(found) == {
        f"this {type(pipe.model).__name__} is being trained in another thread; wait until training ends"
    }
    ask(None)
    assert found[-1] == "served"


def test_predictions_keep_their_labels_though_new_ones_come_before_they_are_set():
    """spaCy predicts and annotates in two calls, between which another thread may train."""
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("structsvm_tagger")
    data = examples(nlp.vocab, 40)
    nlp.initialize(lambda: data)
    nlp.update(data)
    doc = nlp.make_doc("Anna sees the old house .")
    expected = [token.tag_ for token in pipe(doc.copy())]
    predicted = pipe.predict([doc])
    state = pipe.model._state
    state.model = replace(state.model, labels=state.model.labels.with_labels(state.model.labels[::-1]))
    pipe.set_annotations([doc], predicted)
    assert [token.tag_ for token in doc] == expected
