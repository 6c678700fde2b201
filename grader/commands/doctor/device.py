"""Judging the GPU and what NVIDIA's tools can do with it."""

from __future__ import annotations

from collections.abc import Iterator

from grader.commands.doctor.ability import gpu_usable, nvcc_is_too_new, unsupported, works
from grader.commands.doctor.facts import Facts, Graphics
from grader.commands.doctor.remedy import FIRST_DRIVER, Remedies
from grader.commands.doctor.rows import Row, RowState
from grader.gpu.nvml import ComputeMode, Gpu
from grader.system import toolchain
from grader.system.toolchain import Search

PENDING = "performance stays pending"
CPU_ONLY = f"kernels run on the CPU only and {PENDING}"
CUDA_PENDING = f"CUDA C++ kernels run on the CPU only and their {PENDING}"

# What a judge, a worker and the largest benchmark of a course take side by side.
ROOMY_MIB = 4096


def judge_gpus(facts: Facts, remedies: Remedies) -> Iterator[Row]:
    """Describe each GPU, or say why there is none."""
    graphics = facts.graphics
    if not graphics.driver.gpus:
        yield _no_gpu(graphics, remedies)
        return
    for gpu in graphics.driver.gpus:
        yield Row(
            thing=f"GPU {gpu.index}",
            state=RowState.OK if gpu in graphics.visible else RowState.NOTE,
            found=_described(gpu),
            cost="" if gpu in graphics.visible else "hidden by CUDA_VISIBLE_DEVICES: not used",
        )
    if graphics.driver.problem:
        yield Row(
            thing="GPU",
            state=RowState.BROKEN,
            found=graphics.driver.problem,
            cost="that GPU cannot be used",
            mend="sudo reboot",
        )
    if not graphics.visible:
        yield Row(
            thing="GPU",
            state=RowState.MISMATCHED,
            found=f"CUDA_VISIBLE_DEVICES={graphics.visible_setting!r} hides every GPU",
            cost=CPU_ONLY,
            mend="unset CUDA_VISIBLE_DEVICES",
        )
        return
    if not graphics.order_is_certain:
        yield Row(
            thing="GPU",
            state=RowState.NOTE,
            found="different GPUs, and CUDA puts the fastest first",
            cost="the one used may not be GPU 0",
            mend="export CUDA_DEVICE_ORDER=PCI_BUS_ID",
        )
    yield from _judge_use(graphics, remedies)


def _no_gpu(graphics: Graphics, remedies: Remedies) -> Row:
    if graphics.driver.problem:
        return Row(
            thing="GPU",
            state=RowState.BROKEN,
            found=graphics.driver.problem,
            cost=CPU_ONLY,
            mend=remedies.driver() if remedies.system.container else "sudo reboot",
        )
    if graphics.on_bus:
        return Row(
            thing="GPU",
            state=RowState.MISSING,
            found=f"{graphics.on_bus} NVIDIA GPU(s), but no driver for them",
            cost=CPU_ONLY,
            mend=remedies.driver(),
        )
    return Row(
        thing="GPU",
        state=RowState.NOTE,
        found="none",
        cost=CPU_ONLY,
        mend="run the same command on a machine with an NVIDIA GPU, such as Google Colab",
    )


def _described(gpu: Gpu) -> str:
    major, minor = gpu.compute_capability
    words = [
        gpu.name,
        f"compute capability {major}.{minor}",
        f"{gpu.memory_free_mib} of {gpu.memory_total_mib} MiB free",
        f"compute mode {gpu.compute_mode or 'unknown'}",
    ]
    if gpu.temperature_c is not None:
        words.append(f"{gpu.temperature_c} °C")
    if gpu.mig_uuids:
        words.append(f"divided into {len(gpu.mig_uuids)} MIG slices")
    return ", ".join(words)


def _judge_use(graphics: Graphics, remedies: Remedies) -> Iterator[Row]:
    """Say what else uses the GPU that CUDA takes, and whether we may."""
    gpu = graphics.visible[0]
    which = ("-i", str(gpu.index))
    if gpu.compute_mode is ComputeMode.PROHIBITED or (
        gpu.compute_mode is ComputeMode.EXCLUSIVE_PROCESS and not graphics.mps.active
    ):
        admits = "one process" if gpu.compute_mode is not ComputeMode.PROHIBITED else "none"
        yield Row(
            thing="compute mode",
            state=RowState.MISMATCHED,
            found=f"{gpu.compute_mode} admits {admits}; judge and worker are two",
            cost=CPU_ONLY,
            mend=remedies.nvidia_smi(*which, "-c", "DEFAULT"),
        )
    if graphics.mps.active:
        yield Row(
            thing="MPS",
            state=RowState.NOTE,
            found=f"NVIDIA's multi-process service is on (pipe in {graphics.mps.pipe_directory})",
            cost="a crash in a kernel can end the judge too, and others share the GPU's time",
            mend="echo quit | nvidia-cuda-mps-control",
        )
    if gpu.processes:
        holders = ", ".join(
            f"{one.name or 'a process'} (pid {one.pid}"
            + (f", {one.memory_mib} MiB)" if one.memory_mib is not None else ")")
            for one in gpu.processes
        )
        yield Row(
            thing="GPU in use",
            state=RowState.NOTE,
            found=f"by {holders}",
            cost=f"if they compute meanwhile, timings are too noisy and {PENDING}",
        )
    if gpu.memory_free_mib < ROOMY_MIB:
        yield Row(
            thing="GPU memory",
            state=RowState.NOTE,
            found=f"{gpu.memory_free_mib} MiB free",
            cost=f"the largest benchmarks may not fit; their {PENDING}",
            mend=_release(gpu),
        )
    if gpu.throttle_reasons:
        yield Row(
            thing="GPU clocks",
            state=RowState.NOTE,
            found=f"held back by: {', '.join(gpu.throttle_reasons)}",
            cost="absolute times are longer; speedups, measured in turns with torch, stay fair",
        )


