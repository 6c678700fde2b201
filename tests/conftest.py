"""Shared fixtures: a cache of the run's own, and GPU tests that skip with the reason."""

from __future__ import annotations

import functools
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from classrooms import make_classroom
from course import Course, make_course

from grader.gpu.lock import shared_use
from grader.gpu.nvml import Gpu, gpus, visible
from grader.pool.state import WorkerState
from grader.sandbox import policy
from grader.system import toolchain
from grader.system.cache import CACHE_DIR_VARIABLE

# Hand-ins that start processes or threads for ever.
FLOODS = ("fill_processes", "fill_threads", "starts_many_processes", "leaves_a_comet", "soak")


def is_flood(item: pytest.Item) -> bool:
    return any(word in item.nodeid for word in FLOODS)


@functools.cache
def why_no_gpu() -> str | None:
    """Return why tests marked gpu cannot run here, None if they can."""
    if not visible(gpus()):
        return "no NVIDIA GPU here"
    if toolchain.find_nvcc() is None:
        return "no nvcc here"
    return None


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Heed signals that a shell's background job or `nohup` ignores, with all that it starts.

    And have CI's reruns cost nothing: pytest-rerunfailures writes to a socket
    twice a test before it reads, for which the kernel waits 40 ms.
    """
    asked = getattr(getattr(config, "failures_db", None), "sock", None)
    if asked is not None:
        asked.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)  # before `-m slow` is looked at
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
    # Last, and one after the other: beside them the machine may refuse others a process.
    # A file's tests run in one process, which sets up its server and builds once.
    for item in items:
        if is_flood(item):
            item.add_marker(pytest.mark.xdist_group("floods"))
        elif item.get_closest_marker("xdist_group") is None:
            shared = item.path.parent if item.path.parent.name == "interpreter" else item.path
            item.add_marker(pytest.mark.xdist_group(str(shared.relative_to(item.config.rootpath))))
    items.sort(key=is_flood)


@pytest.fixture(scope="session", autouse=True)
def warm_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache for all test processes of this run, so that the runtime is compiled once."""
    base = tmp_path_factory.getbasetemp()
    # Under xdist each process has a folder of its own below the run's.
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    before = os.environ.get(CACHE_DIR_VARIABLE)
    os.environ[CACHE_DIR_VARIABLE] = str(shared / "cache")
    yield shared / "cache"
    if before is None:
        del os.environ[CACHE_DIR_VARIABLE]
    else:
        os.environ[CACHE_DIR_VARIABLE] = before


@pytest.fixture
def first_gpu() -> Gpu:
    """The GPU that tests marked gpu use."""
    return visible(gpus())[0]


@pytest.fixture
def turn(first_gpu: Gpu) -> Iterator[None]:
    """Share the GPU as a grading does, for a test that does less: some want it for themselves."""
    with shared_use(first_gpu.uuid):
        yield


@pytest.fixture
def no_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    """With it every CUDA C++ hand-in takes a second more to build."""
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: None)


@pytest.fixture(scope="module")
def state() -> Iterator[WorkerState]:
    """What grades many hand-ins in this process, with one Python server."""
    state = WorkerState()
    yield state
    state.close()


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A small course of the test's own, in which all agrees."""
    return make_course(tmp_path / "course")


@pytest.fixture
def unfenced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs on the processor see files: a test's own tools, or their own memory's map."""
    monkeypatch.setitem(policy._layers, False, policy.Layers(landlock=False))


@pytest.fixture
def classroom(tmp_path: Path) -> Path:
    """A small class's hand-ins."""
    return make_classroom(tmp_path / "hand-ins")
