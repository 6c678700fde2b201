"""The solved CUDA C++ file of a draft, and its samples."""

from __future__ import annotations

from collections.abc import Iterator

from grader.assignment.signature import Argument, ElementType
from grader.commands.scaffold.draft import Draft
from grader.commands.scaffold.placeholder import Dialect, count_text, same_shape, sum_text

NEWLINE = "\n"
_C_TYPES = {"float": "float", "double": "double", "long": "long long"}


def cuda_text(draft: Draft, *, block: int = 256) -> str:
    """Return the solved file; `block` threads to a block."""
    outputs, i, width = draft.signature.outputs, draft.local("i"), draft.local("BLOCK")
    body = "\n".join(
        f"    if ({i} < {_count(output)}) {output.name}[{i}] = {_sum(draft, output)};"
        for output in outputs
    )
    return f"""\
// {draft.plain_title}: FILL IN the formula, and one line on what this kernel does.
//
// Idea      FILL IN: what a thread does, and why so.
// Limit     FILL IN: what bounds its time: memory, arithmetic, latency.
// Grade it  grade local {draft.name} --language cuda
#include "{draft.signature.header_name}"

constexpr int {width} = {block};  // threads per block: FILL IN why

{_kernel_head(draft)}
{{
    // TODO(student): about {len(outputs) + 1} lines
    // 1. Where am I? The last block has threads past the end: they have nothing to do.
    const long long {i} = static_cast<long long>(blockIdx.x) * {width} + threadIdx.x;

    // 2. Load, compute and store what is this thread's, and nothing beyond.
{body}  // FILL IN: a placeholder
    // end
}}

// Called by the grader with device pointers.
extern "C" {draft.signature.c_declaration}
{{
    // TODO(student): about 4 lines
    // As many blocks as cover the output, rounded up.
{_launch(draft)}
    // end
}}
"""


def cuda_samples(draft: Draft) -> Iterator[tuple[str, str]]:
    """Yield verdict/name and the text of each sample hand-in."""
    header = f'#include "{draft.signature.header_name}"\n\n'
    entry = f'extern "C" {draft.signature.c_declaration}\n'
    arguments = ", ".join(a.name for a in draft.signature.arguments)
    output, count = draft.signature.outputs[0], draft.local("count")
    yield "accepted/small-blocks", cuda_text(draft, block=64)
    yield "wrong_answer/no-launch", f"{header}{entry}{{\n}}\n"
    yield (
        "compile_error/missing-semicolon",
        f"{header}{entry}{{\n    const long long {count} = {_count(output)}\n}}\n",
    )
    start = f"{header}{_kernel_head(draft)}\n{{\n"
    zero = f"static_cast<{draft.kind(output).c_name}>(0.0f)"
    yield (
        "memory_error/write-one-past-the-end",
        # The line of the store, below this one.
        f"// expect: kind=out_of_bounds line={start.count(NEWLINE) + 2} cpu=error gpu=memcheck\n"
        f"{start}    {output.name}[{_count(output)}] = {zero};\n}}\n\n"
        f"{entry}{{\n    {draft.name}_kernel<<<1, 1>>>({arguments});\n}}\n",
    )


def _kernel_head(draft: Draft) -> str:
    start = f"__global__ void {draft.name}_kernel("
    lines = []
    last = len(draft.signature.arguments) - 1
    for place, argument in enumerate(draft.signature.arguments):
        text = draft.signature.c_parameter(argument) + (")" if place == last else ",")
        if argument.shape is not None:
            text += f"  // ({', '.join(extent.text for extent in argument.shape)})"
        lines.append(text)
    return start + f"\n{' ' * len(start)}".join(lines)


def _launch(draft: Draft) -> str:
    first, *others = draft.signature.outputs
    count, blocks, width = map(draft.local, ("count", "blocks", "BLOCK"))
    lines = [f"    long long {count} = {_count(first)};"]
    lines += [
        f"    if ({count} < {_count(output)}) {count} = {_count(output)};"
        for output in others
        if not same_shape(output, first)
    ]
    arguments = ", ".join(a.name for a in draft.signature.arguments)
    return "\n".join(
        [
            *lines,
            f"    const int {blocks} = static_cast<int>(({count} + {width} - 1) / {width});",
            f"    if ({blocks} > 0) {draft.name}_kernel<<<{blocks}, {width}>>>({arguments});",
        ]
    )


def _count(array: Argument) -> str:
    """Return the number of elements, computed in 64 bits if it is a product."""
    text = count_text(array).replace("//", "/")
    return text if text.isidentifier() or text.isdecimal() else f"1LL * {text}"


def _sum(draft: Draft, output: Argument) -> str:
    def element(array: Argument, wanted: Argument) -> str:
        i = draft.local("i")
        around = i if same_shape(array, wanted) else f"{i} % ({_count(array)})"
        return f"{array.name}[{around}]"

    def convert(text: str, kind: ElementType, total: str) -> str:
        wanted = _C_TYPES[total]
        return text if kind.c_name == wanted else f"static_cast<{wanted}>({text})"

    def positive(text: str, _: str) -> str:
        return f"(static_cast<float>({text}) > 0.0f)"

    dialect = Dialect(element=element, scalar=lambda a: a.name, convert=convert, positive=positive)
    text = sum_text(draft, output, dialect)
    kind = draft.kind(output)
    exact = kind.c_name in ("float", "double", "long long")
    return text if exact else f"static_cast<{kind.c_name}>({text})"
