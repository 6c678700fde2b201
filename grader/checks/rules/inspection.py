"""Find out whether a submission does the work itself, as the assignment requires.

    CUDA C++   by the symbols that the built library is linked with, and by what its host code does
               in the checked host build (`host_work`)
    Triton     by what the executor of launches sees host code write to an output. Where there is
               no executor, or an output ends as host code left it, by running every case again
               without launches: an output that is right anyway is not a kernel's

The judge sees both itself. Suspicious text and the worker's own records are only flags for staff.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch

from grader.assignment.cases import Case
from grader.assignment.libraries import allowed_libraries
from grader.checks.check import CheckOutcome, HostCode
from grader.checks.common.case_run import CaseRun, RunSetup
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.executor_findings import NOT_OWN_HINT, not_own
from grader.checks.correctness.check import operations
from grader.checks.rules.host_work import HINT as HOST_WORK_HINT
from grader.checks.rules.symbol_rules import NO_BROKEN_RULE, broken_rules, suspicious_text
from grader.checks.source.triton_errors import host_write
from grader.judge.buffers import Buffer
from grader.judge.gpu_out_of_memory import GpuOutOfMemoryError
from grader.judge.oracle import CaseData
from grader.judge.session import Session
from grader.protocol.launches import LaunchMode
from grader.report.evidence import BrokenRule, RulesEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import Device, Memory, Visibility

_HOST_WRITES = "host code writes"
_STORE_HINT = (
    "the elements of an output must be stored by a kernel: give it the output as an argument, in "
    "the place of what is copied or computed here"
)
_MOST_CODE = 60  # characters of a line
_HINT = "remove it: this kernel must be written by hand"


def check_rules(
    setup: RunSetup,
    text: str,
    cases: Sequence[Case],
    data: Callable[[Case], CaseData],
    *,
    host: HostCode | None = None,
    host_work: BrokenRule | None = None,
) -> CheckOutcome[RulesEvidence]:
    """Inspect one built submission; `text` is its source file.

    `host` is what the executor of launches saw of the host code of right cases, if there is one;
    `host_work` is the rule that host code in C++ breaks.
    """
    arrays = setup.assignment.signature.arrays
    on_device = all(array.memory is Memory.DEVICE for array in arrays)
    allowed = allowed_libraries(setup.assignment, setup.built.file) or frozenset()
    words = suspicious_text(text, all_on_device=on_device, allowed=allowed)
    flags = [*words, *setup.built.flags]
    if host is not None and host.wrote:
        broken = BrokenRule(rule="own_kernel", message=_not_own(setup, text))
        evidence = RulesEvidence(broken=(broken,), flags=tuple(flags))
    elif host is not None and not host.left:
        evidence = RulesEvidence(broken=(), flags=(*flags, *_torch(host.operations)))
    elif setup.built.language.imported:
        evidence = _without_launches(setup, text, cases, data, flags)
    elif setup.built.path.suffix == ".so":
        evidence = _linked(setup, flags, host_work, allowed)
    else:
        evidence = RulesEvidence(broken=(), flags=tuple(flags))
    if evidence.broken:
        first = evidence.broken[0]
        named = f" ({', '.join(first.names)})" if first.names else ""
        hint = _HINT
        if first.rule == "own_kernel":
            hint = HOST_WORK_HINT if first is host_work else NOT_OWN_HINT
            if first.message.startswith(_HOST_WRITES):
                hint = _STORE_HINT
        message = f"{setup.built.file}: {first.message}{named}"
        diagnosis = Diagnosis(Verdict.FORBIDDEN, message, hint=hint)
    else:
        diagnosis = Diagnosis(Verdict.ACCEPTED, NO_BROKEN_RULE)
    return CheckOutcome(
        diagnosis=diagnosis,
        evidence=evidence,
        visibility=Visibility.VISIBLE if evidence.broken else Visibility.HIDDEN,
    )


def _linked(
    setup: RunSetup, flags: list[str], host_work: BrokenRule | None, allowed: frozenset[str]
) -> RulesEvidence:
    broken: tuple[BrokenRule, ...] = ()
    try:
        broken = broken_rules(
            setup.built.path, on_gpu=setup.built.device is Device.CUDA, allowed=allowed
        )
    except (OSError, ValueError) as error:
        flags.append(f"the symbols of the library could not be read: {error}")
    if host_work is not None:
        broken = (*broken, host_work)
    return RulesEvidence(broken=broken, flags=tuple(flags))


def _without_launches(
    setup: RunSetup,
    text: str,
    cases: Sequence[Case],
    data: Callable[[Case], CaseData],
    flags: list[str],
) -> RulesEvidence:
    """Call the submission with launches that do nothing, and compare the outputs."""
    run: list[str] = []
    written = 0
    limits = setup.assignment.limits
    mode = LaunchMode(idle=True)
    with Session(setup.built, limits, setup.server, mode=mode, budget=setup.budget) as session:
        outcome = session.load()
        for case in cases:
            if not outcome.done or written:
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
                    if case.visibility is Visibility.VISIBLE:  # a case's name reveals its sizes
                        run.append(case.name)
                    written += sum(_changed(before[name], after[name]) for name in after)
                    written = written or _right(case_run, before, after)
                    told = [one for one in outcome.records if one.get("record") == "torch"]
                    flags += _torch(operations(told))
                    if session.alive:
                        outcome = session.detach() if outcome.done else outcome
            except GpuOutOfMemoryError as error:
                flags.append(f"without launches: {case_run.out_of_memory(session, error).message}")
                break
        if not outcome.done:
            flags.append(f"the run without launches failed: {outcome.status.value}")
    own_rule = BrokenRule(rule="own_kernel", message=_not_own(setup, text))
    broken = (own_rule,) if written else ()
    return RulesEvidence(
        broken=broken, cases=tuple(run), written=written, flags=tuple(dict.fromkeys(flags))
    )


def _not_own(setup: RunSetup, text: str) -> str:
    """Say that host code has written an output, and where if its source shows it."""
    built = setup.built
    outputs = [one.name for one in setup.assignment.signature.arrays if one.role.written]
    found = host_write(text, built.entry, outputs)
    if found is None:
        return not_own(built.language)
    name, line, code = found
    code = code if len(code) <= _MOST_CODE else f"{code[:_MOST_CODE]}…"
    return f"{_HOST_WRITES} `{name}` in line {line}, `{code}`, and not a kernel of yours"


def _outputs(buffers: Sequence[Buffer]) -> dict[str, torch.Tensor]:
    return {buffer.name: buffer.snapshot() for buffer in buffers if buffer.role.written}


def _changed(before: torch.Tensor, after: torch.Tensor) -> int:
    """Return how many elements have changed; 0 if all changed elements have the same value.

    A kernel that sums with atomics needs an output of zeros, which torch may fill.
    """
    width = after.element_size()
    one, other = (
        t.contiguous().view(-1).view(torch.uint8).view(-1, width) for t in (before, after)
    )
    changed = other[(one != other).any(dim=1)]
    if not changed.numel() or bool((changed == changed[0]).all()):
        return 0
    return int(changed.shape[0])


def _right(
    case_run: CaseRun, before: Mapping[str, torch.Tensor], after: Mapping[str, torch.Tensor]
) -> int:
    """Return how many elements have changed, if all are right and are no zeros; else 0.

    This tells one element that torch has computed from one that it has cleared.
    """
    changed = sum(int((before[name] != after[name]).sum()) for name in after)
    zeros = not any(bool(after[name].any()) for name in after)
    right = changed and not zeros and all(one.accepted for one in case_run.compare(after))
    return changed if right else 0


def _torch(names: Sequence[str]) -> list[str]:
    return [f"calls torch.{name}" for name in names]
