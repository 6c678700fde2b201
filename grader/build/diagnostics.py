"""Parse compiler output into diagnostics at the student's own lines, with hints.

Three formats are parsed: GCC's (`file:line:column: error: text`), that of nvcc's front end
(`file(line): error: text`) and ptxas's (`ptxas fatal : text`). The text is only shown; the
compiler's exit code decides whether a build failed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Literal

from grader.report.evidence import Diagnostic
from grader.text.cpp_comments import without_comments
from grader.text.did_you_mean import did_you_mean

SHOWN = 10
_NOTE_LINES = 30  # after an error that are read for its reason
_MOST_VALUES = 6  # of a template's arguments
_REWRITTEN = "::grader::"  # in every line that the emulation's rewriter changed

_MISSING_HEADER = r"No such file or directory|cannot open source file|could not open source"
_CUDA_HEADER = r"\b(?:nvfunctional|(?:cuda|cub|thrust|nv|cooperative_groups)/)"
_SINCE_HOPPER = ("cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion")
# Hints for a reader who sees the message of g++ or nvcc for the first time.
_ADVICE = {
    rf"{_CUDA_HEADER}.*(?:{_MISSING_HEADER})|(?:{_MISSING_HEADER}).*{_CUDA_HEADER}":
        "this machine lacks this header of CUDA: do without it, or grade on a machine with a GPU",
    _MISSING_HEADER: "only this file is graded: put what it needs into it",
    r"operator ?<<.*__global__|\bstd::cout\b|operator ?<<\(.*device code":
        "a kernel cannot use std::cout: print with printf",
    r"function\(\"(?:std::)?(?:max|min)\b.*from a __(?:global|device)__|'std::(?:max|min)'":
        "std::max and std::min are host functions: use fmaxf and fminf, or max and min",
    r"constexpr __host__ function|calling a __host__ function\(\"std::":
        "a function of the standard library that the host has only: write the operation yourself",
    r"calling a __host__ function.* from a __(?:global|device)__ function":
        "a kernel can call `__device__` functions only: write it before the return type",
    r"calling a __device__ function.* from a __host__ function":
        "if kernels call this function, write `__device__` before its return type",
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
    r"static assertion failed":
        "this `static_assert` does not hold for the sizes that are used: choose sizes that fit it",
    r"template argument `":
        "write it where the function is called: `name<value>(arguments)`",
    r"from ‘const void\*’ to ‘void\*’|type \"const \w+ \*\" is incompatible .* \"void \*\"":
        "an input is `const`, and this call would write to it: a copy's destination comes first",
    r"casts away qualifiers|invalid conversion from ‘const |cast away const":
        "what the pointer points to is `const`: keep that word in the new type, as in "
        "`reinterpret_cast<const float4*>(pointer)`",
    r"cannot convert ‘(?:float|int|double) ?(?:\*|\[\d+\]).*’ to ‘(?:float|int|double)’":
        "an array or pointer stands where one element is needed: each index has brackets of its "
        "own, `tile[i][j]`",
    r"for array subscript|must have (?:array|pointer-to-object|arithmetic).*subscript":
        "it has too many indices: a pointer takes one, `a[i * columns + j]`, and a number none",
    r"invalid operands of types ‘[^’]*\*":
        "a pointer stands where a value is needed: index it, `a[i]`",
    r"redeclaration of|redefinition of|conflicting declaration ‘|has already been declared":
        "the name is declared twice: choose another, or leave out the type at the second place",
    r"lvalue required as left operand":
        "the left side of `=` must be a variable or an element of an array",
    r"request for member .* non-class type ‘[^’]*\[":
        "an array has elements, `x[0]` to `x[3]`, and no members: `.x` belongs to a float4",
    r"return-statement with no value, in function returning|__global__ function must have .*void":
        "a kernel returns nothing: `__global__ void`, and the result goes into an array",
    r"has no member named":
        "threadIdx, blockIdx, blockDim, gridDim and dim3 have x, y and z, a float4 also w",
    r"for call to ‘cudaMalloc\w*\(\w+\*&|no instance of overloaded function \"cudaMalloc":
        "cudaMalloc stores the address in the pointer, so it needs the pointer's own: "
        "cudaMalloc(&pointer, bytes)",
    r"‘load_matrix_sync\(":
        "a fragment of matrix_a or matrix_b has a layout as its last parameter, wmma::row_major or "
        "wmma::col_major, and its type is that of the pointer",
    r"no matching function for call|no instance of .*function":
        "compare the arguments with the function's parameters: number, order, type",
    r"conflicting declaration of C function|more than one instance of overloaded":
        "name and parameters must match the header that the file includes",
    r"assignment of read-only location|must be a modifiable lvalue":
        "`const` data is read-only: write to the output",
    r"cannot convert ‘[^’]*\*’ to ‘[^’]*\*’":
        "the pointer's type is not the parameter's: compare the two, and the type in <…> of a "
        "template",
    r"cannot convert [‘'](?:float|int|double)[’'] to|incompatible with parameter of":
        "compare each argument with its parameter: type, order, number of `*`",
    r"invalid preprocessing directive":
        "a comment begins with `//` in C++: `#` is for lines such as #include and #define",
    r"expected .*[‘'\"];[’'\"]|expected .*[‘'\"][)}][’'\"]":
        "a semicolon or bracket is missing, here or at the end of the line before",
    r": line \d+ declares it inside ":
        "a variable ends with the block that declares it: declare it before that block",
    r"non-scalar type ‘(?:const )?\w+[234]’|suitable .* from \".*\" to \".*\w[234]\" exists":
        "four numbers are read at once through a pointer of their type: "
        "reinterpret_cast<const float4*>(pointer)[i], with i counted in float4",
    r"cannot have an initial value|initializer not allowed for __shared__":
        "leave the value out: let the threads store it, then wait with `__syncthreads()`",
    r"operator.*(?:‘(?:const )?(?:uint3|dim3)’|\b(?:uint3|dim3) )":
        "threadIdx, blockIdx, blockDim and gridDim are three numbers each: add .x, .y or .z",
    r"operator(?: \"| ?)[-+*/]=?[’'\"].*__half":
        "convert the half first, __half2float(x), and the result back with __float2half",
    "|".join(_SINCE_HOPPER):
        "only GPUs from sm_90 on have it, and the emulation has not: leave the call out",
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
# And that is a typedef, which has no value.
_SHARED_VALUE = re.compile(r"typedef [‘'](?:grader_type_)?(\w+)[’'] is initialized")
_OWN_SUGGESTION = re.compile(r"; did you mean [‘']grader_\w+[’']\?")
_OWN_NAME = re.compile(r"\bgrader_type_(?=\w)")
_READ_ONLY = re.compile(r"assignment of read-only location [‘']\*\((?P<name>\w+) \+.*[’']$")

# Notes of g++ on an error, in words for the error's own sentence.
_NOTES = {
    re.compile(r"note:\s+couldn[’']t deduce template parameter [‘'](\w+)[’']"):
        r"the template argument `\1` is missing, and no parameter shows it",
    re.compile(r"note:\s+the comparison reduces to [‘']\((.*)\)[’']"): r"\1 is false",
    re.compile(r"note:\s+candidate expects (?:at \w+ )?(\d+) arguments?, (\d+) provided"):
        r"it takes \1, not \2",
    re.compile(r"note:\s+no known conversion for argument (\d+) from [‘'](.*)[’'] to [‘'](.*)[’']"):
        r"argument \1 is ‘\2’, the parameter ‘\3’",
}  # fmt: skip
_INSTANCE = re.compile(r"In instantiation of [‘'].*\[with (?P<with>[^\]]*)\][’']:$")
_REQUIRED = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d{1,9}):\d+:\s+required from here$")
_VALUE = re.compile(r"\b(\w+ = -?\d+)(?=;|$)")
# A name without a suggestion of the compiler's, and names that CUDA C++ adds to C++.
_UNKNOWN = re.compile(
    r"(?:[‘'](\w+)[’'] (?:was not declared in this scope|does not name a type)"
    r"|identifier \"(\w+)\" is undefined)$"
)
_CUDA_WORDS = (
    "__shared__", "__global__", "__device__", "__constant__", "__syncthreads", "__syncwarp",
    "threadIdx", "blockIdx", "blockDim", "gridDim", "atomicAdd", "rsqrtf", "sqrtf", "expf", "fmaxf",
    "fminf", "make_float4", "cudaMalloc", "cudaMemcpy", "cudaMemset", "cudaFree", "cudaMallocHost",
    "cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost", "cudaDeviceSynchronize",
)  # fmt: skip
# A function of the CUDA headers, as nvcc names it in an error.
_INTERNAL = re.compile(r"_ZN\d+_INTERNAL_\w+?_cu_[0-9a-f]{8}\d+(\w+?)E[\d?]*")

_GCC = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d{1,9}):(?:(?P<column>\d{1,9}):)?\s+"
    r"(?P<kind>fatal error|error|warning):\s+(?P<text>.*)$"
)
_EDG = re.compile(
    r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d{1,9})\):\s+"
    r"(?P<kind>catastrophic error|error|warning)(?:\s+#[\w-]+)?:\s+(?P<text>.*)$"
)
_SHORT_NAME = 3  # characters: similar names are a chance
_MOST_CHARACTERS = 20_000  # of a source that declarations are looked for in
_TYPE = (
    r"\b(?:float[234]?|double|int[234]?|unsigned|long|short|char|bool|auto"
    r"|size_t|u?int\d+_t|__half2?|dim3)\b"
)
_INFORMATION = re.compile(r"(?:ptxas|nvlink) info\b")  # resources, with `-Xptxas=-v`
_TOOL = re.compile(
    r"^(?P<file>ptxas|nvlink|collect2|(?:/\S*/)?ld(?:\.\w+)?|nvcc|cc1plus"
    r"|(?:[\w-]*-)?[gc]\+\+(?:-\d+)?)(?:\s+|:\s*)"
    r"(?P<kind>fatal(?: error)?|error|warning)?\s*:?\s*(?P<text>.*)$"
)


def parse(
    output: str, student_file: str, text: str = "", headers: Mapping[str, str] | None = None
) -> tuple[Diagnostic, ...]:
    """Return all messages, errors before warnings, the student's lines first.

    Messages in other files (headers of the grader or the toolkit) are kept without a line, because
    the student cannot fix that line. `text` is the file as compiled, and `headers` those of the
    student's that it includes: in a rewritten line, columns are not the student's and are left out.
    """
    texts = {**(headers or {}), student_file: text}
    rewritten = {
        (name, number)
        for name, content in texts.items()
        for number, line in enumerate(content.split("\n"), start=1)
        if _REWRITTEN in line
    }
    found = [
        replace(item, column=None) if (item.file, item.line) in rewritten else item
        for item in _messages(output, student_file, texts)
    ]
    found.sort(key=lambda item: (item.severity != "error", item.line is None))
    return tuple(found)


def is_missing_header(message: str) -> bool:
    """True if a compiler's message is about a file that it did not find."""
    return re.search(_MISSING_HEADER, message) is not None


