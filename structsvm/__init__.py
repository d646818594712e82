"""Structured-output SVMs: one dual, many schedules."""

from importlib.util import find_spec

if find_spec("structsvm._schedules") is None:
    raise ImportError(
        "structsvm is not compiled here: run `make demo` in this folder and use .venv/bin/python, or install "
        "it with `pip install .` and start Python in another folder"
    )

from structsvm._training import ConvergenceWarning, NotFittedError, Point
from structsvm.classifier import LaRankClassifier
from structsvm.kernel_larank import KernelLaRank, KernelSVMStruct
from structsvm.larank import LaRank, PassiveAggressive
from structsvm.perceptron import Perceptron
from structsvm.problem import Problem
from structsvm.problems import AmbiguousBags, Multiclass
from structsvm.svmstruct import SVMStruct

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
    "SVMStruct",
]
