"""Verify every output element of every timed call, cheaply.

There are hundreds of calls per second to verify, so float64 is the last resort:

    `verify`      of the oracle, where it has one: computing a matrix product again costs too much
    `accept`      of the oracle, where it has one, decides as in the cases
    `baseline`    on the same inputs, compared in the output's type against half of the tolerance
    `expected`    in float64, where the baseline's comparison was not sure

A right output may take longer to verify and is never refused. An accepted output differs from the
exact result by at most the tolerance plus torch's own error.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from grader.assignment.cases import Case
from grader.assignment.tolerance import Tolerance
from grader.errors import GraderError
from grader.judge.compare import BITS, accepts
from grader.judge.oracle import Oracle

_SURE = 0.5  # of the tolerance
_LARGEST_RTOL = 0.1  # beyond it, counting steps is too inexact: they grow with the value


class TimedOutputs:
    """Verifies the outputs of one case's timed calls; `generator` is for the oracle's `verify`."""

    def __init__(
        self,
        oracle: Oracle,
        case: Case,
        tolerances: Mapping[str, Tolerance],
        generator: torch.Generator,
    ) -> None:
        self._oracle = oracle
        self._case = case
        self._tolerances = tolerances
        self._generator = generator
        self._scratch: dict[str, torch.Tensor] = {}

    def right(
        self, inputs: Mapping[str, torch.Tensor], outputs: Mapping[str, torch.Tensor]
    ) -> bool:
        """Return whether the outputs are right; they lie in the worker's own memory.

        Raises GraderError if the oracle fails.
        """
        if self._oracle.verifies:
            return self._oracle.verify(self._case, inputs, outputs, self._generator)
        if self._oracle.accepts:
            return not self._oracle.refusal(self._case, inputs, outputs)
        if self._surely_right(inputs, outputs):
            return True
        expected = self._oracle.expected(self._case, self._oracle.given(self._case, inputs))
        return all(self._within(name, outputs[name], values) for name, values in expected.items())

    def _within(self, name: str, output: torch.Tensor, expected: torch.Tensor) -> bool:
        tolerance = self._tolerances[name]
        right = accepts(output, expected.to(output.device), tolerance)
        return int((~right).sum()) <= tolerance.wrong_allowed(right.numel())

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
            return False  # the baseline's own worker reports the failure
        return all(
            _near(output, made[name], self._tolerances[name]) for name, output in outputs.items()
        )


def _near(output: torch.Tensor, made: torch.Tensor, tolerance: Tolerance) -> bool:
    """Return True if all elements are near, in the output's own type; NaN is never near."""
    # Torch does not subtract float8, and this is only a quicker way to accept.
    if tolerance.exact or not output.dtype.is_floating_point or output.element_size() == 1:
        bits = BITS[output.element_size()]
        return torch.equal(output.view(bits), made.contiguous().view(bits))
    if _within(_steps(output.dtype, tolerance), output, made):
        return True
    # |output - made| - rtol |made| <= atol, in few passes over memory, which dominate the cost.
    excess = (output - made).abs_().sub_(made.abs(), alpha=_SURE * tolerance.rtol)
    return bool(excess.max() <= _SURE * tolerance.atol)


def _steps(kind: torch.dtype, tolerance: Tolerance) -> int:
    """Return how many representable numbers a near value may lie away; 0 if steps do not apply.

    The distance to the next number is at most 2^-p of a value with p fraction bits, and constant
    among subnormal numbers.
    """
    about = torch.finfo(kind)
    steps = int(_SURE * min(tolerance.rtol, _LARGEST_RTOL) / about.eps)
    return steps if steps * about.smallest_normal * about.eps <= _SURE * tolerance.atol else 0


def _within(steps: int, output: torch.Tensor, made: torch.Tensor) -> bool:
    """Return True if every element is finite and at most `steps` numbers from the other's.

    Takes half the memory passes of the tolerance's formula. Numbers of one sign are ordered like
    their bits read as integers; finite numbers of different signs are further apart than `steps`
    can be. False proves nothing.
    """
    if steps < 1 or not made.is_contiguous():
        return False
    bits = BITS[output.element_size()]
    low, high = torch.aminmax(output.view(bits) - made.view(bits))
    ends = torch.stack([*torch.aminmax(output), *torch.aminmax(made)])
    return bool((low >= -steps) & (high <= steps) & ends.isfinite().all())
