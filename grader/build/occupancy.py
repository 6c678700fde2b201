"""How many blocks of a launch a multiprocessor of a GPU holds at once, and what limits them.

As CUDA's occupancy calculator counts: registers are given to whole warps by each of four parts of a
multiprocessor, and every block costs 1 KiB of shared memory more from compute capability 8.0 on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from grader.build.launch_limits import own_name
from grader.build.ptxas import Assembled, Resources
from grader.protocol.targets import REGISTERS_PER_BLOCK, WARP, Target
from grader.report.evidence import LaunchResources

_PARTS = 4  # of a multiprocessor
_SHARED_STEP = 128  # bytes


def launch_resources(
    target: Target, kernel: str, threads: int, dynamic_shared: int, used: Resources
) -> LaunchResources:
    """Return what a launch with blocks of `threads` uses; `dynamic_shared` is in bytes a block."""
    warps = -(-threads // WARP)
    per_warp = used.allocated_registers * WARP
    shared = used.shared_bytes + dynamic_shared
    reserved = (target.shared_kib_per_multiprocessor - target.shared_kib_per_block) << 10
    occupied = -(-shared // _SHARED_STEP) * _SHARED_STEP + reserved
    whole = target.shared_kib_per_multiprocessor << 10
    fits = {
        "threads": target.threads_per_multiprocessor // (warps * WARP),
        "blocks": target.blocks_per_multiprocessor,
        "registers": REGISTERS_PER_BLOCK // _PARTS // per_warp * _PARTS // warps,
        "shared_memory": whole // occupied if shared else None,
    }
    blocks = min(one for one in fits.values() if one is not None)
    return LaunchResources(
        kernel=kernel,
        target=target.name,
        gpu=target.gpu,
        threads=threads,
        registers=used.registers,
        spill_bytes=used.spill_bytes,
        shared_bytes=shared,
        blocks_by_threads=fits["threads"] or 0,
        blocks_by_limit=target.blocks_per_multiprocessor,
        blocks_by_registers=fits["registers"] or 0,
        blocks_by_shared_memory=fits["shared_memory"],
        occupancy=round(blocks * warps * WARP / target.threads_per_multiprocessor, 4),
    )


def resources_of(
    assembled: Assembled, launches: Iterable[tuple[str, int, int]]
) -> tuple[LaunchResources, ...]:
    """Return the resources of launches: kernel, threads of a block, dynamic shared bytes.

    A launch names a template, not its instance: nothing is said if the instances differ.
    """
    by_name: dict[str, set[Resources]] = {}
    for used in assembled.kernels:
        by_name.setdefault(own_name(used.kernel), set()).add(replace(used, kernel=""))
    found = []
    for kernel, threads, shared in launches:
        instances = by_name.get(kernel.partition("<")[0].rpartition("::")[2], set())
        if len(instances) == 1:
            (instance,) = instances
            found.append(launch_resources(assembled.target, kernel, threads, shared, instance))
    return tuple(found)
