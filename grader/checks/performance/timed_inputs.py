"""The inputs of timed calls, drawn and verified in memory that the submission cannot write.

A worker maps the arrays of its calls, and a thread or kernel of the submission can write to them
at any time. Verifying outputs against these arrays would accept results for forged inputs. So the
judge draws inputs in its own memory, sums their bits, and copies them to the worker. Afterwards it
copies them back, verifies the outputs with the copy, and compares the sums.

Inputs are masked until the clock is about to start, and a few of their cells, the canaries, stay
wrong until the last moment: work that begins too early computes garbage.
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
    """The judge's copy of the inputs of one burst at a time.

    `rng` draws the segments for sums; `generator`, on the device of the inputs, draws the mask.
    """

    def __init__(self, rng: random.Random, generator: torch.Generator) -> None:
        self._rng = rng
        self._segments = Segments.drawn(rng)
        self._mask = InputMask(generator)
        self._masked: list[torch.Tensor] = []
        # (array, positions of its canaries, right values)
        self._canaries: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        # Sums by the input's name and the number of the set.
        self._sums_written: dict[str, dict[int, torch.Tensor]] = defaultdict(dict)
        self._sums_read_back: dict[str, dict[int, torch.Tensor]] = defaultdict(dict)
        self._scratch: dict[str, torch.Tensor] = {}

    def renew(self) -> None:
        """Begin a new burst: draw new segments and a new mask."""
        self._segments = Segments.drawn(self._rng)
        self._mask.renew()
        self._masked.clear()
        self._canaries.clear()
        self._sums_written.clear()
        self._sums_read_back.clear()

    def places(self, buffers: Sequence[Buffer]) -> dict[str, torch.Tensor]:
        """Return the arrays to draw inputs into; they hold the inputs drawn before, if any."""
        return {buffer.name: self._place(buffer) for buffer in buffers}

    def _place(self, buffer: Buffer) -> torch.Tensor:
        if sealed(buffer):
            return buffer.values
        if buffer.name not in self._scratch:
            self._scratch[buffer.name] = torch.empty_like(buffer.values)
        return self._scratch[buffer.name]

    def write(
        self, number: int, buffers: Sequence[Buffer], canaries: Mapping[str, torch.Tensor]
    ) -> None:
        """Copy the drawn inputs to the set `number`, masked and with wrong canaries.

        `canaries` maps each input to the positions of its canaries, int64 of shape (n,).
        """
        for buffer in buffers:
            drawn = self._place(buffer).view(-1)
            places = canaries[buffer.name]
            if not sealed(buffer):
                self._sums_written[buffer.name][number] = self._segments.sums(drawn)
            right = drawn[places]
            # Other values of the same array look as plausible as the right ones.
            drawn[places] = right.roll(1) if right.numel() > 1 else torch.zeros_like(right)
            self._canaries.append((buffer.values.view(-1), places, right))
            if not sealed(buffer):
                self._mask.apply(drawn.view(torch.uint8), out=buffer.data_bytes)
                self._masked.append(buffer.data_bytes)
                drawn[places] = right  # an oracle's `refresh` may keep some values

    def unmask(self) -> None:
        """Unmask all inputs; canaries stay wrong."""
        for data in self._masked:
            self._mask.apply(data, out=data)
        self._masked.clear()

    def restore_canaries(self) -> None:
        """Write the right values of the canaries."""
        for flat, places, right in self._canaries:
            flat[places] = right
        self._canaries.clear()

    def read_back(self, number: int, buffers: Sequence[Buffer]) -> dict[str, torch.Tensor]:
        """Copy a set's inputs back; the arrays returned are valid until the next call."""
        places = self.places(buffers)
        for buffer in buffers:
            if not sealed(buffer):
                copy = places[buffer.name].copy_(buffer.values)
                self._sums_read_back[buffer.name][number] = self._segments.sums(copy.view(-1))
        return places

    def changed(self) -> str | None:
        """Return the name of an input that has changed since it was written, None if none has."""
        for name, read_back in self._sums_read_back.items():
            written = [self._sums_written[name][number] for number in read_back]
            if not torch.equal(torch.cat(written), torch.cat(list(read_back.values()))):
                return name
        return None


def sealed(buffer: Buffer) -> bool:
    """True for an input in host memory: its file is sealed, so the worker cannot write to it."""
    return buffer.where == wire.HOST and not buffer.role.written
