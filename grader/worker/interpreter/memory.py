"""The memory that launches see: the judge's buffers, the hand-in's scratch, views of both.

Shadows are kept by storage and dropped with it: an address that torch hands
out again is new memory.
"""

from dataclasses import dataclass
from typing import Any

from grader.worker.interpreter import regions as triton_regions
from grader.worker.interpreter import scratch
from grader.worker.interpreter import shadow as triton_shadow

_PRUNE_AT = 1000


@dataclass(slots=True)
class Buffer:
    """An array argument of the entry.

    An input is not `writable`. An output is `bare`: what it holds now means
    nothing, and a kernel that reads it before writing is at fault.
    """

    name: str
    tensor: Any
    writable: bool
    bare: bool


class Memory:
    """Shadows by storage, and the buffers of the running call."""

    def __init__(self, torch: Any) -> None:
        from torch.multiprocessing.reductions import StorageWeakRef

        self._torch = torch
        self._alive: Any = StorageWeakRef
        self._shadows: dict[int, triton_shadow.Shadow] = {}
        self._fresh: dict[int, Any] = {}
        self._buffers: list[tuple[Buffer, int, int, int]] = []

    def begin(self, buffers: list[Buffer]) -> None:
        """Start a call with these buffers."""
        self._shadows.clear()
        self._prune()
        self._buffers.clear()
        for buffer in buffers:
            low = int(buffer.tensor.data_ptr())
            high = low + buffer.tensor.numel() * buffer.tensor.element_size()
            self._buffers.append((buffer, low, high, _version(buffer.tensor)))
            if buffer.bare and high > low:
                self._uninitialise(buffer.tensor, low, high)

    def _uninitialise(self, tensor: Any, low: int, high: int) -> None:
        raw = tensor.view(-1).view(self._torch.uint8)
        byte = int(raw[0])
        pattern = bytes([byte])
        if byte == 0 or not bool((raw == byte).all()):
            # Not the judge's poison. Zero is a likely value, ours is not.
            pattern = scratch.PATTERN
            scratch.fill(low, high - low)
        self._shadow(tensor).uninitialise(low, high, pattern)

    def register(self, storage: Any) -> None:
        """A storage was just allocated and filled with the scratch pattern."""
        self._fresh[storage.data_ptr()] = self._alive(storage)
        self._shadows.pop(storage.data_ptr(), None)
        if len(self._fresh) > _PRUNE_AT:
            self._prune()

    def _prune(self) -> None:
        # Never-written scratch of earlier calls stays known: content tells what was filled since.
        self._fresh = {at: ref for at, ref in self._fresh.items() if not ref.expired()}

    def _shadow(self, tensor: Any) -> triton_shadow.Shadow:
        storage = tensor.untyped_storage()
        address, size = int(storage.data_ptr()), int(storage.nbytes())
        shadow = self._shadows.get(address)
        if shadow is not None and not shadow.storage.expired() and shadow.holds(address, size):
            return shadow
        granule = max(1, tensor.element_size())
        shadow = triton_shadow.Shadow(address, size, granule, self._alive(storage))
        self._shadows[address] = shadow
        fresh = self._fresh.get(address)
        if fresh is not None and not fresh.expired():
            shadow.uninitialise(address, address + size, scratch.PATTERN)
        return shadow

    def region(self, name: str, argument: Any) -> triton_regions.Region | None:
        """Return the region of one tensor argument; None if it is no tensor."""
        tensor = triton_regions.unwrap(argument)
        if tensor is None:
            return None
        region = triton_regions.Region(name, tensor, self._shadow(tensor))
        for buffer, low, high, version in self._buffers:
            if region.low < high and low < max(region.high, region.low + 1):
                region.buffer = buffer.name
                region.read_only = not buffer.writable
                # torch itself has written there (`output.zero_()`).
                if buffer.bare and _version(buffer.tensor) != version:
                    region.shadow.initialise(low, high)
        return region

    def others(self, regions: "list[triton_regions.Region]") -> "list[triton_regions.Region]":
        """Return the regions of the buffers that a launch was not given.

        A kernel may know them by address: a grouped GEMM loads its pointers from a tensor.
        """
        given = {region.buffer for region in regions}
        buffers = (buffer for buffer, *_ in self._buffers if buffer.name not in given)
        found = (self.region(buffer.name, buffer.tensor) for buffer in buffers)
        return [region for region in found if region is not None]


def _version(tensor: Any) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:  # tensors of inference mode have none
        return 0
