"""What CUDA's error codes mean to whoever wrote the kernel."""

from __future__ import annotations

from grader.checks.common.crash import OUTSIDE_HINT

# cudaError_t values that a hand-in causes, with the runtime's own words.
CUDA_ERRORS = {
    1: "invalid argument",
    2: "out of memory",
    7: "too many resources requested for launch",
    9: "invalid configuration argument",
    12: "invalid pitch argument",
    13: "invalid symbol",
    17: "invalid device pointer",
    21: "invalid memcpy direction",
    98: "invalid device function",
    209: "no kernel image for this GPU",
    700: "an illegal memory access was encountered",
    701: "too many resources requested for launch",
    702: "the launch timed out",
    710: "device-side assert triggered",
    714: "hardware stack error",
    712: "host memory is registered already",
    713: "host memory is not registered",
    715: "an illegal instruction was encountered",
    716: "misaligned address",
    717: "operation not supported on this address space",
    718: "invalid program counter",
    719: "unspecified launch failure",
}
CUDA_HINTS = {
    1: "look at the launch (at most 1024 threads a block; beyond 48 KiB of dynamic shared memory "
    "cudaFuncSetAttribute comes first) and at the arguments of CUDA calls",
    2: "free what is allocated (cudaFree) before the function returns",
    7: "use fewer threads per block, or fewer registers or less shared memory",
    9: "check grid and block: at least 1 each, and at most 1024 threads a block",
    21: "the grader's arrays are in device memory already: pass their pointers to the kernel, "
    "without a copy",
    12: "a pitch is the distance from row to row in bytes, and a row must not be longer",
    700: OUTSIDE_HINT,
    701: "use fewer threads per block, or fewer registers or less shared memory",
    716: "a vector type such as float4 needs an address that is a multiple of its size",
}
MEMORY_ERRORS = frozenset({700, 714, 716, 717, 718})
ASSERTION = 710
