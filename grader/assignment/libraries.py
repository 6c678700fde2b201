"""The libraries that `rules.libraries` of a kernel may allow, in CUDA C++.

name in a spec → what the emulation of a GPU calls it (`emulation.cuda_cpp.features`)
"""

from __future__ import annotations

from grader.assignment.model import Assignment

LIBRARIES = {
    "cub": "the CUB library",
    "thrust": "the Thrust library",
    "cublas": "the cuBLAS library",
    "cufft": "the cuFFT library",
    "cusparse": "the cuSPARSE library",
    "cusolver": "the cuSOLVER library",
}
# `checks/rules/symbols.toml` forbids these on a GPU, and nvcc cannot link with them.
_NEVER = frozenset({"the cuDNN library", "the NCCL library"})
_HEADERS_ONLY = frozenset({"cub", "thrust"})


def allowed_libraries(assignment: Assignment, path: str) -> frozenset[str] | None:
    """Return the libraries that the kernel in a file may use; None if its spec does not say.

    Thrust is built on CUB, which comes with it.
    """
    for kernel in assignment.kernels:
        if path in kernel.files.values() and kernel.rules.libraries is not None:
            allowed = kernel.rules.libraries
            return allowed | {"cub"} if "thrust" in allowed else allowed
    return None


def link_flags(allowed: frozenset[str] | None) -> tuple[str, ...]:
    """Return nvcc's flags to link with the libraries."""
    return tuple(f"-l{name}" for name in sorted((allowed or frozenset()) - _HEADERS_ONLY))


def forbidden_features(allowed: frozenset[str] | None) -> frozenset[str]:
    """Return what the emulation calls the libraries that a spec forbids; {} if it says nothing."""
    if allowed is None:
        return frozenset()
    return _NEVER | {feature for name, feature in LIBRARIES.items() if name not in allowed}
