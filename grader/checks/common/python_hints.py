"""Hints for the messages of exceptions of Python and of Triton's compiler.

An exception whose message matches no pattern is shown without a hint.
"""

from __future__ import annotations

import re

_GRID = "the grid is a tuple of whole numbers: kernel[(triton.cdiv(n, BLOCK),)](...)"
_ADVICE = (
    (
        re.compile(r"range must be a power of 2|Shape element \d+ must be a power of 2"),
        "the sides of a block are powers of two, such as 1024: use the next power and a mask",
    ),
    (
        re.compile(r"num_warps must be a power of 2"),
        "num_warps is 1, 2, 4, 8, 16 or 32: a warp has 32 threads, a block at most 1024",
    ),
    (
        re.compile(r"num_ctas > 1 requires"),
        "remove num_ctas: blocks share memory in clusters on newer GPUs only",
    ),
    (
        re.compile(r"out of resource: (?:shared|tensor) memory"),
        "use smaller blocks, or a smaller num_stages",
    ),
    (
        re.compile(r"out of resource: threads"),
        "use a smaller num_warps: a block has at most 1024 threads, and registers for fewer if "
        "each thread uses many",
    ),
    (
        re.compile(r"Triton Error \[CUDA\]: invalid argument"),
        "a grid has at most 2147483647 programs in its first dimension and 65535 in the others",
    ),
    (
        re.compile(r"not supported in this architecture"),
        "the course's GPU has no such type: convert to float16 or bfloat16 instead",
    ),
    (
        re.compile(r"'function' object is not subscriptable"),
        "is `@triton.jit` missing above the kernel?",
    ),
    (
        re.compile(r"Cannot call @triton\.jit'?d outside of the scope of a kernel"),
        f"a launch names its grid: {_GRID.partition(': ')[2]}",
    ),
    (
        re.compile(
            r"object of type 'int' has no len\(\)"
            r"|'float' object cannot be interpreted as an integer"
        ),
        f"if this is a launch: {_GRID}",
    ),
    (
        re.compile(r"^\w+\(\) missing \d+ required (?:positional|keyword-only) argument"),
        "pass every argument where it is called; a tl.constexpr one by name, as in BLOCK=1024",
    ),
    (
        re.compile(r"'int' object is not iterable|'pointer_type' object is not subscriptable"),
        "a pointer has no [...]: write tl.load(pointer + offsets) and "
        "tl.store(pointer + offsets, value)",
    ),
    (
        re.compile(r"arguments must be of type tl\.constexpr|not a constexpr"),
        "declare it as a compile-time constant in the kernel's parameters: BLOCK: tl.constexpr",
    ),
    (
        re.compile(r"object has no attribute 'scalar'"),
        f"does every launch name its grid? {_GRID.partition(': ')[2]}",
    ),
    (
        re.compile(r"no attribute 'to_tensor'|must be real number, not|must be Tensor, not tensor"),
        "use the functions of tl in a kernel: tl.exp, not math.exp, np.exp or torch.exp",
    ),
    (
        re.compile(r"Conflicting meta-parameters"),
        "the autotuner sets this argument: remove it from the launch",
    ),
    (
        re.compile(r"Unsupported ptr type|must be a pointer|expected.* pointer"),
        "the first argument of tl.load and tl.store is a pointer plus offsets, not a value",
    ),
    (
        re.compile(r"[Cc]annot broadcast|could not be broadcast|incompatible dimensions"),
        "shapes must fit: offsets[:, None] is a column and offsets[None, :] is a row",
    ),
    (
        re.compile(r"must match in the reduction|[Ii]nner dimensions|matmul: Input operand"),
        "tl.dot(a, b) takes blocks of shape (BM, BK) and (BK, BN): BK must be the same in both",
    ),
)

# Calls that `triton_host` does not emulate; with a GPU the same messages have other causes.
_WITHOUT_GPU = (
    (
        re.compile(
            r"Torch not compiled with CUDA|Found no NVIDIA driver|No CUDA GPUs are available"
            r"|CUDA driver version|no CUDA-capable device|CUDA error|forked subprocess"
            r"|[Ee]xpected a '?cuda'? device|dummy base class|_cuda_|ATen_cuda"
            r"|accelerator device"
        ),
        "there is no GPU on this machine, and this call needs one: allocate with "
        "device=input.device, and call nothing in torch.cuda that the launch does not need",
    ),
    (
        re.compile(r"\b(?:gpu|cuda)\b", re.IGNORECASE),
        "there is no GPU on this machine: torch.cuda.is_available() is false, and the device of a "
        "tensor is the CPU; test input.is_cuda, which is true here, too",
    ),
)


def advice(message: str, *, gpu: bool = True) -> str:
    """Return a hint for an exception's message, "" if there is none; `gpu`: raised on a GPU."""
    table = _ADVICE if gpu else (*_WITHOUT_GPU[:1], *_ADVICE, *_WITHOUT_GPU[1:])
    return next((hint for pattern, hint in table if pattern.search(message)), "")
