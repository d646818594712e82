"""Structured-output SVMs: optimizers, problems and classifiers."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structsvm.classifier import LaRankClassifier
    from structsvm.optimizers.curve import Point
    from structsvm.optimizers.kernel import KernelLaRank, KernelSVMStruct
    from structsvm.optimizers.larank import LaRank, PassiveAggressive
    from structsvm.optimizers.perceptron import Perceptron
    from structsvm.optimizers.random_field import RandomField
    from structsvm.optimizers.results import NotFittedError
    from structsvm.optimizers.svmstruct import SVMStruct
    from structsvm.problem import Problem
    from structsvm.problems.ambiguous import AmbiguousBags
    from structsvm.problems.multiclass import Multiclass
    from structsvm.training import ConvergenceWarning

if find_spec("structsvm._dual.schedules") is None:
    raise ImportError(
        "structsvm is not compiled here; run `make demo` in this folder and use .venv/bin/python, or run "
        "`pip install .` and start Python in another folder"
    )

__version__ = "0.1.0"

__all__ = [
    "AmbiguousBags",
    "ConvergenceWarning",
    "KernelLaRank",
    "KernelSVMStruct",
    "LaRank",
    "LaRankClassifier",
    "Multiclass",
    "NotFittedError",
    "PassiveAggressive",
    "Perceptron",
    "Point",
    "Problem",
    "RandomField",
    "SVMStruct",
]

_MODULES = {
    "classifier": ("LaRankClassifier",),
    "optimizers.curve": ("Point",),
    "optimizers.results": ("NotFittedError",),
    "optimizers.kernel": ("KernelLaRank", "KernelSVMStruct"),
    "optimizers.larank": ("LaRank", "PassiveAggressive"),
    "optimizers.perceptron": ("Perceptron",),
    "optimizers.random_field": ("RandomField",),
    "optimizers.svmstruct": ("SVMStruct",),
    "problem": ("Problem",),
    "problems.ambiguous": ("AmbiguousBags",),
    "problems.multiclass": ("Multiclass",),
    "training": ("ConvergenceWarning",),
}
_HOME = {name: f"structsvm.{module}" for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public class when it is first used, so that the command line starts quickly."""
    if name not in _HOME:
        raise AttributeError(f"module 'structsvm' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
