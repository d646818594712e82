"""Structured-output SVMs: optimizers, problems and classifiers."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from structsvm.lazy import lazy_names

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
    "AmbiguousBags", "ConvergenceWarning", "KernelLaRank", "KernelSVMStruct", "LaRank",
    "LaRankClassifier", "Multiclass", "NotFittedError", "PassiveAggressive", "Perceptron", "Point",
    "Problem", "RandomField", "SVMStruct",
]  # fmt: skip

__getattr__ = lazy_names(
    __name__,
    {
        "structsvm.classifier": ("LaRankClassifier",),
        "structsvm.optimizers": (
            "KernelLaRank", "KernelSVMStruct", "LaRank", "NotFittedError", "PassiveAggressive", "Perceptron",
            "Point", "RandomField", "SVMStruct",
        ),
        "structsvm.problem": ("Problem",),
        "structsvm.problems.ambiguous": ("AmbiguousBags",),
        "structsvm.problems.multiclass": ("Multiclass",),
        "structsvm.training": ("ConvergenceWarning",),
    },
)  # fmt: skip


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
