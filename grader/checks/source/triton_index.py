"""What a Triton file shows about an address or a mask at the line of a finding.

Only for a fault that was found; the words are a hint, never part of a verdict. What the text does
not prove is not said.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from grader.checks.source.python_text import parsed, walk
from grader.report.evidence import Finding

_MOST_STEPS = 4  # from a mask to what it is another name of
_MOST_NAMES = 100  # that lead from an index to the axes of the grid
_MOST_SHOWN = 50  # characters of an address or mask


def triton_index_hint(found: Finding, text: str) -> str:
    """Return what the source shows about the address or the mask of a finding, "" if nothing."""
    tree = parsed(text)
    if tree is None:
        return ""
    function = next(
        (
            node
            for node in walk(tree)
            if isinstance(node, ast.FunctionDef)
            and node.lineno <= (found.line or 0) <= (node.end_lineno or 0)
        ),
        None,
    )
    if function is None:
        return ""
    values = values_of(function)
    for call in _accesses(function, found.line or 0):
        address = call.args[0]
        of_all = found.kind == "race" and found.access == "write"
        if of_all and "program_id" not in words_of(address, values):
            if isinstance(address, ast.Name):
                return (
                    f"every program writes the one element that `{address.id}` points to in line "
                    f"{call.lineno}, so that one result is left: tl.atomic_add({address.id}, …) "
                    "adds them up; else add the program's beginning to the address"
                )
            return (
                f"the address `{_shown(ast.unparse(address))}` in line {call.lineno} does not "
                "depend on tl.program_id, so every program writes the same elements: add the "
                "program's beginning to it, or add to the elements with tl.atomic_add"
            )
        if of_all and (
            words := _other_axis(function, values, call.lineno)
            or _to_the_end(function, values, call.lineno)
            or _adds_by_itself(call, values)
            or _lacks_axis(found, address, values, call.lineno)
            or _not_multiplied(found, address, values)
        ):
            return words
        wide = _mask(call)
        if wide is not None and (words := _against_width(wide, function, values, call.lineno)):
            return words
        mask = _mask(call) if found.kind == "out_of_bounds" else None
        if mask is not None and (
            words := _of_mask(address, mask, values, call.lineno)
            or _stays(function, address, mask, call.lineno)
        ):
            return words
    return ""


def _stays(function: ast.FunctionDef, address: ast.expr, mask: ast.expr, line: int) -> str:
    """Recognise a mask that is the same in all steps of a loop, while the address moves on."""
    values = values_of(function)
    for loop in walk(function):
        if not isinstance(loop, ast.For) or not loop.lineno <= line <= (loop.end_lineno or 0):
            continue
        changing = {one.id for one in walk(loop.target) if isinstance(one, ast.Name)}
        changing |= {name for node in loop.body for name in values_of(node)}
        moves = words_of(address, values) & changing
        if moves and not words_of(mask, values) & changing:
            return (
                f"the mask `{_shown(ast.unparse(mask))}` in line {line} is the same in every step "
                f"of the loop, but `{_shown(ast.unparse(address))}` moves on: compare with what is "
                "left, as in `index < length - step * BLOCK`"
            )
    return ""


def _other_axis(function: ast.FunctionDef, values: Mapping[str, list[ast.expr]], line: int) -> str:
    """Recognise a loop that begins by a program's number and steps by those of another axis."""
    for loop in walk(function):
        if not isinstance(loop, ast.For) or not loop.lineno <= line <= (loop.end_lineno or 0):
            continue
        given = loop.iter.args if isinstance(loop.iter, ast.Call) else []
        if len(given) != 3:
            continue
        begins = axes_of(given[0], values)
        counts = axes_of(given[2], values, "num_programs")
        if len(begins) == len(counts) == 1 and begins != counts:
            return (
                f"the loop in line {loop.lineno} begins by tl.program_id({begins.pop()}), but "
                f"steps by tl.num_programs({counts.pop()}), which counts the programs of another "
                "axis and is 1 if the grid has none there"
            )
    return ""


