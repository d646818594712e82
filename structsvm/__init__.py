"""Structured-output SVMs: one dual, many schedules."""
