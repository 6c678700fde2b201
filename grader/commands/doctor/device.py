"""Rows about the GPUs, their driver, and NVIDIA's tools: nvcc and compute-sanitizer."""

from __future__ import annotations

from collections.abc import Iterator

from grader.commands.doctor.ability import (
    dotted,
    gpu_usable,
    nvcc_is_too_new,
    unsupported,
)
from grader.commands.doctor.facts import Facts, Graphics, reasons
from grader.commands.doctor.fixes import FIRST_DRIVER, Fixes
from grader.commands.doctor.rows import Row, broken, mismatched, missing, note, ok
from grader.errors import UsageError
from grader.gpu.nvml import ComputeMode, Gpu
from grader.gpu.target import DEFAULT, TARGET_VARIABLE
from grader.system import toolchain

PENDING = "points for speed stay pending"
CPU_ONLY = f"kernels run on the CPU only, and {PENDING}"
CUDA_PENDING = f"CUDA C++ kernels run on the CPU only, and their {PENDING}"

ROOMY_MIB = 4096  # for a judge, a worker and a course's largest benchmark at the same time


def judge_gpus(facts: Facts, fixes: Fixes) -> Iterator[Row]:
    """Describe each GPU, or say why there is none."""
    graphics = facts.graphics
    if not graphics.driver.gpus:
        yield _no_gpu(graphics, fixes)
        return
    for gpu in graphics.driver.gpus:
        if gpu in graphics.visible:
            yield ok(f"GPU {gpu.index}", _described(gpu))
        else:
            cost = "hidden by CUDA_VISIBLE_DEVICES: not used"
            yield note(f"GPU {gpu.index}", _described(gpu), cost=cost)
    if graphics.driver.problem:
        cost = "that GPU cannot be used"
        yield broken("GPU", graphics.driver.problem, cost=cost, fix="sudo reboot")
    if not graphics.visible:
        found = f"CUDA_VISIBLE_DEVICES={graphics.visible_setting!r} hides every GPU"
        yield mismatched("GPU", found, cost=CPU_ONLY, fix="unset CUDA_VISIBLE_DEVICES")
        return
    if not graphics.order_is_certain:
        found = "different GPUs, and CUDA puts the fastest first"
        cost = "the one used may not be GPU 0"
        yield note("GPU", found, cost=cost, fix="export CUDA_DEVICE_ORDER=PCI_BUS_ID")
    yield from _judge_use(graphics, fixes)


def _no_gpu(graphics: Graphics, fixes: Fixes) -> Row:
    if graphics.driver.problem:
        fix = fixes.driver() if fixes.system.container else "sudo reboot"
        return broken("GPU", graphics.driver.problem, cost=CPU_ONLY, fix=fix)
    if graphics.on_bus:
        found = f"{graphics.on_bus} NVIDIA GPU(s), but no driver for them"
        return missing("GPU", found, cost=CPU_ONLY, fix=fixes.driver())
    fix = "run the same command on a machine with an NVIDIA GPU, such as Google Colab"
    return note("GPU", "none", cost=CPU_ONLY, fix=fix)


def _described(gpu: Gpu) -> str:
    words = [
        gpu.name,
        f"compute capability {dotted(gpu.compute_capability)}",
        f"{gpu.memory_free_mib} of {gpu.memory_total_mib} MiB free",
        f"compute mode {gpu.compute_mode or 'unknown'}",
    ]
    if gpu.temperature_c is not None:
        words.append(f"{gpu.temperature_c} °C")
    if gpu.mig_uuids:
        words.append(f"divided into {len(gpu.mig_uuids)} MIG slices")
    return ", ".join(words)


def _judge_use(graphics: Graphics, fixes: Fixes) -> Iterator[Row]:
    """Report what else uses CUDA's first GPU, and whether the grader may use it."""
    gpu = graphics.visible[0]
    prohibited = gpu.compute_mode is ComputeMode.PROHIBITED
    exclusive = gpu.compute_mode is ComputeMode.EXCLUSIVE_PROCESS and not graphics.mps.active
    if prohibited or exclusive:
        allowed = "no process" if prohibited else "one process"
        found = f"{gpu.compute_mode} allows {allowed}, and grading needs two processes"
        fix = fixes.nvidia_smi("-i", str(gpu.index), "-c", "DEFAULT")
        yield mismatched("compute mode", found, cost=CPU_ONLY, fix=fix)
    if graphics.mps.active:
        yield note(
            "MPS",
            f"NVIDIA's multi-process service is on (pipe in {graphics.mps.pipe_directory})",
            cost="a crash in a kernel can end the judge too, and others share the GPU's time",
            fix="echo quit | nvidia-cuda-mps-control",
        )
    if gpu.processes:
        users = ", ".join(
            f"{process.name or 'a process'} (pid {process.pid}"
            + (f", {process.memory_mib} MiB)" if process.memory_mib is not None else ")")
            for process in gpu.processes
        )
        cost = f"if they compute while a kernel is timed, the times are useless, and {PENDING}"
        yield note("GPU in use", f"by {users}", cost=cost)
    if gpu.memory_free_mib < ROOMY_MIB:
        cost = f"the largest benchmarks may not fit; their {PENDING}"
        largest = gpu.processes[0] if gpu.processes else None
        name = largest and (largest.name or "that process")
        fix = f"kill {largest.pid}   (if {name} is yours)" if largest else ""
        yield note("GPU memory", f"{gpu.memory_free_mib} MiB free", cost=cost, fix=fix)
    if gpu.throttle_reasons:
        yield note(
            "GPU clocks",
            f"held back by: {', '.join(gpu.throttle_reasons)}",
            cost="kernels take longer, but so does torch: the speedups stay fair",
        )


