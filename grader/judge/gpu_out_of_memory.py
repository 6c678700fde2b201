"""Translate GPU errors of the driver and torch in the judge into GraderError.

Out of memory has a class of its own, because a submission can cause it: a worker that is alive may
hold the memory (`grader.checks.common.case_run` finds out).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from grader.errors import GraderError
from grader.protocol.cuda_driver import CudaError

_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY, and cudaErrorMemoryAllocation
_MEMORY_TIP = "something else uses the GPU: `nvidia-smi` says what; end it, or take another GPU"
_BROKEN_TIP = "`grade doctor` looks at the GPU; a GPU that has failed needs its processes ended"


class GpuOutOfMemoryError(GraderError):
    """The GPU has no memory left for the judge."""


@contextmanager
def gpu_errors(wanted: int = 0) -> Iterator[None]:
    """Translate GPU errors in the block; `wanted` is the size of its allocation, bytes.

    Raises GpuOutOfMemoryError if the GPU is out of memory, GraderError if it fails otherwise.
    """
    try:
        yield
    except CudaError as error:
        if error.code == _OUT_OF_MEMORY:
            raise _no_room(f"{wanted / 2**20:g} MiB" if wanted else "some") from error
        raise GraderError(f"the GPU failed the grader: {error}", tip=_BROKEN_TIP) from error
    except torch.OutOfMemoryError as error:
        _, _, words = str(error).partition("Tried to allocate ")
        raise _no_room(words.partition(". ")[0] or "some") from error
    except torch.AcceleratorError as error:
        first = (str(error).splitlines() or [""])[0]
        if "out of memory" in first:
            raise _no_room("some") from error
        raise GraderError(f"the GPU failed the grader: {first}", tip=_BROKEN_TIP) from error


def _no_room(wanted: str) -> GpuOutOfMemoryError:
    return GpuOutOfMemoryError(
        f"the GPU has not enough memory left: the grader wanted {wanted}", tip=_MEMORY_TIP
    )
