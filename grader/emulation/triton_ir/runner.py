"""Run the operations of a kernel on a batch of programs: values, calls, branches and loops.

Where programs of a batch differ (a branch, a loop's end, an early return), each part of the batch
goes on in a frame of its own, and the values are put together afterwards.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import torch

from grader.emulation.common.errors import KernelError, TimeLimitError, Unsupported
from grader.emulation.triton_ir import (
    affine,
    arithmetic,
    block_pointers,
    blocks,
    gpu_dialect,
    libdevice,
    scaled,
)
from grader.emulation.triton_ir.accesses import Accesses
from grader.emulation.triton_ir.affine import Affine
from grader.emulation.triton_ir.frame import Frame
from grader.emulation.triton_ir.inline_assembly import inline_assembly
from grader.emulation.triton_ir.ir import Block, Function, Module, Operation, Region
from grader.emulation.triton_ir.memory import Memory
from grader.emulation.triton_ir.parser import IRError
from grader.emulation.triton_ir.promises import check_promises
from grader.emulation.triton_ir.propagation import elementwise
from grader.emulation.triton_ir.types import (
    Descriptor,
    Pointer,
    Type,
    dtype_of,
    element_of,
    shape_of,
)
from grader.emulation.triton_ir.values import (
    BlockPointer,
    Item,
    Value,
    any_undefined,
    combine,
    origin,
    select,
    wrapped,
)

_MOST_DEPTH = 64  # of calls
_MOST_ELEMENTS = 1 << 21  # of a value, all programs together
# What torch and Python raise where operands do not fit: of a compiler's IR they always do.
NONSENSE = (
    RuntimeError, ValueError, TypeError, IndexError, KeyError, AttributeError, AssertionError,
    ArithmeticError, MemoryError, NotImplementedError,
)  # fmt: skip


# True or False for all programs, or those for which a condition is true and false.
_Choice = bool | tuple[torch.Tensor, torch.Tensor]


class Runner:
    """Runs a module's functions on batches; `operations` counts what it has run."""

    def __init__(
        self,
        module: Module,
        memory: Memory,
        deadline_s: float | None,
    ) -> None:
        self._module = module
        self._memory = memory
        self._deadline_s = deadline_s
        self._combining = 0
        self.operations = 0

    # ---- functions and regions ----

    def function(
        self, function: Function, given: Sequence[Item], programs: torch.Tensor, depth: int
    ) -> list[Item]:
        """Run a function; return what it returns."""
        if depth > _MOST_DEPTH:
            raise Unsupported("calls are nested too deeply")
        frame = Frame(programs, Accesses(self._memory, programs), depth)
        for (name, _), item in zip(function.arguments, given, strict=True):
            frame.values[name] = item
        return self._blocks(frame, function.body, function.body.entry)

    def _blocks(self, frame: Frame, region: Region, block: Block) -> list[Item]:
        """Run a block and those that it branches to, up to a return."""
        while True:
            last = self._block(frame, block)
            if last.name == "cf.br":
                name, arguments = last.successors[0]
                block = self._target(frame, region, name, arguments)
                continue
            if last.name == "cf.cond_br":
                chosen = self._choice(frame, last)
                if isinstance(chosen, bool):
                    name, arguments = last.successors[0 if chosen else 1]
                    block = self._target(frame, region, name, arguments)
                    continue
                parts = []
                for index, (name, arguments) in zip(chosen, last.successors, strict=True):
                    part = frame.part(index)
                    target = self._target(part, region, name, arguments)
                    parts.append((index, self._blocks(part, region, target)))
                return self._together(frame, parts)
            return [frame.get(name) for name in last.operands]

    def _target(self, frame: Frame, region: Region, name: str, arguments: Sequence[str]) -> Block:
        block = next((block for block in region.blocks if block.name == name), None)
        if block is None:
            raise Unsupported(f"the block {name}, which is not there")
        frame.bind(block, [frame.get(argument) for argument in arguments])
        return block

    def _together(
        self, frame: Frame, parts: Sequence[tuple[torch.Tensor, list[Item]]]
    ) -> list[Item]:
        count = len(parts[0][1])
        return [
            combine(len(frame.programs), [(index, items[i]) for index, items in parts])
            for i in range(count)
        ]

    def _choice(self, frame: Frame, op: Operation) -> _Choice:
        """Return which programs a condition chooses."""
        condition = frame.value(op.operands[0])
        frame.accesses.branch(condition, op.location)
        return _split(condition.data.reshape(-1))

    def _block(self, frame: Frame, block: Block) -> Operation:
        """Run the operations of a block; return its last one, a yield, return or branch."""
        if self._deadline_s is not None and time.thread_time() > self._deadline_s:
            raise TimeLimitError(block.operations[0].location if block.operations else None)
        operations = block.operations
        if not operations:
            raise Unsupported("an empty block")
        for op in operations[:-1]:
            self.operations += 1
            try:
                self._operation(frame, op)
            except TimeLimitError as late:
                # A function of Triton's own library, such as tl.sum, stands for its call.
                if late.at is None or (op.location and op.location.file != late.at.file):
                    late.at = op.location
                raise
            except (Unsupported, IRError) as problem:
                if problem.at is None:
                    problem.at = op.location
                raise
            except NONSENSE as error:
                refused = IRError(f"{op.name}: {type(error).__name__}: {error}"[:300])
                refused.at = op.location
                raise refused from error
        return operations[-1]

    def _region(self, frame: Frame, region: Region, items: Sequence[Item]) -> list[Item]:
        """Run a region of one block on its arguments; return what it yields."""
        frame.bind(region.entry, items)
        last = self._block(frame, region.entry)
        return [frame.get(name) for name in last.operands]

    # ---- operations ----

    def _operation(self, frame: Frame, op: Operation) -> None:
        results = self._results(frame, op)
        for name, item, kind in zip(op.results, results, op.result_types, strict=True):
            if isinstance(item, Value):
                self._check(frame, item, kind)
            frame.values[name] = item
        for name in op.dying:
            frame.values.pop(name, None)
        if op.attributes:
            check_promises(op, results, self._memory, frame.accesses.programs)

    def _check(self, frame: Frame, item: Value, kind: Type) -> None:
        """Raise IRError if a result is not of its type: in hostile text it need not be."""
        shape = item.shape
        count = math.prod(shape)
        if count > _MOST_ELEMENTS:
            raise IRError(f"a value of {count:,} elements")
        if self._combining:
            return  # a block stands for each scalar
        if shape[1:] != shape_of(kind) or item.dtype is not dtype_of(kind):
            raise IRError(f"a value of {shape[1:]} {item.dtype}, declared as {kind}")
        if shape[0] != 1 and shape[0] != frame.programs.numel():
            raise IRError(f"a value of {shape[0]} programs of {frame.programs.numel()}")

    def _results(self, frame: Frame, op: Operation) -> Sequence[Item]:
        name = op.name
        if name == "arith.constant":
            known = self._module.constants
            if id(op) not in known:
                known[id(op)] = blocks.constant(op)
            return [known[id(op)]]
        handler = _HANDLERS.get(name)
        if handler is not None:
            return handler(self, frame, op)
        if name in block_pointers.OPERATIONS:
            return block_pointers.OPERATIONS[name](frame, op)
        if name in gpu_dialect.OPERATIONS:
            return gpu_dialect.OPERATIONS[name](frame, op)
        values = [frame.value(operand) for operand in op.operands]
        if name in _ON_VALUES:
            return [_ON_VALUES[name](op, values)]
        if name in blocks.RESHAPES:
            return blocks.reshape(op, values)
        values = _alike(values)
        formed = _formed(op, values)
        if formed is not None:
            return [formed]
        data = arithmetic.compute(op, [value.data for value in values])
        if data is None:
            raise Unsupported(name)
        return [elementwise(op, values, data)]

    def _program_id(self, frame: Frame, op: Operation) -> Sequence[Item]:
        x, y, _ = self._memory.grid
        axis, numbers = op.words[0], frame.programs
        if axis == "x":
            return [Value(numbers % x)]
        numbers = torch.div(numbers, x, rounding_mode="floor")
        if axis == "y":
            return [Value(numbers % y)]
        return [Value(torch.div(numbers, y, rounding_mode="floor"))]

    def _num_programs(self, frame: Frame, op: Operation) -> Sequence[Item]:
        count = self._memory.grid["xyz".index(op.words[0])]
        return [Value(torch.tensor([count], dtype=torch.int32))]

    def _poison(self, frame: Frame, op: Operation) -> Sequence[Item]:
        kind = op.result_types[0]
        if isinstance(kind, Descriptor):
            raise Unsupported("an undefined descriptor")
        return [Value(torch.zeros((1, *shape_of(kind)), dtype=dtype_of(kind)))]

    def _add_pointer(self, frame: Frame, op: Operation) -> Sequence[Item]:
        pointer, offset = (frame.value(operand) for operand in op.operands)
        element = element_of(op.given[0])
        assert isinstance(element, Pointer)
        width = dtype_of(element.element).itemsize
        values = [pointer, offset]
        if isinstance(pointer.form, Affine) and isinstance(offset.form, Affine):
            moved = affine.move(pointer.form, offset.form, width)
            if moved is not None:
                return [Value(moved, wrapped=wrapped(values))]
        data = pointer.data + offset.data.to(torch.int64) * width
        return [Value(data, any_undefined(values), origin(values), wrapped(values))]

    def _call(self, frame: Frame, op: Operation) -> Sequence[Item]:
        function = self._callee(op.words[0])
        given = [frame.get(operand) for operand in op.operands]
        return self.function(function, given, frame.programs, frame.depth + 1)

    def _callee(self, name: str) -> Function:
        function = self._module.functions.get(name)
        if function is None:
            raise Unsupported(f"a call of {name}, which is not there")
        return function

    def _reduce(self, frame: Frame, op: Operation) -> Sequence[Item]:
        values = [frame.value(operand) for operand in op.operands]
        return blocks.reduce(op, values, self._combiner(frame), lambda n: self._callee(n).body)

    def _scan(self, frame: Frame, op: Operation) -> Sequence[Item]:
        values = [frame.value(operand) for operand in op.operands]
        return blocks.scan(op, values, self._combiner(frame))

    def _combiner(self, frame: Frame) -> blocks.Combine:
        def combined(region: Region, values: list[Value]) -> list[Value]:
            # Whole blocks stand where the region has scalars: all pairs at once.
            self._combining += 1
            try:
                found = self._region(frame, region, values)
            finally:
                self._combining -= 1
            return [item for item in found if isinstance(item, Value)]

        return combined

    def _map(self, frame: Frame, op: Operation) -> Sequence[Item]:
        return self._region(frame, op.regions[0], [frame.get(o) for o in op.operands])

    def _extern(self, frame: Frame, op: Operation) -> Sequence[Item]:
        symbol = op.attributes.get("symbol", "").strip('"')
        function = libdevice.function(symbol)
        if function is None:
            raise Unsupported(f"the library function {symbol}")
        values = _alike([frame.value(operand) for operand in op.operands])
        return [elementwise(op, values, function(*(value.data for value in values)))]

    def _assembly(self, frame: Frame, op: Operation) -> Sequence[Item]:
        values = _alike([frame.value(operand) for operand in op.operands])
        if blocks.rounds_to_tf32(op, values):
            return [blocks.tf32(values[0])]
        return inline_assembly(op, values)

    def _assert(self, frame: Frame, op: Operation) -> Sequence[Item]:
        condition = frame.value(op.operands[0])
        if not bool((condition.data != 0).all()):
            words = next((word for word in op.words if word.startswith('"')), '""')
            raise KernelError(f"device_assert failed: {words[1:-1]}", op.location)
        return []

    def _nothing(self, frame: Frame, op: Operation) -> Sequence[Item]:
        return []

    # ---- accesses ----

    def _load(self, frame: Frame, op: Operation) -> Sequence[Item]:
        pointer, *rest = (frame.get(operand) for operand in op.operands)
        if isinstance(pointer, BlockPointer):
            return [frame.accesses.load_block(op, pointer, block_pointers.block_type(op.given[0]))]
        assert isinstance(pointer, Value)
        mask, other = _values(rest, 2)
        _alike([one for one in (pointer, mask, other) if one is not None])
        return [frame.accesses.load(op, pointer, mask, other)]

    def _store(self, frame: Frame, op: Operation) -> Sequence[Item]:
        pointer, value, *rest = (frame.get(operand) for operand in op.operands)
        assert isinstance(value, Value)
        if isinstance(pointer, BlockPointer):
            frame.accesses.store_block(op, pointer, value, block_pointers.block_type(op.given[0]))
            return []
        assert isinstance(pointer, Value)
        mask = _values(rest, 1)[0]
        _alike([one for one in (pointer, value, mask) if one is not None])
        frame.accesses.store(op, pointer, value, mask)
        return []

    def _gather(self, frame: Frame, op: Operation) -> Sequence[Item]:
        source, index = (frame.value(operand) for operand in op.operands)
        frame.accesses.gather(op, source.data.shape[blocks.axis_of(op)], index)
        return [blocks.gather(op, source, index)]

    def _atomic(self, frame: Frame, op: Operation) -> Sequence[Item]:
        pointer, value, *rest = _alike([frame.value(operand) for operand in op.operands])
        return [frame.accesses.update(op, pointer, value, rest[0] if rest else None)]

    def _compare_and_swap(self, frame: Frame, op: Operation) -> Sequence[Item]:
        values = _alike([frame.value(operand) for operand in op.operands])
        return [frame.accesses.compare_and_swap(op, *values)]

    # ---- control flow ----

    def _if(self, frame: Frame, op: Operation) -> Sequence[Item]:
        chosen = self._choice(frame, op)
        if isinstance(chosen, bool):
            if not chosen and len(op.regions) < 2:
                return []
            return self._region(frame, op.regions[0 if chosen else 1], [])
        parts = []
        for index, region in zip(chosen, op.regions, strict=False):
            parts.append((index, self._region(frame.part(index), region, [])))
        return self._together(frame, parts) if op.results else []

    def _for(self, frame: Frame, op: Operation) -> Sequence[Item]:
        low, high, step, *first = (frame.get(operand) for operand in op.operands)
        assert isinstance(low, Value) and isinstance(high, Value) and isinstance(step, Value)
        for bound in (low, high, step):
            frame.accesses.branch(bound, op.location)
        body = op.regions[0]
        if all(_uniform(value) for value in (low, high, step)):
            start, end, by = (int(value.data.reshape(-1)[0]) for value in (low, high, step))
            dtype = low.data.dtype
            carried: list[Item] = list(first)
            if by <= 0:
                raise KernelError(f"a loop's step is {by}", op.location)
            for number in range(start, end, by):
                index = Value(torch.tensor([number], dtype=dtype))
                carried = self._region(frame, body, [index, *carried])
            return carried
        return self._uneven_for(frame, op, low, high, step, first)

    def _uneven_for(
        self,
        frame: Frame,
        op: Operation,
        low: Value,
        high: Value,
        step: Value,
        first: Sequence[Item],
    ) -> Sequence[Item]:
        """A loop that programs leave at different times."""
        size = len(frame.programs)
        ends, steps = (value.data.expand(size) for value in (high, step))
        if bool((steps <= 0).any()):
            raise KernelError("a loop's step is not positive", op.location)

        def decide(_: Frame, items: list[Item], index: torch.Tensor) -> tuple[_Choice, list[Item]]:
            assert isinstance(items[0], Value)
            return _split(items[0].data.expand(len(index)) < ends[index]), items

        def once(part: Frame, items: list[Item], index: torch.Tensor) -> list[Item]:
            done = self._region(part, op.regions[0], items)
            counter = items[0]
            assert isinstance(counter, Value)
            return [Value(counter.data.expand(len(index)) + steps[index]), *done]

        start: list[Item] = [Value(low.data.expand(size)), *first]
        return self._loop(frame, start, decide, once)[1:]

    def _while(self, frame: Frame, op: Operation) -> Sequence[Item]:
        before, after = op.regions

        def decide(part: Frame, items: list[Item], _: torch.Tensor) -> tuple[_Choice, list[Item]]:
            part.bind(before.entry, items)
            last = self._block(part, before.entry)
            forwarded = [part.get(name) for name in last.operands[1:]]
            return self._choice(part, last), forwarded

        def once(part: Frame, items: list[Item], _: torch.Tensor) -> list[Item]:
            return self._region(part, after, items)

        given = [frame.get(operand) for operand in op.operands]
        try:
            return self._loop(frame, given, decide, once)
        except TimeLimitError as late:
            if _waits(op):
                late.at, late.waiting = op.location, True
            raise

    def _loop(
        self,
        frame: Frame,
        items: list[Item],
        decide: Callable[[Frame, list[Item], torch.Tensor], tuple[_Choice, list[Item]]],
        once: Callable[[Frame, list[Item], torch.Tensor], list[Item]],
    ) -> list[Item]:
        """Run `once` for the programs that stay, until none does; items of all, as they left.

        `decide` returns which stay, and the items with which they do.
        """
        index = torch.arange(len(frame.programs))
        finished: list[tuple[torch.Tensor, list[Item]]] = []
        part = frame
        while True:
            chosen, items = decide(part, items, index)
            if chosen is False:
                finished.append((index, items))
                break
            if not isinstance(chosen, bool):
                on, off = chosen
                finished.append((index[off], [select(item, off) for item in items]))
                items = [select(item, on) for item in items]
                index = index[on]
                part = frame.part(index)
            items = once(part, items, index)
        return finished[0][1] if len(finished) == 1 else self._together(frame, finished)


