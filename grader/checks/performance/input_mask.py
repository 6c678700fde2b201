"""Mask inputs so that they are useless until the clock is about to start.

Canaries alone (cells that stay wrong until the clock starts) are not enough: a submission could
compute a product early and correct it for a few cells at almost no cost. Under the mask every bit
looks random, so there is nothing to compute with.
"""

from __future__ import annotations

import torch

# The key fits a GPU's cache, so masking costs no more than copying.
_KEY_BYTES = 1 << 20


class InputMask:
    """A random key that is XORed onto arrays, drawn on the device of `generator`.

    The key repeats after 1 MiB. Comparing many masked arrays can reveal the bits in which values
    are alike, such as exponents, but not the bits that are random in every value.
    """

    def __init__(self, generator: torch.Generator) -> None:
        self._generator = generator
        self._key = torch.empty(_KEY_BYTES, dtype=torch.uint8, device=generator.device)
        self.renew()

    def renew(self) -> None:
        """Draw a new key. Arrays that are still masked cannot be unmasked any more."""
        self._key.random_(0, 256, generator=self._generator)

    def apply(self, data: torch.Tensor, out: torch.Tensor) -> None:
        """Write `data` XOR key to `out`, which masks or unmasks it; both are uint8 of shape (n,).

        `out` may be `data`.
        """
        # Eight bytes at a time, which is several times as fast.
        whole = data.numel() // 8 * 8
        key = self._key.view(torch.int64)
        words, result = data[:whole].view(torch.int64), out[:whole].view(torch.int64)
        repeated = words.numel() // key.numel() * key.numel()
        if repeated:
            shape = -1, key.numel()
            torch.bitwise_xor(words[:repeated].view(shape), key, out=result[:repeated].view(shape))
        if rest := words.numel() - repeated:
            torch.bitwise_xor(words[repeated:], key[:rest], out=result[repeated:])
        if rest := data.numel() - whole:
            torch.bitwise_xor(data[whole:], self._key[:rest], out=out[whole:])
