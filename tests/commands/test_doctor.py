"""The rows of `grade doctor` for many kinds of machines, from their facts alone.

Each test takes a good machine, breaks one thing, and checks the row about it.
"""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pynvml
import pytest
from fake_nvml import FakeGpu, FakeNvml
from paths import REPOSITORY
from rich.console import Console

from grader.commands import doctor
from grader.commands.doctor import Facts, Row, RowState, collection
from grader.commands.doctor.facts import (
    Compilers,
    Graphics,
    Packages,
    Place,
    Python,
    Storage,
    System,
    TorchImport,
)
from grader.gpu import nvml
from grader.gpu.mps import Mps
from grader.protocol.targets import TARGETS
from grader.system import toolchain
from grader.system.toolchain import Broken, Search, Tool

NO_MPS = Mps(
    control_running=False,
    server_running=False,
    pipe_directory=Path("/tmp/nvidia-mps"),
    pipe_present=False,
)
ARCHITECTURES_13 = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)


def found(name: str, version: str) -> Search:
    return Search(tool=Tool(name=name, path=Path("/usr/bin", name), version=version))


def graphics(*gpus: FakeGpu, driver: str = "580.159.03", cuda: int = 13000) -> Graphics:
    state = nvml.state(FakeNvml(*gpus, driver=driver, cuda=cuda)) if gpus else nvml.State()
    return Graphics(
        driver=state,
        visible=state.gpus,
        visible_setting=None,
        order_is_certain=True,
        on_bus=len(gpus),
        mps=NO_MPS,
    )


CPU_MACHINE = Facts(
    system=System(
        name="Linux",
        distribution="Debian GNU/Linux 12 (bookworm)",
        architecture="x86_64",
        package_manager="apt-get",
    ),
    python=Python(
        version=(3, 11, 2),
        executable=Path("/course/.venv/bin/python"),
        in_venv=True,
        can_make_venv=True,
        has_headers=True,
    ),
    graphics=graphics(),
    compilers=Compilers(
        cxx=found("g++", "12.2.0"),
        cxx_problem=None,
        nvcc=Search(tool=None),
        nvcc_problem=None,
        nvcc_architectures=(),
        sanitizer=Search(tool=None),
        has_c_compiler=True,
    ),
    packages=Packages(
        torch="2.13.0+cpu",
        triton="3.7.1",
        numpy="2.4.6",
        numba="0.30.4",
        triton_has_wheels=True,
        torch_import=TorchImport(problem=None),
        triton_problem=None,
    ),
    storage=Storage(
        cache=Place(folder=Path("/home/ada/.cache/gpu-grade"), problem=None, free_mib=50000),
        scratch=Place(folder=Path("/tmp"), problem=None, free_mib=9000),
    ),
)

GPU_MACHINE = replace(
    CPU_MACHINE,
    graphics=graphics(FakeGpu()),
    compilers=replace(
        CPU_MACHINE.compilers,
        nvcc=found("nvcc", "13.0.88"),
        nvcc_problem=None,
        nvcc_architectures=ARCHITECTURES_13,
        sanitizer=found("compute-sanitizer", "2025.3.1.0"),
    ),
    packages=replace(
        CPU_MACHINE.packages,
        torch="2.11.0",
        torch_import=TorchImport(problem=None, cuda_build=(13, 0)),
    ),
)


FULL = Place(folder=Path("/full"), problem=None, free_mib=12)


def changed(facts: Facts, part: str, **values: Any) -> Facts:
    """Return the machine with some values of one part changed."""
    return replace(facts, **{part: replace(getattr(facts, part), **values)})


def row(facts: Facts, thing: str) -> Row:
    """Return the most severe row about a thing."""
    rows = [one for one in doctor.diagnose(facts).rows if one.thing == thing]
    assert rows, f"no row about {thing}"
    return max(rows, key=lambda one: list(RowState).index(one.state))


def rows_to_fix(facts: Facts) -> list[str]:
    return [
        one.thing
        for one in doctor.diagnose(facts).rows
        if one.state not in (RowState.OK, RowState.NOTE)
    ]


