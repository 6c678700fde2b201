"""The text of Triton's IR → `ir.Module`.

    text ─→ lines without their locations ─→ operations, nested by the braces at line ends

MLIR prints one operation a line; a line that ends in `{` opens a region, one that begins with `}`
closes it. The text may come from a hostile process, so it is parsed by this code and by no C++:
its size, its depth and its operations are bounded, and whatever is not understood raises
`IRError`. Types and attributes are read by regular expressions that cannot backtrack far.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from grader.emulation.common.location import Location
from grader.emulation.triton_ir.ir import Block, Function, Module, Operation, Region
from grader.emulation.triton_ir.types import (
    SCALARS,
    Descriptor,
    Pointer,
    Scalar,
    SharedMemory,
    Tensor,
    Type,
)

MOST_CHARACTERS = 16 << 20
MOST_OPERATIONS = 200_000
MOST_DEPTH = 64
MOST_ELEMENTS = 1 << 20  # of one tensor: Triton's own limit
MOST_RANK = 16
MOST_TYPE = 1000  # characters
_MOST_KNOWN = 1024  # types: a kernel has some thirty, and each of its specializations the same


class IRError(ValueError):
    """The text is no IR that a compiler makes; `at` is the operation's place, if it is one's."""

    at: Location | None = None


_NAME = r"[%^@][\w.$-]+"
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<value>%[\w.$-]+(?:\#\d+)?)
    | (?P<symbol>@(?:[\w.$-]+|"[^"]*"))
    | (?P<label>\^[\w.$-]+)
    | (?P<arrow>->)
    | (?P<number>-?\d[\w.+-]*)
    | (?P<word>[!\#]?[A-Za-z_][\w.$]*)
    | (?P<mark>[(){}\[\]<>,:=*+?|])
    )""",
    re.VERBOSE,
)
# A string, an arrow, the blank of ` to `, or one character.
_MARK = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|->| (?=to )|[()\[\]{}<>:,*]', re.DOTALL)
_OPENING, _CLOSING = "([{<", ")]}>"
_OPERATION = re.compile(r'"?([a-z_]+\.[\w.]+)"?')
_BRACKET_OR_STRING = re.compile(r'["()\[\]{}<>]')
_TERMINATORS = (
    "scf.yield",
    "scf.condition",
    "tt.reduce.return",
    "tt.scan.return",
    "tt.map_elementwise.return",
)
# A number in place of a token: operations are executed in order, and nothing waits for another.
TOKEN = Scalar("i32")
_GIVE_TOKENS = (
    "ttg.async_copy_global_to_local",
    "ttg.async_commit_group",
    "ttg.async_wait",
)


def parse(text: str) -> Module:
    """Parse a module. Raises IRError, which says what was not understood."""
    if len(text) > MOST_CHARACTERS:
        raise IRError(f"the IR is longer than {MOST_CHARACTERS:,} characters")
    try:
        return _Parser(text).module()
    except IRError:
        raise
    except (ValueError, IndexError, KeyError, RecursionError, OverflowError) as error:
        raise IRError(f"{type(error).__name__}: {error}"[:200]) from error


class _Lines:
    """The lines that hold operations, stripped of comments, with their locations apart."""

    def __init__(self, text: str) -> None:
        self.aliases: dict[str, str] = {}
        self._lines: list[tuple[str, str | None]] = []
        for raw in text.split("\n"):
            line = raw.strip()
            if not line or line.startswith("//"):
                continue
            if line.startswith("#"):
                name, found, value = line.partition(" = ")
                if found:
                    self.aliases[name] = value
                continue
            self._lines.append(_without_location(line))
        self._at = 0

    def __iter__(self) -> Iterator[tuple[str, str | None]]:
        return self

    def __next__(self) -> tuple[str, str | None]:
        if self._at >= len(self._lines):
            raise StopIteration
        self._at += 1
        return self._lines[self._at - 1]

    def peek(self) -> str:
        """Return the next line, "" at the end."""
        return self._lines[self._at][0] if self._at < len(self._lines) else ""


