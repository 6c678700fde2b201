"""The GPUs for which kernels are compiled without one, and what a block may use there.

The figures are those of a representative GPU of each compute capability: the judge rejects a kernel
that needs more than that GPU has, and host code that queries the GPU gets the same figures. The
judge chooses one (`grader.gpu.target`) and sends its capability to the worker.
"""

from dataclasses import dataclass, replace
from typing import Any

WARP = 32
THREADS_PER_BLOCK = 1024
REGISTERS_PER_BLOCK = 65536  # and for each multiprocessor


@dataclass(frozen=True, kw_only=True)
class Target:
    """A GPU and its limits; memory clocks give the data rate with two transfers a cycle.

    `float32_tflop_s` is the arithmetic peak without tensor cores.
    """

    gpu: str
    capability: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int
    shared_kib_per_block: int
    shared_kib_per_multiprocessor: int
    memory_gib: int
    l2_mib: int
    clock_mhz: int
    memory_clock_mhz: int
    memory_bus_bits: int
    float32_tflop_s: float

    @property
    def name(self) -> str:
        """The name that nvcc and ptxas use: "sm_80"."""
        return f"sm_{self.capability}"

    @property
    def version(self) -> tuple[int, int]:
        """The compute capability as major and minor: (8, 0)."""
        return divmod(self.capability, 10)

    @property
    def shared_bytes_per_block(self) -> int:
        """The shared memory that a block may have if the launch asks for it."""
        return self.shared_kib_per_block << 10

    @property
    def memory_gb_s(self) -> float:
        """The bandwidth of the memory."""
        return 2 * self.memory_clock_mhz * 1e6 * self.memory_bus_bits / 8 / 1e9


def _target(gpu: str, capability: int, *figures: float) -> Target:
    values: dict[str, Any] = dict(zip(_FIGURES, figures, strict=True))
    return Target(gpu=gpu, capability=capability, **values)


_FIGURES = ("threads_per_multiprocessor", "blocks_per_multiprocessor", "shared_kib_per_block",
            "shared_kib_per_multiprocessor", "memory_gib", "l2_mib", "clock_mhz",
            "memory_clock_mhz", "memory_bus_bits", "float32_tflop_s")  # fmt: skip
# Threads, blocks and shared memory: CUDA's programming guide, "Compute Capabilities". The rest: the
# GPU's data sheet.
TARGETS = {
    target.capability: target
    for target in (
        _target("T4", 75, 1024, 16, 64, 64, 16, 4, 1590, 5001, 256, 8.1),
        _target("A100", 80, 2048, 32, 163, 164, 40, 40, 1410, 1215, 5120, 19.5),
        _target("A10", 86, 1536, 16, 99, 100, 24, 6, 1695, 6251, 384, 31.2),
        _target("L4", 89, 1536, 24, 99, 100, 24, 48, 2040, 6251, 192, 30.3),
        _target("H100", 90, 2048, 32, 227, 228, 80, 50, 1980, 2619, 5120, 66.9),
        _target("B200", 100, 2048, 32, 227, 228, 180, 126, 1965, 3996, 8192, 74.5),
        _target("RTX 5090", 120, 1536, 24, 99, 100, 32, 96, 2407, 14001, 512, 104.8),
    )
}


def target_of(capability: int) -> Target:
    """Return a compute capability's target; one that is not listed has an older GPU's figures."""
    if capability in TARGETS:
        return TARGETS[capability]
    older = [known for known in sorted(TARGETS) if known < capability]
    return replace(TARGETS[older[-1] if older else min(TARGETS)], capability=capability)
