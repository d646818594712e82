"""The optimizers. They are imported when first used, because tagging needs none of them."""

from typing import TYPE_CHECKING

from structsvm.lazy import lazy_names

if TYPE_CHECKING:
    from structsvm.machine import Machine
    from structsvm.optimizers.base import Optimizer
    from structsvm.optimizers.curve import Point
    from structsvm.optimizers.kernel import KernelLaRank, KernelSVMStruct
    from structsvm.optimizers.larank import LaRank, PassiveAggressive
    from structsvm.optimizers.parallel import ParallelLaRank
    from structsvm.optimizers.perceptron import Perceptron
    from structsvm.optimizers.random_field import RandomField
    from structsvm.optimizers.results import NotFittedError
    from structsvm.optimizers.svmstruct import SVMStruct

__all__ = [
    "KernelLaRank", "KernelSVMStruct", "LaRank", "Machine", "NotFittedError", "Optimizer",
    "ParallelLaRank", "PassiveAggressive", "Perceptron", "Point", "RandomField", "SVMStruct",
]  # fmt: skip

__getattr__ = lazy_names(
    __name__,
    {
        "structsvm.machine": ("Machine",),
        "structsvm.optimizers.base": ("Optimizer",),
        "structsvm.optimizers.curve": ("Point",),
        "structsvm.optimizers.kernel": ("KernelLaRank", "KernelSVMStruct"),
        "structsvm.optimizers.larank": ("LaRank", "PassiveAggressive"),
        "structsvm.optimizers.parallel": ("ParallelLaRank",),
        "structsvm.optimizers.perceptron": ("Perceptron",),
        "structsvm.optimizers.random_field": ("RandomField",),
        "structsvm.optimizers.results": ("NotFittedError",),
        "structsvm.optimizers.svmstruct": ("SVMStruct",),
    },
)
