"""Buffers that judge and worker share, with guards that reveal writes out of bounds.

    file:  [ guard, 64 KiB ][ data ][ guard, at least 64 KiB ]

Guards hold secret random bytes (a repeated pattern would hide an overrun that copies the pattern)
and are compared after every call. What a kernel reads there is not near zero in any type, which
would leave some sums right, by chance. On the CPU the file is a memfd, sealed before the
worker gets it: a worker that could shrink it would kill the judge with SIGBUS, and one that could
seal it would block the judge. Inputs are also sealed against writes of the worker, and hold what
the judge has written once; its own mapping stays writable. On a GPU the driver exports the memory
as a descriptor.

Outputs are poisoned before a call, byte by byte, so that a cell that was never written is
recognised by its bits.
"""

from __future__ import annotations

import fcntl
import functools
import math
import mmap
import os
import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from grader.assignment.signature import ElementType
from grader.errors import GraderError, ToolError
from grader.judge.compare import raw_bytes
from grader.judge.gpu_out_of_memory import GpuOutOfMemoryError, gpu_errors
from grader.protocol import cuda_driver, wire
from grader.vocabulary import Device, Memory, Role

GUARD_BYTES = 64 * 1024
_SECRET_BYTES = 1 << 20  # many times a guard: no two begin at the same byte, but by chance
_LEAST, _BEYOND = 64, 128  # of a guard's bytes: as a float of 16, 32 or 64 bits, 2 or more

_F_SEAL_FUTURE_WRITE = 0x10  # since Linux 5.1; not in Python's fcntl
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


@functools.cache
def _generator(device: torch.device) -> torch.Generator:
    """Return this process's source of secret bytes on a GPU."""
    return torch.Generator(device).manual_seed(secrets.randbits(63))


@functools.cache
def _secret_bytes() -> npt.NDArray[np.uint8]:
    """Return this process's secret bytes, of which guards on the CPU are slices.

    A worker sees its own guards anyway: they must only have no pattern that an overrun copies.
    """
    source = np.random.default_rng(secrets.randbits(128))
    return source.integers(_LEAST, _BEYOND, _SECRET_BYTES, dtype=np.uint8)


def same_bytes(first: torch.Tensor, second: torch.Tensor) -> bool:
    """True if two arrays of bytes, both on the GPU or not, are equal."""
    if first.is_cuda:
        return torch.equal(first, second)
    return np.array_equal(first.numpy(), second.numpy())  # torch compares one byte after the other


