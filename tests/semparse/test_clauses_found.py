"""A second clause is found if its score is high, even if no sentence of the training data has one."""

import os
import random
import subprocess
import sys

import pytest

from semparse import Ospas

PEOPLE = ["nora", "dora", "mark", "siobhan"]


@pytest.fixture(scope="module")
def data():
    rng = random.Random(0)
    texts, bags = [], []
    for _ in range(120):
        name, other = rng.sample(PEOPLE, 2)
        n = rng.randint(2, 60)
        text, mr, wrong = rng.choice([
            (f"call {name} please", f"call({name})", f"timer({n})"),
            (f"set a timer for {n} minutes", f"timer({n})", f"call({name})"),
            (f"send {name} a postcard", f"send({name})", f"call({other})"),
        ])  # fmt: skip
        texts.append(text)
        bags.append([mr, wrong])
    return texts, bags


def test_a_name_that_the_best_meaning_leaves_unused_reveals_a_second_clause(data, tmp_path):
    parser = Ospas().fit(*data)
    assert parser.estimates_["clauses"] == 1
    texts = ["send nora a postcard and call siobhan please", "send mark a postcard and call dora please"]
    meanings = [{"send(nora)", "call(siobhan)"}, {"send(mark)", "call(dora)"}]
    assert [set(map(str, parser.parse(text))) for text in texts] == meanings
    assert [str(parse) for parse in parser.parse("call nora please")] == ["call(nora)"]
    parser.save(tmp_path / "model")
    again = Ospas.load(tmp_path / "model")
    assert [set(map(str, again.parse(text))) for text in texts] == meanings


def test_a_second_clause_that_is_not_valid_leaves_the_first_one(data):
    parser = Ospas().fit(*data)
    for rel, meaning in (("call", "send(nora)"), ("send", "call(siobhan)")):
        found = parser.parse(
            "send nora a postcard and call siobhan please", valid=lambda mr, rel=rel: mr.rel != rel
        )
        assert [str(parse) for parse in found] == [meaning]


def test_one_clause_that_is_asked_for_stays_one(data):
    parser = Ospas(clauses=1).fit(*data)
    assert len(parser.parse("send nora a postcard and call siobhan please")) == 1


def test_the_seed_of_hashes_changes_nothing():
    """Sets of relations have another order with another seed; ties must not depend on it."""
    code = (
        "from semparse.latent.switches import passes_over; from semparse.latent.alignment import NULL\n"
        "names = ['a%d' % k for k in range(20)]\n"
        "X = [['zorp']] * 8 + [['other']] * 40\n"
        "bags = [[[n] for n in names] + [[NULL]] for _ in range(8)] + [[['a3'], [NULL]]] * 40\n"
        "print(passes_over(X, bags, lambda word: {NULL: 1.0}))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in range(12)
    }  # fmt: skip
    assert len(found) == 1
