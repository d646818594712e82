"""Change the size of a saved training state: more labels, fewer features or support patterns."""

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


def without_patterns(state: dict[str, np.ndarray], keep: np.ndarray) -> dict[str, np.ndarray]:
    """A training state with the support patterns where `keep` is true.

    The weights stay: what the others have taught is kept, but it can no longer be revised.
    """
    outputs = np.repeat(keep, state["dual.counts"])
    entries = np.repeat(outputs, state["dual.lengths"])
    parts = {
        "place": keep, "rows.places": keep, "dual.upper": keep, "dual.counts": keep,
        "dual.alpha": outputs, "dual.loss": outputs, "dual.lengths": outputs,
        "dual.indices": entries, "dual.values": entries,
    }  # fmt: skip
    return state | {name: state[name][part] for name, part in parts.items()}


def without_features(
    state: dict[str, np.ndarray], problem: SequenceProblem, keep: np.ndarray
) -> dict[str, np.ndarray]:
    """A training state with the features where `keep` is true, renumbered, as if there were no others."""
    state, kept = dict(state), np.concatenate([np.ones(problem.history, bool), keep])
    row_of = np.cumsum(kept) - 1
    for name in ("dual.weights", "dual.moments"):
        if name in state:
            table = state[name].reshape(-1, problem.stride)
            state[name] = table[kept[: len(table)]].reshape(-1)
    if "dual.indices" in state:
        row, label = np.divmod(state["dual.indices"].astype(np.int64), problem.stride)
        entries, lengths = kept[row], state["dual.lengths"]
        output = np.repeat(np.arange(len(lengths)), lengths)[entries]
        state["dual.lengths"] = np.bincount(output, minlength=len(lengths))
        state["dual.indices"] = (row_of[row] * problem.stride + label)[entries].astype(np.int32)
        state["dual.values"] = state["dual.values"][entries]
    if "rows.rows" in state:
        rows = state["rows.rows"]
        used = keep[rows]
        state["rows.rows"] = (row_of[problem.history + rows] - problem.history)[used].astype(np.int32)
        if "rows.values" in state:
            state["rows.values"] = state["rows.values"][used]
        state["rows.token_ptr"] = np.concatenate([[0], np.cumsum(used)])[state["rows.token_ptr"]]
    return state


def _new_row(row: np.ndarray, old: SequenceProblem, new: SequenceProblem) -> np.ndarray:
    """The new position of a row of weights; the order is kept, and the row of "no label" stays last in its
    block."""
    block, before = np.divmod(row, old.width + 1)
    before = np.where(before == old.width, new.width, before)
    return np.where(row < old.history, block * (new.width + 1) + before, row - old.history + new.history)
