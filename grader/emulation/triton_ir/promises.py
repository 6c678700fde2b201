"""What a kernel promises of its numbers: `tl.multiple_of` and `tl.max_contiguous`.

The compiler believes it, and makes wide accesses of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch

from grader.emulation.common.findings import Finding
from grader.emulation.triton_ir import messages
from grader.emulation.triton_ir.ir import Operation
from grader.emulation.triton_ir.memory import Memory
from grader.emulation.triton_ir.types import Scalar, element_of
from grader.emulation.triton_ir.values import Item, Value

T = torch.Tensor
_MULTIPLE, _RUN = "tt.divisibility", "tt.contiguity"


def check_promises(op: Operation, results: Sequence[Item], memory: Memory, programs: T) -> None:
    """Report what an operation promises of a number or a block, and does not keep.

    Of a block, multiples are where runs begin: of its first element in any case. A run that
    begins anew at 0 is that of an index that wraps round, or that was replaced by 0.
    """
    if _MULTIPLE not in op.attributes and _RUN not in op.attributes:
        return
    value = results[0] if results else None
    kind = element_of(op.result_types[0]) if op.result_types else None
    if not isinstance(value, Value) or not isinstance(kind, Scalar):
        return
    if value.dtype.is_floating_point or len(value.shape) > 2 or value.undefined is not None:
        return
    numbers = value.data.view(len(value.data), -1)
    claim, run = _claim(op, _MULTIPLE), _claim(op, _RUN)

    def report(words: str, hint: str, false: T) -> None:
        program = programs[int(false[0]) if len(numbers) > 1 else 0]
        finding = Finding(
            kind="misaligned",
            severity="warning",
            message=words,
            hint=hint,
            access="load",
            program=memory.program(int(program)),
            count=len(false),
        )
        memory.found.add(finding, op.location)

    if claim > 1:
        first = numbers[:, 0]
        false = torch.nonzero(first.remainder(claim)).reshape(-1)
        if len(false):
            words = messages.false_promise(claim, int(first[false[0]]))
            report(words, messages.PROMISE_HINT, false)
    if run > 1 and numbers.shape[1] % run == 0:
        runs = numbers.view(len(numbers), -1, run)
        before, after = runs[..., :-1], runs[..., 1:]
        places = torch.nonzero((after != before + 1) & (after != 0))
        if len(places):
            place = tuple(places[0].tolist())
            words = messages.false_run(run, int(before[place]), int(after[place]))
            report(words, messages.RUN_HINT, torch.unique(places[:, 0]))


def _claim(op: Operation, name: str) -> int:
    """Return the number that an attribute promises of a number or of a one-dimensional block."""
    found = re.search(r"\d+", op.attributes.get(name, ""))
    return int(found[0]) if found else 0
