"""How many blocks a multiprocessor holds: the figures of CUDA's occupancy calculator."""

from __future__ import annotations

from pathlib import Path

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.build.artifact import Built
from grader.build.kernel_file import build
from grader.build.occupancy import launch_resources, resources_of
from grader.build.ptxas import Assembled, Resources
from grader.protocol.targets import TARGETS
from grader.report.evidence import LaunchResources
from grader.submission.reader import SourceFile
from grader.system import toolchain
from grader.vocabulary import Device


def used(kernel: str = "k", registers: int = 32, shared: int = 0) -> Resources:
    return Resources(kernel=kernel, registers=registers, shared_bytes=shared, spill_bytes=0)


def launch(
    capability: int, threads: int, *, dynamic: int = 0, registers: int = 32, shared: int = 0
) -> LaunchResources:
    use = used(registers=registers, shared=shared)
    return launch_resources(TARGETS[capability], "k", threads, dynamic, use)


@pytest.mark.parametrize(
    ("capability", "threads", "registers", "shared", "occupancy"),
    [
        (80, 256, 32, 0, 1.0),
        (80, 256, 64, 0, 0.5),
        (80, 256, 65, 0, 0.375),  # in steps of 8: 72, 7 warps for each of four parts
        (80, 1024, 64, 0, 0.5),
        (80, 256, 32, 49152, 0.375),  # 164 KiB hold three blocks of 48 + 1 KiB
        (80, 32, 16, 0, 0.5),  # no more than 32 blocks
        (86, 1024, 32, 0, 0.6667),  # 1536 threads hold one block of 1024
        (75, 256, 32, 32768, 0.5),  # before 8.0 no KiB is reserved
        (90, 128, 255, 0, 0.125),
    ],
)
def test_occupancy(
    capability: int, threads: int, registers: int, shared: int, occupancy: float
) -> None:
    found = launch(capability, threads, registers=registers, shared=shared)
    assert found.occupancy == pytest.approx(occupancy, abs=1e-4)


def test_dynamic_shared_memory_counts_as_static_memory_does() -> None:
    static, dynamic = launch(80, 128, shared=40_000), launch(80, 128, dynamic=40_000)
    assert static == dynamic
    assert (static.shared_bytes, static.blocks_by_shared_memory) == (40_000, 4)


def test_without_shared_memory_it_is_no_limit() -> None:
    assert launch(80, 128).blocks_by_shared_memory is None


def test_a_launch_finds_its_kernel_by_its_own_name() -> None:
    assembled = Assembled(
        target=TARGETS[80], kernels=(used("_ZN2ns4tileIfLi8EEEvPT_", 113), used("plain", 8))
    )
    found = resources_of(assembled, [("ns::tile<float, 8>", 64, 0), ("plain", 32, 0), ("x", 1, 0)])
    assert [(one.kernel, one.registers) for one in found] == [
        ("ns::tile<float, 8>", 113),
        ("plain", 8),
    ]


def test_instances_of_a_template_that_differ_say_nothing() -> None:
    kernels = used("_Z4tileIfLi8EEvPT_", 113), used("_Z4tileIfLi4EEvPT_", 70)
    assembled = Assembled(target=TARGETS[80], kernels=kernels)
    assert resources_of(assembled, [("tile<float, 8>", 64, 0)]) == ()


@pytest.mark.slow
@pytest.mark.skipif(toolchain.find_nvcc() is None, reason="nvcc is not installed")
@pytest.mark.parametrize(
    ("device", "architecture", "target"),
    [(Device.CUDA, (9, 0), "sm_90"), (Device.CPU, None, "sm_80")],
)
def test_nvcc_says_what_kernels_use_with_a_gpu_and_without(
    device: Device, architecture: tuple[int, int] | None, target: str, tmp_path: Path
) -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / "transpose")
    name = "v3_shared_tile.cu"
    text = (REPOSITORY / "reference" / "transpose" / name).read_text(encoding="utf-8")
    built = build(
        assignment,
        SourceFile(path=name, text=text),
        device,
        architecture=architecture,
    )
    assert isinstance(built, Built)
    assert built.evidence.diagnostics == ()
    assert built.assembled is not None
    assert built.assembled.target.name == target
    [found] = resources_of(built.assembled, [("transpose_kernel", 256, 0)])
    assert found.registers > 8
    assert found.shared_bytes >= 32 * 32 * 4
