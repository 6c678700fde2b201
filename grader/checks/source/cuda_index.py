"""What the source shows about an index at the line of a finding: what it lacks, what tests it.

Only for a fault that was found; the words are a hint, never part of a verdict. What the text does
not prove is not said.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from grader.assignment.signature import Signature
from grader.checks.source import cpp_code
from grader.checks.source.triton_index import triton_index_hint
from grader.checks.source.unfilled import pitch_of_rows, unfilled_hint
from grader.report.evidence import Finding
from grader.vocabulary import Language

_MOST_SHOWN = 50  # characters of an index
_MOST_OF_CONDITION = 200  # characters of it, before a `?`
_MOST_VARIABLES = 4  # whose values are shown
# Other ways to a block's or thread's number than the built-in variables.
_OTHER_NUMBERS = re.compile(r"cooperative_groups|ctaid|\btid\.|%tid")
_CONDITION = re.compile(r"\b(?:if|while|for)\s*\(")
# What an `if` leads to that counts behind it, too: an end, or another value of a variable.
_LASTS = re.compile(r"\b(?:return|continue|break)\b|(?<![\w.\]])\w+\s*[-+*/]?=(?!=)")
_SIGNED_BYTE = re.compile(r"(?<!unsigned )\b(?:signed\s+char|char|int8_t)\b")
_COMPARED = re.compile(r"<=|>=|!=|==|<|>")
_NARROW_INDEX = re.compile(
    r"\b((?:unsigned\s+)?(?:short|char)|u?int(?:8|16)_t|ushort|uchar)\s+(?:int\s+)?(\w+)\s?="
    r"(?=[^;]{0,200}\bblockIdx\.)[^;]{0,200}\*"
)


def index_hint(found: Finding, text: str, language: Language) -> str:
    """Return what the source shows about the index of a finding, "" if nothing."""
    if found.line is None or found.kernel is None or len(text) > cpp_code.MOST_CHARACTERS:
        return ""
    if language is Language.TRITON:
        return triton_index_hint(found, text)
    kernel = cpp_code.kernels(text).get(cpp_code.plain_name(found.kernel))
    if kernel is None or _OTHER_NUMBERS.search(text):
        return ""
    lines = cpp_code.without_comments(text).split("\n")
    if not kernel.line <= found.line <= kernel.last:
        return ""
    return _of_cuda(found, lines, kernel, text)


def _of_cuda(found: Finding, lines: Sequence[str], kernel: cpp_code.Kernel, text: str) -> str:
    """Return what a CUDA C++ kernel shows about the index of a finding in one of its lines."""
    assert found.line is not None
    line = lines[found.line - 1]
    defined = cpp_code.definitions(kernel.body + "\n" + _macros(text))
    words = _cause(found, line, lines, kernel, defined, text)
    if not words and found.kind == "out_of_bounds" and (made := _made_of(found, line, kernel)):
        return f"{found.hint}; {made}"
    return words


def _cause(
    found: Finding,
    line: str,
    lines: Sequence[str],
    kernel: cpp_code.Kernel,
    defined: Mapping[str, set[str]],
    text: str,
) -> str:
    assert found.line is not None
    match found.kind:
        case "race" if "different blocks" in found.message:
            return _lacks_block(found, line, kernel, defined)
        case "race" if found.space == "shared" and found.line == found.other_line:
            return _one_for_all(found, line, kernel)
        case "race" if found.line == found.other_line:
            return _one_thread_axis([(found.line, line)], kernel, defined)
        case "out_of_bounds" if found.space == "global" and (found.element or 0) >= 0:
            return (
                _read_index(found, line)
                or pitch_of_rows(found.buffer or "", kernel, text)
                or _one_thread_axis([(found.line, line)], kernel, defined)
                or _offset_at_launch(found, kernel, text)
                or _other_length(found.line, line, kernel)
                or _blocks_past_the_end(found, line, kernel, defined, text)
                or _untested(found, line, kernel, defined)
            )
        case "out_of_bounds" if -128 <= (found.element or 0) < 0:
            return _signed_byte(lines[kernel.line - 1 : kernel.last])
        case "uninitialized" if found.space == "shared" and found.buffer:
            word = re.compile(rf"\b{re.escape(found.buffer)}\s*\[[^;]{{0,300}}\]\s*=(?!=)")
            body = enumerate(lines[kernel.line - 1 : kernel.last], kernel.line)
            stores = [(at, one) for at, one in body if word.search(one)]
            return (
                _one_thread_axis(stores, kernel, defined)
                or _fewer_threads(found, stores, kernel, text)
                or _of_stores(found, stores)
            )
        case "uninitialized" if found.space == "global" and found.buffer:
            return unfilled_hint(found.buffer, kernel, text)
    return ""


def _signed_byte(lines: Sequence[str]) -> str:
    """Recognise a kernel that uses bytes with a sign, of which an index may be one."""
    match = next(filter(None, map(_SIGNED_BYTE.search, lines)), None)
    if match is None:
        return ""
    kind = " ".join(match[0].split())
    return (
        f"a `{kind}` holds -128 to 127, so that a byte above 127 is a negative index: use "
        "`unsigned char`"
    )


def _read_index(found: Finding, line: str) -> str:
    """Recognise an index that is itself an element of another array."""
    for match in re.finditer(r"\b(\w+)\[", line):
        index = line[match.end() : cpp_code.closing(line, match.end() - 1)]
        if "[" in index and len(index) <= _MOST_SHOWN and found.elements:
            return (
                f"the index `{_shown(index)}` of `{match[1]}` is read from memory: which numbers "
                f"can it be? `{found.buffer}` has elements 0 to {found.elements - 1}"
            )
    return ""


def _made_of(found: Finding, line: str, kernel: cpp_code.Kernel) -> str:
    """Return the index of a line, and what its variables are set to: "`r][x`, r = y + i"."""
    before = "\n".join(kernel.body.split("\n")[: (found.line or 0) - kernel.line + 1])
    for name, index, writes in cpp_code.subscripts(line):
        if len(index) > _MOST_SHOWN or (found.access == "write") != writes:
            continue
        made: dict[str, str] = {}
        open_ = cpp_code.NAME.findall(index)
        while open_:
            variable = open_.pop(0)
            value = cpp_code.first_value(before, variable)
            if variable in made or not value or len(value) > _MOST_SHOWN:
                continue
            made[variable] = value
            open_ += cpp_code.NAME.findall(value)
        known = [f"{one} = {value}" for one, value in made.items() if not value.isdigit()]
        if known and found.space == "shared" and found.block_size:
            known.append(f"in a block of {_sides_of(found.block_size)} threads")
        if known:
            return f"here `{name}[{_shown(index)}]`, where {', '.join(known[-_MOST_VARIABLES:])}"
    return ""


def _macros(text: str) -> str:
    return "\n".join(one for one in text.split("\n") if one.lstrip().startswith("#"))


def _shown(index: str) -> str:
    words = " ".join(index.split())
    return words if len(words) <= _MOST_SHOWN else words[:_MOST_SHOWN] + " …"


def _lacks_block(
    found: Finding, line: str, kernel: cpp_code.Kernel, defined: Mapping[str, set[str]]
) -> str:
    """Recognise an index that no block's number is in, so that all blocks have the same."""
    written = [(name, index) for name, index, writes in cpp_code.subscripts(line) if writes]
    if len(written) != 1:
        return ""
    ((name, index),) = written
    names = cpp_code.origins({name, *cpp_code.NAME.findall(index)}, defined)
    if any(one.startswith("blockIdx") for one in names) or not _plain_values(names, kernel):
        return ""
    if re.search(r"\]\s*[-+]=", line):
        return (
            f"every block adds to `{name}[{_shown(index)}]` in line {found.line}: `+=` reads, adds "
            f"and writes, and others come between; use atomicAdd(&{name}[{_shown(index)}], …)"
        )
    return (
        f"the index `{_shown(index)}` of `{name}` in line {found.line} does not depend on "
        "blockIdx, so every block writes the same elements: add the block's beginning to it"
    )


