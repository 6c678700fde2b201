"""Translate the CUDA source of a `load_inline` call into a CUDA C++ file with the entry.

The host function may be that of a CUDA C++ file, with pointers, or one of tensors, of which
`include/inline_torch.h` has those that may be used:

    void ENTRY(torch::Tensor …)             has the same arguments in the same order
    torch::Tensor ENTRY(torch::Tensor …)    has the arguments that are no outputs, and returns these

A function after the student's text calls theirs. Nothing of torch is run.
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
from grader.vocabulary import Memory, Role

HEADER = "inline_torch.h"
_OWN_NAME = "{entry}_of_tensors"  # the student's function, so that the entry has its name
# Of torch's headers; ours has what may be used of them.
_INCLUDE = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch|ATen|c10|pybind11)/[^>\"\n]*[>\"][^\n]*", re.M
)
# What returns tensors: one, or several in order.
_RETURNED = re.compile(
    r"(?:static\s+|inline\s+)*(?:(?:torch|at)::Tensor|(?:std::)?vector\s*<\s*(?:torch|at)::Tensor\s*>"
    r"|(?:std::)?tuple\s*<\s*(?:(?:torch|at)::Tensor\s*,?\s*)+>)"
)
_TENSOR = re.compile(r"(?:const\s+)?(?:torch|at)::Tensor(?:\s+const)?\s*&?(?:\s*\w+)?")
_DEFINITION = (
    r"(?:^|[;}}\n])(?P<returns>[\w:<>*&, \t]{{1,200}}?)[\s*&]{{1,20}}{entry}\s{{0,20}}"
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
    place = f"{source.path}:{first_line + at}"
    chosen = _arguments(signature, place, found)
    if isinstance(chosen, Rejected):
        return chosen
    own = _OWN_NAME.format(entry=signature.entry)
    lines[at] = re.sub(rf"\b{re.escape(signature.entry)}(?=\s*\()", own, lines[at], count=1)
    header = SourceFile(
        path=str(PurePosixPath(source.path).with_name(HEADER)),
        text=f"{_header()}\n{signature.c_includes}",
    )
    call = f"{own}({', '.join(_argument(signature, one) for one in chosen)})"
    if _RETURNED.fullmatch(found["returns"].strip()):
        outputs = ", ".join(_argument(signature, one) for one in _returned(signature))
        call = f"::inline_torch::Outputs outputs({{{outputs}}});\n    outputs.take({call})"
    # The file's first line imports `load_inline`, as a rule, so that it is blank here.
    include, body = f'#include "{HEADER}"' + (blank or "\n"), "\n".join(lines)
    entry = f'extern "C" {signature.c_declaration}\n{{\n    {call};\n}}\n'
    return replace(source, text=f"{include}{body}\n\n{entry}", headers=(*source.headers, header))


def _returned(signature: Signature) -> list[Argument]:
    """Return the outputs that a function of tensors may return: those that are no inputs too."""
    return [one for one in signature.outputs if one.role is Role.OUT]


def _arguments(
    signature: Signature, at: str, found: re.Match[str]
) -> tuple[Argument, ...] | Rejected:
    """Return the arguments of the host function, or why it cannot be called."""
    entry = signature.entry
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
    returns, outputs = " ".join(found["returns"].split()), _returned(signature)
    returned = _RETURNED.fullmatch(returns) is not None
    expected = f"expected: {signature.tensor_declaration}"
    if returned:
        unknown = next((one for one in outputs if not _sizes_known(signature, one)), None)
        problem = ""
        if not outputs:
            written = " and ".join(f"`{one.name}`" for one in signature.outputs)
            problem = f"it must write into {written}, which hold values already"
        elif unknown is not None:
            problem = f"the size of `{unknown.name}` does not follow from the arguments"
        elif (len(outputs) > 1) != ("<" in returns):
            count = len(outputs)
            problem = f"there {'is 1 output' if count == 1 else f'are {count} outputs'}"
        if problem:
            what = "tensors" if "<" in returns else "a tensor"
            return reject_source(f"{at}: `{entry}` returns {what}, but {problem}", expected)
    wanted = [one for one in signature.arguments if not (returned and one in outputs)]
    parameters = [one.strip() for one in found["parameters"].split(",") if one.strip()]
    if returned and len(parameters) != len(wanted):
        # Lectures take sizes from the tensors: scalars that are not named are left out.
        names = {one.split()[-1].lstrip("&*") for one in parameters}
        wanted = [one for one in wanted if one.is_array or one.name in names]
    fits = len(parameters) == len(wanted) and all(
        _TENSOR.fullmatch(text) if one.is_array else not re.search(r"Tensor|\*", text)
        for one, text in zip(wanted, parameters, strict=False)
    )
    if fits and (returned or returns.split()[-1:] == ["void"]):
        return tuple(wanted)
    shown = f"{returns} {entry}({' '.join(found['parameters'].split())})"
    if returned:
        expected = f"expected: {signature.returning_declaration}"
    return reject_source(f"{at}: `{entry}` has a wrong parameter list; found: {shown}", expected)


def _sizes_known(signature: Signature, argument: Argument) -> bool:
    scalars = {one.name for one in signature.scalars}
    return all(extent.names <= scalars for extent in argument.shape or ())


def _argument(signature: Signature, argument: Argument) -> str:
    """Return the tensor or scalar for the student's function."""
    if not argument.is_array:
        return argument.name
    names = {one.name: one.name for one in signature.scalars}
    functions = {symbol: f"::inline_torch::{name}" for symbol, name in _FUNCTIONS.items()}
    # A size that the function does not get: the tensor has no dimensions.
    extents = (argument.shape or ()) if _sizes_known(signature, argument) else ()
    sizes = ", ".join(extent.calls(names, functions) for extent in extents)
    return f"::torch::Tensor({argument.name}, {{{sizes}}})"


@functools.cache
def _header() -> str:
    return resources.files("grader").joinpath(f"build/include/{HEADER}").read_text("utf-8")
