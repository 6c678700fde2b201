"""Send the launches of Triton kernels to the executor, another process.

    kernel[grid](…) ─→ Triton's own launcher: arguments, specialization, cache
        compile ─→ Triton's IR as text, which needs no GPU
        run     ─→ a message to the executor; outputs and scratch memory come back

Only Triton's `compile` is replaced, so a launch is specialized as on a GPU. This process holds no
output: the executor does. What it has in an output's place is memory of its own, into which the
executor copies what kernels have written, for host code that reads it. What host code writes there
goes to the executor as well, which decides whether it may (`zero_`, `fill_`).
"""

import base64
import contextlib
import ctypes
import hashlib
import inspect
import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from grader.protocol import launches
from grader.worker import triton_compile_error

REGISTERS = 128  # a thread; an ordinary kernel's, for callers that compute a grid from them
SHARED_BYTES = 16 << 10  # a block; never 0, because callers divide by it
_THREADS = 1024

# Filling touches memory that may never be used otherwise.
_LARGEST_FILL = 64 << 20
_FUNCTIONS = ("empty", "empty_like", "empty_strided", "empty_permuted")
_METHODS = ("new_empty", "new_empty_strided")


class LaunchStopped(BaseException):  # a submission catches `Exception`
    """The executor cannot go on with this call; it has told the judge why."""


class KernelError(RuntimeError):
    """The kernel itself has failed; the executor has told the judge where."""


class Buffer:
    """An array of the judge's: its slot, and the tensor that this process has in its place."""

    def __init__(self, slot: int, tensor: Any, *, local: bool, read: bool) -> None:
        self.slot = slot
        self.tensor = tensor
        self.local = local
        self.read = read
        self.version = _version(tensor)
        self.seen: bytearray | None = None  # what the executor has sent, if it has nothing newer
        self.low = int(tensor.data_ptr())
        self.high = self.low + tensor.numel() * tensor.element_size()

    @property
    def changed(self) -> bool:
        """True if it may not be what the executor has: host code may have written to it."""
        if self.seen is None or len(self.seen) != self.high - self.low:
            return True
        now, seen = np.frombuffer(_memory(self.low, len(self.seen)), np.uint8), self.seen
        return not np.array_equal(now, np.frombuffer(seen, np.uint8))


class Launches:
    """The launches of this process, and its side of the link to the executor."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._texts: dict[str, int] = {}
        self._buffers: dict[int, Buffer] = {}
        self._fresh: dict[int, Any] = {}
        self._lock = threading.RLock()  # a submission's threads may launch

    # ---- a call of the entry ----

    def begin(self, buffers: list[Buffer]) -> None:
        """Start a call with these buffers; those that are inputs too get their contents."""
        self._buffers = {buffer.slot: buffer for buffer in buffers}
        local = [buffer for buffer in buffers if buffer.local]
        for buffer in local:
            fill(buffer.low, buffer.high - buffer.low)
        wanted = [buffer.slot for buffer in local if buffer.read]
        if wanted:
            with self._lock:
                launches.send(self._link, {"fetch": wanted})
                self._take()

    def end(self) -> None:
        """End the call, however it went: the executor sees what host code wrote last."""
        changed = [one for one in self._buffers.values() if one.local and one.changed]
        if changed:
            blobs = [_memory(buffer.low, buffer.high - buffer.low) for buffer in changed]
            # A call that was stopped has been told of.
            with contextlib.suppress(LaunchStopped, OSError, EOFError), self._lock:
                launches.send(self._link, {"end": [buffer.slot for buffer in changed]}, blobs)
                self._take()

    def register(self, storage: Any) -> None:
        """A storage was just allocated, and filled with the pattern."""
        from torch.multiprocessing.reductions import StorageWeakRef

        self._fresh[storage.data_ptr()] = StorageWeakRef(storage)  # type: ignore[no-untyped-call]

    def refuse(self, what: str, line: int | None) -> None:
        """Tell the executor what host code needs that is not here, which stops the call."""
        with self._lock:
            launches.send(self._link, {"refuse": what, "line": line})
            self._take()

    # ---- a launch ----

    def launch(self, kernel: "Kernel", grid: tuple[int, int, int], values: list[Any]) -> None:
        """Execute a launch: `values` are the arguments of the IR's function."""
        with self._lock:
            self._launch(kernel, grid, values)

    def _launch(self, kernel: "Kernel", grid: tuple[int, int, int], values: list[Any]) -> None:
        memory = _Memory(self._buffers, self._fresh)
        arguments = []
        for name, kind, value in zip(kernel.names, kernel.kinds, values, strict=True):
            arguments += memory.argument(name, kind, value)
        # A kernel may know buffers by address, loaded from a tensor of pointers.
        for buffer in self._buffers.values():
            memory.storage(buffer.tensor)
        if kernel.text not in self._texts:
            self._texts[kernel.text] = len(self._texts)
            memory.blobs.append(kernel.text.encode())
        message = {
            "ir": self._texts[kernel.text],
            "grid": list(grid),
            "options": kernel.options,
            "arguments": arguments,
            "storages": memory.storages,
            **kernel.settings,
        }
        launches.send(self._link, {"launch": message}, memory.blobs)
        self._take(memory.scratch)

    def _take(self, scratch: dict[int, tuple[int, int]] | None = None) -> None:
        """Wait for the executor, and copy what it has written, by the numbers of storages."""
        header, blobs = launches.receive(self._link)
        if "stopped" in header:
            raise LaunchStopped(str(header["stopped"]))
        if "failed" in header:
            raise KernelError(str(header["failed"]))
        for slot, place, blob in header.get("wrote", []):
            if slot is not None:
                buffer = self._buffers[slot]
                base, size = buffer.low, buffer.high - buffer.low
                buffer.seen = blobs[blob]
            else:
                base, size = (scratch or {})[place]
            data = blobs[blob]
            ctypes.memmove(
                base, (ctypes.c_char * len(data)).from_buffer(data), min(size, len(data))
            )
        for buffer in self._buffers.values():
            buffer.version = _version(buffer.tensor)