def advice(message: str) -> str:
    """Return a hint for a compiler's message, "" if there is none."""
    return next((hint for pattern, hint in _ADVICE.items() if re.search(pattern, message)), "")


def _messages(output: str, student_file: str, texts: Mapping[str, str]) -> Iterator[Diagnostic]:
    seen: set[tuple[str, int | None, str]] = set()
    lines = output.splitlines()
    instance, required = "", None
    for number, line in enumerate(lines):
        if _INFORMATION.match(line):
            continue
        if match := _INSTANCE.search(line):
            instance, required = match["with"], None
        elif (match := _REQUIRED.match(line)) and _is_file(match["file"], student_file):
            required = int(match["line"])
        match = _GCC.match(line) or _EDG.match(line) or _TOOL.match(line)
        if match is None or not match["text"] or "grader::" in match["text"]:
            continue  # a line about the emulation's own types repeats the one before it
        groups = match.groupdict()
        file = next((name for name in texts if _is_file(groups["file"], name)), None)
        at = int(groups["line"]) if file and groups.get("line") else None
        file = file or student_file
        text, at = _plain(groups["text"].strip(), at, texts[file])
        if (file, at, text) in seen:
            continue  # host and device passes report the same error twice
        seen.add((file, at, text))
        severity: Literal["error", "warning"] = (
            "warning" if groups["kind"] == "warning" else "error"
        )
        if severity == "error" and at is not None:
            text += _why(text, lines[number + 1 :], instance, required)
        column = int(groups["column"]) if at and groups.get("column") else None
        yield Diagnostic(file=file, line=at, column=column, severity=severity, message=text)


