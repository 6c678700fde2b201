"""What the source of a Triton file shows about an error that Triton's compiler reports.

Read as text with Python's parser, never executed. It only chooses words for a failure that was
seen.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from grader.checks.source.python_text import parsed, walk
from grader.checks.source.triton_index import turned_hint, values_of, words_of
from grader.text.did_you_mean import did_you_mean
from grader.text.hints import filled

_REDUCTIONS = frozenset({"sum", "max", "min", "argmax", "argmin", "xor_sum", "reduce"})
_MOST_CODE = 40  # characters of a line
_KEY = re.compile(r"'(\w+)'")  # all that a KeyError says
_SHAPES = re.compile(
    r"incompatible dimensions|[Cc]annot broadcast|could not be broadcast|have shape"
)
_RANKS = re.compile(r"initial type <\[(?P<first>[^\]]*)\].*re-assigned to <\[(?P<then>[^\]]*)\]")
_CARRIED = re.compile(r"[Ll]oop-carried variable `?(\w+)")
_NO_ATTRIBUTE = re.compile(
    r"module 'triton\.language(?P<in>[\w.]*)' has no attribute '(?P<name>\w+)'"
)


def source_hint(message: str, text: str, line: int | None) -> str:
    """Return what the source shows about an error at a line, "" if it shows nothing."""
    if found := _NO_ATTRIBUTE.search(message):
        known = _language_names()
        name = found["name"]
        if name in known:
            return filled("kernel_source", "elsewhere", name=f"tl.{name}")
        return did_you_mean(name, known).removeprefix("; ").replace("`", "`tl.", 1)
    if "arguments must be of type tl.constexpr" in message and line is not None:
        return _range_of_a_number(text, line)
    if "Did you forget to add @triton.jit" in message and (words := _axis_is_a_block(text)):
        return words
    if (key := _KEY.fullmatch(message)) and line is not None:
        return _unknown_parameter(text, line, key[1])
    if carried := _CARRIED.search(message):
        return _loaded_twice(text, line, carried[1]) or _reduced_before(text, message, carried[1])
    if line is not None and _SHAPES.search(message) and (product := _product(text, line)):
        left, right = product
        return filled("kernel_source", "product", line=line, left=left, right=right)
    if line is not None and _SHAPES.search(message):
        function = _function_at(text, line)
        if function is not None and (words := turned_hint(function, line)):
            return words
        dropped = _reduction(text, line)
        if dropped is not None:
            at, call, axis = dropped
            return filled("kernel_source", "reduction", line=at, call=call, axis=axis)
    return ""


def rebound_name(text: str, entry: str, name: str) -> int | None:
    """Return the line where the function `entry` gives its parameter another value, or None."""
    function = next((one for one in _functions(text) if one.name == entry), None)
    if function is None:
        return None
    return next(
        (
            node.lineno
            for node in walk(function)
            if isinstance(node, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
        ),
        None,
    )


def host_write(text: str, entry: str, outputs: Collection[str]) -> tuple[str, int, str] | None:
    """Return the first output into which the function `entry` writes itself, the line and the code.

    One value in all of it, `zero_` or `fill_`, does not count. None if no line shows it.
    """
    function = next((one for one in _functions(text) if one.name == entry), None)
    for node in walk(function) if function else ():
        name = _written(node)
        if name in outputs and isinstance(node, (ast.Call, ast.Assign, ast.AugAssign)):
            return name, node.lineno, ast.unparse(node)
    return None


def _written(node: ast.AST) -> str:
    """Return the variable whose tensor an assignment or a call of torch writes into, or ""."""
    target: ast.expr | None = None
    if isinstance(node, ast.AugAssign):
        target = node.target
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        target = None if isinstance(node.value, ast.Constant) else node.targets[0]
    elif isinstance(node, ast.Call):
        given = (one.value for one in node.keywords if one.arg == "out")
        target = next(given, None)
        if target is None and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            changes = name.endswith("_") and name not in ("zero_", "fill_", "requires_grad_")
            target = node.func.value if changes else None
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def added_by_host(text: str, entry: str, output: str) -> str:
    """Return where the function `entry` adds to an output, which holds garbage before, or ""."""
    function = next((one for one in _functions(text) if one.name == entry), None)
    for node in walk(function) if function else ():
        if isinstance(node, ast.AugAssign) and _written(node) == output:
            code = ast.unparse(node)
            code = code if len(code) <= _MOST_CODE else f"{code[:_MOST_CODE]}…"
            return filled(
                "kernel_source", "added_by_host", line=node.lineno, name=output, code=code
            )
    return ""


def never_cleared(text: str, entry: str, output: str) -> str:
    """Return which kernel adds to an output that host code does not set to 0, "" if none does."""
    host = next((one for one in _functions(text) if one.name == entry), None)
    words = ast.unparse(host) if host else ""
    if re.search(
        rf"\b{re.escape(output)}\.(?:zero_|fill_|copy_)\(|\bout={re.escape(output)}\b", words
    ):
        return ""
    for function, body in jitted_bodies(text):
        added = re.search(r"\btl\.atomic_add\(\s*(\w+)", body)
        if added is not None and f"{function.name}[" in words:
            line = function.body[0].lineno + body.count("\n", 0, added.start())
            names = {"output": output, "kernel": function.name}
            return filled("kernel_source", "not_cleared", line=line, **names)
    return ""


def whole_quotient(text: str) -> str:
    """Return which number of an element is divided with a fraction, "" if none is."""
    for function, _ in jitted_bodies(text):
        values = values_of(function)
        sizes = {one.arg for one in function.args.args}
        for node in walk(function):
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
                continue
            made = words_of(node.left, values)
            whole = made & {"arange", "program_id"} and not made & {"load", "float32", "float16"}
            if whole and isinstance(node.right, ast.Name) and node.right.id in sizes:
                quotient = ast.unparse(node)
                return filled("kernel_source", "fraction", line=node.lineno, quotient=quotient)
    return ""


def unmasked_histogram(text: str) -> str:
    """Return which tl.histogram has no mask, "" if none is there or all have one."""
    for function, _ in jitted_bodies(text):
        for node in walk(function):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) != "tl.histogram":
                continue
            if len(node.args) < 3 and not any(one.arg == "mask" for one in node.keywords):
                return filled("kernel_source", "unmasked_histogram", line=node.lineno)
    return ""


def few_bins(text: str, lengths: Collection[str]) -> str:
    """Return which tl.histogram has fewer bins than the shortest of these lengths, or ""."""
    needed = min((int(one) for one in lengths if one.isdecimal()), default=0)
    for function, _ in jitted_bodies(text):
        for node in walk(function):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) != "tl.histogram":
                continue
            bins = node.args[1] if len(node.args) > 1 else None
            if isinstance(bins, ast.Constant) and type(bins.value) is int and bins.value < needed:
                names = {"bins": bins.value, "needed": needed}
                return filled("kernel_source", "few_bins", line=node.lineno, **names)
    return ""


def scratch_hint(text: str) -> str:
    """Return how much room the only tensor has that host code makes with a number, or ""."""
    tree = parsed(text)
    made = [
        node
        for node in (walk(tree) if tree is not None else ())
        if isinstance(node, ast.Call)
        and re.fullmatch(r"torch\.(?:empty|zeros|ones)", ast.unparse(node.func))
        and node.args
    ]
    if len(made) != 1:
        return ""
    length = ast.unparse(made[0].args[0])
    return filled("kernel_source", "scratch", line=made[0].lineno, length=length)


def short_tensor(text: str) -> str:
    """Return which tensor host code makes of a short type, "" if it makes none."""
    tree = parsed(text)
    for node in walk(tree) if tree is not None else ():
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        made = re.match(r"torch\.(?:empty|zeros|ones|full)\(", ast.unparse(node.value))
        kinds = [ast.unparse(one.value) for one in node.value.keywords if one.arg == "dtype"]
        short = made and kinds and kinds[0] in ("torch.float16", "torch.half", "torch.bfloat16")
        if short and isinstance(node.targets[0], ast.Name):
            names = {"name": node.targets[0].id, "type": kinds[0]}
            return filled("kernel_source", "short_tensor", line=node.lineno, **names)
    return ""


def stores_nothing(text: str, kernel: str) -> str:
    """Return that a kernel has no tl.store and no atomic operation, "" if it has one or calls."""
    for function, body in jitted_bodies(text):
        calls = {ast.unparse(one.func) for one in walk(function) if isinstance(one, ast.Call)}
        own = {one for one in calls if not one.startswith("tl.") and one not in ("range", "float")}
        if function.name != kernel or own or re.search(r"\.(?:store|atomic_\w+)\b", body):
            continue
        pointers = {argument.arg for argument in function.args.args}
        set_ = [
            (node.lineno, target.id)
            for node in walk(function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and target.id in pointers
        ]
        words = filled("kernel_source", "no_store", kernel=kernel)
        if len(set_) == 1:
            ((line, name),) = set_
            words += "; " + filled("kernel_source", "named", line=line, name=name)
        return words
    return ""


def jitted_bodies(text: str) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Yield the @triton.jit functions of a file, and the lines of their bodies."""
    lines = text.split("\n")
    for one in _functions(text):
        if any(ast.unparse(mark).partition("(")[0].endswith("jit") for mark in one.decorator_list):
            yield one, "\n".join(lines[one.body[0].lineno - 1 : one.end_lineno])


