"""Control groups: the kernel's limit on the memory and tasks of one program, where permitted.

    version 2   a group beside the judge's, where the judge may write and the parent
                delegates the controller `memory` (systemd does for services)
    version 1   a group below the judge's, in the hierarchies `memory` and `pids`

A program enters its group before it gives up its rights (`grader.worker.confine`). All its
descendants are in the group too, even in another session, so that no limit and no kill misses
one. The machine's settings are not changed. Most containers mount their groups read-only: then
there is no group, and `grader.sandbox.process` watches memory and processes instead, as it also
does beside a group.

Names and meaning of the files: Documentation/admin-guide/cgroup-v2.rst and
cgroup-v1/ of the Linux kernel.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from grader.errors import GraderError
from grader.system.process_tree import kill_until_none

_NAME = "gpu-grade"
# The kernel counts more than the program's own pages, and coarsely: with this slack the polling
# in `grader.sandbox.process` decides about a program near its limit.
_SLACK_MIB = 64
# Memory of interpreter, driver and toolkit before student code runs; `start_here` replaces it.
_START_MIB = 4096
_REMOVE_S = 1.0
_POLL_S = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder in which groups can be made, and what the groups can limit."""

    folder: Path
    version: int
    memory: bool
    tasks: bool


@dataclass(slots=True, kw_only=True)
class Group:
    """The groups of one program: one in version 2, one for each hierarchy in version 1.

    `memory_mib` is what the submission may use in addition to what its worker used before.
    """

    folders: tuple[tuple[Place, Path], ...]
    memory_mib: int
    _start_mib: float = _START_MIB
    _granted_mib: float = 0.0
    _most_mib: int = 0

    @property
    def entrances(self) -> list[str]:
        """The files to which a process with one thread writes a 0 to enter the group.

        To enter through `cgroup.procs`, the thread waits until no process of the machine forks or
        ends, which takes milliseconds. Version 2 has no other entrance.
        """
        names = {1: "tasks", 2: "cgroup.procs"}
        return [str(folder / names[place.version]) for place, folder in self.folders]

    def start_here(self) -> None:
        """Count the submission's memory from the present usage."""
        for place, folder in self.folders:
            if place.memory:
                name = "memory.current" if place.version == 2 else "memory.usage_in_bytes"
                self._start_mib = int((folder / name).read_text()) / 2**20
        self._limit()

    def grant(self, memory_mib: float) -> None:
        """Raise the limit by the size of shared buffers, which are not the submission's own."""
        self._granted_mib = memory_mib
        self._limit()

    def _limit(self) -> None:
        most_mib = int(self._start_mib + self._granted_mib + self.memory_mib + _SLACK_MIB)
        if most_mib == self._most_mib:
            return  # as for most cases, which are small
        self._most_mib = most_mib
        for place, folder in self.folders:
            try:
                if place.memory:
                    _limit_memory(place, folder, most_mib)
            except OSError:  # below the present usage: the previous limit stays for now
                self._most_mib = 0

    @property
    def ran_out_of_memory(self) -> bool:
        """True if the kernel has killed a process of the group for lack of memory."""
        for place, folder in self.folders:
            name = "memory.events" if place.version == 2 else "memory.oom_control"
            if place.memory and _counts(folder / name).get("oom_kill", 0):
                return True
        return False

    def end(self) -> None:
        """Kill all processes in the group, wait for them, and remove it. May be called again.

        Raises GraderError if its processes multiply faster than they can be killed, or do not end.
        """
        kill_until_none(self._kill, _POLL_S)
        for _, folder in self.folders:
            _remove(folder)

    def _kill(self) -> list[int]:
        """Kill all processes in the group; return them."""
        members = {pid for _, folder in self.folders for pid in _processes(folder)}
        for place, folder in self.folders if members else ():
            if place.tasks:
                (folder / "pids.max").write_text("0")  # no process can start from now on
            if place.version == 2:
                with contextlib.suppress(FileNotFoundError):  # before Linux 5.14
                    (folder / "cgroup.kill").write_text("1")
        for pid in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        return list(members)


def make(memory_mib: int, tasks: int) -> Group | None:
    """Make a group for one program; None if that is impossible here.

    Until `start_here` is called, the limit includes the start of interpreter and driver.
    """
    name = f"{_NAME}-{os.getpid()}-{secrets.token_hex(4)}"
    made: list[tuple[Place, Path]] = []
    try:
        for place in places():
            folder = place.folder / name
            folder.mkdir()
            made.append((place, folder))
            if place.memory:
                _limit_memory(place, folder, _START_MIB + memory_mib + _SLACK_MIB)
            if place.tasks:
                (folder / "pids.max").write_text(str(tasks))
    except OSError:
        for _, folder in made:
            _remove(folder)
        return None
    return Group(folders=tuple(made), memory_mib=memory_mib) if made else None


@functools.cache
def places() -> tuple[Place, ...]:
    """Return where groups can be made, () if memory cannot be limited there.

    The first call also removes the groups that killed judges have left.
    """
    found = tuple(_writable(_candidates()))
    if not any(place.memory for place in found):
        return ()
    for place in found:
        _remove_leftovers(place.folder)
    return found


