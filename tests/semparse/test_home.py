"""The difficulties of real logs, on the simulated home: one seed; `benchmarks.home` has ten."""

import pytest

from benchmarks.home import measure

FLOORS = {
    "base": 0.97,
    "40% off topic": 0.90,
    "unseen names and numbers only": 0.95,
    "30% two clauses": 0.90,
    "30% A when B": 0.93,
    "15% of words misspelt": 0.93,
    "60% of bags without the meaning": 0.85,
    "30% of rooms omitted": 0.93,
    "names of several words": 0.97,
    "numbers in words": 0.95,
}


@pytest.mark.parametrize(("row", "floor"), FLOORS.items())
def test_each_difficulty_is_learned(row, floor):
    assert measure(row, 0)["f1"] >= floor
