"""A store into an input, told before it ends the process.

In the runs that decide about correctness nothing is checked but this: an
input's memory is sealed, so that the interpreter's store to it is a
segmentation fault, which says neither which tensor nor that it is an input.
So each store first compares its lowest and highest address with the inputs',
which costs some microseconds; only if they touch are the lanes looked at.
The record has the form of the host runtime's `fault`: it explains a death that
the judge sees by itself.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from grader.worker import worker_log

_Array = np.ndarray[Any, np.dtype[Any]]


class Inputs:
    """The inputs of the running call; `place` returns the line and kernel that are running."""

    def __init__(self, place: Callable[[], tuple[int | None, str]]) -> None:
        self._place = place
        self._ranges: list[tuple[str, int, int]] = []

    def begin(self, buffers: Iterable[tuple[str, Any, bool, bool]]) -> None:
        """Start a call with these buffers: (name, tensor, writable, bare)."""
        self._ranges = [
            (name, int(tensor.data_ptr()), int(tensor.data_ptr()) + tensor.nbytes)
            for name, tensor, writable, _ in buffers
            if not writable
        ]

    def store(self, pointers: Any, mask: Any) -> None:
        """A store, or an atomic, to the lanes of `mask` (None: to all) is about to happen."""
        addresses: _Array = pointers.data
        if not self._ranges or not addresses.size:
            return
        first, last = int(addresses.min()), int(addresses.max())
        for name, low, high in self._ranges:
            if first < high and last >= low and self._touched(addresses, mask, low, high):
                self._tell(name, high - low)
                return

    def _touched(self, addresses: _Array, mask: Any, low: int, high: int) -> bool:
        there = (addresses >= np.uint64(low)) & (addresses < np.uint64(high))
        if mask is not None:
            # Triton 3.4 hands on bare arrays where later versions have handles.
            there &= np.asarray(mask if isinstance(mask, np.ndarray) else mask.data)
        return bool(there.any())

    def _tell(self, name: str, size: int) -> None:
        line, kernel = self._place()
        worker_log.tell(
            "fault",
            signal="SIGSEGV",
            message="a read-only input was written",
            line=line,
            kernel=kernel,
            in_kernel=True,
            buffer=name,
            buffer_bytes=size,
        )


def install(interpreter: Any, inputs: Inputs) -> None:
    """Look at every store and atomic of the interpreter before it is made."""
    builder_class = interpreter.InterpreterBuilder
    store = builder_class.create_masked_store
    update, compare = builder_class.create_atomic_rmw, builder_class.create_atomic_cas

    def create_masked_store(
        builder: Any, ptrs: Any, value: Any, mask: Any, *args: Any, **kwargs: Any
    ) -> Any:
        inputs.store(ptrs, mask)
        return store(builder, ptrs, value, mask, *args, **kwargs)

    def create_atomic_rmw(
        builder: Any, op: Any, ptr: Any, value: Any, mask: Any, *rest: Any
    ) -> Any:
        inputs.store(ptr, mask)
        return update(builder, op, ptr, value, mask, *rest)

    def create_atomic_cas(builder: Any, ptr: Any, *rest: Any) -> Any:
        inputs.store(ptr, None)
        return compare(builder, ptr, *rest)

    builder_class.create_masked_store = create_masked_store
    builder_class.create_atomic_rmw = create_atomic_rmw
    builder_class.create_atomic_cas = create_atomic_cas
