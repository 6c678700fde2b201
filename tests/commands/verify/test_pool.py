"""The processes of a verification: they are reused, die alone, and none is left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pool_tasks import trial

from grader.commands.verify.row import Row, State
from grader.commands.verify.tasks import Pool, Task
from grader.errors import GraderError


def results(pool: Pool, *tasks: Task) -> dict[str, Row]:
    return {task.subject: row for task, rows in pool.results(tasks) for row in rows}


def until(happens: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + 60
    while not happens():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.02)
    return True


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    # A worker's orphan may remain a zombie until init reaps it.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_a_process_does_many_tasks() -> None:
    with Pool(1) as pool:
        rows = results(pool, *(trial(name) for name in "abc"))
    assert len({row.actual for row in rows.values()}) == 1
    assert rows["a"].actual != str(os.getpid())
    assert gone(int(rows["a"].actual))


def test_a_failure_in_a_task_is_its_row() -> None:
    with Pool(2) as pool:
        rows = results(pool, *(trial(w) for w in ("dies", "fails", "stumbles", "goes well")))
    assert {what: row.state for what, row in rows.items()} == {
        "dies": State.FAILED,
        "fails": State.FAILED,
        "stumbles": State.FAILED,
        "goes well": State.AGREES,
    }
    assert rows["dies"].note == "the worker process ended with exit code 7"
    assert rows["fails"].note == "no more paper"
    assert rows["stumbles"].note == "KeyError: 'paper'"


@pytest.mark.slow
def test_a_task_that_never_ends_is_ended(tmp_path: Path) -> None:
    sign = tmp_path / "pids"
    with Pool(1, patience_s=3.0) as pool:
        rows = results(pool, trial("sleeps", sign=sign), trial("goes well"))
    assert rows["sleeps"].note == "not finished after 3 s; the worker process was killed"
    assert rows["goes well"].state is State.AGREES
    assert gone(int(sign.read_text().split()[0]))


def test_processes_that_all_die_end_the_run() -> None:
    with pytest.raises(GraderError, match="exit code 7"), Pool(1) as pool:
        results(pool, *(trial("dies") for _ in range(9)))


def test_tasks_start_in_their_order() -> None:
    tasks = [trial(word) for word in ("first", "second", "third")]
    with Pool(1) as pool:
        assert [task.subject for task, _ in pool.results(tasks)] == ["first", "second", "third"]


def test_leaving_the_pool_ends_running_tasks(tmp_path: Path) -> None:
    sign = tmp_path / "pids"
    with pytest.raises(KeyboardInterrupt), Pool(2) as pool:
        for task, _ in pool.results([trial("quick"), trial("sleeps", sign=sign)]):
            assert task.subject == "quick"
            assert until(lambda: sign.is_file() and len(sign.read_text().split()) == 2)
            raise KeyboardInterrupt
    worker = int(sign.read_text().split()[0])
    assert until(lambda: gone(worker))


def test_a_process_sees_no_variables_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "tls://head:8786")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    with Pool(1) as pool:
        [row] = results(pool, trial("tells its environment")).values()
    names = row.actual.split(",")
    assert "PATH" in names
    assert not [name for name in names if name.startswith(("DASK_", "SLURM_"))]