def judge_driver(facts: Facts, fixes: Fixes) -> Iterator[Row]:
    """Report the CUDA version that the driver supports; nothing without a GPU."""
    version, cuda = facts.graphics.driver.driver_version, facts.graphics.driver.cuda_version
    if version is None:
        return
    found = f"{version}, runs CUDA up to {dotted(cuda) if cuda else 'an unknown CUDA'}"
    if cuda is None or cuda >= (12, 0):
        yield ok("driver", found)
    else:
        needed = f"(CUDA 12 needs driver {FIRST_DRIVER[12]})"
        cost = f"too old for every supported torch {needed}: {CPU_ONLY}"
        yield mismatched("driver", found, cost=cost, fix=fixes.driver())


def judge_nvcc(facts: Facts, fixes: Fixes) -> Iterator[Row]:
    """Report whether nvcc is installed, works, and fits driver and GPU."""
    search, problem = facts.compilers.nvcc, facts.compilers.nvcc_problem
    visible, cuda = facts.graphics.visible, facts.graphics.driver.cuda_version
    passed_over = reasons(search)
    install = fixes.nvcc(cuda)
    cost = (
        CUDA_PENDING
        if visible
        else "a mistake that only nvcc notices is found later, by the course"
    )
    if search.tool is None:
        row = broken if passed_over else missing if visible else note
        if toolchain.nvcc_is_switched_off():
            yield row("nvcc", "switched off: CUDACXX is empty", cost=cost, fix="unset CUDACXX")
        else:
            yield row("nvcc", passed_over or "none", cost=cost, fix=install)
        return
    found = f"{search.tool.version}, {search.tool.path}"
    if problem is not None:
        found += f": {problem}"
        fix = install if facts.compilers.cxx.tool else fixes.system_package("g++")
        yield broken("nvcc", found, cost=cost, fix=fix)
    elif nvcc_is_too_new(facts) and cuda is not None:
        found += f"; the driver runs CUDA up to {dotted(cuda)}"
        yield mismatched("nvcc", found, cost=cost, fix=install)
    elif unsupported(facts):
        gpu, known = visible[0], facts.compilers.nvcc_architectures
        found += f"; {gpu.name} is {gpu.architecture}, "
        found += f"this nvcc knows sm_{known[0]} to sm_{known[-1]}"
        # CUDA 12 knows older architectures, which CUDA 13 dropped.
        fix = install if int(gpu.architecture[3:]) > known[-1] else fixes.nvcc((12, 9))
        yield mismatched("nvcc", found, cost=cost, fix=fix)
    else:
        yield ok("nvcc", found)
    if passed_over:
        yield note("nvcc", f"not used: {passed_over}")


def judge_sanitizer(facts: Facts, fixes: Fixes) -> Row:
    """Report whether memory errors can be found on the GPU."""
    search = facts.compilers.sanitizer
    if search.tool is not None:
        return ok("compute-sanitizer", f"{search.tool.version}, {search.tool.path}")
    passed_over = reasons(search)
    found = passed_over or "none"
    if not gpu_usable(facts):
        cost = "none: without a GPU the grader's own checks find memory errors"
        return note("compute-sanitizer", found, cost=cost)
    row = broken if passed_over else missing
    cost = "memory checks of CUDA C++ on the GPU stay pending"
    fix = fixes.nvcc(facts.graphics.driver.cuda_version)
    return row("compute-sanitizer", found, cost=cost, fix=fix)


def judge_target(facts: Facts) -> Row:
    """Report the GPU for which kernels are compiled without one, and whether nvcc knows it."""
    target, known = facts.target, facts.compilers.nvcc_architectures
    if isinstance(target, UsageError):
        cost = "nothing is graded on the CPU"
        return mismatched("target", target.message, cost=cost, fix=f"unset {TARGET_VARIABLE}")
    found = f"{target.name} ({target.gpu}): without a GPU, kernels are compiled for this one"
    if known and target.capability not in known:
        return mismatched(
            "target",
            f"{found}; this nvcc knows sm_{known[0]} to sm_{known[-1]}",
            cost="on the CPU, nvcc does not test CUDA C++",
            fix=f"export {TARGET_VARIABLE}={DEFAULT.name}",
        )
    return ok("target", found)