class Kernel(Protocol):
    """What is launched: its text, and its parameters, in order.

    `settings` are further fields of a launch's message.
    """

    text: str
    names: list[str]
    kinds: list[Any]
    options: Mapping[str, int]
    settings: Mapping[str, Any]


class _Memory:
    """The storages of a launch's message, and its blobs; `scratch` are the submission's own."""

    def __init__(self, buffers: dict[int, Buffer], fresh: dict[int, Any]) -> None:
        self.storages: list[dict[str, Any]] = []
        self.blobs: list[Any] = []
        self.scratch: dict[int, tuple[int, int]] = {}  # address and size by number
        self._numbers: dict[int, int] = {}  # by address
        self._buffers = buffers
        self._fresh = fresh

    def argument(self, name: str, kind: Any, value: Any) -> list[dict[str, Any]]:
        """Return an argument as those of the IR's function: a tuple is several."""
        if isinstance(kind, tuple):
            parts = []
            for i, (inner, item) in enumerate(zip(kind, value, strict=True)):
                if inner != "constexpr":
                    parts += self.argument(f"{name}[{i}]", inner, item)
            return parts
        if hasattr(value, "block_shape") and hasattr(value, "base"):  # a tensor descriptor
            (view,) = self.argument(name, "*", value.base)
            extents, steps = (list(map(int, numbers)) for numbers in (value.shape, value.strides))
            nan = getattr(value, "padding", "zero") == "nan"
            descriptor = {**view, "extents": extents, "steps": steps, "nan": nan}
            return [descriptor, *({"number": number} for number in (*extents, *steps))]
        tensor = getattr(value, "base", value) if not hasattr(value, "untyped_storage") else value
        if not hasattr(tensor, "untyped_storage"):
            if isinstance(value, float):
                return [{"float": value.hex()}]
            return [{"number": int(value)}]
        storage = self.storage(tensor)
        return [
            {
                "view": storage,
                "offset": tensor.data_ptr() - self.storages[storage]["address"],
                "shape": list(tensor.shape),
                "strides": list(tensor.stride()),
                "item": tensor.element_size(),
                "name": name,
            }
        ]

    def storage(self, tensor: Any) -> int:
        """Return the number of a tensor's storage in the message, added if it is new."""
        address = int(tensor.data_ptr())
        for buffer in self._buffers.values():
            if buffer.low <= address < max(buffer.high, buffer.low + 1):
                if buffer.low not in self._numbers:
                    self._add(buffer.low, self._buffer(buffer))
                return self._numbers[buffer.low]
        storage = tensor.untyped_storage()
        base, size = int(storage.data_ptr()), int(storage.nbytes())
        if base not in self._numbers:
            known = self._fresh.get(base)
            fresh = known is not None and not known.expired()
            blob = self._blob(base, size)
            self._add(base, {"size": size, "address": base, "blob": blob, "fresh": bool(fresh)})
            self.scratch[self._numbers[base]] = base, size
        return self._numbers[base]

    def _add(self, address: int, storage: dict[str, Any]) -> None:
        self._numbers[address] = len(self.storages)
        self.storages.append(storage)

    def _blob(self, address: int, size: int) -> int:
        self.blobs.append(_memory(address, size))
        return len(self.blobs) - 1

    def _buffer(self, buffer: Buffer) -> dict[str, Any]:
        blob = None
        if buffer.local and _version(buffer.tensor) != buffer.version:
            # torch has written there since: the executor decides whether it may.
            blob = self._blob(buffer.low, buffer.high - buffer.low)
            buffer.version, buffer.seen = _version(buffer.tensor), None
        return {"slot": buffer.slot, "address": buffer.low, "blob": blob}


