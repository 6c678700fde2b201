"""Inspects this machine: each function fills one record of `facts`, without judging.

The slow parts (importing torch, compiling) run in parallel in child processes with a
time limit, so that `grade doctor` takes as long as the slowest and never hangs.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from grader.assignment.catalogue import assignment_root
from grader.assignment.reader import read_course
from grader.commands.doctor.ability import numbers
from grader.commands.doctor.facts import (
    Compilers,
    Facts,
    Graphics,
    Packages,
    Place,
    Python,
    Storage,
    System,
    TorchImport,
)
from grader.errors import SpecError, UsageError
from grader.gpu import mps, nvml
from grader.gpu.target import course_target, use_target
from grader.protocol.targets import Target
from grader.sandbox.level import Isolation
from grader.sandbox.scratch_dir import free_bytes, refuses_programs
from grader.system import toolchain
from grader.system.cache import cache_root
from grader.system.toolchain import Search, Tool

IMPORT_TIMEOUT_S = 120.0  # a first import of torch from a network file system is slow
COMPILE_TIMEOUT_S = 60.0

_PROBE = Path(__file__).with_name("probes") / "packages_probe.py"
_PACKAGE_MANAGERS = ("apt-get", "dnf", "pacman", "zypper")
_NVIDIA = "0x10de"
_DISPLAY_CLASS = "0x03"

# Needs C++17 and the standard library; has a function to call after loading.
_HOST_SOURCE = """\
#include <string>
#include <utility>
extern "C" int answer() {
    auto [a, b] = std::pair{std::string("ab"), 40};
    if constexpr (sizeof(void*) >= 4) return static_cast<int>(a.size()) + b;
}
"""
_DEVICE_SOURCE = """\
__global__ void add(float* x) { x[threadIdx.x] += 1; }
extern "C" void launch(float* x) { add<<<1, 32>>>(x); }
"""


def collect() -> Facts:
    """Inspect everything, in two or three seconds."""
    system = look_at_system()
    graphics = look_at_graphics()
    with ThreadPoolExecutor(2) as pool:
        packages = pool.submit(look_at_packages, on_gpu=bool(graphics.visible))
        compilers = pool.submit(look_at_compilers, graphics.visible)
        return Facts(
            system=system,
            python=look_at_python(),
            graphics=graphics,
            compilers=compilers.result(),
            packages=packages.result(),
            storage=look_at_storage(),
            isolation=look_at_isolation(system, on_gpu=bool(graphics.visible)),
            target=look_at_target(),
        )


def look_at_system() -> System:
    """Identify the system, and try the system calls that the judge needs."""
    name = platform.system()
    # WSL 1 calls its kernel "4.4.0-19041-Microsoft", WSL 2 "…-microsoft-standard-WSL2".
    kernel = platform.release()
    generation = (1 if kernel.endswith("-Microsoft") else 2) if "microsoft" in kernel.lower() else 0
    return System(
        name=name,
        distribution=_distribution(name),
        architecture=platform.machine(),
        wsl=generation or None,
        wsl_name=os.environ.get("WSL_DISTRO_NAME"),
        container=Path("/.dockerenv").exists() or Path("/run/.containerenv").exists(),
        root=hasattr(os, "geteuid") and os.geteuid() == 0,
        package_manager=next(filter(shutil.which, _PACKAGE_MANAGERS), None),
        lacks=tuple(_missing_calls()) if name == "Linux" else (),
    )


def look_at_python() -> Python:
    """Describe the running interpreter."""
    # Name the scheme: Debian's default one points to /usr/local, which has no headers.
    headers = Path(sysconfig.get_path("include", "posix_prefix")) / "Python.h"
    return Python(
        version=sys.version_info[:3],
        executable=Path(sys.executable),
        # In conda's environments both prefixes are the same.
        in_venv=sys.prefix != sys.base_prefix or "CONDA_PREFIX" in os.environ,
        # Debian ships ensurepip in a separate package, python3-venv; venv is always there.
        can_make_venv=importlib.util.find_spec("ensurepip") is not None,
        has_headers=headers.exists(),
    )


def look_at_graphics() -> Graphics:
    """Ask the driver for its GPUs, and the PCI bus for GPUs without a driver."""
    driver = nvml.state()
    return Graphics(
        driver=driver,
        visible=nvml.visible(driver.gpus),
        visible_setting=os.environ.get("CUDA_VISIBLE_DEVICES"),
        order_is_certain=nvml.order_is_certain(driver.gpus),
        on_bus=sum(1 for device in Path("/sys/bus/pci/devices").glob("*") if _is_gpu(device)),
        mps=mps.detect(),
    )


def look_at_target() -> Target | UsageError:
    """Return the course's GPU, or what is wrong with the variable or file that names it."""
    try:
        root = assignment_root(Path.cwd())
        if root is not None:
            use_target(read_course(root).target)
        return course_target()
    except UsageError as error:
        return error
    except SpecError as error:
        return UsageError(error.message, tip=error.tip)


def look_at_compilers(visible: tuple[nvml.Gpu, ...]) -> Compilers:
    """Find the compilers, and compile with each, for the first GPU if there is one."""
    cxx, nvcc = toolchain.search_cxx(), toolchain.search_nvcc()
    architectures = toolchain.nvcc_architectures(nvcc.tool) if nvcc.tool else ()
    return Compilers(
        cxx=cxx,
        cxx_problem=try_cxx(cxx.tool) if cxx.tool else None,
        nvcc=nvcc,
        nvcc_problem=try_nvcc(nvcc.tool, cxx, visible, architectures) if nvcc.tool else None,
        nvcc_architectures=architectures,
        sanitizer=toolchain.search_compute_sanitizer(),
        # The compilers that triton looks for.
        has_c_compiler="CC" in os.environ or any(map(shutil.which, ("gcc", "clang"))),
    )


