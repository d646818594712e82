"""`Space`: the interface between an optimizer and the form in which w is stored."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from structsvm.machine import Inputs, Machine, Outputs, Patterns, Unsupported
from structsvm.problem import Problem


class Space(ABC):
    """The form in which w is stored: as numbers, as copies for threads, or as a sum over support patterns.

    In each of them, an optimizer solves the problem of `Optimizer`. A space chooses the store of the
    patterns and the machine that make its steps.
    """

    @abstractmethod
    def oracle(self, problem: Problem, *, rescaling: str, slack: str) -> Patterns:
        """An empty store of patterns.

        Requires: the problem is prepared for its data.
        Ensures: the store finds the most violated outputs of this form of the problem; ValueError or
        TypeError if the problem or the space has no such form.
        """

    @abstractmethod
    def machine(self, oracle: Patterns, *, C: float, tau: float, kappa: float, seed: int) -> Machine:
        """A machine that has learned nothing, w = 0, for the patterns of a store of this space."""

    @abstractmethod
    def predict(self, problem: Problem, machine: Machine, X: Inputs) -> Outputs:
        """argmax_y <w, Phi(x, y)> for each pattern, with the w of a machine of this space."""

    def checked(self, problem: Problem, X: Inputs) -> Inputs:
        """The rows of X for `scores`, as a matrix of the width of the training data."""
        raise Unsupported(f"{type(problem).__name__} has no decision_function; use predict")

    def scores(self, problem: Problem, machine: Machine, X: Inputs) -> np.ndarray:
        """<w, Phi(x, y)> for each checked row, with a column for each class."""
        raise Unsupported(f"{type(problem).__name__} has no decision_function; use predict")