@dataclass(slots=True, kw_only=True)
class Buffer:
    """One array argument of one case.

    `whole` holds all bytes of the file, on the CPU or the GPU; `where` is HOST, DEVICE or PRIVATE
    of `grader.protocol.wire`.
    """

    name: str
    role: Role
    dtype: torch.dtype
    wire_dtype: int
    shape: tuple[int, ...]
    where: int
    descriptor: int
    size: int
    whole: torch.Tensor
    _guards: tuple[torch.Tensor, torch.Tensor] | None = field(default=None)
    _release: Any = None

    @property
    def data_bytes(self) -> torch.Tensor:
        """The data, as bytes."""
        return self.whole[GUARD_BYTES : GUARD_BYTES + self.size]

    @property
    def sealed(self) -> bool:
        """True if the worker cannot change the data."""
        return not self.whole.is_cuda and not self.role.written

    @property
    def values(self) -> torch.Tensor:
        """A view of the data in its type and shape; it changes when the worker writes."""
        return self.data_bytes.view(self.dtype).view(self.shape)

    def fill(self, values: torch.Tensor) -> None:
        """Set the data; `values` has the buffer's type and shape."""
        self.data_bytes.copy_(raw_bytes(values))

    def poison(self, byte: int) -> None:
        """Set every byte of the data to `byte`."""
        self.data_bytes.fill_(byte)

    def snapshot(self) -> torch.Tensor:
        """Return a private copy of the data on the CPU, for comparison."""
        copied = self.data_bytes.to("cpu", copy=True)
        return copied.view(self.dtype).view(self.shape)

    def arm(self) -> None:
        """Fill the guards with fresh secret bytes."""
        guards = []
        for view in self._guard_views():
            if view.is_cuda:
                # Up to 2 MiB behind the data: drawn on the GPU.
                view.random_(_LEAST, _BEYOND, generator=_generator(view.device))
                guards.append(view.clone())
            else:
                start = random.randrange(_SECRET_BYTES - view.numel())
                secret = _secret_bytes()[start : start + view.numel()]
                _write(self.descriptor, secret.data, int(view.storage_offset()))
                guards.append(torch.from_numpy(secret))
        self._guards = guards[0], guards[1]

    def _guard_views(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.whole[:GUARD_BYTES], self.whole[GUARD_BYTES + self.size :]

    def intact(self) -> torch.Tensor:
        """Return a boolean tensor: no guard byte has changed. On a GPU nothing waits for it."""
        assert self._guards is not None, "not armed"
        pairs = zip(self._guard_views(), self._guards, strict=True)
        return torch.stack([(view == guard).all() for view, guard in pairs]).all()

    def guard_violation(self) -> int | None:
        """Return the byte offset of the changed guard byte nearest to the data, None if none.

        The offset is relative to the data's first byte: negative before it, at least `size`
        behind the data.
        """
        assert self._guards is not None, "not armed"
        if self.sealed:  # and so are its guards
            return None
        low, high = self._guard_views()
        if not same_bytes(high, self._guards[1]):
            return self.size + int((high != self._guards[1]).nonzero()[0])
        if not same_bytes(low, self._guards[0]):
            return int((low != self._guards[0]).nonzero()[-1]) - GUARD_BYTES
        return None

    def message(self, slot: int, *, uninitialised: bool = False, local: bool = False) -> bytes:
        """Return the buffer's part of the payload of ATTACH.

        `uninitialised` marks outputs as such; with `local`, the worker has memory of its own.
        """
        flags = wire.WRITABLE * self.role.written | wire.UNINITIALISED * (
            uninitialised and not self.role.read
        )
        flags |= wire.READ * self.role.read
        shape = (*self.shape, 0, 0, 0, 0)[:4]
        return wire.BUFFER.pack(
            slot,
            wire.LOCAL if local else self.where,
            flags,
            self.wire_dtype,
            len(self.shape),
            self.whole.numel(),
            GUARD_BYTES,
            self.size,
            *shape,
            self.name.encode()[:31],
        )

    def close(self) -> None:
        """Give the memory back; the tensors over it must not be used again."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        if self._release is not None:
            self._release()
            self._release = None


def make_buffer(
    *,
    name: str,
    role: Role,
    kind: ElementType,
    shape: Sequence[int],
    memory: Memory,
    device: Device,
    private: bool,
    driver: cuda_driver.Driver | None,
    values: torch.Tensor | None = None,
) -> Buffer:
    """Allocate the memory of one array argument, guards armed, and set the data if it is sealed.

    With `private`, the worker makes an allocation of the exact size and fills it from the file.
    `driver` is needed for shared memory on a GPU. Raises GpuOutOfMemoryError if the GPU has no
    memory left, GraderError if it fails otherwise.
    """
    size = kind.size * math.prod(shape)
    on_gpu = device is Device.CUDA and memory is Memory.DEVICE and not private
    if on_gpu:
        assert driver is not None
        whole, descriptor, release = _cuda_memory(size, driver)
    else:
        whole, descriptor = _file_memory(name, size)
        release = None
    where = wire.DEVICE
    if memory is Memory.HOST:
        where = wire.HOST
    elif private:
        where = wire.PRIVATE
    buffer = Buffer(
        name=name,
        role=role,
        dtype=getattr(torch, kind.word),
        wire_dtype=wire.DTYPES.index(kind.word),
        shape=tuple(shape),
        where=where,
        descriptor=descriptor,
        size=size,
        whole=whole,
        _release=release,
    )
    try:
        buffer.arm()
    except BaseException:  # the GPU may have no memory for the guards' copies
        buffer.close()
        raise
    if buffer.sealed and values is not None:
        _write(descriptor, raw_bytes(values).numpy().data, GUARD_BYTES)
    if not on_gpu:
        # With all in the file: a seal against writes is one against the judge's as well.
        seals = _SEALS | (0 if role.written else _F_SEAL_FUTURE_WRITE)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return buffer


def _write(descriptor: int, data: memoryview, start: int) -> None:
    """Write to a file, whose pages then need not be cleared first, nor mapped one by one."""
    while data:
        written = os.pwrite(descriptor, data, start)
        data, start = data[written:], start + written


def _file_memory(name: str, size: int) -> tuple[torch.Tensor, int]:
    total = -(-(size + 2 * GUARD_BYTES) // mmap.PAGESIZE) * mmap.PAGESIZE
    descriptor = os.memfd_create(f"grade-{name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, total)
    mapping = mmap.mmap(descriptor, total)
    # Through numpy the tensor keeps the mapping alive, until its last view is gone: no tensor ever
    # lies over unmapped memory.
    return torch.from_numpy(np.frombuffer(mapping, dtype=np.uint8)), descriptor


def _cuda_memory(size: int, driver: cuda_driver.Driver) -> tuple[torch.Tensor, int, Any]:
    with gpu_errors():
        granule = driver.granularity()
    total = -(-(size + 2 * GUARD_BYTES) // granule) * granule
    address, descriptor = _create_shared(total, driver)
    whole = torch.as_tensor(cuda_driver.CudaBytes(address, total), device="cuda")

    def release() -> None:
        with gpu_errors():
            torch.cuda.synchronize()
            driver.unmap(address, total)

    return whole, descriptor, release


def _create_shared(total: int, driver: cuda_driver.Driver) -> tuple[int, int]:
    try:
        with gpu_errors(total):
            return driver.create_shared(total)
    except GpuOutOfMemoryError:
        torch.cuda.empty_cache()  # torch's cache in the judge may hold the memory
    with gpu_errors(total):
        return driver.create_shared(total)


def open_gpu() -> tuple[cuda_driver.Driver, bool]:
    """Open the GPU in this process; return the driver, and whether memory can be shared.

    Raises ToolError if torch cannot use it, GraderError if it fails.
    """
    if not torch.cuda.is_available():
        raise ToolError(
            f"torch {torch.__version__} cannot use this machine's GPU",
            tip="`grade doctor` says why; `--device cpu` grades without it",
        )
    with gpu_errors():
        torch.cuda.init()  # type: ignore[no-untyped-call] # torch's own
        driver = cuda_driver.Driver()
        return driver, _sharing_works(driver)


def _sharing_works(driver: cuda_driver.Driver) -> bool:
    """Probe whether memory of the GPU can be exported (it cannot on WSL2)."""
    try:
        size = driver.granularity()
        address, descriptor = _create_shared(size, driver)
    except GpuOutOfMemoryError:
        raise  # a full GPU proves nothing about sharing
    except (cuda_driver.CudaError, GraderError):
        return False
    os.close(descriptor)
    driver.unmap(address, size)
    return True
