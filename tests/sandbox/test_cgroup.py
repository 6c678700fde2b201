"""Control groups: where they can be made, what they limit, and that none is left behind."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from grading_bench import nothing_left

from grader.sandbox import cgroup, process, spawn
from grader.sandbox.cgroup import Group, Place
from grader.sandbox.policy import Layers
from grader.sandbox.spawn import End, Limits
from grader.system import process_tree

PYTHON = [sys.executable, "-I", "-S", "-c"]
MIB = 1 << 20

# --- where groups can be made ----------------------------------------------------------------


def machine(folder: Path, *, groups: str, mounts: dict[str, str]) -> Path:
    """Fake a machine: `groups` is its /proc/self/cgroup, a mount is `kind options` at a path."""
    proc = folder / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text(groups)
    lines = ["23 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda rw"]
    for number, (point, words) in enumerate(mounts.items()):
        root, kind, options = words.split()
        place = str(folder / point).replace(" ", r"\040")
        shared = "shared:7 " if number else ""
        lines.append(f"{31 + number} 23 0:29 {root} {place} rw {shared}- {kind} {kind} {options}")
    (proc / "mountinfo").write_text("\n".join(lines) + "\n")
    return proc


def group(folder: Path, controllers: str = "") -> Path:
    """Fake a group that delegates these controllers."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.subtree_control").write_text(controllers + "\n")
    return folder


def found(proc: Path) -> list[tuple[Path, int, bool, bool]]:
    places = cgroup._candidates(proc)
    return [(place.folder, place.version, place.memory, place.tasks) for place in places]


def test_beside_ones_own_where_systemd_hands_memory_down(tmp_path: Path) -> None:
    proc = machine(tmp_path, groups="0::/app.slice/shell.scope\n", mounts={"cg": "/ cgroup2 rw"})
    app = group(tmp_path / "cg/app.slice", "cpu memory pids")
    group(app / "shell.scope")
    assert found(proc) == [(app, 2, True, True)]


def test_not_where_the_parent_keeps_memory_to_itself(tmp_path: Path) -> None:
    proc = machine(tmp_path, groups="0::/app.slice/shell.scope\n", mounts={"cg": "/ cgroup2 rw"})
    group(group(tmp_path / "cg/app.slice", "cpu pids") / "shell.scope")
    assert found(proc) == []


def test_not_above_what_a_container_sees(tmp_path: Path) -> None:
    """At the root of its namespace, where the parent would be outside."""
    group(tmp_path, "memory")
    proc = machine(tmp_path, groups="0::/\n", mounts={"cg": "/ cgroup2 rw"})
    group(tmp_path / "cg")
    assert found(proc) == []


def test_a_container_that_sees_its_groups_whole_name(tmp_path: Path) -> None:
    proc = machine(
        tmp_path, groups="0::/docker/1a2b/job\n", mounts={"c g": "/docker/1a2b cgroup2 rw"}
    )
    group(group(tmp_path / "c g", "memory") / "job")
    assert found(proc) == [(tmp_path / "c g", 2, True, False)]


def test_below_ones_own_in_version_1(tmp_path: Path) -> None:
    proc = machine(
        tmp_path,
        groups="5:cpu,cpuacct:/\n4:memory:/jobs/7\n3:pids:/\n1:name=systemd:/\n0::/\n",
        mounts={
            "memory": "/ cgroup rw,memory",
            "pids": "/ cgroup rw,pids",
            "cpu": "/ cgroup rw,cpu,cpuacct",
            "unified": "/ cgroup2 rw",
        },
    )
    group(tmp_path / "unified")
    assert found(proc) == [
        (tmp_path / "memory/jobs/7", 1, True, False),
        (tmp_path / "pids", 1, False, True),
    ]


