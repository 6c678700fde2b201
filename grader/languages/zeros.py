"""Kernel files that do no work but write zeros into every output: they must earn nothing."""

from __future__ import annotations

from grader.assignment.signature import Argument, Signature
from grader.vocabulary import Language, Memory

# Operators and functions of specs that C++ does not have or that differ there.
_NOT_C = ("//", "**", "min", "max", "cdiv")


def cuda_zeros(signature: Signature) -> str | None:
    """Return such a file in CUDA C++; None if C++ cannot express an extent as the spec does."""
    sizes = [_bytes(signature, output) for output in signature.outputs]
    if any(size is None for size in sizes):
        return None
    lines = []
    for output, size in zip(signature.outputs, sizes, strict=True):
        if signature.launch:  # one thread fills the outputs
            lines.append(f"if (blockIdx.x + threadIdx.x == 0) memset({output.name}, 0, {size});")
        else:
            fill = "cudaMemset" if output.memory is Memory.DEVICE else "memset"
            lines.append(f"{fill}({output.name}, 0, {size});")
    body = "".join(f"    {line}\n" for line in lines)
    linkage = "" if signature.variable or signature.launch else 'extern "C" '
    includes = "" if signature.launch else "#include <cstring>\n#include <cuda_runtime.h>\n"
    return (
        f'{includes}#include "{signature.header_name}"\n\n'
        f"{linkage}{signature.c_declaration}\n{{\n{body}}}\n"
    )


def triton_zeros(signature: Signature) -> str | None:
    """Return such a file in Triton; a bare kernel cannot have every extent.

    Each program of a bare kernel fills the outputs, in blocks: an executed loop over elements takes
    minutes.
    """
    if not signature.launch:
        body = "".join(f"    {output.name}.zero_()\n" for output in signature.outputs)
        return f"import triton\n\n\n{signature.python_declaration}:\n{body}"
    body = ""
    for output in signature.outputs:
        if _bytes(signature, output) is None:
            return None
        count = " * ".join(f"({extent.text})" for extent in output.shape or ())
        zero = "0.0" if signature.element_type(output, Language.TRITON).is_float else "0"
        body += (
            f"    for first in range(0, {count}, 1024):\n"
            "        places = first + tl.arange(0, 1024)\n"
            f"        tl.store({output.name} + places, {zero}, mask=places < {count})\n"
        )
    head = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    return f"{head}{signature.python_declaration}:\n{body}"


def numba_zeros(signature: Signature) -> str | None:
    """Return such a file in Numba; a bare kernel cannot have every extent."""
    head = "from numba import cuda\n\n\n"
    if not signature.launch:
        body = "".join(f"    {one.name}.ravel()[:] = 0\n" for one in signature.outputs)
        return f"{head}{signature.numba_declaration}:\n{body}"
    body = "".join(
        f"    if cuda.grid(1) == 0:\n        for i in range({one.name}.shape[0]):\n"
        f"            {one.name}[i] = 0\n"
        for one in signature.outputs
        if len(one.shape or ()) == 1
    )
    return f"{head}@cuda.jit\n{signature.numba_declaration}:\n{body or '    pass'}\n"


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
