"""Shared fixtures: a separate cache for the run, and GPU tests that skip with the reason."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import shutil
import signal
import socket
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from classrooms import make_classroom
from course import Course, make_course
from shared_server import shared_servers

from grader.build.host_compiler import _runtime_key
from grader.commands.verify import run, tasks
from grader.emulation.cuda_cpp import Mode
from grader.gpu.lock import shared_use
from grader.gpu.nvml import Gpu, gpus, visible
from grader.pool.state import WorkerState
from grader.sandbox import policy
from grader.system import toolchain
from grader.system.cache import CACHE_DIR_VARIABLE, cache_root, cached_folder

# Submissions that start processes or threads forever.
FLOODS = ("fill_processes", "fill_threads", "starts_many_processes", "leaves_a_comet", "soak")


def is_flood(item: pytest.Item) -> bool:
    return any(word in item.nodeid for word in FLOODS)


@functools.cache
def why_no_gpu() -> str | None:
    """Return why tests marked gpu cannot run here; None if they can."""
    if not visible(gpus()):
        return "no NVIDIA GPU here"
    if toolchain.find_nvcc() is None:
        return "no nvcc here"
    return None


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Handle signals that a shell's background job or `nohup` ignores.

    Also save 40 ms per test with pytest-rerunfailures, which writes to a socket twice
    before it reads.
    """
    asked = getattr(getattr(config, "failures_db", None), "sock", None)
    if asked is not None:
        asked.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)  # before `-m slow` is evaluated
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        # Only `make test-all` installs Dask.
        if "dask" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
    marked = [item for item in items if item.get_closest_marker("gpu")]
    reason = why_no_gpu() if marked else None
    for item in marked:
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
    # Floods run last and one after another, because they may leave no processes for other tests.
    # All tests of a file run in one process, which starts its server and builds once.
    for item in items:
        if is_flood(item):
            item.add_marker(pytest.mark.xdist_group("floods"))
        elif item.get_closest_marker("xdist_group") is None:
            item.add_marker(
                pytest.mark.xdist_group(str(item.path.relative_to(item.config.rootpath)))
            )
    items.sort(key=is_flood)


def pytest_collection() -> None:
    """Collect no garbage among modules and tests, which stay to the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Spare the garbage collector thousands of tests, and torch."""
    gc.collect()
    gc.freeze()
    gc.enable()


def compiled_runtimes() -> list[Path]:
    """Return the folders of this user's cache with the emulation's runtime as it is now."""
    cxx = toolchain.find_cxx()
    if cxx is None:
        return []
    entries = (cache_root() / "host-runtime" / _runtime_key(cxx, mode) for mode in Mode)
    return [entry for entry in entries if entry.is_dir()]


@pytest.fixture(scope="session", autouse=True)
def warm_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache for all test processes of this run, with the runtime that `make` has compiled."""
    base = tmp_path_factory.getbasetemp()
    # Under xdist, each process has its own folder below the run's.
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    before = os.environ.get(CACHE_DIR_VARIABLE)
    compiled = compiled_runtimes()
    os.environ[CACHE_DIR_VARIABLE] = str(shared / "cache")
    for folder in compiled:
        copy = partial(shutil.copytree, folder, dirs_exist_ok=True)
        cached_folder("host-runtime", folder.name, copy, exclusive=True)
    yield shared / "cache"
    if before is None:
        del os.environ[CACHE_DIR_VARIABLE]
    else:
        os.environ[CACHE_DIR_VARIABLE] = before


@pytest.fixture(scope="session", autouse=True)
def python_servers(warm_cache: Path) -> Iterator[None]:
    """One Python server for all gradings of this process."""
    with shared_servers():
        yield


@pytest.fixture
def first_gpu() -> Gpu:
    """The GPU that tests marked gpu use."""
    return visible(gpus())[0]


@pytest.fixture
def turn(first_gpu: Gpu) -> Iterator[None]:
    """Take the GPU's shared lock like a grading: other tests need the GPU exclusively."""
    with shared_use(first_gpu.uuid):
        yield


@pytest.fixture
def no_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide nvcc, which takes an extra second for each CUDA C++ submission."""
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: None)


@pytest.fixture(scope="module")
def state() -> Iterator[WorkerState]:
    """A worker state that grades many submissions in this process."""
    state = WorkerState()
    yield state
    state.close()


@pytest.fixture
def one_process(state: WorkerState, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `grade verify` do its tasks in this process, which has torch and a Python server."""

    class OneProcess(contextlib.nullcontext["OneProcess"]):
        def __init__(self, jobs: int) -> None:
            super().__init__(self)

        def results(self, planned: Sequence[tasks.Task]) -> Iterator[tuple[tasks.Task, Any]]:
            for task in planned:
                yield task, tasks.rows_of(task, state)

    monkeypatch.setattr(run, "Pool", OneProcess)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A small, valid course in a temporary folder."""
    return make_course(tmp_path / "course")


@pytest.fixture
def unfenced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs on the CPU read all files, such as a test's tools or /proc."""
    monkeypatch.setitem(policy._layers, False, policy.Layers(landlock=False))


@pytest.fixture
def classroom(tmp_path: Path) -> Path:
    """The submissions of a small class."""
    return make_classroom(tmp_path / "class")
