"""Settings of all tests; those marked `corpora` are skipped if the real corpora are absent."""

import os
import signal

# Threads of BLAS that wait for work count as processor time, which tests of growth compare.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import pytest

# Without clocks or dice: a slow machine fails no test, and a run repeats.
hypothesis.settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    max_examples=20,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("repeatable")

# A shell has its background jobs ignore Ctrl-C, which children inherit; those that test it must hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    if os.environ.get("STRUCTSVM_CORPORA"):
        return
    skip = pytest.mark.skip(reason="STRUCTSVM_CORPORA is not set")
    for item in items:
        if item.get_closest_marker("corpora"):
            item.add_marker(skip)
