"""Change a saved training state: make room for more labels."""

from __future__ import annotations

import numpy as np

from structsvm.problems.sequence.problem import SequenceProblem


def wider_weights(weights: np.ndarray, old: SequenceProblem, new: SequenceProblem) -> np.ndarray:
    """The weights in the layout of `new`, whose first labels are those of `old`; new weights are zero."""
    table = weights.reshape(-1, old.stride)
    wide = np.zeros((len(table) - old.history + new.history, new.stride), weights.dtype)
    wide[_new_row(np.arange(len(table)), old, new), : old.width] = table[:, : old.width]
    return wide.reshape(-1) if weights.ndim == 1 else wide


def wider_state(
    state: dict[str, np.ndarray], old: SequenceProblem, new: SequenceProblem
) -> dict[str, np.ndarray]:
    """A `training_state` in the layout of `new`."""
    state = dict(state)
    for name in ("dual.weights", "dual.moments"):
        if name in state:
            state[name] = wider_weights(state[name], old, new)
    if "dual.indices" in state:
        row, label = np.divmod(state["dual.indices"].astype(np.int64), old.stride)
        state["dual.indices"] = (_new_row(row, old, new) * new.stride + label).astype(np.int32)
    if "rows.sets" in state:
        more = ((0, 0), (0, new.n_labels - old.n_labels))
        state["rows.sets"] = np.pad(state["rows.sets"], more)
    if "rows.bigram_rows" in state:
        rows, missing = state["rows.bigram_rows"], new.n_labels - old.n_labels
        none = np.full((len(rows), missing), -1, np.int32)
        state["rows.bigram_rows"] = np.hstack([rows[:, :-1], none, rows[:, -1:]])
    return state


def _new_row(row: np.ndarray, old: SequenceProblem, new: SequenceProblem) -> np.ndarray:
    """The new position of a row of weights; the order is kept, and the row of "no label" stays last in its
    block."""
    block, before = np.divmod(row, old.width + 1)
    before = np.where(before == old.width, new.width, before)
    return np.where(row < old.history, block * (new.width + 1) + before, row - old.history + new.history)
