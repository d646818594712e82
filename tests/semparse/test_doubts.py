"""Faults in the training data that the parser reports after training."""

import random

from semparse import Ospas
from tests.semparse.greenhouse import log

GOOD = [("call anna", "call(anna)"), ("ring bob", "call(bob)"), ("heat hall", "heat(hall)")]


def doubts(pairs):
    texts, meanings = zip(*(pairs * 4), strict=True)
    return Ospas().fit(texts, [[meaning] for meaning in meanings]).doubts_


def test_good_data_cause_no_doubts(tmp_path):
    assert doubts(GOOD) == []
    assert Ospas(algorithm="paper").fit(["a b"], [["c(b)"]]).doubts_ == []


def test_a_symbol_in_two_roles_is_reported():
    (told,) = doubts([*GOOD, ("size call", "size(call)")])
    assert told.startswith("call: both a relation and a constant")


def test_names_that_keep_a_type_of_numbers_closed_are_reported():
    levels = (3, 5, "low", "dusk", "night", "full")
    (told,) = doubts([(f"dim the lamp to {level}", f"dim(lamp, {level})") for level in levels])
    assert told.startswith("dusk, full, low, night: constants among numbers")


def test_events_that_nobody_mentions_are_reported():
    rng = random.Random(0)
    bags = log(200, 0)
    humming = [[*bag.candidates, f"hum(pump_{rng.randint(1, 9)})"] for bag in bags]
    relation, constant = Ospas().fit([bag.text for bag in bags], humming).doubts_
    assert "hum" in relation.partition(": no word expresses this relation")[0]
    assert constant.startswith("pump_")
    assert "more: no sentence names this constant" in constant


def test_windows_of_the_wrong_time_are_reported():
    bags = log(200, 0)
    later = [bags[(k + 9) % 200].candidates[:1] for k in range(200)]
    told = Ospas().fit([bag.text for bag in bags], later).doubts_
    assert any(
        doubt.endswith("sentences name nothing that is in their candidates; check the windows")
        for doubt in told
    )
