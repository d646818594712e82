from typing import Any

HINGE: int
SQUARED_HINGE: int

def run(
    *arrays: Any, loss: int, lam: float, t0: float, skip: int, second_order: bool, constant: bool
) -> None: ...
