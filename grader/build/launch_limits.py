"""What the course's GPU can launch, as settings of the emulation's runtime (docs/host.md).

The limit of shared memory is the GPU's. The registers of each kernel are known where nvcc compiles
the file for that GPU, and only those that can be too many are passed on.
"""

from __future__ import annotations

import re

from grader.build import ptxas
from grader.build.artifact import Built, Rejected
from grader.gpu.target import course_target
from grader.protocol.targets import REGISTERS_PER_BLOCK, THREADS_PER_BLOCK

_MOST_CHARACTERS = 100  # of a name; a setting of the runtime is a short word
_MOST_KERNELS = 20


def launch_limits(gate: Built | Rejected | None) -> str:
    """Return the settings; `gate` is nvcc's result, None without nvcc."""
    words = [f"shared_limit={course_target().shared_bytes_per_block}"]
    if isinstance(gate, Built):
        words += [
            f"registers={name}:{each}"
            for name, each in least_registers(gate.evidence.output).items()
            if each * THREADS_PER_BLOCK > REGISTERS_PER_BLOCK and len(name) <= _MOST_CHARACTERS
        ][:_MOST_KERNELS]
    return " ".join(words)


def least_registers(output: str) -> dict[str, int]:
    """Return the registers of each kernel in ptxas's output, by the kernel's own name.

    A launch names the template, not its instance, so of several the least count.
    """
    least: dict[str, int] = {}
    for used in ptxas.parse(output):
        name = own_name(used.kernel)
        least[name] = min(least.get(name, used.allocated_registers), used.allocated_registers)
    return least


def own_name(symbol: str) -> str:
    """Return a mangled function's name without its namespaces: `tile` of `_ZN2ns4tileEv`.

    An operator's or a member of a template's is another one, which no launch names.
    """
    if not symbol.startswith("_Z"):
        return symbol  # extern "C"
    nested = symbol.startswith("_ZN")
    rest, name = symbol[3 if nested else 2 :], symbol
    while found := re.match(r"L?(\d{1,4})", rest):
        begin = found.end()
        end = begin + int(found[1])
        name, rest = rest[begin:end], rest[end:]
        if not nested:
            break
    return name
