from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taggers.labels import schemes
from taggers.labels.schemes import allowed, convert, detect, encode, spans, split, violations

PREFIXES = {"IOB1": "IB", "IOB2": "BI", "IOBES": "BIES", "BILUO": "BILU"}
TYPES = ("per-name", "loc")
LABELS = {scheme: ["O", *(f"{p}-{t}" for p in PREFIXES[scheme] for t in TYPES)] for scheme in PREFIXES}


def segmentations(length):
    """Every set of spans over `length` words."""
    if length == 0:
        yield []
        return
    for rest in segmentations(length - 1):
        yield rest
    for size in range(1, length + 1):
        for rest in segmentations(length - size):
            for type_ in TYPES:
                yield [*rest, (type_, length - size, length)]


def passes(indices, start_ok, ok, end_ok):
    inner = all(ok[i, j] for i, j in pairwise(indices))
    return not indices or (start_ok[indices[0]] and inner and end_ok[indices[-1]])


@pytest.mark.parametrize("scheme", PREFIXES)
def test_constraint_valid_means_decodable_to_spans_and_back(scheme):
    labels = LABELS[scheme]
    constraints = allowed(labels, scheme)
    for length in range(5 if len(labels) < 9 else 4):
        valid = 0
        for indices in product(range(len(labels)), repeat=length):
            sequence = [labels[i] for i in indices]
            back = encode(spans(sequence, scheme), length, scheme)
            round_trip = back == sequence
            assert passes(indices, *constraints) == round_trip, sequence
            assert (violations(sequence, scheme) == []) == round_trip, sequence
            valid += round_trip
        assert valid == sum(1 for _ in segmentations(length))


@pytest.mark.parametrize("scheme", PREFIXES)
def test_every_segmentation_survives_encoding(scheme):
    for length in range(5):
        for phrases in segmentations(length):
            assert spans(encode(phrases, length, scheme), scheme) == phrases


@pytest.mark.parametrize(("source", "target"), list(product(PREFIXES, repeat=2)))
def test_conversion_round_trips(source, target):
    for length in range(5):
        for phrases in segmentations(length):
            labels = encode(phrases, length, source)
            there = convert(labels, source, target, strict=True)
            assert there == encode(phrases, length, target)
            assert convert(there, target, source, strict=True) == labels


def test_the_schemes_look_as_they_are_described():
    phrases = [("x", 0, 1), ("x", 1, 4), ("y", 5, 7)]
    assert encode(phrases, 7, "IOB1") == ["I-x", "B-x", "I-x", "I-x", "O", "I-y", "I-y"]
    assert encode(phrases, 7, "IOB2") == ["B-x", "B-x", "I-x", "I-x", "O", "B-y", "I-y"]
    assert encode(phrases, 7, "IOBES") == ["S-x", "B-x", "I-x", "E-x", "O", "B-y", "E-y"]
    assert encode(phrases, 7, "BILUO") == ["U-x", "B-x", "I-x", "L-x", "O", "B-y", "L-y"]


@pytest.mark.parametrize(
    ("scheme", "broken", "repaired"),
    [
        ("IOB2", ["O", "I-x", "I-x"], ["O", "B-x", "I-x"]),
        ("IOB2", ["B-x", "I-y", "I-y"], ["B-x", "B-y", "I-y"]),
        ("IOB1", ["O", "B-x", "I-x"], ["O", "I-x", "I-x"]),
        ("IOBES", ["B-x", "O", "E-x"], ["S-x", "O", "S-x"]),
        ("IOBES", ["E-x", "I-x", "B-x", "I-y"], ["S-x", "S-x", "S-x", "S-y"]),
        ("IOBES", ["S-x", "E-x", "I-x", "I-x"], ["S-x", "S-x", "B-x", "E-x"]),
        ("BILUO", ["L-x", "B-x", "U-x"], ["U-x", "U-x", "U-x"]),
    ],
)
def test_labels_out_of_place_are_repaired_and_counted(scheme, broken, repaired):
    assert convert(broken, scheme, scheme) == repaired
    changed = [at for at, (old, new) in enumerate(zip(broken, repaired, strict=True)) if old != new]
    assert violations(broken, scheme) == changed
    with pytest.raises(ValueError, match=f"{broken[changed[0]]!r} at position {changed[0]} is out of place"):
        convert(broken, scheme, "IOB2", strict=True)