def ability_of(facts: Facts) -> dict[str, bool]:
    able = doctor.diagnose(facts).ability
    return {name: getattr(able, name) for name in able.__slots__}


# Whole machines


def test_good_gpu_machine_has_nothing_to_fix() -> None:
    assert rows_to_fix(GPU_MACHINE) == []
    assert all(ability_of(GPU_MACHINE).values())


def test_good_cpu_machine_says_what_the_missing_gpu_costs() -> None:
    assert rows_to_fix(CPU_MACHINE) == []
    none = row(CPU_MACHINE, "GPU")
    assert none.state is RowState.NOTE
    assert none.cost == "kernels run on the CPU only, and points for speed stay pending"
    able = doctor.diagnose(CPU_MACHINE).ability
    assert able.cuda_on_cpu
    assert able.triton_on_cpu
    assert not able.cuda_on_gpu
    assert not able.triton_on_gpu


def test_every_row_that_is_not_well_says_what_it_costs_and_what_fixes_it() -> None:
    for facts in BAD_MACHINES.values():
        for one in doctor.diagnose(facts).rows:
            if one.state not in (RowState.OK, RowState.NOTE):
                assert one.cost, one
                assert one.fix, one


# The system


def test_macos_says_what_works_and_where_to_go() -> None:
    mac = replace(
        CPU_MACHINE, system=System(name="Darwin", distribution="macOS 15", architecture="arm64")
    )
    one = row(mac, "system")
    assert one.state is RowState.MISMATCHED
    assert "grade list" in one.cost
    assert "Triton has no macOS packages" in one.cost
    assert all(place in one.fix for place in ("Linux", "Colab"))
    assert not doctor.diagnose(mac).ability.anything


def test_windows_is_sent_to_wsl() -> None:
    windows = replace(
        CPU_MACHINE, system=System(name="Windows", distribution="Windows 11", architecture="AMD64")
    )
    assert row(windows, "system").fix == "wsl --install"


def test_first_generation_of_wsl_cannot_grade() -> None:
    facts = changed(CPU_MACHINE, "system", wsl=1, wsl_name="Ubuntu")
    assert row(facts, "system").fix.startswith("wsl --set-version Ubuntu 2")
    assert not doctor.diagnose(facts).ability.anything


def test_second_generation_of_wsl_is_noted() -> None:
    facts = changed(GPU_MACHINE, "system", wsl=2)
    assert row(facts, "system").state is RowState.NOTE
    assert doctor.diagnose(facts).ability.cuda_on_gpu


def test_old_kernel() -> None:
    facts = changed(CPU_MACHINE, "system", lacks=("pidfd_open",))
    assert "pidfd_open" in row(facts, "system").found
    assert not doctor.diagnose(facts).ability.anything


def test_python_without_venv() -> None:
    facts = changed(CPU_MACHINE, "python", in_venv=False, can_make_venv=False)
    one = row(facts, "python")
    assert one.state is RowState.MISSING
    assert one.fix == "sudo apt-get install -y python3-venv"


@pytest.mark.parametrize(
    ("manager", "root", "fix"),
    [
        ("apt-get", False, "sudo apt-get install -y g++"),
        ("apt-get", True, "apt-get install -y g++"),
        ("dnf", False, "sudo dnf install -y gcc-c++"),
        ("pacman", False, "sudo pacman -S --noconfirm gcc"),
        (None, False, "install g++ with your system's package manager"),
    ],
)
def test_missing_compiler_is_fixed_by_the_systems_package_manager(
    manager: str | None, root: bool, fix: str
) -> None:
    facts = changed(CPU_MACHINE, "system", package_manager=manager, root=root)
    facts = changed(facts, "compilers", cxx=Search(tool=None), cxx_problem=None)
    one = row(facts, "g++")
    assert one.state is RowState.MISSING
    assert one.cost == "CUDA C++ kernels cannot be graded here at all"
    assert one.fix == fix
    able = doctor.diagnose(facts).ability
    assert not able.cuda_on_cpu
    assert able.triton_on_cpu


