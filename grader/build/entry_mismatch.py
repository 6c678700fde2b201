"""Explain in one sentence why the entry cannot be called: what was found, what was expected.

For a missing or wrong entry a compiler prints a page about templates. The trampoline makes the
compiler print the type that it found, and this module parses it.
"""

from __future__ import annotations

import itertools
import re

from grader.assignment.signature import Signature
from grader.build.trampoline import SIGNATURE_MARK
from grader.text.cpp_comments import without_comments
from grader.text.did_you_mean import did_you_mean

# g++: mark<void (*)(float*)>  ·  nvcc: mark<R (*)(P...)> [with R=void, P=<float *>]
_FOUND = (
    re.compile(
        rf"{SIGNATURE_MARK}\d?<(?P<returns>[^()<>]+?) ?\(\*\)\((?P<parameters>(?!P\.\.\.)[^()]*)\)"
    ),
    re.compile(r"\[with R ?= ?(?P<returns>[^,;]+), P ?= ?<(?P<parameters>.*)>\]"),
)
# These run in the judge on hostile text: every repetition is bounded, so that the time is linear.
_DEFINITION = re.compile(
    r"\b([A-Za-z_]\w*)\s*\([^;{}()]{0,2000}(?:\([^()]{0,200}\)[^;{}()]{0,200}){0,20}\)\s{0,200}\{"
)
_KERNEL = (
    r"__global__[^;{{}}()]{{0,500}}"
    r"(?:__launch_bounds__\s{{0,20}}\([^()]{{0,200}}\)[^;{{}}()]{{0,500}})?\b{entry}\s{{0,200}}\("
)
_TEMPLATE = (
    r"\btemplate\s{{0,20}}<[^<>;{{}}()]{{0,200}}>[^;{{}}]{{0,500}}"
    r"\b{entry}\s{{0,20}}(?:<[^;{{}}()]{{0,200}}>)?\s{{0,20}}\("
)
_MOST_DEFINITIONS = 10
_KEYWORDS = {"if", "for", "while", "switch", "catch", "return", "sizeof", "defined"}
# g++ and nvcc: a name that is only declared in an inner scope, and a name with two definitions.
_HIDDEN = re.compile(r"has not been declared|the global scope has no")
_AMBIGUOUS = re.compile(r"address of overloaded function|instance of overloaded function")


def kernel_entry(signature: Signature, file: str, text: str) -> tuple[str, str] | None:
    """Return (message, hint) if the entry is a kernel and must not be one, or the reverse.

    Also if it must be a template and is none. Called before compiling, because the emulation
    compiles a kernel as a function, and a template that lacks its definition links.
    """
    code = without_comments(text)
    kernel = re.search(_KERNEL.format(entry=re.escape(signature.entry)), code)
    lines = _definitions(code, signature.entry)
    template = re.search(_TEMPLATE.format(entry=re.escape(signature.entry)), code)
    if signature.variable and not re.search(rf"\b{re.escape(signature.entry)}\b", code):
        names = [name for name in _DEFINITION.findall(code) if name not in _KEYWORDS]
        meant = did_you_mean(signature.entry, names)
        return f"{file} defines no function `{signature.entry}`{meant}", _expected(signature)
    if signature.variable and lines and template is None:
        kinds = ", ".join(kind.c_name for kind in signature.dtypes)
        return (
            f"{file}:{lines[0]}: `{signature.entry}` is no template; it must be one, because it "
            f"is called with {kinds}",
            _expected(signature),
        )
    if signature.launch:
        if kernel is not None or not lines:
            return None
        return (
            f"{file}:{lines[0]}: `{signature.entry}` is an ordinary function; it must be a "
            "__global__ kernel, which the grader launches",
            _expected(signature),
        )
    if kernel is None or len(lines) > 1:
        return None
    return (
        f"{file}:{_line(code, kernel.end())}: `{signature.entry}` is a __global__ kernel; "
        "it must be an ordinary function that launches one",
        _expected(signature),
    )


def entry_problem(
    signature: Signature, file: str, text: str, output: str
) -> tuple[str, str] | None:
    """Return (message, hint) if the compiler's `output` is about the entry, else None."""
    code = without_comments(text)
    expected = _expected(signature)
    entry = signature.entry
    names = [name for name in _DEFINITION.findall(code) if name not in _KEYWORDS]
    if not code.strip():
        return f"{file} is empty", expected
    if entry not in names and not re.search(rf"\b{re.escape(entry)}\b", code):
        return f"{file} defines no function `{entry}`{did_you_mean(entry, names)}", expected
    lines = _definitions(code, entry)
    place = f"{file}:{lines[0]}" if lines else file
    about_entry = "\n".join(
        line for line in output.splitlines() if entry in line or "decltype" in line
    )
    if _AMBIGUOUS.search(about_entry) and len(lines) > 1:
        also = ", ".join(map(str, lines[1:]))
        return f"{place}: `{entry}` is defined more than once, see line {also}", expected
    if (signature.launch or signature.variable) and _AMBIGUOUS.search(about_entry):
        # The header declares another one with the expected parameters.
        return f"{place}: `{entry}` has a wrong parameter list", expected
    if _HIDDEN.search(about_entry) and lines:
        return f"{place}: `{entry}` is inside a namespace or class; move it out", expected
    if SIGNATURE_MARK not in output:
        return None
    match = next((m for pattern in _FOUND if (m := pattern.search(output))), None)
    if match is None:
        return None
    parameters = re.sub(r"\s*\*", "*", match["parameters"])
    found = f"{match['returns']} {entry}({parameters})"
    return f"{place}: `{entry}` has a wrong parameter list; found: {found}", expected


def _expected(signature: Signature) -> str:
    return f"expected: {signature.c_declaration}"


def _definitions(code: str, name: str) -> list[int]:
    """Return the first lines where functions called `name` are defined."""
    found = (match for match in _DEFINITION.finditer(code) if match[1] == name)
    return [_line(code, match.start()) for match in itertools.islice(found, _MOST_DEFINITIONS)]


def _line(code: str, position: int) -> int:
    return code.count("\n", 0, position) + 1
