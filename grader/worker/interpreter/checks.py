"""Triton's interpreter with every address checked.

    install ─→ hooks in triton.runtime.interpreter, once per process
    begin   ─→ one call of the hand-in's entry starts
        launch: which tensors it got (regions), a clock, a record for the compile gate
            program: the next stamp
                load, store, atomic ─→ access ─→ findings, counters
    end     ─→ counts, counters and launches are told

All hooks take `*args` where triton 3.4 to 3.9 differ. What is told is told
through `worker_log`: it can cost points and never earn any.
"""

import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np

from grader.worker import triton_autotune, triton_recorder
from grader.worker.interpreter import access as triton_access
from grader.worker.interpreter import (
    arguments,
    booleans,
    closures,
    counters,
    findings,
    inputs,
    libdevice,
    limits,
    masked_lanes,
    regions,
    scratch,
    taint,
)
from grader.worker.interpreter import memory as triton_memory
from grader.worker.interpreter import shadow as triton_shadow
from grader.worker.interpreter.memory import Buffer

_Array = np.ndarray[Any, np.dtype[Any]]


def install(
    file: str,
    *,
    operations: int | None = None,
    seconds: float | None = None,
    memory: bool = True,
) -> "Checks":
    """Switch the checks on in this process, before the hand-in `file` is imported.

    `operations` and `seconds` limit what one call may cost (an operation takes
    about 15 µs in the interpreter). Without `memory` only the budget, the refusals, the
    autotune stub and a look at where stores go are on, which cost next to nothing.
    """
    import torch
    import triton.language
    from triton.runtime import interpreter

    triton_autotune.install()
    checks = Checks(file, operations, seconds, torch, interpreter)
    limits.install(interpreter, checks.budget, triton.language.bfloat16)
    libdevice.install(interpreter, checks.budget)
    arguments.install(interpreter)
    booleans.install(interpreter)
    closures.install(interpreter)
    install_launches(interpreter, checks)
    if memory:
        taint.install(interpreter, checks.taint)  # first: only values, not pointers
        install_accesses(interpreter, checks)
        scratch.install(torch, checks.memory.register)
    else:
        inputs.install(interpreter, checks.inputs)
    return checks


