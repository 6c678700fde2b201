"""The registers, shared memory and spills of kernels, as ptxas prints them with `-v`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.protocol.targets import REGISTERS_PER_BLOCK, WARP, Target

_REGISTER_STEP = 8  # the allocation granularity of a thread's registers

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """One kernel's use: registers and spilled bytes per thread, static shared bytes per block."""

    kernel: str
    registers: int
    shared_bytes: int
    spill_bytes: int

    @property
    def allocated_registers(self) -> int:
        """The registers that a thread occupies in the register file."""
        return -(-max(self.registers, 1) // _REGISTER_STEP) * _REGISTER_STEP

    @property
    def threads_by_registers(self) -> int:
        """The number of threads whose registers fit into a multiprocessor."""
        return REGISTERS_PER_BLOCK // (self.allocated_registers * WARP) * WARP


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """What the kernels of a file use, compiled for `target`."""

    target: Target
    kernels: tuple[Resources, ...]


def parse(output: str) -> list[Resources]:
    """Parse ptxas's lines: an entry function, its spills, then its registers and memory."""
    found: list[Resources] = []
    kernel, spill_bytes = "", 0
    for line in output.splitlines():
        if entry := _ENTRY.search(line):
            kernel, spill_bytes = entry[1], 0
        elif spills := _SPILLS.search(line):
            spill_bytes = int(spills[2]) + int(spills[3])
        elif kernel and (used := _REGISTERS.search(line)):
            shared = _SHARED.search(line)
            found.append(
                Resources(
                    kernel=kernel,
                    registers=int(used[1]),
                    shared_bytes=int(shared[1]) if shared else 0,
                    spill_bytes=spill_bytes,
                )
            )
            kernel = ""
    return found
