"""Is the hand-in's use of memory sound? Small cases again, under a tool that watches.

    GPU, both languages   compute-sanitizer's four tools, side by side
    processor, CUDA C++   the checked host build: every access is looked at
    processor, Triton     the interpreter: every address is looked at

A tool's silence is the worker's word. It counts only together with what the
judge saw: every case of the run gave right outputs in the judge's own copy,
and accesses were counted. Findings cost points whoever tells them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from grader.check import interpreter_findings, sanitizer
from grader.check.ending import Doing, Sentence, explain
from grader.check.finding import SHOWN, folded, hint, sentence
from grader.check.host_findings import INPUT_HINT, HostRun, locator, read_run
from grader.check.host_findings import TOOL as HOST_TOOL
from grader.check.stage import Bench, Stage
from grader.evidence import Finding, MemoryEvidence, ToolRun
from grader.judge.oracle import CaseData
from grader.judge.session import Session
from grader.spec import Case, Limits
from grader.toolchain import Tool
from grader.verdict import Verdict
from grader.words import Memory

Prepared = tuple[Case, CaseData]

# Under a sanitizer a kernel runs some ten to a hundred times slower.
_CALL_S = 20.0
_LOAD_S = 120.0
_FINISH_S = 30.0
_SCHEDULES = ("schedule=forward", "schedule=random seed=1")
_MEMORY_MIB = 32768  # the tool's own share, for the most part


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryVerdict:
    """The outcome of the memory check; no evidence if nothing could be run."""

    sentence: Sentence
    evidence: MemoryEvidence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Walk:
    """What the judge saw of one run over all cases; `failure` is the first thing wrong.

    `told` is what the worker said meanwhile.
    """

    failure: Sentence | None
    wrong: bool
    told: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """One tool's run. `silent` is why its silence would prove nothing, if so."""

    run: ToolRun
    walk: _Walk
    findings: tuple[Finding, ...]
    output: str
    silent: str | None = None
    tampered: str | None = None

    @property
    def convicts(self) -> bool:
        """True if it is the hand-in's fault, whatever the outputs."""
        errors = any(finding.severity == "error" for finding in self.findings)
        return errors or self.tampered is not None


def check_host_memory(
    bench: Bench, text: str, cases: Sequence[Prepared], advance: Callable[[str], None]
) -> MemoryVerdict:
    """Run a checked host build; `text` is the student's file as rewritten.

    Twice, if the first run finds nothing: threads run one after another here,
    and what depends on their order comes out right in one order only.
    """
    seen = _host_run(bench, text, cases, _SCHEDULES[0])
    advance("threads in order")
    if not seen.walk.wrong and seen.walk.failure is None and not seen.convicts:
        other = _host_run(bench, text, cases, _SCHEDULES[1])
        if other.walk.wrong and not other.convicts:
            other = replace(other, findings=(*other.findings, _order_dependent(bench)))
        if other.walk.wrong or other.walk.failure is not None or other.convicts:
            seen = other
    advance("threads in another order")
    return _verdict([seen], cases)


def _order_dependent(bench: Bench) -> Finding:
    return Finding(
        kind="race",
        severity="error",
        message="the result depends on the order in which threads run",
        hint=hint("race"),
        file=bench.built.file,
        line=None,
        tool=HOST_TOOL,
    )


def _host_run(bench: Bench, text: str, cases: Sequence[Prepared], schedule: str) -> _Seen:
    """Run the checked host build over the cases, threads in the order of `schedule`."""
    started_s = time.monotonic()
    limits = bench.assignment.limits
    with Session(bench.built, limits, None, host_settings=schedule) as session:
        walk = _walk(bench, session, cases, limits)
        output = session.output
    tampered = silent = problem = None
    findings: tuple[Finding, ...] = ()
    try:
        lines = [json.dumps(record) for record in walk.told]
        run = read_run(lines, bench.built.path, bench.built.file, text)
        findings = run.findings
        problem = run.unsupported[0] if run.unsupported else None
        silent = _host_silence(bench, run)
    except ValueError:
        tampered = "the hand-in wrote into the memory checker's report"
    tool = ToolRun(
        tool=HOST_TOOL,
        findings=sum(finding.count for finding in findings),
        wall_s=round(time.monotonic() - started_s, 3),
        problem=problem,
    )
    return _Seen(
        run=tool, walk=walk, findings=findings, output=output, silent=silent, tampered=tampered
    )