def test_compiler_that_does_not_link() -> None:
    trial = "/usr/bin/ld: cannot find -lstdc++"
    facts = changed(CPU_MACHINE, "compilers", cxx_problem=trial)
    one = row(facts, "g++")
    assert one.state is RowState.BROKEN
    assert "cannot find -lstdc++" in one.found
    assert not doctor.diagnose(facts).ability.cuda_on_cpu


def test_old_compiler() -> None:
    facts = changed(CPU_MACHINE, "compilers", cxx=found("g++", "8.5.0"))
    assert row(facts, "g++").state is RowState.MISMATCHED
    assert not doctor.diagnose(facts).ability.cuda_on_cpu


def test_compiler_that_was_passed_over_is_named() -> None:
    search = replace(
        found("g++", "12.2.0"), broken=(Broken(path=Path("/opt/g++"), reason="it is clang"),)
    )
    one = row(changed(CPU_MACHINE, "compilers", cxx=search), "g++")
    assert one.state is RowState.NOTE
    assert one.found == "not used: /opt/g++: it is clang"


@pytest.mark.parametrize(("thing", "fix"), [("cache", "GRADE_CACHE_DIR"), ("scratch", "TMPDIR")])
def test_folder_that_cannot_hold_a_build(thing: str, fix: str) -> None:
    place = Place(folder=Path("/there"), problem="Read-only file system", free_mib=9000)
    facts = changed(CPU_MACHINE, "storage", **{thing: place})
    assert row(facts, thing).state is RowState.BROKEN
    assert fix in row(facts, thing).fix
    assert not doctor.diagnose(facts).ability.anything


@pytest.mark.parametrize("machine", [CPU_MACHINE, GPU_MACHINE], ids=["CPU", "GPU"])
def test_folder_from_which_nothing_can_be_loaded(machine: Facts) -> None:
    place = Place(folder=Path("/there"), problem=None, free_mib=9000, noexec=True)
    facts = changed(machine, "storage", scratch=place)
    one = row(facts, "scratch")
    assert one.state is RowState.BROKEN
    assert "mounted noexec" in one.found
    can = doctor.diagnose(facts).ability
    assert can.triton_on_cpu
    assert not (can.cuda_on_cpu or can.cuda_on_gpu or can.triton_on_gpu)
    # Of the cache only copies are loaded.
    facts = changed(machine, "storage", cache=place)
    assert doctor.diagnose(facts).ability == doctor.diagnose(machine).ability
    assert row(facts, "cache").state is RowState.OK


def test_full_disk() -> None:
    facts = changed(CPU_MACHINE, "storage", scratch=FULL)
    assert row(facts, "scratch").state is RowState.MISMATCHED
    assert "12 MiB" in row(facts, "scratch").found


# The course's GPU


def test_the_course_s_gpu_is_shown() -> None:
    one = row(CPU_MACHINE, "target")
    assert one.state is RowState.OK
    assert one.found.startswith("sm_80 (A100)")
    newer = replace(CPU_MACHINE, target=TARGETS[120])
    facts = changed(newer, "compilers", nvcc_architectures=(75, 80, 90))
    one = row(facts, "target")
    assert one.state is RowState.MISMATCHED
    assert "this nvcc knows sm_75 to sm_90" in one.found