def _functions(text: str) -> list[ast.FunctionDef]:
    tree = parsed(text)
    if tree is None:
        return []
    return [node for node in walk(tree) if isinstance(node, ast.FunctionDef)]


def _range_of_a_number(text: str, line: int) -> str:
    """Return which tl.arange runs to a number of the launch, "" if none does in a line."""
    function = _function_at(text, line)
    fixed = [one.arg for one in function.args.args if _is_constexpr(one)] if function else []
    for node in walk(function) if function and fixed else ():
        if not isinstance(node, ast.Call) or node.lineno != line:
            continue
        end = node.args[-1] if node.args else None
        if ast.unparse(node.func) == "tl.arange" and isinstance(end, ast.Name):
            own = {one.arg for one in function.args.args} if function else set()
            if end.id in own - set(fixed):
                names = {"name": end.id, "width": " or ".join(fixed)}
                return filled("kernel_source", "range_of_a_number", line=line, **names)
    return ""


def _is_constexpr(argument: ast.arg) -> bool:
    return argument.annotation is not None and ast.unparse(argument.annotation).endswith(
        "constexpr"
    )


def _unknown_parameter(text: str, line: int, name: str) -> str:
    """Return what the parameters are of which a grid's function asks for another one, or ""."""
    tree = parsed(text)
    asked = any(
        isinstance(node, ast.Subscript)
        and node.lineno == line
        and isinstance(node.slice, ast.Constant)
        and node.slice.value == name
        for node in (walk(tree) if tree is not None else ())
    )
    known = {
        one.arg: function.name
        for function, _ in jitted_bodies(text)
        for one in function.args.args
        if _is_constexpr(one)
    }
    if not asked or name in known or len(known) != 1:
        return ""
    ((own, kernel),) = known.items()
    return filled(
        "kernel_source", "unknown_parameter", line=line, name=name, own=own, kernel=kernel
    )


