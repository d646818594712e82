"""Gold labels as numbers: the same as the conversion and scores of lists of strings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taggers import NerTagger
from taggers.conlleval import count_phrases, evaluate
from taggers.formats._columns import Columns
from taggers.labels import schemes
from taggers.labels._labels import Labels
from taggers.labels.label_encoding import GoldLabels, detect_scheme
from taggers.metrics import counts_of_ids, score_ids, token_accuracy
from taggers.uncertainty import sentence_counts

NAMES = ["O", "B-x", "I-x", "B-y", "I-y"]
WIDE = [*NAMES, "E-x", "S-y", ".", "[", "NN", "U-y"]


def sentences(names):
    return st.lists(st.lists(st.sampled_from(names), max_size=6), max_size=5)


def as_file(y):
    return Columns("".join("".join(f"w {n}\n" for n in labels) + "\n" for labels in y).encode(), (0, 1))


@given(
    sentences(NAMES), st.sampled_from(["none", "IOB1", "IOB2"]), st.sampled_from(["IOB2", "IOBES", "BILUO"])
)
def test_numbers_are_those_of_converted_lists(y, outer, inner):
    inner = "none" if outer == "none" else inner
    naive = Labels(["known"])
    expected = naive.encode([schemes.convert(labels, outer, inner) for labels in y], grow=True)
    gold = [GoldLabels.from_lists(y)]
    if any(y):
        gold.append(GoldLabels.from_column(as_file(y), 1))
    for one in gold:
        labels = Labels(["known"])
        np.testing.assert_array_equal(one.encode(labels, outer, inner).codes, expected)
        assert labels.names == naive.names
        assert one.lists() == (y if one.column is None else [labels for labels in y if labels])


@given(sentences(WIDE))
def test_schemes_are_detected_as_in_lists(y):
    gold = GoldLabels.from_lists(y)
    seen = {label for labels in y for label in labels}
    assert detect_scheme(gold.triples()) == ("IOB2" if seen == {"O"} else schemes.detect(y))


@given(sentences(NAMES), st.sampled_from(["IOB1", "IOB2"]))
def test_labels_out_of_place_are_those_of_lists(y, scheme):
    gold = GoldLabels.from_lists(y)
    starts = gold.sentence_ptr.tolist()
    naive = [
        start + at
        for start, labels in zip(starts, y, strict=False)
        for at in schemes.violations(labels, scheme)
    ]
    found = schemes.ids_out_of_place(gold.ids, gold.names, gold.sentence_ptr, scheme)
    assert found.tolist() == naive
    assert schemes.count_violations(y, scheme) == len(naive)


@given(sentences(WIDE), st.data())
def test_phrases_and_accuracy_are_those_of_lists(y, data):
    predicted = [[data.draw(st.sampled_from(WIDE)) for _ in labels] for labels in y]
    gold = GoldLabels.from_lists(y)
    ids = np.array([WIDE.index(name) for labels in predicted for name in labels], np.int32)
    right = np.array([WIDE.index(name) for labels in y for name in labels], np.int32)
    naive = evaluate(y, predicted)
    assert count_phrases(right, ids, WIDE, gold.sentence_ptr) == naive.phrases
    assert score_ids(gold, ids, WIDE, phrases=True) == naive.f1
    assert score_ids(gold, ids, WIDE) == token_accuracy(y, predicted)
    counts = counts_of_ids(gold, ids, WIDE, phrases=True)
    assert counts.tolist() == sentence_counts(y, predicted, spans=True).tolist()
    assert counts_of_ids(gold, ids, WIDE).tolist() == sentence_counts(y, predicted, spans=False).tolist()


def test_missing_labels_of_conllu_and_lists_are_the_same():
    rows = [["NOUN", "_", "VERB"], ["_", "ADJ"]]
    text = "".join(
        "".join(f"{k}\tw\t_\t{n}\t_\t_\t0\td\t_\t_\n" for k, n in enumerate(names, 1)) + "\n"
        for names in rows
    )
    gold = GoldLabels.from_column(Columns(text.encode(), (1, 3), format="conllu"), 1)
    lists = GoldLabels.from_lists([[None if name == "_" else name for name in names] for names in rows])
    assert gold.names == ["NOUN", "VERB", "ADJ"]
    assert gold.lists() == lists.lists()
    assert not gold.complete
    found = [one.encode(Labels()) for one in (gold, lists)]
    assert found[0].codes.tolist() == found[1].codes.tolist() == [0, -1, 1, -1, 2]
    ids = np.array([0, 0, 0, 2, 2], np.int32)
    assert score_ids(gold, ids, gold.names) == score_ids(lists, ids, gold.names) == pytest.approx(2 / 3)


@given(sentences([*WIDE, None]), st.data())
def test_phrases_with_gaps_are_those_of_the_labelled_tokens(y, data):
    predicted = [[data.draw(st.sampled_from(WIDE)) for _ in labels] for labels in y]
    gold = GoldLabels.from_lists(y)
    coded = GoldLabels(gold.positions(WIDE), WIDE, gold.sentence_ptr)
    ids = np.array([WIDE.index(name) for labels in predicted for name in labels], np.int32)
    labelled = [
        [[one for one, label in zip(row, labels, strict=True) if label is not None] for row, labels in
         zip(rows, y, strict=True)] for rows in (y, predicted)
    ]  # fmt: skip
    expected = sentence_counts(*labelled, spans=True).tolist()
    assert counts_of_ids(gold, ids, WIDE, phrases=True).tolist() == expected
    assert counts_of_ids(coded, ids, WIDE, phrases=True).tolist() == expected
    assert score_ids(gold, ids, WIDE, phrases=True) == evaluate(*labelled).f1


def test_an_empty_label_is_refused():
    gold = GoldLabels.from_lists([["N", ""]])
    with pytest.raises(ValueError, match="a label is empty; use None"):
        NerTagger().fit([["a", "b", "c"]], [["B-X", "", None]])
    with pytest.raises(ValueError, match="a label is empty"):
        gold.encode(Labels())


def test_no_features_is_a_label_of_conllu_but_no_tag_is_not():
    rows = [("He", "PRON", "Case=Nom"), ("ran", "VERB", "_"), ("xx", "_", "_")]
    text = "".join(f"{k}\t{w}\t_\t{u}\t_\t{f}\t_\t_\t_\t_\n" for k, (w, u, f) in enumerate(rows, 1)) + "\n"
    columns = Columns(text.encode(), (1, 3, 5), format="conllu")
    assert GoldLabels.from_column(columns, 1).lists() == [["PRON", "VERB", None]]
    assert GoldLabels.from_column(columns, 2).lists() == [["Case=Nom", "_", "_"]]


@pytest.mark.parametrize("known", [[], ["O", "S-x", "B-x", "E-x", "I-y"]])
def test_the_forms_of_a_label_between_gaps_do_not_depend_on_other_sentences(known):
    gap = [None, "B-x", None]
    found = []
    for y in ([gap], [gap, ["B-x", "I-x", "O"]]):
        labels = Labels(known)
        encoded = GoldLabels.from_lists(y).encode(labels, "IOB2", "IOBES")
        allowed = encoded.sets[-2 - encoded.codes[1]]
        found.append({name for name, may in zip(labels.names, allowed, strict=True) if may})
    assert found == [{"B-x", "S-x"}] * 2
