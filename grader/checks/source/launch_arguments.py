"""What the source shows about a launch: arguments in each other's place, an axis that is missing.

Asked only about a kernel that failed; the words are a hint, never part of a verdict.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.assignment.signature import Signature
from grader.checks.source import cpp_code
from grader.checks.source.python_text import parsed, walk
from grader.checks.source.size_product import constant
from grader.vocabulary import Language, Role

_MOST_SHOWN = 60  # characters of an expression


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A launch and its kernel, in either language; "" for an argument or parameter without a name.

    `given` are the arguments as they are written, `constants` those that have one value in all
    calls, with it, and `configured` the names that the grid and the block have. `limits` are
    parameters that an index is compared with, `sizes` the names that the arguments are made of.
    `axes` are how many the grid and the block have, and `used` how many of each the kernel reads;
    None if that is not known.
    """

    line: int
    kernel: str
    parameters: tuple[str, ...]
    arguments: tuple[str, ...]
    given: tuple[str, ...]
    constants: Mapping[str, str]
    configured: frozenset[str]
    limits: frozenset[str]
    sizes: frozenset[str]
    written: frozenset[str]
    axes: tuple[int | None, int | None]
    used: tuple[int, int]
    shown: tuple[str, str]


def launch_hint(
    text: str, language: Language, signature: Signature, kernel: str | None = None
) -> str:
    """Return what the source shows to be wrong about a launch of the kernel, "" if nothing.

    Without a kernel, all of them are looked at.
    """
    calls = list(_calls(text, language, kernel))
    return (
        _wrong_arguments(calls, signature)
        # A kernel that fills a table of its own may get no size: say it of one that failed.
        or next((words for call in calls if kernel and (words := _no_size(call, signature))), "")
        or next((words for call in calls if (words := _missing_axis(call, language))), "")
    )


def missing_axis_hint(text: str, language: Language) -> str:
    """Return which launch lacks an axis that its kernel reads, "" if none does."""
    calls = _calls(text, language, None)
    return next((words for call in calls if (words := _missing_axis(call, language))), "")


def shared_bytes_hint(text: str, kernel: str, name: str) -> str:
    """Return how many bytes a launch gives an array that is `extern __shared__`; or ""."""
    body = cpp_code.kernels(text).get(kernel)
    word = rf"\bextern\s+__shared__\b[^;]{{0,200}}\b{re.escape(name)}\s*\[\s*\]"
    launched = cpp_code.launches_of(text, kernel)
    if body is None or not name or not re.search(word, body.body) or len(launched) != 1:
        return ""
    line, given = launched[0].line, launched[0].shared
    what = f"`{name}` is `extern __shared__`, so that the launch in line {line} gives its bytes"
    if not given:
        return f"{what}, but it gives none: <<<blocks, threads, elements * sizeof(type)>>>"
    return f"{what}, `{given}`: are these enough for each index, in bytes?"


def wrong_size_hint(text: str, language: Language, signature: Signature) -> str:
    """Return which launch passes one size in the place of another, "" if none does.

    Two that are in each other's place may be meant so: a product is one of the transposed matrices.
    """
    return _wrong_arguments(list(_calls(text, language, None)), signature, alone=True)


def _wrong_arguments(calls: Sequence[_Call], signature: Signature, *, alone: bool = False) -> str:
    return next(
        (words for call in calls if (words := _exchanged(call, signature, alone=alone))), ""
    ) or next(
        (
            words
            for call in calls
            if (words := _other_number(call, signature) or _bytes_for_a_length(call))
        ),
        "",
    )


def grid_text(text: str, language: Language, kernel: str) -> str:
    """Return " (line 17: `(n + 255) / 256`)", the grid of the kernel's only launch, else ""."""
    found = [call for call in _calls(text, language, kernel) if call.shown[0]]
    return f" (line {found[0].line}: `{found[0].shown[0]}`)" if len(found) == 1 else ""


def _calls(text: str, language: Language, kernel: str | None) -> Iterator[_Call]:
    """Yield the launches of the kernel, without one all launches of the file."""
    if len(text) > cpp_code.MOST_CHARACTERS:
        return
    name = cpp_code.plain_name(kernel or "")
    for call in _cuda(text) if language is Language.CUDA else _triton(text):
        if not name or call.kernel == name:
            yield call


