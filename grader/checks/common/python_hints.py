"""What the words of Python and of Triton's interpreter mean to a beginner.

Wording is read for hints only: where none fits, the exception speaks for itself.
"""

from __future__ import annotations

import re

_GRID = "the grid is a tuple of whole numbers: kernel[(triton.cdiv(n, BLOCK),)](...)"
_ADVICE = (
    (
        re.compile(r"range must be a power of 2|Shape element \d+ must be a power of 2"),
        "a block's sides are powers of two, such as 1024: take the next one, and mask what is over",
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
        "in a kernel use what tl has: tl.exp, not math.exp, np.exp or torch.exp",
    ),
    (
        re.compile(r"Conflicting meta-parameters"),
        "the tuner sets it: leave it out of the launch",
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
        "tl.dot(a, b) wants (BM, BK) and (BK, BN): the shared side must be the same",
    ),
)

# What `triton_host` does not answer; with a GPU the same words mean something else.
_WITHOUT_GPU = (
    (
        re.compile(
            r"Torch not compiled with CUDA|Found no NVIDIA driver|No CUDA GPUs are available"
            r"|CUDA driver version|no CUDA-capable device|CUDA error|forked subprocess"
            r"|[Ee]xpected a '?cuda'? device|dummy base class|_cuda_|ATen_cuda"
            r"|accelerator device"
        ),
        "there is no GPU on this machine, and this call needs one: allocate with "
        "device=input.device, and leave out of torch.cuda what the launch does not need",
    ),
    (
        re.compile(r"\b(?:gpu|cuda)\b", re.IGNORECASE),
        "there is no GPU on this machine: torch.cuda.is_available() says so, and from then on a "
        "tensor's device is the CPU; ask input.is_cuda, which is true here too",
    ),
)


def advice(message: str, *, gpu: bool = True) -> str:
    """Return a hint for an exception's text, "" if there is none; `gpu`: it ran on one."""
    table = _ADVICE if gpu else (*_WITHOUT_GPU[:2], *_ADVICE, *_WITHOUT_GPU[2:])
    return next((hint for pattern, hint in table if pattern.search(message)), "")