def _adds_by_itself(call: ast.Call, values: Mapping[str, list[ast.expr]]) -> str:
    """Recognise the store of a sum with what a load of the same address has given."""
    if len(call.args) < 2 or not ast.unparse(call.func).endswith("store"):
        return ""
    address, stored = ast.unparse(call.args[0]), call.args[1]
    if isinstance(stored, ast.Name) and len(values.get(stored.id, ())) == 1:
        stored = values[stored.id][0]
    if not isinstance(stored, ast.BinOp) or not isinstance(stored.op, ast.Add):
        return ""
    for side in (stored.left, stored.right):
        made = values.get(side.id, []) if isinstance(side, ast.Name) else [side]
        if len(made) == 1 and ast.unparse(made[0]).startswith(
            (f"tl.load({address},", f"tl.load({address})")
        ):
            return (
                f"programs load, add and store the same elements up to line {call.lineno}, and one "
                f"overwrites the other's sum: tl.atomic_add({_shown(address)}, …) does it in one"
            )
    return ""


def _to_the_end(function: ast.FunctionDef, values: Mapping[str, list[ast.expr]], line: int) -> str:
    """Recognise a loop from a program's own beginning whose step leaves out no other program's."""
    for loop in walk(function):
        if not isinstance(loop, ast.For) or not loop.lineno <= line <= (loop.end_lineno or 0):
            continue
        given = loop.iter.args if isinstance(loop.iter, ast.Call) else []
        if len(given) != 3 or ast.unparse(loop.iter).partition("(")[0] not in ("range", "tl.range"):
            continue
        begin, end, step = given
        own = words_of(step, values)
        widths = {one for one in words_of(begin, values) if one.isupper()}
        if "num_programs" in own and len(widths) == 1 and not own & widths:
            return (
                f"the programs begin `{widths.pop()}` elements apart, but the step in line "
                f"{loop.lineno}, `{_shown(ast.unparse(step))}`, counts programs: multiply it, too"
            )
        whole = "program_id" not in words_of(end, values)
        numbers = {"num_programs", "program_id"}
        if whole and "program_id" in words_of(begin, values) and not own & numbers:
            shown = _shown(ast.unparse(step))
            return (
                f"each program goes on from its own beginning to the end in steps of `{shown}` "
                f"(line {loop.lineno}), over the elements of the others: step by "
                f"tl.num_programs(0) * {shown}"
            )
    return ""


def _lacks_axis(
    found: Finding, address: ast.expr, values: Mapping[str, list[ast.expr]], line: int
) -> str:
    """Recognise an address without the axis of the grid along which two programs differ."""
    axes = _differing(found)
    if len(axes) != 1 or axes[0] in axes_of(address, values):
        return ""
    return (
        f"the address `{_shown(ast.unparse(address))}` in line {line} does not depend on "
        f"tl.program_id({axes[0]}), in which these programs differ: add what it is the number of, "
        "times its elements"
    )


def _differing(found: Finding) -> list[int]:
    """Return the axes of the grid along which the two programs of a race differ."""
    one, other = found.block, found.other_block
    return [at for at in range(3) if one and other and one[at] != other[at]]


def _not_multiplied(found: Finding, address: ast.expr, values: Mapping[str, list[ast.expr]]) -> str:
    """Recognise a program's number that is added to an address as it is.

    The two programs of a race differ along one axis of the grid; its number must be in the address.
    """
    axes = _differing(found)
    if len(axes) != 1:
        return ""
    number = re.compile(rf"tl\.program_id\((?:axis=)?{axes[0]}\)(?:\.to\([\w.]+\))?")
    held = [
        (name, given[0])
        for name, given in values.items()
        if len(given) == 1 and number.fullmatch(ast.unparse(given[0]))
    ]
    used = words_of(address, values)
    if len(held) != 1 or held[0][0] not in used:
        return ""
    name, made = held[0]
    products = [
        node
        for part in (address, *(given for word in used for given in values.get(word, [])))
        for node in walk(part)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, (ast.Mult, ast.Mod, ast.FloorDiv))
        and any(isinstance(side, ast.Name) and side.id == name for side in (node.left, node.right))
    ]
    if products:
        return ""
    return (
        f"`{name}` in line {made.lineno} is the program's number along axis {axes[0]} as it is, so "
        "that programs begin 1 apart: multiply it by the rows or elements that each has"
    )


