"""Binary classifiers of the LaRank family: kernel machines trained online, and linear SVMs by SGD-QN."""

from structsvm.binary.huller import HullerClassifier
from structsvm.binary.lasvm import LaSVMClassifier
from structsvm.binary.perceptrons import KernelPassiveAggressive, KernelPerceptron
from structsvm.binary.sgdqn import SGDQNClassifier
from structsvm.binary.tracking import TrackingClassifier

__all__ = [
    "HullerClassifier", "KernelPassiveAggressive", "KernelPerceptron", "LaSVMClassifier",
    "SGDQNClassifier", "TrackingClassifier",
]  # fmt: skip
