"""Rows about the machine itself: system, Python, host compiler, sandbox, storage."""

from __future__ import annotations

from collections.abc import Iterator

from grader.commands.doctor.ability import MINIMUM_CXX
from grader.commands.doctor.facts import Facts, Place, Python, Storage, System, reasons
from grader.commands.doctor.fixes import Fixes
from grader.commands.doctor.rows import Row, RowState, broken, mismatched, missing, note, ok
from grader.sandbox.level import Isolation, Level

ENOUGH_MIB = 500  # far more than the builds of a course take

NOTHING = "kernels cannot be graded here at all"
NO_HOST = "CUDA C++ kernels cannot be graded here at all"


def judge_system(system: System) -> Row:
    """Report whether the judge can run on this system."""
    found = f"{system.distribution}, {system.architecture}"
    if system.name == "Darwin":
        cost = (
            f"{NOTHING}: Triton has no macOS packages, and the judge needs Linux; "
            "grade list, grade doctor and editing assignments work"
        )
        fix = "use a Linux machine, a Linux container or virtual machine, or Google Colab"
        return mismatched("system", found, cost=cost, fix=fix)
    if system.name != "Linux":
        fix = "wsl --install" if system.name == "Windows" else "use a Linux machine"
        return mismatched("system", found, cost=NOTHING, fix=fix)
    if system.wsl == 1:
        cost = f"{NOTHING}: WSL 1 has no Linux kernel and no GPU"
        fix = f"wsl --set-version {system.wsl_name or 'DISTRIBUTION'} 2   (in Windows)"
        return mismatched("system", f"{found}, in WSL 1", cost=cost, fix=fix)
    if system.lacks:
        found += f"; this kernel or Python lacks {' and '.join(system.lacks)}"
        fix = "use Linux 5.3 or newer with a Python that was built for it"
        return mismatched("system", found, cost=NOTHING, fix=fix)
    if system.wsl == 2:
        cost = "Windows shares the GPU: timings are less steady, and other users may not be shown"
        return note("system", f"{found}, in WSL 2", cost=cost)
    return ok("system", f"{found}, in a container" if system.container else found)


def judge_python(python: Python, fixes: Fixes) -> Row:
    """Report the Python version, and whether it can make a virtual environment."""
    version = ".".join(map(str, python.version))
    found = f"{version}, {'in a' if python.in_venv else 'no'} virtual environment"
    if python.in_venv or python.can_make_venv:
        return ok("python", found)
    return missing(
        "python",
        f"{found}, and no python3-venv to make one",
        cost="`make setup` cannot make its .venv",
        fix=fixes.system_package("python3-venv"),
    )


def judge_cxx(facts: Facts, fixes: Fixes) -> Iterator[Row]:
    """Report whether g++ is installed, new enough, and works."""
    search, problem = facts.compilers.cxx, facts.compilers.cxx_problem
    passed_over = reasons(search)
    fix = fixes.system_package("g++")
    if search.tool is None:
        row = broken if passed_over else missing
        yield row("g++", passed_over or "none", cost=NO_HOST, fix=fix)
        return
    found = f"{search.tool.version}, {search.tool.path}"
    if search.tool.release < MINIMUM_CXX:
        cost = "CUDA C++ kernels cannot be graded on the CPU"
        yield mismatched("g++", f"{found}; {MINIMUM_CXX[0]} or newer is needed", cost=cost, fix=fix)
    elif problem is not None:
        yield broken("g++", f"{found}: {problem}", cost=NO_HOST, fix=fix)
    else:
        yield ok("g++", found)
    if passed_over:
        cost = f"none, if you want to use {search.tool.path}"
        yield note("g++", f"not used: {passed_over}", cost=cost)


# What a submission's own user lacks: words of the note, and how to fix it.
_ANOTHER_USER = {
    "Permission denied": "install Python where every user can read it (such as /opt), "
    "not in a home folder",
    "(TMPDIR)": "set TMPDIR to a folder that every user can enter, such as /tmp",
}
_NEWER_KERNEL = "use Linux 6.12 or newer, where Landlock and seccomp are allowed"


def judge_isolation(isolation: Isolation | None) -> Iterator[Row]:
    """Report how well the sandbox isolates a submission."""
    if isolation is None:
        return
    found = f"level {isolation.level}: {isolation.layers}"
    notes = "; ".join(isolation.notes)
    own_user = "; ".join(fix for words, fix in _ANOTHER_USER.items() if words in notes)
    if isolation.level is Level.FULL:
        yield ok("sandbox", found)
        if notes:
            cost = "none for your own code: none of the attempts to leave the sandbox succeeded"
            yield note("sandbox", notes, cost=cost, fix=own_user)
        return
    # A note, not a fault: students run their own code on their own machine.
    yield note(
        "sandbox",
        f"{found}; {notes}" if notes else found,
        cost=f"{'; '.join(isolation.missing)}: grade your own code only",
        fix=f"{own_user}; if that is not enough, {_NEWER_KERNEL}"
        if own_user
        else f"to grade other people's code, {_NEWER_KERNEL}",
    )


def judge_storage(storage: Storage) -> Iterator[Row]:
    """Report whether builds can be cached and loaded, and whether there is space."""
    other, empty = 'export GRADE_CACHE_DIR="$(mktemp -d)"', f"rm -rf {storage.cache.folder}"
    yield from _judge_place("cache", storage.cache, another=other, space=empty)
    other = "export TMPDIR=FOLDER"
    rows = _judge_place("scratch", storage.scratch, another=other, space=other)
    yield from (row for row in rows if not (storage.scratch.noexec and row.state is RowState.OK))
    if storage.scratch.noexec:  # of the cache only copies are loaded
        found = f"{storage.scratch.folder}: programs may not be loaded from it (mounted noexec)"
        cost = "only Triton can be graded here, and only without a GPU"
        yield broken("scratch", found, cost=cost, fix=other)


def _judge_place(thing: str, place: Place, *, another: str, space: str) -> Iterator[Row]:
    """Report on a folder; the fixes choose `another` one, and make `space`."""
    if place.problem is not None:
        found = f"{place.folder}: {place.problem}"
        yield broken(thing, found, cost=NOTHING, fix=another)
    if place.free_mib < ENOUGH_MIB:
        found = f"{place.folder}: {place.free_mib} MiB free"
        cost = "builds and reports may fail for lack of space"
        yield mismatched(thing, found, cost=cost, fix=space)
    elif place.problem is None:
        yield ok(thing, f"{place.folder}, {_gib(place.free_mib)} free")


def _gib(mib: int) -> str:
    return f"{mib / 1024:.1f} GiB" if mib < 102400 else f"{mib // 1024} GiB"