class _Texts(dict[str, str]):
    """The texts of the compilation stages; those after Triton's IR are empty."""

    def __missing__(self, _stage: str) -> str:
        return ""


class RecordedKernel:
    """What a compilation returns in place of Triton's compiled kernel: the IR, and a `run`."""

    n_regs = REGISTERS
    n_spills = 0
    n_max_threads = _THREADS
    function = 0
    module = 0
    packed_metadata = ()
    kernel = b""
    hash = ""
    settings: Mapping[str, Any] = {}

    def __init__(self, recorder: Launches, source: Any, text: str, options: Any) -> None:
        self._recorder = recorder
        self.name = str(source.name)
        self.text = text
        self._all = list(source.signature.items())
        kept = [(name, kind) for name, kind in self._all if kind != "constexpr"]
        self.names = [name for name, _ in kept]
        self.kinds = [kind for _, kind in kept]
        self.options: Mapping[str, int] = {
            name: getattr(options, name)
            for name in launches.OPTIONS
            if isinstance(getattr(options, name, None), int)
        }
        fields = {**vars(options), "name": self.name, "shared": SHARED_BYTES}
        self.metadata = SimpleNamespace(**fields)
        self.asm = _Texts(ttir=text)

    def _init_handles(self) -> None:
        """Do nothing: there is no module to load."""

    def launch_metadata(self, *_: Any) -> None:
        """Return nothing: it is for profilers."""

    def run(self, *arguments: Any) -> None:
        """Launch: the grid, five things of the driver's, two hooks, then the arguments."""
        grid = arguments[:3]
        values = arguments[len(arguments) - len(self._all) :]
        self.execute(grid, values)

    def execute(self, grid: Any, values: Any) -> None:
        """Execute on a grid with the arguments of the kernel, compile-time constants included."""
        whole = tuple(int(extent) for extent in grid)
        if min(whole) <= 0:
            return  # a GPU launches nothing
        if whole[0] > launches.MOST_PROGRAMS or max(whole[1:]) > launches.MOST_PROGRAMS_YZ:
            raise RuntimeError("Triton Error [CUDA]: invalid argument")  # the driver's words
        pairs = zip(self._all, values, strict=True)
        kept = [value for (_, kind), value in pairs if kind != "constexpr"]
        self._recorder.launch(self, whole, kept)  # type: ignore[arg-type] # three of them

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        """Return a function that launches on a grid of three numbers."""

        def launch(*values: Any, stream: object = None) -> None:
            del stream
            if len(values) != len(self._all):
                raise TypeError(
                    f"a compiled kernel takes all {len(self._all)} arguments of `{self.name}`, "
                    f"constexpr ones too ({len(values)} given)"
                )
            self.execute((grid[0], grid[1], grid[2]), values)

        return launch