def _without_location(line: str) -> tuple[str, str | None]:
    """Split a line into its text and the location at its end."""
    if line.startswith("^"):  # a block's predecessors are a comment; assembly may hold others
        line = re.sub(r"\s+// .*$", "", line)
    if not line.endswith(")"):
        return line, None
    at = line.rfind(" loc(")
    while at >= 0:
        # A location may hold others, as in loc("x"(#loc)).
        tail = line[at + 5 : -1]
        if tail.count("(") - tail.count(")") == 0:
            return line[:at].rstrip(), tail
        at = line.rfind(" loc(", 0, at)
    return line, None


class _Parser:
    def __init__(self, text: str) -> None:
        self._lines = _Lines(text)
        self._operations = 0
        self._locations: dict[str, Location | None] = {}

    def module(self) -> Module:
        """Parse all functions of the module."""
        functions: dict[str, Function] = {}
        for line, _ in self._lines:
            if line.startswith("tt.func"):
                function = self._function(line)
                functions[function.name] = function
            elif not re.match(r"module\b.*\{$|\}", line):
                raise IRError(f"not the beginning of a function: {line[:80]}")
        if sum(function.public for function in functions.values()) != 1:
            raise IRError("a module has one public function, the kernel")
        encodings = {k: v for k, v in self._lines.aliases.items() if not v.startswith("loc(")}
        return Module(functions, encodings)

    def _function(self, line: str) -> Function:
        header = re.match(r"tt\.func (public |private )?@(\"[^\"]*\"|[\w.$-]+)\(", line)
        if header is None or not line.endswith("{"):
            raise IRError(f"not a function: {line[:80]}")
        end = _matching(line, header.end() - 1)
        arguments = [
            self._argument(part) for part in _split(line[header.end() : end], ",") if part.strip()
        ]
        rest = line[end + 1 : -1].strip()
        rest = rest.partition(" attributes ")[0] if " attributes " in f" {rest}" else rest
        rest = rest.removeprefix("attributes").strip() if rest.startswith("attributes {") else rest
        results: tuple[Type, ...] = ()
        if rest.startswith("->"):
            results = _types(rest[2:].strip())
        body, _, location = self._region(Block("entry", arguments), 0)
        return Function(
            name=header[2].strip('"'),
            arguments=arguments,
            result_types=results,
            body=body,
            public=(header[1] or "").strip() != "private",
            location=self.location(location),
        )

    def _argument(self, text: str) -> tuple[str, Type]:
        """Parse `%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc(…)`."""
        name, found, kind = text.strip().partition(":")
        kind = re.split(r"\s(?:\{|loc\()", kind.strip(), maxsplit=1)[0]
        if not found or not name.startswith("%"):
            raise IRError(f"not an argument: {text[:80]}")
        return name.strip(), _type(kind)

    def _region(self, first: Block, depth: int) -> tuple[Region, str, str | None]:
        """Parse operations up to the line that closes the region; return it, and its location."""
        if depth > MOST_DEPTH:
            raise IRError("regions are nested too deeply")
        region = Region([first])
        for line, location in self._lines:
            if line.startswith("}"):
                if not region.blocks[0].operations and len(region.blocks) > 1:
                    del region.blocks[0]
                return region, line, location
            if line.startswith("^"):
                region.blocks.append(self._label(line))
                continue
            region.blocks[-1].operations.append(self._operation(line, location, depth))
        raise IRError("the text ends inside a region")

    def _label(self, line: str) -> Block:
        match = re.match(r"(\^[\w.$-]+)", line)
        if match is None:
            raise IRError(f"not a block: {line[:80]}")
        arguments = []
        if line[match.end() :].startswith("("):
            end = _matching(line, match.end())
            inner = line[match.end() + 1 : end]
            arguments = [self._argument(part) for part in _split(inner, ",") if part.strip()]
        return Block(match[1], arguments)

    def _operation(self, line: str, location: str | None, depth: int) -> Operation:
        self._operations += 1
        if self._operations > MOST_OPERATIONS:
            raise IRError(f"more than {MOST_OPERATIONS:,} operations")
        results, body = _results(line)
        opens = body.endswith("{")
        operation = self._head(results, body[:-1].rstrip(" (") if opens else body)
        if opens:
            location = self._regions(operation, body, depth)
        operation.location = self.location(location)
        return operation

    def _regions(self, operation: Operation, body: str, depth: int) -> str | None:
        """Parse the regions of an operation; return its location, which stands at its end."""
        arguments: list[tuple[str, Type]] = []
        if operation.name == "scf.for":
            arguments = _loop_arguments(operation, body)
        elif operation.name == "scf.while":
            arguments = _while_arguments(operation, body)
        while True:
            region, line, location = self._region(Block("entry", arguments), depth + 1)
            last = region.blocks[-1].operations
            if not last or last[-1].name not in _TERMINATORS:
                # MLIR does not print a yield of nothing.
                last.append(Operation("scf.yield", (), (), (), {}, (), (), "scf.yield"))
            operation.regions.append(region)
            arguments = []
            if not line.endswith("{"):
                break
        # Of a generic operation the types stand at the end: }) : (tensor<…>) -> f32
        tail = re.match(r"\}\)?\s*(?:\{.*?\}\s*)?:\s*(.*)$", line)
        if tail is not None:
            operation.given, operation.result_types = _signature(tail[1])
        return location

    def _head(self, results: tuple[str, ...], body: str) -> Operation:
        match = _OPERATION.match(body)
        if match is None:
            raise IRError(f"not an operation: {body[:80]}")
        name, rest = match[1], body[match.end() :]
        if name.startswith("scf."):
            main, signature = _structured(name, rest)
        else:
            main, signature = _partition_types(rest)
            if not signature and "->" in main:  # without operands
                main, arrow, right = _partition_arrow(main)
                signature = f"() -> {right}" if arrow else ""
        attributes, main = _attributes(main)
        given, result_types = _signature(signature) if signature.strip() else ((), ())
        if given and "->" not in signature and " to " not in signature:
            result_types = _result_types(name, given, result_types)
        if name in _GIVE_TOKENS:
            result_types = (TOKEN,)
        if not results:
            result_types = ()
        if len(results) > 1 and len(result_types) == 1:
            result_types *= len(results)  # as `tt.split` has them
        if name == "arith.constant":
            return Operation(name, results, (), (), {"value": main.strip()}, given,
                             result_types or _implied(main), body)  # fmt: skip
        operands: list[str] = []
        words: list[str] = []
        successors: list[tuple[str, tuple[str, ...]]] = []
        if name.startswith("cf."):
            main, successors = _successors(main)
        for found in _TOKEN.finditer(main):
            if found["value"]:
                operands.append(found["value"])
            elif found["word"] or found["symbol"]:
                words.append(found["word"] or found["symbol"][1:].strip('"'))
            elif found["string"]:
                words.append(found["string"])
            elif found["number"]:
                words.append(found["number"])
        return Operation(
            name,
            results,
            tuple(operands),
            tuple(words),
            attributes,
            given,
            result_types,
            body,
            successors=tuple(successors),
        )

    def location(self, text: str | None, depth: int = 0) -> Location | None:
        """Parse a location, following aliases: the line, with a name around it."""
        if text is None or depth > 50:
            return None
        if text in self._locations:
            return self._locations[text]
        found = self._locate(text, depth)
        self._locations[text] = found
        return found

    def _locate(self, text: str, depth: int) -> Location | None:
        if text.startswith("#"):
            value = self._lines.aliases.get(text, "")
            return self.location(value[4:-1] if value.startswith("loc(") else None, depth + 1)
        if match := re.match(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)', text):
            return Location(match[1], int(match[2]), int(match[3]))
        if match := re.match(r'"((?:[^"\\]|\\.)*)"\((.*)\)$', text):
            inner = self.location(match[2], depth + 1)
            return inner and Location(inner.file, inner.line, inner.column, match[1], inner.caller)
        if match := re.match(r"callsite\((.*) at (.*)\)$", text):
            inner, caller = self.location(match[1], depth + 1), self.location(match[2], depth + 1)
            return inner and Location(inner.file, inner.line, inner.column, inner.name, caller)
        if match := re.match(r"fused(?:<.*>)?\[(.*)\]$", text):
            return self.location(_split(match[1], ",")[0].strip(), depth + 1)
        return None