def _host_silence(bench: Bench, run: HostRun) -> str | None:
    """Say why a run without findings would prove nothing, None if it proves something.

    Where an array is in host memory, copies may be all that there is to do.
    """
    if any(array.memory is Memory.HOST for array in bench.assignment.signature.arrays):
        moved = run.accesses or run.copied_bytes
        return None if moved else "no copy and no kernel touched any memory in this run"
    return None if run.accesses else "no kernel touched any memory in this run"


def check_interpreter_memory(
    bench: Bench, cases: Sequence[Prepared], advance: Callable[[str], None]
) -> MemoryVerdict:
    """Run a Triton hand-in in the interpreter with every address checked."""
    started_s = time.monotonic()
    limits = bench.assignment.limits
    with Session(bench.built, limits, bench.server, watch_memory=True) as session:
        walk = _walk(bench, session, cases, bench.assignment.limits)
        output = session.output
    tampered = silent = None
    findings: tuple[Finding, ...] = ()
    try:
        findings, accesses = interpreter_findings.read_run(walk.told, bench.built.file)
        silent = None if accesses else "no kernel touched any memory in this run"
    except ValueError:
        tampered = "the hand-in wrote into the memory checker's report"
    advance(interpreter_findings.TOOL)
    tool = ToolRun(
        tool=interpreter_findings.TOOL,
        findings=sum(finding.count for finding in findings),
        wall_s=round(time.monotonic() - started_s, 3),
    )
    seen = _Seen(
        run=tool, walk=walk, findings=findings, output=output, silent=silent, tampered=tampered
    )
    return _verdict([seen], cases)


def check_gpu_memory(
    bench: Bench, tool: Tool, cases: Sequence[Prepared], advance: Callable[[str], None]
) -> MemoryVerdict:
    """Run the hand-in under compute-sanitizer's tools, as many at once as cores allow."""

    def run(name: str) -> _Seen:
        seen = run_sanitizer(bench, tool, name, cases)
        advance(name)
        return seen

    most = max(1, min(len(sanitizer.TOOLS), os.cpu_count() or 1))
    with ThreadPoolExecutor(most, thread_name_prefix="sanitizer") as pool:
        return _verdict(list(pool.map(run, sanitizer.TOOLS)), cases)


def run_sanitizer(
    bench: Bench,
    tool: Tool,
    name: str,
    cases: Sequence[Prepared],
    keep: Callable[[Session], None] | None = None,
) -> _Seen:
    """Run one of the sanitizer's tools over the cases."""
    started_s = time.monotonic()
    limits = replace(
        bench.assignment.limits, call_s=_CALL_S, load_s=_LOAD_S, memory_mib=_MEMORY_MIB
    )
    problem = tampered = None
    findings: tuple[Finding, ...] = ()
    locate = locator(bench.built.path, bench.built.file)
    watcher = sanitizer.watcher(tool, name, bench.built.language)
    with Session(bench.built, limits, bench.server, watcher=watcher) as session:
        walk = _walk(bench, session, cases, limits)
        ended = session.finish(_FINISH_S)
        output = session.output
        try:
            findings = sanitizer.read_findings(
                session.box, name, bench.built.file, session.copy_name, locate
            )
        except ValueError as error:
            tampered = f"compute-sanitizer {name}: {error}"
        if keep is not None:
            keep(session)
    if walk.failure is not None:
        pass  # it ended early, and says why
    elif ended.exit_code not in (0, sanitizer.FOUND) and not findings:
        last = (ended.output.strip().splitlines() or ["it said nothing"])[-1]
        problem = (
            f"compute-sanitizer {name} could not run ({ended.end.value}, {ended.exit_code}): {last}"
        )
    elif ended.exit_code == sanitizer.FOUND and not findings:
        problem = f"compute-sanitizer {name} found errors outside the hand-in's code"
    run = ToolRun(
        tool=f"compute-sanitizer {name}",
        findings=sum(finding.count for finding in findings),
        wall_s=round(time.monotonic() - started_s, 3),
        problem=problem,
    )
    return _Seen(run=run, walk=walk, findings=findings, output=output, tampered=tampered)


