"""A cover over inputs: until it is taken off, they are of no use to anybody who reads them.

Cells that are wrong until the clock starts make work that began too early come out
wrong; but a product can be put right for a few cells, at next to no cost, once they are
known. Under a cover every bit is as good as random, so there is nothing to work on.
"""

from __future__ import annotations

import torch

# On a GPU the key stays in its cache, so that covering costs what copying does.
_KEY_BYTES = 1 << 20


class InputMask:
    """Bits that turn those of arrays, the same for all, drawn on the device of `generator`.

    They repeat after a mebibyte. Who compares many arrays under them may learn those bits
    in which values are alike, as in exponents; not those that are random in every value.
    """

    def __init__(self, generator: torch.Generator) -> None:
        self._generator = generator
        self._key = torch.empty(_KEY_BYTES, dtype=torch.uint8, device=generator.device)
        self.renew()

    def renew(self) -> None:
        """Draw another one; what is covered stays so for ever."""
        self._key.random_(0, 256, generator=self._generator)

    def turn(self, data: torch.Tensor, out: torch.Tensor) -> None:
        """Cover `data`, or uncover it if it is covered; both are uint8, of one dimension.

        `out` may be `data`.
        """
        # As words of eight bytes, which is several times as fast.
        whole = data.numel() // 8 * 8
        key = self._key.view(torch.int64)
        words, turned = data[:whole].view(torch.int64), out[:whole].view(torch.int64)
        repeated = words.numel() // key.numel() * key.numel()
        if repeated:
            shape = -1, key.numel()
            torch.bitwise_xor(words[:repeated].view(shape), key, out=turned[:repeated].view(shape))
        if rest := words.numel() - repeated:
            torch.bitwise_xor(words[repeated:], key[:rest], out=turned[repeated:])
        if rest := data.numel() - whole:
            torch.bitwise_xor(data[whole:], self._key[:rest], out=out[whole:])