def _is_file(name: str, student_file: str) -> bool:
    return PurePath(name).name == PurePath(student_file).name


def _why(text: str, after: Sequence[str], instance: str, required: int | None) -> str:
    """Return what g++'s notes say about an error, "" if they say nothing that helps.

    `after` are the lines behind the error. A failed assertion of a template depends on the values
    that its user chose: `instance` are the arguments, `required` the line that uses it.
    """
    notes = itertools.takewhile(lambda line: not _GCC.match(line), after[:_NOTE_LINES])
    said = next(
        (
            found.expand(words)
            for line in notes
            for one, words in _NOTES.items()
            if (found := one.search(line))
        ),
        "",
    )
    if not text.startswith("static assertion failed"):
        # Of an operator each type that has one is a candidate.
        return f": {said}" if said and "operator" not in text else ""
    values = _VALUE.findall(instance)[:_MOST_VALUES]
    parts = [said] if said else []
    if values:
        parts.append(f"for {', '.join(values)}")
    if required is not None:
        parts.append(f"as line {required} uses it")
    return f" ({', '.join(parts)})" if parts else ""


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
    if match := _SHARED_VALUE.search(text):
        return f"a `__shared__` variable cannot have an initial value: `{match[1]}`", at
    text = _OWN_SUGGESTION.sub("", text)
    if match := _READ_ONLY.match(text):
        return f"assignment of read-only location: `{match['name']}` is `const`", at
    text = _OWN_NAME.sub("", _SHARED_TYPE.sub(r"‘\g<is>’", text))
    text = _INTERNAL.sub(r"\1", text)
    if match := _UNKNOWN.search(text):
        name = match[1] or match[2]
        guessed = len(name) > _SHORT_NAME and name not in _SINCE_HOPPER
        near = did_you_mean(name, _CUDA_WORDS) if guessed else ""
        text += near or _declared_inside(name, at, source)
    return _FLAG.sub("", _WARNING_FLAG.sub("", text)), at


def _declared_inside(name: str, at: int | None, source: str) -> str:
    """Return the line of an earlier block that declares a name and has ended, "" if none does."""
    if at is None or len(source) > _MOST_CHARACTERS:
        return ""
    lines = without_comments(source).split("\n")[: at - 1]
    declared = re.compile(
        rf"{_TYPE}\s*[&*]?\s*(?:\w+[^;(){{}}]{{0,200}},\s*)?{re.escape(name)}\s*[=;,\[(:]"
    )
    for number in range(len(lines), 0, -1):
        begin = declared.search(lines[number - 1])
        if begin is None:
            if lines[number - 1].startswith("}"):
                return ""  # the end of a function
            continue
        head = re.search(r"\b(?:for|while|if)\s*\($", lines[number - 1][: begin.start()].rstrip())
        rest = "\n".join([lines[number - 1][begin.end() :], *lines[number:]])
        depth = 0
        for character in rest:
            depth += (character == "{") - (character == "}")
            if depth < 0:
                return f": line {number} declares it inside a block that has ended"
        return f": line {number} declares it inside the loop or `if` there" if head else ""
    return ""
