"""A place to grade in for each GPU: the environment that shows a process that one alone.

A GPU that is lost fails hand-ins faster than the others grade them, and would be
given one after the other: `Places` says when one is to be used no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grader.commands.batch.job import Answer, Outcome
from grader.gpu import nvml

_UUID = "CUDA_VISIBLE_DEVICES"
# In a row, while the driver still answers for the GPU: memory that cannot be mended, say.
_MOST_FAILURES = 3


def gpu_slots() -> tuple[dict[str, str], ...]:
    """Return the changes of the environment, one for each GPU that is visible here."""
    found = nvml.visible(nvml.state().gpus)
    return tuple({_UUID: one.uuid} for one in found)


class Places:
    """Watches what comes of the GPUs; `state` asks the driver."""

    def __init__(self, state: Callable[[], nvml.State] = nvml.state) -> None:
        self._state = state
        self._failures: dict[str, int] = {}

    def unusable(self, slot: Mapping[str, str], answer: Answer) -> str:
        """Say why the GPU that gave this answer is to be used no more, empty if it may be."""
        uuid = slot.get(_UUID)
        if uuid is None or answer.outcome is not Outcome.FAILED:
            self._failures.pop(uuid or "", None)
            return ""
        self._failures[uuid] = self._failures.get(uuid, 0) + 1
        if why := self.lost(slot):
            return why
        if self._failures[uuid] >= _MOST_FAILURES:
            return f"the GPU {uuid} failed {_MOST_FAILURES} times in a row: {answer.problem}"
        return ""

    def lost(self, slot: Mapping[str, str]) -> str:
        """Say that the driver does not answer for this GPU, empty if it does."""
        uuid = slot.get(_UUID)
        if uuid is None:
            return ""
        state = self._state()
        if nvml.visible(state.gpus, slot):
            return ""
        return f"the GPU {uuid} was lost: {state.problem or 'the driver does not know it any more'}"
