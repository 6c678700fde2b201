"""The types of Triton's IR, as far as a kernel's values have them."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

# Widest first where a name is the beginning of another.
SCALARS: dict[str, torch.dtype] = {
    "i1": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "index": torch.int64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "f8E4M3FN": torch.float8_e4m3fn,
    "f8E5M2": torch.float8_e5m2,
}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number: `i32`, `f16`, …"""

    name: str

    @property
    def dtype(self) -> torch.dtype:
        """The torch type that holds it."""
        return SCALARS[self.name]


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address of elements of a type; a block pointer if that type is a tensor."""

    element: Type


@dataclass(frozen=True, slots=True)
class Tensor:
    """A block of numbers or of pointers.

    `encoding` is its layout in the GPU dialect, as text: which thread holds which elements.
    """

    shape: tuple[int, ...]
    element: Scalar | Pointer
    encoding: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A tensor descriptor that loads and stores blocks."""

    block: Tensor


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """A block in shared memory, which only the GPU dialect has."""

    shape: tuple[int, ...]
    element: Scalar


Type = Scalar | Pointer | Tensor | Descriptor | SharedMemory


def element_of(kind: Type) -> Scalar | Pointer:
    """Return the type of one element, of a scalar the type itself."""
    if isinstance(kind, Tensor):
        return kind.element
    if isinstance(kind, Descriptor):
        return kind.block.element
    if isinstance(kind, SharedMemory):
        return kind.element
    return kind


def shape_of(kind: Type) -> tuple[int, ...]:
    """Return the shape of a block, () for a scalar."""
    return kind.shape if isinstance(kind, Tensor | SharedMemory) else ()


def dtype_of(kind: Type) -> torch.dtype:
    """Return the torch type of an element; a pointer is an int64 address."""
    element = element_of(kind)
    return torch.int64 if isinstance(element, Pointer) else element.dtype
