"""Runs PTX in the executor's machine on numpy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from grader.emulation.common.findings import Finding, Findings
from grader.emulation.common.storage import Storage, View
from grader.emulation.ptx.machine import Launch, execute
from grader.emulation.ptx.memory import Memory
from grader.emulation.ptx.parser import parse

FILE = "kernel.py"
_HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.file 1 "/somewhere/kernel.py"
"""
_REGISTERS = """\
.reg .pred %p<8>; .reg .b16 %rs<8>; .reg .b32 %r<16>; .reg .f32 %f<8>;
.reg .f64 %fd<8>; .reg .b64 %rd<16>;
"""


@dataclass(slots=True)
class Given:
    """An array of a kernel: `bare` memory is unwritten, an `input` must not change."""

    array: Any
    name: str = "output"
    input: bool = False
    bare: bool = False


def kernel(body: str, parameters: int, *, module: str = "") -> str:
    """Return PTX of a kernel with so many parameters of 64 bits, P0, P1 and so on."""
    named = ", ".join(f".param .u64 P{i}" for i in range(parameters))
    return f"{_HEAD}{module}.visible .entry k({named})\n{{\n{_REGISTERS}{body}\nret;\n}}\n"


def run(
    text: str,
    *arguments: Given | int,
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    checked: bool = True,
    shared: int = 0,
    deadline_s: float | None = None,
    file: str = FILE,
) -> list[Finding]:
    """Run the kernel of a text; return what was found."""
    found = Findings()
    launch = Launch(
        kernel=parse(text, file),
        grid=grid,
        block=block,
        arguments=[_argument(one) for one in arguments],
        shared_bytes=shared,
    )
    execute(launch, Memory(found, checked), found, deadline_s=deadline_s)
    return list(found.found.values())


def _argument(one: Given | int) -> View | bytes:
    if isinstance(one, int):
        return (one % 2**64).to_bytes(8, "little")
    data = torch.from_numpy(one.array.reshape(-1).view(np.uint8))
    storage = Storage(
        data, address=256, writable=not one.input, bare=one.bare, granule=one.array.itemsize
    )
    if one.bare:
        one.array.reshape(-1).view(np.uint8)[:] = np.resize([0xF5, 0x7F], data.numel())
    return View(
        name=one.name,
        storage=storage,
        offset=0,
        size=data.numel(),
        item=one.array.itemsize,
        read_only=one.input,
    )
