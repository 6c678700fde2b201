"""Which memory a pointer may touch: the tensor argument that it was made from.

An address alone does not say whose it is: past the end of one tensor begins
another. So each tensor argument's pointer type is an object of its own that
carries its `Region`; triton's pointer arithmetic hands the type on. Where it
cannot (an integer cast to a pointer, a choice between two tensors) the region
is looked up by address.
"""

import copy
from typing import Any

import numpy as np

from grader.worker.interpreter import shadow as triton_shadow

_Array = np.ndarray[Any, np.dtype[Any]]
_MARK = "grader_region"


class Region:
    """The bytes of one tensor argument, exactly: a view's own extent, not its storage's.

    A view with gaps (some columns of a matrix) has `members`: which elements
    of its extent belong to it.
    """

    def __init__(self, name: str, tensor: Any, shadow: triton_shadow.Shadow) -> None:
        self.name = name
        self.item = max(1, tensor.element_size())
        self.low = int(tensor.data_ptr())
        self.shadow = shadow
        self.buffer: str | None = None
        self.read_only = False
        sizes, strides = tuple(tensor.shape), tuple(tensor.stride())
        self.extent = 0  # in elements
        self.members: _Array | None = None
        if tensor.numel():
            pairs = list(zip(sizes, strides, strict=True))
            self.extent = 1 + sum((size - 1) * stride for size, stride in pairs)
            distinct = int(np.prod([size for size, stride in pairs if stride], dtype=np.int64))
            if distinct < self.extent:
                self.members = np.zeros(self.extent, bool)
                np.lib.stride_tricks.as_strided(self.members, sizes, strides)[...] = True
        self.high = self.low + self.extent * self.item


def unwrap(tensor: Any) -> Any:
    """Return the torch tensor of an argument, None if it is none."""
    # triton.reinterpret wraps a tensor to give it another element type.
    base = getattr(tensor, "base", tensor) if not hasattr(tensor, "untyped_storage") else tensor
    return base if hasattr(base, "untyped_storage") else None


def mark(value: Any, region: Region) -> None:
    """Make a tensor argument's pointer carry its region."""
    kind = copy.copy(value.handle.dtype)
    setattr(kind, _MARK, region)
    value.handle.dtype = kind


def hand_on(source: Any, target: Any) -> None:
    """A pointer was cast to another pointer type: it still belongs to its tensor."""
    region = of(source)
    if region is not None and hasattr(target.dtype, "element_ty"):
        target.dtype = copy.copy(target.dtype)
        setattr(target.dtype, _MARK, region)


def forget(target: Any) -> None:
    """A pointer may belong to either of two tensors."""
    target.dtype = copy.copy(target.dtype)
    setattr(target.dtype, _MARK, None)


def of(handle: Any) -> Region | None:
    """Return the region that a pointer carries."""
    kind = handle.dtype
    while kind is not None:
        region: Region | None = getattr(kind, _MARK, None)
        if region is not None:
            return region
        kind = getattr(kind, "element_ty", None)
    return None


def element_bytes(handle: Any) -> int:
    """Return the size of what a pointer points to."""
    return max(1, int(handle.get_element_ty().primitive_bitwidth) // 8)
