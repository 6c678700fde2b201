"""What an operation on elements does to undefined elements and to overflows.

An element is undefined if its value depends on one that is; an index that overflowed int32 is
remembered until it reaches an address.
"""

from __future__ import annotations

import torch

from grader.emulation.triton_ir.ir import Operation
from grader.emulation.triton_ir.values import Value, any_undefined, origin, wrapped


def elementwise(op: Operation, values: list[Value], data: torch.Tensor) -> Value:
    """Return the result of an operation on elements, undefined where an operand is."""
    undefined = any_undefined(values)
    overflow = wrapped(values)
    if undefined is not None:
        undefined = _defined_anyway(op, values, undefined)
    checked = op.name in ("arith.addi", "arith.muli", "arith.subi") and data.dtype is torch.int32
    if checked and _overflows(op.name, values, data):
        overflow = op.location
    return Value(data, undefined, origin(values) if undefined is not None else None, overflow)


def _defined_anyway(op: Operation, values: list[Value], undefined: torch.Tensor) -> torch.Tensor:
    """Leave out elements that do not depend on the operand which is undefined."""
    if op.name == "arith.select":
        condition, one, two = values
        no = torch.zeros((), dtype=torch.bool)
        chosen = torch.where(
            condition.data,
            no if one.undefined is None else one.undefined,
            no if two.undefined is None else two.undefined,
        )
        return chosen if condition.undefined is None else chosen | condition.undefined
    if op.name in _DECIDING:
        decides = _DECIDING[op.name]
        if values[0].data.dtype is torch.bool:
            decides = abs(decides)
        for value in values:
            sure = value.data == decides
            if value.undefined is not None:
                sure = sure & ~value.undefined
            undefined = undefined & ~sure
    return undefined


# An operand of this value, in a truth value 1 for -1, decides the result whatever the other one is.
_DECIDING = {"arith.andi": 0, "arith.muli": 0, "arith.ori": -1}


def _overflows(name: str, values: list[Value], data: torch.Tensor) -> bool:
    """True if an int32 result has wrapped around in some program."""
    a, b = (value.data for value in values)
    if name == "arith.muli":
        low_a, high_a = (int(bound) for bound in torch.aminmax(a))
        low_b, high_b = (int(bound) for bound in torch.aminmax(b))
        corners = [x * y for x in (low_a, high_a) for y in (low_b, high_b)]
        if max(corners) < 1 << 31 and min(corners) >= -(1 << 31):
            return False
        return bool((a.to(torch.int64) * b.to(torch.int64) != data).numpy().any())
    if name == "arith.addi":
        return bool((((a ^ data) & (b ^ data)) < 0).numpy().any())
    return bool((((a ^ b) & (a ^ data)) < 0).numpy().any())