def dropped_product(text: str) -> str:
    """Return which tl.dot stands in a line of its own, "" if none does."""
    for function, _ in jitted_bodies(text):
        for node in walk(function):
            call = node.value if isinstance(node, ast.Expr) else None
            if not isinstance(call, ast.Call) or ast.unparse(call.func) != "tl.dot":
                continue
            last = call.args[2] if len(call.args) > 2 else None
            given = next((one.value for one in call.keywords if one.arg == "acc"), last)
            name = given.id if isinstance(given, ast.Name) else "acc"
            return filled("kernel_source", "dropped", line=call.lineno, name=name)
    return ""


def _axis_is_a_block(text: str) -> str:
    """Return which reduction is given a second block in the place of an axis, "" if none is."""
    for function, _ in jitted_bodies(text):
        values = values_of(function)
        for node in walk(function):
            if not isinstance(node, ast.Call) or len(node.args) != 2:
                continue
            name, other = ast.unparse(node.func), node.args[1]
            block = isinstance(other, ast.Name) and words_of(other, values) & {"load", "arange"}
            if name in ("tl.max", "tl.min", "tl.sum") and block:
                key = name.removeprefix("tl.") + "_of_two"
                return filled("kernel_source", key, line=node.lineno)
    return ""


def _function_at(text: str, line: int) -> ast.FunctionDef | None:
    return next(
        (one for one in _functions(text) if one.lineno <= line <= (one.end_lineno or 0)), None
    )


