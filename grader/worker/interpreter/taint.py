"""Which lanes of a value come from a load's switched-off lanes, through arithmetic.

The garbage of `masked_lanes` carries a tag in its NaNs that sums and products
keep, but `tl.exp` makes a NaN of its own and a comparison makes a boolean. So
each value of the interpreter may also carry a mark: a mask of the lanes that
depend on what a load without `other` left undefined, and the line of that load.
Marks go where the lanes go:

    elementwise      the lanes of any operand, but not where another operand
                     decides alone: `& False`, `| True`, an integer times 0
    select           the lanes of the side that was chosen, and of the condition
    moved            reshape, trans, broadcast, …: moved in the same way
    reduced          a sum of marked lanes is marked; so is a scan's row
    dot              the row and the column of a marked lane

Where nothing was undefined in a call, every operation only looks at one flag.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

_Array = np.ndarray[Any, np.dtype[Any]]
_Function = Callable[..., Any]
_MARK = "grader_taint"

_ELEMENTWISE = (
    "unary_op", "cast_impl", "create_bitcast", "create_fp_to_fp", "create_idiv", "create_ashr",
    "create_umulhi", "create_fma", "create_fabs", "create_erf", "create_rsqrt",
    "create_extern_elementwise",
)  # fmt: skip
_MOVED = (
    "create_reshape", "create_trans", "create_expand_dims", "create_broadcast", "create_splat",
    "create_unsplat", "create_cat", "create_join", "create_split", "create_gather",
)  # fmt: skip


class Taint:
    """The marks of one worker's values; `active` once a call has any."""

    def __init__(self, handle: Callable[[_Array], Any]) -> None:
        self._handle = handle  # a mask → the interpreter's value of it
        self.active = False

    def begin(self) -> None:
        """Start a call."""
        self.active = False

    def mark(self, value: Any, lanes: _Array, line: int | None) -> None:
        """The lanes of a value are undefined, because of the load in `line`."""
        if lanes.any():
            self.active = True
            setattr(value, _MARK, (lanes, line))

    def of(self, value: Any) -> tuple[_Array, int | None] | None:
        """Return (lanes, the load's line) of a marked value, None of any other."""
        found: tuple[_Array, int | None] | None = getattr(value, _MARK, None)
        return found

    def lanes(self, value: Any) -> _Array:
        """Return the marked lanes of any value."""
        found = self.of(value)
        return np.zeros(np.shape(value.data), bool) if found is None else found[0]

    def hand_on(self, operands: tuple[Any, ...], result: Any, lanes: _Function) -> None:
        """Mark a result with `lanes()`, if one of the operands is marked."""
        line = next((found[1] for found in map(self.of, operands) if found), None)
        if all(self.of(operand) is None for operand in operands):
            return
        results = result if isinstance(result, tuple) else (result,)
        masks = lanes()
        for one, mask in zip(results, masks if isinstance(masks, tuple) else (masks,), strict=True):
            shape = np.shape(one.data)
            # What no rule foresaw is left unmarked: a missed warning, never a false one.
            if np.broadcast_shapes(mask.shape, shape) == shape:
                self.mark(one, np.broadcast_to(mask, shape), line)

    def moved(self, original: _Function, builder: Any, args: tuple[Any, ...]) -> Any:
        """Do to the marks what an operation does to its values."""
        marks = [self._handle(self.lanes(arg)) if _is_value(arg) else arg for arg in args]
        if original.__name__ == "create_gather":
            marks[1] = args[1]  # the indices
        done = original(builder, *marks)
        return tuple(one.data for one in done) if isinstance(done, tuple) else done.data


def _is_value(argument: Any) -> bool:
    return hasattr(argument, "data") and hasattr(argument, "dtype") and hasattr(argument, "attr")


