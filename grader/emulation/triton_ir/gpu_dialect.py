"""The operations that Triton's compiler adds for a GPU: shared memory, and copies into it.

The GPU dialect is Triton's IR in which every block has a layout, loads have been moved ahead of
their use, and blocks go through shared memory. A layout moves no element, so its operations mean
here what they mean to a program; that copies are asynchronous does not show in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from grader.emulation.common.errors import Unsupported
from grader.emulation.triton_ir import blocks
from grader.emulation.triton_ir.frame import Frame
from grader.emulation.triton_ir.ir import Operation
from grader.emulation.triton_ir.requests import COPY
from grader.emulation.triton_ir.types import SharedMemory, dtype_of
from grader.emulation.triton_ir.values import Item, SharedBlock, Value

T = torch.Tensor
_TOKEN = Value(torch.zeros(1, dtype=torch.int32))


def _same(frame: Frame, op: Operation) -> Sequence[Item]:
    return [frame.get(name) for name in op.operands[: len(op.results)]]


def _token(frame: Frame, op: Operation) -> Sequence[Item]:
    return [_TOKEN] * len(op.results)


def _shared(frame: Frame, name: str) -> SharedBlock:
    found = frame.get(name)
    if not isinstance(found, SharedBlock):
        raise Unsupported("what is no shared memory, as if it were")
    return found


def _kind(op: Operation) -> SharedMemory:
    kind = op.result_types[0]
    if not isinstance(kind, SharedMemory):
        raise Unsupported(f"{op.name} of another type")
    return kind


def _full(frame: Frame, value: Value) -> T:
    return value.data.expand(len(frame.programs), *value.data.shape[1:])


def _allocate(frame: Frame, op: Operation) -> Sequence[Item]:
    kind = _kind(op)
    data = torch.zeros((len(frame.programs), *kind.shape), dtype=dtype_of(kind))
    if op.operands:
        data[:] = frame.value(op.operands[0]).data
    return [SharedBlock(data)]


def _load(frame: Frame, op: Operation) -> Sequence[Item]:
    return [Value(_shared(frame, op.operands[0]).read())]


def _store(frame: Frame, op: Operation) -> Sequence[Item]:
    value, target = op.operands[:2]
    _shared(frame, target).write(_full(frame, frame.value(value)))
    return []


def _copy(frame: Frame, op: Operation) -> Sequence[Item]:
    """Copy from global memory; lanes that are off leave zeros."""
    pointer, target, *rest = op.operands
    mask = frame.value(rest.pop(0)) if "mask" in op.words else None
    shape = frame.value(pointer).data.shape
    other = Value(torch.zeros([1] * len(shape)).to(_shared(frame, target).data.dtype))
    if "other" in op.words:
        other = frame.value(rest.pop(0))
    loaded = frame.accesses.load(op, frame.value(pointer), mask, other)
    _shared(frame, target).write(_full(frame, loaded))
    return [_TOKEN]


def _index(frame: Frame, op: Operation) -> Sequence[Item]:
    """`ttg.memdesc_index`: one block of several, which a pipeline has."""
    block = _shared(frame, op.operands[0])
    return [_element(block, [frame.value(op.operands[1])])]


def _element(block: SharedBlock, numbers: Sequence[Value]) -> SharedBlock:
    if block.views:
        raise Unsupported("an element of a view of shared memory")
    places = tuple(number.data.reshape(-1).to(torch.int64) for number in numbers)
    return SharedBlock(block.data, block.rows, (*block.at, *places))


def _subview(frame: Frame, op: Operation) -> Sequence[Item]:
    """`ttg.memdesc_subview` of older versions: elements of leading dimensions, or a part."""
    whole, kind = op.given[0], _kind(op)
    assert isinstance(whole, SharedMemory)
    offsets = [frame.value(name) for name in op.operands[1:]]
    leading = len(whole.shape) - len(kind.shape)
    block = _shared(frame, op.operands[0])
    if leading:
        block = _element(block, offsets[:leading])
    places = []
    for offset in offsets[leading:]:
        first = int(offset.data.reshape(-1)[0])
        if bool((offset.data != first).any()):
            raise Unsupported("parts of shared memory that differ between programs")
        places.append(first)
    return [_part(block, places, kind.shape)]


def _subslice(frame: Frame, op: Operation) -> Sequence[Item]:
    places = [int(word) for word in op.words]
    return [_part(_shared(frame, op.operands[0]), places, _kind(op).shape)]


def _part(block: SharedBlock, places: Sequence[int], shape: tuple[int, ...]) -> SharedBlock:
    if not any(places):
        ends = block.data.shape[1 + len(block.at) :]
        if not block.views and tuple(ends) == shape:
            return block

    def cut(data: T) -> T:
        for axis, (first, extent) in enumerate(zip(places, shape, strict=True)):
            data = data.narrow(axis + 1, first, extent)
        return data

    return _viewed(block, cut)


def _viewed(block: SharedBlock, view: Callable[[T], T]) -> SharedBlock:
    return SharedBlock(block.data, block.rows, block.at, (*block.views, view))


def _turn(frame: Frame, op: Operation) -> Sequence[Item]:
    text = op.attributes.get("order", "").partition(":")[2]
    order = [1 + int(axis) for axis in text.strip("> ").split(",")]
    return [_viewed(_shared(frame, op.operands[0]), lambda d: d.permute(0, *order))]


def _reshape(frame: Frame, op: Operation) -> Sequence[Item]:
    shape = _kind(op).shape
    block = _shared(frame, op.operands[0])
    return [_viewed(block, lambda d: d.reshape(d.shape[0], *shape))]


def _dot(frame: Frame, op: Operation) -> Sequence[Item]:
    """`ttng.warp_group_dot`: factors may be in shared memory; the sum may start at zero."""
    left, right = (_operand(frame, name) for name in op.operands[:2])
    total = frame.value(op.operands[2])
    if len(op.operands) > 3:
        begun = frame.value(op.operands[3]).data.view(-1, *[1] * (total.data.dim() - 1))
        total = Value(torch.where(begun, total.data, torch.zeros_like(total.data)))
    precision = ("tf32",) if op.attributes.get("inputPrecision", "0") == "0" else ()
    return [blocks.dot(replace(op, words=precision), left, right, total)]


def _operand(frame: Frame, name: str) -> Value:
    found = frame.get(name)
    return Value(found.read()) if isinstance(found, SharedBlock) else frame.value(name)


OPERATIONS: dict[str, Callable[[Frame, Operation], Sequence[Item]]] = {
    "ttg.async_commit_group": _token,
    COPY: _copy,
    "ttg.async_wait": _token,
    "ttg.convert_layout": _same,
    "ttg.local_alloc": _allocate,
    "ttg.local_dealloc": _token,
    "ttg.local_load": _load,
    "ttg.local_store": _store,
    "ttg.memdesc_index": _index,
    "ttg.memdesc_reshape": _reshape,
    "ttg.memdesc_subslice": _subslice,
    "ttg.memdesc_subview": _subview,
    "ttg.memdesc_trans": _turn,
    "ttng.fence_async_shared": _token,
    "ttng.warp_group_dot": _dot,
    "ttng.warp_group_dot_wait": _same,
}
