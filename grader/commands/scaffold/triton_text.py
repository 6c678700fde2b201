"""The solved Triton file of a draft, and its samples."""

from __future__ import annotations

from collections.abc import Iterator

from grader.assignment.signature import Argument, ElementType
from grader.commands.scaffold.draft import Draft
from grader.commands.scaffold.placeholder import Dialect, count_text, same_shape, sum_text

_TL_TYPES = {"float": "tl.float32", "double": "tl.float64", "long": "tl.int64"}
_TL_KINDS = {"float32": "float", "float64": "double", "int64": "long"}


def triton_text(draft: Draft, *, block: int = 1024) -> str:
    """Return the solved file; `block` elements to a program."""
    offsets, width, total = map(draft.local, ("offsets", "BLOCK", "count"))
    body = "\n".join(_output(draft, output) for output in draft.signature.outputs)
    first, *others = draft.signature.outputs
    counts = [count_text(first), *(count_text(o) for o in others if not same_shape(o, first))]
    count = counts[0] if len(counts) == 1 else f"max({', '.join(counts)})"
    arguments = ", ".join(a.name for a in draft.signature.arguments)
    return f'''\
# {draft.plain_title}: FILL IN the formula, and one line on what this kernel does.
#
# Idea      FILL IN: what a program does, and why so.
# Limit     FILL IN: what bounds its time: memory, arithmetic, latency.
# Grade it  grade local {draft.name} --language triton
import triton
import triton.language as tl


{_kernel_head(draft)}
    """FILL IN: what one program computes."""
    # TODO(student): about {2 + 4 * len(draft.signature.outputs)} lines
    # 1. Where am I: the BLOCK offsets of this program.
    {offsets} = tl.program_id(0).to(tl.int64) * {width} + tl.arange(0, {width})

    # 2. Load, compute and store; the mask says which of them exist.
{body}
    # end


def {draft.name}(
{_parameters(draft)}
):
    """Launch the kernel; results go into the outputs, nothing is returned."""
    # TODO(student): about 3 lines
    # As many programs as cover the output, rounded up.
    {width} = {block}  # FILL IN why
    {total} = {count}
    {draft.name}_kernel[(triton.cdiv({total}, {width}),)]({arguments}, {width}={width})
    # end
'''


def triton_samples(draft: Draft) -> Iterator[tuple[str, str]]:
    """Yield verdict/name and the text of each sample hand-in."""
    names = ", ".join(a.name for a in draft.signature.arguments)
    output, count = draft.signature.outputs[0], draft.local("count")
    yield "accepted/small-blocks", triton_text(draft, block=256)
    yield "wrong_answer/no-launch", f"def {draft.name}({names}):\n    pass\n"
    yield "compile_error/misnamed-function", f"def {draft.name}_({names}):\n    pass\n"
    yield (
        "memory_error/write-one-past-the-end",
        "# expect: kind=out_of_bounds line=8 cpu=error gpu=memcheck\n"
        "import triton\nimport triton.language as tl\n\n\n"
        f"@triton.jit\ndef {draft.name}_kernel({output.name}, {count}):\n"
        f"    tl.store({output.name} + {count}, 0)\n\n\n"
        f"def {draft.name}({names}):\n"
        f"    {draft.name}_kernel[(1,)]({output.name}, {count_text(output)})\n",
    )


def _kernel_head(draft: Draft) -> str:
    parameters = "\n".join(f"    {_commented(a)}" for a in draft.signature.arguments)
    return (
        f"@triton.jit\ndef {draft.name}_kernel(\n{parameters}\n"
        f"    {draft.local('BLOCK')}: tl.constexpr,  # elements per program, a power of two\n):"
    )


def _parameters(draft: Draft) -> str:
    return "\n".join(f"    {_commented(a)}" for a in draft.signature.arguments)


def _commented(argument: Argument) -> str:
    if argument.shape is None:
        return f"{argument.name},  # {argument.type}"
    extents = ", ".join(extent.text for extent in argument.shape)
    use = {"in": "to be read", "out": "to be written", "inout": "to be read and written"}
    return f"{argument.name},  # ({extents}) {argument.type}, {use[argument.role.value]}"


def _output(draft: Draft, output: Argument) -> str:
    """Return the lines that compute one output."""
    loads = []
    offsets, mask, result = map(draft.local, ("offsets", "mask", "result"))

    def element(array: Argument, wanted: Argument) -> str:
        around = offsets if same_shape(array, wanted) else f"{offsets} % ({count_text(array)})"
        name = f"{array.name}_here"
        loads.append(f"    {name} = tl.load({array.name} + {around}, mask={mask}, other=0)")
        return name

    def convert(text: str, kind: ElementType, total: str) -> str:
        if _TL_KINDS.get(kind.word) == total or not text.endswith("_here"):
            return text
        return f"{text}.to({_TL_TYPES[total]})"

    def positive(text: str, total: str) -> str:
        return f"({text} > 0).to({_TL_TYPES[total]})" if text.endswith("_here") else f"({text} > 0)"

    dialect = Dialect(element=element, scalar=lambda a: a.name, convert=convert, positive=positive)
    text = sum_text(draft, output, dialect)
    return "\n".join(
        [
            f"    {mask} = {offsets} < {count_text(output)}",
            *loads,
            f"    {result} = {text}  # FILL IN: a placeholder",
            f"    tl.store({output.name} + {offsets}, {result}, mask={mask})",
        ]
    )
