"""Replay recorded launches under compute-sanitizer's tools, side by side.

    executor's folder: launches.recording ──descriptor──→ compute-sanitizer ─ replay, sandboxed
    cache: N.cubin, kernels.txt ───────────copy─────────→ its folder ←── findings, outputs ──┘

A tool that cannot run is not the student's fault. memcheck's run also leaves the outputs, which
must be right, as in any other run: otherwise the replay was not that of the submission's work.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

import torch

from grader.build.cubins import CubinError, cubins
from grader.build.replay_program import replay_program
from grader.checks.common.case_run import CaseRun, RunSetup
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.tool_run import Prepared, ToolOutcome
from grader.checks.memory import sanitizer, sanitizer_prestart
from grader.checks.memory.sanitizer_result import run_tools, tool_result
from grader.checks.memory.verdict import ToolResult
from grader.errors import GraderError
from grader.protocol.targets import Target
from grader.report.verdict import Verdict
from grader.sandbox import scratch_dir, spawn
from grader.sandbox.scratch_dir import scratch_folder
from grader.system import toolchain
from grader.system.toolchain import Tool

_RECORDING_FD = 3  # of the program that replays
_OUTPUTS = "outputs"
_LEAST_S = 60.0  # to open a GPU that fifty such programs use takes most of a minute
# Once the GPU is open, where the executor has found a fault. A tool adds block and thread in
# seconds, but initcheck goes on with wrong reads that it no longer prints, for minutes.
_FAULTY_S = 15
_REPORT_S = 10.0  # for a tool's report after a time limit
_SAVES = "memcheck"


class NoReplayError(Exception):
    """Launches cannot be replayed; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What the tools run: the program, the folder with its kernels, and a recording."""

    program: Path
    kernels: Path
    recording: Path


def find_program() -> Path:
    """Return the program that replays launches; the first time it is compiled.

    Raises NoReplayError.
    """
    cxx = toolchain.find_cxx()
    if cxx is None:
        raise NoReplayError("there is no g++ that works, to compile the replay of launches with")
    try:
        return replay_program(cxx)
    except GraderError as error:
        raise NoReplayError(error.message.splitlines()[0]) from error


def prepare(
    recording: Path, records: Sequence[dict[str, object]], target: Target, program: Path
) -> Replay:
    """Compile the kernels of a recording; `records` are the executor's.

    Raises NoReplayError.
    """
    told = [one.get("problem") for one in records if one.get("record") == "recording"]
    if not told or told[-1] is not None:
        raise NoReplayError(str(told[-1] if told else "the launches were not recorded"))
    launches = [one for one in records if one.get("record") == "launch"]
    try:
        return Replay(program=program, kernels=cubins(launches, target), recording=recording)
    except CubinError as error:
        raise NoReplayError(str(error)) from error


def replay_all(
    replay: Replay,
    setup: RunSetup,
    tool: Tool,
    cases: Sequence[Prepared],
    advance: Callable[[str], None],
    *,
    faulty: bool,
) -> list[ToolResult]:
    """Replay under each of the tools, as many at once as there are cores.

    A `faulty` submission has a fault that is proven: a tool that takes long is ended, and reports
    what it has seen.
    """
    return run_tools(
        lambda name: _replay(replay, setup, tool, name, cases, faulty=faulty),
        advance,
        setup.budget,
    )


def _replay(
    replay: Replay,
    setup: RunSetup,
    tool: Tool,
    name: str,
    cases: Sequence[Prepared],
    *,
    faulty: bool,
) -> ToolResult:
    started_s = time.monotonic()
    call_s = sanitizer_prestart.limits_under_tool(setup.assignment.limits).call_s
    wall_s = max(_LEAST_S, call_s * len(cases))
    outcome = ToolOutcome()
    with scratch_folder("grade-replay-") as folder:
        ended = _run(replay, tool, name, folder, wall_s, _FAULTY_S if faulty else 0)
        if ended.end is spawn.End.TIME_LIMIT:
            message = f"the launches of {setup.built.entry} did not end within {wall_s:g} s"
            failure = Diagnosis(Verdict.TIME_LIMIT, f"{message} under compute-sanitizer {name}")
            outcome = ToolOutcome(failure=failure)
        result = tool_result(
            name,
            folder,
            file=setup.built.file,
            headers=setup.built.own_names,
            copy=PurePath(setup.built.file).name,
            locate=lambda _: {},
            ended=ended,
            outcome=outcome,
            output="",
            wall_s=time.monotonic() - started_s,
        )
        fine = result.problem is None and not result.proves_fault
        if name == _SAVES and fine and outcome.failure is None:
            wrong = not _outputs_right(folder, setup, cases)
            result = replace(result, outcome=replace(outcome, wrong=wrong))
    return result


def _run(
    replay: Replay, tool: Tool, name: str, folder: Path, wall_s: float, open_s: int
) -> spawn.Ended:
    for file in (replay.program, *replay.kernels.iterdir()):
        shutil.copy(file, folder / file.name)
    command = sanitizer.tool_command(tool, name, leaks=False)
    words = [f"./{replay.program.name}", str(open_s), *([_OUTPUTS] if name == _SAVES else [])]
    recording = os.open(replay.recording, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return spawn.run(
            [*command, *words],
            cwd=folder,
            environment=spawn.clean_environment(folder),
            wall_s=wall_s,
            limits=spawn.Limits(memory_mib=sanitizer_prestart.MEMORY_MIB, report_s=_REPORT_S),
            descriptors={_RECORDING_FD: recording},
            gpu=True,
        )
    finally:
        os.close(recording)


def _outputs_right(folder: Path, setup: RunSetup, cases: Sequence[Prepared]) -> bool:
    """Compare the outputs that the replay has left, case after case."""
    language = setup.built.language
    expected_bytes = sum(
        signature.array_bytes(array, case.sizes, language)
        for case, _ in cases
        for signature in [setup.assignment.signature_of(case)]
        for array in signature.outputs
    )
    data = scratch_dir.read_if_there(folder / _OUTPUTS, max(1, expected_bytes))
    if len(data) != expected_bytes:
        return False
    whole, at = torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8), 0
    for case, values in cases:
        snapshots, signature = {}, setup.assignment.signature_of(case)
        for array in signature.outputs:
            end = at + signature.array_bytes(array, case.sizes, language)
            kind = getattr(torch, signature.element_type(array, language).word)
            shape = signature.shape(array, case.sizes)
            snapshots[array.name], at = whole[at:end].clone().view(kind).view(shape), end
        if not all(one.accepted for one in CaseRun(setup, case, values).compare(snapshots)):
            return False
    return True
