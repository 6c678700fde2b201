"""Start an untrusted program, confined and under limits.

    judge (this process, subreaper)
      │ request to a fork server
      └── forked process: own session, limits, no other descriptors ── exec ──→ program
             stdin /dev/null · stdout+stderr ──pipe──→ `Capture` here (capped)
             descriptor 3… as given (channel, report pipe)

`grader.sandbox.policy` confines the program: Landlock for files, seccomp for system calls, and
where possible a user and a control group of its own. `grader.sandbox.process` watches and ends it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.sandbox import fork_server
from grader.sandbox.capture import Capture
from grader.sandbox.compiled_kernels import CACHE
from grader.sandbox.policy import Confinement, Layers
from grader.sandbox.process import REPORT_BYTES, WHOLE_OUTPUT, End, Ended, Limits, Program

__all__ = [
    "REPORT_BYTES",
    "WHOLE_OUTPUT",
    "End",
    "Ended",
    "Limits",
    "Program",
    "adopt",
    "clean_environment",
    "run",
    "spawn",
]


def spawn(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    limits: Limits,
    descriptors: Mapping[int, int] | None = None,
    report: bool = False,
    gpu: bool = False,
    layers: Layers | None = None,
) -> Program:
    """Start `argv` confined. `descriptors` maps numbers in the program to numbers here.

    The program owns the folder `cwd`. With `report`, it gets a report pipe on the number that
    follows the given ones. `gpu` and `layers` are parameters of `policy.confinement`. Raises
    GraderError if the machine cannot start a process.
    """
    confined = limits.confine(cwd, gpu=gpu, layers=layers)
    descriptors = dict(descriptors or {})
    reading, writing = os.pipe2(os.O_CLOEXEC)
    report_ends = os.pipe2(os.O_CLOEXEC) if report else None
    if report_ends is not None:
        descriptors[max(descriptors, default=2) + 1] = report_ends[1]
    request = {
        "command": list(argv),
        "environment": dict(environment),
        "settings": limits.settings(sorted(descriptors), confined),
    }
    try:
        pid, pidfd = fork_server.fork_program(request, {1: writing, 2: writing, **descriptors})
    except BaseException:
        os.close(reading)
        if report_ends is not None:
            os.close(report_ends[0])
        confined.end()
        raise
    finally:
        os.close(writing)
        if report_ends is not None:
            os.close(report_ends[1])
    reading_report = None if report_ends is None else report_ends[0]
    return adopt(pid, pidfd, reading, reading_report, limits, confined)


def adopt(
    pid: int, pidfd: int, output: int, report: int | None, limits: Limits, confined: Confinement
) -> Program:
    """Take charge of a program that a fork server has forked; `report` may be missing."""
    return Program(
        pid=pid,
        pidfd=pidfd,
        output=Capture(output, limits.output_kib << 10, limits.kept_kib << 10),
        report=None if report is None else Capture(report, REPORT_BYTES, REPORT_BYTES),
        limits=limits,
        confinement=confined,
    )


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    wall_s: float,
    limits: Limits | None = None,
    descriptors: Mapping[int, int] | None = None,
    gpu: bool = False,
    layers: Layers | None = None,
) -> Ended:
    """Run `argv` until it ends or reaches a limit, `wall_s` of its own time; see `spawn`."""
    limits = limits or Limits()
    program = spawn(
        argv,
        cwd=cwd,
        environment=environment,
        limits=limits,
        descriptors=descriptors,
        gpu=gpu,
        layers=layers,
    )
    try:
        end = program.wait_for(None, time.monotonic() + wall_s)
        assert end is not None  # there is no channel to become readable
        return program.finish(end)
    finally:
        program.kill()


def clean_environment(scratch: Path) -> dict[str, str]:
    """Return the environment of an untrusted program: an allow-list, and its own folder."""
    allowed = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME")
    environment = {name: os.environ[name] for name in allowed if name in os.environ}
    environment.setdefault("PATH", os.defpath)
    environment.update(
        HOME=str(scratch),
        TMPDIR=str(scratch),
        TRITON_CACHE_DIR=str(scratch / CACHE),
        CUDA_CACHE_PATH=str(scratch / "cuda"),
        PYTHONDONTWRITEBYTECODE="1",
        USER="grader",  # torch.compile asks for the user, who has no name in the sandbox
    )
    return environment