def _against_width(
    mask: ast.expr, function: ast.FunctionDef, values: Mapping[str, list[ast.expr]], line: int
) -> str:
    """Recognise an index with the program's number that is compared with the width of a block."""
    widths = {one.arg for one in function.args.args if ast.unparse(one).endswith("tl.constexpr")}
    for _ in range(_MOST_STEPS):
        if isinstance(mask, ast.Name) and len(values.get(mask.id, ())) == 1:
            mask = values[mask.id][0]
    for node in walk(mask):
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Lt):
            continue
        limit = node.comparators[0]
        of_program = "program_id" in words_of(node.left, values)
        if of_program and isinstance(limit, ast.Name) and limit.id in widths:
            return (
                f"the mask of line {line} compares `{_shown(ast.unparse(node.left))}` with "
                f"`{limit.id}`, the width of a block: compare it with the length of the array"
            )
    return ""


def _accesses(function: ast.FunctionDef, line: int) -> Iterator[ast.Call]:
    for node in walk(function):
        if (
            isinstance(node, ast.Call)
            and node.lineno <= line <= (node.end_lineno or node.lineno)
            and re.search(r"\b(?:load|store|atomic_\w+)$", ast.unparse(node.func))
            and node.args
        ):
            yield node


def _mask(call: ast.Call) -> ast.expr | None:
    given = next((one.value for one in call.keywords if one.arg == "mask"), None)
    place = 1 if ast.unparse(call.func).endswith("load") else 2
    return given or (call.args[place] if len(call.args) > place else None)


def values_of(function: ast.AST) -> Mapping[str, list[ast.expr]]:
    """Return the values that each variable of a function, or of a file, is given."""
    found: dict[str, list[ast.expr]] = {}
    for node in walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for one in walk(target):
                    if isinstance(one, ast.Name):
                        found.setdefault(one.id, []).append(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, []).append(node.value)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, []).append(node.iter)
    return found


def words_of(expression: ast.expr, values: Mapping[str, list[ast.expr]]) -> set[str]:
    """Return the names and attributes that an expression is made of, through variables."""
    seen: set[str] = set()
    open_ = [expression]
    while open_:
        for node in walk(open_.pop()):
            word = getattr(node, "id", None) or getattr(node, "attr", None)
            if isinstance(word, str) and word not in seen:
                seen.add(word)
                open_ += values.get(word, ())
    return seen


def axes_of(
    index: ast.expr, values: Mapping[str, Sequence[ast.expr]], name: str = "program_id"
) -> set[int]:
    """Return the axes of the grid whose program_id, or other function, an index is made of."""
    found, seen, open_ = set(), set[str](), [index]
    while open_ and len(seen) < _MOST_NAMES:
        for node in walk(open_.pop()):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(name):
                given = [*node.args, *(one.value for one in node.keywords)]
                if given and isinstance(given[0], ast.Constant) and type(given[0].value) is int:
                    found.add(given[0].value)
            elif isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                open_ += values.get(node.id, ())
    return found


def _sides(expression: ast.expr, values: Mapping[str, list[ast.expr]]) -> dict[str, int]:
    """Return for each name the axis along which it runs, as in `row[:, None]`: axis 0."""
    for _ in range(_MOST_STEPS):
        if isinstance(expression, ast.Name) and len(values.get(expression.id, ())) == 1:
            expression = values[expression.id][0]
    found = {}
    for node in walk(expression):
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
            continue
        # Of (row < rows)[:, None] it is that of `row`.
        index = node.value.left if isinstance(node.value, ast.Compare) else node.value
        whole = [at for at, one in enumerate(node.slice.elts) if isinstance(one, ast.Slice)]
        if isinstance(index, ast.Name) and len(whole) == 1 and len(node.slice.elts) == 2:
            found[index.id] = whole[0]
    return found