def test_an_unknown_gpu_of_the_course(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADE_TARGET", "sm_9")
    facts = replace(CPU_MACHINE, target=collection.look_at_target())
    one = row(facts, "target")
    assert one.state is RowState.MISMATCHED
    assert "GRADE_TARGET='sm_9'" in one.found
    assert one.fix == "unset GRADE_TARGET"
    able = doctor.diagnose(facts).ability
    assert not able.triton_on_cpu and not able.cuda_on_cpu


# GPU and driver


def test_gpu_row_describes_the_gpu() -> None:
    one = row(GPU_MACHINE, "GPU 0")
    for words in (
        "NVIDIA H200",
        "compute capability 9.0",
        "143000 of 143771 MiB free",
        "compute mode default",
    ):
        assert words in one.found


def test_gpu_without_a_driver() -> None:
    facts = changed(CPU_MACHINE, "graphics", on_bus=1)
    one = row(facts, "GPU")
    assert one.state is RowState.MISSING
    assert "no driver" in one.found
    assert "580" in one.fix
    in_container = changed(facts, "system", container=True)
    assert "--gpus all" in row(in_container, "GPU").fix


def test_driver_that_was_updated_under_a_running_system() -> None:
    problem = "the NVIDIA driver was updated and the old one is still loaded"
    facts = changed(CPU_MACHINE, "graphics", driver=nvml.State(problem=problem))
    assert row(facts, "GPU").found == problem
    assert row(facts, "GPU").fix == "sudo reboot"


def exclusive(**mps: Any) -> Facts:
    busy = FakeGpu(
        compute_mode=pynvml.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS,
        compute_pids={psutil.Process().pid: 70000},
    )
    facts = replace(GPU_MACHINE, graphics=graphics(busy))
    return changed(facts, "graphics", mps=replace(NO_MPS, **mps))


def test_exclusive_gpu_admits_only_the_judge() -> None:
    facts = exclusive()
    one = row(facts, "compute mode")
    assert one.state is RowState.MISMATCHED
    assert one.fix == "sudo nvidia-smi -i 0 -c DEFAULT"
    able = doctor.diagnose(facts).ability
    assert not able.cuda_on_gpu
    assert able.cuda_on_cpu
    assert row(facts, "torch").fix == "", "torch is not to blame"


def test_exclusive_gpu_with_the_multi_process_service_admits_both() -> None:
    facts = exclusive(control_running=True)
    assert "compute mode" not in rows_to_fix(facts)
    assert "a crash in a kernel can end the judge" in row(facts, "MPS").cost
    assert doctor.diagnose(facts).ability.cuda_on_gpu


def test_holders_of_the_gpu_are_named() -> None:
    own = psutil.Process()
    facts = replace(
        GPU_MACHINE, graphics=graphics(FakeGpu(free_mib=900, compute_pids={own.pid: 70000}))
    )
    assert f"{own.name()} (pid {own.pid}, 70000 MiB)" in row(facts, "GPU in use").found
    assert row(facts, "GPU memory").fix.startswith(f"kill {own.pid} ")


def test_hidden_gpus() -> None:
    facts = changed(GPU_MACHINE, "graphics", visible=(), visible_setting="-1")
    assert row(facts, "GPU").fix == "unset CUDA_VISIBLE_DEVICES"
    assert not doctor.diagnose(facts).ability.cuda_on_gpu


def test_throttled_gpu_is_noted() -> None:
    facts = replace(GPU_MACHINE, graphics=graphics(FakeGpu(throttle_bits=0x40)))
    assert "hardware thermal slowdown" in row(facts, "GPU clocks").found


def test_driver_too_old_for_any_torch() -> None:
    old = graphics(FakeGpu(), driver="470.82.01", cuda=11040)
    facts = replace(GPU_MACHINE, graphics=old)
    assert row(facts, "driver").state is RowState.MISMATCHED
    assert row(facts, "torch").fix == row(facts, "driver").fix


# nvcc and compute-sanitizer

DRIVER_12 = replace(GPU_MACHINE, graphics=graphics(FakeGpu(), driver="550.54.15", cuda=12040))


def test_missing_nvcc_on_a_gpu_machine() -> None:
    facts = changed(
        GPU_MACHINE, "compilers", nvcc=Search(tool=None), nvcc_problem=None, nvcc_architectures=()
    )
    one = row(facts, "nvcc")
    assert one.state is RowState.MISSING
    assert (
        one.cost == "CUDA C++ kernels run on the CPU only, and their points for speed stay pending"
    )
    assert one.fix == (
        "/course/.venv/bin/python -m pip install "
        "'cuda-toolkit[nvcc,nvvm,crt,cudart,cccl]==13.0.*' 'nvidia-cuda-sanitizer-api>=13.4.92'"
    )
    able = doctor.diagnose(facts).ability
    assert not able.cuda_on_gpu
    assert able.cuda_on_cpu
    assert able.triton_on_gpu


def test_nvcc_newer_than_the_driver() -> None:
    one = row(DRIVER_12, "nvcc")
    assert one.state is RowState.MISMATCHED
    assert "the driver runs CUDA up to 12.4" in one.found
    assert one.fix == "conda install -c conda-forge cuda-nvcc cuda-version=12.4"


def test_newer_minor_release_of_nvcc_runs_on_the_driver() -> None:
    facts = changed(DRIVER_12, "compilers", nvcc=found("nvcc", "12.9.86"))
    assert row(facts, "nvcc").state is RowState.OK


@pytest.mark.parametrize(
    ("capability", "known", "fix"),
    [
        ((7, 0), ARCHITECTURES_13, "cuda-version=12.9"),
        ((12, 0), (50, 60, 70, 75, 80, 90), "cuda-toolkit["),
    ],
)
def test_architecture_that_nvcc_does_not_know(
    capability: tuple[int, int], known: tuple[int, ...], fix: str
) -> None:
    facts = replace(GPU_MACHINE, graphics=graphics(FakeGpu(compute_capability=capability)))
    facts = changed(facts, "compilers", nvcc_architectures=known)
    one = row(facts, "nvcc")
    assert one.state is RowState.MISMATCHED
    assert f"sm_{capability[0]}{capability[1]}" in one.found
    assert fix in one.fix
    assert not doctor.diagnose(facts).ability.cuda_on_gpu


def test_nvcc_without_a_host_compiler() -> None:
    facts = changed(
        GPU_MACHINE,
        "compilers",
        cxx=Search(tool=None),
        cxx_problem=None,
        nvcc_problem="nvcc fatal: Failed to preprocess host compiler properties.",
    )
    assert row(facts, "nvcc").fix == "sudo apt-get install -y g++"


def test_missing_sanitizer_costs_memory_checks_on_a_gpu_only() -> None:
    facts = changed(GPU_MACHINE, "compilers", sanitizer=Search(tool=None))
    assert row(facts, "compute-sanitizer").state is RowState.MISSING
    assert "stay pending" in row(facts, "compute-sanitizer").cost
    assert row(CPU_MACHINE, "compute-sanitizer").state is RowState.NOTE


# Python packages


def test_missing_torch() -> None:
    facts = changed(CPU_MACHINE, "packages", torch=None, torch_import=None, triton_problem=None)
    one = row(facts, "torch")
    assert one.state is RowState.MISSING
    assert one.fix == "/course/.venv/bin/python -m pip install 'torch>=2.6'"
    assert not doctor.diagnose(facts).ability.anything


def test_torch_that_does_not_import() -> None:
    imported = TorchImport(problem="ImportError: libcudart.so.13: cannot open shared object file")
    facts = changed(CPU_MACHINE, "packages", torch_import=imported, triton_problem=None)
    assert row(facts, "torch").state is RowState.BROKEN
    assert "--force-reinstall" in row(facts, "torch").fix
    assert row(facts, "triton").state is RowState.NOTE


def test_cpu_torch_on_a_gpu_machine() -> None:
    facts = changed(GPU_MACHINE, "packages", torch_import=TorchImport(problem=None))
    one = row(facts, "torch")
    assert one.state is RowState.MISMATCHED
    assert "CPU build" in one.found
    assert "--force-reinstall 'torch>=2.6'" in one.fix
    assert not doctor.diagnose(facts).ability.triton_on_gpu
    assert doctor.diagnose(facts).ability.triton_on_cpu


def test_cuda_13_torch_on_a_cuda_12_driver() -> None:
    problem = "RuntimeError: The NVIDIA driver on your system is too old"
    imported = TorchImport(problem=None, cuda_build=(13, 0), device_problem=problem)
    facts = changed(DRIVER_12, "packages", torch_import=imported)
    one = row(facts, "torch")
    assert one.state is RowState.MISMATCHED
    assert "CUDA 13.0; the driver runs CUDA up to 12.4" in one.found
    assert one.fix.endswith("--force-reinstall 'torch>=2.6,<2.11'")
    assert not doctor.diagnose(facts).ability.triton_on_gpu


def test_gpu_that_torch_no_longer_supports() -> None:
    problem = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    imported = TorchImport(problem=None, cuda_build=(13, 0), device_problem=problem)
    facts = changed(GPU_MACHINE, "packages", torch_import=imported)
    assert row(facts, "torch").state is RowState.MISMATCHED
    assert "<2.11" in row(facts, "torch").fix


def test_triton_that_does_not_compile_is_broken() -> None:
    canary = "PTXASError: ptxas is missing"
    facts = changed(CPU_MACHINE, "packages", triton="3.6.0", triton_problem=canary)
    one = row(facts, "triton")
    assert one.state is RowState.BROKEN
    assert "its compiler failed a test kernel (PTXASError" in one.found
    assert not doctor.diagnose(facts).ability.triton_on_cpu
    on_gpu = changed(GPU_MACHINE, "packages", triton="3.6.0", triton_problem=canary)
    assert doctor.diagnose(on_gpu).ability.triton_on_gpu


@pytest.mark.parametrize(
    ("part", "values", "package"),
    [
        ("python", {"has_headers": False}, "python3-dev"),
        ("compilers", {"has_c_compiler": False}, "gcc"),
    ],
)
def test_triton_on_a_gpu_builds_its_launcher(
    part: str, values: dict[str, Any], package: str
) -> None:
    facts = changed(GPU_MACHINE, part, **values)
    assert row(facts, "triton").fix == f"sudo apt-get install -y {package}"
    assert not doctor.diagnose(facts).ability.triton_on_gpu
    assert row(changed(CPU_MACHINE, part, **values), "triton").state is RowState.OK


def test_machine_without_triton_packages() -> None:
    facts = changed(
        CPU_MACHINE, "packages", triton=None, triton_problem=None, triton_has_wheels=False
    )
    assert "no packages for Linux" in row(facts, "triton").found
    assert doctor.diagnose(facts).ability.cuda_on_cpu


def test_missing_numpy() -> None:
    facts = changed(CPU_MACHINE, "packages", numpy=None)
    assert row(facts, "numpy").fix.endswith("pip install numpy")


def test_numba_is_no_must() -> None:
    facts = changed(CPU_MACHINE, "packages", numba=None)
    assert row(facts, "numba").state is RowState.NOTE
    project = (REPOSITORY / "pyproject.toml").read_text()
    [extra] = [line for line in project.splitlines() if line.startswith("numba = [")]
    asked = shlex.split(row(facts, "numba").fix)
    assert len(asked) == 6 and all(f'"{one}' in extra for one in asked[-2:])
    assert doctor.diagnose(facts).ability == doctor.diagnose(CPU_MACHINE).ability


def test_numba_needs_an_older_numpy() -> None:
    assert row(CPU_MACHINE, "numba").state is RowState.OK
    found = row(changed(CPU_MACHINE, "packages", numpy="2.5.2"), "numba")
    assert (found.state, found.found) == (
        RowState.NOTE,
        "0.30.4, which does not work with numpy 2.5.2",
    )
    assert found.fix.endswith("'numpy<2.5'")


BAD_MACHINES = {
    "no tools": changed(
        changed(GPU_MACHINE, "packages", torch=None, torch_import=None, triton=None, numpy=None),
        "compilers",
        cxx=Search(tool=None, broken=(Broken(path=Path("/g++"), reason="it is clang"),)),
        nvcc=Search(tool=None),
        sanitizer=Search(tool=None),
        has_c_compiler=False,
    ),
    "old driver": DRIVER_12,
    "older driver": replace(GPU_MACHINE, graphics=graphics(FakeGpu(), cuda=11040)),
    "exclusive": exclusive(),
    "hidden": changed(GPU_MACHINE, "graphics", visible=(), visible_setting=""),
    "no driver": changed(CPU_MACHINE, "graphics", on_bus=1),
    "full": changed(CPU_MACHINE, "storage", cache=FULL, scratch=FULL),
    "read-only": changed(CPU_MACHINE, "storage", cache=replace(FULL, problem="Permission denied")),
    "no venv": changed(CPU_MACHINE, "python", in_venv=False, can_make_venv=False),
    "old kernel": changed(CPU_MACHINE, "system", lacks=("memfd_create",)),
}


# Inspecting this machine


@pytest.mark.slow
def test_this_machine_can_be_diagnosed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path / "cache"))
    facts = collection.collect()
    diagnosis = doctor.diagnose(facts)
    assert facts.packages.torch_import is not None
    assert facts.packages.torch_import.problem is None
    assert facts.system.lacks == ()
    things = [one.thing for one in diagnosis.rows]
    assert {"system", "python", "nvcc", "g++", "torch", "triton", "numpy", "cache"} <= set(things)


