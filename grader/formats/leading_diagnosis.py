"""The diagnosis that a kernel's block begins with: the likeliest cause of all that failed.

A fault in memory explains wrong answers, so it comes first; a leak explains nothing. What the
correctness check says comes next, then the first check that failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from grader.build.diagnostics import advice
from grader.report.evidence import (
    BuildEvidence,
    CorrectnessEvidence,
    Diagnostic,
    Finding,
    FindingKind,
    MemoryEvidence,
)
from grader.report.model import CheckResult, KernelResult
from grader.report.verdict import Verdict
from grader.text.hints import matching_hint
from grader.vocabulary import CheckName, Visibility

# A barrier that some threads miss is the cause of races and of garbage.
_ORDER: tuple[FindingKind, ...] = (
    "barrier", "misaligned", "out_of_bounds", "invalid_copy", "race", "uninitialized", "leak",
)  # fmt: skip

_OUTSIDE_ARRAY = "an array index is outside the array"
_MISSED_BARRIER = "threads end before a barrier"  # of the checker (`emulation/cuda_cpp/runtime`)
# The hint of a race by which threads leave a loop, and so miss its barrier.
_LEAVES_BY_IT = re.compile("threads leave the loop by what they read")
# The hint of a race that spoils each wait at the barrier.
_NOT_READY = re.compile(r"one thread initialises `\w+` in line \d+ while others")
# What threads that miss a barrier leave undone.
_OF_MISSED_BARRIER = frozenset({"race", "uninitialized"})

# Kinds that a mistake which the wrong elements name can bring with it, as a wrong stride does.
_EXPLAINED = frozenset({"out_of_bounds", "uninitialized", "leak"})
# A run of the case alone is a proof, whatever fault the kept state leads to, except a race or
# a read past an end or an access outside a tile: what they give differs between processes.
_KEPT = "in a process of its own"
# Mistakes of their own, whatever numbers they lead to.
_CERTAIN = (
    "freed memory",
    "host code accesses memory past the end of what it allocated",
    "shared memory is read before an asynchronous copy",
)
# What wrong elements can have in common by chance, whatever the mistake is.
_BY_CHANCE = re.compile(r"wrong exactly where|not finite exactly|the errors follow")
_LACKS_TERMS = re.compile(r"the sum over `\w+` (?:lacks|has only)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What to read first; `shown` is the finding or diagnostic that has the message."""

    message: str
    hint: str
    shown: Finding | Diagnostic | None = None


def leading_diagnosis(kernel: KernelResult) -> Lead | None:
    """Return the diagnosis to begin with, from visible checks; None if nothing visible failed."""
    failed = [
        check
        for check in kernel.checks
        if check.visibility is Visibility.VISIBLE
        and check.verdict.judged
        and not check.verdict.earns_points
        and check.verdict is not Verdict.TOO_SLOW
    ]
    if not failed:
        return None
    verdicts = {check.verdict for check in failed}
    if not verdicts & {Verdict.TAMPERED, Verdict.FORBIDDEN, Verdict.COMPILE_ERROR}:
        wrong = next((check for check in failed if check.check is CheckName.CORRECTNESS), None)
        finding = _finding(failed, explains=wrong is not None)
        missed = _first_warning(kernel, _MISSED_BARRIER)
        if missed is not None and finding is not None and _of_missed_barrier(finding):
            return Lead(message=missed.message, hint=missed.hint, shown=missed)
        known = wrong is not None and _names_cause(wrong)
        if known and (finding is None or _explains(wrong, finding)):
            assert wrong is not None
            return Lead(message=wrong.message, hint=wrong.hint)
        # What a compiler is sure of explains every fault that follows from it.
        warned = _uninitialized(kernel, sure=finding is not None)
        wrong_answer = wrong is not None and wrong.verdict is Verdict.WRONG_ANSWER
        if warned is not None and (finding is not None or wrong_answer):
            return Lead(message=warned.message, hint=advice(warned.message), shown=warned)
        if missed is not None and finding is None and wrong_answer:
            return Lead(message=missed.message, hint=missed.hint, shown=missed)
        if finding is None and wrong_answer:
            finding = _race_between_blocks(failed)
        if finding is not None:
            return Lead(message=finding.message, hint=finding.hint, shown=finding)
    if Verdict.RUNTIME_ERROR in verdicts:
        outside = _first_warning(kernel, _OUTSIDE_ARRAY)
        if outside is not None:
            return Lead(message=outside.message, hint=outside.hint, shown=outside)
    if verdicts & {Verdict.TIME_LIMIT, Verdict.RUNTIME_ERROR}:
        endless = _warning(kernel, "is always ")
        if endless is not None:
            return Lead(message=endless.message, hint=advice(endless.message), shown=endless)
    check = next((c for c in failed if c.verdict is kernel.verdict), failed[0])
    if kernel.verdict is Verdict.MEMORY_ERROR:
        check = failed[0]
    if isinstance(check.evidence, BuildEvidence):
        errors = [found for found in check.evidence.diagnostics if found.message in check.message]
        return Lead(message=check.message, hint=check.hint, shown=errors[0] if errors else None)
    return Lead(message=check.message, hint=check.hint)


