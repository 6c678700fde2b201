"""Processes that check share a GPU; a process that times has it exclusively."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import time
from pathlib import Path

import pytest
from paths import REPOSITORY

from grader.errors import GraderError
from grader.gpu import lock

UUID = "GPU-test"
# A separate process, as `grade` is: prints when it waits, and which lock it got.
OTHER = """
import sys
from pathlib import Path
from grader.gpu import lock
lock.FOLDER = Path(sys.argv[1])
print("waits", flush=True)
with lock.shared_use("GPU-test"):
    if sys.argv[2] == "alone":
        with lock.exclusive_use("GPU-test"):
            print("alone", flush=True)
    else:
        print("shares", flush=True)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(lock, "FOLDER", tmp_path)
    return tmp_path


def other(folder: Path, how: str) -> subprocess.Popen[str]:
    root = str(REPOSITORY)
    return subprocess.Popen(
        [sys.executable, "-c", OTHER, str(folder), how], cwd=root, stdout=subprocess.PIPE, text=True
    )


def is_locked(path: Path) -> bool:
    if not path.exists():
        return False
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_those_that_check_share(folder: Path) -> None:
    with lock.shared_use(UUID), other(folder, "shares") as process:
        assert process.communicate(timeout=60)[0] == "waits\nshares\n"


def test_others_wait_for_who_times(folder: Path) -> None:
    with lock.shared_use(UUID), other(folder, "shares") as process:
        assert process.stdout is not None
        with lock.exclusive_use(UUID):
            assert process.stdout.readline() == "waits\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)
        assert process.stdout.readline() == "shares\n"


def test_who_times_waits_for_others(folder: Path) -> None:
    with lock.shared_use(UUID):
        process = other(folder, "alone")
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
    with process:
        assert process.stdout.readline() == "alone\n"


def test_who_comes_later_does_not_keep_one_waiting_that_times(folder: Path) -> None:
    with lock.shared_use(UUID):
        first = other(folder, "alone")
        assert first.stdout is not None
        assert first.stdout.readline() == "waits\n"
        queue = folder / f"gpu-grade-{UUID}.queue"
        deadline_s = time.monotonic() + 60
        while not is_locked(queue) and time.monotonic() < deadline_s:
            time.sleep(0.01)
        second = other(folder, "shares")
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(1)
    assert first.communicate(timeout=60)[0] == "alone\n"
    assert second.communicate(timeout=60)[0] == "waits\nshares\n"


def test_two_that_time_get_their_turns(folder: Path) -> None:
    with lock.shared_use(UUID):
        processes = [other(folder, "alone") for _ in range(2)]
        with lock.exclusive_use(UUID):
            pass
    for process in processes:
        assert process.communicate(timeout=60)[0] == "waits\nalone\n"


def test_a_gpu_that_is_kept_for_ever_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "TIMEOUT_S", 0.0)
    script = OTHER.replace('print("alone", flush=True)', 'print("alone", flush=True); input()')
    root = str(REPOSITORY)
    with subprocess.Popen(
        [sys.executable, "-c", script, str(folder), "alone"],
        cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["waits\n", "alone\n"]
        with pytest.raises(GraderError, match="has kept the GPU GPU-test"), lock.shared_use(UUID):
            pass
        process.communicate("\n", timeout=60)


def test_without_a_gpu_or_a_place_for_locks_there_are_no_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with lock.shared_use(None):
        pass
    monkeypatch.setattr(lock, "FOLDER", Path("/proc/nowhere"))
    with lock.shared_use(UUID), lock.exclusive_use(UUID) as waited:
        assert not waited


def test_nobody_times_without_having_shared(folder: Path) -> None:
    """`grade profile` and `calibrate` timed beside other gradings, without a word."""
    with pytest.raises(KeyError), lock.exclusive_use(UUID):
        pass


def test_who_is_alone_does_not_wait(folder: Path) -> None:
    with lock.shared_use(UUID), lock.exclusive_use(UUID) as waited:
        assert not waited


def test_who_had_company_has_waited(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with lock.shared_use(UUID):
        company = next(folder.glob("*.lock")).open()
        fcntl.flock(company, fcntl.LOCK_SH)
        monkeypatch.setattr("time.sleep", lambda _: company.close())
        with lock.exclusive_use(UUID) as waited:
            assert waited
