"""Rows about the Python packages: torch, triton, numpy, numba."""

from __future__ import annotations

from grader.commands.doctor.ability import (
    MINIMUM_TORCH,
    MINIMUM_TRITON,
    dotted,
    gpu_usable,
    launcher_missing,
    numbers,
    torch_is_too_new,
)
from grader.commands.doctor.device import CPU_ONLY
from grader.commands.doctor.facts import Facts, TorchImport
from grader.commands.doctor.fixes import Fixes
from grader.commands.doctor.machine import NOTHING
from grader.commands.doctor.rows import Row, broken, mismatched, missing, note, ok

NUMBA = ("numba-cuda[cu13]>=0.30", "numpy<2.5")  # the extra `numba` of pyproject.toml
_NUMPY_WITHOUT_NUMBA, _OLD_NUMBA = (2, 5), (0, 30)  # pyproject.toml says why
NO_TRITON = "Triton kernels cannot be graded here at all"


def judge_torch(facts: Facts, fixes: Fixes) -> Row:
    """Report whether torch imports, and whether it can use the machine's GPU."""
    version, imported = facts.packages.torch, facts.packages.torch_import
    cuda = facts.graphics.driver.cuda_version
    if version is None or imported is None:
        cost = f"{NOTHING}: expected results come from torch"
        return missing("torch", "not installed", cost=cost, fix=fixes.torch(cuda))
    if imported.problem is not None:
        found = f"{version}: {imported.problem}"
        return broken("torch", found, cost=NOTHING, fix=fixes.torch(cuda, force=True))
    if numbers(version) < MINIMUM_TORCH:
        found = f"{version}; {dotted(MINIMUM_TORCH)} or newer is needed"
        return mismatched("torch", found, cost=NOTHING, fix=fixes.torch(cuda))
    if facts.graphics.visible:
        return _judge_torch_on_gpu(facts, imported, fixes)
    built = f"CUDA {dotted(imported.cuda_build)}" if imported.cuda_build else "CPU build"
    return ok("torch", f"{version}, {built}")


def _judge_torch_on_gpu(facts: Facts, imported: TorchImport, fixes: Fixes) -> Row:
    version, cuda = facts.packages.torch, facts.graphics.driver.cuda_version
    if imported.cuda_build is None:
        found = f"{version}, a CPU build on a machine with a GPU"
        return mismatched("torch", found, cost=CPU_ONLY, fix=fixes.torch(cuda, force=True))
    found = f"{version}, CUDA {dotted(imported.cuda_build)}"
    if torch_is_too_new(facts) and cuda is not None:
        found += f"; the driver runs CUDA up to {dotted(cuda)}"
        fix = fixes.driver() if cuda < (12, 0) else fixes.torch(cuda, force=True)
        return mismatched("torch", found, cost=CPU_ONLY, fix=fix)
    if not gpu_usable(facts):
        return note("torch", f"{found}; see compute mode")
    if imported.device_problem is None:
        return ok("torch", found)
    found += f"; on the GPU: {imported.device_problem}"
    if "no kernel image" in imported.device_problem:
        # torch's wheels for CUDA 12 still have kernels for older GPUs.
        return mismatched("torch", found, cost=CPU_ONLY, fix=fixes.torch((12, 0), force=True))
    return broken("torch", found, cost=CPU_ONLY, fix=fixes.torch(cuda, force=True))


def judge_triton(facts: Facts, fixes: Fixes) -> Row:
    """Report whether triton is installed, and whether its compiler works."""
    packages = facts.packages
    version, problem = packages.triton, packages.triton_problem
    if not packages.triton_has_wheels:
        found = f"there are no packages for {facts.system.name} on {facts.system.architecture}"
        fix = "use Linux on x86-64 or aarch64, or Google Colab"
        return missing("triton", found, cost=NO_TRITON, fix=fix)
    wanted = f"triton>={dotted(MINIMUM_TRITON)}"
    if version is None:
        return missing("triton", "not installed", cost=NO_TRITON, fix=fixes.pip(wanted))
    if numbers(version) < MINIMUM_TRITON:
        found = f"{version}; {dotted(MINIMUM_TRITON)} or newer is needed"
        return mismatched("triton", found, cost=NO_TRITON, fix=fixes.pip(wanted))
    if packages.torch_import is None or packages.torch_import.problem is not None:
        return note("triton", f"{version}, not tried (it needs torch)", cost=NO_TRITON)
    if problem is not None:
        cost = "Triton kernels cannot be graded on the CPU"
        failure = f"its compiler failed a test kernel ({problem})"
        fix = fixes.pip(wanted, force=True)
        return broken("triton", f"{version}: {failure}", cost=cost, fix=fix)
    if facts.graphics.visible and (package := launcher_missing(facts)):
        lacking = "a C compiler is" if package == "gcc" else "Python's headers (Python.h) are"
        cost = "triton cannot build its launcher: Triton kernels do not run on the GPU"
        fix = fixes.system_package(package)
        return mismatched("triton", f"{version}, but {lacking} missing", cost=cost, fix=fix)
    return ok("triton", version)


def judge_numpy(facts: Facts, fixes: Fixes) -> Row:
    """Report whether numpy is installed: neither torch nor triton installs it."""
    version = facts.packages.numpy
    if version is None:
        return missing("numpy", "not installed", cost=NOTHING, fix=fixes.pip("numpy"))
    return ok("numpy", version)


def judge_numba(facts: Facts, fixes: Fixes) -> Row:
    """Report whether numba-cuda is installed, for a language that few courses need."""
    version, numpy = facts.packages.numba, facts.packages.numpy
    cost = "files in Numba, which some assignments take too, are not measured"
    if version is None:
        return note("numba", "none", cost=cost, fix=fixes.pip(*NUMBA))
    if numbers(numpy) >= _NUMPY_WITHOUT_NUMBA and numbers(version)[:2] <= _OLD_NUMBA:
        found = f"{version}, which does not work with numpy {numpy}"
        return note("numba", found, cost=cost, fix=fixes.pip(*NUMBA))
    return ok("numba", version)