def install(link: socket.socket) -> Launches:
    """Replace Triton's compiler in this process, and have allocations filled with the pattern."""
    import triton.compiler
    from triton.runtime import jit

    recorder = Launches(link)

    def compile_to_ir(src: Any, target: Any = None, options: Any = None, *_: Any, **__: Any) -> Any:
        return _compile(recorder, src, target, options or {})

    triton.compiler.compile = triton.compiler.compiler.compile = compile_to_ir
    create_binder = jit.JITFunction.create_binder

    def binder(kernel: Any, *arguments: Any) -> Any:
        made = create_binder(kernel, *arguments)
        kernel.compile = compile_to_ir  # taken from its module when that was imported
        return made

    jit.JITFunction.create_binder = binder
    watch_allocations(recorder)
    return recorder


def watch_allocations(recorder: Launches) -> None:
    """Have torch's allocations filled with the pattern."""
    import torch

    for name in _FUNCTIONS:
        if hasattr(torch, name):
            setattr(torch, name, _watched(getattr(torch, name), torch, recorder.register))
    for name in _METHODS:
        method = getattr(torch.Tensor, name)
        setattr(torch.Tensor, name, _watched(method, torch, recorder.register))


def _compile(recorder: Launches, source: Any, target: Any, options: dict[str, Any]) -> Any:
    """Compile to Triton's IR, or take it from the cache. Raises Triton's own errors."""
    from triton.compiler.compiler import make_backend
    from triton.runtime import driver

    target = target or driver.active.get_current_target()
    backend = make_backend(target)
    parsed = backend.parse_options({**dict(options), **source.parse_options()})
    cached = _cached(source, target, parsed)
    try:
        text = cached.read_text(encoding="utf-8")
    except OSError:
        try:
            text = ir_of(source, target, backend, parsed)
        except Exception as error:
            triton_compile_error.place(error, source)
            raise
        with contextlib.suppress(OSError):
            cached.parent.mkdir(parents=True)
            cached.write_text(text, encoding="utf-8")
    return RecordedKernel(recorder, source, text, parsed)


def ir_of(source: Any, target: Any, backend: Any, parsed: Any) -> str:
    """Compile to Triton's IR. Raises Triton's own errors."""
    from triton._C.libtriton import ir

    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    given = {
        "target": target,
        "options": parsed,
        "codegen_fns": backend.get_codegen_implementation(parsed),
        "module_map": backend.get_module_map(),
        "context": context,
    }
    # `target` is a parameter since Triton 3.5.
    names = inspect.signature(source.make_ir).parameters
    return str(source.make_ir(**{name: given[name] for name in names}))


def _cached(source: Any, target: Any, options: Any) -> Path:
    """Return where earlier workers of this submission leave the IR, in Triton's own cache."""
    try:
        key = f"{target}-{source.hash()}-{options.hash()}"
        root = Path(os.environ["TRITON_CACHE_DIR"])
    except Exception:  # the compiler says more about what it refuses
        return Path(os.devnull) / "none"
    digest = hashlib.sha256(key.encode()).digest()
    return root / base64.b32encode(digest).decode().rstrip("=") / "kernel.ttir"


def fill(address: int, size: int) -> None:
    """Fill memory with the pattern."""
    if size:
        memory = np.frombuffer(_memory(address, size), np.uint8)
        pairs = size // len(launches.PATTERN) * len(launches.PATTERN)
        memory[:pairs].view(np.uint16).fill(int.from_bytes(launches.PATTERN, sys.byteorder))
        memory[pairs:] = launches.PATTERN[0]


def _watched(allocate: Any, torch: Any, register: Any) -> Any:
    """Return a function of torch that promises nothing about its memory, filling it."""

    def watched(*args: Any, **kwargs: Any) -> Any:
        tensor = allocate(*args, **kwargs)
        if kwargs.get("out") is None and _plain(tensor, torch):
            storage = tensor.untyped_storage()
            if 0 < storage.nbytes() <= _LARGEST_FILL:
                fill(storage.data_ptr(), storage.nbytes())
                register(storage)
        return tensor

    watched.__name__ = allocate.__name__
    watched.__doc__ = allocate.__doc__
    return watched


def _plain(tensor: Any, torch: Any) -> bool:
    # A bool is 0 or 1 and nothing else; subclasses may forbid looking inside.
    return (
        type(tensor) is torch.Tensor
        and tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and tensor.dtype is not torch.bool
    )


def _memory(address: int, size: int) -> Any:
    return (ctypes.c_char * size).from_address(address)


def _version(tensor: Any) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:  # tensors of inference mode have none
        return 0