def _release(gpu: Gpu) -> str:
    if not gpu.processes:
        return ""
    largest = gpu.processes[0]
    return f"kill {largest.pid}   (if {largest.name or 'that process'} is yours)"


def judge_driver(facts: Facts, remedies: Remedies) -> Row | None:
    """Say what the driver can run; nothing where there is no GPU."""
    driver = facts.graphics.driver
    if driver.driver_version is None:
        return None
    runs = "an unknown CUDA" if driver.cuda_version is None else _dotted(driver.cuda_version)
    found = f"{driver.driver_version}, runs CUDA up to {runs}"
    if driver.cuda_version is not None and driver.cuda_version < (12, 0):
        return Row(
            thing="driver",
            state=RowState.MISMATCHED,
            found=found,
            cost=f"too old for every torch that is supported (CUDA 12 needs driver "
            f"{FIRST_DRIVER[12]}): {CPU_ONLY}",
            mend=remedies.driver(),
        )
    return Row(thing="driver", state=RowState.OK, found=found)


def judge_nvcc(facts: Facts, remedies: Remedies) -> Iterator[Row]:
    """Say whether nvcc is there, builds, and fits driver and GPU."""
    search, trial = facts.compilers.nvcc, facts.compilers.nvcc_trial
    has_gpu = bool(facts.graphics.visible)
    cuda = facts.graphics.driver.cuda_version
    install = remedies.nvcc(cuda)
    cost = (
        CUDA_PENDING
        if has_gpu
        else "what g++ accepts and nvcc rejects shows only on a machine with nvcc"
    )
    reasons = _reasons(search)
    if search.tool is None:
        state = RowState.MISSING if has_gpu else RowState.NOTE
        switched_off = toolchain.nvcc_is_switched_off()
        yield Row(
            thing="nvcc",
            state=RowState.BROKEN if reasons else state,
            found="switched off: CUDACXX is empty" if switched_off else reasons or "none",
            cost=cost,
            mend="unset CUDACXX" if switched_off else install,
        )
        return
    found = f"{search.tool.version}, {search.tool.path}"
    if not works(trial):
        why = trial.problem if trial else "not tried"
        no_host = facts.compilers.cxx.tool is None
        yield Row(
            thing="nvcc",
            state=RowState.BROKEN,
            found=f"{found}: {why}",
            cost=cost,
            mend=remedies.system_package("g++") if no_host else install,
        )
    elif nvcc_is_too_new(facts) and cuda is not None:
        yield Row(
            thing="nvcc",
            state=RowState.MISMATCHED,
            found=f"{found}; the driver runs CUDA up to {_dotted(cuda)}",
            cost=cost,
            mend=install,
        )
    elif unsupported(facts):
        gpu = facts.graphics.visible[0]
        known = facts.compilers.nvcc_architectures
        newer = int(gpu.architecture[3:]) > known[-1]
        yield Row(
            thing="nvcc",
            state=RowState.MISMATCHED,
            found=f"{found}; {gpu.name} is {gpu.architecture}, this nvcc knows "
            f"sm_{known[0]} to sm_{known[-1]}",
            cost=cost,
            # What CUDA 13 no longer knows, CUDA 12 does.
            mend=install if newer else remedies.nvcc((12, 9)),
        )
    else:
        yield Row(thing="nvcc", state=RowState.OK, found=found)
    if reasons:
        yield Row(thing="nvcc", state=RowState.NOTE, found=f"passed over {reasons}")


def judge_sanitizer(facts: Facts, remedies: Remedies) -> Row:
    """Say whether memory errors can be found on the GPU."""
    search = facts.compilers.sanitizer
    usable = gpu_usable(facts)
    if search.tool is not None:
        found = f"{search.tool.version}, {search.tool.path}"
        return Row(thing="compute-sanitizer", state=RowState.OK, found=found)
    reasons = _reasons(search)
    state = RowState.MISSING if usable else RowState.NOTE
    return Row(
        thing="compute-sanitizer",
        state=RowState.BROKEN if reasons and usable else state,
        found=reasons or "none",
        cost="memory checks on the GPU stay pending"
        if usable
        else "nothing: without a GPU our own checks find memory errors",
        mend=remedies.nvcc(facts.graphics.driver.cuda_version) if usable else "",
    )


def _reasons(search: Search) -> str:
    return "; ".join(f"{one.path}: {one.reason}" for one in search.broken)


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
