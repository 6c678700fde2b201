"""Judging the machine itself: system, Python, host compiler, storage."""

from __future__ import annotations

from collections.abc import Iterator

from grader.commands.doctor.ability import MINIMUM_CXX
from grader.commands.doctor.facts import Facts, Python, Storage, System
from grader.commands.doctor.remedy import Remedies
from grader.commands.doctor.rows import Row, RowState
from grader.sandbox.level import Isolation, Level

# Far more than a course's builds take; below it other programs fail first.
ENOUGH_MIB = 500

NOTHING = "kernels cannot be graded here at all"
NO_HOST = "CUDA C++ kernels cannot be graded here at all"


def judge_system(system: System) -> Row:
    """Say whether the judge can run on this system."""
    found = f"{system.distribution}, {system.architecture}"
    if system.name == "Darwin":
        return Row(
            thing="system",
            state=RowState.MISMATCHED,
            found=found,
            cost=f"{NOTHING}: Triton has no macOS packages, and the judge needs Linux; "
            "grade list, grade doctor and editing assignments work",
            mend="use a Linux machine, a Linux container or virtual machine, or Google Colab",
        )
    if system.name != "Linux":
        return Row(
            thing="system",
            state=RowState.MISMATCHED,
            found=found,
            cost=NOTHING,
            mend="wsl --install" if system.name == "Windows" else "use a Linux machine",
        )
    if system.wsl == 1:
        return Row(
            thing="system",
            state=RowState.MISMATCHED,
            found=f"{found}, in WSL 1",
            cost=f"{NOTHING}: WSL 1 has no Linux kernel and no GPU",
            mend=f"wsl --set-version {system.wsl_name or 'DISTRIBUTION'} 2   (in Windows)",
        )
    if system.lacks:
        return Row(
            thing="system",
            state=RowState.MISMATCHED,
            found=f"{found}; this kernel or Python lacks {' and '.join(system.lacks)}",
            cost=NOTHING,
            mend="use Linux 5.3 or newer with a Python that was built for it",
        )
    if system.wsl == 2:
        return Row(
            thing="system",
            state=RowState.NOTE,
            found=f"{found}, in WSL 2",
            cost="Windows shares the GPU: timings are less steady, and who else uses it "
            "may not be shown",
        )
    return Row(
        thing="system",
        state=RowState.OK,
        found=f"{found}, in a container" if system.container else found,
    )


def judge_python(python: Python, remedies: Remedies) -> Row:
    """Say which Python this is, and whether it can make a virtual environment."""
    version = ".".join(map(str, python.version))
    found = f"{version}, {'in a' if python.in_venv else 'no'} virtual environment"
    if not python.in_venv and not python.can_make_venv:
        return Row(
            thing="python",
            state=RowState.MISSING,
            found=f"{found}, and no python3-venv to make one",
            cost="`make setup` cannot make its .venv",
            mend=remedies.system_package("python3-venv"),
        )
    return Row(thing="python", state=RowState.OK, found=found)


def judge_cxx(facts: Facts, remedies: Remedies) -> Iterator[Row]:
    """Say whether g++ is there, new enough, and really builds."""
    search, trial = facts.compilers.cxx, facts.compilers.cxx_trial
    reasons = "; ".join(f"{one.path}: {one.reason}" for one in search.broken)
    mend = remedies.system_package("g++")
    if search.tool is None:
        yield Row(
            thing="g++",
            state=RowState.BROKEN if reasons else RowState.MISSING,
            found=reasons or "none",
            cost=NO_HOST,
            mend=mend,
        )
        return
    found = f"{search.tool.version}, {search.tool.path}"
    if search.tool.release < MINIMUM_CXX:
        yield Row(
            thing="g++",
            state=RowState.MISMATCHED,
            found=f"{found}; {MINIMUM_CXX[0]} or newer is needed",
            cost="CUDA C++ kernels cannot be graded on the CPU",
            mend=mend,
        )
    elif trial is not None and trial.problem is not None:
        yield Row(
            thing="g++",
            state=RowState.BROKEN,
            found=f"{found}: {trial.problem}",
            cost=NO_HOST,
            mend=mend,
        )
    else:
        yield Row(thing="g++", state=RowState.OK, found=found)
    if reasons:
        yield Row(
            thing="g++",
            state=RowState.NOTE,
            found=f"passed over {reasons}",
            cost=f"nothing, as long as {search.tool.path} is the one you want",
        )


_ANOTHER_USER = "install Python where every user can read it, as in /opt, and not in a home"
_NEWER_KERNEL = "use Linux 6.12 or newer, where Landlock and seccomp are allowed"


def judge_isolation(found: Isolation | None) -> Iterator[Row]:
    """Say how well a hand-in is kept apart from everything else here."""
    if found is None:
        return
    held = f"level {found.level}: {found.layers}"
    notes = "; ".join(found.notes)
    if found.level is Level.FULL:
        yield Row(thing="sandbox", state=RowState.OK, found=held)
        if notes:
            yield Row(
                thing="sandbox",
                state=RowState.NOTE,
                found=notes,
                cost="nothing that was tried got out; another user would be one wall more",
                mend=_ANOTHER_USER if "Permission denied" in notes else "",
            )
        return
    yield Row(
        thing="sandbox",
        # On a student's own machine it is their own code that runs.
        state=RowState.NOTE,
        found=f"{held}; {notes}" if notes else held,
        cost=f"{'; '.join(found.missing)}: your own code may, a stranger's should not",
        mend=f"{_ANOTHER_USER}; if that is not enough, {_NEWER_KERNEL}"
        if "Permission denied" in notes
        else f"to grade strangers' code, {_NEWER_KERNEL}",
    )


def judge_storage(storage: Storage) -> Iterator[Row]:
    """Say whether builds can be kept, and whether there is room."""
    if storage.cache_problem is not None:
        yield Row(
            thing="cache",
            state=RowState.BROKEN,
            found=f"{storage.cache}: {storage.cache_problem}",
            cost=NOTHING,
            mend='export GRADE_CACHE_DIR="$(mktemp -d)"',
        )
    for thing, place, free_mib in (
        ("cache", storage.cache, storage.cache_free_mib),
        ("scratch", storage.scratch, storage.scratch_free_mib),
    ):
        if free_mib < ENOUGH_MIB:
            yield Row(
                thing=thing,
                state=RowState.MISMATCHED,
                found=f"{place}: {free_mib} MiB free",
                cost="builds and reports may fail for want of space",
                mend=f"rm -rf {storage.cache}" if thing == "cache" else "export TMPDIR=FOLDER",
            )
        elif thing == "scratch" or storage.cache_problem is None:
            yield Row(thing=thing, state=RowState.OK, found=f"{place}, {_gib(free_mib)} free")


def _gib(mib: int) -> str:
    return f"{mib / 1024:.1f} GiB" if mib < 102400 else f"{mib // 1024} GiB"
