"""Concept labelling: find the thing in the world that each word of a sentence refers to."""

from semparse.concepts.labeller import ConceptLabeller

__all__ = ["ConceptLabeller"]
