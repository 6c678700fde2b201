"""Parse the PTX of one kernel. The text may be anybody's: all that is unknown is refused.

Functions that a kernel calls are put into it where they are called, with registers of their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

WIDTHS = {
    "pred": 0, "b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "f16": 2, "b32": 4,
    "u32": 4, "s32": 4, "f32": 4, "b64": 8, "u64": 8, "s64": 8, "f64": 8,
}  # fmt: skip

_MOST_INSTRUCTIONS = 100_000
_MOST_CALLS = 64  # that are nested
_MOST_BYTES = 64 << 20  # of an array of the module
_MOST_LINES = 10_000  # of one statement
_MOST_CHARACTERS = 10_000  # of one instruction

_COMMENT = re.compile(r"//[^\n]*")
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*?inlined_at\s+(\d+)\s+(\d+)\s+\d+)?")
_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"')
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(.+)", re.S)
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(?:\.ptr\s+(?:\.\w+\s+)*(?:\.align\s+\d+\s+)?)?"
    r"([\w$%.]+)(?:\[(\d+)\])?"
)
_ARRAY = re.compile(
    r"(?:\.(?:visible|extern|weak|common)\s+)*\.(shared|global|const|local)\s+(?:\.align\s+(\d+)\s+)?"
    r"\.(\w+)\s+([\w$.]+)((?:\[\d*\])*)\s*(?:=\s*(.*))?",
    re.S,
)
_FUNCTION = re.compile(
    r"(?:\.(?:visible|extern|weak)\s+)*\.(entry|func)\s*(?:\(([^)]*)\)\s*)?([\w$.]+)\s*"
    r"(?:\(([^)]*)\))?([^{;]*)",
    re.S,
)
_CALL = re.compile(
    r"call(?:\.uni)?\s+(?:\(([^)]*)\)\s*,\s*)?([\w$.]+)\s*(?:,\s*\(([^)]*)\))?\s*$", re.S
)
_LABEL = re.compile(r"\s*([\w$]+)\s*:(?!:)")
_BRACES = re.compile(r"[{}\s]+")
_HEAD = re.compile(r"(?:\.\w+\s+)*\.(?:entry|func)\b")
_INSTRUCTION = re.compile(r"(?:@(!?)(%?[\w$]+)\s+)?([a-z][\w.:]*)\s*(.*)$", re.S)
_WORD = re.compile(r"(?<![\w.])%?[A-Za-z_$][\w$]*")
# Registers of the hardware, which no function declares.
SPECIAL = re.compile(
    r"%(?:n?tid|n?ctaid|laneid|warpid|nwarpid|lanemask_\w+|clock(?:64)?|globaltimer|smid|dynamic_\w+)"
    r"(?:\.[xyz])?$"
)
_OPERAND = re.compile(r"\[[^\]]*\]|\{[^}]*\}|[^,\s][^,]*")


class PtxError(Exception):
    """The text is not PTX as Numba's compiler writes it."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: `ld.global.f32` is the parts "ld", "global", "f32".

    `guard` is the register and the value of it with which a thread takes part, None for all.
    """

    parts: tuple[str, ...]
    operands: tuple[str, ...]
    guard: tuple[str, bool] | None
    line: int | None


@dataclass(frozen=True, slots=True)
class Array:
    """An array of the module or of a function; `data` is its content, b"" for none."""

    space: str
    name: str
    size: int
    data: bytes = b""


@dataclass(slots=True)
class Kernel:
    """A kernel, with all that it calls: `labels` are the places of labels in `code`.

    `parameters` are (name, type, bytes) in order; `registers` maps each register to its type.
    """

    name: str
    parameters: list[tuple[str, str, int]]
    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    # Of functions that were called: arguments and results, by bytes.
    locals: dict[str, int] = field(default_factory=dict)
    prepared: object = None  # what the machine made of it


@dataclass(slots=True)
class _Function:
    name: str
    entry: bool
    parameters: list[tuple[str, str, int]]
    results: list[tuple[str, str, int]]
    body: list[tuple[str, int | None]]


def parse(text: str, file: str) -> Kernel:
    """Return the only kernel of a text; lines are those of the source file of this name.

    Raises PtxError.
    """
    statements = list(_statements(text))
    files = {
        found[1]: found[2].rpartition("/")[2]
        for statement in statements
        if (found := _FILE.match(statement))
    }
    functions, arrays = _functions(statements, files, file)
    entries = [one for one in functions.values() if one.entry]
    if len(entries) != 1:
        raise PtxError(f"PTX with {len(entries)} kernels")
    (entry,) = entries
    kernel = Kernel(name=entry.name, parameters=entry.parameters, arrays=arrays)
    names = {name: name for name, _, _ in entry.parameters}
    _Assembler(kernel, functions).put(entry, "", names, ())
    for instruction in kernel.code:
        if instruction.parts[0] == "bra" and instruction.operands[0] not in kernel.labels:
            raise PtxError("a branch to no label")
    return kernel


def _statements(text: str) -> list[str]:
    """Split at `;`, at braces, labels and the ends of directives that have no `;`."""
    found: list[str] = []
    held: list[str] = []
    for line in _COMMENT.sub("", text).split("\n"):
        stripped = line.strip()
        if not held and re.match(r"\.(loc|file|version|target|address_size|section)\b", stripped):
            found.append(stripped)
            continue
        if len(held) > _MOST_LINES:
            raise PtxError("a statement of too many lines")
        for piece in re.split(r"(;)", stripped):
            if piece == ";":
                found.append(" ".join(held).strip())
                held = []
                continue
            found += _opened(piece, held)
    return [one for one in found if one]


def _opened(piece: str, held: list[str]) -> list[str]:
    """Return what ends before the rest of a piece, which is added to `held`."""
    found, at = [], 0
    while at < len(piece):
        if not held and (label := _LABEL.match(piece, at)):
            found.append(f"{label[1]}:")
            at = label.end()
        elif not held and (braces := _BRACES.match(piece, at)):
            found += [one for one in braces[0] if one in "{}"]
            at = braces.end()
        else:
            rest = piece[at:].strip()
            if rest in ("{", "}") or (
                rest.endswith("{") and _HEAD.match(" ".join(held[:8]) or rest)
            ):
                found += [" ".join([*held, rest[:-1]]), rest[-1]]
                held.clear()
            else:
                held.append(rest)
            break
    return found


def _functions(
    statements: list[str], files: dict[str, str], file: str
) -> tuple[dict[str, _Function], dict[str, Array]]:
    functions: dict[str, _Function] = {}
    arrays: dict[str, Array] = {}
    current: _Function | None = None
    depth, line = 0, None
    for statement in statements:
        if re.match(r"\.loc\b", statement):
            line = _line(statement, files, file, line)
        elif statement == "{":
            depth += 1
        elif statement == "}":
            depth -= 1
            if depth == 0 and current is not None:
                functions[current.name] = current
                current, line = None, None
        elif depth and current is not None:
            current.body.append((statement, line))
        elif found := _FUNCTION.match(statement):
            name = found[3]
            results, parameters = (_parameters(found[group] or "") for group in (2, 4))
            if name in functions:
                raise PtxError("two functions of one name")
            current = _Function(name, found[1] == "entry", parameters, results, [])
        elif found := _ARRAY.match(statement):
            arrays[found[4]] = _array(found)
    if depth:
        raise PtxError("PTX that ends too early")
    return functions, arrays


def _line(statement: str, files: dict[str, str], file: str, before: int | None) -> int | None:
    """Return the line in the student's file; what has none belongs to the line before it."""
    found = _LOC.match(statement)
    if found is None:
        raise PtxError("a place of another form")
    for number, line in ((found[1], found[2]), (found[3], found[4])):
        if number and files.get(number) == file and int(line):
            return int(line)
    return before


