"""A stand-in for the module pynvml, with imaginary GPUs.

Errors and constants are pynvml's; answers come from `FakeGpu` records. A function whose
name is in `refused` raises the error there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pynvml

MIB = 1 << 20


@dataclass
class FakeGpu:
    uuid: str = "GPU-aaaa0000-0000-0000-0000-000000000000"
    name: str = "NVIDIA H200"
    compute_capability: tuple[int, int] = (9, 0)
    total_mib: int = 143771
    free_mib: int = 143000
    compute_mode: int = pynvml.NVML_COMPUTEMODE_DEFAULT
    compute_pids: dict[int, int | None] = field(default_factory=dict)  # pid: MiB
    graphics_pids: dict[int, int | None] = field(default_factory=dict)
    throttle_bits: int = 0x1
    temperature_c: int = 34
    mig_uuids: tuple[str, ...] = ()


class FakeNvml:
    """The functions of pynvml that the grader calls, and pynvml's names."""

    def __init__(
        self,
        *gpus: FakeGpu,
        driver: str = "580.159.03",
        cuda: int = 13000,
        refused: dict[str, Exception] | None = None,
    ) -> None:
        self.gpus = gpus
        self.driver = driver
        self.cuda = cuda
        self.refused = refused or {}
        self.sessions = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("NVML"):
            return getattr(pynvml, name)  # errors and constants
        answer: Callable[..., Any] = getattr(_Answers(self), name)

        def call(*arguments: Any) -> Any:
            if name in self.refused:
                raise self.refused[name]
            return answer(*arguments)

        return call


class _Answers:
    def __init__(self, machine: FakeNvml) -> None:
        self.machine = machine

    def nvmlInit(self) -> None:
        self.machine.sessions += 1

    def nvmlShutdown(self) -> None:
        self.machine.sessions -= 1

    def nvmlSystemGetDriverVersion(self) -> str:
        return self.machine.driver

    def nvmlSystemGetCudaDriverVersion_v2(self) -> int:
        return self.machine.cuda

    def nvmlSystemGetProcessName(self, pid: int) -> str:
        return f"/usr/bin/program-{pid}"

    def nvmlDeviceGetCount(self) -> int:
        return len(self.machine.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        return self.machine.gpus[index]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> FakeGpu:
        for gpu in self.machine.gpus:
            if gpu.uuid == uuid:
                return gpu
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)

    def nvmlDeviceGetIndex(self, handle: FakeGpu) -> int:
        return next(index for index, gpu in enumerate(self.machine.gpus) if gpu is handle)

    def nvmlDeviceGetMemoryBusWidth(self, handle: FakeGpu) -> int:
        return 6144

    def nvmlDeviceGetNumGpuCores(self, handle: FakeGpu) -> int:
        return 16896

    def nvmlDeviceGetUUID(self, handle: FakeGpu | str) -> str:
        return handle if isinstance(handle, str) else handle.uuid

    def nvmlDeviceGetName(self, handle: FakeGpu) -> str:
        return handle.name

    def nvmlDeviceGetCudaComputeCapability(self, handle: FakeGpu) -> tuple[int, int]:
        return handle.compute_capability

    def nvmlDeviceGetMemoryInfo(self, handle: FakeGpu) -> SimpleNamespace:
        return SimpleNamespace(total=handle.total_mib * MIB, free=handle.free_mib * MIB)

    def nvmlDeviceGetComputeMode(self, handle: FakeGpu) -> int:
        return handle.compute_mode

    def nvmlDeviceGetComputeRunningProcesses(self, handle: FakeGpu) -> list[SimpleNamespace]:
        return _entries(handle.compute_pids)

    def nvmlDeviceGetGraphicsRunningProcesses(self, handle: FakeGpu) -> list[SimpleNamespace]:
        return _entries(handle.graphics_pids)

    def nvmlDeviceGetClockInfo(self, handle: FakeGpu, clock: int) -> int:
        return {pynvml.NVML_CLOCK_SM: 345, pynvml.NVML_CLOCK_MEM: 3201}[clock]

    def nvmlDeviceGetMaxClockInfo(self, handle: FakeGpu, clock: int) -> int:
        return {pynvml.NVML_CLOCK_SM: 1980, pynvml.NVML_CLOCK_MEM: 3201}[clock]

    def nvmlDeviceGetTemperature(self, handle: FakeGpu, sensor: int) -> int:
        assert sensor == pynvml.NVML_TEMPERATURE_GPU
        return handle.temperature_c

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: FakeGpu) -> int:
        return handle.throttle_bits

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: FakeGpu) -> int:
        return 7 if handle.mig_uuids else 0

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: FakeGpu, index: int) -> str:
        if index >= len(handle.mig_uuids):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)
        return handle.mig_uuids[index]


def _entries(pids: dict[int, int | None]) -> list[SimpleNamespace]:
    return [
        SimpleNamespace(pid=pid, usedGpuMemory=None if mib is None else mib * MIB)
        for pid, mib in pids.items()
    ]
