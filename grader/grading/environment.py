"""The machine and the software versions of a grading, for the report."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import platform
from pathlib import Path

import grader
from grader.assignment.model import Assignment
from grader.gpu import nvml as nvidia
from grader.gpu.nvml import Gpu
from grader.gpu.target import course_target
from grader.sandbox.probe import isolation, with_hidden
from grader.system import toolchain
from grader.vocabulary import Device


def describe(
    assignment: Assignment, gpu: Gpu | None, *, public_seed: int, secret_seed: int
) -> dict[str, str | int | float | None]:
    """Return a report's `environment`; `gpu` is None where the CPU graded."""
    cxx, nvcc = toolchain.find_cxx(), toolchain.find_nvcc()
    driver = nvidia.state()
    cuda = driver.cuda_version
    return {
        "grader": grader.__version__,
        "device": (Device.CPU if gpu is None else Device.CUDA).value,
        "gpu": gpu.name if gpu else None,
        "compute_capability": ".".join(map(str, gpu.compute_capability)) if gpu else None,
        "target": course_target().name if gpu is None else None,
        "gpu_memory_mib": gpu.memory_total_mib if gpu else None,
        "driver": driver.driver_version,
        "cuda": ".".join(map(str, cuda)) if cuda else None,
        "nvcc": nvcc.version if nvcc else None,
        "host_compiler": f"g++ {cxx.version}" if cxx else None,
        "torch": _version("torch"),
        "triton": _version("triton"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cpu": _cpu_name(),
        **with_hidden(isolation(gpu=gpu is not None), [assignment.folder]).facts,
        "public_seed": public_seed,
        "secret_seed": secret_seed,
    }


@functools.cache
def _cpu_name() -> str:
    """Return the CPU's model name, or its architecture if the name is unknown."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.machine()


@functools.cache
def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
