"""The oracle of a draft: a page of torch."""

from __future__ import annotations

import re

from grader.assignment.signature import Argument, ElementType
from grader.commands.scaffold.draft import Draft
from grader.commands.scaffold.placeholder import Dialect, same_shape, sum_text


def oracle_text(draft: Draft) -> str:
    """Return oracle.py."""
    read = [array for array in draft.signature.arrays if array.role.read]
    made = "\n".join(f'        "{array.name}": {_random(draft, array)},' for array in read)
    results = "\n".join(f'        "{o.name}": {_sum(draft, o)},' for o in draft.signature.outputs)
    needs_round = any(
        not same_shape(array, output)
        for array in draft.inputs
        for output in draft.signature.outputs
    )
    around = _AROUND if needs_round else ""
    return f'''\
"""{draft.plain_title}: FILL IN the formula."""

import torch


def inputs(case, dtype, generator):
    """FILL IN: which values, and why they find mistakes; `case.values` may ask for others."""
    sizes = case.sizes
    return {{
{made}
    }}


def expected(inputs):
    """The exact result in float64. FILL IN: this is a placeholder, the sum of all inputs."""
    return {{
{results}
    }}


def baseline(inputs, outputs):
    """What a torch user would write. FILL IN: in float32, with torch's own fused operations."""
    for name, value in expected(inputs).items():
        outputs[name].copy_(value)
{around}'''


_AROUND = '''

def _around(values, shape):
    """The values again and again until they fill the shape (of the placeholder)."""
    count = torch.Size(shape).numel()
    flat = values.flatten()
    return flat.repeat(-(-count // len(flat)))[:count].reshape(shape)
'''


def _random(draft: Draft, array: Argument) -> str:
    shape = _shape(array, "sizes")
    kind = draft.kind(array)
    if kind.is_float:
        return f"torch.randn({shape}, generator=generator).to(torch.{kind.word})"
    return f"torch.randint(-9, 10, {shape}, generator=generator).to(torch.{kind.word})"


def _sum(draft: Draft, output: Argument) -> str:
    def element(array: Argument, wanted: Argument) -> str:
        plain = f'inputs["{array.name}"]'
        if array.shape == wanted.shape:
            return plain
        if same_shape(array, wanted):
            return f"{plain}.reshape({_shape(wanted, 'inputs')})"
        return f"_around({plain}, {_shape(wanted, 'inputs')})"

    def scalar(argument: Argument) -> str:
        kind = draft.kind(argument)
        value = f'inputs["{argument.name}"]'
        # as it is passed
        return f"torch.tensor({value}, dtype=torch.{kind.word})" if kind.is_float else value

    def convert(text: str, kind: ElementType, total: str) -> str:
        if text.startswith("inputs[") and text.endswith('"]') and not kind.is_float:
            return f"{text}"
        return f"{text}.double()" if total != "long" else text

    def positive(text: str, _: str) -> str:
        return f"({text} > 0).long()"

    dialect = Dialect(element=element, scalar=scalar, convert=convert, positive=positive)
    text = sum_text(draft, output, dialect)
    return f"({text}).{'double' if draft.kind(output).is_float else 'long'}()"


def _shape(array: Argument, sizes: str) -> str:
    """Return a shape as a tuple in Python, with each name looked up in `sizes`."""
    assert array.shape is not None
    extents = []
    for extent in array.shape:
        names = {name: f'{sizes}["{name}"]' for name in extent.names}
        extents.append(_replaced(extent.text, names))
    return f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"


def _replaced(text: str, names: dict[str, str]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), text)
