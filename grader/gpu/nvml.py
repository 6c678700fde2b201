"""Query the NVIDIA driver about this machine's GPUs, through NVML.

NVML is the library behind nvidia-smi. A query creates no CUDA context, takes a few milliseconds
and needs no torch, so it is safe at any time, also while a benchmark runs. Without a driver there
are no GPUs.

NVML numbers GPUs by PCI bus; CUDA numbers them as CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER say,
by default the fastest first. `visible` applies the first variable; the second matters only on a
machine with different GPUs, which `order_is_certain` reports.

A value that a GPU does not report (many are optional: temperature on a virtual GPU, processes
under WSL) is None or empty. A GPU that does not even report its name is unusable and appears in
`State.problem` instead.

Every function takes the library as an argument, so that tests can pass a fake machine; see
tests/support/fake_nvml.py.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pynvml

T = TypeVar("T")

# NVML's bits for reasons of lower clocks, in NVIDIA's words.
# Without idle (bit 0), which ends with the first kernel.
_THROTTLE_BITS = (
    (0x002, "applications clocks setting"),
    (0x004, "software power cap"),
    (0x008, "hardware slowdown"),
    (0x010, "sync boost"),
    (0x020, "software thermal slowdown"),
    (0x040, "hardware thermal slowdown"),
    (0x080, "hardware power brake"),
    (0x100, "display clock setting"),
)


class ComputeMode(str, Enum):
    """How many processes may use a GPU at once (`nvidia-smi -c`)."""

    DEFAULT = "default"
    EXCLUSIVE_PROCESS = "exclusive process"
    PROHIBITED = "prohibited"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """A process that holds memory of a GPU."""

    pid: int
    name: str | None
    memory_mib: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """The current clocks of a GPU."""

    sm_mhz: int | None
    memory_mhz: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU as NVML reports it; `index` and `uuid` are those of nvidia-smi.

    `mig_uuids` are its MIG slices, if it is divided: CUDA then uses a slice, while memory and
    processes here are those of the whole GPU.
    """

    index: int
    uuid: str
    name: str
    compute_capability: tuple[int, int]
    memory_total_mib: int
    memory_free_mib: int
    compute_mode: ComputeMode | None
    processes: tuple[GpuProcess, ...] = ()
    clocks: Clocks
    temperature_c: int | None = None
    throttle_reasons: tuple[str, ...] = ()
    mig_uuids: tuple[str, ...] = ()

    @property
    def architecture(self) -> str:
        """The name nvcc and ptxas use: "sm_90"."""
        major, minor = self.compute_capability
        return f"sm_{major}{minor}"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The driver and its GPUs at one moment.

    `driver_version` is None if there is no driver or it did not answer; in the second case
    `problem` says why. `cuda_version` is the newest CUDA version that the driver supports.
    """

    driver_version: str | None = None
    cuda_version: tuple[int, int] | None = None
    gpus: tuple[Gpu, ...] = ()
    problem: str | None = None


def gpus(nvml: Any = pynvml) -> tuple[Gpu, ...]:
    """Return this machine's GPUs in NVML's order; none without a driver."""
    return state(nvml).gpus


def driver_version(nvml: Any = pynvml) -> str | None:
    """Return the driver's version ("580.159.03")."""
    return state(nvml).driver_version


