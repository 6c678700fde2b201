"""Facts about a machine: data only, so that they can be judged anywhere.

`collection` fills these records; `ability`, `machine`, `device` and `packages`
judge them. A `problem` is None where the thing works, else one sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.gpu.mps import Mps
from grader.gpu.nvml import Gpu
from grader.gpu.nvml import State as DriverState
from grader.sandbox.level import Isolation
from grader.system.toolchain import Search


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """The operating system.

    `name` is Python's: "Linux", "Darwin", "Windows". `wsl` is its generation
    under Windows' Subsystem for Linux. `package_manager` is the first known
    one, by its command. `lacks` lists system calls the judge needs.
    """

    name: str
    distribution: str
    architecture: str
    wsl: int | None = None
    wsl_name: str | None = None
    container: bool = False
    root: bool = False
    package_manager: str | None = None
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Python:
    """The interpreter that runs this, and what it can make."""

    version: tuple[int, int, int]
    executable: Path
    in_venv: bool
    can_make_venv: bool
    has_headers: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Graphics:
    """The driver, its GPUs, and those CUDA will see, in CUDA's order.

    `on_bus` counts NVIDIA GPUs on the PCI bus, which needs no driver.
    """

    driver: DriverState
    visible: tuple[Gpu, ...]
    visible_setting: str | None
    order_is_certain: bool
    on_bus: int
    mps: Mps


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The outcome of a tiny job done with a tool."""

    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilers:
    """The compilers; a trial is None if there was nothing to try.

    `has_c_compiler` is for triton, which builds its launcher with one on a GPU.
    """

    cxx: Search
    cxx_trial: Trial | None
    nvcc: Search
    nvcc_trial: Trial | None
    nvcc_architectures: tuple[int, ...]
    sanitizer: Search
    has_c_compiler: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchImport:
    """The outcome of importing torch.

    `cuda_build` is the CUDA it was built for, None for a CPU build;
    `device_problem` is why a calculation on the GPU failed, which only a CUDA
    build on a machine with a GPU tries.
    """

    problem: str | None
    cuda_build: tuple[int, int] | None = None
    device_problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """Versions by the installed metadata (None: not installed), and their trials."""

    torch: str | None
    triton: str | None
    numpy: str | None
    triton_has_wheels: bool
    torch_import: TorchImport | None
    triton_canary: Trial | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where builds are kept and where they are made."""

    cache: Path
    cache_problem: str | None
    cache_free_mib: int
    scratch: Path
    scratch_free_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One machine. `isolation` is None where submissions cannot run at all."""

    system: System
    python: Python
    graphics: Graphics
    compilers: Compilers
    packages: Packages
    storage: Storage
    isolation: Isolation | None = None


def reasons(search: Search) -> str:
    """Return why each broken candidate of a search was passed over, "" if none was."""
    return "; ".join(f"{candidate.path}: {candidate.reason}" for candidate in search.broken)
