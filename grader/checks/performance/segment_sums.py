"""Detect changes of an array by sums over segments, without a copy to compare with.

A single sum is easy to forge: an array of zeros and a few balancing words has the same sum, and a
product with it is fast. So the array is summed in thousands of segments whose boundaries are drawn
anew for every burst. A forgery would have to keep the sums for all boundaries; moving value from
one word to a neighbour is seen at the first boundary between them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch

# In an array with fewer words each word is its own sum.
_MOST_SUMS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """How arrays are cut into segments.

    `stretch` (1 to 2) is the length of a segment relative to the shortest one possible. `shift`
    (0 to 1) is the part of a segment before the first whole one.
    """

    stretch: float
    shift: float

    @classmethod
    def drawn(cls, rng: random.Random) -> Segments:
        """Draw secret segments."""
        return cls(stretch=rng.uniform(1, 2), shift=rng.random())

    def sums(self, flat: torch.Tensor) -> torch.Tensor:
        """Return the sums of a contiguous array's bits, int64 of shape (sums,), on its device.

        Sums 8-byte words without conversion, which is one pass over the data on a GPU; they may
        overflow. Words and bytes left over at both ends are returned as they are.
        """
        data = flat.view(torch.uint8)
        whole = data.numel() // 8 * 8
        words = data[:whole].view(torch.int64)
        length = max(1, int(self.stretch * words.numel() / _MOST_SUMS))
        first = int(self.shift * length)
        count = (words.numel() - first) // length
        last = first + count * length
        inner = words[first:last].view(count, length).sum(dim=1)
        return torch.cat([words[:first], inner, words[last:], data[whole:].long()])
