"""Kernels executed without a GPU."""
