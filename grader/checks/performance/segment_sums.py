"""Sums over segments of an array: was it changed, with no copy of it to compare with?

One sum over all would be forged at no cost that counts: an array of zeros and of a
few words that make up for them has the same, and a product with it is fast. Where
segments begin and end is drawn anew for every burst. So what keeps the sums would
have to keep them wherever segments end, and moving a part of the words to their
neighbours, however small, is seen at the first of thousands of ends between the two.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch

# Of an array with fewer words than that each stands for itself.
_MOST_SUMS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """How arrays are cut: how long segments are, and where the first one ends.

    `stretch`, 1 to 2: as many times as long as for the most sums that there may be.
    `shift`, 0 to 1: so much of a segment stands before the first whole one.
    """

    stretch: float
    shift: float

    @classmethod
    def drawn(cls, chooser: random.Random) -> Segments:
        """Draw a way that nobody else knows."""
        return cls(stretch=chooser.uniform(1, 2), shift=chooser.random())

    def sums(self, flat: torch.Tensor) -> torch.Tensor:
        """Return sums over the bits of a contiguous array, int64 of one dimension, where it lies.

        Of words of eight bytes, which are not converted: that is one pass over the data,
        on a GPU. They may overflow. What is left at both ends stands for itself.
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
