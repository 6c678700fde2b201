"""The worker for Python (Triton): import a submission's file and call its entry on tensors.

It runs in a process that `python_server` forked. The tensors share the judge's memory (shared
transport) or are filled from it (private). Outputs are written in place; a return value is ignored.
"""

import contextlib
import faulthandler
import importlib.util
import os
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import standalone  # noqa: F401 # so that the imports below find their modules

from grader.protocol import cuda_driver, launches, wire
from grader.protocol.targets import target_of
from grader.worker import host_memory, worker_log


class Worker:
    """The commands of `wire`, one method each.

    `target` is the compute capability for which Triton compiles without a GPU. If `launched`, the
    entry is a kernel, and the last arguments of a call are its launch.
    """

    def __init__(
        self,
        file: str,
        entry: str,
        device: str,
        *,
        mode: launches.LaunchMode,
        target: int = 80,
        launched: bool = False,
    ) -> None:
        import torch

        self._torch = torch
        self._file = file
        self._entry = entry
        self._launched = launched
        self._device = device
        self._function: Any = None
        self._tensors: dict[int, Any] = {}
        self._files: dict[int, Any] = {}
        self._mapped: list[tuple[str, int, int]] = []
        self._driver: Any = None
        self._buffers: list[Any] = []
        self._launches: Any = None
        self._prepared: list[list[Any]] = []
        self._turns: Any = None  # of autotuners
        self._called = False  # on the attached buffers
        self._host_mode: Any = contextlib.nullcontext
        self._torch_log: Any = contextlib.nullcontext
        self._install(mode, target)

    def _install(self, mode: launches.LaunchMode, target: int) -> None:
        """Patch what the submission imports."""
        device, file = self._device, self._file
        # Each import is here because it is slow or patches triton.
        if not mode.tuning:
            from grader.worker import triton_autotune

            self._turns = triton_autotune.install(mode.turn, trials=mode.trials)
        if device == "cuda":
            from grader.worker import triton_cache_key

            triton_cache_key.install()
            if not mode.tuning:  # timing has a budget of its own for the first call
                from grader.worker import triton_compile_time

                triton_compile_time.install()
        else:
            from grader.worker import triton_host

            self._host_mode = triton_host.install(file, target_of(target))
        if device != "cuda" and not mode.tuning:
            from grader.worker import triton_launches

            link = socket.socket(fileno=launches.LINK_FD)
            self._launches = triton_launches.install(link)
        if mode.idle or self._launches is not None:
            from grader.worker import triton_no_launch

            if mode.idle and device == "cuda":  # else the executor leaves launches out
                triton_no_launch.install()
            self._torch_log = triton_no_launch.torch_watched

    def load(self) -> int:
        """Import the submission; its module-level code runs here."""
        name = Path(self._file).stem
        spec = importlib.util.spec_from_file_location(name, self._file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        # Pickling and Triton look up the source through sys.modules.
        sys.modules[name] = module
        try:
            with self._host_mode():
                spec.loader.exec_module(module)
        except BaseException as error:
            worker_log.tell_exception(error, self._file)
            return wire.LOAD_FAILED
        self._function = getattr(module, self._entry, None)
        problem = self._entry_problem(self._function)
        if problem:
            worker_log.tell("entry", problem=problem)
            return wire.LOAD_FAILED
        if self._launched:
            self._function = self._launching(self._function)
        try:
            self._open_device()
        except Exception as error:  # torch raises many kinds
            worker_log.tell_no_gpu(error)
            return wire.LOAD_FAILED
        return wire.OK

    def _entry_problem(self, function: Any) -> str | None:
        """Return why the entry cannot be called; None if it can."""
        from triton.runtime.jit import KernelInterface

        if function is None:
            return "missing"
        if isinstance(function, KernelInterface) != self._launched:
            return "function" if self._launched else "kernel"
        return None if callable(function) else type(function).__name__

    def _launching(self, kernel: Any) -> Any:
        """Return a function that launches a kernel: arguments, then grid, block, shared bytes."""
        names = getattr(kernel, "arg_names", ())

        def launch(*arguments: Any) -> None:
            *values, grid_x, grid_y, grid_z, x, y, z, _shared = arguments
            block = {"BLOCK": x, "BLOCK_X": x, "BLOCK_Y": y, "BLOCK_Z": z}
            named = {name: extent for name, extent in block.items() if name in names}
            kernel[grid_x, grid_y, grid_z](*values, **named)

        return launch

    def _open_device(self) -> None:
        if self._device != "cuda":
            return
        self._torch.cuda.init()  # type: ignore[no-untyped-call] # torch's own
        self._driver = cuda_driver.Driver()

    def attach(self, about: wire.BufferMessage, descriptor: int) -> None:
        """Make one tensor in the judge's buffer, or a private one of the same shape."""
        kind = getattr(self._torch, about.dtype)
        local = about.where == wire.LOCAL
        if local:  # the executor has the judge's buffer
            tensor = self._torch.zeros(about.shape, dtype=kind)
        else:
            whole = self._map(about, descriptor)
            data = whole[about.offset : about.offset + about.size]
            tensor = data.view(kind).view(about.shape)
        if about.where == wire.PRIVATE:
            self._files[about.slot] = (tensor, about.writable, about.bare)
            tensor = self._torch.empty_like(tensor, device=self._device)
        self._tensors[about.slot] = tensor
        if self._launches is not None:
            from grader.worker.triton_launches import Buffer

            read = not local or bool(about.flags & wire.READ)
            self._buffers.append(Buffer(about.slot, tensor, local=local, read=read))

    def _map(self, about: wire.BufferMessage, descriptor: int) -> Any:
        """Map the judge's buffer; return its bytes."""
        size = about.file_bytes
        if about.where == wire.DEVICE and self._device == "cuda":
            address = self._driver.import_shared(descriptor, size)
            self._mapped.append(("cuda", address, size))
            return self._torch.as_tensor(cuda_driver.CudaBytes(address, size), device="cuda")
        address = host_memory.map_file(descriptor, size, writable=about.writable)
        self._mapped.append(("host", address, size))
        return host_memory.bytes_at(address, size)

    def call(self, payload: bytes) -> int:
        """Call the entry with tensors and numbers in the signature's order."""
        arguments = [self._argument(*pair) for pair in wire.ARGUMENT.iter_unpack(payload)]
        if self._launches is not None:
            self._launches.begin(self._buffers)
        if self._turns is not None:
            self._turns.call_begins(again=self._called)
        self._called = True
        try:
            with self._host_mode(), self._torch_log():
                returned = self._function(*arguments)
            if returned is not None:
                worker_log.tell("returned")
            if self._device == "cuda":
                self._torch.cuda.synchronize()
        except BaseException as error:
            worker_log.tell_exception(error, self._file)
            return wire.EXCEPTION
        finally:
            if self._launches is not None:
                self._launches.end()
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except (OSError, ValueError, AttributeError):
                    continue  # closed or replaced by the submission
        return wire.OK

    def prepare(self, payload: bytes) -> None:
        """Prepare the arguments of many calls, before the judge's clock starts."""
        _, calls = wire.unpack_run(payload)
        self._prepared = [[self._argument(*pair) for pair in call] for call in calls]

    def run(self) -> int:
        """Call the entry on one buffer set after the other and synchronise once."""
        function, prepared = self._function, self._prepared
        try:
            for arguments in prepared:
                function(*arguments)
            if self._device == "cuda":
                self._torch.cuda.synchronize()
        except BaseException as error:
            worker_log.tell_exception(error, self._file)
            return wire.EXCEPTION
        return wire.OK

    def _argument(self, kind: int, bits: int) -> Any:
        raw = bits.to_bytes(8, "little")
        if kind == wire.SLOT:
            return self._tensors[bits]
        if kind == wire.FLOAT32:
            return float(struct.unpack_from("<f", raw)[0])
        if kind == wire.FLOAT64:
            return float(struct.unpack("<d", raw)[0])
        if kind in (wire.UNSIGNED, wire.BOOL):
            return bool(bits) if kind == wire.BOOL else bits
        return int(struct.unpack("<q", raw)[0])

    def copy_in(self) -> None:
        """Fill private tensors from their files."""
        for slot, (file, _, bare) in self._files.items():
            if not bare:
                self._tensors[slot].copy_(file)

    def copy_out(self) -> None:
        """Write private outputs to their files."""
        for slot, (file, writable, _) in self._files.items():
            if writable:
                file.copy_(self._tensors[slot])

    def detach(self) -> None:
        """Drop all tensors and unmap their memory."""
        self._called = False
        self._tensors.clear()
        self._buffers.clear()
        self._files.clear()
        for kind, address, size in self._mapped:
            if kind == "cuda":
                self._driver.unmap(address, size)
            else:
                host_memory.unmap(address, size)
        self._mapped.clear()

    def finish(self) -> None:
        """Free all resources, as a correct program does before it exits."""
        with contextlib.suppress(RuntimeError, OSError):
            self.detach()
            if self._device == "cuda":
                self._torch.cuda.empty_cache()


def prepare() -> None:
    """Do nothing: the server imports torch and Triton before all workers."""


def serve_executor(link: int, mode: launches.LaunchMode, *, host_writes: bool) -> None:
    """Be the executor of another worker's launches."""
    from grader.worker import triton_executor

    triton_executor.serve(link, mode, host_writes=host_writes)


def serve(
    file: str, entry: str, device: str, *, kind: type[Worker] = Worker, **settings: Any
) -> None:
    """Carry out commands until the judge closes the channel, then end the process.

    `settings` are those of `Worker`, of which `kind` may be a subclass.
    """
    channel = socket.socket(fileno=wire.CHANNEL_FD)
    # A crash writes its stack, which has the student's line.
    faulthandler.enable(file=wire.REPORT_FD, all_threads=False)
    # The judge asks for the stack of a call that exceeds its time limit.
    faulthandler.register(signal.SIGUSR1, file=wire.REPORT_FD, all_threads=False)
    worker = kind(file, entry, device, **settings)
    try:
        wire.serve(
            channel,
            {
                wire.LOAD: lambda *_: (worker.load(), 0),
                wire.ATTACH: wire.for_each_buffer(worker.attach),
                wire.CALL: lambda payload, _: (worker.call(payload), 0),
                wire.PREPARE: lambda payload, _: worker.prepare(payload),
                wire.RUN: lambda *_: (worker.run(), 0),
                wire.COPY_IN: lambda *_: worker.copy_in(),
                wire.COPY_OUT: lambda *_: worker.copy_out(),
                wire.DETACH: lambda *_: worker.detach(),
                wire.FINISH: lambda *_: worker.finish(),
            },
        )
    except EOFError:
        os._exit(0)  # the submission's exit handlers must not run


if __name__ == "__main__":
    # Not forked, so that a tool can observe this process from its start.
    serve(*sys.argv[1:4], mode=launches.ONCE_EACH, launched=wire.LAUNCHED in sys.argv[4:])