def _signature(text: str) -> tuple[tuple[Type, ...], tuple[Type, ...]]:
    """Parse `A`, `A, B`, `A to B`, `(A, B) -> C`, `A * B -> C`."""
    left, arrow, right = _partition_arrow(text.strip())
    given = _types(left)
    return given, (_types(right) if arrow else given[-1:])


@functools.lru_cache(_MOST_KNOWN)
def _types(text: str) -> tuple[Type, ...]:
    """Parse a list of types, in parentheses or not."""
    inner = text.strip()
    if inner.startswith("(") and _matching(inner, 0) == len(inner) - 1:
        inner = inner[1:-1]
    parts = [part for piece in _split(inner, ",") for part in _split(piece, "*")]
    return tuple(_type(part.strip()) for part in parts if part.strip())


@functools.lru_cache(_MOST_KNOWN)
def _type(text: str) -> Type:
    """Parse one type."""
    if len(text) > MOST_TYPE:
        raise IRError(f"a type of {len(text):,} characters")
    if text in SCALARS:
        return Scalar(text)
    # A destination in shared memory is printed without its name: <64x32xf16, #shared, …>
    if match := re.fullmatch(r"(?:!ttg\.memdesc)?<((?:\d{1,9}x)+)(.*)>", text, re.DOTALL):
        element = _type(_split(match[2], ",")[0])
        if not isinstance(element, Scalar):
            raise IRError(f"shared memory of {match[2][:80]}")
        return SharedMemory(_shape(match[1]), element)
    if match := re.fullmatch(r"(?:!tt\.ptr)?<(.*?)(?:, (\d+))?>", text, re.DOTALL):
        return Pointer(_type(match[1]))
    if match := re.fullmatch(r"tensor<((?:\d{1,9}x)*)(.*)>", text, re.DOTALL):
        shape = _shape(match[1])
        first, *rest = _split(match[2], ",")
        element = _type(first)
        if not isinstance(element, Scalar | Pointer):
            raise IRError(f"a tensor of {match[2][:80]}")
        return Tensor(shape, element, ",".join(rest).strip())
    if text == "!ttg.async.token":
        return TOKEN
    if match := re.fullmatch(r"!tt\.tensordesc<(.*)>", text, re.DOTALL):
        inner = match[1] if match[1].startswith("tensor") else f"tensor<{match[1]}>"
        block = _type(inner)
        if not isinstance(block, Tensor):
            raise IRError(f"the type {text[:80]}")
        return Descriptor(block)
    if re.fullmatch(r"[us]i\d+", text):
        return _type(text[1:])
    raise IRError(f"the type {text[:80]}")


