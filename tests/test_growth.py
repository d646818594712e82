"""The check of growth accepts linear work, and refuses quadratic work and work that shows no growth."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.growth import check_growth


def steps(n: int) -> int:
    return sum(range(n))


def test_linear_work_is_accepted() -> None:
    check_growth(lambda n: lambda: steps(100 * n), 50)


def test_work_with_a_quadratic_part_as_large_as_the_linear_one_is_refused() -> None:
    def prepare(n: int) -> Callable[[], None]:
        def work() -> None:
            steps(2000 * n)
            for _ in range(n):
                steps(20 * n)  # as much, if n is 100

        return work

    with pytest.raises(AssertionError, match="the time for 100 and 400 elements grows too fast"):
        check_growth(prepare, 100, limit=400)


def test_work_whose_fixed_part_hides_its_growth_is_refused() -> None:
    with pytest.raises(AssertionError, match="too few to see how the time grows"):
        check_growth(lambda n: lambda: steps(200_000 + n), 10, limit=40)


def test_quadratic_memory_is_refused() -> None:
    with pytest.raises(AssertionError, match="the memory grows too fast"):
        check_growth(lambda n: lambda: (steps(100 * n), bytearray(n * n)), 1000, limit=4000)