def state(nvml: Any = pynvml) -> State:
    """Return the driver's version and all GPUs."""
    try:
        with _session(nvml):
            version = _optional(nvml, nvml.nvmlSystemGetDriverVersion)
            number = _optional(nvml, nvml.nvmlSystemGetCudaDriverVersion_v2)
            found: list[Gpu] = []
            problems: list[str] = []
            for index in range(nvml.nvmlDeviceGetCount()):
                try:
                    found.append(gpu_of(nvml, nvml.nvmlDeviceGetHandleByIndex(index)))
                except nvml.NVMLError as error:
                    problems.append(f"GPU {index} does not answer: {error}")
            return State(
                driver_version=version,
                # 12040 is 12.4
                cuda_version=(number // 1000, number % 1000 // 10) if number else None,
                gpus=tuple(found),
                problem="; ".join(problems) or None,
            )
    except nvml.NVMLError as error:
        return State(problem=_why_no_driver(nvml, error))


def visible(
    all_gpus: Sequence[Gpu], environment: Mapping[str, str] = os.environ
) -> tuple[Gpu, ...]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES leaves, in its order.

    CUDA ends the list at the first entry that names no GPU, so "-1" and the empty string hide all.
    """
    setting = environment.get("CUDA_VISIBLE_DEVICES")
    if setting is None:
        return tuple(all_gpus)
    named = (_named(entry.strip(), all_gpus) for entry in setting.split(","))
    return tuple(gpu for gpu in itertools.takewhile(bool, named) if gpu is not None)


def order_is_certain(all_gpus: Sequence[Gpu], environment: Mapping[str, str] = os.environ) -> bool:
    """True if NVML's first GPU is certainly CUDA's first GPU too."""
    alike = len({(gpu.name, gpu.compute_capability) for gpu in all_gpus}) <= 1
    return alike or environment.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"


@contextmanager
def _session(nvml: Any) -> Iterator[None]:
    nvml.nvmlInit()
    try:
        yield
    finally:
        nvml.nvmlShutdown()


def _optional(nvml: Any, ask: Callable[..., T], *arguments: object) -> T | None:
    try:
        return ask(*arguments)
    # NVMLLibraryMismatchError means that an old driver lacks the function; it is no NVMLError.
    except (nvml.NVMLError, nvml.NVMLLibraryMismatchError):
        return None


def _why_no_driver(nvml: Any, error: Exception) -> str | None:
    if isinstance(error, nvml.NVMLError_LibraryNotFound):
        return None  # no driver is installed: no problem, just no GPU
    if isinstance(error, nvml.NVMLError_DriverNotLoaded):
        return "the NVIDIA driver is installed but not loaded"
    if isinstance(error, nvml.NVMLError_LibRmVersionMismatch):
        return "the NVIDIA driver was updated and the old one is still loaded"
    return f"the NVIDIA driver does not answer: {error}"


def gpu_of(nvml: Any, handle: Any) -> Gpu:
    """Query one GPU in an open session; raises NVMLError if it does not answer."""
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    return Gpu(
        index=nvml.nvmlDeviceGetIndex(handle),
        uuid=nvml.nvmlDeviceGetUUID(handle),
        name=nvml.nvmlDeviceGetName(handle),
        compute_capability=(major, minor),
        memory_total_mib=memory.total >> 20,
        memory_free_mib=memory.free >> 20,
        compute_mode=_compute_mode(nvml, handle),
        processes=_processes(nvml, handle),
        clocks=_clocks(nvml, handle),
        temperature_c=_optional(
            nvml, nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU
        ),
        throttle_reasons=throttle_reasons_of(nvml, handle),
        mig_uuids=tuple(_mig_uuids(nvml, handle)),
    )


def _compute_mode(nvml: Any, handle: Any) -> ComputeMode | None:
    return {
        nvml.NVML_COMPUTEMODE_DEFAULT: ComputeMode.DEFAULT,
        nvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS: ComputeMode.EXCLUSIVE_PROCESS,
        nvml.NVML_COMPUTEMODE_PROHIBITED: ComputeMode.PROHIBITED,
    }.get(_optional(nvml, nvml.nvmlDeviceGetComputeMode, handle))


def _clocks(nvml: Any, handle: Any) -> Clocks:
    def read(clock: int) -> int | None:
        return _optional(nvml, nvml.nvmlDeviceGetClockInfo, handle, clock)

    return Clocks(sm_mhz=read(nvml.NVML_CLOCK_SM), memory_mhz=read(nvml.NVML_CLOCK_MEM))


def throttle_reasons_of(nvml: Any, handle: Any) -> tuple[str, ...]:
    """Return the reasons why the clocks are low at this moment."""
    bits = _optional(nvml, nvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle) or 0
    return tuple(words for bit, words in _THROTTLE_BITS if bits & bit)


def _processes(nvml: Any, handle: Any) -> tuple[GpuProcess, ...]:
    """Return compute and graphics processes, the largest memory first, each pid once."""
    by_pid: dict[int, GpuProcess] = {}
    for ask in (
        nvml.nvmlDeviceGetComputeRunningProcesses,
        nvml.nvmlDeviceGetGraphicsRunningProcesses,
    ):
        for entry in _optional(nvml, ask, handle) or ():
            used = entry.usedGpuMemory
            by_pid[entry.pid] = GpuProcess(
                pid=entry.pid,
                name=_name_of(nvml, entry.pid),
                memory_mib=None if used is None else used >> 20,
            )
    return tuple(sorted(by_pid.values(), key=lambda each: (-(each.memory_mib or 0), each.pid)))


def _name_of(nvml: Any, pid: int) -> str | None:
    try:
        return str(psutil.Process(pid).name())
    except psutil.Error:
        # Invisible to this user or outside the container: the driver may still know the name.
        name = _optional(nvml, nvml.nvmlSystemGetProcessName, pid)
        return Path(name).name if name else None


def _mig_uuids(nvml: Any, handle: Any) -> Iterator[str]:
    slices = _optional(nvml, nvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0
    for index in range(slices):
        # Slots without a slice answer "not found".
        piece = _optional(nvml, nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
        if piece is not None and (uuid := _optional(nvml, nvml.nvmlDeviceGetUUID, piece)):
            yield uuid


def _named(entry: str, all_gpus: Sequence[Gpu]) -> Gpu | None:
    """Return the GPU of one entry of CUDA_VISIBLE_DEVICES: an index or the start of a uuid."""
    if entry.isdecimal():
        return all_gpus[int(entry)] if int(entry) < len(all_gpus) else None
    if entry.startswith("MIG-GPU-"):  # the form of drivers before 470: MIG-GPU-uuid/gi/ci
        entry = entry.removeprefix("MIG-").split("/")[0]
    if not entry.startswith(("GPU-", "MIG-")):
        return None
    matches = [
        gpu for gpu in all_gpus if any(u.startswith(entry) for u in (gpu.uuid, *gpu.mig_uuids))
    ]
    return matches[0] if len(matches) == 1 else None
