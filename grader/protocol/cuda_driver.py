"""The CUDA driver functions that judge and workers need, called through ctypes.

The CUDA worker imports no torch; with this module judge and workers make the same calls on both
sides of a shared buffer. Memory is shared by file descriptor (cuMemCreate with a POSIX handle),
never by legacy CUDA IPC, which fails when the worker runs under another uid.
"""

import ctypes
import os

_Int, _U64 = ctypes.c_int, ctypes.c_ulonglong
_Size, _Pointer = ctypes.c_size_t, ctypes.c_void_p

_POSIX_FD = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
_PINNED = 1  # CU_MEM_ALLOCATION_TYPE_PINNED
_ON_DEVICE = 1  # CU_MEM_LOCATION_TYPE_DEVICE
_READ_WRITE = 3  # CU_MEM_ACCESS_FLAGS_PROT_READWRITE


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _AllocationFlags(ctypes.Structure):
    _fields_ = (
        ("compression", ctypes.c_ubyte),
        ("gpu_direct_rdma", ctypes.c_ubyte),
        ("usage", ctypes.c_ushort),
        ("reserved", ctypes.c_ubyte * 4),
    )


class _AllocationProperties(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("win32", ctypes.c_void_p),
        ("flags", _AllocationFlags),
    )


class _AccessDescription(ctypes.Structure):
    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


class CudaError(RuntimeError):
    """A driver call failed; `code` is its CUresult."""

    def __init__(self, function: str, code: int) -> None:
        super().__init__(f"{function} returned {code}")
        self.code = code


class CudaBytes:
    """Raw device memory that torch can wrap without a copy."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


class Driver:
    """The driver with one device's primary context current, as the CUDA runtime and torch use."""

    def __init__(self, device: int = 0) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self.device = device
        self._call("cuInit", 0)
        handle = _Int()
        self._call("cuDeviceGet", ctypes.byref(handle), device)
        self._context = _Pointer()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), handle)
        self.enter_thread()

    def enter_thread(self) -> None:
        """Make the context current in the calling thread, as it is in the first one."""
        self._call("cuCtxSetCurrent", self._context)

    def _call(self, function: str, *arguments: object) -> None:
        code = getattr(self._cuda, function)(*arguments)
        if code:
            raise CudaError(function, code)

    def _properties(self) -> _AllocationProperties:
        return _AllocationProperties(
            type=_PINNED, handle_types=_POSIX_FD, location=_Location(_ON_DEVICE, self.device)
        )

    def granularity(self) -> int:
        """Return the allocation granularity of shared memory, bytes."""
        size = _Size()
        self._call(
            "cuMemGetAllocationGranularity", ctypes.byref(size), ctypes.byref(self._properties()), 0
        )
        return size.value

    def create_shared(self, size: int) -> tuple[int, int]:
        """Allocate `size` bytes and return (address, file descriptor to share)."""
        handle = _U64()
        self._call(
            "cuMemCreate",
            ctypes.byref(handle),
            _Size(size),
            ctypes.byref(self._properties()),
            _U64(0),
        )
        descriptor = _Int()
        try:
            self._call(
                "cuMemExportToShareableHandle", ctypes.byref(descriptor), handle, _POSIX_FD, _U64(0)
            )
        except CudaError:
            self._call("cuMemRelease", handle)
            raise
        os.set_inheritable(descriptor.value, False)
        try:
            return self._map(handle, size), descriptor.value
        except CudaError:
            os.close(descriptor.value)  # it keeps the memory alive
            raise

    def import_shared(self, descriptor: int, size: int) -> int:
        """Map memory that another process created; return its address here."""
        handle = _U64()
        self._call(
            "cuMemImportFromShareableHandle", ctypes.byref(handle), _Pointer(descriptor), _POSIX_FD
        )
        return self._map(handle, size)

    def _map(self, handle: ctypes.c_ulonglong, size: int) -> int:
        """Map the memory and release the handle, also if mapping fails."""
        address = _U64()
        try:
            self._call(
                "cuMemAddressReserve",
                ctypes.byref(address),
                _Size(size),
                _Size(0),
                _U64(0),
                _U64(0),
            )
            try:
                self._call("cuMemMap", address, _Size(size), _Size(0), handle, _U64(0))
            except CudaError:
                self._call("cuMemAddressFree", address, _Size(size))
                raise
        finally:
            # The mapping keeps the memory alive; the handle is not needed any more.
            self._call("cuMemRelease", handle)
        access = _AccessDescription(_Location(_ON_DEVICE, self.device), _READ_WRITE)
        try:
            self._call("cuMemSetAccess", address, _Size(size), ctypes.byref(access), _Size(1))
        except CudaError:
            self.unmap(address.value, size)
            raise
        return address.value

    def unmap(self, address: int, size: int) -> None:
        """Undo `create_shared` or `import_shared`."""
        self._call("cuMemUnmap", _U64(address), _Size(size))
        self._call("cuMemAddressFree", _U64(address), _Size(size))

    def allocate(self, size: int) -> int:
        """Allocate exactly `size` bytes that only this process uses (cuMemAlloc)."""
        address = _U64()
        self._call("cuMemAlloc_v2", ctypes.byref(address), _Size(size))
        return address.value

    def free(self, address: int) -> None:
        """Undo `allocate`."""
        self._call("cuMemFree_v2", _U64(address))

    def copy_to_device(self, address: int, host: int, size: int) -> None:
        """Copy `size` bytes from host memory, and wait until they are there.

        The driver returns once it has staged them, and a stream that does not wait for the default
        one would run before they arrive.
        """
        self._call("cuMemcpyHtoD_v2", _U64(address), _Pointer(host), _Size(size))
        self.synchronize()

    def copy_to_host(self, host: int, address: int, size: int) -> None:
        """Copy `size` bytes to host memory."""
        self._call("cuMemcpyDtoH_v2", _Pointer(host), _U64(address), _Size(size))

    def reset(self) -> None:
        """Destroy the primary context: what is still allocated then has leaked."""
        handle = _Int()
        self._call("cuDeviceGet", ctypes.byref(handle), self.device)
        self._call("cuDevicePrimaryCtxReset_v2", handle)

    def synchronize(self) -> None:
        """Wait for all work of this context; CudaError if some of it failed."""
        self._call("cuCtxSynchronize")
