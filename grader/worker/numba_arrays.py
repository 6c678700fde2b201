"""What Numba's host code has without a GPU: device arrays that lie in this process's memory.

Host code may allocate, copy, take views and ask for shapes, as with Numba's own arrays. All else
that needs a GPU is told to the judge, which says that it is not measured here.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import torch

# Of the simulated GPU; as few multiprocessors as `triton_host` has.
_DEVICE = {
    "MULTIPROCESSOR_COUNT": 8, "MAX_THREADS_PER_BLOCK": 1024, "WARP_SIZE": 32,
    "MAX_SHARED_MEMORY_PER_BLOCK": 48 << 10, "MAX_BLOCK_DIM_X": 1024, "MAX_BLOCK_DIM_Y": 1024,
    "MAX_BLOCK_DIM_Z": 64, "MAX_GRID_DIM_X": 2**31 - 1, "MAX_GRID_DIM_Y": 65535,
    "MAX_GRID_DIM_Z": 65535, "id": 0, "name": b"simulated GPU",
}  # fmt: skip

Refuse = Callable[[str], NoReturn]


class DeviceArray:
    """A device array: `held` is the tensor that has its memory, `root` the one it is a view of."""

    __cuda_memory__ = True
    __cuda_ndarray__ = True

    def __init__(
        self, held: torch.Tensor, refuse: Refuse, root: torch.Tensor | None = None
    ) -> None:
        self.held = held
        self._root = held if root is None else root
        self._refuse = refuse

    def __getattr__(self, name: str) -> Any:
        from numba.cuda.cudadrv.devicearray import DeviceNDArray

        if hasattr(DeviceNDArray, name) and not name.startswith("__array"):
            self._refuse(f"`{name}` of a device array")
        raise AttributeError(f"'DeviceNDArray' object has no attribute {name!r}")

    @property
    def _numpy(self) -> Any:
        return self.held.numpy()

    @property
    def dtype(self) -> Any:
        return self._numpy.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.held.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(step * self.held.element_size() for step in self.held.stride())

    @property
    def ndim(self) -> int:
        return self.held.dim()

    @property
    def size(self) -> int:
        return self.held.numel()

    @property
    def nbytes(self) -> int:
        return self.size * self.held.element_size()

    @property
    def T(self) -> "DeviceArray":  # noqa: N802 # Numba's name
        return self.transpose()

    @property
    def _numba_type_(self) -> Any:
        from numba.cuda import types
        from numba.np import numpy_support

        layout = "C" if self.is_c_contiguous() else "F" if self.is_f_contiguous() else "A"
        return types.Array(numpy_support.from_dtype(self.dtype), self.ndim, layout)

    def __len__(self) -> int:
        return len(self.held)

    def __getitem__(self, item: Any) -> Any:
        found = self._numpy[item]
        return self._view(found) if isinstance(found, np.ndarray) and found.ndim else found

    def __setitem__(self, item: Any, value: Any) -> None:
        self._numpy[item] = value.copy_to_host() if isinstance(value, DeviceArray) else value
        self._changed()

    def is_c_contiguous(self) -> bool:
        return bool(self._numpy.flags.c_contiguous)

    def is_f_contiguous(self) -> bool:
        return bool(self._numpy.flags.f_contiguous)

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        if ary is None:
            return self._numpy.copy()
        ary[...] = self._numpy
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        given = ary._numpy if isinstance(ary, DeviceArray) else np.asarray(ary)
        if given.size != self.size:
            raise ValueError("array size mismatch")
        self._numpy[...] = given.reshape(self.shape)
        self._changed()

    def reshape(self, *shape: Any, order: str = "C") -> "DeviceArray":
        return self._view(self._numpy.reshape(*shape, order=order))

    def ravel(self, order: str = "C", stream: Any = 0) -> "DeviceArray":
        return self._view(self._numpy.ravel(order=order))

    def squeeze(self, axis: Any = None, stream: Any = 0) -> "DeviceArray":
        return self._view(self._numpy.squeeze(axis))

    def transpose(self, axes: Any = None) -> "DeviceArray":
        return self._view(self._numpy.transpose(axes))

    def view(self, dtype: Any) -> "DeviceArray":
        return self._view(self._numpy.view(dtype))

    def _view(self, found: Any) -> "DeviceArray":
        if not np.shares_memory(found, self._numpy) and found.size:
            self._refuse("copies of device arrays in another order")
        return DeviceArray(torch.from_numpy(found), self._refuse, self._root)

    def _changed(self) -> None:
        """Let torch know that the memory holds something else, which numpy does not."""
        torch.autograd.graph.increment_version(self._root)


class Stream:
    """A stream whose work is always done."""

    def synchronize(self) -> None:
        return None

    def auto_synchronize(self) -> "Stream":
        return self

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        return None


def as_tensor(array: Any) -> torch.Tensor:
    """Return a tensor with the memory of a numpy array, or with a copy if it is read-only."""
    array = np.asarray(array)
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def install(refuse: Refuse, capability: tuple[int, int]) -> None:
    """Replace what allocates, copies and asks for the device."""
    from numba import cuda
    from numba.cuda import api, compiler, dispatcher
    from numba.cuda.cudadrv import devices

    def empty(
        shape: Any,
        dtype: Any = np.float64,
        strides: Any = None,
        order: str = "C",
        stream: Any = 0,
    ) -> Any:
        like = np.empty(shape, dtype=dtype, order="F" if order == "F" else "C")
        kind = torch.from_numpy(np.empty(0, like.dtype)).dtype
        steps = [step // like.itemsize for step in like.strides]
        # This function is watched: what nothing has written is known then.
        return DeviceArray(torch.empty_strided(like.shape, steps, dtype=kind), refuse)

    def empty_like(array: Any, stream: Any = 0) -> Any:
        return empty(array.shape, array.dtype)

    def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> Any:
        if isinstance(obj, DeviceArray):
            return obj
        if to is not None:
            to.copy_to_device(obj)
            return to
        return DeviceArray(torch.from_numpy(np.array(obj, order="K", copy=True)), refuse)

    def pinned(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C") -> Any:
        return np.empty(shape, dtype=dtype, order="F" if order == "F" else "C")

    def as_cuda_array(obj: Any, sync: bool = True) -> Any:
        return obj if isinstance(obj, DeviceArray) else no_driver()

    def no_driver(*_: Any, **__: Any) -> NoReturn:
        refuse("CUDA driver, which this call needs")

    device = SimpleNamespace(compute_capability=capability, **_DEVICE)
    replaced: dict[str, Any] = {
        "device_array": empty,
        "device_array_like": empty_like,
        "to_device": to_device,
        "as_cuda_array": as_cuda_array,
        "pinned_array": pinned,
        "pinned_array_like": lambda array: pinned(array.shape, array.dtype),
        "synchronize": lambda: None,
        "stream": Stream,
        "default_stream": Stream,
        "legacy_default_stream": Stream,
        "per_thread_default_stream": Stream,
        "get_current_device": lambda: device,
        "select_device": lambda number: device,
        "is_available": lambda: True,
        "is_cuda_array": lambda obj: isinstance(obj, DeviceArray),
        "close": lambda: None,
    }
    for name, stand_in in replaced.items():
        for module in (cuda, api, compiler, dispatcher):
            if hasattr(module, name):
                setattr(module, name, stand_in)

    devices.get_context = api.current_context = cuda.current_context = no_driver
    dispatcher.get_context = no_driver
    for name in ("event", "mapped_array", "managed_array", "external_stream"):
        if hasattr(cuda, name):
            setattr(cuda, name, no_driver)
