"""The optimizers. They are imported when first used, because tagging needs none of them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "KernelLaRank",
    "KernelSVMStruct",
    "LaRank",
    "Machine",
    "NotFittedError",
    "Optimizer",
    "ParallelLaRank",
    "PassiveAggressive",
    "Perceptron",
    "Point",
    "RandomField",
    "SVMStruct",
]

_MODULES = {
    "base": ("Optimizer",),
    "curve": ("Point",),
    "kernel": ("KernelLaRank", "KernelSVMStruct"),
    "larank": ("LaRank", "PassiveAggressive"),
    "parallel": ("ParallelLaRank",),
    "perceptron": ("Perceptron",),
    "random_field": ("RandomField",),
    "results": ("NotFittedError",),
    "svmstruct": ("SVMStruct",),
}
_HOME = {name: f"structsvm.optimizers.{module}" for module, names in _MODULES.items() for name in names}
_HOME["Machine"] = "structsvm.machine"


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'structsvm.optimizers' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value
