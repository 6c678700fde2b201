"""Execute the launches of a Numba worker: PTX in place of Triton's IR, threads of programs.

See `triton_executor`. The compiler has run in the worker, which is not trusted: whatever PTX comes
is executed, with every access checked.
"""

import struct
from typing import Any

import numpy as np

from grader.emulation.common.storage import View
from grader.emulation.ptx import machine, memory
from grader.emulation.ptx.counting import counter
from grader.emulation.ptx.operations import DTYPES
from grader.emulation.ptx.parser import Kernel, PtxError, parse
from grader.protocol import launches
from grader.protocol.targets import THREADS_PER_BLOCK
from grader.worker import triton_executor, worker_log
from grader.worker.launch_arguments import RefusedError, read_argument

_MOST_SHARED = memory.SHARED_BYTES
_MOST_Z = 64  # threads of a block along z
_MOST_TEXT = 4 << 20


class NumbaExecutor(triton_executor.Executor):
    """The buffers of the judge, and the call that is running."""

    def __init__(self, mode: launches.LaunchMode, *, host_writes: bool) -> None:
        super().__init__(mode, host_writes=host_writes)
        self._kernels_of: list[Kernel | str] = []
        self._threads = memory.Memory(self._found, checked=False)

    def begin(self, payload: bytes) -> None:
        """Start a call."""
        super().begin(payload)
        self._threads.checked = self._checked

    def _refused(self, header: dict[str, Any]) -> tuple[Any, list[Any]]:
        message = f"without a GPU the grader has no {str(header['refuse'])[:200]}"
        line = _line(header)
        worker_log.tell("not_measured", reason="unsupported", message=message, line=line)
        return self._stop(message), []

    def _prepare(
        self, launch: dict[str, Any], blobs: list[bytearray]
    ) -> triton_executor.Prepared | tuple[Any, list[Any]]:
        name = str(launch["kernel"])[:100]
        if not name.isidentifier():
            raise RefusedError("a kernel of no name")
        kernel = self._kernel_of(launch["ir"], str(launch["file"]), blobs)
        if isinstance(kernel, str):
            worker_log.tell(
                "not_measured",
                reason="unsupported",
                message=f"the executor cannot run {kernel} in the kernel {name}",
                line=_line(launch),
            )
            return self._stop(kernel), []
        kernel.name = name
        grid = _extents(launch["grid"], launches.MOST_PROGRAMS, launches.MOST_PROGRAMS_YZ)
        block = _extents(launch["block"], THREADS_PER_BLOCK, THREADS_PER_BLOCK)
        shared = int(launch["shared"])
        static = sum(one.size for one in kernel.arrays.values() if one.space == "shared")
        if np.prod(block) > THREADS_PER_BLOCK or block[2] > _MOST_Z:
            raise RefusedError("a block that no GPU takes")
        if not 0 <= shared <= _MOST_SHARED - static:
            message = f"more than {_MOST_SHARED >> 10} KiB of shared memory"
            return self._failed(message, _line(launch))
        storages = [self._storage(storage, blobs) for storage in launch["storages"]]
        arguments = [
            part
            for one in launch["arguments"]
            for part in _parts(one, read_argument(one, storages))
        ]
        given = _passed(arguments, kernel)
        if self._idle:
            return {"wrote": []}, []
        repeats = self._repeated(launch["ir"], grid, block, launch["arguments"])
        run = machine.Launch(
            kernel=kernel, grid=grid, block=block, arguments=given, shared_bytes=shared
        )
        requests = self._kernel(name)["requests"]
        self._threads.watch = counter(requests.lines, block) if self._counts else None
        return triton_executor.Prepared(
            kernel=name,
            grid=grid,
            repeats=repeats,
            storages=storages,
            memory=self._threads,
            execute=lambda deadline_s: machine.execute(
                run, self._threads, self._found, deadline_s=deadline_s
            ),
            tells=lambda: {"block": list(block)},
        )

    def _kernel_of(self, number: int, file: str, blobs: list[bytearray]) -> Kernel | str:
        """Return the kernel of that number, which comes with its first launch, or why not."""
        if type(number) is not int or not 0 <= number <= len(self._kernels_of):
            raise RefusedError("PTX of another number")
        if number == len(self._kernels_of):
            self._kernels_of.append(_parsed(bytes(blobs.pop()), file))
        return self._kernels_of[number]


def _line(message: dict[str, Any]) -> int | None:
    line = message.get("line")
    return line if type(line) is int else None


def _parsed(given: bytes, file: str) -> Kernel | str:
    if len(given) > _MOST_TEXT:
        return f"PTX of {len(given):,} bytes"
    try:
        return parse(given.decode(), file)
    except (PtxError, UnicodeDecodeError) as error:
        return str(error)[:300]
    except Exception as error:  # a parser of text that anybody may have written
        return f"its PTX ({type(error).__name__}: {error})"[:300]


def _extents(given: Any, most_x: int, most: int) -> tuple[int, int, int]:
    x, y, z = (int(extent) for extent in given)
    if min(x, y, z) < 1 or x > most_x or max(y, z) > most:
        raise RefusedError("extents that no GPU takes")
    return x, y, z


def _parts(argument: dict[str, Any], value: Any) -> list[View | int | float]:
    """Return an argument as a kernel of Numba's gets it: an array is several."""
    if not isinstance(value, View):
        return [value]
    shape, strides = ([int(n) for n in argument[word]] for word in ("shape", "strides"))
    size = int(np.prod(shape, dtype=np.int64))
    # Two pointers to objects of Python's, elements, bytes of one, the data, shape and strides.
    return [0, 0, size, value.item, value, *shape, *(n * value.item for n in strides)]


def _passed(values: list[View | int | float], kernel: Kernel) -> list[View | bytes]:
    """Return what the kernel's parameters hold; RefusedError if the numbers differ."""
    if len(values) != len(kernel.parameters):
        raise RefusedError("arguments that are not those of the kernel")
    given: list[View | bytes] = []
    for value, (_, kind, size) in zip(values, kernel.parameters, strict=True):
        if isinstance(value, View):
            given.append(value)
            continue
        dtype = DTYPES[kind]
        if dtype.kind == "f" and isinstance(value, float):
            given.append(np.array([value]).astype(dtype).tobytes())
        elif isinstance(value, float):
            # In a parameter that is declared as bits.
            given.append(struct.pack({2: "<e", 4: "<f"}.get(size, "<d"), value))
        else:
            given.append((int(value) % (1 << 8 * size)).to_bytes(size, "little"))
    return given


def serve(link: int, mode: launches.LaunchMode, *, host_writes: bool) -> None:
    """Carry out the judge's commands and the worker's messages until the judge is gone."""
    triton_executor.serve(link, mode, host_writes=host_writes, kind=NumbaExecutor)
