"""The inputs of timed calls, which lie where the hand-in can write: as given, and as verified by.

Outputs that were verified by inputs where the worker maps them would be right for
whatever it had put there, before the end of the call or later. So the judge copies
a call's inputs into memory of its own, verifies by the copy, and wants the copy to
have the sums that the inputs had when they were drawn.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch

from grader.check.segments import Segments
from grader.judge.buffers import Buffer
from grader.worker import wire


class TimedInputs:
    """Sums and copies of the inputs of one burst at a time; `chooser` draws how they are cut."""

    def __init__(self, chooser: random.Random) -> None:
        self._chooser = chooser
        self._segments = Segments.drawn(chooser)
        self._given: dict[tuple[int, str], torch.Tensor] = {}
        self._found: dict[tuple[int, str], torch.Tensor] = {}
        self._copies: dict[str, torch.Tensor] = {}

    def renew(self) -> None:
        """Begin another burst."""
        self._segments = Segments.drawn(self._chooser)
        self._given.clear()
        self._found.clear()

    def note(self, number: int, buffers: Sequence[Buffer]) -> None:
        """Note what a call on this set is given."""
        for buffer in buffers:
            if not _sealed(buffer):
                self._given[number, buffer.name] = self._segments.sums(buffer.values.view(-1))

    def own(self, number: int, buffers: Sequence[Buffer]) -> dict[str, torch.Tensor]:
        """Return copies that nobody can change, until the next ones, and note what they are."""
        return {buffer.name: self._own(number, buffer) for buffer in buffers}

    def _own(self, number: int, buffer: Buffer) -> torch.Tensor:
        if _sealed(buffer):
            return buffer.values
        if buffer.name not in self._copies:
            self._copies[buffer.name] = torch.empty_like(buffer.values)
        copied = self._copies[buffer.name].copy_(buffer.values)
        self._found[number, buffer.name] = self._segments.sums(copied.view(-1))
        return copied

    def changed(self) -> str | None:
        """Return the name of an input whose copy is not what was given, None if all are."""
        for name in self._copies:
            keys = [key for key in self._found if key[1] == name]
            given, found = ([sums[key] for key in keys] for sums in (self._given, self._found))
            if keys and not torch.equal(torch.cat(given), torch.cat(found)):
                return name
        return None


def _sealed(buffer: Buffer) -> bool:
    """True for inputs in host memory: their files are sealed against the worker's writing."""
    return buffer.where == wire.HOST and not buffer.role.written