def _parameters(text: str) -> list[tuple[str, str, int]]:
    found = []
    for one in filter(None, (part.strip() for part in text.split(","))):
        match = _PARAMETER.match(one)
        if match is None:
            raise PtxError("a parameter of another form")
        found.append((match[3], match[2], _width(match[2]) * int(match[4] or 1)))
    return found


def _width(kind: str) -> int:
    try:
        return WIDTHS[kind] or 1
    except KeyError:
        raise PtxError(f"the type .{kind[:20]}") from None


def _array(found: re.Match[str]) -> Array:
    space, kind, name = found[1], found[3], found[4]
    extents = [int(extent) for extent in re.findall(r"\[(\d+)\]", found[5])]
    size = _width(kind) if not found[5] else 0 if "[]" in found[5] else _width(kind)
    for extent in extents:
        size *= extent
    if size > _MOST_BYTES:
        raise PtxError(f"an array of {size:,} bytes")
    data = b""
    if found[6]:
        values = re.findall(r"[^{},\s]+", found[6])
        try:
            data = b"".join(
                (
                    int(one[2:], 16)
                    if one[:2] in ("0f", "0d")
                    else int(one, 0) % 256 ** _width(kind)
                ).to_bytes(_width(kind), "little")
                for one in values
            )
        except (ValueError, OverflowError):
            raise PtxError(f"what `{name[:40]}` holds") from None
        data = data.ljust(size, b"\0")
    return Array(space, name, size, data)