def row_begin_hint(found: Finding, text: str, signature: Signature) -> str:
    """Return that a block's row begins a block's size apart, where rows have columns; or ""."""
    kernel = cpp_code.kernels(text).get(found.kernel or "")
    array = next((one for one in signature.arrays if one.name == found.buffer), None)
    launched = [one for one in cpp_code.launches(text) if kernel and one.kernel == kernel.name]
    if kernel is None or array is None or len(array.shape or ()) != 2 or len(launched) != 1:
        return ""
    rows, columns = (extent.text for extent in array.shape or ())
    if launched[0].grid != rows:
        return ""
    for number, line in enumerate(kernel.body.split("\n"), start=kernel.line):
        begin = re.search(r"=\s*(\w+)\s*\+\s*blockIdx\.x\s*\*\s*([\w.]+)\s*;", line)
        if begin is None or begin[1] != found.buffer or begin[2] == columns:
            continue
        return (
            f"line {number} lets the row of a block begin `blockIdx.x * {begin[2]}` elements into "
            f"`{begin[1]}`, but rows lie `{columns}` elements apart: blockIdx.x * {columns}"
        )
    return ""


def whole_sum_hint(text: str) -> str:
    """Return which sum of elements is declared as a whole number, "" if none is."""
    for kernel in cpp_code.kernels(text).values():
        for number, line in enumerate(kernel.body.split("\n"), start=kernel.line):
            declared = re.search(r"\b(int|unsigned|long|size_t)\s+(\w+)\s*=\s*0\s*;", line)
            word = re.escape(declared[2]) if declared else "?"
            if declared and re.search(rf"\b{word}\s*\+=[^;]{{0,300}}\[", kernel.body):
                return (
                    f"line {number} declares `{declared[2]}` as `{declared[1]}`, which drops the "
                    f"fraction of all that is added: float {declared[2]} = 0.0f"
                )
    return ""


