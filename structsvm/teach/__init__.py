"""Teach a model by answering questions: a journal of answers, a session that asks, and a page."""