def _values(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values among arguments, those in a list of operands as well."""
    flat = [x for a in args for x in (a if isinstance(a, list | tuple) else (a,))]
    return tuple(value for value in flat if _is_value(value))


def install(interpreter: Any, taint: Taint) -> None:
    """Carry marks through the operations of the interpreter."""
    builder_class = interpreter.InterpreterBuilder
    for names, follow in ((_ELEMENTWISE, _elementwise), (_MOVED, _move)):
        for name in names:
            if hasattr(builder_class, name):
                setattr(builder_class, name, follow(getattr(builder_class, name), taint))
    builder_class.binary_op = _binary(builder_class.binary_op, taint)
    builder_class.ternary_op = _ternary(builder_class.ternary_op, taint)
    builder_class.create_dot = _dot(builder_class.create_dot, taint)
    for class_ in (interpreter.ReduceOps, interpreter.ScanOps):
        class_.apply_impl = _along(class_.apply_impl, class_ is interpreter.ScanOps, taint)


def _elementwise(original: _Function, taint: Taint) -> _Function:
    def elementwise(builder: Any, *args: Any, **more: Any) -> Any:
        result = original(builder, *args, **more)
        if taint.active:
            values = _values(args)
            taint.hand_on(values, result, lambda: _union(*map(taint.lanes, values)))
        return result

    return elementwise


def _move(original: _Function, taint: Taint) -> _Function:
    def move(builder: Any, *args: Any, **more: Any) -> Any:
        result = original(builder, *args, **more)
        if taint.active and not more:
            taint.hand_on(_values(args), result, lambda: taint.moved(original, builder, args))
        return result

    return move


def _binary(original: _Function, taint: Taint) -> _Function:
    def binary_op(builder: Any, lhs: Any, rhs: Any, op: Any, *rest: Any) -> Any:
        result = original(builder, lhs, rhs, op, *rest)
        if taint.active:

            def lanes() -> _Array:
                left, right = taint.lanes(lhs), taint.lanes(rhs)
                # A lane that is known, and decides whatever the other one is.
                left_decides = ~left & _decides(op, lhs.data)
                right_decides = ~right & _decides(op, rhs.data)
                return _union(left & ~right_decides, right & ~left_decides)

            taint.hand_on((lhs, rhs), result, lanes)
        return result

    return binary_op


def _decides(op: Any, data: _Array) -> Any:
    if data.dtype.kind not in "biu":
        return np.False_
    if op in (np.bitwise_and, np.logical_and, np.multiply):
        return data == 0
    if op in (np.bitwise_or, np.logical_or):
        return data == np.array(-1).astype(data.dtype)
    return np.False_


def _ternary(original: _Function, taint: Taint) -> _Function:
    def ternary_op(builder: Any, *args: Any) -> Any:
        result = original(builder, *args)
        if taint.active:
            *values, op = args
            first, second, third = map(taint.lanes, values)
            if op is np.where:
                chosen = values[0].data.astype(bool)
                taint.hand_on(
                    tuple(values), result, lambda: first | np.where(chosen, second, third)
                )
            else:
                taint.hand_on(tuple(values), result, lambda: _union(first, second, third))
        return result

    return ternary_op


def _dot(original: _Function, taint: Taint) -> _Function:
    def create_dot(builder: Any, a: Any, b: Any, d: Any, *rest: Any) -> Any:
        result = original(builder, a, b, d, *rest)
        if taint.active:

            def lanes() -> _Array:
                rows = np.asarray(taint.lanes(a).any(axis=-1, keepdims=True))
                columns = np.asarray(taint.lanes(b).any(axis=-2, keepdims=True))
                return _union(rows, columns, taint.lanes(d))

            taint.hand_on((a, b, d), result, lanes)
        return result

    return create_dot


def _along(original: _Function, scan: bool, taint: Taint) -> _Function:
    def apply_impl(operation: Any, inputs: Any, *rest: Any) -> Any:
        result = original(operation, inputs, *rest)
        if taint.active:
            given = inputs if isinstance(inputs, tuple | list) else (inputs,)
            handles = tuple(one.handle for one in given)
            results = tuple(result) if isinstance(result, tuple | list) else (result,)

            def lanes() -> tuple[_Array, ...]:
                mask = _union(*map(taint.lanes, handles))
                whole = mask.any(axis=operation.axis, keepdims=True)
                outcome = np.broadcast_to(whole, mask.shape) if scan else whole
                shapes = [np.shape(one.handle.data) for one in results]
                fits = [outcome.size == int(np.prod(s)) for s in shapes]
                return tuple(
                    outcome.reshape(shape) if fit else np.zeros(shape, bool)
                    for shape, fit in zip(shapes, fits, strict=True)
                )

            taint.hand_on(handles, tuple(one.handle for one in results), lanes)
        return result

    return apply_impl


def _union(*masks: _Array) -> _Array:
    result: _Array = np.False_  # type: ignore[assignment] # grows by broadcasting
    for mask in masks:
        result = np.logical_or(result, mask)
    return result
