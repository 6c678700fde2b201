"""Where the checks are hung into triton's interpreter.

Triton gives no such places, so its classes' methods are replaced, each by one
that asks `Checks` and then calls the original. Parameters are named only as
far as all versions from 3.4 to 3.9 agree; the rest is passed through.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from grader.worker.interpreter import limits
from grader.worker.interpreter import regions as triton_regions

if TYPE_CHECKING:
    from grader.worker.interpreter.checks import Checks


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
        triton_regions.hand_on(source, result)
        return result

    builder_class.create_bitcast = create_bitcast
    for name in ("create_select", "create_cat", "create_join"):
        setattr(builder_class, name, _of_two(getattr(builder_class, name)))


def _of_two(original: Any) -> Any:
    def of_two(builder: Any, *operands: Any, **more: Any) -> Any:
        result = original(builder, *operands, **more)
        if hasattr(result.dtype, "element_ty"):
            regions = [triton_regions.of(operand) for operand in operands[-2:]]
            if regions[0] is not regions[1]:
                triton_regions.forget(result)
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
