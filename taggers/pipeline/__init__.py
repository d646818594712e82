"""Pipelines of `structsvm train ud`: a splitter of text, tags, lemmas and dependency trees in one file."""

from taggers.pipeline.layers import COLUMNS, LAYERS, Found, Pipeline, extended, open_model
from taggers.pipeline.training import (
    annotated,
    selected,
    train_lemmas,
    train_pipeline,
    train_trees,
)

__all__ = [
    "COLUMNS", "LAYERS", "Found", "Pipeline", "annotated", "extended", "open_model", "selected",
    "train_lemmas", "train_pipeline", "train_trees",
]  # fmt: skip
