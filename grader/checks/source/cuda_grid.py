"""What the source of a CUDA C++ launch shows about its grid and its block.

Asked where elements were never written or are wrong, and where a launch was refused. What the text
does not prove is not said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass

from grader.assignment.signature import Signature
from grader.checks.source import cpp_code
from grader.checks.source.host_arrays import loop_around
from grader.checks.source.size_product import constant
from grader.checks.source.stuck_loops import loops

_STEPS_BY = re.compile(
    r"\b(\w+)\s{0,5}=\s{0,5}threadIdx\.x\s{0,5};[^;]{0,100};\s{0,5}\1\s{0,5}\+=\s{0,5}([A-Za-z_]\w*)\s{0,5}\)"
)
# Several threads for each element, a warp for each row: `threadIdx.x / 32`.
_SHARED_BY = r"\s{0,5}(?:/|>>|%)"
_BLOCKS_OF = (
    r"\bblockIdx\.AXIS\)?\s{0,5}\*\s{0,5}([A-Za-z_]\w*)\s{0,5}\+\s{0,5}threadIdx\.AXIS"
    rf"(?!{_SHARED_BY})"
)
_MOST_SHOWN = 60  # characters of an expression
_NOT_A_POWER = re.compile(r"^(?!.*(?:<<|pow|log)).*[a-z]")
_ROUNDS = re.compile(r"[+?]|ceil|cdiv|div_up|divup|\d\.", re.I)
_NOT_WHOLE = re.compile(r"\b(?:float|double)\b|\d\.|\.\d")


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of a launch: its name, the number of blocks as it is written, what it runs to.

    `index` is a variable of the kernel that the block's number is in, compared with `limit`, which
    the launch passes; both are "" if that is not known.
    """

    name: str
    blocks: str
    threads: str
    index: str
    limit: str


def axis_text(expression: str, axis: int, text: str) -> str:
    """Return an axis of a grid or block as it is written, "" if that is not known."""
    sides = cpp_code.dim3_sides(expression, text)
    if sides is None:
        if axis > 0 or re.search(rf"\bdim3\b[^;]{{0,300}}\b{re.escape(expression)}\b", text):
            return ""
        sides = [expression]
    side = " ".join(sides[axis].split()) if axis < len(sides) else ""
    return cpp_code.only_value(text, side) or side


def grid_hint(
    text: str, signature: Signature, kernel: str, *, few: bool = True, sizes_only: bool = False
) -> str:
    """Return why the grid of the kernel's only launch is too small, "" if that is not clear.

    `few` says that there were fewer threads than elements; with `sizes_only`, only the sizes that
    it is computed from are looked at.
    """
    name = cpp_code.plain_name(kernel)
    body = cpp_code.kernels(text).get(name)
    if (
        body is not None
        and not sizes_only
        and (words := _exchanged_numbers(body) or _parts(text, name))
    ):
        return words
    found = cpp_code.launches_of(text, name)
    if body is None or len(found) != 1:
        return ""
    (launch,) = found
    axes = list(_axes(launch, body, text))
    words = _other_size(launch, axes, signature, text)
    if words or sizes_only:
        return words
    return (
        next((words for one in axes if (words := _rounded(one.blocks, launch.line))), "")
        or next((words for one in axes if few and (words := _divided(one, launch, body, text))), "")
        or _other_step(launch, body, text)
        or _constant_grid(launch, body, text)
    )


