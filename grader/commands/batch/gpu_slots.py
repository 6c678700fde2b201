"""One slot of the worker pool for each GPU: an environment in which only this GPU is visible.

A lost GPU fails jobs faster than the others do them, and would soon get all remaining
jobs. `GpuHealth` says when to stop using a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grader.commands.batch.job import Answer, Outcome
from grader.gpu import nvml

_UUID = "CUDA_VISIBLE_DEVICES"
# In a row, while the driver still lists the GPU, for example with broken memory.
_MOST_FAILURES = 3


def gpu_slots() -> tuple[dict[str, str], ...]:
    """Return the environment changes of each slot, one for each GPU visible to this process."""
    return tuple({_UUID: gpu.uuid} for gpu in nvml.visible(nvml.state().gpus))


class GpuHealth:
    """Counts each GPU's failures; `state` asks the driver for its GPUs."""

    def __init__(self, state: Callable[[], nvml.State] = nvml.state) -> None:
        self._state = state
        self._failures: dict[str, int] = {}

    def unusable(self, slot: Mapping[str, str], answer: Answer) -> str:
        """Return why the GPU that gave this answer must no longer be used; "" if it may be."""
        uuid = slot.get(_UUID)
        if uuid is None:
            return ""
        if answer.outcome is not Outcome.FAILED:
            self._failures.pop(uuid, None)
            return ""
        self._failures[uuid] = self._failures.get(uuid, 0) + 1
        if why := self.lost(slot):
            return why
        if self._failures[uuid] >= _MOST_FAILURES:
            return f"the GPU {uuid} failed {_MOST_FAILURES} times in a row: {answer.problem}"
        return ""

    def lost(self, slot: Mapping[str, str]) -> str:
        """Return how the driver lost this GPU; "" if it still lists it."""
        uuid = slot.get(_UUID)
        if uuid is None:
            return ""
        state = self._state()
        if nvml.visible(state.gpus, slot):
            return ""
        return f"the GPU {uuid} was lost: {state.problem or 'the driver no longer lists it'}"