def test_a_machine_without_groups(tmp_path: Path) -> None:
    assert found(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_no_place(tmp_path: Path) -> None:
    gone = Place(folder=tmp_path / "gone", version=2, memory=True, tasks=True)
    here = Place(folder=tmp_path, version=1, memory=True, tasks=False)
    again = Place(folder=tmp_path, version=1, memory=True, tasks=False)
    assert list(cgroup._writable(iter([gone, here, again]))) == [here]
    assert list(tmp_path.iterdir()) == []


def test_what_killed_judges_left_is_removed(tmp_path: Path) -> None:
    for name in ("gpu-grade-4194399-0a", f"gpu-grade-{os.getpid()}-0b", "gpu-grade-x-y", "other"):
        (tmp_path / name).mkdir()
    cgroup._remove_leftovers(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {f"gpu-grade-{os.getpid()}-0b", "gpu-grade-x-y", "other"}


# --- version 2, in fake files ----------------------------------------------------------------


@pytest.fixture
def second(tmp_path: Path) -> Group:
    place = Place(folder=tmp_path, version=2, memory=True, tasks=True)
    for name, text in {"memory.current": f"{40 * MIB}\n", "cgroup.procs": ""}.items():
        (tmp_path / name).write_text(text)
    return Group(folders=((place, tmp_path),), memory_mib=100)


def test_memory_counts_from_where_the_submission_starts(second: Group, tmp_path: Path) -> None:
    second.start_here()
    assert int((tmp_path / "memory.max").read_text()) == (40 + 100 + 64) * MIB
    second.grant(500.0)
    assert int((tmp_path / "memory.max").read_text()) == (40 + 500 + 100 + 64) * MIB
    second.grant(0.0)
    assert int((tmp_path / "memory.max").read_text()) == (40 + 100 + 64) * MIB
    assert (tmp_path / "memory.swap.max").read_text() == "0"
    assert (tmp_path / "memory.oom.group").read_text() == "1"


def test_the_kernels_kill_is_seen(second: Group, tmp_path: Path) -> None:
    assert not second.ran_out_of_memory
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\n")
    assert not second.ran_out_of_memory
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\n")
    assert second.ran_out_of_memory


def test_a_process_that_we_cannot_see_is_not_signalled(
    second: Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a process is a 0 in the list, and a signal to 0 would end this process's own group."""
    monkeypatch.setattr(cgroup, "_REMOVE_S", 0.0)
    (tmp_path / "cgroup.procs").write_text("0\n0\n")
    second.end()


def test_a_process_enters_version_1_without_waiting_for_all_others(tmp_path: Path) -> None:
    first = Place(folder=tmp_path, version=1, memory=True, tasks=False)
    second = Place(folder=tmp_path, version=2, memory=False, tasks=True)
    both = Group(folders=((first, tmp_path / "a"), (second, tmp_path / "b")), memory_mib=100)
    assert both.entrances == [f"{tmp_path}/a/tasks", f"{tmp_path}/b/cgroup.procs"]


# --- on this machine -------------------------------------------------------------------------

real = pytest.mark.skipif(
    not cgroup.places(), reason="no control group can be made on this machine"
)


@pytest.fixture
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch the judge's polling off, so that only the kernel limits memory and processes."""
    monkeypatch.setattr(process, "_POLL_S", 1000.0)
    process_tree.become_subreaper()


def groups() -> Iterator[Path]:
    for place in cgroup.places():
        yield from place.folder.glob(f"gpu-grade-{os.getpid()}-*")


def run(folder: Path, code: str, **limits: int) -> spawn.Ended:
    with nothing_left(folder):
        ended = spawn.run(
            [*PYTHON, code],
            cwd=folder,
            environment=spawn.clean_environment(folder),
            wall_s=30,
            limits=Limits(**limits),
            layers=Layers(own_group=True),
        )
    assert list(groups()) == []
    return ended


TAKE = "kept = [bytearray(b'x' * (8 << 20)) for _ in range(64)]"
GREEDY = {
    "at once": TAKE,
    "shared": "import mmap\nkept = mmap.mmap(-1, 512 << 20)\nkept.write(bytes(512 << 20))",
    "in children": """
import os, time
for _ in range(20):
    if os.fork() == 0:
        kept = bytearray(b'x') * (25 << 20)
        time.sleep(100)
time.sleep(100)
""",
}


@real
@pytest.mark.usefixtures("unwatched")
@pytest.mark.parametrize("code", GREEDY.values(), ids=GREEDY)
def test_the_kernel_limits_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.setattr(cgroup, "_START_MIB", 0)
    if "fork" in code:
        # Version 1 kills one of many processes: the next poll finds that it did.
        monkeypatch.setattr(process, "_POLL_S", 0.2)
        monkeypatch.setattr(process_tree, "exact_memory_mib", lambda *_, **__: 0.0)
    assert run(tmp_path, code, memory_mib=256).end is End.MEMORY_LIMIT


@real
@pytest.mark.usefixtures("unwatched")
def test_the_kernel_limits_tasks(tmp_path: Path) -> None:
    if not any(place.tasks for place in cgroup.places()):
        pytest.skip("tasks cannot be limited on this machine")
    code = """
import os, threading, time
started = 0
try:
    while started < 200:
        if os.fork() == 0:
            time.sleep(100)
        started += 1
except OSError as error:
    print(started, error.strerror)
"""
    ended = run(tmp_path, code, threads=50)
    assert ended.output == "49 Resource temporarily unavailable\n"


@real
@pytest.mark.usefixtures("unwatched")
def test_a_program_below_its_limits_is_left_alone(tmp_path: Path) -> None:
    ended = run(tmp_path, "kept = bytearray(b'x') * (100 << 20)\nprint(len(kept))", memory_mib=256)
    assert (ended.ok, ended.output) == (True, f"{100 << 20}\n")


def wait_for_word(running: spawn.Program, word: str) -> None:
    while word not in running.output.text():
        time.sleep(0.01)
        assert running.output.drain(), "it has ended"


@pytest.mark.slow
@real
@pytest.mark.usefixtures("unwatched")
def test_its_memory_counts_from_the_mark(tmp_path: Path) -> None:
    """Neither a worker's own 300 MiB nor granted memory counts as the submission's."""
    code = """
import sys, time
kept = [bytearray(b'x') * (300 << 20)]
print("marked", flush=True)
time.sleep(0.5)
kept.append(bytearray(b'x') * (150 << 20))
print("granted", flush=True)
time.sleep(0.5)
kept.append(bytearray(b'x') * (200 << 20))
print("too much", flush=True)
"""
    confined = spawn.spawn(
        [*PYTHON, code],
        cwd=tmp_path,
        environment=spawn.clean_environment(tmp_path),
        limits=Limits(memory_mib=200),
        layers=Layers(own_group=True),
    )
    try:
        wait_for_word(confined, "marked")
        confined.mark_memory()
        wait_for_word(confined, "granted")
        confined.grant_memory(50.0)
        end = confined.wait_for(None, time.monotonic() + 20)
        assert end is End.MEMORY_LIMIT
        assert "too much" not in confined.finish(end).output
    finally:
        confined.kill()
    assert list(groups()) == []


@real
@pytest.mark.usefixtures("unwatched")
def test_nothing_in_it_survives(tmp_path: Path) -> None:
    code = """
import os, time
for _ in range(10):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                if os.fork():
                    os._exit(0)
        time.sleep(100)
"""
    assert run(tmp_path, code).end is End.EXITED
