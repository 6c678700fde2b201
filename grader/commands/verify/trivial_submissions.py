"""Trivial submissions: kernels that do no work, made for any assignment.

touched   the stub with one comment added, which no longer counts as untouched
zeros     a new file that writes zeros into every output
"""

from __future__ import annotations

from grader.assignment.signature import Argument, Signature
from grader.vocabulary import Language, Memory

# Operators and functions of specs that C++ does not have or that differ there.
_NOT_C = ("//", "**", "min", "max", "cdiv")


def touched(stub: str, language: Language) -> str:
    """Return the stub with a comment added, so that it counts as a submission."""
    return f"{stub.rstrip()}\n{language.comment} Not done yet.\n"


def zeros(signature: Signature, language: Language) -> str | None:
    """Return a kernel file that fills its outputs with zeros.

    None if C++ cannot express an extent as the spec writes it.
    """
    if signature.launch:
        return _zeros_by_kernel(signature, language)
    if language.base is Language.TRITON:
        body = "".join(f"    {output.name}.zero_()\n" for output in signature.outputs)
        return f"import triton\n\n\n{signature.python_declaration}:\n{body}"
    sizes = [_bytes(signature, output) for output in signature.outputs]
    if any(size is None for size in sizes):
        return None
    body = "".join(
        f"    {'cudaMemset' if output.memory is Memory.DEVICE else 'memset'}"
        f"({output.name}, 0, {size});\n"
        for output, size in zip(signature.outputs, sizes, strict=True)
    )
    linkage = "" if signature.variable else 'extern "C" '
    return (
        f'#include <cstring>\n#include <cuda_runtime.h>\n#include "{signature.header_name}"\n\n'
        f"{linkage}{signature.c_declaration}\n{{\n{body}}}\n"
    )


def _zeros_by_kernel(signature: Signature, language: Language) -> str | None:
    """Return the same for an entry that is a kernel: one thread fills the outputs."""
    lines = []
    for output in signature.outputs:
        size = _bytes(signature, output)
        if size is None:
            return None
        count = " * ".join(f"({extent.text})" for extent in output.shape or ())
        zero = "0.0" if signature.element_type(output, language).is_float else "0"
        if language.base is Language.CUDA:
            lines.append(
                f"    if (blockIdx.x + threadIdx.x == 0) memset({output.name}, 0, {size});"
            )
        else:
            lines.append(
                f"    for i in range({count}):\n        tl.store({output.name} + i, {zero})"
            )
    body = "\n".join(lines)
    if language.base is Language.CUDA:
        return f'#include "{signature.header_name}"\n\n{signature.c_declaration}\n{{\n{body}\n}}\n'
    head = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    return f"{head}{signature.python_declaration}:\n{body}\n"


def _bytes(signature: Signature, output: Argument) -> str | None:
    scalars = {argument.name for argument in signature.scalars}
    assert output.shape is not None
    for extent in output.shape:
        if not extent.names <= scalars or any(word in extent.text for word in _NOT_C):
            return None
    extents = [f"static_cast<size_t>({extent.text})" for extent in output.shape]
    kind = signature.element_type(output, Language.CUDA).c_name
    kind = signature.variable if output.type == signature.variable else kind
    return " * ".join([*extents, f"sizeof({kind})"])
