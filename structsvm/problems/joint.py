"""Problems that are given by a joint kernel instead of joint features."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from structsvm.problem import Problem


class JointKernelProblem(Problem):
    """A structured output problem with a joint kernel J((x, y), (x', y')), for small data.

    Subclasses define `joint_kernel` and `candidates`, and usually `loss`. Train it with `KernelSVMStruct` or
    `KernelLaRank`, which compute J once between all pairs of a training pattern and one of its candidates.
    """

    @abstractmethod
    def joint_kernel(self, x: Any, y: Any, other_x: Any, other_y: Any) -> float:
        """J((x, y), (other_x, other_y)): symmetric and positive semi-definite."""

    def joint_feature(self, x: Any, y: Any) -> Any:
        """Raise an error: the features are implicit."""
        raise TypeError(
            f"{type(self).__name__} has a joint kernel and no joint features: use KernelSVMStruct or "
            "KernelLaRank"
        )

    def oracle(self) -> Any:
        return self.joint_feature(None, None)
