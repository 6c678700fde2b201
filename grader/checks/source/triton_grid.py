"""What a Triton file shows about a grid that leaves elements out.

Asked only where elements were never written; the words are a hint, never part of a verdict. What
the text does not prove is not said.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.assignment.signature import Signature
from grader.checks.source.cpp_code import MOST_CHARACTERS
from grader.checks.source.python_text import parsed, walk
from grader.checks.source.triton_index import axes_of, values_of, words_of

_MOST_SHOWN = 60  # characters of an expression


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of a grid: its programs, what the kernel's index runs to, and a program's elements.

    `limit` and `width` are arguments of the launch, None if they are not known.
    """

    number: int
    programs: ast.expr
    limit: ast.expr | None
    width: ast.expr | None


def triton_grid_hint(
    text: str, signature: Signature, kernel: str, *, sizes_only: bool = False
) -> str:
    """Return why the grid of the kernel's only launch is too small, "" if that is not clear.

    With `sizes_only`, only the sizes that it is computed from are looked at.
    """
    tree = parsed(text if len(text) <= MOST_CHARACTERS else "")
    if tree is None:
        return ""
    functions = [node for node in walk(tree) if isinstance(node, ast.FunctionDef)]
    body = next((one for one in functions if one.name == kernel), None)
    launched = _launches(functions, kernel)
    if body is not None and not launched and not sizes_only:  # the grader launches it
        return _short_mask(body) or _short_range(body)
    if body is None or len(launched) != 1:
        return ""
    ((call, function),) = launched
    values = {**values_of(tree), **values_of(function)}
    axes = list(_axes(call, body, values))
    sizes = {one.name for one in signature.arguments} - {one.name for one in signature.arrays}
    words = _other_size(call.lineno, kernel, axes, values, sizes) or next(
        (
            words
            for one in axes
            if (words := _columns_for_rows(call.lineno, one, values, signature))
        ),
        "",
    )
    if words or sizes_only:
        return words
    return (
        _short_mask(body)
        or _short_range(body)
        or next((words for one in axes if (words := _row_each(one, values, sizes))), "")
        or next((words for one in axes if (words := _rounded_down(one.programs))), "")
        or next((words for one in axes if (words := _other_width(one, values))), "")
        or _without_tuner(tree, body, call, function)
        or _limited_width(body, call, values)
        or _divided_within(call, values)
        or _tiles_rounded_down(body)
    )


def _launches(
    functions: Sequence[ast.FunctionDef], kernel: str
) -> list[tuple[ast.Call, ast.FunctionDef]]:
    """Return the launches of a kernel, `kernel[grid](…)`, and the function that each is in."""
    return [
        (call, function)
        for function in functions
        for call in walk(function)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Subscript)
        and ast.unparse(call.func.value) == kernel
    ]


def any_grid_hint(text: str, signature: Signature) -> str:
    """Return why the grid of any of the kernels is too small, "" if that is not clear."""
    tree = parsed(text if len(text) <= MOST_CHARACTERS else "")
    names = [one.name for one in walk(tree) if isinstance(one, ast.FunctionDef)] if tree else []
    return next((words for one in names if (words := triton_grid_hint(text, signature, one))), "")


def let_through_hint(text: str, kernel: str, line: int | None) -> str:
    """Return what a launch passes for the limit that a line's mask tests, "" if unclear."""
    tree = parsed(text if len(text) <= MOST_CHARACTERS else "")
    functions = [one for one in walk(tree) if isinstance(one, ast.FunctionDef)] if tree else []
    body = next((one for one in functions if one.name == kernel), None)
    launched = _launches(functions, kernel)
    if body is None or len(launched) != 1:
        return ""
    ((call, _),) = launched
    passed = {one.arg: at for one, at in zip(body.args.args, call.args, strict=False)}
    tests = [
        node
        for node in walk(body)
        if isinstance(node, ast.Compare)
        and node.lineno == line
        and isinstance(node.ops[0], ast.Lt)
        and isinstance(node.comparators[0], ast.Name)
    ]
    limit = tests[0].comparators[0] if len(tests) == 1 else None
    given = passed.get(limit.id) if isinstance(limit, ast.Name) else None
    if given is None or not isinstance(limit, ast.Name):
        return ""
    return (
        f"the mask `{_shown(tests[0])}` in line {line} lets them through, and line "
        f"{given.lineno} passes `{_shown(given)}` for `{limit.id}`: is that how many were written?"
    )