def _alike(values: list[Value]) -> list[Value]:
    """Return operands of one shape, except for scalars: a condition, or a combine's constant."""
    if not values:
        return values
    shapes = [value.shape[1:] for value in values]
    if all(shape == shapes[-1] for shape in shapes):
        return values
    full = [shape for shape in shapes if shape]
    if all(shape == full[0] for shape in full):
        rank = len(full[0])
        return [
            value if len(value.shape) > 1 else blocks.like(lambda d: d.view(-1, *[1] * rank), value)
            for value in values
        ]
    raise IRError(f"operands of the shapes {', '.join(str(tuple(shape)) for shape in shapes)}")


def _formed(op: Operation, values: list[Value]) -> Value | None:
    """Compute an operation on regular offsets without their elements; None if it cannot be."""
    forms = [value.form for value in values if value.form is not None]
    if len(forms) < len(values):
        return None
    form = affine.compute(op, forms)
    return None if form is None else Value(form, wrapped=wrapped(values))


def _split(condition: torch.Tensor) -> _Choice:
    """Return one truth value, or the programs for which a condition is true and false."""
    if condition.numpy().all():
        return True
    if not condition.numpy().any():
        return False
    return torch.nonzero(condition).reshape(-1), torch.nonzero(~condition).reshape(-1)