def _shape(text: str) -> tuple[int, ...]:
    """Parse `64x32x`."""
    shape = tuple(int(extent) for extent in text.split("x") if extent)
    count = 1
    for extent in shape:
        count *= extent
        if count > MOST_ELEMENTS:
            break
    if count > MOST_ELEMENTS or not count or len(shape) > MOST_RANK:
        raise IRError(f"a tensor of {count:,} elements")
    return shape


def _result_types(
    name: str, given: tuple[Type, ...], printed: tuple[Type, ...]
) -> tuple[Type, ...]:
    """Return the types of results where only those of operands are printed."""
    first = given[0]
    if name in ("tt.addptr", "tt.advance"):
        return (first,)
    if name == "ttng.warp_group_dot_wait":
        return given
    if name in ("arith.cmpi", "arith.cmpf"):
        return (_of_elements(first, Scalar("i1")),)
    if name == "tt.make_tensor_descriptor" and isinstance(printed[-1], Pointer):
        block = printed[-1].element
        return (Descriptor(block),) if isinstance(block, Tensor) else printed
    if name == "tt.unsplat" and isinstance(first, Tensor):
        return (first.element,)
    if name == "tt.load":
        pointer = first.element if isinstance(first, Tensor) else first
        if isinstance(pointer, Pointer):
            inner = pointer.element
            return (_of_elements(first, inner) if isinstance(inner, Scalar | Pointer) else inner,)
    return printed


