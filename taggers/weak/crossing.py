"""Label sentences by models that have not learned them: each fold by the model of the other folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structsvm.validation import check_count
from taggers.options import checked_settings
from taggers.sources.memory import MemorySource
from taggers.tagger import SequenceTagger
from taggers.trainer import begin


class Crossed(NamedTuple):
    """The answers of the models of other folds for each token.

    ids: the label, as a position in `names`. probabilities: of all labels, tokens x names. sentence_ptr:
    where each sentence begins.
    """

    ids: np.ndarray
    probabilities: np.ndarray
    names: list[str]
    sentence_ptr: np.ndarray


def cross_predict(
    tagger: SequenceTagger,
    X: Any,
    y: Any,
    *,
    folds: int,
    seed: int = 0,
    callback: Callable[[int], Any] | None = None,
) -> Crossed:
    """Label each sentence by a model that was trained on the other folds.

    The features are extracted once, without labels, and all folds share them. callback: receives the number
    of each finished fold.
    """
    check_count(folds=folds, low=2, high=1000)
    settings = {**checked_settings(tagger), "shards": 1, "callback": None}
    source = MemorySource(X, y)
    facts = source.survey(tagger.TASK)
    if facts.sentences < folds:
        raise ValueError(f"{facts.sentences} sentences cannot be split into {folds} folds; use fewer folds")
    model = tagger._new_model(source.X, facts.width, facts.triples, settings)
    (data,) = source.datasets(model, facts, settings)
    if model.space.needs_first_round:
        raise ValueError("a template with doc_label cannot be used here: its features depend on labels")
    order = np.random.default_rng(seed).permutation(facts.sentences)
    pointers = data.X.sentence_ptr
    ids = np.zeros(facts.tokens, np.int32)
    probabilities = np.zeros((facts.tokens, len(model.names)), np.float32)
    for fold in range(folds):
        inside = np.sort(order[fold::folds])
        chosen = np.delete(np.arange(facts.sentences), inside)
        part = type(data)(data.X[chosen], data.y[chosen])
        if not (part.y.codes != -1).any():
            raise ValueError("too few sentences have labels to learn from some of the folds; use fewer folds")
        optimizer = begin(model, part, settings | {"random_state": seed + fold})
        for _ in range(settings["epochs"]):
            optimizer.epoch()
        trained, held_out = model.with_weights(optimizer), data.X[inside]
        at = np.repeat(pointers[inside] - held_out.sentence_ptr[:-1], np.diff(held_out.sentence_ptr))
        at += np.arange(held_out.n_tokens)
        ids[at], probabilities[at] = trained.tag(held_out), trained.marginals(held_out)
        if callback is not None:
            callback(fold + 1)
    return Crossed(ids, probabilities, model.names, pointers)