def test_output_is_plain_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "collect", lambda: CPU_MACHINE)
    page = io.StringIO()
    assert doctor.main(Console(file=page, width=60)) == 0
    text = page.getvalue()
    assert "\x1b" not in text
    assert "note        GPU" in text
    assert "Performance is not measured here: its points stay pending." in text
    fix = row(CPU_MACHINE, "nvcc").fix
    assert fix in text, "a command is never broken into lines"


def test_exit_code_says_that_nothing_can_be_graded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "collect", lambda: BAD_MACHINES["no tools"])
    assert doctor.main(Console(file=io.StringIO())) == 1


def test_packages_that_crash_or_hang_are_facts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    probe = tmp_path / "probe.py"
    monkeypatch.setattr(collection, "_PROBE", probe)
    monkeypatch.setattr(collection, "_installed", lambda name: "1.0")

    probe.write_text("import os; os.abort()")
    imported = collection.look_at_packages(on_gpu=False).torch_import
    assert imported is not None
    assert imported.problem == "importing it ended the process (exit code -6)"

    said = '{"torch": {"problem": null, "cuda_build": "12.8", "device_problem": null}}'
    probe.write_text(f"import time\nprint('{said}', flush=True)\ntime.sleep(60)\n")
    monkeypatch.setattr(collection, "IMPORT_TIMEOUT_S", 1.0)
    packages = collection.look_at_packages(on_gpu=False)
    assert packages.torch_import == TorchImport(problem=None, cuda_build=(12, 8))
    assert packages.triton_problem == "its test took more than 1 s"


