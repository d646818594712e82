"""`structsvm crossval`: the score of a tagger by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from structsvm.options import check_conflicts
from taggers.commands.training import MORPHOLOGY, check_ready
from taggers.conlleval import Evaluation, evaluate
from taggers.features.documents import document_starts
from taggers.labels.checks import tell_of_reading
from taggers.labels.files import joined, read_files
from taggers.labels.label_encoding import split_by_sentence
from taggers.options import OPTIONS
from taggers.sources.memory import MemorySource
from taggers.tagger import TASKS
from taggers.uncertainty import interval, sentence_counts, share_of
from taggers.weak.crossing import Folds

FOLDS = 10


@dataclass(frozen=True)
class CrossValidation:
    """The labels of all folds together compared with the gold labels, and the score of each fold.

    measure: F1 or accuracy. units: what stayed in one fold, documents or sentences; `total` is their number.
    """

    evaluation: Evaluation
    scores: list[float]
    measure: str
    units: str
    total: int

    @property
    def deviation(self) -> float:
        """The standard deviation of the scores of folds."""
        return float(np.std(self.scores, ddof=1))

    def as_dict(self) -> dict[str, Any]:
        """Everything as numbers, lists and dictionaries, for JSON."""
        folds = {name: value for name, value in asdict(self).items() if name != "evaluation"}
        return {**self.evaluation.as_dict(), "folds": {**folds, "deviation": self.deviation}}


def crossval(
    task: str,
    file: str | Path | Sequence[str | Path],
    *,
    folds: int = FOLDS,
    inputs: Sequence[int | str] | None = None,
    label: int | str | None = None,
    format: str = "auto",
    encoding: str = "utf-8",
    progress: Callable[[int], Any] | None = None,
    **options: Any,
) -> CrossValidation:
    """Cross-validate a tagger on one or several labelled files.

    The sentences of a document stay in one fold, if the files mark at least as many documents as there are
    folds. The interval is a bootstrap over documents or sentences.

    Parameters
    ----------
    progress
        Receives the number of each finished fold.
    options
        Those of `SequenceTagger`.
    """
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task!r}")
    options = {name: value for name, value in options.items() if value is not None}
    tagger = TASKS[task](**options)
    check_conflicts(OPTIONS, options, tagger.settings(), flags=True, source="memory")
    labels = list(MORPHOLOGY) if label is None and task == "morph" else [label]
    parts = read_files(file, format=format, encoding=encoding, inputs=inputs, labels=labels)
    data = joined(parts)
    check_ready(data.columns, options)
    if len(labels) == 1:
        for part in parts:
            tell_of_reading(*part)
    starts, numbers = document_starts(data.columns), np.arange(data.columns.n_sentences)
    if starts is not None:
        numbers = np.searchsorted(starts, numbers, "right")
    units = "documents"
    if len(np.unique(numbers)) < folds or len(np.unique(numbers)) == len(numbers):
        units, numbers = "sentences", np.arange(data.columns.n_sentences)
    seed = tagger.random_state
    trained = Folds(tagger, MemorySource(*data), folds=folds, seed=seed, groups=numbers, callback=progress)
    gold, scores = trained.source.gold, []
    spans = trained.model.labels.outer != "none" and task != "pos"
    ids = np.zeros(int(gold.sentence_ptr[-1]), np.int32)
    for one in trained:
        ids[one.tokens] = one.model.tag(one.X)
    right, found = gold.lists(), split_by_sentence(ids, trained.model.names, gold.sentence_ptr)
    known = [[label is not None for label in labels] for labels in right]
    right, found = (
        [[x for x, is_known in zip(*pair, strict=True) if is_known] for pair in zip(rows, known, strict=True)]
        for rows in (right, found)
    )
    counts = sentence_counts(right, found, spans=spans)
    scores = [float(share_of(counts[trained.fold_of == fold].sum(axis=0))) for fold in range(folds)]
    _, unit = np.unique(numbers, return_inverse=True)
    total = int(unit.max()) + 1
    grouped = np.stack([np.bincount(unit, column, total) for column in counts.T], axis=1)
    result = evaluate(right, found)
    result = replace(result, types=result.types if spans else {}, interval=interval(grouped))
    return CrossValidation(result, scores, "F1" if spans else "accuracy", units, total)
