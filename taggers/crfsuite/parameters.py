"""The training parameters of CRFsuite: their types, defaults and meanings, for each algorithm."""

from __future__ import annotations

from typing import Any, NamedTuple

ALIASES = {"averaged-perceptron": "ap", "passive-aggressive": "pa"}
MANY = 2**31 - 1


class Parameter(NamedTuple):
    """A parameter: its default, what it does, and whether it does anything here."""

    default: Any
    help: str
    used: bool = True

    def read(self, value: Any) -> Any:
        """The value in the type of the default; it may be given as a str."""
        if isinstance(self.default, bool):
            return bool(int(value))
        return type(self.default)(value)


_FEATURES = {
    "feature.minfreq": Parameter(0.0, "Drop pairs of a feature and a label that occur less often."),
    "feature.possible_states": Parameter(
        False, "Also learn weights of features with labels that they do not occur with."
    ),
    "feature.possible_transitions": Parameter(
        False, "Also learn weights of pairs of labels that do not occur."
    ),
}
_EVERY = "No effect: a feature can get a weight with each label, and each pair of labels too."
_COUNTED = {
    "feature.minfreq": Parameter(0.0, "Drop features that occur less often, with all labels together."),
    "feature.possible_states": Parameter(False, _EVERY, False),
    "feature.possible_transitions": Parameter(False, _EVERY, False),
}
_C2 = {"c2": Parameter(1.0, "The coefficient of the L2 term of the objective.")}
_PERIOD = Parameter(10, "The number of iterations over which the improvement is measured.")
_DELTA = "Training stops when the objective has improved by less than this share."
_TRIALS = Parameter(20, "No effect: the line search has its own limit.", False)
_ONLINE = {
    "max_iterations": Parameter(100, "The largest number of passes over the data."),
    "epsilon": Parameter(0.0, "No effect: all passes are made.", False),
}
_CALIBRATION = {
    "eta": Parameter(0.1, "No effect: the rates tried are fixed.", False),
    "rate": Parameter(2.0, "No effect: the rates tried are fixed.", False),
    "samples": Parameter(1000.0, "No effect: the sample has a fixed size.", False),
    "candidates": Parameter(10, "No effect: the rates tried are fixed.", False),
    "max_trials": Parameter(20, "No effect: the rates tried are fixed.", False),
}

PARAMETERS: dict[str, dict[str, Parameter]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": Parameter(0.0, "The coefficient of the L1 term of the objective."),
        **_C2,
        "max_iterations": Parameter(MANY, "The largest number of iterations."),
        "num_memories": Parameter(6, "The number of updates that approximate the curvature."),
        "epsilon": Parameter(1e-5, "Training stops when the gradient is this much shorter than w."),
        "period": _PERIOD,
        "delta": Parameter(1e-5, _DELTA),
        "linesearch": Parameter("MoreThuente", "No effect: the line search is backtracking.", False),
        "max_linesearch": _TRIALS,
    },
    "l2sgd": {
        **_FEATURES,
        **_C2,
        "max_iterations": Parameter(1000, "The largest number of iterations."),
        "period": _PERIOD,
        "delta": Parameter(1e-6, _DELTA),
        **{f"calibration.{name}": one for name, one in _CALIBRATION.items()},
    },
    "ap": {**_COUNTED, **_ONLINE},
    "pa": {
        **_COUNTED,
        "type": Parameter(1, "No effect: the loss is that of PA-I.", False),
        "c": Parameter(1.0, "The bound of a step, the C of the SVM."),
        "error_sensitive": Parameter(True, "No effect: the loss is the number of wrong labels.", False),
        "averaging": Parameter(True, "No effect: the weights are the last ones.", False),
        **_ONLINE,
    },
    "arow": {
        **_COUNTED,
        "variance": Parameter(1.0, "No effect: see the algorithm.", False),
        "gamma": Parameter(1.0, "No effect: see the algorithm.", False),
        **_ONLINE,
    },
}