def narrow_index_hint(text: str) -> str:
    """Return which index over all blocks is of a type that ends at 65,535 or below; or ""."""
    bare = cpp_code.without_comments(text)
    found = _NARROW_INDEX.search(bare)
    if found is None:
        return ""
    line, kind = cpp_code.line_at(bare, found.start()), " ".join(found[1].split())
    most = 2 ** (8 if re.search("char|8", kind) else 16) // (1 if kind.startswith("u") else 2) - 1
    return (
        f"`{found[2]}` in line {line} is `{kind}`, which ends at {most}: later elements get the "
        "index of earlier ones; declare it `int`"
    )


def _plain_values(names: set[str], kernel: cpp_code.Kernel) -> bool:
    """True if no address is taken, so that the definitions give the names all their values."""
    return not any(re.search(rf"&\s*{re.escape(name)}\b(?!\s*\[)", kernel.body) for name in names)


def _one_for_all(found: Finding, line: str, kernel: cpp_code.Kernel) -> str:
    """Recognise a single shared variable that every thread uses as its own, or adds to."""
    name = re.escape(found.buffer or "?")
    declared = re.search(rf"__shared__[^;]{{0,300}}?\b{name}\s*(?:[;,=])", kernel.body)
    if found.elements != 1 or declared is None:
        return ""
    if re.search(rf"(?<![\w.]){name}\s*(?:[-+]=|\+\+|--|=\s*{name}\s*[-+])", line):
        return (
            f"`{found.buffer}` is declared `__shared__`: it is one variable for all threads of the "
            f"block. If they add to it together, use atomicAdd(&{found.buffer}, …); leave out "
            "`__shared__` if each thread needs its own"
        )
    return (
        f"`{found.buffer}` is declared `__shared__`: it is one variable for all threads of the "
        "block. Leave out `__shared__` if each thread needs its own; else let one thread write it, "
        "with a barrier before the others read it"
    )


def _one_thread_axis(
    stores: Sequence[tuple[int, str]],
    kernel: cpp_code.Kernel,
    defined: Mapping[str, set[str]],
) -> str:
    """Recognise two variables of one index that both come from threadIdx.x, and none from .y."""
    axes = {f"threadIdx.{axis}" for axis in "xyz"}
    if "threadIdx.y" not in kernel.body:
        return ""
    for _, line in stores:
        for _, index, _ in cpp_code.subscripts(line):
            used = [
                name
                for name in dict.fromkeys(cpp_code.NAME.findall(index))
                if name in defined and cpp_code.origins({name}, defined) & axes
            ]
            seen = {name: cpp_code.origins({name}, defined) & axes for name in used}
            together = set().union(*seen.values(), set(cpp_code.NAME.findall(index)) & axes)
            if len(used) < 2 or len(together) != 1:
                continue
            (axis,) = together
            other = "threadIdx.y" if axis == "threadIdx.x" else "threadIdx.x"
            first, second, *_ = used
            return (
                f"`{first}` and `{second}` in the index `{_shown(index)}` both come from {axis}: "
                f"should one of them come from {other}?"
            )
    return ""