def _other_column(
    address: ast.expr, mask: ast.expr, values: Mapping[str, list[ast.expr]], line: int
) -> str:
    """Recognise a column that is compared with another length than that of its rows."""
    if isinstance(mask, ast.Name) and values.get(mask.id):
        before = [one for one in values[mask.id] if one.lineno <= line]
        mask = before[-1] if before else mask
    limits = {
        name_of(one.left): name_of(one.comparators[0])
        for one in walk(mask)
        if isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.Lt)
    }
    for node in walk(address):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
            continue
        rows = [one for one in walk(node.left) if isinstance(one, ast.BinOp)]
        products = [one for one in rows if isinstance(one.op, ast.Mult)]
        length = name_of(products[0].right) if len(products) == 1 else ""
        column = name_of(node.right)
        limit = limits.get(column, "") if column else ""
        if length and limit and limit != length and not {length, limit} & set(values):
            return (
                f"`{column}` is compared with `{limit}` in the mask, but in line {line} it runs "
                f"over a row of `{length}` elements: which of the two is meant?"
            )
    return ""


def name_of(expression: ast.expr) -> str:
    """Return the variable of an expression such as `col[None, :]`, "" if it is more than one."""
    while isinstance(expression, ast.Subscript):
        expression = expression.value
    return expression.id if isinstance(expression, ast.Name) else ""


def _inclusive(mask: ast.expr, values: Mapping[str, list[ast.expr]]) -> str:
    """Return the comparison of a mask with `<=` and a single name, "" if there is none."""
    for _ in range(_MOST_STEPS):
        if isinstance(mask, ast.Name) and len(values.get(mask.id, ())) == 1:
            mask = values[mask.id][0]
    for node in walk(mask):
        compares = isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.LtE)
        if compares and isinstance(getattr(node, "comparators", [None])[0], ast.Name):
            return _shown(ast.unparse(node))
    return ""


def turned_hint(function: ast.FunctionDef, line: int) -> str:
    """Return which index runs along other axes of an access in a line than of its mask, or ""."""
    values = values_of(function)
    for call in _accesses(function, line):
        mask = _mask(call)
        if isinstance(mask, ast.Name):
            before = [one for one in values.get(mask.id, ()) if one.lineno <= line]
            mask = before[-1] if before else None
        turned = _turned(call.args[0], mask, values, line) if mask is not None else ""
        if turned:
            return f"{turned}: both must have the same axis"
    return ""


def _turned(
    address: ast.expr, mask: ast.expr, values: Mapping[str, list[ast.expr]], line: int
) -> str:
    """Name an index whose axis in the mask is not that of the addresses, "" if there is none."""
    here, there = _sides(address, values), _sides(mask, values)
    turned = [name for name in here if there.get(name, here[name]) != here[name]]
    if not turned:
        return ""
    name = turned[0]
    axes = ("rows, [:, None],", "columns, [None, :],")
    return (
        f"`{name}` runs along the {axes[here[name]]} of the addresses in line {line}, but "
        f"along the {axes[there[name]]} of the mask `{_shown(ast.unparse(mask))}`"
    )


def _of_mask(
    address: ast.expr, mask: ast.expr, values: Mapping[str, list[ast.expr]], line: int
) -> str:
    """Recognise a mask whose axes are those of another block, or that leaves an index out."""
    if turned := _turned(address, mask, values, line):
        return f"{turned}: the mask of this block is another one"
    if inclusive := _inclusive(mask, values):
        return (
            f"`{inclusive}` in the mask lets the length itself through, which is one past the last "
            "element: `<` instead of `<=`"
        )
    if other := _other_column(address, mask, values, line):
        return other
    tested = words_of(mask, values)
    blocks = [
        node.id
        for node in walk(address)
        if isinstance(node, ast.Name) and "arange" in words_of(node, values)
    ]
    missing = [
        name
        for name in dict.fromkeys(blocks)
        if name not in tested
        # A test of what the index is made of is a test of the index.
        and not any(
            "arange" in words_of(ast.Name(id=other), values)
            and other in words_of(ast.Name(id=name), values)
            for other in tested - {name}
            if other in values
        )
    ]
    if len(missing) != 1 or len(set(blocks)) < 2:
        return ""
    return (
        f"the mask `{_shown(ast.unparse(mask))}` in line {line} does not test `{missing[0]}`, "
        "which is part of the address: it must be below the length of its own axis as well"
    )


def _shown(words: str) -> str:
    return words if len(words) <= _MOST_SHOWN else words[:_MOST_SHOWN] + " …"