def passed_name(text: str, kernel: str, parameter: str) -> str:
    """Return the name that all launches pass for a kernel's parameter, "" if they differ."""
    tree = parsed(text if len(text) <= MOST_CHARACTERS else "")
    functions = [one for one in walk(tree) if isinstance(one, ast.FunctionDef)] if tree else []
    body = next((one for one in functions if one.name == kernel), None)
    given = {
        one.id if isinstance(one, ast.Name) else ""
        for call, _ in (_launches(functions, kernel) if body else ())
        if body and (one := _passed(body, call).get(parameter))
    }
    return next(iter(given)) if len(given) == 1 else ""


def block_of_other_size(text: str, signature: Signature) -> str:
    """Return which launch makes a block as wide as another size than its kernel runs to, or ""."""
    tree = parsed(text if len(text) <= MOST_CHARACTERS else "")
    if tree is None:
        return ""
    bodies = {node.name: node for node in walk(tree) if isinstance(node, ast.FunctionDef)}
    sizes = {one.name for one in signature.arguments} - {one.name for one in signature.arrays}
    for host in bodies.values():
        values = values_of(host)
        for call in walk(host):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Subscript):
                continue
            body = bodies.get(ast.unparse(call.func.value))
            if body is None:
                continue
            limits = _compared_with_ranges(body)
            passed = _passed(body, call)
            for name, given in passed.items():
                if name not in limits:
                    continue
                made = words_of(given, values) & sizes
                needed = {
                    size
                    for limit in limits[name] & passed.keys()
                    for size in words_of(passed[limit], values) & sizes
                }
                if made and needed and not made & needed:
                    width = _shown(_single(given, values))
                    return (
                        f"`{name}` is `{width}`, made of {_listed(made)}, but "
                        f"`{body.name}` compares tl.arange(0, {name}) with {_listed(needed)}: "
                        f"make it of {_listed(needed)}"
                    )
    return ""


def cut_off_hint(text: str, kernel: str) -> str:
    """Return which block must hold a row, but has a width that does not depend on it; or ""."""
    tree = parsed(text if len(text) <= MOST_CHARACTERS else "")
    functions = [one for one in walk(tree) if isinstance(one, ast.FunctionDef)] if tree else []
    body = next((one for one in functions if one.name == kernel), None)
    loops = body is not None and any(isinstance(one, (ast.For, ast.While)) for one in walk(body))
    if tree is None or body is None or loops:
        return ""
    limits = _compared_with_ranges(body)
    for name, (limit, *others) in limits.items():
        if not others and len(limits) == 1 and _has_fixed_width(tree, functions, body, name):
            return (
                f"`{kernel}` has no loop, so that of a row of `{limit}` elements only the first "
                f"`{name}` are there: make `{name}` of `{limit}`, triton.next_power_of_2({limit}), "
                "or let a loop run over the row"
            )
    return ""


def _has_fixed_width(
    tree: ast.AST, functions: Sequence[ast.FunctionDef], kernel: ast.FunctionDef, name: str
) -> bool:
    """True if all launches pass a number for a parameter, or none does and it is tuned."""
    launched = _launches(functions, kernel.name)
    passed = [(_passed(kernel, call).get(name), values_of(host)) for call, host in launched]
    if any(given is not None for given, _ in passed):
        return all(given and _constant(given, values) is not None for given, values in passed)
    return bool(passed) and name in _tuned(tree, kernel)