def _fewer_threads(
    found: Finding, stores: Sequence[tuple[int, str]], kernel: cpp_code.Kernel, text: str
) -> str:
    """Recognise a shared array that each thread stores one element of, with too few threads."""
    threads = math.prod(found.block_size) if found.block_size else 0
    launched = cpp_code.launches_of(text, kernel.name)
    # A tile may have a column of padding.
    if not threads or (found.elements or 0) < 2 * threads or len(stores) != 1 or len(launched) != 1:
        return ""
    ((line, code),) = stores
    indices = [
        i for name, i, writes in cpp_code.subscripts(code) if writes and name == found.buffer
    ]
    numbers = [
        cpp_code.only_value(kernel.body, one.strip()) or one.strip()
        for index in indices
        for one in index.split("][")
    ]
    if not numbers or not all(re.fullmatch(r"threadIdx\.[xyz]", one) for one in numbers):
        return ""
    return (
        f"`{found.buffer}` has {found.elements} elements, and each thread stores one in line "
        f"{line}, but line {launched[0].line} launches blocks of {_sides_of(found.block_size)} "
        "threads: launch as many threads as elements, or let each thread store several"
    )


def _of_stores(found: Finding, stores: Sequence[tuple[int, str]]) -> str:
    """Name the lines that should have written a shared variable."""
    if not stores:
        return ""
    places = " and ".join(dict.fromkeys(f"line {at}" for at, _ in stores))
    several = len(stores) > 1
    sides = _sides_of(found.block_size)
    threads = f", in a block of {sides} threads" if sides else ""
    return (
        f"{places} store{'' if several else 's'} into `{found.buffer}`{threads}, but not into "
        "every element that is read: check the index and the condition there, with zeros past the "
        "end, the number of threads, and that a barrier stands between"
    )


def _sides_of(block: tuple[int, int, int] | None) -> str:
    """Return "32×32", "" of None."""
    return "×".join(map(str, block or ())).removesuffix("×1").removesuffix("×1")


def _conditions(kernel: cpp_code.Kernel, line: int) -> Iterator[str]:
    """Yield the comparisons that stand before a line: of `if`, of loops, and before a `?`.

    What the `if` or loop leads to has not ended before the line, unless it leaves the kernel.
    """
    lines = kernel.body.split("\n")
    text = "\n".join(lines[: line - kernel.line + 1])
    here = len("\n".join(lines[: line - kernel.line]))
    for match in itertools.islice(_CONDITION.finditer(text), cpp_code.MOST_CALLS):
        close = cpp_code.closing(text, match.end() - 1)
        head = text[match.end() : close]
        ended = cpp_code.end_of_statement(text, close + 1)
        if ended <= here and not _LASTS.search(text, close, ended):
            continue
        parts = cpp_code.split(head, ";")
        head = parts[1] if len(parts) == 3 else head
        yield from re.split(r"&&|\|\|", head)
    for match in itertools.islice(re.finditer(r"\?", text), cpp_code.MOST_CALLS):
        before = text[max(0, match.start() - _MOST_OF_CONDITION) : match.start()]
        head = re.split(r"[;?]|(?<![<>=!])=(?!=)", before)[-1]
        if re.search("[<>]", head):
            yield from re.split(r"&&|\|\|", head)


def _other_length(number: int, line: str, kernel: cpp_code.Kernel) -> str:
    """Recognise a column that is compared with another length than that of its rows."""
    for name, index, _ in cpp_code.subscripts(line):
        plain = cpp_code.without_number_casts(index)
        found = re.fullmatch(r"\s*\(?\s*\w+\s*\*\s*(\w+)\s*\)?\s*\+\s*(\w+)\s*", plain)
        if found is None or found[1] not in kernel.parameters:
            continue
        length, column = found.groups()
        tests = [
            other
            for one in _conditions(kernel, number)
            if (other := re.fullmatch(rf"[\s(]*{column}\s*(?:<|>=)\s*(\w+)[\s)]*", one.strip()))
        ]
        limits = {one[1] for one in tests}
        if len(limits) == 1 and limits <= {*kernel.parameters} - {length}:
            return (
                f"`{column}` is compared with `{limits.pop()}`, but in `{name}[{_shown(index)}]` "
                f"it runs over a row of `{length}` elements: which of the two is meant?"
            )
    return ""