def _exchanged(call: _Call, signature: Signature, *, alone: bool) -> str:
    """Recognise arguments that have the names of other parameters, or the wrong role.

    With `alone`, only a single one with the name of another.
    """
    meant = _meant(call.parameters, signature)
    pairs = [
        (given, wanted)
        for given, wanted in zip(call.arguments, call.parameters, strict=False)
        if given and wanted
    ]
    same = {(given, meant[wanted]) for given, wanted in pairs}
    given_names, wanted_names = {one for one, _ in pairs}, {meant[one] for _, one in pairs}
    own = {argument.name for argument in signature.arguments}
    moved = [
        (given, wanted)
        for given, wanted in pairs
        if given != meant[wanted]
        and given in wanted_names
        # What is missing elsewhere is meant here: else a name of another function's is a chance.
        and (meant[wanted] in given_names or (meant[wanted] in own and (given, given) in same))
    ]
    if alone and len(moved) != 1:
        return ""
    if moved:
        return _passes(call.line, call.kernel, moved) + (
            ": are these arguments in each other's place?"
            if len(moved) > 1
            else f": should it be `{meant[moved[0][1]]}`?"
        )
    roles = {array.name: array.role for array in signature.arrays}
    wrong = [
        (given, wanted)
        for given, wanted in pairs
        if roles.get(given) is Role.IN and wanted in call.written and given != wanted
    ]
    outputs = [
        (given, wanted)
        for given, wanted in pairs
        if given in roles and roles[given] is not Role.IN and wanted not in call.written
    ]
    if not wrong or not outputs:
        return _named_after_another(call, pairs, roles)
    (given, wanted), (output, read) = wrong[0], outputs[0]
    return (
        f"line {call.line} passes the input `{given}` for `{wanted}`, which the kernel writes, and "
        f"the output `{output}` for `{read}`, which it reads: are these arguments in each other's "
        "place?"
    )


def _named_after_another(
    call: _Call, pairs: Sequence[tuple[str, str]], roles: Mapping[str, Role]
) -> str:
    """Recognise an input for a parameter that has the name of another input, passed to none."""
    given_names = {given for given, _ in pairs}
    moved = [
        (given, wanted)
        for given, wanted in pairs
        if given != wanted
        and roles.get(given) is Role.IN
        and roles.get(wanted) is Role.IN
        and wanted not in given_names
    ]
    if len(moved) != 1:
        return ""
    return _passes(call.line, call.kernel, moved) + f": should it be `{moved[0][1]}`?"


def _meant(parameters: Sequence[str], signature: Signature) -> Mapping[str, str]:
    """Return the entry's argument that each parameter is named after (`n_cols`: `cols`), or it."""
    own: dict[str, list[str]] = {}
    for argument in signature.arguments:
        own.setdefault(_without_prefix(argument.name), []).append(argument.name)
    found = {}
    for parameter in parameters:
        names = own.get(_without_prefix(parameter), ())
        exact = [argument.name for argument in signature.arguments if argument.name == parameter]
        found[parameter] = exact[0] if exact else names[0] if len(names) == 1 else parameter
    return found


def _without_prefix(name: str) -> str:
    return re.sub(r"^(?:num_|n_|d_|h_)(?=\w{2})|_$", "", name.lower())


def _other_number(call: _Call, signature: Signature) -> str:
    """Recognise a constant or a number of blocks in the place of a size of the entry."""
    sizes = {one.name for one in signature.arguments} - {one.name for one in signature.arrays}
    passed = {name for one in call.given for name in cpp_code.NAME.findall(one)}
    meant = _meant(call.parameters, signature)
    for given, wanted in zip(call.given, call.parameters, strict=False):
        constant_, size = call.constants.get(given), meant[wanted]
        if (constant_ is not None or given in call.configured) and size in sizes - passed:
            known = constant_ is not None and given != constant_
            shown = f"`{given}`, {constant_}," if known else f"`{given}`"
            return (
                f"line {call.line} passes {shown} for the parameter `{wanted}` of `{call.kernel}`, "
                f"and `{size}` itself to none: should it be `{size}`?"
            )
    return ""


