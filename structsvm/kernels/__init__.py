"""Kernels between rows of matrices, and the inputs that kernel machines compare with them."""