def _passed(kernel: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr]:
    """Return what a launch passes for each parameter of a kernel."""
    passed = {one.arg: given for one, given in zip(kernel.args.args, call.args, strict=False)}
    return passed | {one.arg: one.value for one in call.keywords if one.arg is not None}


def size_of_other_launches(text: str, signature: Signature) -> str:
    """Return which launch's grid lacks a size that those of all other launches have, or ""."""
    tree = parsed(text if len(text) <= MOST_CHARACTERS else "")
    sizes = {one.name for one in signature.arguments} - {one.name for one in signature.arrays}
    if tree is None:
        return ""
    kernels = {node.name for node in walk(tree) if isinstance(node, ast.FunctionDef)}
    values = values_of(tree)
    launched = [
        (call, words_of(call.func.slice, values) & sizes)
        for call in walk(tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Subscript)
        and ast.unparse(call.func.value) in kernels
    ]
    for at, (call, own) in enumerate(launched):
        others = [had for number, (_, had) in enumerate(launched) if number != at]
        missing = set.intersection(*others) - own if len(others) > 1 else set()
        # What only the size of a block is made of is in no grid itself.
        for number, (other, _) in enumerate(launched):
            if number != at and isinstance(other.func, ast.Subscript):
                missing &= words_of(other.func.slice, {})
        if len(missing) == 1 and isinstance(call.func, ast.Subscript):
            return (
                f"line {call.lineno} launches `{ast.unparse(call.func.value)}` with the grid "
                f"`{_shown(call.func.slice)}`, without {_listed(missing)}, which the grids of the "
                "other launches have: is it missing here?"
            )
    return ""


def _compared_with_ranges(kernel: ast.FunctionDef) -> dict[str, set[str]]:
    """Return the names that indices from tl.arange(0, WIDTH) alone are compared with, by WIDTH."""
    widths: dict[str, set[str]] = {}
    for name, made in values_of(kernel).items():
        for one in made:
            found = re.fullmatch(r"tl\.arange\(0, (\w+)\)(\[[:None, ]+\])?", ast.unparse(one))
            if found:
                widths.setdefault(name, set()).add(found[1])
    limits: dict[str, set[str]] = {}
    for node in walk(kernel) if widths else ():
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.Lt)
            and isinstance(node.comparators[0], ast.Name)
            and isinstance(node.left, ast.Name)
        ):
            for width in widths.get(node.left.id, ()):
                limits.setdefault(width, set()).add(node.comparators[0].id)
    return limits


def _listed(names: set[str]) -> str:
    return " and ".join(f"`{one}`" for one in sorted(names))


def _axes(
    call: ast.Call, kernel: ast.FunctionDef, values: Mapping[str, Sequence[ast.expr]]
) -> Iterator[_Axis]:
    assert isinstance(call.func, ast.Subscript)
    grid = _single(call.func.slice, values)
    grid = grid.body if isinstance(grid, ast.Lambda) else grid
    passed = _passed(kernel, call)
    inside = values_of(kernel)
    limits = [
        (node.left, passed[node.comparators[0].id])
        for node in walk(kernel)
        if isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.Lt)
        and isinstance(node.comparators[0], ast.Name)
        and node.comparators[0].id in passed
    ]
    products = [
        (node.left, passed[node.right.id])
        for node in walk(kernel)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and isinstance(node.right, ast.Name)
        and node.right.id in passed
    ]
    for number, programs in enumerate(grid.elts if isinstance(grid, ast.Tuple) else ()):
        ends = [end for index, end in limits if axes_of(index, inside) == {number}]
        widths = [width for index, width in products if axes_of(index, inside) == {number}]
        yield _Axis(number, _single(programs, values), _same(ends), _same(widths))


def _same(expressions: Sequence[ast.expr]) -> ast.expr | None:
    """Return what all of them are, None if they differ or there are none."""
    return expressions[0] if len({ast.unparse(one) for one in expressions}) == 1 else None


