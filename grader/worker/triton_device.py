"""Where a tensor says that it is, and where it is made, while a hand-in runs without a GPU.

All of them are on the CPU. The hand-in's own lines are told of a GPU, as they
would be on one; all other code, torch's own above all, is told the truth,
since it would go on to call CUDA.

    device="cuda", .cuda(), .to(), Generator   the CPU, while the hand-in runs (`HostMode`)
    tensor.is_cuda, is_cpu                      True, False
    tensor.device, get_device()                 cuda:0, 0

`torch.cuda.is_available()` and `device_count()` tell the truth, as do those of
`torch.accelerator`: who asks has an answer of its own, and is told of the CPU by
`tensor.device` from then on, as by what it chose. Whoever was told of a GPU
before is told of one to the end.
"""

import sys
import threading
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

GPU, CPU = torch.device("cuda", 0), torch.device("cpu")


class _Here(threading.local):
    """Of a thread: how many modes are entered, none while torch's own code is called."""

    modes = 0


_here = _Here()
# Of this process: what the one hand-in was told first; None as long as it did not ask.
_told_of_gpu: bool | None = None


def told_device() -> torch.device:
    """Return the device that the hand-in is told of."""
    global _told_of_gpu
    if _told_of_gpu is None:
        _told_of_gpu = True
    return GPU if _told_of_gpu else CPU


class HostMode(TorchFunctionMode):
    """While it is entered, a tensor that is to be on a GPU is made on the CPU.

    Every call is handed on as it is but for its device, so that the rules'
    watch, which is entered inside of it, sees what the hand-in called.
    """

    def __enter__(self) -> Any:
        """Enter the mode, in this thread."""
        _here.modes += 1
        return super().__enter__()  # type: ignore[no-untyped-call] # torch's own

    def __exit__(self, *raised: Any) -> None:
        """Leave it."""
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
        # What torch calls in turn, it calls without this mode.
        modes, _here.modes = _here.modes, 0
        try:
            return func(*args, **kwargs)
        finally:
            _here.modes = modes


def is_gpu(device: object) -> bool:
    """Return whether this names a GPU."""
    if isinstance(device, str):
        return device.partition(":")[0] == "cuda"
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return type(device) is int  # an index without a type is a GPU's


def _asked_in(file: str) -> bool:
    """Return whether whoever calls our caller is a line of `file`."""
    return sys._getframe(2).f_code.co_filename == file


def _answer_where_asked(name: str, file: str, *, answer: bool) -> None:
    """Have `tensor.NAME` be `answer` in the lines of `file`, and the truth in all others."""
    truth = getattr(torch.Tensor, name).__get__

    def asked(tensor: torch.Tensor) -> bool:
        return answer if _asked_in(file) else bool(truth(tensor))

    setattr(torch.Tensor, name, property(asked))


def _name_the_device(file: str) -> None:
    """Name a GPU in the lines of `file`, where what is made on one is made on the CPU."""
    device_of: Any = torch.Tensor.device.__get__
    number_of = torch.Tensor.get_device

    def device(tensor: torch.Tensor) -> Any:
        return told_device() if _asked_in(file) and _here.modes else device_of(tensor)

    def get_device(tensor: torch.Tensor) -> int:
        if _asked_in(file) and _here.modes and told_device() is GPU:
            return 0
        return number_of(tensor)

    setattr(torch.Tensor, "device", property(device))  # noqa: B010 # types of their own
    setattr(torch.Tensor, "get_device", get_device)  # noqa: B010 # as above


def _note_who_asks(module: Any, name: str, file: str) -> None:
    truth = getattr(module, name)

    def asked(*arguments: Any, **more: Any) -> Any:
        global _told_of_gpu
        found = truth(*arguments, **more)
        # A torch that was built for CUDA names an accelerator all the same.
        if not found and _told_of_gpu is None and sys._getframe(1).f_code.co_filename == file:
            _told_of_gpu = False
        return found

    setattr(module, name, asked)


def _keep_the_default_device() -> None:
    # Torch applies it last, where `HostMode` no longer sees it.
    original = torch.set_default_device

    def set_default_device(device: Any) -> None:
        original("cpu" if is_gpu(device) else device)

    torch.set_default_device = set_default_device


def _keep_generators() -> None:
    class Generator(torch.Generator):
        """On the CPU, as what is drawn with it."""

        def __new__(cls, device: Any = "cpu") -> Any:
            new: Any = super().__new__
            return new(cls, device="cpu" if is_gpu(device) else device)

    setattr(torch, "Generator", Generator)  # noqa: B010 # as above


def install(file: str) -> None:
    """Have the lines of `file` told so in this process, before it is imported."""
    _answer_where_asked("is_cuda", file, answer=True)
    _answer_where_asked("is_cpu", file, answer=False)
    _name_the_device(file)
    for name in ("is_available", "device_count"):
        _note_who_asks(torch.cuda, name, file)
        _note_who_asks(torch.accelerator, name, file)
    _note_who_asks(torch.accelerator, "current_accelerator", file)
    _keep_the_default_device()
    _keep_generators()
