"""Emulates the device of torch tensors while a submission runs without a GPU.

All tensors are on the CPU. The submission's own lines see a GPU; all other code, above all torch
itself, sees the CPU, because it would otherwise call CUDA.

    device="cuda", .cuda(), .to(), Generator   the CPU, while the submission runs (`HostMode`)
    tensor.is_cuda, is_cpu                      True, False
    tensor.device, get_device()                 cuda:0, 0

`is_available()` and `device_count()` of `torch.cuda` and `torch.accelerator` report that there is
no GPU. If a submission calls one of them before it sees a GPU, `tensor.device` is the CPU from then
on. A submission that has seen a GPU sees a GPU to the end.
"""

import sys
import threading
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

GPU, CPU = torch.device("cuda", 0), torch.device("cpu")


class _Here(threading.local):
    """The number of modes that this thread has entered; 0 while torch's own code runs."""

    modes = 0


_here = _Here()
# True if the process's submission has seen a GPU; None until its first query.
_gpu_seen: bool | None = None


def emulated_device() -> torch.device:
    """Return the device that the submission sees."""
    global _gpu_seen
    if _gpu_seen is None:
        _gpu_seen = True
    return GPU if _gpu_seen else CPU


class HostMode(TorchFunctionMode):
    """A torch mode that makes tensors for a GPU on the CPU.

    It changes only the device of a call, so that the inner mode of `triton_no_launch` sees the
    submission's call.
    """

    def __enter__(self) -> Any:
        """Enter the mode, in this thread."""
        _here.modes += 1
        return super().__enter__()  # type: ignore[no-untyped-call] # torch's own

    def __exit__(self, *raised: Any) -> None:
        """Leave the mode."""
        _here.modes -= 1
        super().__exit__(*raised)  # type: ignore[no-untyped-call] # torch's own

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call `func` with the CPU in place of a GPU."""
        kwargs = kwargs or {}
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.Tensor.to and len(args) > 1 and is_gpu(args[1]):
            args = (args[0], "cpu", *args[2:])
        if is_gpu(kwargs.get("device")):
            kwargs = {**kwargs, "device": "cpu"}
        # torch's own nested calls do not see this mode.
        modes, _here.modes = _here.modes, 0
        try:
            return func(*args, **kwargs)
        finally:
            _here.modes = modes


def is_gpu(device: object) -> bool:
    """True if this names a GPU."""
    if isinstance(device, str):
        return device.partition(":")[0] == "cuda"
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return type(device) is int  # an index without a type means a GPU


def _called_from(file: str) -> bool:
    """True if the caller of the calling function is a line of `file`."""
    return sys._getframe(2).f_code.co_filename == file


def _replace_property(name: str, file: str, *, value: bool) -> None:
    """Make `tensor.NAME` return `value` in the lines of `file`, and the original elsewhere."""
    original = getattr(torch.Tensor, name).__get__

    def replaced(tensor: torch.Tensor) -> bool:
        return value if _called_from(file) else bool(original(tensor))

    setattr(torch.Tensor, name, property(replaced))


def _replace_device(file: str) -> None:
    """Make `tensor.device` and `get_device()` return a GPU in the lines of `file`."""
    original_device: Any = torch.Tensor.device.__get__
    original_get_device = torch.Tensor.get_device

    def device(tensor: torch.Tensor) -> Any:
        emulated = _called_from(file) and _here.modes
        return emulated_device() if emulated else original_device(tensor)

    def get_device(tensor: torch.Tensor) -> int:
        if _called_from(file) and _here.modes and emulated_device() is GPU:
            return 0
        return original_get_device(tensor)

    setattr(torch.Tensor, "device", property(device))  # noqa: B010 # types of their own
    setattr(torch.Tensor, "get_device", get_device)  # noqa: B010 # as above


def _note_query(module: Any, name: str, file: str) -> None:
    """Record if the submission's first query finds no GPU."""
    original = getattr(module, name)

    def replaced(*arguments: Any, **more: Any) -> Any:
        global _gpu_seen
        found = original(*arguments, **more)
        # A torch that was built for CUDA names an accelerator also without a GPU.
        if not found and _gpu_seen is None and sys._getframe(1).f_code.co_filename == file:
            _gpu_seen = False
        return found

    setattr(module, name, replaced)


def _replace_set_default_device() -> None:
    # torch applies the default device after `HostMode`.
    original = torch.set_default_device

    def set_default_device(device: Any) -> None:
        original("cpu" if is_gpu(device) else device)

    torch.set_default_device = set_default_device


def _replace_generator() -> None:
    class Generator(torch.Generator):
        """A generator on the CPU."""

        def __new__(cls, device: Any = "cpu") -> Any:
            new: Any = super().__new__
            return new(cls, device="cpu" if is_gpu(device) else device)

    setattr(torch, "Generator", Generator)  # noqa: B010 # as above


def install(file: str) -> None:
    """Install the emulation for the lines of `file`, before it is imported."""
    _replace_property("is_cuda", file, value=True)
    _replace_property("is_cpu", file, value=False)
    _replace_device(file)
    for name in ("is_available", "device_count"):
        _note_query(torch.cuda, name, file)
        _note_query(torch.accelerator, name, file)
    _note_query(torch.accelerator, "current_accelerator", file)
    _replace_set_default_device()
    _replace_generator()