def _writable(candidates: Iterator[Place]) -> Iterator[Place]:
    """Yield the candidates in which a group can be made, one for each controller."""
    covered: set[str] = set()
    for place in candidates:
        controllers = {name for name in ("memory", "tasks") if getattr(place, name)} - covered
        if not controllers:
            continue
        trial = place.folder / f"{_NAME}-{os.getpid()}-trial"
        try:
            trial.mkdir()
        except OSError:
            continue
        _remove(trial)
        covered |= controllers
        yield replace(place, memory="memory" in controllers, tasks="tasks" in controllers)


def _candidates(proc: Path = Path("/proc/self")) -> Iterator[Place]:
    """Yield the folders where a group might be made, the likeliest first."""
    try:
        lines = (proc / "cgroup").read_text().splitlines()
        mounts = (proc / "mountinfo").read_text().splitlines()
    except OSError:
        return
    # Each line: hierarchy:controllers:path, where version 2 is 0::path.
    paths = {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}
    for mount in mounts:
        fields, _, rest = mount.partition(" - ")
        kind, _, options = rest.split(" ", 2)
        root, point = (_unescaped(word) for word in fields.split()[3:5])
        if kind == "cgroup2" and "" in paths:
            own = _below(Path(point), root, paths[""])
            for folder in (own, own.parent):
                delegated = _words(folder / "cgroup.subtree_control")
                if folder.is_relative_to(point) and "memory" in delegated:
                    tasks = "pids" in delegated
                    yield Place(folder=folder, version=2, memory=True, tasks=tasks)
        if kind == "cgroup":
            offered = set(options.split(" ")[-1].split(",")) & {"memory", "pids"}
            for controllers, path in paths.items():
                if offered & set(controllers.split(",")):
                    folder = _below(Path(point), root, path)
                    memory, tasks = "memory" in offered, "pids" in offered
                    yield Place(folder=folder, version=1, memory=memory, tasks=tasks)


def _below(point: Path, root: str, path: str) -> Path:
    """Return where the group `path` appears, if a mount at `point` shows the group `root`."""
    if path == root or path.startswith(root.rstrip("/") + "/"):
        path = path[len(root.rstrip("/")) :]
    return point / path.lstrip("/")


def _limit_memory(place: Place, folder: Path, most_mib: int) -> None:
    """Limit memory and swap together. Raises OSError."""
    most = str(most_mib << 20)
    if place.version == 2:
        (folder / "memory.max").write_text(most)
        # A kernel without swap has no such files; one before 4.19 kills one process at a time.
        for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
            with contextlib.suppress(FileNotFoundError):
                (folder / name).write_text(value)
        return
    both = folder / "memory.memsw.limit_in_bytes"
    names = [folder / "memory.limit_in_bytes", *([both] if both.exists() else [])]
    # The limit on memory must never be above the one on memory and swap.
    growing = both.exists() and int(both.read_text()) < int(most)
    for file in reversed(names) if growing else names:
        file.write_text(most)


def _processes(folder: Path) -> list[int]:
    # A process outside this pid namespace appears as 0, and a signal to 0 would reach the judge.
    return [pid for word in _words(folder / "cgroup.procs") if (pid := int(word)) > 0]


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []


def _counts(file: Path) -> dict[str, int]:
    words = _words(file)
    return dict(zip(words[::2], map(int, words[1::2]), strict=False))


def _unescaped(path: str) -> str:
    """Return a path of mountinfo, which writes blanks as octal numbers."""
    for code in (r"\040", r"\011", r"\012", r"\134"):
        path = path.replace(code, chr(int(code[1:], 8)))
    return path


def _remove(folder: Path) -> None:
    """Remove an empty group; the kernel needs a moment to notice that it is empty."""
    deadline_s = time.monotonic() + _REMOVE_S
    while folder.exists():
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        if time.monotonic() > deadline_s:
            return  # the next judge's `places` tries again
        time.sleep(_POLL_S)


def _remove_leftovers(place: Path) -> None:
    """Kill the processes that have outlived their judge, and remove their groups."""
    for folder in place.glob(f"{_NAME}-*"):
        judge = folder.name.split("-")[2]
        if not judge.isdigit() or Path(f"/proc/{judge}").exists():
            continue
        if any(map(_is_elsewhere, _processes(folder))):
            continue
        left = Place(
            folder=place,
            version=2 if (folder / "cgroup.events").exists() else 1,
            memory=False,
            tasks=(folder / "pids.max").exists(),
        )
        # It fails for a group of another user, or when another judge removes it first.
        with contextlib.suppress(OSError, GraderError):
            Group(folders=((left, folder),), memory_mib=0).end()


def _is_elsewhere(pid: int) -> bool:
    """True for a process of a nested pid namespace, where its judge has a different pid."""
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        # The pid in each namespace, from this one inwards.
        return len(status.partition("\nNSpid:")[2].partition("\n")[0].split()) > 1
    return False
