"""`structsvm explain`: the features behind the labels and trees of one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from taggers.explanation import explain as explain_labels
from taggers.formats.tokenizer import split_sentences
from taggers.model import TaggerModel
from taggers.pipeline import Pipeline, open_model


def explain(
    model: TaggerModel | Pipeline | str | Path, sentence: str | Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """Return for each layer of a model why each word gets its label, or its head and its label.

    sentence: a text, which the model splits as `tag` does, or its words. A tagger has one layer, `label`.
    """
    model = open_model(model)
    if isinstance(sentence, str):
        split = model.split if isinstance(model, Pipeline) else split_sentences
        found = split(sentence)
        if len(found) > 1:
            raise ValueError(f"the text has {len(found)} sentences; pass one, or its words as a list")
        sentence = [word for tokens in found for token in tokens for word in token.words or (token.text,)]
    if not sentence:
        raise ValueError("the sentence has no words; pass at least one")
    if isinstance(model, Pipeline):
        return model.explain(sentence)
    template = model.space.template
    if template is None or template.width > 1:
        reads = "features instead of words" if template is None else f"{template.width} columns"
        raise ValueError(f"the model reads {reads}; use explain of its tagger in Python")
    return {"label": explain_labels(model, list(sentence))}
