"""What once went wrong: models saved after odd updates, sentences without gold, schemas that copy wrongly."""

import pytest

from corpora import simulate_sportscast
from corpora.bags import Bag
from semparse import Ospas
from semparse.evaluation import score_matches
from semparse.schema import Schema, SchemaError


def test_a_paper_model_loads_after_a_relation_with_more_arguments_than_it_could_learn(tmp_path):
    bags = simulate_sportscast(30)
    parser = Ospas(algorithm="paper").fit([bag.text for bag in bags], [bag.candidates for bag in bags])
    parser.partial_fit("hello world", ["give(a, b, c)"])
    parser.save(tmp_path / "p.ssvm")
    again = Ospas.load(tmp_path / "p.ssvm")
    sentence = bags[0].text
    assert [str(parse) for parse in again.parse(sentence)] == [str(parse) for parse in parser.parse(sentence)]


def test_matching_is_scored_where_the_gold_is_known():
    class First:
        def match(self, sentence, candidates):
            return next(iter(as_mrs(candidates)))

    def as_mrs(candidates):
        from semparse.meaning import as_mr

        return [as_mr(one) for one in candidates]

    known = Bag(text="a", candidates=("f(x)",), gold=("f(x)",))
    unknown = Bag(text="b", candidates=("f(y)",))
    noise = Bag(text="c", candidates=("f(z)",), gold=())
    assert score_matches(First(), [known, unknown]).precision == 1
    assert score_matches(First(), [known, noise]).precision == 0.5


@pytest.mark.parametrize("copies", [[[0, 1]], [[7, 0]], [[1, 1]]])
def test_a_slot_is_copied_from_an_earlier_one(copies):
    described = {"relations": {"f": {"slots": ["t", "t"], "copies": copies}}, "types": {"t": ["a"]}}
    with pytest.raises(SchemaError, match="copy an earlier slot to a later one"):
        Schema.from_json(described)
