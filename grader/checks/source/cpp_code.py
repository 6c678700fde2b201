"""Kernels, launches and definitions in the text of a CUDA C++ file.

Read with patterns, never compiled: it chooses words for a failure that was seen, nothing else. What
a pattern does not recognise is left out.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.text import cpp_comments

# Twice the longest solution here. Patterns take quadratic time on a hostile text.
MOST_CHARACTERS = 20_000
MOST_CALLS = 32  # of one function, and kernels and launches: more are not looked at
_MOST_SETS = 1000  # assignments of a text
_MOST_OF_VALUE = 400  # characters of an expression

_BRACKETS = {"(": ")", "{": "}", "[": "]"}
_KERNEL = re.compile(
    r"__global__\b(?:\s*(?:void\s+)?__launch_bounds__\s*\([^()]*(?:\([^()]*\))?[^()]*\))?"
)
_HEAD = re.compile(r"[^;{}()]*?\b(\w+)\s*\(")
_LAUNCH = re.compile(r"\b(\w+)\s*(?:<[^<>;]*>)?\s*<<<")
# nvcc takes `<< <` and `>> >` for the brackets of a launch.
_SPACED_BRACKETS = re.compile(r"<<([ \t]+)<|>>([ \t]+)>(?=\s?\()")
_CAST = re.compile(r"\((?:const\s+)?[A-Za-z_][\w:\s]*[\s*]*\*\s*(?:const\s*)?\)\s*(?=\w)")
_NUMBER_CAST = re.compile(
    r"static_cast<[\w:\s]{1,40}>\s*\(\s*([\w.]+)\s*\)"
    r"|\((?:unsigned |long |size_t|int)[\w\s]{0,20}\)\s*(?=\w)"
)
_NAMED_CAST = re.compile(r"\w+_cast\s*<[^<>]*>\s*\(\s*(\w+)\s*\)")
# A name, with the axis of what a launch gives each thread.
NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?")
_SET = re.compile(r"(?<![\w.])(\w+)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\([^)\n]*\))?[ \t]+([^\n]+)", re.M)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A `__global__` function: its parameters, and the body with the line where it begins."""

    name: str
    parameters: tuple[str, ...]
    constant: frozenset[str]  # parameters that point to `const`
    line: int
    last: int
    body: str

    def writes(self, parameter: str) -> bool:
        """True if the body surely stores through the parameter."""
        word = rf"(?<![\w.]){re.escape(parameter)}"
        element = (
            rf"{word}\s*\[[^;]{{0,300}}?\]\s*(?:[-+*/]|<<|>>)?=(?!=)|\*\s*{word}\s*[-+*/]?=(?!=)"
        )
        atomic = rf"\batomic\w+\s*\(\s*&?\s*{word}\b"
        return parameter not in self.constant and bool(re.search(f"{element}|{atomic}", self.body))


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A launch: grid, block, bytes of shared memory and arguments; "" for one with no name.

    `given` are the arguments as they are written, `shared` the bytes, "" for none.
    """

    line: int
    kernel: str
    grid: str
    block: str
    shared: str
    arguments: tuple[str, ...]
    given: tuple[str, ...]


@functools.lru_cache(maxsize=8)
def without_comments(text: str) -> str:
    """Return the text with blanks for comments and strings, its lines and columns as they are.

    A blank within the brackets of a launch, as in `<< <1, 2>> >`, comes outside. A text of more
    than MOST_CHARACTERS is not read: the result is "".
    """
    bare = "" if len(text) > MOST_CHARACTERS else cpp_comments.without_comments(text)
    return _SPACED_BRACKETS.sub(lambda at: f"<<<{at[1]}" if at[1] else f"{at[2]}>>>", bare)


def closing(text: str, at: int) -> int:
    """Return the place of the bracket that closes the one at a place, the end if there is none."""
    opening, depth = text[at], 0
    for place in range(at, len(text)):
        depth += (text[place] == opening) - (text[place] == _BRACKETS[opening])
        if depth == 0:
            return place
    return len(text) - 1


def end_of_statement(text: str, at: int) -> int:
    """Return the place behind the statement that begins at a place."""
    for _ in range(MOST_CALLS):  # loops and conditions in front of it
        while at < len(text) and text[at].isspace():
            at += 1
        if at >= len(text):
            return at
        if text[at] == "{":
            return closing(text, at) + 1
        if (head := re.compile(r"(?:for|while|if)\s*\(").match(text, at)) is not None:
            at = closing(text, head.end() - 1) + 1
        elif (line := re.compile(r"#[^\n]*\n").match(text, at)) is not None:
            at = line.end()
        else:
            break
    end = text.find(";", at)
    return len(text) if end < 0 else end + 1


def arguments_at(text: str, at: int) -> list[str]:
    """Return the arguments of a call whose bracket opens at a place."""
    inside = text[at : at + _MOST_OF_VALUE]
    return [" ".join(one.split()) for one in split(inside[1 : closing(inside, 0)])]


def split(text: str, at: str = ",") -> list[str]:
    """Split a text at the marks that are in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == at and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts] if text.strip() else []