class _Assembler:
    """Puts the bodies of functions into a kernel."""

    def __init__(self, kernel: Kernel, functions: dict[str, _Function]) -> None:
        self._kernel = kernel
        self._functions = functions
        self._calls = 0

    def put(
        self, function: _Function, mark: str, names: dict[str, str], callers: tuple[str, ...]
    ) -> None:
        """Add a body; `mark` tells its registers and labels from others.

        `names` maps the parameters and results to the memory that holds them.
        """
        kernel, end = self._kernel, f"{mark}end"
        for text, line in function.body:
            if text.endswith(":"):
                kernel.labels[mark + text[:-1]] = len(kernel.code)
            elif found := _REGISTERS.match(text):
                self._declare(found, mark)
            elif found := _PARAMETER.match(text):
                # Blocks of calls use one name again.
                names[found[3]] = mark + found[3]
                kernel.locals[mark + found[3]] = _width(found[2]) * int(found[4] or 1)
            elif found := _ARRAY.match(text):
                array = replace(_array(found), name=mark + found[4])
                names[found[4]] = array.name
                kernel.arrays[array.name] = array
            elif found := _CALL.match(text):
                self._call(found, names, (*callers, function.name))
            elif not text.startswith("."):
                instruction = _instruction(text, line, mark, names, kernel.registers)
                if mark and instruction.parts[0] in ("ret", "exit"):
                    instruction = Instruction(("bra",), (end,), instruction.guard, line)
                kernel.code.append(instruction)
            if len(kernel.code) > _MOST_INSTRUCTIONS:
                raise PtxError("a kernel of too many instructions")
        kernel.labels[end] = len(kernel.code)

    def _declare(self, found: re.Match[str], mark: str) -> None:
        _width(found[1])
        for name in (one.strip() for one in found[2].split(",")):
            many = re.fullmatch(r"(%?[\w$]+)<(\d+)>", name)
            if many and int(many[2]) > _MOST_INSTRUCTIONS:
                raise PtxError("too many registers")
            registers = [f"{many[1]}{i}" for i in range(int(many[2]))] if many else [name]
            for register in registers:
                self._kernel.registers[_own(register, mark)] = found[1]

    def _call(self, found: re.Match[str], names: dict[str, str], callers: tuple[str, ...]) -> None:
        name = found[2]
        if name == "vprintf":  # a kernel's print; its result is 0
            return
        called = self._functions.get(name)
        if called is None or called.entry:
            raise PtxError(f"the function `{name[:60]}`")
        if name in callers or len(callers) > _MOST_CALLS:
            raise PtxError("a recursive function")
        inner: dict[str, str] = {}
        for given, own in ((found[3], called.parameters), (found[1], called.results)):
            passed = [one.strip() for one in (given or "").split(",") if one.strip()]
            if len(passed) != len(own) or any(one not in names for one in passed):
                raise PtxError(f"a call of `{name[:60]}` of another form")
            inner |= {
                theirs: names[outer] for outer, (theirs, _, _) in zip(passed, own, strict=True)
            }
        self._calls += 1
        self.put(called, f"{self._calls}~", inner, callers)


def _own(register: str, mark: str) -> str:
    """Return a register's name in the kernel; those of the hardware keep theirs."""
    if not mark or SPECIAL.match(register):
        return register
    # In assembly of a library's names have no %.
    return f"%{mark}{register[1:]}" if register.startswith("%") else mark + register


def _instruction(
    text: str, line: int | None, mark: str, names: dict[str, str], registers: dict[str, str]
) -> Instruction:
    found = _INSTRUCTION.match(text) if len(text) <= _MOST_CHARACTERS else None
    if found is None:
        raise PtxError(f"`{text[:60]}`")
    opcode, rest = found[3], found[4]

    def renamed(word: re.Match[str]) -> str:
        name = word[0]
        if name.startswith("%") or mark + name in registers:
            return _own(name, mark)
        return names.get(name, name)

    if opcode.startswith("bra") and "." not in opcode.replace("bra.uni", "bra"):
        operands: tuple[str, ...] = (mark + rest.strip(),)
    else:
        own = _WORD.sub(renamed, rest)
        operands = tuple(one.strip() for one in _OPERAND.findall(own))
    guard = None
    if found[2]:
        guard = _own(found[2], mark), not found[1]
    return Instruction(tuple(opcode.split(".")), operands, guard, line)