def short_bound_hint(text: str) -> str:
    """Return which bound in a kernel leaves out the last element, as `i < n - 1`; "" if none does.

    In a kernel of pairs that may be the bound of the whole ones.
    """
    index = r"(?<![\w.])[\w.]+(?:\s*\+\s*[\w.]+){0,3}"
    found = []
    for kernel in cpp_code.kernels(text).values():
        if re.search(r"\breinterpret_cast\b|\b\w+2\b", kernel.body):
            return ""
        sizes = "|".join(map(re.escape, filter(None, kernel.parameters))) or r"(?!)"  # no match
        short = rf"({index}\s*(?:<|>=)\s*({sizes}))\s*-\s*1\b(?!\s*[*/])"
        found += [(kernel, bound) for bound in re.finditer(short, kernel.body)]
    if len(found) != 1:
        return ""
    ((kernel, bound),) = found
    line = cpp_code.line_at(kernel.body, bound.start()) + kernel.line - 1
    return f"`{bound[0]}` in line {line} leaves out what is before `{bound[2]}`: `{bound[1]}`"


def refused_grid_hint(text: str, line: int | None) -> str:
    """Return why the launch in a line has no blocks, or too many threads in one; or ""."""
    host = cpp_code.host_code(text)
    launch = next((one for one in cpp_code.launches(text) if one.line == line), None)
    if launch is None:
        return ""
    blocks = [axis_text(launch.grid, axis, host) for axis in range(3)]
    return next((words for one in blocks if (words := _rounded(one, launch.line))), "")


def refused_block_hint(text: str, line: int | None) -> str:
    """Return that the threads of a block in a line's launch grow with a size, "" if they do not."""
    host = cpp_code.host_code(text)
    launch = next((one for one in cpp_code.launches(text) if one.line == line), None)
    if launch is None:
        return ""
    threads = axis_text(launch.block, 0, host)
    names = set(cpp_code.NAME.findall(threads))
    if not names or constant(threads, host) is not None or len(threads) > _MOST_SHOWN:
        return ""
    return (
        f"line {line} asks for `{threads}` threads in each block, which grows with the size: take "
        "a fixed number, such as 256, and more blocks, or let each thread loop; the number of "
        "blocks comes first, <<<blocks, threads>>>"
    )


def block_hint(text: str, kernel: str) -> str:
    """Return that a launch gives blocks of another size than its kernel steps by, or ""."""
    host, name = cpp_code.host_code(text), cpp_code.plain_name(kernel)
    body = cpp_code.kernels(text).get(name)
    launched = cpp_code.launches_of(text, name)
    if body is None or len(launched) != 1 or "blockDim" in body.body:
        return ""
    for at, axis in enumerate("xy"):
        threads = axis_text(launched[0].block, at, host)
        # A loop that begins at the thread's number, or an index of block and thread.
        step = _STEPS_BY.search(body.body) if "threadIdx.y" not in body.body else None
        index = re.search(_BLOCKS_OF.replace("AXIS", axis), body.body)
        steps = step[2] if step else index[1] if index else ""
        size = constant(steps, f"{host}\n{body.body}") if steps else None
        given = constant(threads, host) if threads else None
        if size is None or not threads or size == given or len(threads) > _MOST_SHOWN:
            continue
        if given is None and not cpp_code.NAME.fullmatch(threads):
            continue
        # Fewer threads than a block has elements may each do several, in a loop.
        fewer = step is None and given is not None and given < size
        if fewer and re.search(r"\b(?:for|while)\b", body.body):
            continue
        shown = f"`{threads}`" if threads != str(given) else threads
        if launched[0].grid == steps:
            return (
                f"line {launched[0].line} launches `{name}` with {steps} blocks of {shown} "
                f"threads: the number of blocks comes first, <<<{threads}, {steps}>>>"
            )
        along = f" along {axis}" if "threadIdx.y" in body.body else ""
        number = f"{shown} thread" if given == 1 else f"{shown} threads"
        return (
            f"line {launched[0].line} launches `{name}` with {number}{along} in each block, "
            f"but it is written for {steps} = {size}: launch {steps} threads{along}, or step by "
            f"blockDim.{axis}"
        )
    return ""


