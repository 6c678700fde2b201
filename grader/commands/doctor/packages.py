"""Judging the Python packages: torch, triton, numpy."""

from __future__ import annotations

from grader.commands.doctor.ability import (
    MINIMUM_TORCH,
    MINIMUM_TRITON,
    gpu_usable,
    launcher_missing,
    numbers,
    torch_is_too_new,
)
from grader.commands.doctor.device import CPU_ONLY
from grader.commands.doctor.facts import Facts
from grader.commands.doctor.machine import NOTHING
from grader.commands.doctor.remedy import Remedies
from grader.commands.doctor.rows import Row, RowState

NO_TRITON = "Triton kernels cannot be graded here at all"


def judge_torch(facts: Facts, remedies: Remedies) -> Row:
    """Say whether torch imports, and whether it can use the GPU that is there."""
    version, imported = facts.packages.torch, facts.packages.torch_import
    cuda = facts.graphics.driver.cuda_version
    if version is None or imported is None:
        return Row(
            thing="torch",
            state=RowState.MISSING,
            found="not installed",
            cost=f"{NOTHING}: expected results come from torch",
            mend=remedies.torch(cuda),
        )
    if imported.problem is not None:
        return Row(
            thing="torch",
            state=RowState.BROKEN,
            found=f"{version}: {imported.problem}",
            cost=NOTHING,
            mend=remedies.torch(cuda, force=True),
        )
    if numbers(version) < MINIMUM_TORCH:
        return Row(
            thing="torch",
            state=RowState.MISMATCHED,
            found=f"{version}; {_dotted(MINIMUM_TORCH)} or newer is needed",
            cost=NOTHING,
            mend=remedies.torch(cuda),
        )
    if not facts.graphics.visible:
        kind = (
            "CPU build" if imported.cuda_build is None else f"CUDA {_dotted(imported.cuda_build)}"
        )
        return Row(thing="torch", state=RowState.OK, found=f"{version}, {kind}")
    return _judge_torch_on_gpu(facts, remedies)


def _judge_torch_on_gpu(facts: Facts, remedies: Remedies) -> Row:
    version, imported = facts.packages.torch, facts.packages.torch_import
    cuda = facts.graphics.driver.cuda_version
    assert imported is not None
    if imported.cuda_build is None:
        return Row(
            thing="torch",
            state=RowState.MISMATCHED,
            found=f"{version}, a CPU build on a machine with a GPU",
            cost=CPU_ONLY,
            mend=remedies.torch(cuda, force=True),
        )
    found = f"{version}, CUDA {_dotted(imported.cuda_build)}"
    if torch_is_too_new(facts) and cuda is not None:
        return Row(
            thing="torch",
            state=RowState.MISMATCHED,
            found=f"{found}; the driver runs CUDA up to {_dotted(cuda)}",
            cost=CPU_ONLY,
            mend=remedies.driver() if cuda < (12, 0) else remedies.torch(cuda, force=True),
        )
    if not gpu_usable(facts):
        return Row(thing="torch", state=RowState.NOTE, found=f"{found}; see compute mode")
    if imported.device_problem is not None:
        # A GPU that left torch's list of architectures with CUDA 13 is still in CUDA 12's.
        old = "no kernel image" in imported.device_problem
        return Row(
            thing="torch",
            state=RowState.MISMATCHED if old else RowState.BROKEN,
            found=f"{found}; on the GPU: {imported.device_problem}",
            cost=CPU_ONLY,
            mend=remedies.torch((12, 0) if old else cuda, force=True),
        )
    return Row(thing="torch", state=RowState.OK, found=found)


def judge_triton(facts: Facts, remedies: Remedies) -> Row:
    """Say whether triton is there, and whether its interpreter calculates right."""
    version, canary = facts.packages.triton, facts.packages.triton_canary
    if not facts.packages.triton_has_wheels:
        return Row(
            thing="triton",
            state=RowState.MISSING,
            found=f"there are no packages for {facts.system.name} on {facts.system.architecture}",
            cost=NO_TRITON,
            mend="use Linux on x86-64 or aarch64, or Google Colab",
        )
    wanted = f"triton>={_dotted(MINIMUM_TRITON)}"
    if version is None:
        return Row(
            thing="triton",
            state=RowState.MISSING,
            found="not installed",
            cost=NO_TRITON,
            mend=remedies.pip(wanted),
        )
    if numbers(version) < MINIMUM_TRITON:
        return Row(
            thing="triton",
            state=RowState.MISMATCHED,
            found=f"{version}; {_dotted(MINIMUM_TRITON)} or newer is needed",
            cost=NO_TRITON,
            mend=remedies.pip(wanted),
        )
    if canary is None:
        return Row(
            thing="triton",
            state=RowState.NOTE,
            found=f"{version}, not tried (it needs torch)",
            cost=NO_TRITON,
        )
    if canary.problem is not None:
        # Before 3.7 the interpreter cannot run loops with numpy 2.4 and newer.
        old = numbers(version) < (3, 7) and numbers(facts.packages.numpy) >= (2, 4)
        with_numpy = f" with numpy {facts.packages.numpy}" if old else ""
        return Row(
            thing="triton",
            state=RowState.MISMATCHED if old else RowState.BROKEN,
            found=f"{version}{with_numpy}: its interpreter failed a test kernel ({canary.problem})",
            cost="Triton kernels cannot be graded on the CPU",
            # Not a newer triton: torch's CUDA builds require the one they came with.
            mend=remedies.pip("numpy<2.4") if old else remedies.pip(wanted, force=True),
        )
    if facts.graphics.visible and (package := launcher_missing(facts)):
        lacking = "a C compiler is" if package == "gcc" else "Python's headers (Python.h) are"
        return Row(
            thing="triton",
            state=RowState.MISMATCHED,
            found=f"{version}, but {lacking} missing",
            cost="triton cannot build its launcher: Triton kernels do not run on the GPU",
            mend=remedies.system_package(package),
        )
    return Row(thing="triton", state=RowState.OK, found=version)


def judge_numpy(facts: Facts, remedies: Remedies) -> Row:
    """Say whether numpy is there: neither torch nor triton brings it along."""
    version = facts.packages.numpy
    if version is None:
        return Row(
            thing="numpy",
            state=RowState.MISSING,
            found="not installed",
            cost=NOTHING,
            mend=remedies.pip("numpy"),
        )
    return Row(thing="numpy", state=RowState.OK, found=version)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
