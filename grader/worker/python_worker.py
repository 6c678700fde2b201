"""The worker for Python (Triton): import a submission's file and call its entry on tensors.

It runs in a process that `python_server` forked. The tensors share the judge's memory (shared
transport) or are filled from it (private). Outputs are written in place; a return value is ignored.
"""

import contextlib
import ctypes
import faulthandler
import importlib.util
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import standalone  # noqa: F401 # so that the imports below find their modules

from grader.protocol import cuda_driver, launches, wire
from grader.protocol.targets import TARGETS
from grader.worker import host_memory, worker_log


class Worker:
    """The commands of `wire`, one method each."""

    def __init__(
        self,
        file: str,
        entry: str,
        device: str,
        *,
        tuning: bool = False,
        idle: bool = False,
        target: int = 80,
    ) -> None:
        import torch

        self._torch = torch
        self._file = file
        self._entry = entry
        self._device = device
        self._function: Any = None
        self._tensors: dict[int, Any] = {}
        self._files: dict[int, Any] = {}
        self._mapped: list[tuple[str, int, int]] = []
        self._driver: Any = None
        self._buffers: list[Any] = []
        self._launches: Any = None
        self._prepared: list[list[Any]] = []
        self._host_mode: Any = contextlib.nullcontext
        self._torch_log: Any = contextlib.nullcontext
        # Each import is here because it is slow or patches triton.
        if not tuning:
            from grader.worker import triton_autotune

            triton_autotune.install()
        if device == "cuda":
            from grader.worker import triton_cache_key

            triton_cache_key.install()
        else:
            from grader.worker import triton_host

            self._host_mode = triton_host.install(file, TARGETS[target])
        if device != "cuda" and not tuning:
            from grader.worker import triton_launches

            link = socket.socket(fileno=launches.LINK_FD)
            self._launches = triton_launches.install(link)
        if idle:
            from grader.worker import triton_no_launch

            if device == "cuda":  # else the executor leaves launches out
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
        try:
            self.open_device()
        except Exception as error:  # torch raises many kinds
            worker_log.tell_no_gpu(error)
            return wire.LOAD_FAILED
        return wire.OK

    def _entry_problem(self, function: Any) -> str | None:
        """Return why the entry cannot be called; None if it can."""
        from triton.runtime.jit import KernelInterface

        if function is None:
            return "missing"
        if isinstance(function, KernelInterface):
            return "kernel"
        return None if callable(function) else type(function).__name__

    def open_device(self) -> None:
        """Open the GPU, unless the device is the CPU or the GPU is open already."""
        if self._device != "cuda" or self._driver is not None:
            return
        self._torch.cuda.init()  # type: ignore[no-untyped-call] # torch's own
        self._driver = cuda_driver.Driver()

    def attach(self, payload: bytes, descriptor: int) -> None:
        """Make one tensor in the judge's buffer, or a private one of the same shape."""
        slot, where, flags, dtype, dimensions, file_bytes, offset, size, *rest = (
            wire.BUFFER.unpack_from(payload)
        )
        if where == wire.LOCAL:
            self._attach_local(slot, flags, dtype, rest[:dimensions])
            return
        shape = rest[:dimensions]
        writable = bool(flags & wire.WRITABLE)
        torch_type = getattr(self._torch, wire.DTYPES[dtype])
        if where == wire.DEVICE and self._device == "cuda":
            address = self._driver.import_shared(descriptor, file_bytes)
            self._mapped.append(("cuda", address, file_bytes))
            memory = cuda_driver.CudaBytes(address, file_bytes)
            whole = self._torch.as_tensor(memory, device="cuda")
        else:
            address = host_memory.map_file(descriptor, file_bytes, writable=writable)
            self._mapped.append(("host", address, file_bytes))
            array = (ctypes.c_uint8 * file_bytes).from_address(address)
            whole = self._torch.frombuffer(array, dtype=self._torch.uint8)
        tensor = whole[offset : offset + size].view(torch_type).view(shape)
        if where == wire.PRIVATE:
            self._files[slot] = (tensor, writable, bool(flags & wire.UNINITIALISED))
            tensor = self._torch.empty_like(tensor, device=self._device)
        self._tensors[slot] = tensor
        if self._launches is not None:
            self._keep(slot, tensor, local=False, read=True)

    def _attach_local(self, slot: int, flags: int, dtype: int, shape: list[int]) -> None:
        """Make memory of this process's own where the executor has the judge's buffer."""
        kind = getattr(self._torch, wire.DTYPES[dtype])
        tensor = self._torch.zeros(shape, dtype=kind)
        self._tensors[slot] = tensor
        self._keep(slot, tensor, local=True, read=bool(flags & wire.READ))

    def _keep(self, slot: int, tensor: Any, *, local: bool, read: bool) -> None:
        from grader.worker.triton_launches import Buffer

        self._buffers.append(Buffer(slot, tensor, local=local, read=read))

    def call(self, payload: bytes) -> int:
        """Call the entry with tensors and numbers in the signature's order."""
        arguments = [self._argument(*pair) for pair in wire.ARGUMENT.iter_unpack(payload)]
        if self._launches is not None:
            self._launches.begin(self._buffers)
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


def serve(
    file: str,
    entry: str,
    device: str,
    *,
    tuning: bool = False,
    idle: bool = False,
    target: int = 80,
    prestart: bool = False,
) -> None:
    """Carry out commands until the judge closes the channel, then end the process.

    `target` is the compute capability for which Triton compiles without a GPU. With `prestart` it
    opens the GPU before its first command, so that the command does not wait.
    """
    channel = socket.socket(fileno=wire.CHANNEL_FD)
    # A crash writes its stack, which has the student's line.
    faulthandler.enable(file=wire.REPORT_FD, all_threads=False)
    worker = Worker(file, entry, device, tuning=tuning, idle=idle, target=target)
    if prestart:
        worker.open_device()
    poll_s = 0.0
    while True:
        try:
            number, command, payload, descriptors = wire.receive(channel, poll_s)
        except EOFError:
            os._exit(0)  # the submission's exit handlers must not run
        poll_s = wire.POLL_S if command == wire.PREPARE else 0.0
        status = wire.OK
        if command == wire.LOAD:
            status = worker.load()
        elif command == wire.ATTACH:
            worker.attach(payload, descriptors[0] if descriptors else -1)
        elif command == wire.CALL:
            status = worker.call(payload)
        elif command == wire.PREPARE:
            worker.prepare(payload)
        elif command == wire.RUN:
            status = worker.run()
        elif command == wire.COPY_IN:
            worker.copy_in()
        elif command == wire.COPY_OUT:
            worker.copy_out()
        elif command == wire.DETACH:
            worker.detach()
        elif command == wire.FINISH:
            worker.finish()
        for descriptor in descriptors:
            os.close(descriptor)
        wire.answer(channel, number, status)
        if command == wire.FINISH:
            return


if __name__ == "__main__":
    # Not forked, so that a tool can observe this process from its start.
    serve(sys.argv[1], sys.argv[2], sys.argv[3], prestart=True)
