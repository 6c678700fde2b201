"""Does the hand-in do the work itself, as the assignment asks?

    CUDA C++   what the built library was linked with (`linked`)
    Triton     every case once more with all launches left out: an output that
               is written all the same was written by something else

Both are seen by the judge itself. What the text merely says, and what the
worker tells of itself, are flags for staff. A kernel whose rules allow torch is
not looked at.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch

from grader.assignment.cases import Case
from grader.checks.check import CheckOutcome
from grader.checks.common.case_run import CaseRun, RunSetup
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.rules.symbol_rules import KEPT, broken_rules, worth_a_look
from grader.judge.buffers import Buffer
from grader.judge.gpu_out_of_memory import GpuOutOfMemoryError
from grader.judge.oracle import CaseData
from grader.judge.session import Session
from grader.report.evidence import BrokenRule, RulesEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import Device, Language, Memory, Visibility

NOT_OWN = "the result is computed by torch, not by a kernel of yours"
NOT_OWN_HINT = (
    "with all launches of your kernels left out, the output was written all the same: "
    "let a kernel of your own compute and store the result"
)
_HINT = "take it out: this kernel is to be written by hand"


def check_rules(
    setup: RunSetup, text: str, cases: Sequence[Case], data: Callable[[Case], CaseData]
) -> CheckOutcome[RulesEvidence]:
    """Look at what one built hand-in does; `text` is the file as handed in."""
    started_s = time.monotonic()
    arrays = setup.assignment.signature.arrays
    on_device = all(array.memory is Memory.DEVICE for array in arrays)
    flags = [*worth_a_look(text, all_on_device=on_device), *setup.built.doubts]
    if setup.built.language is Language.TRITON:
        evidence = _without_launches(setup, cases, data, flags)
    else:
        evidence = _linked(setup, flags)
    if evidence.broken:
        first = evidence.broken[0]
        named = f" ({', '.join(first.names)})" if first.names else ""
        hint = NOT_OWN_HINT if first.rule == "own_kernel" else _HINT
        message = f"{setup.built.file}: {first.message}{named}"
        diagnosis = Diagnosis(Verdict.FORBIDDEN, message, hint=hint)
    else:
        diagnosis = Diagnosis(Verdict.ACCEPTED, KEPT)
    wall_s = round(time.monotonic() - started_s, 3)
    return CheckOutcome(
        diagnosis=diagnosis,
        evidence=evidence,
        wall_s=wall_s,
        visibility=Visibility.VISIBLE if evidence.broken else Visibility.HIDDEN,
    )


def _linked(setup: RunSetup, flags: list[str]) -> RulesEvidence:
    broken: tuple[BrokenRule, ...] = ()
    try:
        broken = broken_rules(setup.built.path, on_gpu=setup.built.device is Device.CUDA)
    except (OSError, ValueError) as error:
        flags.append(f"the symbols of the library could not be read: {error}")
    return RulesEvidence(broken=broken, flags=tuple(flags))


def _without_launches(
    setup: RunSetup, cases: Sequence[Case], data: Callable[[Case], CaseData], flags: list[str]
) -> RulesEvidence:
    """Call the hand-in while its launches do nothing, and look at the outputs."""
    broken: list[BrokenRule] = []
    run: list[str] = []
    written = 0
    with Session(setup.built, setup.assignment.limits, setup.server, idle=True) as session:
        outcome = session.load()
        for case in cases:
            if not outcome.done or broken:
                break
            case_run = CaseRun(setup, case, data(case))
            try:
                with case_run.buffers() as buffers:
                    outcome = session.attach(buffers)
                    if not outcome.done:
                        break
                    case_run.fill(buffers, poison=0)
                    before = _outputs(buffers)
                    outcome = session.call(case_run.arguments(), private=setup.private)
                    after = _outputs(buffers)
                    if case.visibility is Visibility.VISIBLE:  # a name tells the sizes
                        run.append(case.name)
                    written += sum(_changed(before[name], after[name]) for name in after)
                    if written:
                        broken.append(BrokenRule(rule="own_kernel", message=NOT_OWN))
                    for record in outcome.records:
                        flags += _torch(record)
                    if session.alive:
                        outcome = session.detach() if outcome.done else outcome
            except GpuOutOfMemoryError as error:
                flags.append(f"without launches: {case_run.out_of_memory(session, error).message}")
                break
        if not outcome.done:
            flags.append(f"without launches it did not end well: {outcome.status.value}")
    return RulesEvidence(
        broken=tuple(broken), cases=tuple(run), written=written, flags=tuple(dict.fromkeys(flags))
    )


def _outputs(buffers: Sequence[Buffer]) -> dict[str, torch.Tensor]:
    return {buffer.name: buffer.snapshot() for buffer in buffers if buffer.role.written}


def _changed(before: torch.Tensor, after: torch.Tensor) -> int:
    """Return how many elements have changed; 0 if all of those now hold one and the same value.

    A kernel that adds up with atomics needs an output of zeros, and torch may make it so.
    """
    width = after.element_size()
    one, other = (
        t.contiguous().view(-1).view(torch.uint8).view(-1, width) for t in (before, after)
    )
    changed = other[(one != other).any(dim=1)]
    if not changed.numel() or bool((changed == changed[0]).all()):
        return 0
    return int(changed.shape[0])


def _torch(record: object) -> list[str]:
    """Return what the worker tells of torch's operations, cut to something readable."""
    names = record.get("operations") if isinstance(record, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return []
    return [f"calls torch.{name[:40]}" for name in names[:20]]
