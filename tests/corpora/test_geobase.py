"""Answers to FunQL over facts of our own, in the form of Geobase."""

import json

import pytest

from corpora.readers.geobase import Geobase, Impossible, Thing, load_geobase
from corpora.readers.wasp import load_geoquery
from semparse import as_mr
from semparse.outcomes import executed
from structsvm.files import DataError

FACTS = {
    "countries": [{"country": "usa", "population": 30, "area": 60}],
    "states": [
        {"state": "north", "abbreviation": "no", "capital": "ada", "population": 20, "area": 10},
        {"state": "south", "abbreviation": "so", "capital": "bee", "population": 10, "area": 20},
        {"state": "isle", "abbreviation": "is", "capital": "sea", "population": 9, "area": 30},
    ],
    "cities_and_capitals": [{"state": "south", "abbreviation": "so", "city": "ada"}],
    "cities": [
        {"state": "north", "abbreviation": "no", "city": "ada", "population": 200_000},
        {"state": "south", "abbreviation": "so", "city": "bee", "population": 100_000},
    ],
    "borders": [
        {"state": "north", "abbreviation": "no", "neighbors": ["south"]},
        {"state": "isle", "abbreviation": "is", "neighbors": []},
    ],
    "rivers": [
        {"river": "long", "length": 900, "states": ["north", "south", "south"]},
        {"river": "short", "length": 90, "states": ["south"]},
    ],
    "lakes": [{"lake": "wide", "area": 6000, "states": ["north"]}],
    "mountains": [{"state": "north", "abbreviation": "no", "mountain": "peak", "elevation": 4000}],
    "highlows": [
        {"state": "north", "high_point": "mount peak", "high_elevation": 4000, "low_point": "wide",
         "low_elevation": 5},
        {"state": "south", "high_point": "hill", "high_elevation": 300, "low_point": "coast",
         "low_elevation": 0},
    ],
}  # fmt: skip
NORTH, SOUTH, ISLE = (Thing("state", name) for name in ("north", "south", "isle"))
ADA, BEE = Thing("city", "ada", "north"), Thing("city", "bee", "south")
LONG, SHORT = Thing("river", "long"), Thing("river", "short")
PEAK, HILL = Thing("place", "peak", "north"), Thing("place", "hill", "south")


@pytest.mark.parametrize(
    ("meaning", "answer"),
    [
        ("state(all)", {NORTH, SOUTH, ISLE}),
        ("capital(loc_2(stateid(north)))", {ADA}),
        ("cityid(ada, _)", {ADA, Thing("city", "ada", "south")}),
        ("cityid(ada, so)", {Thing("city", "ada", "south")}),
        ("state(loc_1(cityid(ada, no)))", {NORTH}),
        ("country(loc_1(stateid(north)))", {Thing("country", "usa")}),
        ("city(loc_2(stateid(south)))", {BEE, Thing("city", "ada", "south")}),
        ("state(loc_2(countryid(usa)))", {NORTH, SOUTH, ISLE}),
        ("population_1(cityid(ada, no))", {200_000}),
        ("state(next_to_2(stateid(south)))", {NORTH}),
        ("state(next_to_1(stateid(south)))", {NORTH}),
        ("state(next_to_2(riverid(long)))", {NORTH, SOUTH}),
        ("state(traverse_1(riverid(short)))", {SOUTH}),
        ("river(traverse_2(stateid(south)))", {LONG, SHORT}),
        ("river(traverse_2(countryid(usa)))", {LONG, SHORT}),
        ("major(river(all))", {LONG}),
        ("major(city(all))", {ADA}),
        ("major(lake(all))", {Thing("lake", "wide")}),
        ("largest(state(all))", {ISLE}),
        ("largest_one(population_1(state(all)))", {NORTH}),
        ("smallest_one(density_1(state(all)))", {ISLE}),
        ("density_1(stateid(north))", {2}),
        ("size(stateid(north))", {10}),
        ("smallest(population_1(state(all)))", {9}),
        ("longest(river(loc_2(stateid(south))))", {LONG}),
        ("highest(place(loc_2(countryid(usa))))", {PEAK}),
        ("highest(mountain(loc_2(stateid(south))))", set()),
        ("placeid('mount peak')", {PEAK}),
        ("high_point_1(stateid(south))", {HILL}),
        ("state(high_point_2(higher_2(high_point_1(stateid(south)))))", {NORTH}),
        ("state(low_point_2(elevation_2(0)))", {SOUTH}),
        ("longer(riverid(short))", {LONG}),
        ("longer(riverid(nowhere))", set()),
        ("capital_1(stateid(south))", {BEE}),
        ("state(capital_2(cityid(bee, _)))", {SOUTH}),
        ("exclude(state(all), next_to_2(state(all)))", {ISLE}),
        ("intersection(traverse_2(stateid(north)), traverse_2(stateid(south)))", {LONG}),
        ("most(state(loc_1(river(all))))", {SOUTH}),
        ("most(river(traverse_2(state(all))))", {LONG}),
        ("fewest(state(traverse_1(river(all))))", {NORTH}),
        ("count(river(all))", {2}),
        ("sum(len(river(all)))", {990}),
    ],
)  # fmt: skip
def test_a_meaning_has_its_answer(meaning, answer):
    assert Geobase(FACTS).execute(as_mr(f"answer({meaning})")) == answer


@pytest.mark.parametrize(
    "meaning", ["sum(state(all))", "count(all)", "most(state(all))", "fly(state(all))", "answer(ada)"]
)
def test_a_meaning_without_an_answer_is_impossible(meaning):
    with pytest.raises(Impossible):
        Geobase(FACTS).execute(as_mr(meaning))


def test_a_file_without_facts_is_named(tmp_path):
    (tmp_path / "geobase.json").write_text(json.dumps({"states": []}))
    with pytest.raises(DataError, match=r"geobase\.json.*no facts"):
        load_geobase(tmp_path)


@pytest.mark.corpora
def test_almost_all_meanings_of_geoquery_have_answers():
    geobase = load_geobase()
    answers = [executed(geobase.execute, as_mr(bag.gold[0]), None) for bag in load_geoquery()]
    assert len(answers) == 880
    assert sum(not answer for answer in answers) == 3  # such as the area of a city
    assert sum(answer == [frozenset()] for answer in answers) < 40