def _bytes_for_a_length(call: _Call) -> str:
    """Recognise a number of bytes in the place of the length that an index is compared with."""
    for given, wanted in zip(call.given, call.parameters, strict=False):
        if "sizeof" in given and wanted in call.limits:
            return (
                f"line {call.line} passes `{given}`, a number of bytes, for the parameter "
                f"`{wanted}` of `{call.kernel}`, which is compared with an index: pass the number "
                "of elements"
            )
    return ""


def _no_size(call: _Call, signature: Signature) -> str:
    """Recognise a constant that an index is compared with, where no size is passed."""
    sizes = sorted(
        one.name
        for one in signature.arguments
        if one.shape is None and one.type.startswith(("int", "uint"))
    )
    limits = [
        (given, wanted)
        for given, wanted in zip(call.given, call.parameters, strict=False)
        if given in call.constants and wanted in call.limits
    ]
    if len(limits) != 1 or not sizes or call.sizes & set(sizes):
        return ""
    ((given, wanted),) = limits
    return (
        f"line {call.line} passes `{given}` for the parameter `{wanted}` of `{call.kernel}`, "
        f"which is the same in each call, and no size: should it be `{sizes[0]}`"
        + (" or another size?" if len(sizes) > 1 else "?")
    )


def _passes(line: int, kernel: str, moved: Sequence[tuple[str, str]]) -> str:
    words = [f"`{given}` for `{wanted}`" for given, wanted in moved]
    first, *rest = words
    of = f" of `{kernel}`"
    listed = f"{first.replace(' for ', ' for the parameter ')}{of}"
    return f"line {line} passes {listed}" + (f", and {', '.join(rest)}" if rest else "")


def _missing_axis(call: _Call, language: Language) -> str:
    """Recognise a kernel that reads an axis which its launch does not have."""
    triton = language is Language.TRITON
    names = ("program_id({})", "") if triton else ("blockIdx.{}", "threadIdx.{}")
    for what, axes, used, shown, name in zip(
        ("grid", "block"), call.axes, call.used, call.shown, names, strict=True
    ):
        if axes is None or used <= axes:
            continue
        word = name.format(used - 1 if triton else "xyz"[used - 1])
        number = "one axis" if axes == 1 else f"{axes} axes"
        return (
            f"line {call.line} launches a {what} of {number}, `{shown}`, but `{call.kernel}` uses "
            f"{word}, which is 0 there for all: give the {what} this axis, or compute the index "
            f"from {name.format(0 if triton else 'x')} alone"
        )
    return ""


@functools.lru_cache(maxsize=4)
def _cuda(text: str) -> Sequence[_Call]:
    calls, found = [], cpp_code.kernels(text)
    defined = cpp_code.definitions(cpp_code.host_code(text))
    bare, host = cpp_code.without_comments(text), cpp_code.host_code(text)
    for launch in cpp_code.launches(text):
        kernel = found.get(launch.kernel)
        if kernel is None:
            continue
        names = {name for one in launch.given for name in cpp_code.NAME.findall(one)}
        calls.append(
            _Call(
                line=launch.line,
                kernel=launch.kernel,
                parameters=kernel.parameters,
                arguments=launch.arguments,
                given=launch.given,
                constants={
                    one: str(value)
                    for one in launch.given
                    if (value := constant(one, host)) is not None and value > 1
                },
                configured=frozenset({launch.grid, launch.block}),
                limits=frozenset(re.findall(r"(?:<|>=)\s*(\w+)", kernel.body)),
                sizes=frozenset(cpp_code.origins(names, defined)),
                written=frozenset(filter(kernel.writes, kernel.parameters)),
                axes=(_axes(launch.grid, bare), _axes(launch.block, bare)),
                used=(_highest("blockIdx", kernel.body), _highest("threadIdx", kernel.body)),
                shown=(_shown(launch.grid, bare), _shown(launch.block, bare)),
            )
        )
    return calls


def _axes(expression: str, text: str) -> int | None:
    """Return how many axes a grid or block has as it is written, None if that is not known."""
    if (sides := cpp_code.dim3_sides(expression, text)) is not None:
        return len(sides) or 1
    if not re.fullmatch(r"\w+", expression):
        # A sum or quotient of whole numbers; anything with a call may be a dim3.
        names = cpp_code.NAME.findall(expression)
        whole = all(_is_whole(name, text) for name in names)
        return 1 if whole and not re.search(r"\w\s*[({]", expression) else None
    return 1 if expression.isdigit() or _is_whole(expression, text) else None


