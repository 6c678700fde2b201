"""Why the entry cannot be called, in one sentence: what was found, what is wanted.

Compilers answer a missing or mistaken entry with a page about templates. The
trampoline makes them print the type they found; this reads it back.
"""

from __future__ import annotations

import re

from grader.build.trampoline import SIGNATURE_MARK
from grader.signature import Signature
from grader.toml_source import did_you_mean

# [with Found = void (*)(float*)]  ·  [with Found=void (*)(float *)]  ·  mark<void (*)(float*)>
_FOUND = re.compile(
    rf"\[with Found ?= ?(?P<with>[^;\]]+)|{SIGNATURE_MARK}<(?P<angle>void ?\(\*\)\([^>]*?\)[^>]*)>"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.S)
_DEFINITION = re.compile(r"\b([A-Za-z_]\w*)\s*\([^;{}()]*(?:\([^()]*\)[^;{}()]*)*\)\s*\{")
_KEYWORDS = {"if", "for", "while", "switch", "catch", "return", "sizeof", "defined"}


def entry_problem(
    signature: Signature, file: str, text: str, output: str
) -> tuple[str, str] | None:
    """Return (message, hint) if `output` complains of the entry, else None."""
    code = _COMMENT.sub(" ", text)
    wanted = f"wanted: {signature.c_declaration}"
    entry = re.escape(signature.entry)
    if re.search(rf"__global__[^;{{}}()]*\b{entry}\s*\(", code):
        return (
            f"{file}: `{signature.entry}` is a __global__ kernel; "
            "it must be an ordinary function that launches one",
            wanted,
        )
    names = [name for name in _DEFINITION.findall(code) if name not in _KEYWORDS]
    if signature.entry not in names and not re.search(rf"\b{entry}\b", code):
        meant = did_you_mean(signature.entry, names)
        return f"{file} defines no function `{signature.entry}`{meant}", wanted
    if SIGNATURE_MARK not in output:
        return None
    match = _FOUND.search(output)
    if match is None:
        return None
    found = (match["with"] or match["angle"]).strip().rstrip("]").strip()
    parameters = re.sub(r"\s*\*", "*", re.sub(r"\s*\(\*\)\s*", f" {signature.entry}", found))
    return (
        f"{file}: `{signature.entry}` has another parameter list; found: {parameters}",
        wanted,
    )
