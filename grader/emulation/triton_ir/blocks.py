"""Operations on whole blocks: shapes, reductions, scans, matrix products."""

from __future__ import annotations

import re
from collections.abc import Callable

import torch

from grader.emulation.common.errors import Unsupported
from grader.emulation.triton_ir import affine
from grader.emulation.triton_ir.ir import Operation, Region
from grader.emulation.triton_ir.types import Tensor, dtype_of, shape_of
from grader.emulation.triton_ir.values import Value, any_undefined, origin, wrapped
from grader.protocol.targets import WARP

T = torch.Tensor
Combine = Callable[[Region, list[Value]], list[Value]]


def constant(op: Operation) -> Value:
    """`arith.constant`: a number, or a block that is filled with one or lists all elements."""
    kind, text = op.result_types[0], op.attributes["value"]
    dtype, shape = dtype_of(kind), shape_of(kind)
    match = re.fullmatch(r"dense<(.*)>", text, re.DOTALL)
    inner = match[1] if match else text
    if inner.startswith("["):
        numbers = [_number(part, dtype) for part in re.findall(r"[^\[\],\s]+", inner)]
        return Value(torch.stack(numbers).view(1, *shape))
    number = _number(inner, dtype)
    form = affine.splat(number.view(1), shape) if shape else None
    return Value(form or number.view(1, *(1 for _ in shape)).expand(1, *shape))


def _number(text: str, dtype: torch.dtype) -> T:
    if text in ("true", "false"):
        return torch.tensor(text == "true").to(dtype)
    if text.startswith("0x") and dtype.is_floating_point:
        width = dtype.itemsize
        bits = int(text, 16)
        return torch.tensor(list(bits.to_bytes(width, "little")), dtype=torch.uint8).view(dtype)[0]
    if dtype.is_floating_point:
        return torch.tensor(float(text), dtype=torch.float64).to(dtype)
    number = int(text, 0)
    if dtype is torch.bool:
        return torch.tensor(bool(number))
    width = 8 * dtype.itemsize
    number &= (1 << width) - 1
    return torch.tensor(number - (1 << width) if number >> (width - 1) else number, dtype=dtype)


def like(function: Callable[[T], T], value: Value) -> Value:
    """Apply a change of shape to a value and to its undefined elements."""
    undefined = None if value.undefined is None else function(_full(value.undefined, value.data))
    return Value(function(value.data), undefined, value.origin, value.wrapped)


def _full(undefined: T, data: T) -> T:
    batch = max(undefined.shape[0], data.shape[0])
    return undefined.expand(batch, *data.shape[1:])


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"-?\d+", text.split(":", 1)[-1])]


def axis_of(op: Operation) -> int:
    """Return the axis attribute as a dimension of the batch's tensors."""
    return int(op.attributes["axis"]) + 1


def reshape(op: Operation, values: list[Value]) -> list[Value]:
    """Operations that move elements and compute nothing."""
    name, shape = op.name, shape_of(op.result_types[0])
    first = values[0]
    formed = _formed(op, first)
    if formed is not None:
        return [Value(formed, wrapped=first.wrapped)]
    if name == "tt.splat":
        rank = len(shape)
        return [like(lambda d: d.view(-1, *[1] * rank).expand(-1, *shape), first)]
    if name == "tt.unsplat":
        return [like(lambda d: d.reshape(d.shape[0]), first)]
    if name == "tt.broadcast":
        return [like(lambda d: d.expand(d.shape[0], *shape), first)]
    if name == "tt.expand_dims":
        return [like(lambda d: d.unsqueeze(axis_of(op)), first)]
    if name == "tt.reshape":
        return [like(lambda d: d.reshape(d.shape[0], *shape), first)]
    if name == "tt.trans":
        order = [0, *(n + 1 for n in _numbers(op.attributes["order"]))]
        return [like(lambda d: d.permute(order), first)]
    if name == "tt.split":
        return [like(lambda d: d[..., 0], first), like(lambda d: d[..., 1], first)]
    if name in ("tt.join", "tt.cat"):
        one, two = (_broadcast(values, i) for i in (0, 1))
        joined = _join(one.data, two.data, name)
        found = any_undefined(values)
        undefined = None
        if found is not None:
            no = torch.zeros_like(one.data, dtype=torch.bool)
            a, b = (no if v.undefined is None else v.undefined.expand_as(no) for v in (one, two))
            undefined = _join(a, b, name)
        return [Value(joined, undefined, origin(values), wrapped(values))]
    raise Unsupported(name)


