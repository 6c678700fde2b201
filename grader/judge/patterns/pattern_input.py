"""What a detector of error patterns gets: a wrong output, and what is known of its case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from grader.assignment.tolerance import Tolerance
from grader.judge.compare import Comparison, raw_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternInput:
    """The input of a detector.

    `unwritten_bytes` has for each element the number of its bytes that were not written. `again` is
    the output of a second call, in which it was filled with another `poison`; None if there was
    none. `known_mistake` returns the sentence of a mistake that the oracle knows, `other_inputs`
    that of a hypothesis (`judge.patterns.input_hypothesis`), and `kept` the items of an iterator
    that depends on the inputs and sizes only (`CaseData.kept`).
    """

    comparison: Comparison
    inputs: Mapping[str, torch.Tensor]
    unwritten_bytes: torch.Tensor
    tolerance: Tolerance
    again: torch.Tensor | None = None
    poison: torch.Tensor | None = None
    sizes: Mapping[str, int | float] = field(default_factory=dict)
    known_mistake: Callable[[], str | None] = lambda: None
    other_inputs: Callable[[], str | None] = lambda: None
    kept: Callable[[str, Iterator[Any]], Iterable[Any]] = lambda key, made: made

    @property
    def unwritten(self) -> torch.Tensor:
        """Marks the elements that were never written."""
        return self.unwritten_bytes == self.comparison.element_bytes

    @property
    def wrong_pairs(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The wrong elements, actual and expected, in float64."""
        comparison = self.comparison
        wrong = torch.nonzero(comparison.wrong.flatten()).flatten()
        actual, expected = (v.flatten()[wrong] for v in (comparison.actual, comparison.expected))
        return actual.double(), expected.double()


def count_unwritten_bytes(
    first: torch.Tensor, second: torch.Tensor, poisons: tuple[int, int]
) -> torch.Tensor:
    """Count the bytes of each element that hold their poison after both calls, one poison each."""
    unwritten = _poisoned(first, poisons[0]) & _poisoned(second, poisons[1])
    return _of_each(unwritten).to(torch.int64).view(first.shape)


def may_be_unwritten(first: torch.Tensor, poison: int, wrong: torch.Tensor) -> bool:
    """True if `wrong` elements may have been left unwritten: one of them, or half of them in part.

    Any byte may have the poison's value by chance, so some do in part.
    """
    left = _of_each(_poisoned(first, poison)).view(first.shape)[wrong]
    whole = left == first.element_size()
    return bool(whole.any()) or 2 * int(left.count_nonzero()) > left.numel()


def _poisoned(values: torch.Tensor, byte: int) -> torch.Tensor:
    return raw_bytes(values).view(-1, values.element_size()) == byte


def _of_each(marked: torch.Tensor) -> torch.Tensor:
    """Return how many bytes of each element are marked."""
    # In bytes: a sum in int64 would widen all of them first.
    return marked.sum(dim=1, dtype=torch.uint8)
