"""`structsvm simulate`: JSONL of any world, complete or not at all."""

import json

import pytest

from corpora.simulators.by_name import SIMULATORS, simulate
from tests.taggers import command_line


def run(*arguments, cwd):
    return command_line.run("simulate", *arguments, cwd=cwd)


@pytest.mark.parametrize("name", SIMULATORS)
def test_lines_are_objects_and_seeds_repeat(name, tmp_path):
    done = run(name, "-n", 20, "--seed", 3, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(objects) == 20
    assert all(one["text"] and one["candidates"] and isinstance(one["gold"], list) for one in objects)
    assert run(name, "-n", 20, "--seed", 3, "-o", "out.jsonl", cwd=tmp_path).stdout == b""
    assert (tmp_path / "out.jsonl").read_bytes() == done.stdout
    assert run(name, "-n", 20, "--seed", 4, cwd=tmp_path).stdout != done.stdout


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["farm"], "simulator must be one of home, house, child-world, sportscast, got 'farm'"),
        (["sportscast", "--level", 2], "leave it out"),
        (["house", "--off-topic", 0.2], "off_topic has no effect on the simulator house; leave it out"),
        (["home", "--off-topic", 1.2], "must be at most 1, got 1.2"),
        (["home", "--order", "within"], "order must be one of before, after, mixed, got 'within'"),
        (["house", "--level", -1], "--level"),
        (["house", "-n", 0], "-n"),
        (["house", "-o", "no/such/out"], "there is no folder no/such"),
    ],
)
def test_wrong_use_is_reported_and_leaves_nothing(arguments, part, tmp_path):
    done = run(*arguments, *([] if "-o" in arguments else ["-o", "out.jsonl"]), cwd=tmp_path)
    assert done.returncode == 2
    assert part in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    assert not list(tmp_path.iterdir())


def test_simulate_returns_what_it_wrote(tmp_path):
    bags = simulate("child-world", 10, tmp_path / "out.jsonl", level=2, seed=1)
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["candidates"] for line in lines] == [list(bag.candidates) for bag in bags]
