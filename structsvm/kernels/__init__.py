"""Kernels between rows of matrices, and the inputs that kernel machines compare with them."""

from structsvm.kernels.functions import (
    Inputs,
    PrecomputedInputs,
    SparseInputs,
    gamma_value,
    kernel_function,
    squared_norms,
)

__all__ = [
    "Inputs",
    "PrecomputedInputs",
    "SparseInputs",
    "gamma_value",
    "kernel_function",
    "squared_norms",
]
