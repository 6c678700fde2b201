"""A kernel of our own, run before any hand-in: does this triton work with this numpy?

Triton 3.6 and older fail in the interpreter with numpy 2.4 as soon as a loop's
bound is a tensor. A student must not be told that their loop is wrong. Import
after TRITON_INTERPRET is set.
"""

import numpy as np
import torch
import triton
import triton.language as tl

_N = 11
_BLOCK = 4


class CanaryError(RuntimeError):
    """The interpreter does not work here; nothing can be said about hand-ins."""


@triton.jit  # type: ignore[untyped-decorator] # triton has no types
def _canary_kernel(x, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def] # noqa: N803
    pid = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, n, BLOCK):
        offsets = first + tl.arange(0, BLOCK)
        total += tl.load(x + offsets, mask=offsets < n, other=0.0)
    tl.store(out + pid, tl.sum(total, axis=0))
    for _ in tl.range(0, 2):
        tl.atomic_add(out + pid, 1.0)


def check() -> None:
    """Run the kernel; CanaryError, one sentence that names the versions, if it is not right."""
    out = torch.zeros(2)
    try:
        _canary_kernel[(2,)](torch.arange(float(_N)), out, _N, BLOCK=_BLOCK)
        problem = "" if out.tolist() == [57.0, 57.0] else f"a sum came out as {out.tolist()}"
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    if problem:
        raise CanaryError(
            f"triton {triton.__version__} cannot interpret kernels with numpy {np.__version__}: "
            "install triton 3.7 or newer, or numpy older than 2.4 "
            f"({' '.join(problem.split())[:300]})"
        )
