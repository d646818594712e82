"""Learning from what happened: candidates are the meanings whose execution gives the observed outcome."""

import random

import numpy as np
import pytest

from semparse import Ospas, as_mr
from semparse.examples import as_tokens
from semparse.outcomes import enumerated, is_possible, with_outcome

SHELVES = {"oak": 4, "elm": 7, "fir": 2}
SCHEMA = {
    "relations": {"count": {"slots": ["shelf"]}, "sum": {"slots": ["shelf", "shelf"]},
                  "less": {"slots": ["shelf", "n"]}},
    "types": {"shelf": list(SHELVES), "n": ["1"]}, "open": {"n": r"\d+"},
}  # fmt: skip


def execute(meaning, shelves):
    names = [arg for arg in meaning.args if not arg.isdigit()]
    if meaning.rel == "less":
        if int(meaning.args[1]) > shelves[names[0]]:
            raise ValueError("not so many books")
        return shelves[names[0]] - int(meaning.args[1])
    return sum(shelves[name] for name in names)


def questions(n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        a, b = rng.sample(list(SHELVES), 2)
        k = rng.randint(1, 2)
        yield rng.choice([
            (f"how many books are on the {a} shelf", f"count({a})"),
            (f"books on {a} and {b} together", f"sum({a}, {b})"),
            (f"what is left on {a} if i take {k}", f"less({a}, {k})"),
        ])  # fmt: skip


def test_a_parser_learns_from_answers_alone():
    data = list(questions(60, 0))
    contexts = [{name: random.Random(k).randint(2, 9) + place for place, name in enumerate(SHELVES)}
                for k in range(60)]  # fmt: skip
    answers = [execute(as_mr(mr), shelves) for (_, mr), shelves in zip(data, contexts, strict=True)]
    parser = Ospas(schema=SCHEMA)
    parser.fit([text for text, _ in data], outcomes=answers, execute=execute, contexts=contexts)
    test = list(questions(40, 1))
    assert sum(parser.predict([text])[0] == mr for text, mr in test) > 32
    assert parser.estimates_["clauses"] == 1  # candidates with the outcome are never meant together
    assert parser.estimates_["nothing"] == 0


def test_meanings_are_enumerated_smallest_first_about_what_the_sentence_mentions():
    parser = Ospas(schema=SCHEMA).fit(["oak", "elm"], [["count(oak)"], ["count(elm)"]])
    found = [
        str(mr)
        for mr in enumerated(parser.schema_, parser.model_.words, as_tokens("take 5 from the fir shelf"))
    ]
    assert found == ["count(fir)", "sum(fir, fir)", "less(fir, 5)"]


def test_execution_filters_parses_and_lets_other_exceptions_pass():
    data = list(questions(60, 0))
    parser = Ospas(schema=SCHEMA).fit([text for text, _ in data], [[mr] for _, mr in data])
    text = "what is left on fir if i take 2"
    assert parser.predict([text])[0] == "less(fir, 2)"
    empty = dict.fromkeys(SHELVES, 0)
    found = parser.parse(text, 3, valid=lambda mr: is_possible(execute, mr, empty))
    assert all(parse.mr.rel != "less" for parse in found)
    assert parser.parse(text, valid=lambda mr: False) == []
    assert parser.parse(text, valid=lambda mr: True)[0].mr == parser.parse(text)[0].mr
    with pytest.raises(KeyError):
        parser.parse(text, valid=lambda mr: is_possible(execute, mr, {}))


def test_given_and_proposed_candidates_are_filtered_by_their_outcome():
    bag = ["count(oak)", "count(elm)", "less(elm, 3)", "less(fir, 3)"]
    assert with_outcome(bag, 4, execute, SHELVES) == [as_mr("count(oak)"), as_mr("less(elm, 3)")]
    assert with_outcome(bag, 4, execute, SHELVES, budget=1) == [as_mr("count(oak)")]
    seen = []
    parser = Ospas()
    parser.fit(["oak", "elm"], lambda text, context: seen.append(text) or [f"count({text})"],
               outcomes=[4, 7], execute=execute, contexts=[SHELVES] * 2)  # fmt: skip
    assert seen == ["oak", "elm"]
    assert str(parser.align("elm", "count(elm)")) == "count(elm)"


@pytest.mark.parametrize(
    ("options", "given", "what"),
    [({}, {"outcomes": [1]}, "outcomes and execute must be given together"),
     ({}, {"outcomes": [1], "execute": execute}, "needs a schema"),
     ({}, {}, "candidates must be lists"),
     ({"schema": SCHEMA}, {"outcomes": [1, 2], "execute": execute}, "1 sentences but 2 outcomes"),
     ({"schema": SCHEMA}, {"outcomes": [99], "execute": execute, "contexts": [SHELVES]}, "no meaning has"),
     ({"schema": SCHEMA}, {"outcomes": [1], "execute": execute, "budget": -1}, "budget must be")],
)  # fmt: skip
def test_wrong_use_is_refused(options, given, what):
    with pytest.raises(ValueError, match=what):
        Ospas(**options).fit(["oak"], **given)


def test_faults_of_an_executor_are_raised_as_they_are_with_the_meaning():
    def faulty(meaning, context):
        raise KeyError("no such shelf")

    def ends(meaning, context):
        raise StopIteration

    with pytest.raises(KeyError, match="no such shelf") as caught:
        with_outcome(["count(oak)"], 4, faulty, SHELVES)
    assert caught.value.__notes__ == ["while executing count(oak)"]
    with pytest.raises(RuntimeError, match=r"StopIteration for count\(oak\)"):
        is_possible(ends, as_mr("count(oak)"), SHELVES)
    parser = Ospas().fit(["oak", "elm"], [["count(oak)"], ["count(elm)"]])
    with pytest.raises(RuntimeError):
        parser.parse("oak", valid=lambda mr: next(iter([])))


def test_outcomes_may_be_arrays():
    def positions(meaning, context):
        return np.array([1, 2]) if meaning.rel == "right" else np.array([1, 2, 3])

    assert with_outcome(["right(a)", "wrong(a)"], np.array([1, 2]), positions, None) == [as_mr("right(a)")]
