"""The options that several optimizers have."""

from __future__ import annotations

from typing import Any

from structsvm.optimizers.curve import Callback
from structsvm.options import RANDOM_STATE, is_function, option, unchecked, with_options
from structsvm.problem import Problem


@with_options
class OptimizerOptions:
    """The options that all optimizers have."""

    problem: Problem = option(kw_only=False, valid=unchecked, help="The structure that is learned.")
    random_state: Any = RANDOM_STATE
    callback: Callback | None = option(
        default=None, valid=is_function,
        help="A function of a `Point`, called several times a second. If it returns a true value, training "
        "ends.",
    )  # fmt: skip


@with_options
class SVMOptions:
    """The options of the optimizers of a dual."""

    C: float = option(
        default=1.0, above=0,
        help="The weight of the slacks: a larger value fits the training data more closely.",
    )  # fmt: skip
    rescaling: str = option(
        default="margin", choices=("margin", "slack"), help="What the loss of an output rescales."
    )
    slack: str = option(default="l1", choices=("l1", "l2"), help="Whether slacks count as such or squared.")
