"""The worker for CUDA C++: run a submission built as a shared library with the entry `grader_call`.

    python -I -S start.py cuda_worker.py LIBRARY cpu [SETTINGS of the emulation's runtime]
    python -I -S start.py cuda_worker.py LIBRARY cuda [context]

With `context` it opens the GPU before its first command, so that the first command does not wait.

It imports only the standard library: it starts 20 times faster than a worker that imports torch,
runs with the system's python under another uid, and offers the submission nothing to call. On the
CPU the library contains the emulation's runtime, which maps buffers into its device arena; on a GPU
the driver maps them.

Every command gets an answer, unless this process dies, which the judge notices.
"""

import contextlib
import ctypes
import os
import socket
import sys
from collections.abc import Iterable

from grader.protocol import wire
from grader.worker import host_memory, worker_log


class Buffer:
    """One attached buffer: its address for the kernel, and its file."""

    def __init__(self, about: wire.BufferMessage, descriptor: int) -> None:
        self.about = about
        self.descriptor = descriptor
        self.address = 0
        self.file_address = 0

    def map_file(self) -> int:
        """Map the judge's file and return the address of its data."""
        self.file_address = host_memory.map_file(
            self.descriptor, self.about.file_bytes, writable=self.about.writable
        )
        return self.file_data

    @property
    def file_data(self) -> int:
        """The address of the data in the mapped file."""
        return self.file_address + self.about.offset


class CpuDevice:
    """Device memory in the arena of the emulation's runtime, inside the library.

    The runtime knows the bounds of shared buffers, so that private buffers are not needed.
    """

    def __init__(self, library: ctypes.CDLL, settings: str) -> None:
        self._library = library
        if settings and library.grader_configure(settings.encode()):
            raise OSError(f"the emulation's runtime does not know the setting {settings!r}")
        library.grader_attach.restype = ctypes.c_void_p
        library.grader_attach.argtypes = [
            ctypes.c_int,
            ctypes.c_ulonglong,
            ctypes.c_ulonglong,
            ctypes.c_ulonglong,
            ctypes.c_int,
            ctypes.c_char_p,
        ]
        library.grader_attach_host.restype = None
        library.grader_attach_host.argtypes = [ctypes.c_void_p, *library.grader_attach.argtypes[1:]]
        library.grader_open_report(wire.REPORT_FD)

    def attach(self, buffer: Buffer) -> int:
        """Map shared memory as device memory."""
        address = self._library.grader_attach(buffer.descriptor, *self._bounds(buffer))
        if not address:
            raise OSError(f"cannot attach {buffer.about.name!r}")
        if buffer.about.bare:
            self._library.grader_expect_output(ctypes.c_void_p(address))
        return int(address)

    def attach_host(self, buffer: Buffer) -> None:
        """Register an array in host memory with the runtime: kernels may not access it."""
        self._library.grader_attach_host(buffer.file_address, *self._bounds(buffer))

    def _bounds(self, buffer: Buffer) -> tuple[int, int, int, bool, bytes]:
        about = buffer.about
        return about.file_bytes, about.offset, about.size, about.writable, about.name

    def release(self, buffers: list[Buffer]) -> None:
        """Unmap all buffers."""
        self._library.grader_detach_all()

    def before_call(self, *, repeat: bool) -> None:
        """Announce the call to the runtime, which looks for leaks in repeated calls."""
        self._library.grader_call_begins(int(repeat))

    def after_call(self) -> None:
        """Make the runtime write its report."""
        self._library.grader_flush_report()

    finish = after_call


class GpuDevice:
    """Device memory through the driver's virtual memory calls."""

    def __init__(self) -> None:
        from grader.protocol import cuda_driver

        self._driver = cuda_driver.Driver()

    def attach(self, buffer: Buffer) -> int:
        """Map shared memory into this process."""
        about = buffer.about
        return self._driver.import_shared(buffer.descriptor, about.file_bytes) + about.offset

    def attach_host(self, buffer: Buffer) -> None:
        """Nothing to do: a kernel cannot access host memory."""

    def allocate(self, size: int) -> int:
        """Allocate exactly `size` bytes, so that compute-sanitizer knows the bounds."""
        return self._driver.allocate(size)

    def copy_in(self, buffer: Buffer) -> None:
        """Fill a private allocation from its file."""
        self._driver.copy_to_device(buffer.address, buffer.file_data, buffer.about.size)

    def copy_out(self, buffer: Buffer) -> None:
        """Write a private allocation to its file."""
        self._driver.copy_to_host(buffer.file_data, buffer.address, buffer.about.size)

    def release(self, buffers: list[Buffer]) -> None:
        """Free or unmap the buffers."""
        for buffer in buffers:
            about = buffer.about
            if about.where == wire.PRIVATE:
                self._driver.free(buffer.address)
            elif about.where == wire.DEVICE:
                self._driver.unmap(buffer.address - about.offset, about.file_bytes)

    def before_call(self, *, repeat: bool) -> None:
        """Nothing to do: a tool recognises a repeated call by the frame `grader_call_again`."""

    def after_call(self) -> None:
        """Nothing to do: `grader_call` has synchronised."""

    def finish(self) -> None:
        """Destroy the context, so that compute-sanitizer can check for leaks."""
        self._driver.reset()


