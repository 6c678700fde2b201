"""Features that the emulation lacks (unsupported) or forbids (refused).

*Unsupported* is valid CUDA that only a GPU can run. *Refused* is an attempt to switch off
the checker: attributes and pragmas that stop the instrumentation, the checker's names,
host assembly. Both are found by token, so words in comments and strings do not count.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from grader.emulation.cuda_cpp.compile_commands import INCLUDE_DIR
from grader.emulation.cuda_cpp.ptx_statement import ASSEMBLY, PTX
from grader.emulation.cuda_cpp.tokens import CpuBudget, Kind, Token


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    file: str
    line: int
    column: int
    feature: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsupported(_Use):
    """One use of an unsupported feature, with its place (line and column from 1).

    `header` is true for an `#include`, which alone needs no GPU; `emulated` for a part of a
    library that the emulation has: a rule may forbid it nevertheless.
    """

    header: bool = False
    emulated: bool = False


class Refused(_Use):
    """One attempt to switch off the checker, with its place."""

    __slots__ = ()


_HEADERS = {
    "cub": "the CUB library",
    "thrust": "the Thrust library",
    "cuda_fp4": "4-bit floating point (cuda_fp4.h)",
    "cuda_fp6": "6-bit floating point (cuda_fp6.h)",
    "cublas": "the cuBLAS library",
    "cudnn": "the cuDNN library",
    "cufft": "the cuFFT library",
    "curand": "the cuRAND library",
    "cusparse": "the cuSPARSE library",
    "cusolver": "the cuSOLVER library",
    "cutlass": "the CUTLASS library",
    "cute": "the CuTe library",
    "nccl": "the NCCL library",
    "nvrtc": "run-time compilation (NVRTC)",
    "npp": "the NPP library",
    "surface_functions": "surfaces",
}
# Libraries of calls: their names begin so, and an include alone needs no GPU.
_CALLS = ("cublas", "cudnn", "cufft", "curand", "cusparse", "cusolver", "nccl", "nvrtc", "npp")
_CALL = re.compile(rf"({'|'.join(_CALLS)}|{'|'.join(_CALLS).upper()})(?:[A-Z_]\w*)")

_NAMES = {
    "cudaSurfaceObject_t": "surfaces",
    "surf2Dread": "surfaces",
    "surf2Dwrite": "surfaces",
    "cudaCreateSurfaceObject": "surfaces",
    "cudaLaunchKernelExC": "cudaLaunchKernelExC",
    "this_cluster": "thread-block clusters",
    "cuLaunchKernel": "the CUDA driver API",
    "cuMemAlloc": "the CUDA driver API",
    "cuInit": "the CUDA driver API",
    "cudaIpcGetMemHandle": "inter-process memory",
    "__hmma_m16n16k16_mma_f32f32": "tensor-core matrix operations by the compiler's own names",
}
# These count only before `::`, because a variable may have the same name.
_NAMESPACES = {
    "thrust": "the Thrust library",
    "cub": "the CUB library",
    "cutlass": "the CUTLASS library",
}
# These count only after `std::`: cuda_runtime.h leaves them out.
_SPECIAL = re.compile(
    r"(?:assoc_laguerre|assoc_legendre|beta|comp_ellint_[123]|cyl_(?:bessel_[ijk]|neumann)"
    r"|ellint_[123]|expint|hermite|laguerre|legendre|riemann_zeta|sph_(?:bessel|legendre|neumann))"
    r"[fl]?"
)

# The emulation has a part of these libraries, in these headers.
_PARTS = {
    "thrust": ("grader_host/thrust_vector.h", "grader_host/thrust_algorithms.h"),
    "cub": ("grader_host/cub_block.h", "grader_host/cub_device.h"),
    "curand": ("curand_kernel.h",),
}

_MOST_QUALIFIERS = 8  # between `asm` and its parenthesis
# Host instructions that access no memory: clocks and fences.
_HARMLESS = re.compile(r'"\s*(?:rdtscp?|pause|nop|[lms]fence)?\s*;?\s*"')
_RESERVED = re.compile(
    r"(?:__)?(?:tsan|ubsan|asan|msan|sanitizer)_\w*|__(?:real|wrap)_\w+|grader_\w*|GRADER_\w*"
)
_SWITCHES = frozenset(
    {
        "no_sanitize",
        "no_sanitize_thread",
        "no_sanitize_address",
        "no_sanitize_undefined",
        "__no_sanitize__",
        "__no_sanitize_thread__",
        "__no_sanitize_undefined__",
        "disable_sanitizer_instrumentation",
        "no_instrument_function",
        "optimize",
        "__optimize__",
    }
)
_PRAGMA = re.compile(r"\bGCC\s+(?:optimize|push_options|pop_options|target|reset_options|poison)\b")
_PLAIN_FILE = re.compile(r'"[\w./+-]*"')
# No name of a library is deeper; without a bound, `thrust::` in a row takes quadratic time.
_QUALIFIED = re.compile(r"\w*(?:\s*::\s*\w+){0,8}")
_INCLUDE = re.compile(r'#\s*include(?:_next)?\s*[<"]([^>"\n]{0,400})[>"]')


def unsupported_features(
    text: str,
    tokens: list[Token],
    cpu_budget: CpuBudget,
    *,
    file: str,
    unknown_ptx: Mapping[int, str],
) -> tuple[Unsupported, ...]:
    """Return the uses of unsupported CUDA features, in order.

    `unknown_ptx` has what could not be translated, by the start of its `asm`.
    Raises TooComplicatedError.
    """
    return tuple(
        Unsupported(
            file=file,
            line=line,
            column=column,
            feature=feature,
            message=f"{file}:{line} uses {feature}, which only a GPU can run.",
            header=text[offset] == "#",
            emulated=_is_emulated(text, offset),
        )
        for offset, line, column, feature in _placed(
            text, _unsupported(text, tokens, cpu_budget, unknown_ptx)
        )
    )


def refused_features(
    text: str, tokens: list[Token], cpu_budget: CpuBudget, *, file: str
) -> tuple[Refused, ...]:
    """Return the attempts to switch off the checker, in order. Raises TooComplicatedError."""
    return tuple(
        Refused(
            file=file,
            line=line,
            column=column,
            feature=feature,
            message=f"{file}:{line} {not_allowed(feature)}",
        )
        for _, line, column, feature in _placed(text, _refused(tokens, cpu_budget))
    )


def without_unused_includes(uses: Iterable[Unsupported]) -> tuple[Unsupported, ...]:
    """Return the uses without includes of libraries that are called nowhere."""
    every = tuple(uses)
    called = {use.feature for use in every if not use.header}
    calls = {_HEADERS[name] for name in _CALLS}
    return tuple(use for use in every if not (use.header and use.feature in calls - called))


def not_allowed(feature: str) -> str:
    """Return the message about a refused feature, without file and line."""
    return f"uses {feature}, which is not allowed: it could hide accesses from the checker."


def _placed(text: str, uses: Iterator[tuple[int, str]]) -> Iterator[tuple[int, int, int, str]]:
    """Yield offset, line, column (both from 1, as g++ counts) and feature of each use."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for offset, feature in uses:
        line = bisect_right(starts, offset)
        yield offset, line, offset - starts[line - 1] + 1, feature


