"""Worlds and instructions of the form of SAIL, on a map of our own: plans and their execution."""

from dataclasses import replace

import pytest

from corpora.readers import sail
from corpora.readers.sail import Impossible, Instruction, Pose, load_sail, read_traces, read_world
from semparse.meaning import parse_mr
from semparse.schema import Schema
from structsvm.files import DataError

MAP = """<?xml version="1.0"?>
<map name="Yard">
 <node x="1" y="1" item="" /><node x="2" y="1" item="lamp" /><node x="3" y="1" item="" />
 <node x="3" y="2" item="sofa" />
 <edge node1="1,1" node2="2,1" wall="fish" floor="blue" />
 <edge node1="2,1" node2="3,1" wall="fish" floor="blue" />
 <edge node1="3,1" node2="3,2" wall="tower" floor="wood" />
</map>
"""
TRACES = """One
y=1\tmap=yard\tx=1
walk past the lamp to the corner
FORWARD(1,1,90);FORWARD(2,1,90);(3, 1, 90)
head for the sofa
RIGHT(3,1,90);FORWARD(3,1,180);(3, 2, 180)
this is the end
(3, 2, 180)
"""


@pytest.fixture
def yard(tmp_path):
    (tmp_path / "map.xml").write_text(MAP)
    (tmp_path / "yard.settrc").write_text(TRACES)
    return read_world(tmp_path / "map.xml"), list(read_traces(tmp_path / "yard.settrc", "yard"))


def test_plans_lead_where_people_went_and_fit_the_schema(yard):
    world, (first, second, third) = yard
    schema = Schema.from_json(sail.SCHEMA)
    for one in (first, second):
        plans = [parse_mr(plan) for plan in world.plans(one)]
        assert plans
        assert all(world.execute(plan, one.start) == one.end for plan in plans)
        assert all(schema.valid(plan) for plan in plans)
    assert {"walk(2)", "walk_to(wall)", "walk_to(wood)"} <= set(world.plans(first))
    assert {"go_to(sofa)", "then(turn(right), walk_to(sofa))"} <= set(world.plans(second))
    assert world.plans(third) == ["stay"]


@pytest.mark.parametrize(
    ("plan", "end"),
    [("walk_to(lamp)", (2, 1, 90)), ("turn(back)", (1, 1, 270)), ("face(path)", (1, 1, 90)),
     ("then(walk(2), face(sofa))", (3, 1, 180)), ("walk_to(at_right(sofa))", (3, 1, 90)),
     ("walk(3)", None), ("face(at_back(lamp))", (1, 1, 270)), ("walk_to(easel)", None), ("sing", None)],
)  # fmt: skip
def test_execution_reaches_a_pose_or_says_that_it_is_impossible(yard, plan, end):
    world, start = yard[0], Pose(1, 1, 90)
    if end is None:
        with pytest.raises(Impossible):
            world.execute(parse_mr(plan), start)
    else:
        assert world.execute(parse_mr(plan), start) == end


def test_broken_files_are_refused_with_their_line(tmp_path):
    (tmp_path / "map.xml").write_text("<map><node x='1' y='1'/></map>")
    with pytest.raises(DataError, match="not a map of SAIL"):
        read_world(tmp_path / "map.xml")
    (tmp_path / "bad.settrc").write_text(TRACES.replace("(3, 1, 90)", "(3, 1)"))
    with pytest.raises(DataError, match=r"bad\.settrc:4: .*not a trace"):
        list(read_traces(tmp_path / "bad.settrc", "yard"))


def test_all_instructions_of_the_corpus_are_read():
    try:
        worlds, found = load_sail()
    except FileNotFoundError:
        pytest.skip("SAIL is not on this machine")
    assert (len(worlds), len(found)) == (3, 3233)


def test_actions_that_do_not_lead_to_the_end_give_no_plan(yard):
    world, start = yard[0], Pose(1, 1, 90)
    wrong = Instruction("a 1", "yard", "turn left", start, ("LEFT",), start)
    assert world.plans(wrong) == []
    assert world.plans(replace(wrong, actions=())) == ["stay"]
    assert world.execute(parse_mr("stay"), start) == start
    assert world.plans(replace(wrong, end=Pose(1, 1, 0))) != []
