"""Monitor one GPU during a measurement: throttling, state, and peak figures.

A query takes microseconds while the NVML session is open, so that every round can be checked. A
power cap does not count as a disturbance: a kernel that draws that much power always runs under
it, and so does torch's.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any

import pynvml

from grader.gpu.models import Arithmetic
from grader.gpu.nvml import Gpu, gpu_of, throttle_reasons_of

# The throttle reasons of `nvml` that make a round useless.
_DISTURBING = (
    "hardware slowdown",
    "software thermal slowdown",
    "hardware thermal slowdown",
    "hardware power brake",
)
# By compute capability: operations of the tensor cores in float16 for one of the other cores in
# float32, from the data sheets. GeForce cards do half as many where they sum in float32.
_FP16_PER_FP32 = {75: 8, 80: 16, 86: 4, 89: 4, 90: 16, 100: 32, 120: 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """A GPU's peak figures from its clocks and widths; None where NVML does not report them.

    `memory_gb_s`: twice the memory clock times the bus width in bytes, which agrees with the data
    sheets (T4 320, A100 1555, H200 4917 against 4800).
    `fp32_tflop_s`: two operations per core and clock cycle, without tensor cores.
    `fp16_tflop_s`: float16 and bfloat16 on the tensor cores, without sparsity (T4 65, A100 312).
    """

    memory_gb_s: float | None = None
    fp32_tflop_s: float | None = None
    fp16_tflop_s: float | None = None

    def tflop_s(self, arithmetic: Arithmetic | None) -> float | None:
        """Return the peak in this type; None for another type."""
        known = {"float32": self.fp32_tflop_s, "float16": self.fp16_tflop_s, None: None}
        return known[arithmetic]


class GpuMonitor:
    """An open NVML session on the GPU with this uuid; a context manager."""

    def __init__(self, uuid: str, nvml: Any = pynvml) -> None:
        self._nvml = nvml
        self._uuid = uuid

    def __enter__(self) -> GpuMonitor:
        self._nvml.nvmlInit()
        self._handle = self._nvml.nvmlDeviceGetHandleByUUID(self._uuid)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._nvml.nvmlShutdown()

    def disturbances(self) -> tuple[str, ...]:
        """Return why the GPU throttles at this moment, () if it does not."""
        reasons = throttle_reasons_of(self._nvml, self._handle)
        return tuple(reason for reason in reasons if reason in _DISTURBING)

    def state(self) -> Gpu:
        """Return the current clocks, temperature, processes and throttle reasons."""
        return gpu_of(self._nvml, self._handle)

    def peaks(self) -> Peaks:
        """Return the peak figures at the GPU's highest clocks."""
        nvml, handle = self._nvml, self._handle
        try:
            bus_bytes = nvml.nvmlDeviceGetMemoryBusWidth(handle) / 8
            cores = nvml.nvmlDeviceGetNumGpuCores(handle)
            memory_mhz = nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM)
            sm_mhz = nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM)
        except (nvml.NVMLError, nvml.NVMLLibraryMismatchError):
            return Peaks()
        fp32_tflop_s = 2 * cores * sm_mhz / 1e6
        major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
        tensor_cores = _FP16_PER_FP32.get(10 * major + minor)
        return Peaks(
            memory_gb_s=2 * memory_mhz * bus_bytes / 1e3,
            fp32_tflop_s=fp32_tflop_s,
            fp16_tflop_s=tensor_cores and tensor_cores * fp32_tflop_s,
        )