def size_of_other_grids_hint(text: str, signature: Signature) -> str:
    """Return which launch's grid lacks a size that those of all other launches have, or ""."""
    host = cpp_code.host_code(text)
    defined = cpp_code.definitions(host)
    own = _own_sizes(signature, text)
    launched = cpp_code.launches(text)
    sizes = []
    for launch in launched:
        sides = cpp_code.dim3_sides(launch.grid, host) or [launch.grid]
        names = {name for side in sides for name in cpp_code.NAME.findall(side)}
        sizes.append(cpp_code.origins(names, defined) & own)
    for at, launch in enumerate(launched):
        others = [one for number, one in enumerate(sizes) if number != at]
        missing = set.intersection(*map(set, others)) - sizes[at] if len(others) > 1 else set()
        if len(missing) == 1 and len(launch.grid) <= _MOST_SHOWN:
            (size,) = missing
            return (
                f"line {launch.line} launches `{launch.kernel}` with a grid of `{launch.grid}`, "
                f"without `{size}`, which the grids of the other launches have: is it missing here?"
            )
    return ""


def shuffle_hint(text: str) -> str:
    """Return where a sum goes up the lanes and lane 0 is used, "" if nowhere."""
    bare = cpp_code.without_comments(text)
    up = re.search(r"\+=\s{0,9}__shfl_up_sync\b", bare)
    first = re.search(
        r"\bif\s{0,9}\([^;{}]{0,60}(?:%\s?(?:32|warpSize)\s?==\s?0|threadIdx\.x\s?==\s?0)", bare
    )
    if up is None or first is None:
        return ""
    line = cpp_code.line_at(bare, up.start())
    return (
        f"__shfl_up_sync in line {line} gives a lane the value of a lower one, so that the last "
        "lane has the sum, but lane 0 is used: write __shfl_down_sync"
    )


def partial_sums_hint(text: str) -> str:
    """Return which launch reads as many numbers as it has blocks, of another's blocks; or "".

    One writes `partials[blockIdx.x]`, the other reads them up to gridDim.x, its own number.
    """
    kernels, launched = cpp_code.kernels(text), cpp_code.launches(text)
    writers = [
        one
        for one in launched
        if one.kernel in kernels
        and re.search(r"\w\s?\[\s?blockIdx\.x\s?\]\s?=(?!=)", kernels[one.kernel].body)
    ]
    for reader in launched:
        body = kernels[reader.kernel].body if reader.kernel in kernels else ""
        loop = re.search(r"(?<![\w.])(\w+)\s?<\s?gridDim\.x\s?;", body)
        read = re.search(rf"=[^;=]{{0,80}}\b(\w+)\s?\[\s?{loop[1]}\s?\]", body) if loop else None
        others = [one for one in writers if one.kernel != reader.kernel]
        if loop is None or read is None or len(others) != 1 or others[0].grid == reader.grid:
            continue
        line = kernels[reader.kernel].line + body.count("\n", 0, loop.start())
        (writer,) = others
        return (
            f"line {line} reads `{read[1]}` up to gridDim.x, but `{writer.kernel}`, which writes "
            f"one for each of its blocks, has `{writer.grid}` of them (line {writer.line}), and "
            f"`{reader.kernel}` `{reader.grid}` (line {reader.line}): launch both alike, or pass "
            "the number"
        )
    return ""


def tree_hint(text: str) -> str:
    """Return which launch gives a tree, which halves its threads, no power of two; or ""."""
    host = cpp_code.host_code(text)
    for launch in cpp_code.launches(text):
        kernel = cpp_code.kernels(text).get(launch.kernel)
        threads = axis_text(launch.block, 0, host)
        half = re.search(r"=\s*blockDim\.x\s*(?:/\s*2|>>\s*1)\s*;", kernel.body if kernel else "")
        number = constant(threads, host) if threads else None
        if kernel is None or half is None or not threads or len(threads) > _MOST_SHOWN:
            continue
        if (number is None and _NOT_A_POWER.search(threads)) or (number and number & (number - 1)):
            line = kernel.line + kernel.body.count("\n", 0, half.start())
            return (
                f"the tree in line {line} halves blockDim.x, and loses a thread's sum where that "
                f"is odd: line {launch.line} launches `{threads}` threads; take a power of two"
            )
    return next(filter(None, (_halved(one, host) for one in cpp_code.kernels(text).values())), "")


