"""Execute a launch: batches of programs, one operation at a time for all programs of a batch.

    launch ─→ batches ─→ frame of the kernel ─→ operations ─→ accesses ─→ memory
                          │ a branch, a loop or a return on which programs differ:
                          └─→ frames of the parts of the batch, put together afterwards

A kernel in which programs wait for each other, or rely on a scalar atomic's result, runs program
after program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from grader.emulation.common.errors import KernelError, TimeLimitError
from grader.emulation.common.findings import Findings
from grader.emulation.common.storage import View
from grader.emulation.triton_ir import liveness, messages
from grader.emulation.triton_ir.ir import Module
from grader.emulation.triton_ir.memory import Memory, Order
from grader.emulation.triton_ir.parser import IRError
from grader.emulation.triton_ir.runner import NONSENSE, Runner, operations
from grader.emulation.triton_ir.types import Pointer, Tensor, Type, element_of, shape_of
from grader.emulation.triton_ir.values import BlockPointer, Item, Value

__all__ = [
    "Argument",
    "DescriptorArgument",
    "KernelError",
    "Launch",
    "TimeLimitError",
    "execute",
    "operations",
]

# Elements of the largest block, times programs: what the caches of a core hold.
_BATCH_ELEMENTS = 1 << 18
_MOST_PROGRAMS = 4096


@dataclass(slots=True, kw_only=True)
class DescriptorArgument:
    """A tensor descriptor made on the host: shape and strides in elements."""

    view: View
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    nan: bool = False  # what stands outside of the shape is NaN, and not zero


Argument = View | DescriptorArgument | int | float | bool


@dataclass(slots=True, kw_only=True)
class Launch:
    """A kernel on a grid. Arguments in the order of the function's."""

    module: Module
    grid: tuple[int, int, int]
    arguments: Sequence[Argument]
    # Memory that is no argument, but may be reached by addresses in memory.
    known: Sequence[View] = ()


def execute(
    launch: Launch,
    memory: Memory,
    found: Findings,
    *,
    deadline_s: float | None = None,
) -> int:
    """Run a launch to its end; return the number of operations. Findings go to `found`.

    Raises TimeLimitError after the moment `deadline_s` of `time.thread_time`, Unsupported for what
    the executor lacks, with the operation's location, and KernelError.
    """
    kernel = launch.module.kernel
    found.kernel, found.grid, found.hints = kernel.name, launch.grid, messages.HINTS
    memory.begin_launch(launch.grid)
    pairs = zip(launch.arguments, kernel.arguments, strict=True)
    given = [_argument(argument, kind, memory) for argument, (_, kind) in pairs]
    for view in launch.known:
        memory.add(view)
    for view in memory.views:
        view.storage.begin_launch()
    programs = math.prod(launch.grid)
    size, alone = _plan(launch.module)
    runner = Runner(launch.module, memory, deadline_s)
    if alone:
        memory.order = Order()
    with torch.no_grad():
        for start in range(0, programs, size):
            if memory.order is not None:
                memory.order.begin_program()
            batch = torch.arange(start, min(start + size, programs), dtype=torch.int32)
            try:
                runner.function(kernel, given, batch, 0)
            except TimeLimitError as error:
                # A program that runs by itself may wait for one that comes after it here.
                error.endless = start == 0 and not (alone and programs > 1)
                raise
            except IRError:
                raise
            except NONSENSE as error:
                raise IRError(f"{type(error).__name__}: {error}"[:300]) from error
    return runner.operations


def _plan(module: Module) -> tuple[int, bool]:
    """Return the programs of a batch, and whether each runs by itself; worked out once."""
    if module.plan is None:
        liveness.prepare(module)
        alone = _runs_alone(module)
        fitting = max(1, min(_MOST_PROGRAMS, _BATCH_ELEMENTS // _largest(module)))
        module.plan = (1 if alone else fitting), alone
    return module.plan


def _argument(argument: Argument, kind: Type, memory: Memory) -> Item:
    if isinstance(argument, DescriptorArgument):
        base = Value(torch.tensor([memory.add(argument.view)]))
        shape, strides = (
            tuple(Value(torch.tensor([number])) for number in numbers)
            for numbers in (argument.shape, argument.strides)
        )
        return BlockPointer(base, shape, strides, (), argument.nan)
    if isinstance(argument, View):
        return Value(torch.tensor([memory.add(argument)]))
    element = element_of(kind)
    if isinstance(element, Pointer):
        return Value(torch.tensor([int(argument)]))
    dtype = element.dtype
    if not dtype.is_floating_point and dtype is not torch.bool:
        bits = torch.iinfo(dtype).bits
        number = int(argument) & ((1 << bits) - 1)
        number -= (number >> (bits - 1)) << bits
        return Value(torch.tensor([number], dtype=dtype))
    return Value(torch.tensor([argument]).to(dtype))


def _largest(module: Module) -> int:
    """Return the number of elements of the largest block."""
    bodies = (function.body for function in module.functions.values())
    kinds = (kind for body in bodies for op in body.operations() for kind in op.result_types)
    return max((math.prod(shape_of(kind)) for kind in kinds), default=1)


def _runs_alone(module: Module) -> bool:
    """True if programs meet at scalar atomics whose result they use."""
    for function in module.functions.values():
        used = {operand for op in function.body.operations() for operand in op.operands}
        for op in function.body.operations():
            atomic = op.name in ("tt.atomic_rmw", "tt.atomic_cas")
            if atomic and not isinstance(op.result_types[0], Tensor) and op.results[0] in used:
                return True
    return False