def _waits(loop: Operation) -> bool:
    """True if a loop does scalar atomics and stores nothing."""
    names = {op.name for region in loop.regions for op in region.operations()}
    return bool(names & {"tt.atomic_rmw", "tt.atomic_cas"}) and "tt.store" not in names


def _uniform(value: Value) -> bool:
    data = value.data.reshape(-1)
    return len(data) == 1 or bool((data == data[0]).numpy().all())


def _values(items: Sequence[Item], count: int) -> list[Value | None]:
    found: list[Value | None] = [item for item in items if isinstance(item, Value)]
    return found + [None] * (count - len(found))


_HANDLERS = {
    "scf.for": Runner._for,
    "scf.if": Runner._if,
    "scf.while": Runner._while,
    "tt.addptr": Runner._add_pointer,
    "tt.assert": Runner._assert,
    "tt.atomic_cas": Runner._compare_and_swap,
    "tt.atomic_rmw": Runner._atomic,
    "tt.call": Runner._call,
    "tt.elementwise_inline_asm": Runner._assembly,
    "tt.extern_elementwise": Runner._extern,
    "tt.get_num_programs": Runner._num_programs,
    "tt.get_program_id": Runner._program_id,
    "tt.gather": Runner._gather,
    "tt.load": Runner._load,
    "tt.map_elementwise": Runner._map,
    "tt.print": Runner._nothing,
    "tt.reduce": Runner._reduce,
    "tt.scan": Runner._scan,
    "tt.store": Runner._store,
    "ub.poison": Runner._poison,
    "gpu.barrier": Runner._nothing,
    "ttg.barrier": Runner._nothing,
    "llvm.intr.assume": Runner._nothing,
}
_ON_VALUES: dict[str, Callable[[Operation, list[Value]], Value]] = {
    "tt.dot": lambda op, values: blocks.dot(op, *values[:3]),
    "tt.dot_scaled": scaled.dot_scaled,
    "tt.histogram": blocks.histogram,
    "tt.make_range": lambda op, _: blocks.make_range(op),
}


def operations() -> list[str]:
    """Return the names of all operations that can be executed."""
    return sorted(
        {*_HANDLERS, *_ON_VALUES, *block_pointers.OPERATIONS, *blocks.RESHAPES,
         *arithmetic.names(), "arith.constant"}
    )  # fmt: skip
