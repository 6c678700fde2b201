"""Translate GPU errors of the driver and torch in the judge into GraderError.

Out of memory is a separate class, because a submission can cause it: a worker that is alive may
hold the memory (`grader.checks.common.case_run` finds out).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from grader.errors import GraderError
from grader.protocol.cuda_driver import CudaError

_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY, and cudaErrorMemoryAllocation
_MEMORY_TIP = "`nvidia-smi` shows which processes use the GPU: end them, or use another GPU"
_BROKEN_TIP = "end all processes that use the GPU, and test it with `grade doctor`"


class GpuOutOfMemoryError(GraderError):
    """The GPU has no memory left for the judge."""


@contextmanager
def gpu_errors(allocation: int = 0) -> Iterator[None]:
    """Translate GPU errors in the block, which allocates `allocation` bytes (0 if unknown).

    Raises GpuOutOfMemoryError if the GPU is out of memory, GraderError if it fails otherwise.
    """
    try:
        yield
    except CudaError as error:
        if error.code == _OUT_OF_MEMORY:
            size = f"{allocation / 2**20:g} MiB" if allocation else ""
            raise _out_of_memory(size) from error
        raise GraderError(
            f"a GPU operation of the grader failed: {error}", tip=_BROKEN_TIP
        ) from error
    except torch.OutOfMemoryError as error:
        _, _, words = str(error).partition("Tried to allocate ")
        raise _out_of_memory(words.partition(". ")[0]) from error
    except torch.AcceleratorError as error:
        first = (str(error).splitlines() or [""])[0]
        if "out of memory" in first:
            raise _out_of_memory("") from error
        raise GraderError(
            f"a GPU operation of the grader failed: {first}", tip=_BROKEN_TIP
        ) from error


def _out_of_memory(size: str) -> GpuOutOfMemoryError:
    needed = f": the grader needs {size}" if size else " for the grader"
    return GpuOutOfMemoryError(f"the GPU has too little memory left{needed}", tip=_MEMORY_TIP)
