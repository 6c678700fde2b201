"""References and samples give the verdicts of their folders, executed from their IR."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
import torch
from grader.assignment.cases import Case
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.emulation.common.errors import TimeLimitError
from grader.judge.compare import compare
from grader.judge.oracle import CaseData, Oracle
from grader.vocabulary import Device, Language, Role
from ir_kernels import Calls, load, unwritten
from paths import REPOSITORY
from slow import slow_unless

REFERENCE = REPOSITORY / "reference"
# Of these folders the launches decide; elsewhere Triton's compiler does, or the host's code.
DECIDED = ("accepted", "too_slow", "wrong_answer", "memory_error", "time_limit")
# torch does the work, or nobody.
NO_LAUNCH = ("v0_torch.py",)
# The host loops for ever.
ENDLESS_HOST = (
    Path("silu/samples/time_limit/sleeps-in-every-call/silu.py"),
    Path("silu/samples/time_limit/endless-loop/silu.py"),
    Path("rms_norm_matrix/samples/time_limit/endless-loop/rms_norm_matrix.py"),
)
# What a sample replaces.
CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "time_ns", "monotonic_ns")
LIMIT_S = 0.5
QUICK = (
    "silu/silu", "silu/samples/memory_error/missing-mask", "silu/samples/memory_error/lanes",
    "silu/samples/memory_error/uninit", "silu/samples/memory_error/count",
    "silu/samples/wrong_answer", "silu/samples/accepted/scratch-tensor",
)  # fmt: skip


def samples() -> Iterator[Path]:
    for file in sorted(REFERENCE.glob("*/*.py")):
        if file.name not in NO_LAUNCH and not file.stem.endswith("_numba"):
            yield file.relative_to(REFERENCE)
    for file in sorted(REFERENCE.glob("*/samples/*/*/*.py")):
        name = file.relative_to(REFERENCE)
        decided = file.parent.parent.name in DECIDED and file.name not in NO_LAUNCH
        if decided and name not in ENDLESS_HOST:
            yield name


def is_quick(file: Path) -> bool:
    return file.as_posix().startswith(QUICK)


@functools.cache
def prepared(name: str, number: int) -> tuple[Assignment, tuple[tuple[Case, CaseData], ...]]:
    """Return an entry of an assignment, with its cases."""
    assignment = read_assignment(REPOSITORY / "assignments" / name).of_entries[number]
    oracle = Oracle(assignment)
    drawn = assignment.draw_cases(Device.CPU, Language.TRITON, public_seed=0, secret_seed=0)
    return assignment, tuple((case, oracle.data(case, Language.TRITON)) for case in drawn)


def called(file: Path) -> tuple[bool, Calls]:
    """Call a file's entry in every case; return whether all are right, and what was found."""
    module = load(REFERENCE / file)
    whole = read_assignment(REPOSITORY / "assignments" / file.parts[0])
    entries = [one.signature.entry for one in whole.of_entries]
    number = next(n for n, entry in enumerate(entries) if hasattr(module, entry))
    assignment, cases = prepared(file.parts[0], number)
    calls, right = Calls(), True
    deadline_s = time.thread_time() + LIMIT_S if "time_limit" in file.parts else None
    for case, data in cases:
        signature = assignment.signature_of(case)
        calls = Calls(found=calls.found, deadline_s=deadline_s)
        given: dict[str, object] = {}
        outputs: dict[str, torch.Tensor] = {}
        for argument in signature.arguments:
            name = argument.name
            if argument.role is Role.INOUT:
                outputs[name] = given[name] = data.inputs[name].clone()
                calls.give(name, outputs[name], bare=True)
            elif name in data.expected:
                kind = signature.bound(case.dtype).element_type(argument, Language.TRITON)
                outputs[name] = given[name] = unwritten(
                    torch.empty(data.expected[name].shape, dtype=getattr(torch, kind.word))
                )
                calls.give(name, outputs[name], bare=True)
            elif name in data.inputs:
                tensor = given[name] = data.inputs[name].clone()
                calls.give(name, tensor, writable=False)
            else:
                given[name] = signature.scalar(argument, case.sizes)
        entry = getattr(module, signature.entry)
        with calls.patched():
            if launch := case.launch or signature.launch:
                grid, block = launch.numbers(case.sizes)[:3], launch.numbers(case.sizes)[3:6]
                names = dict(zip(launch.constexprs, block, strict=False))
                entry[grid](*given.values(), **names)
            else:
                entry(*given.values())
        for name, output in outputs.items():
            tolerance = assignment.tolerance(case, Language.TRITON, name)
            right &= compare(name, output, data.expected[name], tolerance).accepted
    return right, calls


@pytest.mark.parametrize("file", slow_unless(is_quick, samples()), ids=str)
def test_verdict_of_the_folder(file: Path) -> None:
    verdict = file.parts[2] if len(file.parts) > 2 else "accepted"
    if verdict == "time_limit":
        with pytest.raises(TimeLimitError):
            called(file)
        return
    with mock.patch.multiple(time, **{name: getattr(time, name) for name in CLOCKS}):
        right, calls = called(file)
    found = [(finding.line, finding.severity, finding.message) for finding in calls.findings]
    if verdict == "wrong_answer":
        assert not right or found  # a store to an input changes nothing
    elif verdict == "memory_error":
        assert found
    else:
        assert right
        assert found == []