def _formed(op: Operation, value: Value) -> affine.Form | None:
    if value.undefined is not None:
        return None
    if op.name == "tt.splat":
        return affine.splat(value.data, shape_of(op.result_types[0]))
    if value.form is None or op.name not in ("tt.broadcast", "tt.expand_dims"):
        return None
    axis = axis_of(op) - 1 if op.name == "tt.expand_dims" else None
    return affine.reshape(op, value.form, axis)


def _join(a: T, b: T, name: str) -> T:
    return torch.stack((a, b), -1) if name == "tt.join" else torch.cat((a, b), 1)


def _broadcast(values: list[Value], index: int) -> Value:
    batch = max(value.data.shape[0] for value in values)
    return like(lambda d: d.expand(batch, *d.shape[1:]), values[index])


RESHAPES = (
    "tt.splat", "tt.unsplat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans",
    "tt.split", "tt.join", "tt.cat",
)  # fmt: skip


def _only_operation(region: Region, called: Callable[[str], Region]) -> str | None:
    """Return the one operation that a region of two arguments does, through calls."""
    names = [argument for argument, _ in region.entry.arguments]
    operations = [
        op for op in region.entry.operations
        if op.name not in ("tt.return", "tt.reduce.return", "tt.scan.return")
    ]  # fmt: skip
    results = [op for op in region.entry.operations if op not in operations]
    if len(names) != 2 or not results or len(results[-1].operands) != 1:
        return None
    last = next((op for op in operations if results[-1].operands[0] in op.results), None)
    if last is None or set(last.operands) != set(names):
        return None
    if last.name == "tt.call":
        return _only_operation(called(last.words[0]), called)
    return last.name


def _cut(parts: list[Value], axis: int, start: int, length: int) -> list[Value]:
    return [like(lambda d: d.narrow(axis, start, length), part) for part in parts]


def _every_second(part: Value, axis: int, first: int) -> Value:
    return like(lambda d: d.transpose(axis, -1)[..., first::2].transpose(axis, -1), part)


def reduce(
    op: Operation, values: list[Value], combine: Combine, called: Callable[[str], Region]
) -> list[Value]:
    """`tt.reduce`: neighbours are combined until one is left, in their order."""
    axis, region = axis_of(op), op.regions[0]
    size = values[0].data.shape[axis]
    undefined = any_undefined(values)
    if undefined is not None:
        undefined = _full(undefined, values[0].data).any(axis)
    simple = _only_operation(region, called) if len(values) == 1 else None
    data = values[0].data
    if simple in ("arith.addf", "arith.addi") and data.dtype is not torch.bool:
        done = [Value(data.sum(axis, dtype=data.dtype))]
    elif simple in ("arith.maxsi", "arith.maximumf"):
        done = [Value(data.amax(axis))]
    elif simple in ("arith.minsi", "arith.minimumf"):
        done = [Value(data.amin(axis))]
    else:
        parts = [Value(value.data) for value in values]
        while size > 1:
            half = size // 2
            pairs = _cut(parts, axis, 0, 2 * half)
            low, high = ([_every_second(p, axis, i) for p in pairs] for i in (0, 1))
            rest = _cut(parts, axis, 2 * half, size % 2)
            parts = combine(region, low + high)
            if size % 2:
                ends = zip(parts, rest, strict=True)
                parts = [Value(torch.cat((a.data, b.data), axis)) for a, b in ends]
            size = half + size % 2
        done = [like(lambda d: d.squeeze(axis), part) for part in parts]
    found, where = origin(values), wrapped(values)
    return [Value(value.data, undefined, found, where) for value in done]


def scan(op: Operation, values: list[Value], combine: Combine) -> list[Value]:
    """`tt.scan`: each step combines with the element 1, 2, 4, … places before."""
    axis, region = axis_of(op), op.regions[0]
    size = values[0].data.shape[axis]
    backwards = op.attributes.get("reverse") == "true"
    undefined = any_undefined(values)
    parts = [Value(v.data.flip(axis) if backwards else v.data) for v in values]
    step = 1
    while step < size:
        before = _cut(parts, axis, 0, size - step)
        after = _cut(parts, axis, step, size - step)
        pairs = zip(parts, combine(region, before + after), strict=True)
        parts = [
            Value(torch.cat((old.data.narrow(axis, 0, step), new.data), axis)) for old, new in pairs
        ]
        step *= 2
    if undefined is not None:
        spread = _full(undefined, values[0].data).to(torch.int8)
        spread = spread.flip(axis) if backwards else spread
        spread = spread.cummax(axis).values
        undefined = (spread.flip(axis) if backwards else spread).bool()
    found, where = origin(values), wrapped(values)
    return [
        Value(part.data.flip(axis) if backwards else part.data, undefined, found, where)
        for part in parts
    ]


