"""Parse compiler output into diagnostics at the student's own lines, with hints.

Three formats are parsed: GCC's (`file:line:column: error: text`), that of nvcc's front end
(`file(line): error: text`) and ptxas's (`ptxas fatal : text`). The text is only shown; the
compiler's exit code decides whether a build failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Literal

from grader.report.evidence import Diagnostic

SHOWN = 10
_REWRITTEN = "::grader::"  # in every line that the emulation's rewriter changed

_MISSING_HEADER = r"No such file or directory|cannot open source file|could not open source"
# Hints for a reader who sees the message of g++ or nvcc for the first time.
_ADVICE = {
    _MISSING_HEADER: "only this file is graded: put what it needs into it",
    r"operator ?<<.*__global__|\bstd::cout\b|operator ?<<\(.*device code":
        "a kernel cannot use std::cout: print with printf",
    r"function\(\"(?:std::)?(?:max|min)\b.*from a __(?:global|device)__|'std::(?:max|min)'":
        "std::max and std::min are host functions: use fmaxf and fminf, or max and min",
    r"constexpr __host__ function|calling a __host__ function\(\"std::":
        "a function of the standard library that the host has only: write the operation yourself",
    r"calling a __host__ function.* from a __(?:global|device)__ function":
        "a kernel can call `__device__` functions only: write it before the return type",
    r"kernel launch from __device__ or __global__ functions":
        "only host code can launch a kernel: launch it from the entry, after this kernel",
    r"a host function call cannot be configured":
        "<<<…>>> launches kernels only: write `__global__` before the function's `void`",
    r"a __global__ function call must be configured":
        "a kernel is launched as `kernel<<<blocks, threads>>>(arguments)`",
    r"bytes of shared memory, [\d,]+ allowed":
        "use smaller tiles: a block has 48 KiB of shared memory",
    r"too few arguments to function|too many arguments to function|too (?:few|many) arguments in f":
        "the arguments of a call or launch must be those of the function: number, order, type",
    r"variably modified type|must have a constant value|size of the array.* must be a constant":
        "an array's size must be a constant: `constexpr int TILE = 32;`, or `extern __shared__`",
    r"(?:used|be used) uninitialized":
        "give it a value first: `float sum = 0.0f;`, or for a pointer cudaMalloc(&pointer, bytes)",
    r"comparison .* is always (?:true|false)":
        "an unsigned number is never below 0: declare it `int`",
    r"to binary [‘']operator<<|expected an expression.*>>>|no operator \"<<\"":
        "a launch has three brackets on each side: `kernel<<<blocks, threads>>>(arguments)`",
    r"conflicting declaration of C function|more than one instance of overloaded":
        "name and parameters must match the header that the file includes",
    r"assignment of read-only location|must be a modifiable lvalue":
        "`const` data is read-only: write to the output",
    r"cannot convert [‘'](?:float|int|double)[’'] to|incompatible with parameter of":
        "compare each argument with its parameter: type, order, number of `*`",
    r"invalid preprocessing directive":
        "a comment begins with `//` in C++: `#` is for lines such as #include and #define",
    r"expected .*[‘'\"];[’'\"]|expected .*[‘'\"][)}][’'\"]":
        "a semicolon or bracket is missing, here or at the end of the line before",
    r"was not declared in this scope|is undefined$|does not name a type":
        "is the name misspelt, used before it is declared, or its block closed by a `}` too many?",
}  # fmt: skip

# What ptxas and the compilers say, in words for a reader who cannot see mangled names, set flags or
# read the compiler's inner types.
_TOO_MUCH_SHARED = re.compile(
    r"(?:Entry function '(?P<kernel>[^']+)' )?uses too much shared data "
    r"\((?P<bytes>0x[0-9a-f]+) bytes, (?P<most>0x[0-9a-f]+) max\)"
)
_SHARED_ARRAY = re.compile(r"__shared__[^;=]*?(\w+)\s*\[")
_FLAG = re.compile(r"\s*The experimental flag '[^']*' can be used to allow this\.")
_WARNING_FLAG = re.compile(r"\s*\[-(?:W[\w=+-]+|fpermissive)\]$")
# The type that the emulation's rewriter gives a `__shared__` variable.
_SHARED_TYPE = re.compile(r"[‘']grader_type_\w+(?P<by>&?)[’'] \{aka [‘'](?P<is>[^’']*)[’']\}")
_OWN_NAME = re.compile(r"\bgrader_type_(?=\w)")
_READ_ONLY = re.compile(r"assignment of read-only location [‘']\*\((?P<name>\w+) \+.*[’']$")

_GCC = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d{1,9}):(?:(?P<column>\d{1,9}):)?\s+"
    r"(?P<kind>fatal error|error|warning):\s+(?P<text>.*)$"
)
_EDG = re.compile(
    r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d{1,9})\):\s+"
    r"(?P<kind>catastrophic error|error|warning)(?:\s+#[\w-]+)?:\s+(?P<text>.*)$"
)
_INFORMATION = re.compile(r"(?:ptxas|nvlink) info\b")  # resources, with `-Xptxas=-v`
_TOOL = re.compile(
    r"^(?P<file>ptxas|nvlink|collect2|ld|/\S*/ld|nvcc|cc1plus|g\+\+)(?:\s+|:\s*)"
    r"(?P<kind>fatal|error|warning)?\s*:?\s*(?P<text>.*)$"
)


def parse(output: str, student_file: str, text: str = "") -> tuple[Diagnostic, ...]:
    """Return all messages, errors before warnings, the student's lines first.

    Messages in other files (headers of the grader or the toolkit) are kept without a line, because
    the student cannot fix that line. `text` is the file as compiled: in a rewritten line, columns
    are not the student's and are left out.
    """
    rewritten = {
        number for number, line in enumerate(text.split("\n"), start=1) if _REWRITTEN in line
    }
    found = [
        replace(item, column=None) if item.line in rewritten else item
        for item in _messages(output, student_file, text)
    ]
    found.sort(key=lambda item: (item.severity != "error", item.line is None))
    return tuple(found)


def is_missing_header(message: str) -> bool:
    """True if a compiler's message is about a file that it did not find."""
    return re.search(_MISSING_HEADER, message) is not None