@functools.lru_cache(maxsize=8)
def kernels(text: str) -> Mapping[str, Kernel]:
    """Return the kernels that the file defines, by name."""
    bare, found = without_comments(text), {}
    for match in itertools.islice(_KERNEL.finditer(bare), MOST_CALLS):
        head = _HEAD.match(bare, match.end())
        if head is None:
            continue
        end = closing(bare, head.end() - 1)
        brace = re.compile(r"\s*\{").match(bare, end + 1)
        if brace is None:
            continue  # a declaration
        last = closing(bare, brace.end() - 1)
        given = [one.partition("=")[0] for one in split(bare[head.end() : end])]
        names = [re.search(r"(\w+)\s*(?:\[[^\]]*\])?\s*$", one) for one in given]
        parameters = tuple(name[1] if name else "" for name in names)
        found[head[1]] = Kernel(
            name=head[1],
            parameters=parameters,
            constant=frozenset(
                name
                for name, words in zip(parameters, given, strict=True)
                if re.search(r"\bconst\b[^*]*\*", words) or re.search(r"\bconst\s*\*", words)
            ),
            line=line_at(bare, brace.end()),
            last=line_at(bare, last),
            body=bare[brace.end() : last],
        )
    return found


@functools.lru_cache(maxsize=8)
def launches(text: str) -> Sequence[Launch]:
    """Return the launches of the file, in order."""
    bare, found = without_comments(text), []
    for match in itertools.islice(_LAUNCH.finditer(bare), MOST_CALLS):
        end = bare.find(">>>", match.end(), match.end() + _MOST_OF_VALUE)
        brackets = re.compile(r"\s*\(").match(bare, end + 3) if end > 0 else None
        settings = split(bare[match.end() : end])
        if brackets is None or len(settings) < 2:
            continue
        arguments = split(bare[brackets.end() : closing(bare, brackets.end() - 1)])
        found.append(
            Launch(
                line=line_at(bare, match.start()),
                kernel=match[1],
                grid=settings[0],
                block=settings[1],
                shared=settings[2] if len(settings) > 2 else "",
                arguments=tuple(map(_plain, arguments)),
                given=tuple(" ".join(one.split()) for one in arguments),
            )
        )
    return found


def launches_of(text: str, kernel: str) -> list[Launch]:
    """Return the launches of a kernel, in order."""
    return [one for one in launches(text) if one.kernel == kernel]


def launch_with(text: str, array: str) -> Launch | None:
    """Return the first launch that passes an array, None if there is none."""
    return next((one for one in launches(text) if array in one.arguments), None)


def line_at(text: str, at: int) -> int:
    """Return the number of the line that a character is in."""
    return text.count("\n", 0, at) + 1


def _plain(argument: str) -> str:
    """Return the name that an argument is, without casts; "" if it is more than a name."""
    argument = _NAMED_CAST.sub(r"\1", _CAST.sub("", argument)).strip()
    return argument if re.fullmatch(r"[A-Za-z_]\w*", argument) else ""


def without_number_casts(expression: str) -> str:
    """Return the expression without casts of a name to a whole number: `(long long)i * n`."""
    return _NUMBER_CAST.sub(lambda found: found[1] or "", expression)


def plain_name(kernel: str) -> str:
    """Return the name of a kernel as a tool has it, `void turn<32>`, without the rest: `turn`."""
    return (kernel.partition("<")[0].split() or [""])[-1].rpartition("::")[2]