def _unsupported(
    text: str, tokens: list[Token], cpu_budget: CpuBudget, unknown_ptx: Mapping[int, str]
) -> Iterator[tuple[int, str]]:
    code = [token for token in tokens if token.is_code]
    included = -1  # the directive of the last #include
    for i, token in enumerate(code):
        cpu_budget.check(i)
        following = code[i + 1].text if i + 1 < len(code) else ""
        if token.text == "#" and token.directive and following.startswith("include"):
            included = token.directive
            match = _INCLUDE.match(text, token.start)
            if match:
                header = match.group(1)
                stem = header.split("/")[0].split(".")[0]
                stem = next((name for name in _CALLS if stem.startswith(name)), stem)
                if header in _PARTS["curand"]:
                    pass
                elif stem in _HEADERS:
                    yield token.start, _HEADERS[stem]
        if token.kind is not Kind.NAME:
            continue
        if token.text in _NAMES:
            yield token.start, _NAMES[token.text]
        elif token.directive != included and (match := _CALL.fullmatch(token.text)):
            if token.text not in _names_of("curand"):
                yield token.start, _HEADERS[match[1].lower()]
        elif token.text in _NAMESPACES and following == "::":
            yield token.start, _NAMESPACES[token.text]
        elif _SPECIAL.fullmatch(token.text) and _is_of_std(code, i):
            yield token.start, f"the special function std::{token.text}"
        elif token.start in unknown_ptx:
            yield token.start, unknown_ptx[token.start]
        elif token.text in ASSEMBLY and _is_ptx(code, i) and not _is_literal(code, i):
            yield token.start, "inline PTX that a macro builds"


def _is_of_std(code: list[Token], i: int) -> bool:
    return [token.text for token in code[max(0, i - 2) : i]] == ["std", "::"]


def _is_emulated(text: str, offset: int) -> bool:
    """True if an include or a qualified name is of a part of a library that the emulation has."""
    if include := _INCLUDE.match(text, offset):
        header = include.group(1)
        return header.split("/")[0] in _PARTS and (INCLUDE_DIR / header).is_file()
    library, *names = re.split(r"\s*::\s*", _QUALIFIED.match(text, offset)[0])  # type: ignore[index]
    return library in _PARTS and _names_of(library).issuperset(names)


@functools.cache
def _names_of(library: str) -> frozenset[str]:
    headers = (INCLUDE_DIR / name for name in _PARTS[library])
    return frozenset(re.findall(r"\w+", "".join(header.read_text() for header in headers)))


