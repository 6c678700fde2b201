"""Runs kernels without a GPU: CUDA C++ on fibers, Triton's IR with torch, PTX with numpy."""
