"""The spec and the handout of a draft."""

from __future__ import annotations

from collections.abc import Mapping

from grader.assignment.signature import Argument
from grader.commands.scaffold.draft import Draft
from grader.vocabulary import Language

_TOLERANCES = {
    "float16": "atol = 1e-3\nrtol = 2e-3",
    "bfloat16": "atol = 1e-2\nrtol = 2e-2",
    "float32": "atol = 1e-6\nrtol = 1e-5",
    "float64": "atol = 1e-13\nrtol = 1e-12",
}


def spec_text(draft: Draft, schema: str) -> str:
    """Return assignment.toml; `schema` is where editors find its JSON Schema."""
    arguments = "\n".join(f"  {_argument(a)}," for a in draft.signature.arguments)
    files = ", ".join(f'{language} = "{file}"' for language, file in draft.files.items())
    return f"""\
#:schema {schema}
format = 1
name = "{draft.name}"
title = {_quoted(draft.title)}

[signature]
entry = "{draft.name}"
arguments = [
{arguments}
]

[[kernels]]
name = "{draft.name}"
title = {_quoted(draft.title)}
files = {{ {files} }}
points = {{ correctness = 75, memory = 25 }}

# FILL IN: why these bounds. How far off may a good kernel be (the order of a sum,
# fast exponentials), and which wrong one is nearest (half precision: 5e-4)?
[tolerance]
{_tolerance(draft)}

# FILL IN: the seams of your kernels: one element, a warp, a block, a tile, off by one.
# They run under the memory tools too, so they are small.
[[cases]]
sizes = {_table(draft.small_cases())}
memory = true

# FILL IN: a larger one that no block size divides. Triton's interpreter takes about a
# millisecond a program: a few hundred programs at most, or `devices = ["cuda"]`.
[[cases]]
sizes = {_table(draft.large_case())}

# FILL IN: sizes that students do not know, drawn anew in each run of the course's grader.
[[cases]]
sizes = {_table(draft.hidden_case())}
count = 2
visibility = "hidden"
"""


def handout_text(draft: Draft) -> str:
    """Return the handout, README.md."""
    rows = "\n".join(
        f"| {word.phrase} | `{file}` | `{_entry(draft, word)}` |"
        for word, file in draft.files.items()
    )
    arguments = "\n".join(f"* `{a.name}`: {_described(a)}" for a in draft.signature.arguments)
    return f"""\
# {draft.title}

FILL IN: what the kernel computes, as a formula, and what one learns by writing it.

## What you write

| language | file | function |
|---|---|---|
{rows}

The stubs are in `student_template/{draft.name}/`: fill in what stands between `TODO(student)` and
`end`. Outputs belong to the grader: write every element, touch nothing beyond, return nothing.

{arguments}

## How to run the grader

    grade local {draft.name}                      # the stubs of this repository, or your files here
    grade local {draft.name} --from ~/homework    # your files elsewhere

## How it is scored

75 points for correctness, shared by the visible and the hidden cases; 25 points for memory safety.
FILL IN: the tolerance in words, and what the cases look at.

## Hints

1. FILL IN: what goes wrong first, and how one sees it in the report.
"""


def _argument(argument: Argument) -> str:
    words = [f'name = "{argument.name}"', f'type = "{argument.type}"']
    if argument.shape is not None:
        extents = ", ".join(f'"{extent.text}"' for extent in argument.shape)
        words += [f"shape = [{extents}]", f'role = "{argument.role}"']
    if argument.default is not None:
        words.append(f"default = {argument.default}")
    return f"{{ {', '.join(words)} }}"


def _tolerance(draft: Draft) -> str:
    """Return the bounds for the least precise of the outputs."""
    kinds = {output.type for output in draft.signature.outputs}
    return next((text for kind, text in _TOLERANCES.items() if kind in kinds), "exact = true")


def _table(sizes: Mapping[str, object]) -> str:
    values = {
        name: f"{{ min = {value[0]}, max = {value[1]} }}" if isinstance(value, tuple) else value
        for name, value in sizes.items()
    }
    return f"{{ {', '.join(f'{name} = {value}' for name, value in values.items())} }}"


def _quoted(text: str) -> str:
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'


def _entry(draft: Draft, language: Language) -> str:
    signature = draft.signature
    return signature.c_declaration if language is Language.CUDA else signature.python_declaration


def _described(argument: Argument) -> str:
    if argument.shape is None:
        return f"{argument.type}. FILL IN: what it is, and what may be assumed about it."
    shape = " × ".join(extent.text for extent in argument.shape)
    layout = ", row-major" if len(argument.shape) > 1 else ""
    use = {"in": "to be read only", "out": "to be written", "inout": "to be read and written"}
    return f"{shape} values, {argument.type}{layout}, {use[argument.role.value]}. FILL IN: meaning."
