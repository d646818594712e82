"""Structured-output SVMs: one dual, many schedules."""

from structsvm._optimizer import ConvergenceWarning, NotFittedError, Point
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
