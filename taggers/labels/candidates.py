"""Find the labels that were seen with a part of speech, a word or an ending: only these are candidates.

Among a thousand labels, a token has few that fit it. A set of candidates belongs to a feature that occurs at
least `LEAST` times in the training data, so a label that never occurs with it there is unlikely elsewhere.

The part of speech decides, if there is a second column. If there is none, the word decides, and the ending of
a word without a set; the order of the features in the template does not matter. Training compares all labels:
candidates restrict only predictions. Training on other data after `fit`, such as `partial_fit`, drops them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structsvm.problems.sequence import Candidates, SequenceLabels
from taggers.features.extract import Extractor, as_columns
from taggers.features.template import parse_template
from taggers.model import TaggerModel

LEAST = 100
FIRST_TAGGER = ("p[0]",)  # the part of speech, in the second column
LEXICON = ("lower[0]", "lower_suffix3[0]")  # if there is no second column; the first with a set decides


def seen_labels(
    model: TaggerModel, X: Any, y: SequenceLabels, tokens: np.ndarray | None = None
) -> Candidates | None:
    """Return the candidates of tokens by their features, if labels share weights; X: the training data.

    tokens: a mask of those that count; by default all.
    """
    if not model.labels.share or model.space.template is None:
        return None
    columns = as_columns(X)
    template = parse_template(", ".join(FIRST_TAGGER if model.space.template.width > 1 else LEXICON))
    sets: dict[int, set[int]] = {}
    tokens = np.ones(columns.n_tokens, bool) if tokens is None else tokens
    codes = y.codes[tokens]
    for keys in Extractor(template).keys(columns)[tokens].T:
        rows = model.space.table.rows(keys)
        counts = np.bincount(rows[rows >= 0], minlength=len(model.space))
        frequent = (rows >= 0) & (counts[rows] >= LEAST)
        partial = set(rows[frequent & (codes < 0)].tolist())  # of a token without a single gold label
        pairs = np.unique(np.stack([rows, codes], 1)[frequent], axis=0)
        for row, label in pairs.tolist():
            if row not in partial:
                sets.setdefault(row, set()).add(label)
    return Candidates.of(sets) if sets else None
