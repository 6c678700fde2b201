"""Prestarted workers under a sanitizer's tools, with a fake sanitizer."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import psutil
import pytest
from paths import REPOSITORY
from sanitizer_stand_in import CLEAN, built_for, stand_in

from grader.assignment.cases import CaseTemplate
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.build.artifact import Built, Rejected
from grader.checks.common.case_run import RunSetup
from grader.checks.memory import sanitizer_prestart
from grader.checks.memory.on_gpu import check_gpu_memory
from grader.checks.memory.sanitizer import TOOLS
from grader.checks.memory.sanitizer_prestart import Prestart
from grader.judge.oracle import Oracle
from grader.judge.session import Session
from grader.report.evidence import BuildEvidence
from grader.report.verdict import Verdict
from grader.system import process_tree, toolchain
from grader.system.retry import Pool
from grader.system.toolchain import Tool
from grader.vocabulary import Device, Language

LOUD = """#include "silu.h"
#include <cstdio>
static const int said = std::printf("a constructor ran\\n");
__global__ void k(const float* input, float* output, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}
extern "C" void silu(const float* input, float* output, int n)
{
    k<<<(n + 255) / 256, 256>>>(input, output, n);
}
"""
MANY = 8  # cores

pytestmark = pytest.mark.usefixtures("unfenced", "no_nvcc")  # the fake is a file of the test


@pytest.fixture(scope="module")
def silu() -> Assignment:
    return read_assignment(REPOSITORY / "assignments" / "silu")


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    made = stand_in(tmp_path, CLEAN)
    monkeypatch.setattr(toolchain, "find_compute_sanitizer", lambda: made)
    return made


@pytest.fixture
def build(silu: Assignment, tmp_path: Path) -> Future[Built | Rejected]:
    folder = tmp_path / "hand_in"
    folder.mkdir()
    (folder / "silu.cu").write_text(LOUD)
    return finished(built_for(silu, folder))


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Session]]:
    """All workers that a test's pool starts, in any order."""
    process_tree.become_subreaper()
    made: list[Session] = []
    start = sanitizer_prestart.start

    def noted(*given: Any) -> Session:
        made.append(start(*given))
        return made[-1]

    monkeypatch.setattr(sanitizer_prestart, "start", noted)
    yield made
    left = running(made)
    for session in made:
        session.close()
    assert not left


@pytest.fixture
def pool(begun: list[Session]) -> Iterator[Pool]:
    with Pool(2) as made:
        yield made


def running(begun: list[Session]) -> set[int]:
    """Return the numbers of the workers that have not been ended and reaped."""
    return {session.pid for session in begun if psutil.pid_exists(session.pid)}


def finished(product: Built | Rejected) -> Future[Built | Rejected]:
    future: Future[Built | Rejected] = Future()
    future.set_result(product)
    return future


def test_they_wait_without_the_submission_and_then_run_it(
    silu: Assignment,
    tool: Tool,
    build: Future[Built | Rejected],
    pool: Pool,
    begun: list[Session],
) -> None:
    built = build.result()
    assert isinstance(built, Built)
    ahead = Prestart(pool, silu.limits, MANY)
    ahead.expect([("silu", build)])
    started = ahead.take("silu")
    assert set(started) == set(TOOLS)
    assert all(session.alive and session.output == "" for session in started.values())
    asleep = running(begun)
    small = tuple(CaseTemplate(sizes={"n": n}, memory=True) for n in (1, 33))
    drawn = dataclasses.replace(silu, cases=small).draw_cases(
        Device.CPU, Language.CUDA, public_seed=0, secret_seed=0
    )
    oracle = Oracle(silu)
    cases = [(case, oracle.data(case, Language.CUDA)) for case in drawn]
    bench = RunSetup(assignment=silu, built=built, server=None, driver=None, private=False)
    judged = check_gpu_memory(bench, tool, cases, lambda name: None, started)
    assert judged.diagnosis.verdict is Verdict.ACCEPTED, judged
    assert judged.evidence is not None
    assert "a constructor ran" in judged.evidence.output
    assert len(asleep) == len(TOOLS)
    assert not running(begun), "it was in them"


def test_a_machine_of_few_cores_starts_none(
    silu: Assignment, tool: Tool, build: Future[Built | Rejected], pool: Pool
) -> None:
    ahead = Prestart(pool, silu.limits, MANY - 1)
    ahead.expect([("silu", build)])
    assert ahead.take("silu") == {}


def test_what_nobody_takes_is_ended(
    silu: Assignment,
    tool: Tool,
    build: Future[Built | Rejected],
    pool: Pool,
    begun: list[Session],
) -> None:
    ahead = Prestart(pool, silu.limits, MANY)
    ahead.expect([("skipped", build), ("taken", build), ("left", build)])
    assert ahead.take("of another assignment") == {}
    taken = ahead.take("taken")
    assert set(taken) == set(TOOLS)
    ahead.close()
    assert running(begun) == {session.pid for session in taken.values()}
    for session in taken.values():
        session.close()
    assert ahead.take("left") == {}


def test_a_build_that_failed_has_none(silu: Assignment, tool: Tool, pool: Pool) -> None:
    rejected = Rejected(
        verdict=Verdict.COMPILE_ERROR,
        message="no",
        evidence=BuildEvidence(tool="g++", cached=False),
    )
    ahead = Prestart(pool, silu.limits, MANY)
    ahead.expect([("silu", finished(rejected))])
    assert ahead.take("silu") == {}
