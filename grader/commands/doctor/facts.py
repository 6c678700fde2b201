"""Facts about a machine: data only, so that they can be judged anywhere.

`collection` fills these records; `ability`, `machine`, `device` and `packages`
judge them. A `problem` is None if the thing works, else one sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.errors import UsageError
from grader.gpu.mps import Mps
from grader.gpu.nvml import Gpu
from grader.gpu.nvml import State as DriverState
from grader.gpu.target import DEFAULT
from grader.protocol.targets import Target
from grader.sandbox.level import Isolation
from grader.system.toolchain import Search


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """The operating system.

    `name` is Python's: "Linux", "Darwin", "Windows". `wsl` is the version of the
    Windows Subsystem for Linux. `package_manager` is the command of the first known
    one. `lacks` lists missing system calls that the judge needs.
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
    """The running interpreter."""

    version: tuple[int, int, int]
    executable: Path
    in_venv: bool
    can_make_venv: bool
    has_headers: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Graphics:
    """The driver, its GPUs, and those that CUDA will see, in CUDA's order.

    `on_bus` is the number of NVIDIA GPUs on the PCI bus, with or without a driver.
    """

    driver: DriverState
    visible: tuple[Gpu, ...]
    visible_setting: str | None
    order_is_certain: bool
    on_bus: int
    mps: Mps


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilers:
    """The compilers, and what went wrong when those that were found compiled a trial.

    `has_c_compiler` is for triton, which needs a C compiler for its launcher on a GPU.
    """

    cxx: Search
    cxx_problem: str | None
    nvcc: Search
    nvcc_problem: str | None
    nvcc_architectures: tuple[int, ...]
    sanitizer: Search
    has_c_compiler: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchImport:
    """The outcome of importing torch.

    `cuda_build` is the CUDA version it was built for, None for a CPU build.
    `device_problem` is why a calculation on the GPU failed; it is tried only with a
    CUDA build on a machine with a GPU.
    """

    problem: str | None
    cuda_build: tuple[int, ...] | None = None
    device_problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Packages:
    """Installed versions from the metadata (None: not installed), and the trials.

    Triton is tried only if torch could be imported.
    """

    torch: str | None
    triton: str | None
    numpy: str | None
    numba: str | None
    triton_has_wheels: bool
    torch_import: TorchImport | None
    triton_problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder; `problem` says why no build can be written there.

    None can be loaded from there if its disk is mounted `noexec`.
    """

    folder: Path
    problem: str | None
    free_mib: int
    noexec: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """The folders where builds are cached and where they are made."""

    cache: Place
    scratch: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One machine. `isolation` is None if submissions cannot run at all.

    `target` is the course's GPU, or what is wrong with the variable that names it.
    """

    system: System
    python: Python
    graphics: Graphics
    compilers: Compilers
    packages: Packages
    storage: Storage
    isolation: Isolation | None = None
    target: Target | UsageError = DEFAULT


def reasons(search: Search) -> str:
    """Return why each broken candidate of a search was passed over; "" if there is none."""
    return "; ".join(f"{candidate.path}: {candidate.reason}" for candidate in search.broken)