def _names_cause(wrong: CheckResult) -> bool:
    """True if the pattern that a message begins with, without the case it is of, is a known one."""
    patterns = {wrong.message}
    if isinstance(wrong.evidence, CorrectnessEvidence):
        found = {case.pattern or "" for case in wrong.evidence.cases}
        patterns |= {one for one in found if one and wrong.message.startswith(one)}
    return any(matching_hint(one, "pattern") for one in patterns)


def _first_warning(kernel: KernelResult, words: str) -> Finding | None:
    """Return the first visible finding whose message begins with the words, None without one."""
    return next(
        (
            finding
            for check in kernel.checks
            if check.visibility is Visibility.VISIBLE and isinstance(check.evidence, MemoryEvidence)
            for finding in check.evidence.findings
            if finding.message.startswith(words)
        ),
        None,
    )


def _race_between_blocks(failed: Iterable[CheckResult]) -> Finding | None:
    """Return the warning that one block reads what another adds to, None if there is none."""
    return next(
        (
            finding
            for check in failed
            if isinstance(check.evidence, MemoryEvidence)
            for finding in check.evidence.findings
            if finding.kind == "race"
            and finding.severity == "warning"
            and finding.message.startswith("different blocks")
            and "read" in (finding.access, finding.other_access)
        ),
        None,
    )


def _uninitialized(kernel: KernelResult, *, sure: bool) -> Diagnostic | None:
    """Return the compiler's warning about a variable without a value, None if there is none.

    With `sure`, "may be used" is not enough.
    """
    found = _warning(kernel, "is used uninitialized")
    return (
        found if found is not None or sure else _warning(kernel, "used uninitialized", placed=True)
    )


def _warning(kernel: KernelResult, words: str, *, placed: bool = False) -> Diagnostic | None:
    """Return the first warning of a compiler with these words, if `placed` one with a line."""
    return next(
        (
            found
            for check in kernel.checks
            if isinstance(check.evidence, BuildEvidence)
            for found in check.evidence.diagnostics
            if words in found.message and (found.line is not None or not placed)
        ),
        None,
    )


def _of_missed_barrier(finding: Finding) -> bool:
    return finding.kind in _OF_MISSED_BARRIER and not _LEAVES_BY_IT.match(finding.hint)


def _explains(wrong: CheckResult | None, finding: Finding) -> bool:
    """True if the mistake that the wrong elements name can bring the finding with it.

    An index outside a tile and a variable without a value are nearer to the cause than numbers, and
    so is an element of a tile that nobody wrote, where terms are missing.
    """
    if finding.message.startswith(_CERTAIN):
        return False
    in_local = finding.kind == "uninitialized" and finding.space is None
    if wrong is None or in_local or _BY_CHANCE.search(wrong.message):
        return False
    if _KEPT in wrong.message:
        outside = finding.kind == "out_of_bounds"
        past_end = outside and (finding.access == "read" or finding.space == "shared")
        return not past_end and finding.kind != "race"
    in_tile = finding.space == "shared" and finding.kind == "out_of_bounds"
    if finding.space == "shared" and finding.kind == "uninitialized":
        in_tile = _LACKS_TERMS.search(wrong.message) is not None
    return finding.kind in _EXPLAINED and not in_tile


def _finding(failed: Iterable[CheckResult], *, explains: bool) -> Finding | None:
    """Return the strongest error; with `explains`, one that can be the cause of wrong answers."""
    found = [
        finding
        for check in failed
        if isinstance(check.evidence, MemoryEvidence)
        for finding in check.evidence.findings
        if finding.severity == "error" and not (explains and finding.kind == "leak")
    ]
    return min(
        found,
        key=lambda one: (
            not _NOT_READY.match(one.hint),
            _ORDER.index(one.kind),
            one.line or 0,
        ),
        default=None,
    )
