"""Compile and execute a kernel in the Python server, so that no worker is the first to do it.

What the first launch of a process makes is then in the memory that forks share: torch's and
Triton's tables of operators, the functions that are looked up at their first call, and the
instructions that Python has fitted to the types of their operands.
"""

from typing import Any

import torch
import triton
import triton.language as tl

from grader.emulation.common import findings
from grader.emulation.common.storage import Storage, View
from grader.emulation.triton_ir import execution, memory, parser
from grader.protocol.targets import WARP
from grader.worker import triton_launches

_ELEMENTS, _BLOCK = 1000, 64


@triton.jit  # type: ignore[untyped-decorator]
def _kernel(x, y, total, n, block: tl.constexpr):  # type: ignore[no-untyped-def]
    """Do what kernels of courses do."""
    columns = tl.arange(0, block)
    at = tl.program_id(0) * block + columns
    inside = at < n
    values = tl.load(x + at, mask=inside, other=0.0)
    scaled = tl.exp(values - tl.max(values, axis=0))
    summed = tl.zeros((block,), dtype=tl.float32)
    for start in range(0, n, 4 * block):
        more = start + columns
        summed += tl.load(x + more, mask=more < n, other=0.0)
    tl.store(y + at, tl.where(inside, scaled / tl.sum(scaled, axis=0), summed), mask=inside)
    tl.atomic_add(total, tl.sum(values, axis=0))


def rehearse() -> None:
    """Do it. Raises what Triton raises, and what the executor does."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler.compiler import make_backend

    signature = {"x": "*fp32", "y": "*fp32", "total": "*fp32", "n": "i32", "block": "constexpr"}
    source: Any = ASTSource(_kernel, signature, {(4,): _BLOCK})
    target = GPUTarget("cuda", 80, WARP)
    backend: Any = make_backend(target)
    text = triton_launches.ir_of(source, target, backend, backend.parse_options({}))
    views = [_view(name, 4096 * (1 + number)) for number, name in enumerate(("x", "y", "total"))]
    launch = execution.Launch(
        module=parser.parse(text),
        grid=(-(-_ELEMENTS // _BLOCK), 1, 1),
        arguments=[*views, _ELEMENTS],
    )
    found = findings.Findings()
    execution.execute(launch, memory.Memory(found), found)


def _view(name: str, address: int) -> View:
    data = torch.zeros(4 * _ELEMENTS, dtype=torch.uint8)
    storage = Storage(data, address=address, writable=True, bare=name == "y")
    return View(name=name, storage=storage, offset=0, size=storage.size, item=4, read_only=False)
