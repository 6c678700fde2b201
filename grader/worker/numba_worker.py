"""The worker for Numba: import a submission's file and call its launcher on device arrays.

It is Triton's worker with other arguments. On a GPU these are arrays of Numba's on the judge's
memory, without one stand-ins, whose launches an executor runs (`numba_launches`, `numba_arrays`).
"""

import functools
import socket
from typing import Any

from grader.protocol import launches
from grader.worker import python_worker


class NumbaWorker(python_worker.Worker):
    """The commands of `wire`."""

    def _install(self, mode: launches.LaunchMode, target: int) -> None:
        from grader.worker import numba_launches

        if self._device == "cuda":
            if mode.idle:
                numba_launches.leave_out()
            elif not mode.tuning:  # timing has a budget of its own for the first call
                numba_launches.report_compiler()
            return
        if mode.tuning:
            return  # only tests time without a GPU
        from grader.worker import numba_arrays, triton_launches

        link = socket.socket(fileno=launches.LINK_FD)
        self._launches = triton_launches.Launches(link)
        triton_launches.watch_allocations(self._launches)
        capability = divmod(target, 10)
        recorder = numba_launches.NumbaLaunches(self._launches, self._file, capability)
        numba_launches.install(recorder)
        numba_arrays.install(recorder.refuse, capability)
        self._recorder = recorder

    def _entry_problem(self, function: Any) -> str | None:
        """Return why the entry cannot be called; None if it can."""
        from numba.cuda.dispatcher import CUDADispatcher

        if function is None:
            return "missing"
        if isinstance(function, CUDADispatcher) != self._launched:
            return "function" if self._launched else "kernel"
        return None if callable(function) else type(function).__name__

    def _launching(self, kernel: Any) -> Any:
        def launch(*arguments: Any) -> None:
            *values, grid_x, grid_y, grid_z, x, y, z, shared = arguments
            kernel[(grid_x, grid_y, grid_z), (x, y, z), 0, shared](*values)

        return launch

    def _argument(self, kind: int, bits: int) -> Any:
        value = super()._argument(kind, bits)
        return self._array(value) if isinstance(value, self._torch.Tensor) else value

    def _array(self, tensor: Any) -> Any:
        """Return a tensor as an array of Numba's."""
        if self._device == "cuda":
            from numba import cuda

            return cuda.as_cuda_array(tensor)
        from grader.worker.numba_arrays import DeviceArray

        return DeviceArray(tensor, self._recorder.refuse)


@functools.cache
def prepare() -> None:
    """Import Numba in the server, and its compiler with what a first kernel imports.

    No kernel calls a function here: that would ask the driver for the GPU, and a context does not
    survive a fork.
    """
    from numba import cuda
    from numba.core import types
    from numba.cuda.core import config

    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # small cases have small grids

    def first(array: Any) -> None:
        i = cuda.grid(1)
        if i < array.size:
            array[i] = i

    array = types.Array(types.float32, 1, "C")
    cuda.compile_ptx(first, (array,), cc=(8, 0), lineinfo=True)


def serve_executor(link: int, mode: launches.LaunchMode, *, host_writes: bool) -> None:
    """Be the executor of another worker's launches."""
    from grader.worker import numba_executor

    numba_executor.serve(link, mode, host_writes=host_writes)


def serve(file: str, entry: str, device: str, **settings: Any) -> None:
    """Carry out commands until the judge closes the channel, then end the process."""
    python_worker.serve(file, entry, device, kind=NumbaWorker, **settings)