class Worker:
    """The commands of `wire`, one method each."""

    def __init__(self, library: str, device: str, settings: str = "") -> None:
        self._path = library
        self._settings = settings
        self._on_cpu = device == "cpu"
        self._library: ctypes.CDLL | None = None
        self._device: CpuDevice | GpuDevice | None = None
        self._buffers: dict[int, Buffer] = {}
        self._calls = 0  # since the buffers were attached
        self._prepared: tuple = (None, 0, 0)  # type: ignore[type-arg]
        if settings == wire.CONTEXT and not self._on_cpu:
            self._device = GpuDevice()

    def load(self) -> int:
        """Load the library; its static constructors run here."""
        try:
            # RTLD_NOW: an undefined function fails here, with its name.
            self._library = ctypes.CDLL(self._path, os.RTLD_NOW | os.RTLD_LOCAL)
        except OSError as error:
            worker_log.tell("load", message=str(error)[-2000:])
            return wire.LOAD_FAILED
        if self._on_cpu:
            self._device = CpuDevice(self._library, self._settings)
        elif self._device is None:
            try:
                self._device = GpuDevice()
            except (OSError, RuntimeError) as error:
                worker_log.tell_no_gpu(error)
                return wire.LOAD_FAILED
        return wire.OK

    def attach(self, about: wire.BufferMessage, descriptor: int) -> None:
        """Map one buffer in host memory, in device memory, or for a private allocation."""
        assert self._device is not None
        buffer = Buffer(about, descriptor)
        if buffer.about.where == wire.HOST:
            buffer.address = buffer.map_file()
            self._device.attach_host(buffer)
        elif buffer.about.where == wire.DEVICE:
            buffer.address = self._device.attach(buffer)
        else:
            buffer.map_file()
            buffer.address = self._private_device().allocate(buffer.about.size)
        self._buffers[buffer.about.slot] = buffer

    def _arguments(self, call: Iterable[tuple[int, int]]) -> "ctypes.Array[ctypes.c_ulonglong]":
        values = [self._buffers[bits].address if kind == wire.SLOT else bits for kind, bits in call]
        return (ctypes.c_ulonglong * len(values))(*values)

    def call(self, payload: bytes) -> tuple[int, int]:
        """Call the entry."""
        assert self._library is not None and self._device is not None
        arguments = self._arguments(wire.ARGUMENT.iter_unpack(payload))
        repeat = self._calls > 0
        self._calls += 1
        self._device.before_call(repeat=repeat)
        entry = self._library.grader_call_again if repeat else self._library.grader_call
        code = int(entry(arguments))
        self._device.after_call()
        return _status(code)

    def prepare(self, payload: bytes) -> None:
        """Prepare the arguments of many calls, before the judge's clock starts."""
        per_call, calls = wire.unpack_run(payload)
        arguments = self._arguments(argument for call in calls for argument in call)
        self._prepared = arguments, per_call, len(calls)

    def run(self) -> tuple[int, int]:
        """Call the entry on one buffer set after the other, and synchronise once."""
        assert self._library is not None
        return _status(int(self._library.grader_calls(*self._prepared)))

    def _private_device(self) -> "GpuDevice":
        assert isinstance(self._device, GpuDevice), "only a GPU has private memory"
        return self._device

    def copy_in(self) -> None:
        """Fill private allocations from their files."""
        for buffer in self._buffers.values():
            if buffer.about.where == wire.PRIVATE and not buffer.about.bare:
                self._private_device().copy_in(buffer)

    def copy_out(self) -> None:
        """Write private outputs to their files."""
        for buffer in self._buffers.values():
            if buffer.about.where == wire.PRIVATE and buffer.about.writable:
                self._private_device().copy_out(buffer)

    def detach(self) -> None:
        """Unmap all buffers."""
        assert self._device is not None
        self._device.release(list(self._buffers.values()))
        for buffer in self._buffers.values():
            if buffer.file_address:
                host_memory.unmap(buffer.file_address, buffer.about.file_bytes)
        self._buffers.clear()
        self._calls = 0

    def finish(self) -> None:
        """Free all resources, as a correct program does before it exits."""
        assert self._device is not None
        # After a CUDA error nothing can be freed any more.
        with contextlib.suppress(RuntimeError, OSError):
            self.detach()
            self._device.finish()


def _status(code: int) -> tuple[int, int]:
    """Return the answer to a call that ended with a CUDA error, 0 for none."""
    return (wire.CUDA_ERROR if code else wire.OK), code


def main() -> None:
    """Serve the judge on the inherited channel."""
    library, device, *settings = sys.argv[1:]
    channel = socket.socket(fileno=wire.CHANNEL_FD)
    try:
        worker = Worker(library, device, *settings)
        wire.serve(
            channel,
            {
                wire.LOAD: lambda *_: (worker.load(), 0),
                wire.ATTACH: wire.for_each_buffer(worker.attach),
                wire.CALL: lambda payload, _: worker.call(payload),
                wire.PREPARE: lambda payload, _: worker.prepare(payload),
                wire.RUN: lambda *_: worker.run(),
                wire.COPY_IN: lambda *_: worker.copy_in(),
                wire.COPY_OUT: lambda *_: worker.copy_out(),
                wire.DETACH: lambda *_: worker.detach(),
                wire.FINISH: lambda *_: worker.finish(),
            },
        )
    except EOFError:
        # The judge is done. The submission's destructors must not run.
        os._exit(0)
    except BaseException as error:
        print(f"worker: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(wire.EXIT_FAILED)
