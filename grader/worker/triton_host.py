"""Emulates the GPU that host code queries, on a machine without one.

Triton's tutorials query the active device and the number of multiprocessors before they launch, and
set a device guard around the launch. Executing a launch needs none of that, but without an answer a
correct submission would fail before its first launch. The answers describe the GPU for which the
judge compiles (an A100, sm_80, unless the course names another) with 8 multiprocessors, so that a
persistent kernel has a grid of 8 programs instead of 108.

    triton.runtime.driver.active    the CPU as its device, that GPU as its target
    torch.cuda.device, .stream, …   contexts that do nothing
    torch.cuda.synchronize, Event   no waiting; an event is a point in time
    get_device_properties, …        the figures below
    device="cuda", tensor.device    see `triton_device`
    the result of a launch          a compiled kernel, see `triton_launches`
    torch.compile                   its argument, unchanged
    an operator's CUDA kernel       called for tensors on the CPU

The emulation is installed in the process that runs the submission, but never if a GPU's driver is
used.
"""

import functools
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FunctionType, SimpleNamespace
from typing import Any

import torch

from grader.protocol.targets import REGISTERS_PER_BLOCK, THREADS_PER_BLOCK, WARP, Target
from grader.worker import triton_device

MULTIPROCESSORS = 8


def properties(target: Target) -> SimpleNamespace:
    """Return the fields of `torch.cuda.get_device_properties`; clocks in kHz, sizes in bytes.

    It is a target with fewer multiprocessors.
    """
    major, minor = target.version
    return SimpleNamespace(
        name=f"NVIDIA {target.gpu} (imagined, {MULTIPROCESSORS} multiprocessors)",
        major=major,
        minor=minor,
        total_memory=target.memory_gib << 30,
        max_threads_per_multi_processor=target.threads_per_multiprocessor,
        shared_memory_per_block_optin=target.shared_bytes_per_block,
        shared_memory_per_multiprocessor=target.shared_kib_per_multiprocessor << 10,
        L2_cache_size=target.l2_mib << 20,
        clock_rate=target.clock_mhz * 1000,
        memory_clock_rate=target.memory_clock_mhz * 1000,
        memory_bus_width=target.memory_bus_bits,
        multi_processor_count=MULTIPROCESSORS,
        warp_size=WARP,
        max_threads_per_block=THREADS_PER_BLOCK,
        regs_per_multiprocessor=REGISTERS_PER_BLOCK,
        shared_memory_per_block=48 << 10,
        is_integrated=0,
        is_multi_gpu_board=0,
    )


class Utils:
    """The part of a driver that returns device properties."""

    def __init__(self, gpu: SimpleNamespace) -> None:
        self._gpu = gpu

    def get_device_properties(self, _device: object = None) -> dict[str, int]:
        """Return the same figures under triton's names."""
        gpu = self._gpu
        return {
            "max_shared_mem": gpu.shared_memory_per_block_optin,
            "max_num_regs": gpu.regs_per_multiprocessor,
            "multiprocessor_count": gpu.multi_processor_count,
            "warpSize": gpu.warp_size,
            "sm_clock_rate": gpu.clock_rate,
            "mem_clock_rate": gpu.memory_clock_rate,
            "mem_bus_width": gpu.memory_bus_width,
        }


class Driver:
    """Triton's active driver, as far as host code queries it; it cannot launch."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.utils = Utils(properties(target))

    def get_active_torch_device(self) -> torch.device:
        """Return the device of tensors, so that `x.device == DEVICE` holds."""
        return triton_device.emulated_device()

    def get_current_target(self) -> Any:
        """Return the target of the compile gate."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", self._target.capability, WARP)

    def get_device_interface(self) -> Any:
        """Return torch.cuda, in which functions are replaced."""
        return torch.cuda

    def get_current_device(self) -> int:
        """Return the only device."""
        return 0

    def set_current_device(self, _device: object) -> None:
        """Do nothing: there is only one device."""

    def get_device_capability(self, _device: object = None) -> tuple[int, int]:
        """Return the target's compute capability, major and minor."""
        return self._target.version

    def get_current_stream(self, _device: object = None) -> int:
        """Return the default stream's handle."""
        return 0

    def get_benchmarker(self) -> Any:
        """Return triton's own benchmark function."""
        from triton.testing import do_bench

        return do_bench

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        """Return one element: there is no L2 cache to flush."""
        return torch.zeros(1, dtype=torch.int)

    def clear_cache(self, _cache: object) -> None:
        """Do nothing: there is no L2 cache."""


def _nothing(*_: object, **__: object) -> None:
    pass


class Guard:
    """`with torch.cuda.device(...)` and similar contexts, for any arguments."""

    __init__ = __enter__ = __exit__ = _nothing


