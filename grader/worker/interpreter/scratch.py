"""Scratch memory of the hand-in: whatever `torch.empty` returns is known to be unwritten.

The functions that promise nothing about their memory are replaced by ones that
fill it with a pattern, a NaN in every float type, and register its storage.
What they promise stays true, and a sum over forgotten cells is no longer right
by luck. Only here, in the process that runs the hand-in.
"""

import ctypes
from typing import Any

import numpy as np

# The bytes F5 7F make a NaN of any even number of bytes: 0x7ff5, 0x7ff57ff5, …
PATTERN = b"\xf5\x7f"
# Filling touches memory that may never be used otherwise.
_LARGEST = 64 << 20

_FUNCTIONS = ("empty", "empty_like", "empty_strided", "empty_permuted")
_METHODS = ("new_empty", "new_empty_strided")


def install(torch: Any, register: Any) -> None:
    """Watch torch's allocations; `register(storage)` is called for each."""
    for name in _FUNCTIONS:
        if hasattr(torch, name):
            setattr(torch, name, _watching(getattr(torch, name), torch, register))
    for name in _METHODS:
        setattr(torch.Tensor, name, _watching(getattr(torch.Tensor, name), torch, register))


def _watching(allocate: Any, torch: Any, register: Any) -> Any:
    def watched(*args: Any, **kwargs: Any) -> Any:
        tensor = allocate(*args, **kwargs)
        if kwargs.get("out") is None and _plain(tensor, torch):
            storage = tensor.untyped_storage()
            if 0 < storage.nbytes() <= _LARGEST:
                fill(storage.data_ptr(), storage.nbytes())
                register(storage)
        return tensor

    watched.__name__ = allocate.__name__
    watched.__doc__ = allocate.__doc__
    return watched


def _plain(tensor: Any, torch: Any) -> bool:
    # A bool is 0 or 1 and nothing else; subclasses may forbid looking inside.
    return (
        type(tensor) is torch.Tensor
        and tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and tensor.dtype is not torch.bool
    )


def fill(address: int, size: int) -> None:
    """Fill memory with the pattern."""
    memory: Any = (ctypes.c_uint8 * size).from_address(address)
    view = np.frombuffer(memory, np.uint8)
    view[0::2] = PATTERN[0]
    view[1::2] = PATTERN[1]