def _single(given: ast.expr, values: Mapping[str, Sequence[ast.expr]]) -> ast.expr:
    """Return the only value of a name, or the expression itself."""
    known = values.get(given.id, ()) if isinstance(given, ast.Name) else ()
    return known[0] if len(known) == 1 else given


def _shown(expression: ast.expr) -> str:
    words = ast.unparse(expression)
    return words if len(words) <= _MOST_SHOWN else words[:_MOST_SHOWN] + " …"


def _other_size(
    line: int,
    kernel: str,
    axes: Sequence[_Axis],
    values: Mapping[str, list[ast.expr]],
    sizes: set[str],
) -> str:
    """Recognise an axis whose programs are computed from another size than that it runs to."""
    wrong = [
        (one, had, needed)
        for one in axes
        if one.limit is not None
        and (had := words_of(one.programs, values) & sizes)
        and (needed := words_of(one.limit, values) & sizes)
        and not had & needed
    ]
    if not wrong:
        return ""
    (first, had, _), *rest = wrong
    assert first.limit is not None
    start = f"line {line} launches `{_shown(first.programs)}` programs along axis {first.number}"
    if rest and had == rest[0][2]:
        second = rest[0][0]
        return (
            f"{start} and `{_shown(second.programs)}` along axis {second.number}, but `{kernel}` "
            f"runs to `{_shown(first.limit)}` along axis {first.number}: the two are exchanged"
        )
    return (
        f"{start}, but `{kernel}` runs to `{_shown(first.limit)}` along it: compute their number "
        f"from `{_shown(first.limit)}`"
    )


def _columns_for_rows(
    line: int, axis: _Axis, values: Mapping[str, Sequence[ast.expr]], signature: Signature
) -> str:
    """Recognise a program for each column of a kernel whose program's number counts rows."""
    width = axis.width.id if isinstance(axis.width, ast.Name) else ""
    rows = {
        array.shape[0].text
        for array in signature.arrays
        if len(array.shape or ()) == 2 and array.shape and array.shape[1].text == width
    }
    given = ast.unparse(axis.programs)
    if len(rows) != 1 or given != width:
        return ""
    return (
        f"line {line} launches `{given}` programs, but program_id * `{width}` is the beginning of "
        f"a row: launch one for each of the `{rows.pop()}`"
    )


def _row_each(axis: _Axis, values: Mapping[str, Sequence[ast.expr]], sizes: set[str]) -> str:
    """Recognise a kernel with a row for each program, whose grid counts several for each."""
    programs, width = axis.programs, axis.width
    counts = isinstance(programs, ast.Call) and ast.unparse(programs.func).endswith("cdiv")
    divides = isinstance(programs, ast.BinOp) and isinstance(programs.op, ast.FloorDiv)
    if not (counts or divides) or not isinstance(width, ast.Name) or width.id not in sizes:
        return ""
    return (
        f"each program does one row (program_id * `{width.id}`), but `{_shown(programs)}` in line "
        f"{programs.lineno} launches one program for several: launch as many as there are rows"
    )


def _limited_width(
    kernel: ast.FunctionDef, call: ast.Call, values: Mapping[str, Sequence[ast.expr]]
) -> str:
    """Recognise a program that has a row, of which it does one block of a limited width."""
    code = ast.unparse(kernel)
    sizes = "|".join(one.arg for one in kernel.args.args if one.annotation is None)
    row = "tl.program_id(" in code and re.search(rf"\* (?:{sizes})\b|\b(?:{sizes}) \*", code)
    if not row or any(isinstance(one, ast.For | ast.While) for one in walk(kernel)):
        return ""
    # With blocks of several widths nobody knows which is the row's.
    widths = set(re.findall(r"tl\.arange\(0, (\w+)\)", code))
    for name, given in _passed(kernel, call).items():
        if widths != {name} or re.search(rf"\* {name}\b|\b{name} \*", code):
            continue
        made = _single(given, values)
        limits = made.args if isinstance(made, ast.Call) and _called(made) == "min" else [made]
        most = next(filter(None, (_constant(one, values) for one in limits)), None)
        if most is not None:
            return (
                f"`{name}` is at most {most:,}, `{_shown(made)}` in line {made.lineno}, and "
                f"`{kernel.name}` does one block of its row: the elements behind it need a loop "
                f"in steps of `{name}`"
            )
    return ""


