"""Runs kernels without a GPU: CUDA C++ as C++ on fibers, Triton's IR on torch tensors."""
