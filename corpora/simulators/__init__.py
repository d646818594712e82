"""Simulators that generate sentences with candidate meanings."""

from corpora.simulators.by_name import simulate
from corpora.simulators.child_world import simulate_child_world
from corpora.simulators.home import simulate_home
from corpora.simulators.house import House, simulate_house
from corpora.simulators.sportscast import simulate_sportscast

__all__ = [
    "House", "simulate", "simulate_child_world", "simulate_home", "simulate_house", "simulate_sportscast",
]  # fmt: skip