def _halved(kernel: cpp_code.Kernel, host: str) -> str:
    """Recognise a loop that halves a constant which is no power of two: 192 comes to 3, then 1."""
    for half in re.finditer(
        r"for\s?\([^;=]{0,40}=\s?([A-Za-z_]\w*)\s?(?:/\s?2|>>\s?1)\s?;", kernel.body
    ):
        number = constant(half[1], f"{host}\n{kernel.body}")
        if number and number & (number - 1):
            line = kernel.line + kernel.body.count("\n", 0, half.start())
            return (
                f"the loop in line {line} halves `{half[1]}` = {number}, no power of two, and "
                "loses an element where it comes to an odd number: take a power of two"
            )
    return ""


def _axes(launch: cpp_code.Launch, kernel: cpp_code.Kernel, text: str) -> Iterator[_Axis]:
    host = cpp_code.host_code(text)
    passed = dict(zip(kernel.parameters, launch.given, strict=False))
    for at, axis in enumerate("xyz"):
        blocks = axis_text(launch.grid, at, host)
        if not blocks or f"gridDim.{axis}" in kernel.body:
            continue
        indices = [
            name
            for name in cpp_code.definitions(kernel.body)
            if f"blockIdx.{axis}" in cpp_code.first_value(kernel.body, name)
        ]
        limits = {
            (index, limit)
            for index in indices
            for limit in _limits(index, kernel.body)
            if limit in passed
        }
        index, limit = min(limits) if len({limit for _, limit in limits}) == 1 else ("", "")
        yield _Axis(
            name=axis,
            blocks=blocks,
            threads=axis_text(launch.block, at, host),
            index=index,
            limit=passed.get(limit, ""),
        )


def _own_sizes(signature: Signature, text: str) -> Set[str]:
    """Return the names of the entry's scalars; a file may give them names of its own."""
    host = cpp_code.host_code(text)
    names = [one.name for one in signature.arguments]
    for head in re.finditer(rf"\b{re.escape(signature.entry)}\s*\(", host):
        given = cpp_code.split(host[head.end() : cpp_code.closing(host, head.end() - 1)])
        words = [cpp_code.NAME.findall(one) for one in given]
        if len(given) == len(names) and all(len(one) > 1 for one in words):  # a type and a name
            names = [one[-1] for one in words]
    return {name for name, one in zip(names, signature.arguments, strict=True) if not one.is_array}


def _limits(index: str, body: str) -> Iterator[str]:
    """Yield what an index is compared with: `rows` in `row < rows`, `row >= rows`, `rows > row`.

    A thread may add its own number: `first + threadIdx.x < rows`.
    """
    word = rf"(?<![\w.]){re.escape(index)}\b(?:\s*\+[\w.*+ ]{{1,60}}(?=[<>]))?"
    yield from re.findall(rf"{word}\s*(?:<|>=)(?![<=])\s*(\w+)(?!\s*[-+*/(\[])", body)
    yield from re.findall(rf"(?<![-+*/]\s)(?<![\w.])(\w+)\s*(?:>|<=)\s*{word}", body)


