"""The judge's buffers in the executor of launches: what host code has written into an output."""

import math

import torch

from grader.emulation.common.picking import same
from grader.emulation.common.storage import Storage
from grader.protocol import launches, wire
from grader.worker.triton_launches import fill


class ExecutorBuffer:
    """A buffer of the judge's: its storage, and what the worker may know."""

    def __init__(self, about: wire.BufferMessage, data: torch.Tensor) -> None:
        self.name = about.name.decode(errors="replace")
        self.data = data
        self.writable = about.writable
        self.bare = about.bare
        self.storage: Storage | None = None
        self.item: int = getattr(torch, about.dtype).itemsize
        self.shape = about.shape or (1,)
        self.shown = False  # to the worker, whose memory holds the pattern until then
        self.host_value: int | None = None  # that host code has written first
        self.host_filled: torch.Tensor | None = None  # the elements of the views it filled so
        # The output when host code had written last, if it ever wrote anything but zeros.
        self.host_image: torch.Tensor | None = None

    def begin(self, *, checked: bool) -> None:
        """Start a call: forget what was written."""
        self.shown, self.host_value = False, None
        self.host_filled = self.host_image = None
        pattern = b""
        if self.bare and checked and self.data.numel():
            byte = int(self.data[0])
            if byte and (self.data == byte).numpy().all():
                pattern = bytes([byte])
            else:
                # Zero is a likely value, the pattern is not.
                fill(self.data.data_ptr(), self.data.numel())
                pattern = launches.PATTERN
        self.storage = Storage(
            self.data,
            address=0,
            writable=self.writable,
            bare=bool(pattern),
            granule=self.item,
            pattern=pattern,
        )

    def host_wrote(self, theirs: torch.Tensor, wrote: torch.Tensor, values: torch.Tensor) -> int:
        """Return how many elements of host code's are work; `theirs` is the output it has now.

        `values` are those that it `wrote`, as whole numbers like `theirs`.

        One value in the whole output is no work: a kernel that adds up with atomics needs an
        output of zeros, and torch may make it so. Nor is one value in all of a view, such as a
        column. One value at places that host code has computed is.
        """
        if self.host_value is None:
            self.host_value = int(values[0])
        if (theirs == theirs[0]).numpy().all():
            return 0
        held = (theirs == self.host_value).view(self.shape)
        view = _smallest_view(wrote.view(self.shape))
        if not (values == self.host_value).numpy().all() or not bool(held[view].all()):
            return len(values)
        if self.host_filled is None:
            self.host_filled = torch.zeros(self.shape, dtype=torch.bool)
        self.host_filled[view] = True
        return 0

    def note_host_image(self, values: torch.Tensor) -> None:
        """Remember the output as host code has left it, from the first `values` but zeros on."""
        if self.host_image is not None or bool(values.any()):
            self.host_image = self.data.clone()

    def left_by_host(self) -> bool:
        """True if the output is as host code left it, and host code wrote more than zeros."""
        image = self.host_image
        return image is not None and bool(image.any()) and same(self.data, image)

    def host_scattered(self) -> int:
        """Return how many elements are in views that together are none: filled one by one."""
        filled = self.host_filled
        if filled is None or bool(filled[_smallest_view(filled)].all()):
            return 0
        return int(filled.sum())


def _smallest_view(places: torch.Tensor) -> tuple[slice, ...]:
    """Return the smallest view, of a range with a step in each dimension, that has all places."""
    found = []
    for index in torch.nonzero(places).unbind(1):
        first = int(index.min())
        step = math.gcd(*(torch.unique(index) - first).tolist()) or 1
        found.append(slice(first, int(index.max()) + 1, step))
    return tuple(found)