def _of_elements(like: Type, element: Scalar | Pointer) -> Type:
    return Tensor(like.shape, element) if isinstance(like, Tensor) else element


def _results(line: str) -> tuple[tuple[str, ...], str]:
    """Split `%a, %b:2 = body` into names, one for each result, and body."""
    if not line.startswith("%"):
        return (), line
    left, found, body = line.partition(" = ")
    if not found:
        raise IRError(f"not an operation: {line[:80]}")
    names: list[str] = []
    for part in left.split(","):
        name, _, count = part.strip().partition(":")
        names += [f"{name}#{i}" for i in range(min(int(count), 1000))] if count else [name]
    return tuple(names), body


def _structured(name: str, rest: str) -> tuple[str, str]:
    """Split a control-flow operation's line: operands, and the types of its results."""
    if name in ("scf.yield", "scf.condition"):
        return _partition_types(rest)
    if name == "scf.while":
        main, signature = _partition_types(rest)
        left, _, right = _partition_arrow(signature)
        return main, f"{left} -> {right}"
    # scf.for … iter_args(…) -> (T) : i32, scf.if %c -> (T)
    left, arrow, right = rest.partition(" -> ")
    if not arrow:
        return rest.rpartition(" : ")[0] if name == "scf.for" else rest, ""
    return left, f"() -> {_partition_types(right)[0]}"


def _loop_arguments(operation: Operation, body: str) -> list[tuple[str, Type]]:
    """Return the induction variable and carried values; leave bounds and first values as operands.

    %r = scf.for [unsigned] %i = %lb to %ub step %s iter_args(%a = %x, …) -> (T, …) : i32 {
    """
    names = list(operation.operands)
    kind = re.search(r": (\w+)\s*\{?$", body.rstrip("{ "))
    index = _type(kind[1]) if kind else Scalar("i32")
    inner, carried = names[4::2], names[5::2]
    if len(names) < 4 or len(inner) != len(carried) or len(carried) != len(operation.result_types):
        raise IRError(f"not a loop: {body[:80]}")
    operation.operands = (*names[1:4], *carried)
    operation.given = (index,)
    return [(names[0], index), *zip(inner, operation.result_types, strict=True)]


def _while_arguments(operation: Operation, body: str) -> list[tuple[str, Type]]:
    """Return the arguments of the condition; leave their first values as operands."""
    names = operation.operands
    operation.operands = tuple(names[1::2])
    if len(names) % 2 or len(operation.given) != len(names) // 2:
        raise IRError(f"not a loop: {body[:80]}")
    return list(zip(names[::2], operation.given, strict=True))


def _successors(text: str) -> tuple[str, list[tuple[str, tuple[str, ...]]]]:
    """Take the branches out of `%c, ^bb1(%x : i32), ^bb2`."""
    found, kept, at = [], "", 0
    for match in re.finditer(r"\^[\w.$-]+", text):
        if match.start() < at:
            continue
        kept += text[at : match.start()]
        at, given = match.end(), ""
        if text[at : at + 1] == "(":
            end = _matching(text, at)
            given, at = text[at:end], end + 1
        found.append((match[0], tuple(re.findall(r"%[\w.$-]+(?:#\d+)?", given))))
    return kept + text[at:], found