def _is_whole(name: str, text: str) -> bool:
    """True if every variable of the name is declared as a whole number, or it is a constant."""
    word = re.escape(name)
    whole = re.search(
        rf"\b(?:int|unsigned|long|size_t|u?int\d+_t)\s+(?:\w+\s*=[^;,]{{0,300}},\s*)*{word}\b", text
    )
    constant = re.search(rf"#\s*define\s+{word}\s+[\d( ]", text)
    return bool(whole or constant) and not re.search(
        rf"\bdim3\s+(?:\w+\s*(?:\([^;()]{{0,100}}\))?,\s*){{0,4}}{word}\s*[;,({{=]", text
    )


def _shown(expression: str, text: str) -> str:
    """Return the expression, or what a single name stands for, if it is short."""
    if re.fullmatch(r"[A-Za-z_]\w*", expression):
        found = re.findall(rf"\b{re.escape(expression)}\s*(?:=\s*|(?=[({{]))([^;=]+);", text)
        expression = found[0] if len(found) == 1 else expression
    words = " ".join(expression.split())
    return words if len(words) <= _MOST_SHOWN else words[:_MOST_SHOWN] + " …"


def _highest(word: str, body: str) -> int:
    """Return how many axes of `blockIdx` or `threadIdx` a kernel reads."""
    return max(
        ("xyz".index(axis) + 1 for axis in re.findall(rf"\b{word}\.([xyz])", body)), default=0
    )


@functools.lru_cache(maxsize=4)
def _triton(text: str) -> Sequence[_Call]:
    tree = parsed(text)
    calls: list[_Call] = []
    if tree is None:
        return calls
    functions = [node for node in walk(tree) if isinstance(node, ast.FunctionDef)]
    jitted = {
        node.name: node
        for node in functions
        if any(ast.unparse(one).partition("(")[0].endswith("jit") for one in node.decorator_list)
    }
    fixed = _constants(tree.body)
    for function in functions:
        for node in walk(function) if function.name not in jitted else ():
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Subscript):
                continue
            kernel = jitted.get(ast.unparse(node.func.value))
            if kernel is None:
                continue
            grid = _grid(node.func.slice, function)
            call = _Call(
                line=node.lineno,
                kernel=kernel.name,
                parameters=tuple(one.arg for one in kernel.args.args),
                arguments=tuple(one.id if isinstance(one, ast.Name) else "" for one in node.args),
                given=tuple(map(ast.unparse, node.args)),
                constants={**fixed, **_constants(function.body)},
                configured=frozenset({ast.unparse(node.func.slice)}),
                limits=frozenset(),
                sizes=frozenset(),
                written=frozenset(_stored(kernel)),
                axes=(len(grid.elts) if grid else None, None),
                used=(_programs(kernel), 0),
                shown=(_shown(ast.unparse(grid), "") if grid else "", ""),
            )
            calls.append(call)
    return calls


def _constants(statements: Sequence[ast.stmt]) -> dict[str, str]:
    """Return the names that the statements set to a constant, with its value."""
    return {
        target.id: ast.unparse(node.value)
        for node in statements
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _grid(given: ast.expr, function: ast.FunctionDef) -> ast.Tuple | None:
    """Return the tuple that a grid is, through one name or a lambda; None if that is not known."""
    if isinstance(given, ast.Name):
        values = [
            node.value
            for node in walk(function)
            if isinstance(node, ast.Assign)
            and any(isinstance(one, ast.Name) and one.id == given.id for one in node.targets)
        ]
        given = values[0] if len(values) == 1 else given
    if isinstance(given, ast.Lambda):
        given = given.body
    return given if isinstance(given, ast.Tuple) else None


def _stored(kernel: ast.FunctionDef) -> Iterator[str]:
    """Yield the parameters that the address of a store begins with."""
    for node in walk(kernel):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        if re.search(r"\b(store|atomic_\w+)$", ast.unparse(node.func)):
            address = node.args[0]
            while isinstance(address, ast.BinOp):
                address = address.left
            if isinstance(address, ast.Name):
                yield address.id


def _programs(kernel: ast.FunctionDef) -> int:
    """Return how many axes of the grid a Triton kernel reads."""
    found = re.findall(r"program_id\((?:axis=)?(\d)\)", ast.unparse(kernel))
    return max((int(axis) + 1 for axis in found), default=0)
