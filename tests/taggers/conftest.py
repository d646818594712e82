"""Fixtures that several files share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def learner(model: Path, tmp_path: Path) -> Iterator[Any]:
    """What `structsvm serve` asks, for the model file of a test module."""
    from taggers.serve.learner import Learner

    learner = Learner(model, tmp_path / "journal.jsonl")
    yield learner
    learner.close()