def look_at_packages(*, on_gpu: bool) -> Packages:
    """Read the installed versions; import torch and triton in a child process."""
    versions = {name: _installed(name) for name in ("torch", "triton", "numpy")}
    outcomes, ending = _probe(on_gpu=on_gpu) if versions["torch"] else ({}, "")
    torch, triton = outcomes.get("torch"), outcomes.get("triton")
    imported = problem = None
    if torch is not None:
        torch["cuda_build"] = numbers(torch["cuda_build"])[:2] or None
        imported = TorchImport(**torch)
        if versions["triton"] and imported.problem is None:
            problem = triton["problem"] if triton else f"its test {ending}"
    elif versions["torch"]:
        imported = TorchImport(problem=f"importing it {ending}")
    return Packages(
        **versions,
        numba=_installed("numba-cuda"),
        triton_has_wheels=platform.system() == "Linux"
        and platform.machine() in ("x86_64", "aarch64"),
        torch_import=imported,
        triton_problem=problem,
    )


def look_at_storage() -> Storage:
    """Try to write into the folders as a build does, and measure the free space."""
    return Storage(cache=_place(cache_root()), scratch=_place(Path(tempfile.gettempdir())))


def look_at_isolation(system: System, *, on_gpu: bool) -> Isolation | None:
    """Try to escape from the sandbox, as a submission might."""
    if system.name != "Linux" or system.lacks:
        return None
    # Not importable on other systems.
    from grader.sandbox.probe import isolation

    return isolation(gpu=on_gpu)


def try_cxx(tool: Tool) -> str | None:
    """Compile a shared library, load it and call it; return the problem."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "trial.cpp"), Path(folder, "trial.so")
        source.write_text(_HOST_SOURCE)
        command = [str(tool.path), "-std=c++17", "-shared", "-fPIC", "-o", str(library)]
        if problem := _compile([*command, str(source)]):
            return problem
        if refuses_programs(Path(folder)):
            return None  # `Storage` has this problem: it is none of the compiler
        try:
            answer: int = ctypes.CDLL(str(library)).answer()
        except OSError as error:
            return f"a library that it built cannot be loaded: {error}"
        return None if answer == 42 else "a library that it built is wrong"


def try_nvcc(
    tool: Tool, cxx: Search, visible: tuple[nvml.Gpu, ...], architectures: tuple[int, ...]
) -> str | None:
    """Compile and link a kernel, which is not run; return the problem."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "trial.cu"), Path(folder, "trial.so")
        source.write_text(_DEVICE_SOURCE)
        command = [str(tool.path), "-shared", "-Xcompiler", "-fPIC", "-o", str(library)]
        command += toolchain.nvcc_link_flags(tool)
        if cxx.tool:
            command += ["-ccbin", str(cxx.tool.path)]
        # An architecture that this nvcc does not know gets a separate row.
        if visible and int(visible[0].architecture.removeprefix("sm_")) in architectures:
            command.append(f"-arch={visible[0].architecture}")
        return _compile([*command, str(source)])


def _compile(command: list[str]) -> str | None:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=COMPILE_TIMEOUT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not finished within {COMPILE_TIMEOUT_S:.0f} s"
    except OSError as error:
        return f"{error.strerror or error}"
    if done.returncode == 0:
        return None
    printed = done.stdout.decode(errors="replace").strip().splitlines()
    errors = [line for line in printed if "error" in line or "cannot find" in line]
    return (errors or printed or [f"exit code {done.returncode}"])[0].strip()[:300]


def _probe(*, on_gpu: bool) -> tuple[dict[str, Any], str]:
    """Return the probe's outcomes by package, and how it ended if one is missing."""
    command = [sys.executable, str(_PROBE), *(["--gpu"] if on_gpu else [])]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=IMPORT_TIMEOUT_S
        )
        printed, ending = done.stdout, f"ended the process (exit code {done.returncode})"
    except subprocess.TimeoutExpired as expired:
        printed, ending = expired.stdout or b"", f"took more than {IMPORT_TIMEOUT_S:.0f} s"
    outcomes: dict[str, Any] = {}
    for line in printed.splitlines():
        outcomes.update(json.loads(line))
    return outcomes, ending


def _missing_calls() -> list[str]:
    calls: dict[str, Callable[[], int]] = {
        "memfd_create": lambda: os.memfd_create("grade", os.MFD_ALLOW_SEALING),
        "pidfd_open": lambda: os.pidfd_open(os.getpid()),
    }
    missing = []
    for name, call in calls.items():
        try:
            os.close(call())
        except (OSError, AttributeError):  # an old kernel, or a Python built for one
            missing.append(name)
    return missing


def _distribution(name: str) -> str:
    if name == "Darwin":
        return f"macOS {platform.mac_ver()[0]}"
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{name} {platform.release()}"


def _is_gpu(device: Path) -> bool:
    try:
        vendor, kind = (device / "vendor").read_text(), (device / "class").read_text()
    except OSError:
        return False
    return vendor.strip() == _NVIDIA and kind.startswith(_DISPLAY_CLASS)


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _place(folder: Path) -> Place:
    problem = _problem_of(folder)
    noexec = problem is None and refuses_programs(folder)
    return Place(folder=folder, problem=problem, free_mib=free_bytes(folder) >> 20, noexec=noexec)


def _problem_of(folder: Path) -> str | None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as trial:
            (Path(trial) / "trial").write_bytes(bytes(4096))
    except OSError as error:
        return error.strerror or str(error)
    return None
