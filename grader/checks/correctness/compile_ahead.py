"""Compile an autotuned Triton kernel for a GPU in several workers, before its cases are judged.

    cases    1 … 6 │ 7 … 12 │ 13 … 18     a worker for each part, side by side
                 kernels │
    correctness  1 … 18 + hidden cases    one worker, as always: it finds all kernels compiled

Triton compiles on one core, and each call takes the next configuration of the tuner, so that nearly
every call compiles: on an H100, GEMM's twelve configurations take 32 s of one core. The workers
here start with the configuration that the case will have. Their results are ignored, and hidden
cases are left to the worker that is judged.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence

from grader.assignment.cases import Case
from grader.checks.common.case_run import CaseRun, RunSetup
from grader.errors import GraderError
from grader.gpu.nvml import Gpu
from grader.judge.oracle import CaseData
from grader.judge.session import Session
from grader.judge.time_budget import TimeBudget
from grader.protocol.launches import LaunchMode
from grader.system.retry import Pool
from grader.vocabulary import Visibility

_MOST_WORKERS = 6
_CORES_PER_WORKER = 2  # other files are checked meanwhile
_GPU_MIB_PER_WORKER = 4096  # most of it for other files
_FEWEST_CASES = 4  # of a worker, which takes a second to open the GPU


def compile_ahead(
    setup: RunSetup, cases: Sequence[Case], data: Callable[[Case], CaseData], gpu: Gpu, cores: int
) -> None:
    """Call the submission on its visible cases, which leaves their kernels in `setup.built`.

    Does nothing on a machine with few cores or little memory on the GPU.
    """
    visible = [case for case in cases if case.visibility is Visibility.VISIBLE]
    workers = min(
        _MOST_WORKERS,
        cores // _CORES_PER_WORKER,
        gpu.memory_free_mib // _GPU_MIB_PER_WORKER,
        len(visible) // _FEWEST_CASES,
    )
    if workers < 2:
        return
    bounds = [len(visible) * part // workers for part in range(workers + 1)]
    with Pool(workers, thread_name_prefix="compile ahead") as pool:
        for first, end in itertools.pairwise(bounds):
            pool.submit(_call_each, setup, visible[first:end], data, first)


def _call_each(
    setup: RunSetup, cases: Sequence[Case], data: Callable[[Case], CaseData], turn: int
) -> None:
    """Call the submission on each case, until a call fails; the worker that is judged says why."""
    if setup.driver is not None:
        setup.driver.enter_thread()
    limits = setup.assignment.limits
    with (
        contextlib.suppress(GraderError),
        Session(
            setup.built,
            limits,
            setup.server,
            mode=LaunchMode(turn=turn),
            contributes=True,
            # Not the submission's: these calls are made in addition.
            budget=TimeBudget(limits),
        ) as session,
    ):
        if not session.load().done:
            return
        for case in cases:
            case_run = CaseRun(setup, case, data(case))
            with case_run.buffers() as buffers:
                if not session.attach(buffers).done:
                    return
                case_run.fill(buffers, poison=0)
                if not session.call(case_run.arguments(), private=setup.private).done:
                    return
                if not session.detach().done:
                    return