def _other_size(launch: cpp_code.Launch, axes: list[_Axis], signature: Signature, text: str) -> str:
    """Recognise an axis whose blocks are computed from another size than that it runs to."""
    own = _own_sizes(signature, text)
    defined = cpp_code.definitions(cpp_code.host_code(text))

    def sizes(expression: str) -> Set[str]:
        return cpp_code.origins(set(cpp_code.NAME.findall(expression)), defined) & own

    wrong = [
        one
        for one in axes
        if len(one.blocks) <= _MOST_SHOWN
        and (needed := sizes(one.limit))
        and not sizes(one.blocks) & needed
        and (sizes(one.blocks) or one.blocks.isdigit())
    ]
    if not wrong:
        return ""
    first, *rest = wrong
    exchanged = bool(rest) and sizes(first.blocks) == sizes(rest[0].limit)
    if exchanged:
        second = rest[0]
        return (
            f"line {launch.line} launches `{first.blocks}` blocks along {first.name} and "
            f"`{second.blocks}` along {second.name}, but `{launch.kernel}` runs along "
            f"{first.name} to `{first.limit}` and along {second.name} to `{second.limit}`: the two "
            "axes of the grid are exchanged"
        )
    return (
        f"line {launch.line} launches `{first.blocks}` block{'' if first.blocks == '1' else 's'} "
        f"along {first.name}, but in "
        f"`{launch.kernel}` `{first.index}`, which comes from blockIdx.{first.name}, runs to "
        f"`{first.limit}`: compute their number from `{first.limit}`"
    )


def _other_step(launch: cpp_code.Launch, kernel: cpp_code.Kernel, text: str) -> str:
    """Recognise blocks whose distance is no multiple of the threads that a block has."""
    host, lines = cpp_code.host_code(text), kernel.body.split("\n")
    for at, axis in enumerate("xyz"):
        threads = constant(axis_text(launch.block, at, host), host)
        for number, line in enumerate(lines):
            # With the thread's number along another axis it is no element's index along this one.
            step = re.search(
                rf"\bblockIdx\.{axis}\s*\*\s*(\w+)(?!\.)(?![^;,]*\bthreadIdx\.[^{axis}])"
                rf"(?![^;,]*\bthreadIdx\.{axis}{_SHARED_BY})",
                line,
            )
            size = constant(step[1], f"{host}\n{kernel.body}") if step else None
            if step is not None and size is not None and threads and size % threads:
                return (
                    f"blocks begin `{step[1]}` elements apart in line {kernel.line + number}, but "
                    f"line {launch.line} gives each {threads} threads along {axis}"
                )
    return ""


def _constant_grid(launch: cpp_code.Launch, kernel: cpp_code.Kernel, text: str) -> str:
    """Recognise a number of blocks that is the same in each call, of which each does a part."""
    host = cpp_code.host_code(text)
    blocks = constant(launch.grid, host)
    if blocks is None or "gridDim" in kernel.body or "blockIdx.x" not in kernel.body:
        return ""
    defined = cpp_code.definitions(kernel.body)
    for loop in loops(text):
        # One that begins at the block's own part may step over those of the others.
        names = cpp_code.NAME.findall(loop.start) + re.findall(r"(\w+)\s*\+=", loop.step)
        if kernel.line <= loop.first <= kernel.last and "blockIdx.x" in cpp_code.origins(
            set(names), defined
        ):
            return ""
    return (
        f"line {launch.line} launches {blocks} block{'s' if blocks > 1 else ''} whatever the sizes "
        f"are, but each block of `{kernel.name}` does its own part, by blockIdx.x: compute their "
        "number from the size"
    )


def _exchanged_numbers(kernel: cpp_code.Kernel) -> str:
    """Recognise an index that multiplies the thread's number in the place of the block's."""
    for name in cpp_code.definitions(kernel.body):
        value = cpp_code.first_value(kernel.body, name)
        factor = re.search(r"threadIdx\.([xyz])\s*\*\s*(\w+(?:\.\w+)?)", value)
        if factor is None or "gridDim" in value:
            continue
        axis, size = factor.groups()
        if re.search(rf"blockIdx\.{axis}(?!\s*\*)", re.sub(rf"\*\s*blockIdx\.{axis}", "", value)):
            return (
                f"`{name}` multiplies threadIdx.{axis} by `{size}`, and not blockIdx.{axis}: a "
                f"block's threads lie side by side, blockIdx.{axis} * {size} + threadIdx.{axis}"
            )
    return ""


