"""What a machine can grade, by language and device, as a pure function of its facts."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from grader.commands.doctor.facts import Facts
from grader.errors import UsageError
from grader.gpu.nvml import ComputeMode

# The package's requirements (pyproject.toml), and the oldest g++ whose default language is C++17,
# which the emulation's runtime needs.
MINIMUM_TORCH = (2, 6)
MINIMUM_TRITON = (3, 4)
MINIMUM_CXX = (11,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
    """What can be graded here; everything else needs `judge`."""

    judge: bool
    cuda_on_gpu: bool
    cuda_on_cpu: bool
    triton_on_gpu: bool
    triton_on_cpu: bool

    @property
    def anything(self) -> bool:
        """True if at least one kernel could be graded."""
        return self.cuda_on_gpu or self.cuda_on_cpu or self.triton_on_gpu or self.triton_on_cpu


def ability(facts: Facts) -> Ability:
    """Return what this machine can grade."""
    packages, compilers = facts.packages, facts.compilers
    imported = packages.torch_import
    judge = (
        facts.system.name == "Linux"
        and facts.system.wsl != 1
        and not facts.system.lacks
        and facts.storage.cache.problem is None
        and facts.storage.scratch.problem is None
        and imported is not None
        and imported.problem is None
        and numbers(packages.torch) >= MINIMUM_TORCH
        and packages.numpy is not None
    )
    gpu = (
        judge
        and gpu_usable(facts)
        and imported is not None
        and imported.cuda_build is not None
        and imported.device_problem is None
    )
    triton = packages.triton is not None and numbers(packages.triton) >= MINIMUM_TRITON
    nvcc = (
        compilers.nvcc.tool is not None
        and compilers.nvcc_problem is None
        and not unsupported(facts)
        and not nvcc_is_too_new(facts)
    )
    on_cpu = judge and not isinstance(facts.target, UsageError)
    # Without a GPU Triton's launches are executed from their IR: nothing is loaded.
    loads = not facts.storage.scratch.noexec
    return Ability(
        judge=judge,
        cuda_on_gpu=gpu and nvcc and loads,
        cuda_on_cpu=on_cpu and cxx_is_fit(facts) and loads,
        triton_on_gpu=gpu and triton and launcher_missing(facts) is None and loads,
        triton_on_cpu=on_cpu and triton and packages.triton_problem is None,
    )


def gpu_usable(facts: Facts) -> bool:
    """True if two processes, judge and worker, may use CUDA's first GPU."""
    if not facts.graphics.visible:
        return False
    mode = facts.graphics.visible[0].compute_mode
    if mode is ComputeMode.EXCLUSIVE_PROCESS:
        return facts.graphics.mps.active
    return mode is not ComputeMode.PROHIBITED


def cxx_is_fit(facts: Facts) -> bool:
    """True if g++ is installed, new enough, and works."""
    cxx, problem = facts.compilers.cxx.tool, facts.compilers.cxx_problem
    return cxx is not None and cxx.release >= MINIMUM_CXX and problem is None


def launcher_missing(facts: Facts) -> str | None:
    """Return the Debian package that triton needs to build its launcher on a GPU; None if none."""
    if not facts.compilers.has_c_compiler:
        return "gcc"
    return None if facts.python.has_headers else "python3-dev"


def unsupported(facts: Facts) -> bool:
    """True if nvcc does not know the GPU's architecture."""
    visible, known = facts.graphics.visible, facts.compilers.nvcc_architectures
    return bool(visible and known) and int(visible[0].architecture[3:]) not in known


def nvcc_is_too_new(facts: Facts) -> bool:
    """True if nvcc is of a newer major release of CUDA than the driver.

    Within a major release, newer programs run on older drivers.
    """
    nvcc, driver = facts.compilers.nvcc.tool, facts.graphics.driver.cuda_version
    return nvcc is not None and driver is not None and nvcc.release[0] > driver[0]


def torch_is_too_new(facts: Facts) -> bool:
    """True if torch was built for a newer major release of CUDA than the driver's."""
    imported, driver = facts.packages.torch_import, facts.graphics.driver.cuda_version
    if imported is None or imported.cuda_build is None or driver is None:
        return False
    return imported.cuda_build[0] > driver[0]


def numbers(version: str | None) -> tuple[int, ...]:
    """Return the leading numbers of a version: "2.13.0+cpu" is (2, 13, 0)."""
    parts = (version or "").split("+")[0].split(".")
    return tuple(int(part) for part in itertools.takewhile(str.isdecimal, parts))


def dotted(version: tuple[int, ...]) -> str:
    """Return a version as text: (13, 0) is "13.0"."""
    return ".".join(map(str, version))
