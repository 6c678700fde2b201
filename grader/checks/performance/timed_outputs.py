"""Are the outputs of a timed call right? Every element of every call, cheaply.

There are hundreds of calls a second to verify, so float64 is the last resort:

    the oracle's own `verify`, where it has one: a product costs too much twice
    torch's own way    `baseline` on the same inputs, compared in the output's type
                       against half of the tolerance: no more than the oracle
                       itself may be off by is given away
    the oracle         `expected` in float64, where the second was not sure

So a right output may cost more time and is never refused; what is accepted
differs from the exact result by the tolerance and what torch itself errs by.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from grader.assignment.model import Case, Tolerance
from grader.errors import GraderError
from grader.judge.compare import BITS, accepts
from grader.judge.oracle import Oracle

_SURE = 0.5  # of the tolerance
_LARGEST_RTOL = 0.1  # with more, so many steps would be further than so many times one step


class TimedOutputs:
    """Verifies the outputs of timed calls of one case; `generator` is for the oracle's choices."""

    def __init__(
        self, oracle: Oracle, case: Case, tolerance: Tolerance, generator: torch.Generator
    ) -> None:
        self._oracle = oracle
        self._case = case
        self._tolerance = tolerance
        self._generator = generator
        self._scratch: dict[str, torch.Tensor] = {}

    def right(
        self, inputs: Mapping[str, torch.Tensor], outputs: Mapping[str, torch.Tensor]
    ) -> bool:
        """Say whether every element is right; outputs lie in the worker's own memory.

        Raises GraderError if the oracle fails.
        """
        if self._oracle.verifies:
            return self._oracle.verify(self._case, inputs, outputs, self._generator)
        if self._surely_right(inputs, outputs):
            return True
        expected = self._oracle.expected(self._case, self._oracle.given(self._case, inputs))
        return all(
            bool(accepts(outputs[name], wanted.to(outputs[name].device), self._tolerance).all())
            for name, wanted in expected.items()
        )

    def _surely_right(
        self, inputs: Mapping[str, torch.Tensor], outputs: Mapping[str, torch.Tensor]
    ) -> bool:
        for name, output in outputs.items():
            if name not in self._scratch:
                self._scratch[name] = torch.empty_like(output)
        made = dict(self._scratch)
        try:
            self._oracle.baseline(self._case, self._oracle.given(self._case, inputs), made)
        except GraderError:
            return False  # the worker that runs it as the baseline says so
        return all(self._near(output, made[name]) for name, output in outputs.items())

    def _near(self, output: torch.Tensor, made: torch.Tensor) -> bool:
        """Compare in the output's own type; anything that is not a number is not near."""
        if self._tolerance.exact or not output.dtype.is_floating_point:
            return torch.equal(output.view(torch.uint8), made.contiguous().view(torch.uint8))
        if _within(_steps(output.dtype, self._tolerance), output, made):
            return True
        # Few passes over memory, which are what it costs: |output - made| - rtol |made| <= atol.
        excess = (output - made).abs_().sub_(made.abs(), alpha=_SURE * self._tolerance.rtol)
        return bool(excess.max() <= _SURE * self._tolerance.atol)


def _steps(kind: torch.dtype, tolerance: Tolerance) -> int:
    """Return how many numbers of this type a value may lie from another one, to be near it.

    From one number to the next it is 2^-p of it at most, with p bits behind the point, and
    among the subnormal ones always the same.
    """
    about = torch.finfo(kind)
    steps = int(_SURE * min(tolerance.rtol, _LARGEST_RTOL) / about.eps)
    return steps if steps * about.smallest_normal * about.eps <= _SURE * tolerance.atol else 0


def _within(steps: int, output: torch.Tensor, made: torch.Tensor) -> bool:
    """Say whether every element is finite and at most so many numbers from the other's.

    Half the passes that the tolerance's own formula takes. Numbers of one sign are ordered as
    their bits are, read as integers; two of different signs, which are both finite, lie further
    apart than `steps` can be. False says nothing.
    """
    if steps < 1 or not made.is_contiguous():
        return False
    bits = BITS[output.element_size()]
    low, high = torch.aminmax(output.view(bits) - made.view(bits))
    ends = torch.stack([*torch.aminmax(output), *torch.aminmax(made)])
    return bool((low >= -steps) & (high <= steps) & ends.isfinite().all())
