"""Translate the CUDA source of a `load_inline` call into a CUDA C++ file with the entry.

The host function may be that of a CUDA C++ file, with pointers, or `void ENTRY(torch::Tensor …)`
with the same arguments in the same order: `include/inline_torch.h` has such tensors, and a function
after the student's text calls theirs. Nothing of torch is run.
"""

from __future__ import annotations

import functools
import re
from dataclasses import replace
from importlib import resources
from pathlib import PurePosixPath

from grader.assignment.signature import Argument, Signature
from grader.build.artifact import Rejected, reject_source
from grader.submission.reader import SourceFile
from grader.text.cpp_comments import without_comments
from grader.vocabulary import Memory

HEADER = "inline_torch.h"
_OWN_NAME = "{entry}_of_tensors"  # the student's function, so that the entry has its name
# Of torch's headers; ours has what may be used of them.
_INCLUDE = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch|ATen|c10|pybind11)/[^>\"\n]*[>\"][^\n]*", re.M
)
_TENSOR = re.compile(r"(?:const\s+)?(?:torch|at)::Tensor(?:\s+const)?\s*&?(?:\s*\w+)?")
_DEFINITION = (
    r"(?:^|[;}}\n])(?P<returns>[\w:<>*& \t]{{1,200}}?)[\s*&]{{1,20}}{entry}\s{{0,20}}"
    r"\((?P<parameters>[^(){{}};]{{0,2000}})\)\s{{0,200}}\{{"
)
_FUNCTIONS = {
    "+": "sum", "-": "difference", "*": "product", "//": "divided", "%": "rest", "**": "power",
    "min": "least", "max": "most", "cdiv": "cdiv",
}  # fmt: skip


def cuda_file(
    signature: Signature, source: SourceFile, text: str, first_line: int
) -> SourceFile | Rejected:
    """Return the file in CUDA C++; `text` begins in this line of the Python file."""
    code = without_comments(text)
    pattern = _DEFINITION.format(entry=re.escape(signature.entry))
    found = re.search(pattern, code)
    blank, lines = "\n" * (first_line - 1), _INCLUDE.sub("", text).split("\n")
    if found is None or "Tensor" not in found["returns"] + found["parameters"]:
        return replace(source, text=blank + "\n".join(lines))
    at = code.count("\n", 0, found.start("parameters"))
    if rejected := _wrong_entry(signature, source.path, first_line + at, found):
        return rejected
    own = _OWN_NAME.format(entry=signature.entry)
    lines[at] = re.sub(rf"\b{re.escape(signature.entry)}(?=\s*\()", own, lines[at], count=1)
    header = SourceFile(
        path=str(PurePosixPath(source.path).with_name(HEADER)),
        text=f"{_header()}\n{signature.c_includes}",
    )
    arguments = ", ".join(_argument(signature, one) for one in signature.arguments)
    # The file's first line imports `load_inline`, as a rule, so that it is blank here.
    include, body = f'#include "{HEADER}"' + (blank or "\n"), "\n".join(lines)
    entry = f'extern "C" {signature.c_declaration}\n{{\n    {own}({arguments});\n}}\n'
    return replace(source, text=f"{include}{body}\n\n{entry}", headers=(*source.headers, header))


def _wrong_entry(
    signature: Signature, file: str, line: int, found: re.Match[str]
) -> Rejected | None:
    """Return why the host function cannot be called, None if it can."""
    entry, expected = signature.entry, f"expected: {signature.tensor_declaration}"
    at = f"{file}:{line}"
    if signature.launch or signature.variable:
        what = "a kernel" if signature.launch else "a template"
        hint = f"expected: {signature.c_declaration}"
        return reject_source(f"{at}: `{entry}` must be {what}, and takes no tensors", hint)
    host = next((one for one in signature.arrays if one.memory is Memory.HOST), None)
    if host is not None:
        hint = f'expected: extern "C" {signature.c_declaration}'
        return reject_source(
            f"{at}: `{host.name}` is in host memory, so `{entry}` takes pointers, no tensors", hint
        )
    if "Tensor" in found["returns"]:
        outputs = " and ".join(f"`{one.name}`" for one in signature.outputs)
        return reject_source(
            f"{at}: `{entry}` returns a tensor, but it must write into {outputs}, which the "
            "grader allocates",
            expected,
        )
    parameters = [one.strip() for one in found["parameters"].split(",")]
    fits = len(parameters) == len(signature.arguments) and all(
        _TENSOR.fullmatch(text) if one.is_array else not re.search(r"Tensor|\*", text)
        for one, text in zip(signature.arguments, parameters, strict=False)
    )
    if fits and found["returns"].split()[-1:] == ["void"]:
        return None
    shown = f"{found['returns'].split()[-1]} {entry}({' '.join(found['parameters'].split())})"
    return reject_source(f"{at}: `{entry}` has a wrong parameter list; found: {shown}", expected)


def _argument(signature: Signature, argument: Argument) -> str:
    """Return the tensor or scalar for the student's function."""
    if not argument.is_array:
        return argument.name
    scalars = {one.name: one.name for one in signature.scalars}
    functions = {symbol: f"::inline_torch::{name}" for symbol, name in _FUNCTIONS.items()}
    extents = argument.shape or ()
    if not all(extent.names <= scalars.keys() for extent in extents):
        extents = ()  # a size that the function does not get: the tensor has no dimensions
    sizes = ", ".join(extent.calls(scalars, functions) for extent in extents)
    return f"::torch::Tensor({argument.name}, {{{sizes}}})"


@functools.cache
def _header() -> str:
    return resources.files("grader").joinpath(f"build/include/{HEADER}").read_text("utf-8")