def _walk(bench: Bench, session: Session, cases: Sequence[Prepared], limits: Limits) -> _Walk:
    """Call the hand-in on every case, until it fails to answer."""
    loaded = session.load()
    told = list(loaded.told)
    if not loaded.done:
        failure = explain(loaded, bench.built, limits, Doing.LOADING)
        return _Walk(failure=failure, wrong=False, told=tuple(told))
    wrong = False
    for case, data in cases:
        stage = Stage(bench, case, data)
        with stage.buffers() as buffers:
            doing, outcome = Doing.BETWEEN, session.attach(buffers, bare=True)
            if outcome.done:
                stage.fill(buffers, poison=0)
                doing = Doing.CALLING
                outcome = session.call(stage.arguments(), private=bench.private)
                told += outcome.told
                snapshots = {b.name: b.snapshot() for b in buffers if b.role.written}
            if outcome.done:
                doing, outcome = Doing.BETWEEN, session.detach()
        if not outcome.done:
            failure = explain(outcome, bench.built, limits, doing, case=case.name)
            return _Walk(failure=failure, wrong=wrong, told=tuple(told))
        wrong = wrong or not all(c.accepted for c in stage.compare(snapshots))
    return _Walk(failure=None, wrong=wrong, told=tuple(told))


def _verdict(seen: Sequence[_Seen], cases: Sequence[Prepared]) -> MemoryVerdict:
    findings = folded(finding for one in seen for finding in one.findings)
    evidence = MemoryEvidence(
        tools=tuple(one.run for one in seen),
        cases=tuple(case.name for case, _ in cases),
        findings=findings[:SHOWN],
        findings_total=len(findings),
        output=seen[0].output,
    )
    return MemoryVerdict(sentence=_judge(seen, findings), evidence=evidence)


def _judge(seen: Sequence[_Seen], findings: tuple[Finding, ...]) -> Sentence:
    """Decide: findings first, then how the runs ended, then whether they prove anything."""
    for one in seen:
        if one.tampered is not None:
            return Sentence(verdict=Verdict.TAMPERED, message=one.tampered)
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return Sentence(
            verdict=Verdict.MEMORY_ERROR, message=sentence(errors[0]) + more, hint=errors[0].hint
        )
    for one in seen:
        if one.run.problem is not None:
            return Sentence(verdict=Verdict.NOT_MEASURED, message=one.run.problem)
    for one in seen:
        if one.walk.failure is not None:
            # The host device ends a kernel that writes to an input; a GPU would not.
            written = next((f for f in findings if f.hint == INPUT_HINT), None)
            if written is None:
                return one.walk.failure
            message = sentence(written)
            return Sentence(verdict=Verdict.WRONG_ANSWER, message=message, hint=INPUT_HINT)
    if any(one.walk.wrong for one in seen):
        return Sentence(
            verdict=Verdict.WRONG_ANSWER,
            message="outputs were wrong in this run, so that it proves nothing"
            + (f"; {sentence(findings[0])}" if findings else ""),
            hint=findings[0].hint if findings else "mend the correctness check first",
        )
    for one in seen:
        if one.silent is not None:
            return Sentence(verdict=Verdict.WRONG_ANSWER, message=one.silent)
    warnings = f", {len(findings)} warnings" if len(findings) > 1 else ", 1 warning"
    return Sentence(
        verdict=Verdict.ACCEPTED,
        message=f"no memory errors{warnings if findings else ''}",
        hint=sentence(findings[0]) if findings else "",
    )
