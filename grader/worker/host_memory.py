"""Maps buffers that the judge shares as files."""

import ctypes
import functools
import mmap
from typing import Any


@functools.cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    ]
    return libc


def map_file(descriptor: int, size: int, *, writable: bool) -> int:
    """Map the whole file shared and return its address; OSError if refused.

    Uses libc, because Python's mmap object cannot give the address of a read-only mapping.
    """
    protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
    # MAP_POPULATE: otherwise page faults would slow down the first call.
    flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
    address = _libc().mmap(None, size, protection, flags, descriptor, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "mmap")
    return int(address)


def unmap(address: int, size: int) -> None:
    """Undo `map_file`."""
    _libc().munmap(ctypes.c_void_p(address), ctypes.c_size_t(size))


def bytes_at(address: int, size: int) -> Any:
    """Return memory as a tensor of bytes."""
    import torch

    array = (ctypes.c_uint8 * size).from_address(address)
    return torch.frombuffer(array, dtype=torch.uint8)
