"""The files that an untrusted program may read, write and run: the rules for Landlock.

    read     the system's programs and libraries, the compilers, this Python, the
             worker programs: everything that builds and runs a kernel
    write    the program's own folder, nothing else
    device   /dev/null and similar; on a GPU the driver's device files

Everything else is out of reach: home folders, the assignments, other submissions, the cache, /tmp,
/dev/shm, other processes below /proc. What programs on a GPU need beyond that is a *relaxation*:
`RELAXATIONS` names each with its reason, and the table in docs/security.md is made from it.

A path that does not exist grants nothing. A grant covers everything below its path, so a staff
folder below a granted one would be readable: `uncovered` finds those.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import grader
from grader.protocol import programs
from grader.system import toolchain

Grant = Literal["read", "write", "change", "device"]

# What distributions install: compilers, their parts, libraries.
_SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/opt",
    "/nix/store", "/gnu/store",
)  # fmt: skip
# Not all of /etc: a program of root could read the passwords there.
_SETTINGS = (
    "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/os-release",
)  # fmt: skip
# Numerical libraries read these to choose a kernel or a number of threads.
_MACHINE = (
    "/proc/cpuinfo", "/proc/meminfo", "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu", "/sys/devices/system/node",
)  # fmt: skip
_READ_DEVICES = ("/dev/random", "/dev/urandom")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full")

# The parts of a prefix that hold programs; the prefix itself can be a home folder.
_PARTS = (
    "bin", "lib", "lib32", "lib64", "libexec", "include", "share", "nvvm", "targets", "extras",
    "compute-sanitizer", "pyvenv.cfg", "*-linux-gnu",
)  # fmt: skip

_PACKAGES = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation:
    """A grant to some programs only: what, to which, and why."""

    grant: Grant
    paths: tuple[str, ...]
    to: Literal["programs on a GPU"]
    why: str


# docs/security.md says how each was found.
RELAXATIONS = (
    Relaxation(
        grant="change",
        paths=("/proc",),
        to="programs on a GPU",
        why="CUDA fails with error 304 without the right to write below /proc",
    ),
    Relaxation(
        grant="device",
        paths=("/dev/nvidia*", "/dev/nvidia-caps/*", "/dev/dxg", "/dev/nvhost*", "/dev/nvmap"),
        to="programs on a GPU",
        why="the driver's device files; WSL 2 and Jetson have others",
    ),
    Relaxation(
        grant="read",
        paths=("/sys", "/run/nvidia-persistenced", "/etc/nvidia*"),
        to="programs on a GPU",
        why="the driver looks for the GPU on the bus; an H200 works without this",
    ),
    Relaxation(
        grant="write",
        paths=("$CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"),
        to="programs on a GPU",
        why="with MPS, its clients talk to it through files there",
    ),
)


def granted(*, gpu: bool) -> dict[str, list[str]]:
    """Return the paths by kind of grant, without the program's own folder."""
    paths: dict[str, list[str]] = {
        "read": list(_readable(gpu)),
        "write": [],
        "change": [],
        "device": list(_DEVICES),
    }
    for relaxation in RELAXATIONS if gpu else ():
        for pattern in relaxation.paths:
            paths[relaxation.grant] += _expanded(pattern)
    return paths


def uncovered(folders: Iterable[Path]) -> list[Path]:
    """Return those of `folders` that every program may read, because they lie below a grant."""
    grants = _real(_readable(True))
    real = ((folder, Path(os.path.realpath(folder))) for folder in folders)
    return [folder for folder, path in real if not grants.isdisjoint((path, *path.parents))]


@functools.cache
def _real(paths: tuple[str, ...]) -> frozenset[Path]:
    return frozenset(Path(os.path.realpath(path)) for path in paths)


def interpreter_files() -> list[str]:
    """Return files that a worker must be able to read as any user."""
    packages = Path(sysconfig.get_path("purelib"))
    return [str(programs.START), *map(str, packages.glob("torch/__init__.py"))]


def _expanded(pattern: str) -> list[str]:
    path = os.path.expandvars(pattern)
    # `expandvars` leaves an unset variable as it is.
    return sorted(map(str, Path("/").glob(path[1:]))) if path.startswith("/") else []


@functools.cache
def _readable(gpu: bool) -> tuple[str, ...]:
    """Return the folders and files that programs may read and run."""
    folders = [*_SYSTEM, *_SETTINGS, *_MACHINE, *_READ_DEVICES]
    folders.append(str(Path(grader.__file__).parent))
    folders += _python()
    folders += _tools(gpu)
    # The dynamic loader searches these: programs get the variable.
    folders += [f for f in os.environ.get("LD_LIBRARY_PATH", "").split(":") if f.startswith("/")]
    return tuple(_without_the_contained(folders))


def _python() -> Iterator[str]:
    prefixes = dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
    for prefix in prefixes:
        yield from _parts(Path(prefix))
    for name in ("stdlib", "platstdlib", "purelib", "platlib", "include"):
        yield sysconfig.get_path(name)
    # Packages of another environment, or of the user's own (`pip install --user`).
    yield from (path for path in sys.path if Path(path).name in _PACKAGES)
    yield from _program(Path(sys.executable))


def _tools(gpu: bool) -> Iterator[str]:
    searches = [toolchain.find_cxx(), toolchain.find_nvcc()]
    if gpu:
        searches.append(toolchain.find_compute_sanitizer())
    for tool in searches:
        if tool is not None:
            yield from _program(tool.path)
    # On a GPU Triton compiles its launcher with one of these.
    for name in (os.environ.get("CC"), "gcc", "cc") if gpu else ():
        if name and (found := shutil.which(name)):
            yield from _program(Path(found))
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := os.environ.get(variable):
            yield from _parts(Path(root))


def _program(path: Path) -> Iterator[str]:
    """Yield a program, the target of its link, and the parts of the prefix of each."""
    for program in dict.fromkeys((path, Path(os.path.realpath(path)))):
        yield str(program)
        if program.parent.name == "bin":
            yield from _parts(program.parent.parent)


def _parts(prefix: Path) -> Iterator[str]:
    for part in _PARTS:
        yield from map(str, prefix.glob(part))


def _without_the_contained(folders: Sequence[str]) -> Iterator[str]:
    """Yield the folders that exist, in order, without those below another one."""
    real = {folder: os.path.realpath(folder) for folder in dict.fromkeys(folders)}
    existing = {folder: path for folder, path in real.items() if Path(path).exists()}
    tops = set(existing.values())
    for folder, path in existing.items():
        if not any(str(parent) in tops for parent in Path(path).parents):
            yield folder
