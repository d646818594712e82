"""Merge the labels of several annotators into one labelling, with a confidence for each label."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from structsvm.files.atomic import atomic_write
from structsvm.teach.answers import Answer
from taggers.labels.schemes import marks_phrase
from taggers.weak.aggregate import Consensus, aggregate
from taggers.weak.sources import Sentences, Votes


def write_merged(path: str | Path, X: Sentences, consensus: Consensus) -> None:
    """Write the most probable labels of each sentence and their probabilities, as JSON lines."""
    with atomic_write(path) as out:
        for words, labels, sure in zip(X, consensus.best(), consensus.confidence(), strict=True):
            line = {"tokens": list(words), "labels": labels, "confidence": [round(p, 4) for p in sure]}
            out.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


def merge_answers(journals: Mapping[str, Sequence[Answer]]) -> tuple[Sentences, Consensus]:
    """The sentences that annotators have answered in `structsvm teach`, and their merged labels."""
    items = {answer.id: answer.item["tokens"] for answers in journals.values() for answer in answers}
    votes: dict[str, Votes] = {}
    for name, answers in journals.items():
        given = {answer.id: answer.value for answer in answers}
        votes[name] = [given.get(id) or [None] * len(words) for id, words in items.items()]
    labels = {label for rows in votes.values() for label in chain(*rows) if label is not None}
    return list(items.values()), aggregate(votes, phrases=any(map(marks_phrase, labels)))