def _refused(tokens: list[Token], cpu_budget: CpuBudget) -> Iterator[tuple[int, str]]:
    code = [token for token in tokens if token.is_code]
    for i, token in enumerate(code):
        cpu_budget.check(i)
        if token.kind is Kind.STRING:
            before = code[i - 2].text if i >= 2 else ""
            if before in ("_Pragma", "__pragma") and _PRAGMA.search(token.text):
                yield token.start, "a pragma that changes the optimisation"
        if token.text == "%" and _is_digraph(code, i):
            yield token.start, "the digraph `%:`"
        if token.text == "#" and token.directive and _is_odd_line(code, i):
            yield token.start, "`#line` with more than a number and a plain file name"
        if token.kind is not Kind.NAME:
            continue
        if token.text in _SWITCHES and _in_attribute(code, i):
            yield token.start, f"the attribute `{token.text}`"
        elif _RESERVED.fullmatch(token.text) or _is_own_namespace(code, i):
            yield token.start, f"the reserved name `{token.text}`"
        elif token.text in ASSEMBLY and not _is_ptx(code, i) and not _is_harmless(code, i):
            yield token.start, "inline assembly"
        elif token.text == "undef" and token.directive:
            name = code[i + 1].text if i + 1 < len(code) else ""
            if name.startswith("__builtin_"):
                yield token.start, f"`#undef {name}`"
        elif token.text == "pragma" and token.directive:
            rest = [t.text for t in code[i + 1 : i + 6] if t.directive == token.directive]
            if _PRAGMA.match(" ".join(rest)):
                yield token.start, f"`#pragma {' '.join(rest[:2])}`"


def _is_own_namespace(code: list[Token], i: int) -> bool:
    """True for `namespace grader` and `grader::`, the runtime's own C++ names."""
    if code[i].text != "grader":
        return False
    following = code[i + 1].text if i + 1 < len(code) else ""
    return following == "::" or (i > 0 and code[i - 1].text in ("namespace", "inline"))


def _is_digraph(code: list[Token], i: int) -> bool:
    """True for `%:`, which begins a directive like `#`."""
    return i + 1 < len(code) and code[i + 1].text == ":" and code[i + 1].start == code[i].start + 1


def _is_odd_line(code: list[Token], i: int) -> bool:
    """True for a `#line`, or `# 3 "file"`, that could put text into the compiler's dumps."""
    rest = [token for token in code[i + 1 : i + 5] if token.directive == code[i].directive]
    if rest and rest[0].text == "line":
        del rest[0]
    elif not rest or rest[0].kind is not Kind.NUMBER:
        return False
    kinds = [token.kind for token in rest]
    if kinds not in ([Kind.NUMBER], [Kind.NUMBER, Kind.STRING]):
        return True
    return len(rest) == 2 and not _PLAIN_FILE.fullmatch(rest[1].text)


def _is_ptx(code: list[Token], i: int) -> bool:
    """True if the strings in the parentheses after `asm` look like PTX."""
    depth = 0
    for place in range(i + 1, min(i + 400, len(code))):
        token = code[place]
        if token.text in ASSEMBLY or (depth == 0 and place > i + _MOST_QUALIFIERS):
            return False
        if token.text == "(":
            depth += 1
        elif token.text == ")":
            depth -= 1
            if depth == 0:
                return False
        elif token.text in (";", "{", "}") and depth == 0:
            return False
        elif token.kind is Kind.STRING and depth > 0 and PTX.search(token.text):
            return True
    return False


def _is_literal(code: list[Token], i: int) -> bool:
    """True if only strings stand before the operands of `asm`: then the rewriter has read it."""
    place = i + 1
    while place < len(code) and code[place].text != "(":
        place += 1
    place += 1
    while place < len(code) and code[place].kind is Kind.STRING:
        place += 1
    return place < len(code) and code[place].text in (":", "::", ")")


def _is_harmless(code: list[Token], i: int) -> bool:
    """True if the template after `asm` is one instruction of _HARMLESS, or none."""
    place = i + 1
    while place < len(code) and code[place].text in ("volatile", "__volatile__"):
        place += 1
    template = code[place + 1] if place + 1 < len(code) and code[place].text == "(" else None
    if template is None or not _HARMLESS.fullmatch(template.text):
        return False
    return code[place + 2].text in (":", ")", "::") if place + 2 < len(code) else False


def _in_attribute(code: list[Token], i: int) -> bool:
    """True inside `__attribute__((…))` or `[[…]]`; always true for names only attributes have."""
    if code[i].text not in ("optimize", "__optimize__"):
        return True
    before = [token.text for token in code[max(0, i - 4) : i]]
    return before[-2:] == ["(", "("] or before[-2:] == ["gnu", "::"] or "[" in before[-2:]
