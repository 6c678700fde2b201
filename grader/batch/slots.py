"""A place to grade in for each GPU: the environment that shows a process that one alone."""

from __future__ import annotations

from grader import gpu


def gpu_slots() -> tuple[dict[str, str], ...]:
    """Return the changes of the environment, one for each GPU that is visible here."""
    found = gpu.visible(gpu.state().gpus)
    return tuple({"CUDA_VISIBLE_DEVICES": one.uuid} for one in found)
