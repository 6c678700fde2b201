"""A machine that refuses processes or threads, for a while or for ever."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from failing_compiler import compile_with, failing_compiler

from grader.build.compiler import Compiler, compile_file
from grader.errors import GraderError
from grader.sandbox import fork_server, spawn
from grader.system import retry, toolchain
from grader.system.retry import Pool, retry_start
from grader.worker import forking


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "RETRY_S", 0.3)


def refusing(real: Callable[..., Any], times: int, error: Exception) -> Callable[..., Any]:
    """Return `real`, which raises `error` this many times before it works."""
    left = [times]

    def start(*arguments: Any, **named: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise error
        return real(*arguments, **named)

    return start


NO_PROCESS = BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
NO_THREAD = RuntimeError("can't start new thread")
FOR_EVER = 1 << 30


@pytest.mark.parametrize("error", [NO_PROCESS, NO_THREAD, OSError(errno.ENOMEM, "no memory")])
def test_a_refusal_is_waited_out(error: Exception) -> None:
    assert retry_start(refusing(lambda: "started", 3, error)) == "started"


@pytest.mark.parametrize("error", [NO_PROCESS, NO_THREAD])
def test_a_machine_without_room_has_a_clear_message(error: Exception) -> None:
    with pytest.raises(GraderError, match="refused to start a process") as caught:
        retry_start(refusing(lambda: None, FOR_EVER, error))
    assert "pids.max" in (caught.value.tip or "")


@pytest.mark.parametrize("error", [FileNotFoundError(errno.ENOENT, "x"), RuntimeError("other")])
def test_other_failures_are_not_waited_for(error: Exception) -> None:
    start = refusing(lambda: None, 1, error)
    with pytest.raises(type(error)):
        retry_start(start)
    start()  # it was called only once


# --- every place where a grading starts something ------------------------------------------------


def descriptors() -> list[str]:
    return sorted(entry.name for entry in Path("/proc/self/fd").iterdir())


def run_true(folder: Path) -> spawn.Ended:
    return spawn.run(["true"], cwd=folder, environment={"PATH": os.defpath}, wall_s=20)


@pytest.fixture
def no_server() -> None:
    """Kill the server that forks programs, so that the next program starts another one."""
    os.kill(fork_server.ready(), signal.SIGKILL)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "box"
    made.mkdir()
    yield made
    shutil.rmtree(made)


@pytest.mark.usefixtures("no_server")
def test_a_program_is_started_when_there_is_room_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "posix_spawn", refusing(os.posix_spawn, 3, NO_PROCESS))
    assert run_true(folder).end is spawn.End.EXITED


def test_a_program_for_which_there_is_no_room_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_true(folder)  # opens what is opened once only
    server = fork_server.ready()
    os.kill(server, signal.SIGKILL)
    before = descriptors()
    monkeypatch.setattr(os, "posix_spawn", refusing(os.posix_spawn, FOR_EVER, NO_PROCESS))
    with pytest.raises(GraderError, match="refused to start a process"):
        run_true(folder)
    assert len(descriptors()) == len(before) - 1, "all but the channel to the server"
    monkeypatch.undo()
    assert run_true(folder).end is spawn.End.EXITED
    assert fork_server.ready() != server


def test_a_pool_waits_for_its_first_thread_and_does_without_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Pool(4) as pool:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refusing(threading.Thread.start, 2, NO_THREAD))
            done = [0]

            def work() -> int:
                done[0] += 1
                return done[0]

            assert pool.submit(work).result() == 1
        with monkeypatch.context() as patch:
            patch.setattr(
                threading.Thread, "start", refusing(threading.Thread.start, FOR_EVER, NO_THREAD)
            )
            several: list[Future[int]] = [pool.submit(work) for _ in range(5)]
            assert sorted(one.result() for one in several) == [2, 3, 4, 5, 6]


def test_a_pool_without_any_thread_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    start = refusing(threading.Thread.start, FOR_EVER, NO_THREAD)
    with Pool(1) as pool, monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(GraderError, match="refused to start a process"):
            pool.submit(int)


def test_a_fork_server_waits_to_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fork", refusing(lambda: 7, 2, NO_PROCESS))
    assert forking._fork() == 7
    monkeypatch.setattr(forking, "_FORK_S", 0.1)
    monkeypatch.setattr(os, "fork", refusing(lambda: 7, FOR_EVER, NO_PROCESS))
    with pytest.raises(BlockingIOError):
        forking._fork()


# The tools' messages at a limit of one or two processes.
REFUSED = (
    "g++: fatal error: cannot execute '/usr/lib/gcc/cc1plus': vfork: Resource temporarily"
    " unavailable\ncompilation terminated.",
    "collect2: fatal error: vfork: Resource temporarily unavailable",
    "gcc: fatal error: cannot execute '/usr/lib/gcc/cc1plus': vfork: Resource temporarily"
    " unavailable\nnvcc fatal   : Failed to preprocess host compiler properties.",
)
BLAMED = (
    "silu.cu:1:2: error: #error g++: fatal error: vfork: Resource temporarily unavailable",
    "    1 | #error collect2: fatal error: vfork: Resource temporarily unavailable",
    "g++:1:10: fatal error: fork: Resource temporarily: No such file or directory",
)


@pytest.mark.parametrize(
    ("says", "ours"), [*((s, True) for s in REFUSED), *((s, False) for s in BLAMED)]
)
def test_a_compiler_without_room_is_not_the_students_fault(
    tmp_path: Path, says: str, ours: bool
) -> None:
    tool = failing_compiler(tmp_path, says)
    if ours:
        with pytest.raises(GraderError, match="refused to start a process"):
            compile_with(tool)
    else:
        assert compile_with(tool).library is None


@pytest.mark.parametrize(
    "text",
    [
        '#line 1 "g++"\n#include "fork: Resource temporarily"\n',
        '#line 99999 "x"\nstatic_assert(false, "no\\ncollect2: fatal error: vfork: Resource '
        'temporarily unavailable");\n',
    ],
)
def test_a_file_cannot_have_the_machine_blamed(text: str) -> None:
    cxx = toolchain.find_cxx()
    assert cxx is not None
    compiled = compile_file(
        Compiler(
            name="g++",
            kind="test",
            suffix=".cc",
            key="g++",
            command=lambda source, include, output: [
                *(str(cxx.path), "-shared", "-fPIC", str(source), "-o", str(output))
            ],
        ),
        trampoline='#include "silu.cu"\n',
        file="silu.cu",
        text=text,
        header=("silu.h", ""),
        wall_s=20,
    )
    assert compiled.library is None
    assert "Resource temporarily" in compiled.evidence.output


def test_a_pool_does_what_comes_first_ahead_of_each_piece_of_work() -> None:
    done: list[str] = []
    with Pool(1, first=lambda: done.append("first")) as pool:
        assert pool.submit(done.append, "work").result() is None
        assert pool.submit(len, done).result() == 3
    assert done == ["first", "work", "first"]


def test_work_fails_by_what_came_first() -> None:
    def refuse() -> None:
        raise GraderError("no sandbox")

    with Pool(1, first=refuse) as pool, pytest.raises(GraderError, match="no sandbox"):
        pool.submit(pytest.fail, "it was done").result()