def _without_tuner(
    tree: ast.AST, kernel: ast.FunctionDef, call: ast.Call, function: ast.FunctionDef
) -> str:
    """Recognise a grid that is the same for all widths between which an autotuner chooses."""
    assert isinstance(call.func, ast.Subscript)
    grid: ast.AST = _single(call.func.slice, values_of(function))
    if isinstance(grid, ast.Name):
        inner = (one for one in walk(function) if isinstance(one, ast.FunctionDef))
        grid = next((one for one in inner if one.name == ast.unparse(grid)), grid)
    known = isinstance(grid, (ast.Lambda, ast.FunctionDef, ast.Tuple))
    chosen = _tuned(tree, kernel)
    used = {one.value for one in walk(grid) if isinstance(one, ast.Constant)}
    inside, code = values_of(kernel), ast.unparse(kernel)
    # By these the program's number is multiplied, and so wide is what it does.
    widths = {
        name
        for node in walk(kernel)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
        for number, width in ((node.left, node.right), (node.right, node.left))
        if (name := ast.unparse(width)) in chosen
        and f"tl.arange(0, {name})" in code
        and axes_of(number, inside)
    }
    # A kernel that goes on in steps of the grid's programs does with any grid.
    if not known or not widths or used & chosen or "num_programs" in code:
        return ""
    return (
        f"the grid in line {call.lineno} is the same whatever {_listed(widths)} the autotuner "
        f'chooses: compute it from that choice, lambda meta: (triton.cdiv(…, meta["'
        f'{min(widths)}"]), …)'
    )


def _tuned(tree: ast.AST, kernel: ast.FunctionDef) -> set[str]:
    """Return the parameters of a kernel for which an autotuner has values in this file."""
    if not any("autotune(" in ast.unparse(one) for one in kernel.decorator_list):
        return set()
    keys = [key for one in walk(tree) if isinstance(one, ast.Dict) for key in one.keys]
    words = {key.value for key in keys if isinstance(key, ast.Constant)}
    return {one.arg for one in kernel.args.args if one.arg in words}


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func)


def _rounded_down(programs: ast.expr) -> str:
    """Recognise a number of programs that is rounded down."""
    quotient = programs
    if isinstance(programs, ast.Call) and ast.unparse(programs.func) == "int" and programs.args:
        quotient = programs.args[0]
    divides = isinstance(quotient, ast.BinOp) and isinstance(quotient.op, (ast.Div, ast.FloorDiv))
    if (
        not divides
        or not isinstance(quotient, ast.BinOp)
        or not (isinstance(quotient.left, ast.Name) or _is_product(quotient.left))
    ):
        return ""
    return (
        f"`{_shown(programs)}` in line {programs.lineno} rounds down, so that the last, incomplete "
        f"program is missing: triton.cdiv({_shown(quotient.left)}, "
        f"{_shown(quotient.right)})"
    )


def _is_product(expression: ast.expr) -> bool:
    return (
        isinstance(expression, ast.BinOp)
        and isinstance(expression.op, ast.Mult)
        and isinstance(expression.left, ast.Name)
        and isinstance(expression.right, ast.Name)
    )