class Event:
    """A point in time: all earlier launches have ended when it is recorded."""

    wait = synchronize = _nothing

    def __init__(self, *_: object, **__: object) -> None:
        self._recorded_s: float | None = None

    def record(self, _stream: object = None) -> None:
        """Record the time."""
        self._recorded_s = time.perf_counter()

    def elapsed_time(self, end: "Event") -> float:
        """Return the milliseconds until `end`; never 0, because callers divide by the result."""
        if self._recorded_s is None or end._recorded_s is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return max(1e-3, (end._recorded_s - self._recorded_s) * 1e3)

    def query(self) -> bool:
        """Return True: all work is done."""
        return True


class Stream:
    """A stream with synchronous launches."""

    cuda_stream = 0
    device_index = 0
    priority = 0
    wait_stream = wait_event = synchronize = __exit__ = _nothing

    __init__ = _nothing

    @property
    def device(self) -> torch.device:
        """Return the device of tensors."""
        return triton_device.emulated_device()

    def __enter__(self) -> "Stream":
        return self

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event; make a new one if none is given."""
        event = event or Event()
        event.record()
        return event

    def query(self) -> bool:
        """Return True: all work is done."""
        return True


def _returning(value: object) -> Callable[..., object]:
    return lambda *_, **__: value


def _replacements(gpu: SimpleNamespace) -> dict[str, Any]:
    """Return the replacements of torch.cuda's functions, by name; `gpu` is the only device.

    Each one is a separate function object: torch's compiler, which custom operators use too, has a
    table of these functions and refuses one with two names.
    """
    stream = Stream()
    return {
        "device": Guard,
        "device_of": Guard,
        "stream": Guard,
        "StreamContext": Guard,
        "Stream": Stream,
        "Event": Event,
        "current_stream": _returning(stream),
        "default_stream": _returning(stream),
        "set_stream": _returning(None),
        "set_device": _returning(None),
        "synchronize": _returning(None),
        "init": _returning(None),
        "current_device": _returning(0),
        "is_current_stream_capturing": _returning(False),
        "reset_peak_memory_stats": _returning(None),
        "mem_get_info": _returning((gpu.total_memory, gpu.total_memory)),
        "get_device_properties": _returning(gpu),
        "get_device_capability": _returning((gpu.major, gpu.minor)),
        "get_device_name": _returning(gpu.name),
    }


def _unchanged(function: Any = None, *_: object, **__: object) -> Any:
    """Return the function uncompiled.

    torch's compiler would compile GPU code for the CPU, and cannot follow a
    launch. Its first exclusion of a function, as for a custom operator, takes a second.
    """
    return function if function is not None else lambda function: function


def _in_host_mode(function: Any) -> Any:
    """Return the function wrapped in `HostMode`, which torch leaves before it calls an operator."""
    if not isinstance(function, FunctionType):
        return function

    @functools.wraps(function)
    def entered(*arguments: Any, **more: Any) -> Any:
        with triton_device.HostMode():
            return function(*arguments, **more)

    return entered


def _redirect_operators() -> None:
    """Register a custom operator's CUDA implementation for tensors on the CPU."""
    library: Any = torch.library.Library
    original = library.impl
    redirected = set()

    def impl(self: Any, op_name: Any, fn: Any, dispatch_key: str = "", **more: Any) -> None:
        key = dispatch_key or self.dispatch_key
        operator = (self.ns, str(op_name).rpartition("::")[2], key.replace("CUDA", "CPU"))
        if "CUDA" in key:
            redirected.add(operator)
        elif operator in redirected:
            return  # the CPU implementation, which tensors on a GPU would not use
        original(self, op_name, _in_host_mode(fn), operator[2], **more)

    library.impl = impl


def install(file: str, target: Target) -> Callable[[], AbstractContextManager[object]]:
    """Install the emulation of `target` for the submission `file`, before it is imported.

    Returns the mode in which its lines must run.
    """
    from triton.runtime import driver

    driver.set_active(Driver(target))
    for name, replacement in _replacements(properties(target)).items():
        setattr(torch.cuda, name, replacement)
    # torch's own function needs an accelerator.
    torch.accelerator.synchronize = _returning(None)  # type: ignore[assignment] # a lambda
    for name in ("range_push", "range_pop", "mark", "range_start", "range_end"):
        setattr(torch.cuda.nvtx, name, _returning(0))
    for module, name in (
        (torch, "compile"),
        (torch.compiler, "disable"),
        (torch, "_disable_dynamo"),
    ):
        setattr(module, name, _unchanged)
    _redirect_operators()
    torch.Tensor.record_stream = _nothing  # type: ignore[method-assign] # another signature
    triton_device.install(file)
    return triton_device.HostMode
