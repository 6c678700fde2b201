"""Runs kernels without a GPU."""
