"""What all tests share: those marked `corpora` are skipped where the real corpora are absent."""

import os

import hypothesis
import pytest

# How long an example takes says nothing about whether it is right.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


def pytest_collection_modifyitems(items):
    if os.environ.get("STRUCTSVM_CORPORA"):
        return
    skip = pytest.mark.skip(reason="STRUCTSVM_CORPORA is not set")
    for item in items:
        if item.get_closest_marker("corpora"):
            item.add_marker(skip)