def fake_compiler(tmp_path: Path, body: str) -> Tool:
    path = tmp_path / "g++"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return Tool(name="g++", path=path, version="12.2.0")


def test_trial_of_a_compiler_that_cannot_link(tmp_path: Path) -> None:
    tool = fake_compiler(
        tmp_path, "echo trial.cpp; echo '/usr/bin/ld: cannot find -lstdc++'; exit 1"
    )
    assert collection.try_cxx(tool) == "/usr/bin/ld: cannot find -lstdc++"


def test_trial_of_a_compiler_that_builds_nothing(tmp_path: Path) -> None:
    problem = collection.try_cxx(fake_compiler(tmp_path, "exit 0"))
    assert problem is not None
    assert "cannot be loaded" in problem


@pytest.mark.slow
def test_trial_of_the_real_compilers() -> None:
    cxx, nvcc = toolchain.search_cxx(), toolchain.find_nvcc()
    if cxx.tool is None:
        pytest.skip("no g++ on this machine")
    assert collection.try_cxx(cxx.tool) is None
    if nvcc is None:
        pytest.skip("no nvcc on this machine")
    assert collection.try_nvcc(nvcc, cxx, (), ()) is None


def test_cache_on_a_file_where_a_folder_should_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert collection.look_at_storage().cache.problem is not None


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_command_describes_this_machine(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "grader", "doctor"],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "GRADE_CACHE_DIR": str(tmp_path), "HOME": str(tmp_path)},
        cwd=REPOSITORY,
        check=False,
    )
    assert done.stderr == ""
    verdicts = [
        line for line in done.stdout.splitlines() if line.startswith(("CUDA C++", "Triton "))
    ]
    assert len(verdicts) == 2
    nothing = all(line.endswith("cannot be graded here") for line in verdicts)
    assert done.returncode == int(nothing)
