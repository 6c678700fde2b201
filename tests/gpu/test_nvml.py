"""The driver's answers, on fake machines."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pynvml
import pytest
from fake_nvml import FakeGpu, FakeNvml

from grader.gpu import mps, nvml
from grader.gpu.nvml import Clocks, ComputeMode, GpuProcess

# No process has this number: it is above the kernel's largest.
FOREIGN_PID = (1 << 22) + 1


def error(code: int) -> Exception:
    made: Exception = pynvml.NVMLError(code)
    return made


def test_healthy_gpu() -> None:
    machine = FakeNvml(FakeGpu())
    state = nvml.state(machine)
    assert state.problem is None
    assert state.driver_version == "580.159.03"
    assert state.cuda_version == (13, 0)
    (one,) = state.gpus
    assert (one.index, one.name, one.compute_capability) == (0, "NVIDIA H200", (9, 0))
    assert one.architecture == "sm_90"
    assert (one.memory_total_mib, one.memory_free_mib) == (143771, 143000)
    assert one.compute_mode is ComputeMode.DEFAULT
    assert one.processes == ()
    assert one.clocks == Clocks(sm_mhz=345, memory_mhz=3201)
    assert one.temperature_c == 34
    assert one.throttle_reasons == (), "an idle GPU is not a slow one"
    assert machine.sessions == 0, "every session with the library is closed"


def test_the_two_short_questions() -> None:
    machine = FakeNvml(FakeGpu(), FakeGpu())
    assert len(nvml.gpus(machine)) == 2
    assert nvml.driver_version(machine) == "580.159.03"


def test_exclusive_mode_with_a_holder() -> None:
    own = os.getpid()
    machine = FakeNvml(
        FakeGpu(
            compute_mode=pynvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS,
            compute_pids={own: 100, FOREIGN_PID: 70000},
            graphics_pids={own: 100},
        )
    )
    (one,) = nvml.gpus(machine)
    assert one.compute_mode is ComputeMode.EXCLUSIVE_PROCESS
    assert one.processes == (
        GpuProcess(pid=FOREIGN_PID, name=f"program-{FOREIGN_PID}", memory_mib=70000),
        GpuProcess(pid=own, name=psutil.Process().name(), memory_mib=100),
    )


def test_throttling_is_named() -> None:
    (one,) = nvml.gpus(FakeNvml(FakeGpu(throttle_bits=0x1 | 0x4 | 0x40)))
    assert one.throttle_reasons == ("software power cap", "hardware thermal slowdown")


OPTIONAL = (
    "nvmlDeviceGetComputeMode",
    "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetGraphicsRunningProcesses",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetCurrentClocksThrottleReasons",
    "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlSystemGetCudaDriverVersion_v2",
)


@pytest.mark.parametrize(
    "refusal",
    [
        error(pynvml.NVML_ERROR_NOT_SUPPORTED),
        error(pynvml.NVML_ERROR_NO_PERMISSION),
        pynvml.NVMLLibraryMismatchError("an old driver lacks the function"),
    ],
    ids=["not-supported", "no-permission", "old-driver"],
)
def test_answers_that_are_refused_are_unknown(refusal: Exception) -> None:
    state = nvml.state(FakeNvml(FakeGpu(), refused=dict.fromkeys(OPTIONAL, refusal)))
    assert state.cuda_version is None
    (one,) = state.gpus
    assert one.name == "NVIDIA H200"
    assert one.compute_mode is None
    assert one.processes == ()
    assert one.clocks == Clocks(sm_mhz=None, memory_mhz=None)
    assert one.temperature_c is None
    assert one.throttle_reasons == ()


def test_process_of_unknown_size_and_name() -> None:
    """WSL reports processes without memory; a process of another container has no name here."""
    machine = FakeNvml(
        FakeGpu(compute_pids={FOREIGN_PID: None}),
        refused={"nvmlSystemGetProcessName": error(pynvml.NVML_ERROR_NOT_FOUND)},
    )
    (one,) = nvml.gpus(machine)
    assert one.processes == (GpuProcess(pid=FOREIGN_PID, name=None, memory_mib=None),)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, None),
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "not loaded"),
        (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "updated"),
        (pynvml.NVML_ERROR_NO_PERMISSION, "does not answer"),
    ],
)
def test_machine_without_a_working_driver(code: int, problem: str | None) -> None:
    state = nvml.state(FakeNvml(refused={"nvmlInit": error(code)}))
    assert state.gpus == ()
    assert state.driver_version is None
    assert (state.problem is None) if problem is None else (problem in str(state.problem))


def test_lost_gpu_is_a_problem_and_the_others_are_listed() -> None:
    class OneIsLost(FakeNvml):
        def nvmlDeviceGetName(self, handle: FakeGpu) -> str:
            if handle is self.gpus[0]:
                raise error(pynvml.NVML_ERROR_GPU_IS_LOST)
            return handle.name

    machine = OneIsLost(FakeGpu(), FakeGpu(name="NVIDIA L4"))
    state = nvml.state(machine)
    assert [one.name for one in state.gpus] == ["NVIDIA L4"]
    assert state.problem is not None
    assert state.problem.startswith("GPU 0 does not answer")
    assert machine.sessions == 0


MIG = "MIG-11111111-0000-0000-0000-000000000000"


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        (None, [0, 1, 2]),
        ("", []),
        ("-1", []),
        ("1", [1]),
        ("2, 0", [2, 0]),
        ("1,-1,0", [1]),
        ("0,7,1", [0]),
        ("GPU-bbbb", [1]),
        ("GPU-bbbb0000-0000-0000-0000-000000000000,0", [1, 0]),
        ("GPU-", []),
        ("NoDevFiles", []),
        (MIG, [2]),
        ("MIG-GPU-cccc0000-0000-0000-0000-000000000000/1/0", [2]),
    ],
)
def test_cuda_visible_devices(setting: str | None, expected: list[int]) -> None:
    ends = "0000-0000-0000-0000-000000000000"
    machine = FakeNvml(
        FakeGpu(uuid=f"GPU-aaaa{ends}"),
        FakeGpu(uuid=f"GPU-bbbb{ends}"),
        FakeGpu(uuid=f"GPU-cccc{ends}", mig_uuids=(MIG,)),
    )
    environment = {} if setting is None else {"CUDA_VISIBLE_DEVICES": setting}
    seen = nvml.visible(nvml.gpus(machine), environment)
    assert [one.index for one in seen] == expected


def test_order_of_different_gpus_is_uncertain_until_pinned() -> None:
    alike = nvml.gpus(FakeNvml(FakeGpu(), FakeGpu()))
    mixed = nvml.gpus(FakeNvml(FakeGpu(), FakeGpu(name="NVIDIA T4", compute_capability=(7, 5))))
    assert nvml.order_is_certain(alike, {})
    assert not nvml.order_is_certain(mixed, {})
    assert nvml.order_is_certain(mixed, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"})


def test_the_real_library_never_raises() -> None:
    state = nvml.state()
    assert (state.driver_version is None) == (state.gpus == () and state.cuda_version is None)


def test_mps_is_seen_by_its_pipe(tmp_path: Path) -> None:
    environment = {mps.PIPE_VARIABLE: str(tmp_path)}
    assert not mps.detect(environment).pipe_present
    (tmp_path / "control").touch()
    found = mps.detect(environment)
    assert found.pipe_present
    assert found.active
    assert found.pipe_directory == tmp_path


@pytest.mark.skipif(sys.platform != "linux", reason="the service exists on Linux only")
def test_mps_is_seen_by_its_processes(tmp_path: Path) -> None:
    """The kernel cuts names to 15 characters, so the daemon must be found by its whole name."""
    daemon = tmp_path / "nvidia-cuda-mps-control"
    daemon.symlink_to("/bin/sleep")
    with subprocess.Popen([daemon, "60"]) as running:
        try:
            # The parent learns of the new program before the kernel has laid out its arguments.
            while not Path(f"/proc/{running.pid}/cmdline").read_bytes():
                time.sleep(0.001)
            found = mps.detect({mps.PIPE_VARIABLE: str(tmp_path / "none")})
        finally:
            running.kill()
    assert found.control_running
    assert not found.server_running
    assert found.active
