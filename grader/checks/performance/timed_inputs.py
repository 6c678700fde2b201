"""The inputs of timed calls: drawn, and verified by, where the hand-in cannot write.

A worker maps the arrays of its calls, and a thread or a kernel of the hand-in's may
write there at any time. Outputs that were verified by what stands there would be right
for whatever it had put there. So the judge draws a call's inputs in memory of its own,
sums their bits, and copies them to the worker. Afterwards it copies them back, verifies
by the copy, and wants the sums to be those that it had given.

What is given is covered until the clock is about to start, and a few of its cells, the
canaries, are wrong until the last moment: who begins too early computes garbage.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

import torch

from grader.checks.performance.input_mask import InputMask
from grader.checks.performance.segment_sums import Segments
from grader.judge.buffers import Buffer
from grader.protocol import wire


class TimedInputs:
    """The judge's side of the inputs of one burst at a time.

    `chooser` draws how they are cut for sums, `generator`, on their device, how they are covered.
    """

    def __init__(self, chooser: random.Random, generator: torch.Generator) -> None:
        self._chooser = chooser
        self._segments = Segments.drawn(chooser)
        self._cover = InputMask(generator)
        self._covered: list[torch.Tensor] = []
        # The arrays, the places of their canaries, and what belongs there.
        self._canaries: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        # By input and set.
        self._given: dict[str, dict[int, torch.Tensor]] = defaultdict(dict)
        self._found: dict[str, dict[int, torch.Tensor]] = defaultdict(dict)
        self._mine: dict[str, torch.Tensor] = {}

    def renew(self) -> None:
        """Begin another burst."""
        self._segments = Segments.drawn(self._chooser)
        self._cover.renew()
        self._covered.clear()
        self._canaries.clear()
        self._given.clear()
        self._found.clear()

    def places(self, buffers: Sequence[Buffer]) -> dict[str, torch.Tensor]:
        """Return where inputs are to be drawn: they hold those that were drawn before, if any."""
        return {buffer.name: self._place(buffer) for buffer in buffers}

    def _place(self, buffer: Buffer) -> torch.Tensor:
        if sealed(buffer):
            return buffer.values
        if buffer.name not in self._mine:
            self._mine[buffer.name] = torch.empty_like(buffer.values)
        return self._mine[buffer.name]

    def give(
        self, number: int, buffers: Sequence[Buffer], canaries: Mapping[str, torch.Tensor]
    ) -> None:
        """Give what was drawn to the call on this set, canaries wrong, and covered.

        `canaries` holds the places of those of each input, int64 of one dimension.
        """
        for buffer in buffers:
            drawn = self._place(buffer).view(-1)
            places = canaries[buffer.name]
            if not sealed(buffer):
                self._given[buffer.name][number] = self._segments.sums(drawn)
            right = drawn[places]
            # Other values of the same array: nothing tells them from right ones.
            drawn[places] = right.roll(1) if right.numel() > 1 else torch.zeros_like(right)
            self._canaries.append((buffer.values.view(-1), places, right))
            if not sealed(buffer):
                self._cover.turn(drawn.view(torch.uint8), out=buffer.data_bytes)
                self._covered.append(buffer.data_bytes)
                drawn[places] = right  # an oracle's `refresh` may keep some of it

    def uncover(self) -> None:
        """Take the cover off all that was given; canaries stay wrong."""
        for data in self._covered:
            self._cover.turn(data, out=data)
        self._covered.clear()

    def put_right(self) -> None:
        """Put the canaries right."""
        for flat, places, right in self._canaries:
            flat[places] = right
        self._canaries.clear()

    def taken_back(self, number: int, buffers: Sequence[Buffer]) -> dict[str, torch.Tensor]:
        """Return what stands there now, in places that are good until the next call."""
        places = self.places(buffers)
        for buffer in buffers:
            if not sealed(buffer):
                found = places[buffer.name].copy_(buffer.values)
                self._found[buffer.name][number] = self._segments.sums(found.view(-1))
        return places

    def changed(self) -> str | None:
        """Return the name of an input that was not taken back as it was given, None if all were."""
        for name, found in self._found.items():
            given = [self._given[name][number] for number in found]
            if not torch.equal(torch.cat(given), torch.cat(list(found.values()))):
                return name
        return None


def sealed(buffer: Buffer) -> bool:
    """True for inputs in host memory: their files are sealed against the worker's writing."""
    return buffer.where == wire.HOST and not buffer.role.written
