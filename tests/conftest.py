"""What all tests share: those marked `corpora` are skipped where the real corpora are absent."""

import os
import signal

import hypothesis
import pytest

# How long an example takes says nothing about whether it is right.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

# A shell has its background jobs ignore Ctrl-C, which children inherit; those that test it must hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    if os.environ.get("STRUCTSVM_CORPORA"):
        return
    skip = pytest.mark.skip(reason="STRUCTSVM_CORPORA is not set")
    for item in items:
        if item.get_closest_marker("corpora"):
            item.add_marker(skip)
