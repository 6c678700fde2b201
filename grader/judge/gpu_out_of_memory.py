"""What the driver and torch raise when a GPU fails the judge → an error of ours, in words.

The one that a hand-in can bring about has a class of its own: a worker that is
alive may hold the memory that is missing (`check.stage` finds out).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from grader.errors import GraderError
from grader.protocol.cuda_driver import CudaError

_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY, and cudaErrorMemoryAllocation
_ROOM_TIP = "something else uses the GPU: `nvidia-smi` says what; end it, or take another GPU"
_BROKEN_TIP = "`grade doctor` looks at the GPU; a GPU that has failed needs its processes ended"


class GpuOutOfMemoryError(GraderError):
    """The GPU has no memory left for the judge."""


@contextmanager
def gpu_errors(wanted: int = 0) -> Iterator[None]:
    """Tell what goes wrong with the GPU in the block; `wanted` is what it asks for, bytes.

    Raises NoRoomError if it is out of memory, GraderError if it fails otherwise.
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
        f"the GPU has not enough memory left: the grader wanted {wanted}", tip=_ROOM_TIP
    )
