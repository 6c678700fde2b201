"""A pool worker may have a core of its own, and its folder is removed when it ends, in any way."""

from __future__ import annotations

import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from slow import slow_unless

from grader.pool.process_pool import Pool
from grader.pool.state import WorkerState


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A task whose answer is the worker's folder."""


def answer(_: Question, state: WorkerState) -> str:
    """Write a file into the worker's folder; return the folder."""
    (state.folder / "kept").write_text("for the next task, too")
    return str(state.folder)


def cores_of(_: Question, state: WorkerState) -> str:
    return " ".join(map(str, sorted(os.sched_getaffinity(0))))


def failed(_: Question, how: str) -> str:
    return how


@pytest.mark.parametrize("more", [0, 1])
def test_as_many_workers_as_cores_have_one_each(more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    usable = sorted(os.sched_getaffinity(0))[:2]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(usable))
    jobs = len(usable) + more
    with Pool[Question, str](jobs, "test_process_pool:cores_of", failed) as pool:
        found = sorted(cores for _, cores in pool.results([Question()] * jobs))
    monkeypatch.undo()
    every = " ".join(map(str, sorted(os.sched_getaffinity(0))))
    assert found == (jobs * [every] if more else sorted(map(str, usable)))


def test_a_folder_is_kept_until_the_end() -> None:
    state = WorkerState()
    folder = state.folder
    state.renew()
    assert state.folder == folder and folder.is_dir()
    state.close()
    assert not folder.exists()


def handles_sigterm(pid: int) -> bool:
    """True if the process has a handler for SIGTERM."""
    caught = re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)


# When a Dask worker ends, its end of the channel closes and the kernel sends SIGTERM.
@pytest.mark.parametrize(
    "ended", slow_unless("by both".__eq__, ["by the channel", "by a signal", "by both"])
)
def test_a_workers_folder_is_removed_with_it(ended: str) -> None:
    pool: Pool[Question, str] = Pool(1, "test_process_pool:answer", failed)
    with pool:
        ((_, where),) = pool.results([Question()])
        folder = Path(where)
        assert (folder / "kept").is_file(), where
        (worker,) = (psutil.Process(pid) for pid in pool.pids)
        if ended != "by a signal":
            pool._workers[0].channel.close()
        while ended == "by both" and handles_sigterm(worker.pid):
            time.sleep(1e-4)
        if ended != "by the channel":
            os.kill(worker.pid, signal.SIGTERM)
        worker.wait(20)
    assert not folder.exists()