def _attributes(text: str) -> tuple[dict[str, str], str]:
    """Take the dictionaries out of an operation's text."""
    attributes: dict[str, str] = {}
    kept, at = "", 0
    while (start := _opening(text, at)) >= 0:
        end = _matching(text, start)
        before = text[at:start]
        kept += before.rstrip("<") if before.endswith("<") else before
        for part in _split(text[start + 1 : end], ","):
            key, _, value = part.partition("=")
            attributes[key.strip()] = _untyped(value.strip())
        at = end + 1
        if text[at : at + 1] == ">":
            at += 1
    return attributes, kept + text[at:]


def _opening(text: str, start: int) -> int:
    """Return where the next dictionary begins, -1 for nowhere: a string may hold braces, too."""
    if '"' not in text:
        return text.find("{", start)
    return next((at for at, mark, _ in _marks(text, start) if mark == "{"), -1)


def _untyped(value: str) -> str:
    """`16 : i32` → `16`."""
    return value.rpartition(" : ")[0] if " : " in value and not value.startswith('"') else value


def _implied(text: str) -> tuple[Type, ...]:
    """Return the type of a constant that is printed without one: a truth value."""
    if text.strip() in ("true", "false"):
        return (Scalar("i1"),)
    raise IRError(f"a constant without a type: {text[:80]}")


def _marks(text: str, start: int = 0) -> Iterator[tuple[int, str, int]]:
    """Yield (place, character, depth of brackets) of the marks that are in no string.

    Marks are brackets and what lists and types are split at. A bracket, opening or closing, has the
    depth around it.
    """
    depth = 0
    for match in _MARK.finditer(text, start):
        character = match[0][0]
        if character != '"':
            depth -= character in _CLOSING
            yield match.start(), character, depth
            depth += character in _OPENING


def _opened(text: str) -> int:
    """Return how many brackets are open at the end of a text without strings, as `_marks` does."""
    opening, closing = (sum(map(text.count, marks)) for marks in (_OPENING, _CLOSING))
    return opening - closing + text.count("->")


def _partition_arrow(text: str) -> tuple[str, str, str]:
    """Split at `->` or ` to ` that is in no bracket."""
    if "->" not in text and " to " not in text:
        return text, "", ""
    for at, character, depth in _marks(text):
        if depth == 0 and text.startswith(("->", " to "), at):
            width = 2 if character == "-" else 4
            return text[:at].strip(), "->", text[at + width :].strip()
    return text, "", ""


def _partition_types(text: str) -> tuple[str, str]:
    """Split at an operation's types, which follow its last colon in no bracket, if it has any."""
    last = text.rfind(":")
    if last < 0:
        return text, ""
    if '"' not in text and _opened(text[:last]) == 0:
        return text[:last], text[last + 1 :]
    colons = (at for at, mark, depth in _marks(text) if mark == ":" and depth == 0)
    at = max(colons, default=len(text))
    return text[:at], text[at + 1 :]


def _matching(text: str, start: int) -> int:
    """Return where the bracket that opens at `start` closes. Raises IRError."""
    for at, _, depth in _marks(text, start):
        if depth == 0 and at > start:
            return at
    raise IRError(f"a bracket is not closed: {text[start : start + 80]}")


def _split(text: str, separator: str) -> list[str]:
    """Split at separators that are in no bracket."""
    if separator not in text or not _BRACKET_OR_STRING.search(text):
        return text.split(separator)
    ends = [at for at, mark, depth in _marks(text) if mark == separator and depth == 0]
    starts = [0, *(at + 1 for at in ends)]
    return [text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True)]