def _loaded_twice(text: str, line: int | None, name: str) -> str:
    """Return the two lines that load one variable, before a loop and in it; "" if there are not."""
    for function in _functions(text):
        loads = [
            node.lineno
            for node in walk(function)
            if isinstance(node, ast.Assign)
            and any(isinstance(one, ast.Name) and one.id == name for one in node.targets)
            and ast.unparse(node.value).startswith("tl.load(")
        ]
        loops = [
            (node.lineno, node.end_lineno or 0)
            for node in walk(function)
            if isinstance(node, (ast.For, ast.While)) and line is not None and node.lineno <= line
        ]
        inside = [at for at in loads if any(first < at <= last for first, last in loops)]
        before = [at for at in loads if at not in inside]
        if len(inside) == 1 and before:
            lines = {"first": max(before), "line": inside[0]}
            return filled("kernel_source", "loaded_twice", name=name, **lines)
    return ""


def _reduced_before(text: str, message: str, name: str) -> str:
    """Return the reduction that drops an axis of a variable which has it in the loop; or ""."""
    ranks = _RANKS.search(message)
    if ranks is None or ranks["first"].count(",") >= ranks["then"].count(","):
        return ""
    for function, _ in jitted_bodies(text):
        for node in walk(function):
            if not isinstance(node, ast.Assign) or name not in map(ast.unparse, node.targets):
                continue
            for call, axis in _reductions(node):
                names = {"call": call, "axis": axis}
                return filled("kernel_source", "reduction", line=node.lineno, **names)
    return ""


def _product(text: str, line: int) -> tuple[str, str] | None:
    """Return the two blocks that a line multiplies, if each is loaded as a tile of its own."""
    function = _function_at(text, line)
    if function is None:
        return None
    tiles = {
        target.id
        for node in walk(function)
        if isinstance(node, ast.Assign)
        and (value := ast.unparse(node.value)).startswith("tl.load(")
        and "[:, None]" in value
        and "[None, :]" in value
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and node.lineno == line:
            sides = [one.id for one in (node.left, node.right) if isinstance(one, ast.Name)]
            if len(sides) == 2 and tiles >= set(sides):
                return sides[0], sides[1]
    return None


def _reduction(text: str, line: int) -> tuple[int, str, str] | None:
    """Return the last reduction without keep_dims that the statement at a line depends on.

    That is its line, its name and its axis.
    """
    function = _function_at(text, line)
    if function is None:
        return None
    statements = sorted(
        (node for node in walk(function) if isinstance(node, ast.stmt)),
        key=lambda node: (node.lineno, node.col_offset),
    )
    wanted: set[str] = set()
    for node in reversed(statements):
        if node.lineno > line or isinstance(node, (ast.FunctionDef, ast.For, ast.While, ast.If)):
            continue
        here = node.lineno <= line <= (node.end_lineno or node.lineno)
        assigned = {
            target.id
            for target in walk(node)
            if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
        }
        if not here and not assigned & wanted:
            continue
        for call, axis in _reductions(node):
            return node.lineno, call, axis
        wanted |= {one.id for one in walk(node) if isinstance(one, ast.Name)}
    return None


def _reductions(node: ast.AST) -> Iterator[tuple[str, str]]:
    for call in walk(node):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr not in _REDUCTIONS:
            continue
        given = {one.arg: ast.unparse(one.value) for one in call.keywords if one.arg}
        axis = given.get("axis", ast.unparse(call.args[1]) if len(call.args) > 1 else "")
        if axis.isdigit() and given.get("keep_dims") != "True":
            yield ast.unparse(call.func), axis


@functools.lru_cache(maxsize=1)
def _language_names() -> frozenset[str]:
    """Return what `triton.language` exports; Triton is not imported, which would take seconds."""
    found = importlib.util.find_spec("triton")
    if found is None or found.origin is None:
        return frozenset()
    try:
        text = (Path(found.origin).parent / "language" / "__init__.py").read_text("utf-8")
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    return frozenset(
        item.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)
        and isinstance(node.value, (ast.List, ast.Tuple))
        for item in node.value.elts
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    )