class Checks:
    """The checks of one worker: `begin` and `end` around every call of the entry."""

    def __init__(
        self,
        file: str,
        operations: int | None,
        seconds: float | None,
        torch: Any,
        interpreter: Any,
    ) -> None:
        import triton.language as tl
        from triton.runtime.jit import mangle_type

        self.memory = triton_memory.Memory(torch)
        self._interpreter = interpreter
        self._ledger = findings.Ledger(file)
        self._counters = counters.Counters()
        self._garbage = masked_lanes.Garbage()
        self.taint = taint.Taint(self.mask)
        self._recorder = triton_recorder.Recorder(mangle_type, tl.dtype, tl.constexpr)
        self._accesses = triton_access.Accesses(file, self._ledger, self._peek)
        self.budget = limits.Budget(operations, self._accesses.line_of, seconds)
        self.inputs = inputs.Inputs(lambda: (self._accesses.line(), self._kernel))
        self._regions: dict[int, regions.Region] = {}
        self._kept: list[Any] = []  # so that no id in `_regions` is used again
        self._kernel = ""
        self._stamp = 1
        self.begin([])

    def begin(self, buffers: Iterable[tuple[str, Any, bool, bool]]) -> None:
        """Start a call of the entry with these buffers: (name, tensor, writable, bare).

        An input is not writable; a bare one is an output that nobody has written.
        """
        buffers = list(buffers)
        self.budget.begin()
        self.memory.begin([Buffer(*buffer) for buffer in buffers])
        self.inputs.begin(buffers)
        self._ledger.begin()
        self._counters.begin()
        self._garbage.begin()
        self.taint.begin()

    def end(self) -> None:
        """End the call, however it went: tell counts and counters."""
        self._ledger.end()
        self._counters.end()

    # What a launch goes through, in this order.

    def open_launch(self, executor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A kernel is called on a grid."""
        self._kernel = executor.fn.__name__
        self._regions.clear()
        self._kept.clear()
        parameters = inspect.signature(executor.fn)
        named = {name: value for name, value in kwargs.items() if name in parameters.parameters}
        try:
            bound = parameters.bind(*args, **named)
        except TypeError:
            return  # the interpreter says it better
        bound.apply_defaults()
        self._recorder.launch(executor.fn, dict(bound.arguments), executor.constexprs, kwargs)

    def take_argument(self, name: str, argument: Any) -> None:
        """An argument of the launch, in the form the interpreter will see."""
        if isinstance(argument, tuple):
            for i, item in enumerate(argument):
                self.take_argument(f"{name}[{i}]", item)
            return
        if hasattr(argument, "block_shape") and hasattr(argument, "base"):
            argument = argument.base  # a tensor descriptor
        region = self.memory.region(name, argument)
        if region is not None:
            self._regions[id(argument)] = region
            self._kept.append(argument)

    def argument_made(self, argument: Any, value: Any) -> None:
        """`value` is what the kernel gets for `argument`."""
        region = self._regions.get(id(argument))
        if region is not None and hasattr(value, "handle"):
            regions.mark(value, region)

    def open_grid(self, grid: tuple[int, ...]) -> None:
        """The grid is known; programs follow."""
        programs = int(np.prod(grid, dtype=np.int64))
        kernel = self._counters.kernel(self._kernel)
        kernel.launches += 1
        kernel.programs += programs
        kernel.operations -= self.budget.operations
        launch = triton_access.Launch(kernel, triton_shadow.Clock(self._stamp))
        launch.grid = grid
        given = list(self._regions.values())
        launch.regions = given + self.memory.others(given)
        self._accesses.launch = launch
        self.budget.launch(programs)

    def open_program(self, program: tuple[int, int, int]) -> None:
        """The next program starts."""
        launch = self._accesses.launch
        if launch is not None:
            launch.program = program
            launch.clock.start(program)
        self.budget.program()

    def close_launch(self) -> None:
        """The launch is over, well or not."""
        launch, self._accesses.launch = self._accesses.launch, None
        if launch is None:
            return
        self._stamp = launch.clock.now + 1
        kernel, since = launch.kernel, launch.clock.launch
        kernel.operations += self.budget.operations
        for shadow in {id(r.shadow): r.shadow for r in launch.regions}.values():
            kernel.touched_loaded_bytes += shadow.touched(shadow.readers, since)
            kernel.touched_stored_bytes += shadow.touched(shadow.writers, since)

    # What an access goes through.

    def load(
        self, pointers: Any, mask: Any, other: Any, *, poison: bool
    ) -> tuple[Any, Any, _Array | None]:
        """Return the mask and `other` to load with, and the lanes that get garbage, if any."""
        active = _active(mask)
        good = self._accesses.check("load", pointers, active)
        final = active if good is None else good
        off = None
        if other is None and not final.all():
            other = self._other(pointers, active, final, poison=poison)
            off = np.broadcast_to(~active, pointers.data.shape) if poison else None
        return (mask if good is None else self.mask(good)), other, off

    def loaded(self, value: Any, off: _Array | None) -> None:
        """`value` was loaded, without its lanes that are `off`."""
        if off is not None:
            self.taint.mark(value, off, self._accesses.line())

    def _other(self, pointers: Any, active: _Array, final: _Array, *, poison: bool) -> Any:
        kind = pointers.get_element_ty()
        numpy_kind = self._interpreter._get_np_dtype(kind)
        values = np.zeros(pointers.data.shape, numpy_kind)
        if poison:
            # A lane that was outside its tensor has its finding; an index made of
            # garbage would only give it another.
            if values.dtype.kind == "f":
                values[~final] = np.nan
            off = np.broadcast_to(~active, values.shape)
            values[off] = self._garbage.fill(
                int(np.count_nonzero(off)), numpy_kind, self._accesses.line()
            )
        return self._interpreter.TensorHandle(values, kind)

    def store(self, pointers: Any, value: Any, mask: Any) -> Any:
        """Return the mask to store with."""
        active = _active(mask)
        good = self._accesses.check("store", pointers, active, value.data)
        self._stored_garbage("store", pointers, value, active if good is None else good)
        return mask if good is None else self.mask(good)

    def atomic(
        self,
        pointers: Any,
        mask: Any,
        value: Any,
        *,
        order: tuple[bool, bool],
        reads: bool = True,
        writes: bool = True,
    ) -> _Array | None:
        """Check an atomic; return the lanes that may go on, None if all may.

        `order` says whether it acquires and whether it releases.
        """
        data = pointers.data
        active = np.ones(data.shape, bool) if mask is None else _active(mask)
        good = self._accesses.check("atomic", pointers, active, reads=reads, writes=writes)
        if value is not None:
            self._stored_garbage("atomic", pointers, value, active if good is None else good)
        launch = self._accesses.launch
        if launch is not None and data.size == 1 and (active if good is None else good).all():
            acquire, release = order
            launch.clock.meet(int(data.reshape(-1)[0]), acquire=acquire, release=release)
        return good

    def _stored_garbage(self, access: str, pointers: Any, value: Any, active: _Array) -> None:
        # The mark knows more; the tag survives what the mark does not follow.
        found = self.taint.of(value) or self._garbage.found(value.data)
        if found is None:
            return
        ours, line = found
        ours = np.broadcast_to(ours, pointers.data.shape) & active
        if not ours.any():
            return
        region = regions.of(pointers)
        name = region.name if region is not None else "?"
        lanes = int(np.count_nonzero(ours))
        self._accesses.remark(
            "uninitialized",
            access,
            name,
            lambda: findings.garbage_stored(name, lanes, line),
            load_line=line,
            hint=findings.mask_hint(line),
        )

    def promise(self, value: Any, claims: list[int]) -> None:
        """`tl.multiple_of` says that a number is a multiple of a claim."""
        data = value.data
        if data.size != 1 or data.dtype.kind not in "iu" or hasattr(value.dtype, "element_ty"):
            return
        number, claim = int(data.reshape(-1)[0]), int(claims[0])
        if claim > 0 and number % claim:
            self._accesses.remark(
                "misaligned", "load", None, lambda: findings.false_promise(claim, number)
            )

    def mask(self, lanes: _Array) -> Any:
        """Return lanes as the interpreter has masks."""
        import triton.language as tl

        return self._interpreter.TensorHandle(lanes, tl.int1)

    def _peek(self, addresses: _Array, size: int) -> _Array:
        kind = np.dtype(f"u{size}")
        return np.asarray(
            self._interpreter._interpreter.load(
                addresses.view(np.uint64),
                np.ones(addresses.shape, bool),
                np.zeros(addresses.shape, kind),
                kind,
            )
        )


def _active(mask: Any) -> _Array:
    # Triton 3.4 hands on bare arrays where later versions have handles. Numbers in them
    # would be taken as indices.
    return np.asarray(mask if isinstance(mask, np.ndarray) else mask.data, bool)


def install_launches(interpreter: Any, checks: "Checks") -> None:
    """Follow launches, grids and programs."""
    executor_class, builder_class = interpreter.GridExecutor, interpreter.InterpreterBuilder
    call, set_dim, set_idx = (
        executor_class.__call__,
        builder_class.set_grid_dim,
        builder_class.set_grid_idx,
    )

    def __call__(executor: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        checks.open_launch(executor, args, kwargs)
        try:
            return call(executor, *args, **kwargs)
        except Exception as error:
            lacking = limits.lacking(error)
            if lacking is None:
                raise
            raise checks.budget.stop(
                "unsupported", f"the interpreter cannot run {lacking}", error
            ) from error
        finally:
            checks.close_launch()

    def set_grid_dim(builder: Any, *grid: int) -> None:
        set_dim(builder, *grid)
        checks.open_grid(grid)

    def set_grid_idx(builder: Any, *program: int) -> None:
        set_idx(builder, *program)
        checks.open_program(program)  # type: ignore[arg-type] # always three

    executor_class.__call__ = __call__
    builder_class.set_grid_dim = set_grid_dim
    builder_class.set_grid_idx = set_grid_idx


def install_accesses(interpreter: Any, checks: "Checks") -> None:
    """Follow tensors into the kernel, and check what is done to them."""
    _arguments(interpreter, checks)
    _pointers(interpreter.InterpreterBuilder)
    _accesses(interpreter.InterpreterBuilder, checks)
    _atomics(interpreter, checks)
    _promises(interpreter.TensorHandle, checks)


def _arguments(interpreter: Any, checks: "Checks") -> None:
    executor_class = interpreter.GridExecutor
    init_args, convert = executor_class._init_args_hst, interpreter._implicit_cvt

    def _init_args_hst(executor: Any, args: Any, kwargs: Any) -> Any:
        args_host, kwargs_host = init_args(executor, args, kwargs)
        named = {**dict(zip(executor.arg_names, args_host, strict=False)), **kwargs_host}
        for name, argument in named.items():
            checks.take_argument(name, argument)
        return args_host, kwargs_host

    def _implicit_cvt(argument: Any) -> Any:
        value = convert(argument)
        checks.argument_made(argument, value)
        return value

    executor_class._init_args_hst = _init_args_hst
    interpreter._implicit_cvt = _implicit_cvt


def _pointers(builder_class: Any) -> None:
    """Keep, hand on or drop what a pointer belongs to, where triton's arithmetic does not."""
    bitcast = builder_class.create_bitcast

    def create_bitcast(builder: Any, source: Any, *rest: Any) -> Any:
        result = bitcast(builder, source, *rest)
        regions.hand_on(source, result)
        return result

    builder_class.create_bitcast = create_bitcast
    for name in ("create_select", "create_cat", "create_join"):
        setattr(builder_class, name, _of_two(getattr(builder_class, name)))


def _of_two(original: Any) -> Any:
    def of_two(builder: Any, *operands: Any, **more: Any) -> Any:
        result = original(builder, *operands, **more)
        if hasattr(result.dtype, "element_ty"):
            one, other = (regions.of(operand) for operand in operands[-2:])
            if one is not other:
                regions.forget(result)
        return result

    return of_two


def _accesses(builder_class: Any, checks: "Checks") -> None:
    load, store, descriptor_load = (
        builder_class.create_masked_load,
        builder_class.create_masked_store,
        builder_class.create_descriptor_load,
    )

    def create_masked_load(
        builder: Any, ptrs: Any, mask: Any, other: Any, *args: Any, **kwargs: Any
    ) -> Any:
        mode = builder.__dict__.get("grader_mode")
        if mode == "atomic":
            good = checks.atomic(ptrs, mask, None, order=(True, False), writes=False)
            mask = mask if good is None else checks.mask(good)
            return load(builder, ptrs, mask, other, *args, **kwargs)
        mask, other, off = checks.load(ptrs, mask, other, poison=mode != "descriptor")
        value = load(builder, ptrs, mask, other, *args, **kwargs)
        checks.loaded(value, off)
        return value

    def create_masked_store(
        builder: Any, ptrs: Any, value: Any, mask: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if builder.__dict__.get("grader_mode") == "atomic":
            good = checks.atomic(ptrs, mask, value, order=(False, True), reads=False)
            mask = mask if good is None else checks.mask(good)
        else:
            mask = checks.store(ptrs, value, mask)
        return store(builder, ptrs, value, mask, *args, **kwargs)

    builder_class.create_masked_load = create_masked_load
    builder_class.create_masked_store = create_masked_store
    # A descriptor's load fills what lies outside its shape: nothing is undefined there.
    builder_class.create_descriptor_load = _in_mode("descriptor", descriptor_load)
    # Triton 3.9 has atomics that go through the plain accesses.
    for name in ("create_atomic_load", "create_atomic_store", "create_atomic_poll"):
        if hasattr(builder_class, name):
            setattr(builder_class, name, _in_mode("atomic", getattr(builder_class, name)))


def _in_mode(mode: str, original: Any) -> Any:
    def in_mode(builder: Any, *args: Any, **kwargs: Any) -> Any:
        builder.grader_mode = mode
        try:
            return original(builder, *args, **kwargs)
        finally:
            builder.grader_mode = None

    return in_mode


def _atomics(interpreter: Any, checks: "Checks") -> None:
    builder_class, order = interpreter.InterpreterBuilder, interpreter._ir.MEM_SEMANTIC
    exchange = interpreter._ir.ATOMIC_OP.XCHG
    update, compare = builder_class.create_atomic_rmw, builder_class.create_atomic_cas
    acquiring = (order.ACQUIRE, order.ACQUIRE_RELEASE)
    releasing = (order.RELEASE, order.ACQUIRE_RELEASE)
    # Where the lanes of a compare-and-swap go that must go nowhere: it has no mask.
    nowhere = np.zeros(1, np.uint64)

    def create_atomic_rmw(
        builder: Any, op: Any, ptr: Any, value: Any, mask: Any, sem: Any, *rest: Any
    ) -> Any:
        good = checks.atomic(
            ptr, mask, value, order=(sem in acquiring, sem in releasing), reads=op != exchange
        )
        if good is not None:
            mask = checks.mask(good)
        return update(builder, op, ptr, value, mask, sem, *rest)

    def create_atomic_cas(
        builder: Any, ptr: Any, expected: Any, value: Any, sem: Any, *rest: Any
    ) -> Any:
        good = checks.atomic(ptr, None, value, order=(sem in acquiring, sem in releasing))
        if good is not None:
            away = np.where(good, ptr.data, np.uint64(nowhere.ctypes.data))
            ptr = interpreter.TensorHandle(away, ptr.dtype)
        return compare(builder, ptr, expected, value, sem, *rest)

    builder_class.create_atomic_rmw = create_atomic_rmw
    builder_class.create_atomic_cas = create_atomic_cas


def _promises(handle_class: Any, checks: "Checks") -> None:
    set_attr = handle_class.set_attr

    def set_attr_checked(handle: Any, key: str, value: Any) -> None:
        if key == "tt.divisibility":
            checks.promise(handle, value)
        set_attr(handle, key, value)

    handle_class.set_attr = set_attr_checked
