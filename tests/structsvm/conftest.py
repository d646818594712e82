"""Hypothesis without clocks or dice: a slow machine fails no test, and a run repeats."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "structsvm",
    deadline=None,
    derandomize=True,
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("structsvm")