def _short_mask(kernel: ast.FunctionDef) -> str:
    """Recognise a mask of a store that ends before the length: `offsets < n - 1`."""
    inside = values_of(kernel)
    for call in walk(kernel):
        if not isinstance(call, ast.Call) or not ast.unparse(call.func).endswith("tl.store"):
            continue
        given = [one.value for one in call.keywords if one.arg == "mask"] + call.args[2:3]
        for test in walk(_single(given[0], inside)) if given else ():
            if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Lt):
                continue
            limit = test.comparators[0]
            if (
                isinstance(limit, ast.BinOp)
                and isinstance(limit.op, ast.Sub)
                and isinstance(limit.left, ast.Name)
                and isinstance(limit.right, ast.Constant)
            ):
                return (
                    f"the mask `{_shown(test)}` in line {test.lineno} leaves out what is before "
                    f"`{limit.left.id}`: `{ast.unparse(test.left)} < {limit.left.id}`"
                )
    return ""


def _short_range(kernel: ast.FunctionDef) -> str:
    """Recognise a loop over blocks, with a store, that ends before an incomplete last one."""
    for loop in walk(kernel):
        if not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
            continue
        given = loop.iter.args
        if ast.unparse(loop.iter.func) not in ("range", "tl.range") or len(given) != 3:
            continue
        begin, end, step = map(ast.unparse, given)
        widths = [re.escape(one.arg) for one in kernel.args.args if one.annotation]
        less = "|".join([re.escape(step), r"\d+", *widths])
        whole = re.fullmatch(rf"(\w+) - (?:{less})(?: \+ 1)?|(\w+) // .* \* .*", end)
        if whole is not None and "tl.store(" in "\n".join(map(ast.unparse, loop.body)):
            name = whole[1] or whole[2]
            return (
                f"the loop in line {loop.lineno} ends before the last, incomplete block, at "
                f"`{_shown(given[1])}`: range({begin}, {name}, {step}), with a mask"
            )
    return ""


def _tiles_rounded_down(kernel: ast.FunctionDef) -> str:
    """Recognise a number of tiles that the kernel itself rounds down."""
    sizes = {one.arg for one in kernel.args.args if one.annotation is None}
    found = [
        node
        for node in walk(kernel)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.FloorDiv)
        and isinstance(node.left, ast.Name)
        and node.left.id in sizes
        and isinstance(node.right, ast.Name)
        and node.right.id in {one.arg for one in kernel.args.args} - sizes
    ]
    if len({ast.unparse(one) for one in found}) != 1:
        return ""
    shown, size, width = map(ast.unparse, (found[0], found[0].left, found[0].right))
    return (
        f"`{shown}` in line {found[0].lineno} rounds down, so that the last, incomplete tile is "
        f"missing: tl.cdiv({size}, {width})"
    )


def _divided_within(call: ast.Call, values: Mapping[str, Sequence[ast.expr]]) -> str:
    """Recognise a number of programs with a quotient in it that is rounded down."""
    assert isinstance(call.func, ast.Subscript)
    grid = _single(call.func.slice, values)
    parts = [_single(one, values) for one in walk(grid) if isinstance(one, ast.expr)]
    found = [
        node
        for part in {ast.unparse(one): one for one in parts}.values()
        for node in walk(part)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.FloorDiv)
        and (isinstance(node.left, ast.Name) or _is_product(node.left))
        and isinstance(node.right, (ast.Name, ast.Constant))
    ]
    return _rounded_down(found[0]) if len({ast.unparse(one) for one in found}) == 1 else ""


def _other_width(axis: _Axis, values: Mapping[str, Sequence[ast.expr]]) -> str:
    """Recognise programs that are counted as if each had more elements than it has."""
    programs = axis.programs
    if not isinstance(programs, ast.Call) or not ast.unparse(programs.func).endswith("cdiv"):
        return ""
    counted = _constant(programs.args[1], values) if len(programs.args) == 2 else None
    width = _constant(axis.width, values) if axis.width is not None else None
    if counted is None or width is None or counted <= width:
        return ""
    return (
        f"`{_shown(programs)}` in line {programs.lineno} counts {counted:,} elements for each "
        f"program, but the launch gives it {width:,}: use one number for both"
    )


def _constant(given: ast.expr, values: Mapping[str, Sequence[ast.expr]]) -> int | None:
    value = getattr(_single(given, values), "value", None)
    return value if type(value) is int else None
