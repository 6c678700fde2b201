"""The monitor of a GPU during a measurement, on a fake machine."""

from __future__ import annotations

import pynvml
import pytest
from fake_nvml import FakeGpu, FakeNvml

from grader.gpu.monitor import GpuMonitor, Peaks

IDLE, POWER_CAP, HOT = 0x1, 0x4, 0x20


@pytest.mark.parametrize(
    ("bits", "reasons"),
    [(IDLE, ()), (POWER_CAP, ()), (HOT | POWER_CAP, ("software thermal slowdown",))],
)
def test_heat_disturbs_a_round_and_a_power_cap_does_not(
    bits: int, reasons: tuple[str, ...]
) -> None:
    gpu = FakeGpu(throttle_bits=bits)
    with GpuMonitor(gpu.uuid, FakeNvml(gpu)) as monitor:
        assert monitor.disturbances() == reasons


def test_peaks_are_those_of_the_data_sheet() -> None:
    gpu = FakeGpu()
    with GpuMonitor(gpu.uuid, FakeNvml(gpu)) as monitor:
        peaks = monitor.peaks()
    assert peaks.memory_gb_s == pytest.approx(4917, abs=1)
    assert peaks.fp32_tflop_s == pytest.approx(66.9, abs=0.1)
    # The data sheet's 989 TFLOP/s are at 1830 MHz, the highest clock is 1980 MHz.
    assert peaks.fp16_tflop_s == pytest.approx(989 * 1980 / 1830, rel=0.01)
    assert peaks.tflop_s("float16") == peaks.fp16_tflop_s
    assert peaks.tflop_s("float32") == peaks.fp32_tflop_s
    assert peaks.tflop_s(None) is None


def test_tensor_cores_of_an_unknown_architecture_have_no_known_peak() -> None:
    gpu = FakeGpu(compute_capability=(13, 0))
    with GpuMonitor(gpu.uuid, FakeNvml(gpu)) as monitor:
        assert monitor.peaks().fp16_tflop_s is None


def test_peaks_that_are_not_reported_are_unknown() -> None:
    refused = {"nvmlDeviceGetMemoryBusWidth": pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)}
    gpu = FakeGpu()
    with GpuMonitor(gpu.uuid, FakeNvml(gpu, refused=refused)) as monitor:
        assert monitor.peaks() == Peaks()


def test_the_right_one_of_several_is_watched_and_the_session_closed() -> None:
    other = FakeGpu(uuid="GPU-bbbb", name="Tesla T4", temperature_c=71)
    machine = FakeNvml(FakeGpu(), other)
    with GpuMonitor(other.uuid, machine) as monitor:
        state = monitor.state()
    assert (state.index, state.name, state.temperature_c) == (1, "Tesla T4", 71)
    assert machine.sessions == 0