@given(st.sampled_from(list(PREFIXES)), st.data())
def test_repair_changes_no_span(scheme, data):
    labels = data.draw(st.lists(st.sampled_from(LABELS[scheme]), max_size=12))
    fixed = convert(labels, scheme, scheme)
    assert violations(fixed, scheme) == []
    assert spans(fixed, scheme) == spans(labels, scheme)


def test_ever_new_labels_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(schemes, "MOST_RULES", 10)
    labels = [f"B-{number}" for number in range(100)]
    assert convert(labels, "IOB2", "BILUO") == [f"U-{number}" for number in range(100)]
    assert len(schemes._rules("IOB2", "BILUO")) <= 10


def test_type_is_everything_after_the_first_hyphen():
    assert split("B-per-name") == ("B", "per-name")
    assert spans(["B-per-name", "I-per-name", "I-per"], "IOB2") == [("per-name", 0, 2), ("per", 2, 3)]


def test_bare_prefixes_have_the_empty_type():
    assert convert(["B", "I", "O", "I"], "IOB2", "IOBES") == ["B", "E", "O", "S"]
    assert spans(["B", "I", "B"], "IOB2") == [("", 0, 2), ("", 2, 3)]


@pytest.mark.parametrize("scheme", PREFIXES)
@given(data=st.data())
def test_scheme_is_detected_from_what_only_it_allows(scheme, data):
    telling = {
        "IOB1": ["I-x", "B-x"], "IOB2": ["B-x", "O", "B-x"], "IOBES": ["S-x"], "BILUO": ["U-x"],
    }[scheme]  # fmt: skip
    phrases = data.draw(st.lists(st.sampled_from(list(segmentations(4))), max_size=5))
    assert detect([telling, *(encode(spans_, 4, scheme) for spans_ in phrases)]) == scheme


def test_one_stray_label_does_not_change_what_is_detected():
    sentences = [["B-x", "I-x", "O", "B-y"]] * 5
    assert detect([*sentences, ["O", "I-x"]]) == "IOB2"
    assert detect([*([["I-x", "I-x", "O", "I-y"]] * 5), ["O", "B-x"]]) == "IOB1"


@pytest.mark.parametrize(
    "sequences", [[], [[]], [["O", "O"]], [["NOUN", "VERB"]], [["B-x", "NOUN"]], [["S-x", "U-x"]], [["O-x"]]]
)
def test_labels_of_no_scheme_are_detected_as_none(sequences):
    assert detect(sequences) == "none"


def test_labels_without_scheme_pass_through():
    assert convert(["NOUN", "I-x"], "none", "none") == ["NOUN", "I-x"]
    assert violations(["NOUN", "I-x"], "none") == []
    start_ok, ok, end_ok = allowed(["NOUN", "I-x"], "none")
    assert start_ok.all()
    assert ok.shape == (2, 2)
    assert ok.all()
    assert end_ok.all()


def test_constraints_are_boolean_arrays_in_the_order_of_the_labels():
    start_ok, ok, end_ok = allowed(["I-x", "O", "B-x", "I-y"], "IOB2")
    assert (start_ok.dtype, ok.dtype, end_ok.dtype) == (bool, bool, bool)
    assert start_ok.tolist() == [False, True, True, False]
    assert end_ok.tolist() == [True, True, True, True]
    assert np.array_equal(ok, [[1, 1, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0], [0, 1, 1, 1]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: convert(["O"], "IOB3", "IOB2"), "Label scheme must be one of none, IOB1"),
        (lambda: convert(["O"], "IOB2", "iobes"), "got 'iobes'"),
        (lambda: convert(["O"], "none", "IOB2"), "cannot be converted from scheme none to IOB2"),
        (lambda: convert(["S-x"], "IOB2", "IOBES"), "Label 'S-x' is not of scheme IOB2: expected O or a"),
        (lambda: convert(["O", ""], "IOB2", "IOB1"), "Label '' is not of scheme"),
        (lambda: convert(["BI-x"], "IOB2", "IOB1"), "Label 'BI-x' is not of scheme"),
        (lambda: spans(["NN"], "none"), "no spans"),
        (lambda: spans(["O-x"], "IOB2"), "Label 'O-x' is not of scheme"),
        (lambda: allowed(["O", "L-x"], "IOBES"), "Label 'L-x' is not of scheme IOBES"),
        (lambda: allowed(["O"], "IOB"), "Label scheme must be one of"),
        (lambda: encode([("x", 0, 2), ("x", 1, 3)], 3, "IOB2"), "overlaps"),
        (lambda: encode([("x", 2, 4)], 3, "IOB2"), "leaves the 3 words"),
    ],
)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
