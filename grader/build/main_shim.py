"""Generate the C++ between a student's main and the student's kernel from the signature.

    main.o ──entry──→ shim ──grader_program_kernel──→ the kernel's file, its entry renamed
                       └─ afterwards: one element of an output, changed or not

The kernel's file is compiled with its entry under another name, so that main.cu calls the entry of
the shim. `include/grader_program.h` is the part that is the same for all assignments. The linker
leads the calls of the CUDA runtime to it, too.
"""

from __future__ import annotations

import re
from importlib import resources

from grader.assignment.signature import Argument, Signature
from grader.build.trampoline import plain_type
from grader.vocabulary import Language, Memory, Role

SHIM_HEADER = "grader_program.h"
SHIM_FILE = "grader_shim.cpp"
KERNEL_FILE = "grader_kernel"
# The name of the kernel's own entry in the program.
RENAMED = "grader_renamed_{entry}"

_FUNCTIONS = {
    "+": "plus",
    "-": "minus",
    "*": "times",
    "//": "divide",
    "%": "modulo",
    "**": "power",
    "min": "least",
    "max": "most",
    "cdiv": "divide_up",
}

_SHIM = """\
// Generated: the entry that main.cu calls.
#include "{shim_header}"

#include "{header}"

extern "C" void grader_program_kernel({parameters});

extern "C" {declaration}
{{
    switch (::grader_program::orders.output) {{
{before}
    }}
    ::grader_program_kernel({arguments});
    if (!::grader_program::called()) return;
    switch (::grader_program::orders.output) {{
{after}
    }}
}}
"""

_OUTPUT = """\
        case {number}:
            ::grader_program::{when}_call<::grader_program::{kind}>(
                {name}, {{{extents}}}, {on_host}, {also_input});
            break;
"""
_WRAPPED = re.compile(r"^GRADER_WRAP\((\w+)", re.M)

# The runtime's headers come first, so that no name in them is renamed.
_KERNEL = """\
// Generated: the student's kernel under another name.
#include <cuda_runtime.h>
#define {entry} {renamed}
#include "{file}"

extern "C" void grader_program_kernel({parameters})
{{
    ::{entry}({names});
}}
"""


def shim_header() -> str:
    """Return the part of the shim that is the same for all assignments."""
    path = resources.files("grader") / "build" / "include" / SHIM_HEADER
    return path.read_text(encoding="utf-8")


def shim_source(signature: Signature) -> str:
    """Return the file that defines the entry."""
    return _SHIM.format(
        shim_header=SHIM_HEADER,
        header=signature.header_name,
        declaration=signature.c_declaration,
        parameters=_parameters(signature),
        arguments=", ".join(_argument(signature, argument) for argument in signature.arguments),
        before=_outputs(signature, "before"),
        after=_outputs(signature, "after"),
    )


def linker_flags() -> tuple[str, ...]:
    """Return the linker's flags that lead calls of the CUDA runtime to the shim."""
    names = ("grader_launch", *_WRAPPED.findall(shim_header()))
    return tuple(f"--wrap={name}" for name in dict.fromkeys(names))


def kernel_source(signature: Signature, file: str) -> str:
    """Return the file that includes the student's kernel and calls its entry."""
    return _KERNEL.format(
        entry=signature.entry,
        renamed=RENAMED.format(entry=signature.entry),
        file=file,
        parameters=_parameters(signature),
        names=", ".join(argument.name for argument in signature.arguments),
    )


def _parameters(signature: Signature) -> str:
    """Return the parameters without const, which the student may choose."""
    return ", ".join(f"{plain_type(signature, a)} {a.name}" for a in signature.arguments)


def _argument(signature: Signature, argument: Argument) -> str:
    if not argument.is_array:
        return argument.name
    return f"const_cast<{plain_type(signature, argument)}>({argument.name})"


def _outputs(signature: Signature, when: str) -> str:
    cases = (_output(signature, *one, when) for one in enumerate(signature.outputs))
    return "".join(cases).rstrip("\n")


def _output(signature: Signature, number: int, argument: Argument, when: str) -> str:
    assert argument.shape is not None
    sizes = {a.name: f"::grader_program::Size({a.name})" for a in signature.scalars}
    functions = {symbol: f"::grader_program::{name}" for symbol, name in _FUNCTIONS.items()}
    kind = signature.element_type(argument, Language.CUDA)
    return _OUTPUT.format(
        number=number,
        when=when,
        kind="Real" if kind.is_float else "Whole",
        name=argument.name,
        extents=", ".join(extent.calls(sizes, functions) for extent in argument.shape),
        on_host=_truth(argument.memory is Memory.HOST),
        also_input=_truth(argument.role is Role.INOUT),
    )


def _truth(value: bool) -> str:
    return "true" if value else "false"
