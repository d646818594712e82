"""Forget support patterns and features of a training state of a sequence problem."""

from __future__ import annotations

import numpy as np

from structsvm.problems.sequence.problem import SequenceProblem


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