def _parts(text: str, kernel: str) -> str:
    """Recognise several launches, or a loop of them, whose parts are rounded down."""
    host = cpp_code.host_code(text)
    launches = cpp_code.launches_of(text, kernel)
    if len(launches) < 2 and not (launches and loop_around(text, launches[0].line)):
        return ""
    for launch in launches:
        for given in filter(None, launch.arguments):
            value = cpp_code.only_value(host, given)
            part = re.fullmatch(r"(\w+)\s*/\s*(\w+)", value)
            if part is not None and constant(part[1], host) is None:
                whole, parts = part.groups()
                return (
                    f"`{given}` in line {launch.line} is `{value}`, which rounds down: if {whole} "
                    f"is no multiple of {parts}, the launches leave out the rest; let the last one "
                    f"run to {whole}"
                )
    return ""


def _rounded(blocks: str, line: int) -> str:
    """Recognise a number of blocks that is rounded down, or is no quotient."""
    if len(blocks) > _MOST_SHOWN:
        return ""
    rounded = re.fullmatch(r"(?:\(\s*int\s*\)\s*)?(?:std::)?ceilf?\s*\((.+)\)", blocks)
    quotient = rounded[1] if rounded else blocks
    sides = [one.strip() for one in quotient.split("/")]
    plain = len(sides) == 2 and not _ROUNDS.search(quotient) and not _NOT_WHOLE.search(quotient)
    if plain and cpp_code.NAME.search(sides[0]) and "%" not in quotient:
        whole = f"({sides[0]} + {sides[1]} - 1) / {sides[1]}"
        if rounded:
            return (
                f"`{blocks}` in line {line} divides whole numbers, which rounds down before ceil "
                f"can round up: write {whole}"
            )
        return (
            f"`{blocks}` in line {line} rounds down, so that the last, incomplete block is "
            f"missing: write {whole}"
        )
    least = re.fullmatch(
        r"(\w+) >=? \w+ \? (\1 / (\w+)) : 1|(?:std::)?max\((?:1, )?((\w+) / (\w+))(?:, 1)?\)",
        blocks,
    )
    if least is not None:
        size, quotient, width = least[1] or least[5], least[2] or least[4], least[3] or least[6]
        return (
            f"`{quotient}` in line {line} rounds down, so that the last, incomplete block is "
            f"missing: write ({size} + {width} - 1) / {width}"
        )
    if re.fullmatch(r"[^/%]*%[^/%]*", blocks):
        return (
            f"`{blocks}` in line {line} is the rest of a division, no number of blocks: write `/`"
        )
    return ""


def _divided(axis: _Axis, launch: cpp_code.Launch, kernel: cpp_code.Kernel, text: str) -> str:
    """Recognise blocks that are counted as if each had more threads than it has."""
    match = re.fullmatch(r".*\)\s*/\s*\(?\s*(\w+)\s*\)?", axis.blocks)
    host = cpp_code.host_code(text)
    divisor = constant(match[1], host) if match else None
    threads = constant(axis.threads, host) if axis.threads else None
    if divisor is None or threads is None or divisor <= threads or len(axis.blocks) > _MOST_SHOWN:
        return ""
    for loop in loops(text):
        # A tile of 32 rows and 8 threads, each of which goes on by 8.
        steps = re.findall(r"\+=\s*([\w.]+)", loop.step)
        if kernel.line <= loop.first <= kernel.last and any(
            step == f"blockDim.{axis.name}" or constant(step, f"{host}\n{kernel.body}") == threads
            for step in steps
        ):
            return ""
    return (
        f"`{axis.blocks}` in line {launch.line} counts {divisor} elements for each block along "
        f"{axis.name}, but a block has {threads} threads there: divide by {threads}, unless each "
        "thread is meant to do several"
    )
