"""A time limit counts a program's own time: the processor and idling, not the queue for it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from grader.sandbox import spawn
from grader.sandbox.own_time import OwnTime, Spent
from grader.sandbox.spawn import End
from grader.system import process_tree

PYTHON = [sys.executable, "-I", "-S", "-c"]
BURNS = "while True: pass"
SLEEPS = "import time; time.sleep(60)"


@pytest.fixture(scope="module", autouse=True)
def subreaper() -> None:
    process_tree.become_subreaper()


def run(folder: Path, code: str, wall_s: float) -> spawn.Ended:
    environment = spawn.clean_environment(folder)
    return spawn.run([*PYTHON, code], cwd=folder, environment=environment, wall_s=wall_s)


@pytest.mark.parametrize(
    ("spent", "left_s", "idle_s", "waited"),
    [
        pytest.param(Spent(wall_s=10, processor_s=10), 0, 0, False, id="burns"),
        pytest.param(Spent(wall_s=10), 0, 10, True, id="sleeps"),
        pytest.param(Spent(wall_s=10, processor_s=2, queued_s=8), 8, 0, True, id="queues"),
        pytest.param(Spent(wall_s=50, processor_s=10, queued_s=40), -40, 0, False, id="queued"),
        pytest.param(Spent(wall_s=10, processor_s=40, queued_s=9), 0, 0, False, id="own threads"),
        pytest.param(Spent(wall_s=400, queued_s=400), -90, 0, True, id="queues for ever"),
        pytest.param(
            Spent(wall_s=12, processor_s=5, compiled_s=4), 2, 7, True, id="compiles and sleeps"
        ),
    ],
)
def test_what_is_left_of_ten_seconds(
    spent: Spent, left_s: float, idle_s: float, waited: bool
) -> None:
    assert spent.left_s(10) == left_s
    assert spent.idle_s == idle_s
    assert spent.waited(10) == waited


def test_the_figures_of_threads_that_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    processor = {0.5: 3.5, 1.0: 3.7, 1.5: 3.2}
    queued = {0.5: {1: 9.0}, 1.0: {1: 9.1, 2: 0.2}, 1.5: {2: 0.2, 3: 70.0}}
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(process_tree, "processor_s", lambda pids: processor[now[0]])
    monkeypatch.setattr(process_tree, "queued_s", lambda pids: queued[now[0]])
    clock = OwnTime(lambda: [1])
    samples = []
    for now[0] in processor:
        samples.append(clock.sample())
    # What came before the first sample counts as processor time.
    assert [round(one.processor_s, 6) for one in samples] == [0.5, 0.7, 0.7]
    # No longer than the time between two samples.
    assert [round(one.queued_s, 6) for one in samples] == [0.0, 0.3, 0.8]


def test_a_judge_that_looks_late_charges_no_more_than_it_can_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(process_tree, "processor_s", lambda pids: 3.0)
    monkeypatch.setattr(process_tree, "queued_s", lambda pids: {1: 0.0})
    clock = OwnTime(lambda: [1])
    now[0] = 12.0  # the judge had no processor
    late = clock.sample()
    assert (late.processor_s, late.queued_s, late.left_s(10)) == (1.0, 11.0, 9.0)


@pytest.mark.slow
@pytest.mark.parametrize(("code", "waited"), [(BURNS, False), (SLEEPS, True)])
def test_the_judge_knows_whether_it_waited(tmp_path: Path, code: str, waited: bool) -> None:
    ended = run(tmp_path, code, 1.5)
    assert ended.end is End.TIME_LIMIT
    assert ended.waited is waited


def test_the_time_of_children_counts(tmp_path: Path) -> None:
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURNS!r}])"
    ended = run(tmp_path, code, 1.5)
    assert ended.end is End.TIME_LIMIT
    assert not ended.waited


def test_a_process_that_names_itself_like_figures() -> None:
    code = (
        "import ctypes; ctypes.CDLL(None).prctl(15, b') R 1 1 1 9', 0, 0, 0)\n"
        "print('named', flush=True)\ninput()"
    )
    with subprocess.Popen(
        [*PYTHON, code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "named\n"
        assert 0 <= process_tree.processor_s([process.pid]) < 10
        process.stdin.close()


def test_a_process_that_is_gone() -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert process_tree.processor_s([process.pid]) == 0
    assert process_tree.queued_s([process.pid]) == {}


@pytest.mark.slow
def test_a_program_that_queues_behind_others_gets_its_time(tmp_path: Path) -> None:
    core = min(os.sched_getaffinity(0))
    pinned = f"import os, time; os.sched_setaffinity(0, [{core}])\n"
    work = "while time.process_time() < 1.2: pass"
    neighbours: Sequence[subprocess.Popen[bytes]] = [
        subprocess.Popen([*PYTHON, pinned + BURNS]) for _ in range(4)
    ]
    try:
        started_s = time.monotonic()
        ended = run(tmp_path, pinned + work, 2.0)
        wall_s = time.monotonic() - started_s
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()
    assert ended.ok
    assert wall_s > 2.0, "the machine was not loaded"


@pytest.mark.slow
def test_threads_of_its_own_gain_it_nothing(tmp_path: Path) -> None:
    code = f"import os\nfor _ in range(16):\n  if not os.fork(): break\n{BURNS}"
    ended = run(tmp_path, code, 1.5)
    assert ended.end is End.TIME_LIMIT
    assert not ended.waited
    assert ended.wall_s < 15
