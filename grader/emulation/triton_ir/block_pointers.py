"""Operations on block pointers and on tensor descriptors: make them, move them, access memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from grader.emulation.common.errors import Unsupported
from grader.emulation.triton_ir import blocks
from grader.emulation.triton_ir.frame import Frame
from grader.emulation.triton_ir.ir import Operation
from grader.emulation.triton_ir.types import Descriptor, Pointer, Tensor, Type, shape_of
from grader.emulation.triton_ir.values import BlockPointer, Item, Value


def block_type(kind: Type) -> Type:
    """Return the block that a block pointer points to."""
    if isinstance(kind, Pointer) and isinstance(kind.element, Tensor):
        return kind.element
    raise Unsupported("a block pointer of another form")


def _make_block(frame: Frame, op: Operation) -> Sequence[Item]:
    """`tt.make_tensor_ptr`, `tt.make_tensor_descriptor`: base, shape, strides, offsets."""
    base, *rest = (frame.value(operand) for operand in op.operands)
    kind = op.result_types[0]
    block = kind.block if isinstance(kind, Descriptor) else block_type(kind)
    assert isinstance(block, Tensor)
    rank = len(block.shape)
    shape, strides = tuple(rest[:rank]), tuple(rest[rank : 2 * rank])
    if isinstance(kind, Descriptor):
        frame.accesses.describe(op, base, strides[:-1], block)
    nan = isinstance(kind, Descriptor) and op.attributes.get("padding") == "2"
    return [BlockPointer(base, shape, strides, tuple(rest[2 * rank : 3 * rank]), nan)]


def _advance(frame: Frame, op: Operation) -> Sequence[Item]:
    block, *steps = (frame.get(operand) for operand in op.operands)
    assert isinstance(block, BlockPointer)
    offsets = tuple(
        Value(old.data + step.data)
        for old, step in zip(block.offsets, steps, strict=True)
        if isinstance(step, Value)
    )
    return [BlockPointer(block.base, block.shape, block.strides, offsets, block.nan)]


def _at(frame: Frame, op: Operation, places: Sequence[str]) -> tuple[BlockPointer, Tensor]:
    """Return the block of a descriptor at the offsets of an operation."""
    descriptor = frame.get(op.operands[0])
    kind = op.given[0]
    if not isinstance(descriptor, BlockPointer) or not isinstance(kind, Descriptor):
        raise Unsupported(op.name)
    offsets = tuple(frame.value(operand) for operand in places)
    rank = len(descriptor.shape)
    if len(offsets) != rank:
        raise Unsupported(f"{op.name} of {len(offsets)} offsets")
    shape = (1,) * (rank - len(kind.block.shape)) + kind.block.shape
    block = BlockPointer(
        descriptor.base, descriptor.shape, descriptor.strides, offsets, descriptor.nan
    )
    return block, Tensor(shape, kind.block.element)


def _descriptor_load(frame: Frame, op: Operation) -> Sequence[Item]:
    block, kind = _at(frame, op, op.operands[1:])
    loaded = frame.accesses.load_block(op, block, kind)
    shape = shape_of(op.result_types[0])
    return [blocks.like(lambda d: d.reshape(d.shape[0], *shape), loaded)]


def _descriptor_store(frame: Frame, op: Operation) -> Sequence[Item]:
    value = frame.value(op.operands[-1])
    block, kind = _at(frame, op, op.operands[1:-1])
    value = blocks.like(lambda d: d.reshape(d.shape[0], *kind.shape), value)
    if op.name == "tt.descriptor_store":
        frame.accesses.store_block(op, block, value, kind)
    else:
        frame.accesses.reduce_block(op, block, value, kind, op.words[0])
    return []


def _rows(frame: Frame, op: Operation, kind: Type) -> BlockPointer:
    """Return the rows of a descriptor that an operation names, from a column on."""
    descriptor = frame.get(op.operands[0])
    rows, column = (frame.value(operand) for operand in op.operands[1:3])
    if not isinstance(descriptor, BlockPointer) or len(rows.shape) != 2:
        raise Unsupported(op.name)
    if len(descriptor.shape) != 2 or len(shape_of(kind)) != 2:
        raise Unsupported(f"{op.name} of other than two dimensions")
    return BlockPointer(
        descriptor.base, descriptor.shape, descriptor.strides, (rows, column), descriptor.nan
    )


def _descriptor_gather(frame: Frame, op: Operation) -> Sequence[Item]:
    kind = op.result_types[0]
    return [frame.accesses.load_block(op, _rows(frame, op, kind), kind)]


def _descriptor_scatter(frame: Frame, op: Operation) -> Sequence[Item]:
    kind = op.given[-1]
    value = frame.value(op.operands[3])
    frame.accesses.store_block(op, _rows(frame, op, kind), value, kind)
    return []


OPERATIONS: dict[str, Callable[[Frame, Operation], Sequence[Item]]] = {
    "tt.advance": _advance,
    "tt.descriptor_gather": _descriptor_gather,
    "tt.descriptor_load": _descriptor_load,
    "tt.descriptor_reduce": _descriptor_store,
    "tt.descriptor_scatter": _descriptor_scatter,
    "tt.descriptor_store": _descriptor_store,
    "tt.make_tensor_descriptor": _make_block,
    "tt.make_tensor_ptr": _make_block,
}