def _blocks_past_the_end(
    found: Finding,
    line: str,
    kernel: cpp_code.Kernel,
    defined: Mapping[str, set[str]],
    text: str,
) -> str:
    """Recognise a block that is past the end as a whole, in a kernel that tests no block's number.

    Then the launch decides how many blocks there are.
    """
    if found.thread != (0, 0, 0) or found.block is None or sum(map(bool, found.block)) != 1:
        return ""
    at = next(at for at, number in enumerate(found.block) if number)
    word = f"blockIdx.{'xyz'[at]}"
    tested = {
        name
        for one in _conditions(kernel, found.line or 0)
        for name in cpp_code.origins(set(cpp_code.NAME.findall(one)), defined)
    }
    used = {
        name
        for array, index, _ in cpp_code.subscripts(line)
        for name in cpp_code.origins({array, *cpp_code.NAME.findall(index)}, defined)
    }
    launched = cpp_code.launches_of(text, kernel.name)
    if word in tested or word not in used or len(launched) != 1:
        return ""
    return (
        f"block {found.block[at]} is past the end from its first thread on, and nothing tests "
        f"{word}: line {launched[0].line} launches `{_shown(launched[0].grid)}` blocks; is that "
        "as many as there is work for?"
    )


def _offset_at_launch(found: Finding, kernel: cpp_code.Kernel, text: str) -> str:
    """Recognise a launch that passes a later part of an array with the length of all of it."""
    launched = cpp_code.launches_of(text, kernel.name)
    for launch in launched:
        for given in launch.given:
            part = re.fullmatch(rf"{re.escape(found.buffer or '?')}\s*\+\s*(\w+)", given)
            lengths = [
                one
                for one, parameter in zip(launch.arguments, kernel.parameters, strict=False)
                if one and re.search(rf"<\s*{re.escape(parameter or '?')}\b", kernel.body)
            ]
            if part is not None and len(lengths) == 1 and len(launched) == 1:
                return (
                    f"line {launch.line} passes `{given}`, which has `{part[1]}` elements less, "
                    f"but also `{lengths[0]}`: pass `{lengths[0]} - {part[1]}`, or the number of "
                    "elements of this part"
                )
    return ""


def _untested(
    found: Finding, line: str, kernel: cpp_code.Kernel, defined: Mapping[str, set[str]]
) -> str:
    """Recognise a variable of an index that no condition tests, while others are tested."""
    tested: set[str] = set()
    for one in _conditions(kernel, found.line or 0):
        if _COMPARED.search(one):
            tested |= set(cpp_code.NAME.findall(one))
    if not tested:
        return ""
    tested -= _floats(kernel.body)  # no index, whatever they are computed from
    made = {name: cpp_code.origins({name}, defined) for name in tested}
    tests = {name for name, of in made.items() if any(map(_is_number, of))}
    for name, index, _ in cpp_code.subscripts(line):
        if re.search(rf"__shared__[^;]{{0,300}}\b{name}\s*\[", kernel.body):
            continue
        names = dict.fromkeys(cpp_code.NAME.findall(index))
        used = {
            one: of for one in names if any(map(_is_number, of := cpp_code.origins({one}, defined)))
        }
        # A test of what a variable is made of, or of what is made of it, is a test as well.
        open_ = [
            one
            for one, of in used.items()
            # A whole block for each needs no test.
            if not re.fullmatch(r"blockIdx\.\w", cpp_code.only_value(kernel.body, one) or one)
            and not (tests - set(kernel.parameters)) & of
            and not any(one in made[other] for other in tested)
        ]
        if 0 < len(open_) < min(3, len(used)) and not all(
            _is_zero(one, found, defined) for one in open_
        ):
            what = " and ".join(f"`{one}`" for one in open_)
            are, each = ("are", "what they make") if len(open_) > 1 else ("is", "it")
            return (
                f"no condition tests {what}, which {are} part of the index `{_shown(index)}` of "
                f"`{name}`: compare {each} with the length of its own axis as well"
            )
    return ""


def _floats(body: str) -> set[str]:
    """Return the variables that are declared as float or double, with a value."""
    return {
        one.partition("=")[0].strip()
        for declared in re.findall(r"\b(?:float|double)\s+([^;(){}]{1,200}|[^;]{1,200});", body)
        for one in cpp_code.split(declared)
        if "=" in one
    }


def _is_number(name: str) -> bool:
    """True if a launch gives it each thread."""
    return name.startswith(("threadIdx", "blockIdx"))


def _is_zero(name: str, found: Finding, defined: Mapping[str, set[str]]) -> bool:
    """True if all numbers of block and thread that a variable is made of are 0 in the finding."""
    numbers = {"blockIdx": found.block or (0, 0, 0), "threadIdx": found.thread or (0, 0, 0)}
    return all(
        numbers[word]["xyz".index(axis)] == 0
        for word, _, axis in (one.partition(".") for one in cpp_code.origins({name}, defined))
        if word in numbers and axis in ("x", "y", "z")
    )