def accessed_argument(text: str, kernel: str, line: int | None, *, written: bool) -> str | None:
    """Return what a kernel's only launch passes for the only parameter that a line accesses."""
    function = kernels(text).get(kernel)
    launched = launches_of(text, kernel)
    lines = without_comments(text).split("\n")
    if function is None or len(launched) != 1 or line is None or line > len(lines):
        return None
    names = {name for name, _, writes in subscripts(lines[line - 1]) if writes == written}
    used = names & set(function.parameters)
    if len(used) != 1 or len(names) != 1:
        return None
    place = function.parameters.index(used.pop())
    return (launched[0].arguments[place : place + 1] or ("",))[0] or None


def definitions(text: str) -> dict[str, set[str]]:
    """Return for each variable and macro of a text the names that its values are made of."""
    found: dict[str, set[str]] = {}
    found_sets = itertools.islice(_SET.finditer(text), _MOST_SETS)
    sets = [(match[1], _value(text, match.end())) for match in found_sets]
    for name, value in (*sets, *_MACRO.findall(text)):
        found.setdefault(name, set()).update(NAME.findall(value))
    return found


def first_value(text: str, name: str) -> str:
    """Return the expression that a variable is first set to in a text, "" if it is not set."""
    found = re.search(rf"(?<![\w.]){re.escape(name)}\s*=(?!=)", text)
    return " ".join(_value(text, found.end()).split()) if found else ""


@functools.lru_cache(maxsize=256)
def only_value(text: str, name: str) -> str:
    """Return the only expression that a variable or macro is set to in a text, else ""."""
    word = re.escape(name)
    changes = rf"(?<![\w.]){word}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|{word}\s*(?:\+\+|--)"
    found = [*re.finditer(rf"{changes}|(?:\+\+|--)\s*{word}\b", text)]
    macros = [value for macro, value in _MACRO.findall(text) if macro == name]
    if len(macros) == 1 and not found:
        return " ".join(macros[0].split())
    return first_value(text, name) if len(found) == 1 and not macros else ""


@functools.lru_cache(maxsize=8)
def host_code(text: str) -> str:
    """Return the text without comments and with blanks for the bodies of its kernels."""
    bare = without_comments(text)
    lines = bare.split("\n")
    for kernel in kernels(text).values():
        for at in range(kernel.line, kernel.last - 1):
            lines[at] = ""
    return "\n".join(lines)


def _value(text: str, at: int) -> str:
    """Return the expression that begins at a place."""
    depth, most = 0, min(len(text), at + _MOST_OF_VALUE)
    for place in range(at, most):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth < 0 or (depth == 0 and text[place] in ",;"):
            return text[at:place]
    return text[at:most]


_DIM3 = r"\bdim3\s+(?:\w+\s*(?:[({{][^;]{{0,300}})?,\s*)?{}\s*(?:=\s*dim3\s*)?([({{])"


def dim3_sides(expression: str, text: str) -> list[str] | None:
    """Return the axes of a grid or block that is a `dim3`, as they are written; None of another."""
    if (given := re.match(r"dim3\s*([({])", expression)) is not None:
        return split(expression[given.end() : closing(expression, given.end() - 1)])
    if not re.fullmatch(r"[A-Za-z_]\w*", expression):
        return None
    declared = list(re.finditer(_DIM3.format(expression), text))
    if len(declared) != 1 or re.search(rf"\b{expression}\.[xyz]\s*=", text):
        return None
    begin = declared[0].end() - 1
    return split(text[begin + 1 : closing(text, begin)])


def origins(names: set[str], defined: Mapping[str, set[str]]) -> set[str]:
    """Return the names, and those that their values are made of, and so on."""
    seen: set[str] = set()
    open_ = list(names)
    while open_:
        name = open_.pop()
        if name not in seen:
            seen.add(name)
            open_ += defined.get(name.partition(".")[0] if name not in defined else name, ())
    return seen


def subscripts(line: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the elements in a line of code: the array, its index, and true if it is written.

    The indices of `a[i][j]` are joined as `i][j`.
    """
    for match in re.finditer(r"(?<![\w.])([A-Za-z_]\w*)\s*\[", line):
        begin = match.end() - 1
        end = closing(line, begin)
        while (more := re.compile(r"\s*\[").match(line, end + 1)) is not None:
            end = closing(line, more.end() - 1)
        written = re.compile(r"\s*(?:[-+*/%]|<<|>>)?=(?!=)").match(line, end + 1) is not None
        yield match[1], line[begin + 1 : end], written