def advice(message: str) -> str:
    """Return a hint for a compiler's message, "" if there is none."""
    return next((hint for pattern, hint in _ADVICE.items() if re.search(pattern, message)), "")


def _messages(output: str, student_file: str, source: str) -> Iterator[Diagnostic]:
    seen: set[tuple[int | None, str]] = set()
    for line in output.splitlines():
        if _INFORMATION.match(line):
            continue
        match = _GCC.match(line) or _EDG.match(line) or _TOOL.match(line)
        if match is None or not match["text"] or "grader::" in match["text"]:
            continue  # a line about the emulation's own types repeats the one before it
        groups = match.groupdict()
        in_students_file = PurePath(groups["file"]).name == PurePath(student_file).name
        at = int(groups["line"]) if in_students_file and groups.get("line") else None
        text, at = _plain(groups["text"].strip(), at, source)
        if (at, text) in seen:
            continue  # host and device passes report the same error twice
        seen.add((at, text))
        severity: Literal["error", "warning"] = (
            "warning" if groups["kind"] == "warning" else "error"
        )
        column = int(groups["column"]) if at and groups.get("column") else None
        yield Diagnostic(file=student_file, line=at, column=column, severity=severity, message=text)


def _plain(text: str, at: int | None, source: str) -> tuple[str, int | None]:
    """Return a message and its line in plain words."""
    if match := _TOO_MUCH_SHARED.search(text):
        arrays = [
            (number, found[1])
            for number, line in enumerate(source.split("\n"), start=1)
            if (found := _SHARED_ARRAY.search(line))
        ]
        what = f"`{arrays[0][1]}`" if len(arrays) == 1 else "the kernel's `__shared__` variables"
        used, most = int(match["bytes"], 16), int(match["most"], 16)
        line = arrays[0][0] if arrays else at
        return f"{what}: {used:,} bytes of shared memory, {most:,} allowed", line
    if match := _READ_ONLY.match(text):
        return f"assignment of read-only location: `{match['name']}` is `const`", at
    text = _OWN_NAME.sub("", _SHARED_TYPE.sub(r"‘\g<is>’", text))
    return _FLAG.sub("", _WARNING_FLAG.sub("", text)), at