def _tf32(value: T) -> T:
    """Round float32 to the 10 bits of mantissa that tensor cores take."""
    bits = value.view(torch.int32)
    rounded = (bits + 0x1000).bitwise_and_(~0x1FFF).view(torch.float32)
    if bool(value.sum().isfinite()):
        return rounded
    return torch.where(value.isfinite(), rounded, value)


def rounds_to_tf32(op: Operation, values: list[Value]) -> bool:
    """True for the inline assembly that the compiler writes where tl.dot is asked for `tf32x3`."""
    rounds = any(word.startswith('"cvt.rna.tf32.f32 $0, $1;') for word in op.words)
    return rounds and len(values) == 1 and values[0].dtype is torch.float32


def tf32(value: Value) -> Value:
    """Round float32 as tensor cores take it."""
    return Value(_tf32(value.data.contiguous()), value.undefined, value.origin, value.wrapped)


def dot(op: Operation, a: Value, b: Value, c: Value) -> Value:
    """`tt.dot`: products in the operands' precision, sums in the accumulator's."""
    if a.dtype is torch.float32 and "tf32" in op.words:
        a, b = tf32(a), tf32(b)
    return product(a, b, c)


def product(a: Value, b: Value, c: Value) -> Value:
    """Return a · b + c, summed in the type of c."""
    kind = c.data.dtype
    left, right = a.data, b.data
    wide = torch.float64 if kind is torch.float64 else torch.float32
    if not left.dtype.is_floating_point:
        wide = torch.float64  # exact for sums of int8
    batch = max(left.shape[0], right.shape[0])
    left, right = (t.to(wide).expand(batch, *t.shape[1:]) for t in (left, right))
    if (*left.shape[:-1], right.shape[-1]) != (batch, *c.data.shape[1:]):
        raise Unsupported("a product of blocks that do not fit")
    product = torch.matmul(left, right)
    data = (
        (product + c.data.to(wide)).to(kind)
        if kind.is_floating_point
        else (product.to(torch.int64) + c.data).to(kind)
    )
    undefined = c.undefined
    if a.undefined is not None:
        rows = _full(a.undefined, a.data).any(-1, keepdim=True).expand(data.shape)
        undefined = rows if undefined is None else undefined | rows
    if b.undefined is not None:
        columns = _full(b.undefined, b.data).any(-2, keepdim=True).expand(data.shape)
        undefined = columns if undefined is None else undefined | columns
    return Value(data, undefined, origin((a, b, c)), wrapped((a, b, c)))


def histogram(op: Operation, values: list[Value]) -> Value:
    """`tt.histogram`: how many elements have each value.

    A GPU looks at the lowest bits of a value only, enough for a bin for every thread of a warp.
    """
    bins = shape_of(op.result_types[0])[0]
    told_apart = max(bins, WARP)
    data = values[0].data.to(torch.int64) % told_apart
    if len(values) > 1:
        on = values[1].data
        data = torch.where(on, data, told_apart)
    counts = torch.zeros((data.shape[0], told_apart + 1), dtype=torch.int32)
    counts.scatter_add_(1, data, torch.ones_like(data, dtype=torch.int32))
    return Value(counts[:, :bins], None, origin(values), wrapped(values))


def gather(op: Operation, source: Value, index: Value) -> Value:
    """`tt.gather`: elements of the block at indexes along an axis."""
    batch = max(source.data.shape[0], index.data.shape[0])
    data = source.data.expand(batch, *source.data.shape[1:])
    index = like(lambda d: d.expand(batch, *d.shape[1:]), index)
    at = index.data.to(torch.int64).clamp(0, data.shape[axis_of(op)] - 1)
    undefined = index.undefined
    if source.undefined is not None:
        of_source = _full(source.undefined, data).gather(axis_of(op), at)
        undefined = of_source if undefined is None else undefined | of_source
    return Value(data.gather(axis_of(op), at), undefined, source.origin)


def make_range(op: Operation) -> Value:
    """`tt.make_range`: start, start + 1, …"""
    start, kind = int(op.attributes["start"]), op.result_types[0]
    if not isinstance(kind, Tensor):
        raise Unsupported("a range that is no block")
    return Value(affine.make_range(start, kind.shape[0]))
