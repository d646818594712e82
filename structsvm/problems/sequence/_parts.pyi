from typing import Any

class PartsOracle:
    def __init__(self, problem: Any, parts: Any, stride: int, order: int, per_part: float) -> None: ...
