"""Explain a wrong sum or count as one of other elements: "only the first 256 are in the result".

The output of a reduction or a histogram lacks an axis of its input. The oracle computes what it
would be of a part of the elements, or of some of them several times. An output of many elements
shows that in one case; a single sum shows it only in several cases together. It is a hint, never
part of a verdict.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from grader.assignment.cases import Case
from grader.assignment.signature import Signature
from grader.assignment.tolerance import Tolerance
from grader.errors import GraderError
from grader.judge.compare import Comparison, accepts_all, allowed, has_arithmetic, parts
from grader.judge.oracle import CaseData, Oracle

_GROUPS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
_MOST = 2**16  # elements of the input: bounds the time
_MOST_INDICES = 2**17  # of elements that are in a result several times
_MOST_TIMES = 16
_SOME = 1024  # elements that show whether they differ
_DISTINCT = 3  # elements of other values
_LEAST = 8  # wrong elements: fewer agree by chance
_CLOSE = Tolerance(atol=0.0, rtol=1e-4)
_LEAST_PADDED = 3  # numbers of elements past the end
_LEAST_CASES = 2  # wrong ones, where each has fewer elements than that


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallCase:
    """A case whose output has a few elements: what it was, and whether it is right."""

    case: Case
    data: CaseData
    output: str
    actual: torch.Tensor
    expected: torch.Tensor
    tolerance: Tolerance
    right: bool


def explain(
    oracle: Oracle, signature: Signature, case: Case, data: CaseData, comparison: Comparison
) -> str | None:
    """Return which elements of an input all elements of the output agree with, None if unknown."""
    summed = _summed(signature, comparison.output, data)
    if summed is None or not _enough(comparison):
        return None
    name, value = summed
    if len(set(value[:_SOME].tolist())) < _DISTINCT:
        return None  # of equal elements the result tells the number only

    def outcomes() -> Iterator[tuple[str, int, torch.Tensor]]:
        """Yield sentences, how many last elements are left out if that is all, and the results."""
        index = torch.arange(value.numel())
        for words, chosen in _changed(name, index):
            at = chosen()
            if at is None or torch.equal(at, index):
                continue
            other = _outcome(oracle, case, data, comparison.output, {name: _taken(value, at)})
            if other is None or torch.equal(other, comparison.expected):
                continue
            only_last = torch.equal(at, index[: at.numel()])
            yield words, only_last * (index.numel() - at.numel()), other

    found = [
        (words, left_out)
        for words, left_out, other in data.kept(("elements", comparison.output), outcomes())
        if accepts_all(comparison.actual, other, _CLOSE)
    ]
    if not found:
        return None
    words, left_out = found[0]
    if left_out and sum(_shape(other) == _shape(words) for other, _ in found) > 1:
        # The size of the group stays open.
        return f"the last {left_out} of {value.numel()} elements of `{name}` are not in the result"
    return words


def explain_together(
    oracle: Oracle, signature: Signature, cases: Sequence[SmallCase]
) -> str | None:
    """Return the sentence that holds for all of the cases, right and wrong; None without one."""
    alive: list[str] | None = None
    telling: Counter[str] = Counter()
    # The longest decide about most hypotheses.
    for one in sorted(cases, key=lambda one: -_extent(signature, one)):
        summed = _summed(signature, one.output, one.data)
        if summed is None:
            continue
        loose = Tolerance(atol=4 * one.tolerance.atol, rtol=4 * one.tolerance.rtol)
        holds = []
        for sentence, value in _all_changed(*summed):
            if alive is not None and sentence not in alive:
                continue
            changed = value()
            if changed is None:  # too long to try: other cases decide
                holds.append(sentence)
                continue
            other = _outcome(oracle, one.case, one.data, one.output, {summed[0]: changed})
            if other is None or not accepts_all(one.actual, other, loose):
                continue
            holds.append(sentence)
            # Zeros are the sum of nothing, whatever was left out.
            if (
                not one.right
                and bool(other.any())
                and not accepts_all(other, one.expected, one.tolerance)
            ):
                telling[sentence] += 1
        alive = holds
        if not alive:
            return None
    return next((one for one in alive or () if telling[one] >= _LEAST_CASES), None)


def padding_value(signature: Signature, cases: Sequence[SmallCase]) -> str | None:
    """Return which number each element past the end adds to a sum, None if it is not that.

    The same number times those that are missing to a multiple of one group explains all cases.
    """
    known: list[tuple[int, float, float]] = []
    name = ""
    for one in cases:
        summed = _summed(signature, one.output, one.data)
        if summed is None:
            continue  # too long
        if one.actual.numel() != 1 or not one.actual.dtype.is_floating_point:
            return None
        name = summed[0]
        apart = float(one.actual.double() - one.expected.double())
        known.append((summed[1].numel(), apart, 4 * float(allowed(one.expected, one.tolerance))))
    wrong = [one for one in known if abs(one[1]) > one[2]]
    for group in _GROUPS:
        missing = {-length % group for length, _, _ in wrong}
        if len(missing) < _LEAST_PADDED or 0 in missing:
            continue
        length, apart, _ = max(wrong, key=lambda one: -one[0] % group)
        value = apart / (-length % group)
        if value == value and all(
            abs(apart - value * (-length % group)) <= slack for length, apart, slack in known
        ):
            return (
                f"each element past the end of `{name}`, up to a multiple of {group}, adds "
                f"{value:.4g} to the result"
            )
    return None


def _enough(comparison: Comparison) -> bool:
    """True if so much is wrong that no hypothesis agrees with it by chance."""
    if comparison.actual.dtype.is_floating_point:
        return comparison.mismatched >= _LEAST
    apart = (comparison.actual.to(torch.int64) - comparison.expected.to(torch.int64)).abs()
    return comparison.wrong.numel() >= _LEAST and int(apart.sum()) >= _LEAST


def _extent(signature: Signature, one: SmallCase) -> int:
    summed = _summed(signature, one.output, one.data)
    return summed[1].numel() if summed else 0


def _summed(signature: Signature, output: str, data: CaseData) -> tuple[str, torch.Tensor] | None:
    """Return the only input along whose only axis the output is summed; None if there is none."""
    arrays = {array.name: array for array in signature.arrays}
    kept = {extent.text for extent in arrays[output].shape or ()}
    lacking = [
        name
        for name, array in arrays.items()
        if array.role.read and any(extent.text not in kept for extent in array.shape or ())
    ]
    if len(lacking) != 1 or lacking[0] not in data.inputs:
        return None
    value = data.inputs[lacking[0]]
    if value.dim() != 1 or not 0 < value.numel() <= _MOST or not has_arithmetic(value):
        return None
    return lacking[0], value


def _outcome(
    oracle: Oracle, case: Case, data: CaseData, output: str, changed: Mapping[str, torch.Tensor]
) -> torch.Tensor | None:
    try:
        arguments = {**oracle.arguments(case, data.inputs), **changed}
        return parts(oracle.expected(case, arguments)[output])
    except GraderError:  # the oracle cannot do without some of the elements
        return None


def _taken(value: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    """Return the elements at these indices, zeros for those past the end."""
    inside = at < value.numel()
    taken = value[at.clamp_max(value.numel() - 1)]
    return taken if bool(inside.all()) else torch.where(inside, taken, torch.zeros_like(taken))


def _all_changed(
    name: str, value: torch.Tensor
) -> Iterator[tuple[str, Callable[[], torch.Tensor | None]]]:
    """Yield what `_changed` does, and other values, which single elements of a sum cannot show."""

    def taken(chosen: _Chosen) -> torch.Tensor | None:
        at = chosen()
        return None if at is None else _taken(value, at)

    for words, chosen in _changed(name, torch.arange(value.numel())):
        yield words, partial(taken, chosen)
    if not value.is_floating_point():
        return
    yield f"the result is that of the absolute value of `{name}`", value.abs
    yield f"the result is that of the square of `{name}`", value.square
    yield f"the result is that of `{name}` cut to whole numbers", value.trunc
    yield f"the largest element of `{name}` stands in the place of the sum", value.max
    yield (
        f"the sum is divided by the number of elements of `{name}`",
        lambda: value / value.numel(),
    )


_Chosen = Callable[[], torch.Tensor | None]


def _changed(name: str, index: torch.Tensor) -> Iterator[tuple[str, _Chosen]]:
    """Yield sentences, the same for each length, and the indices that they stand for.

    An index past the end stands for a zero; None for too many indices.
    """
    yield f"the last element of `{name}` is not in the result", lambda: index[:-1]
    yield f"the first element of `{name}` is not in the result", lambda: index[1:]
    yield f"only the first element of `{name}` is in the result", lambda: index[:1]
    yield f"only the last element of `{name}` is in the result", lambda: index[-1:]
    for times in sorted({*range(2, _MOST_TIMES + 1), *(g for g in _GROUPS if g <= 1024)}):
        words = f"each element of `{name}` is in the result {times} times"
        yield words, partial(_repeated, index, times)
    for group in (512, 1024, 2048, 4096, 8192):
        for apart in (32, 64, 128, 256, 512, 1024):
            if apart < group:
                words = f"blocks of {group} elements of `{name}` begin only {apart} apart"
                yield words, partial(_overlapping, index, group, apart)
    for form, chosen in _FAMILIES.items():
        for group in _GROUPS:
            words = form.format(name=name, group=group, half=group // 2)
            yield words, partial(chosen, index, group)


def _repeated(index: torch.Tensor, times: int) -> torch.Tensor | None:
    return index.repeat(times) if index.numel() * times <= _MOST_INDICES else None


def _suffixes(index: torch.Tensor, group: int) -> torch.Tensor | None:
    times = index // group + 1
    return index.repeat_interleave(times) if int(times.sum()) <= _MOST_INDICES else None


def _overlapping(index: torch.Tensor, group: int, apart: int) -> torch.Tensor | None:
    blocks = -(-index.numel() // group)
    if blocks * group > _MOST_INDICES:
        return None
    at = (torch.arange(blocks)[:, None] * apart + torch.arange(group)).flatten()
    return at[at < index.numel()]


def _every_second(index: torch.Tensor, group: int) -> torch.Tensor:
    blocks = -(-index.numel() // group)
    at = (torch.arange(blocks)[:, None] * group + 2 * torch.arange(group)).flatten()
    return at[at < index.numel()]


def _rounded_up(index: torch.Tensor, group: int) -> torch.Tensor:
    return torch.arange(-(-index.numel() // group) * group)


def _of_each(test: Callable[[torch.Tensor, int], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return a function that keeps the elements whose place in their group has a property."""
    return lambda index, group: index[test(index % group, group)]


# Which elements the result is of, and their indices.
_FAMILIES: Mapping[str, Callable[[torch.Tensor, int], torch.Tensor | None]] = {
    "elements of `{name}` after the last whole group of {group} are not in the result": (
        lambda i, g: i[: i.numel() // g * g]
    ),
    "only the first {group} elements of `{name}` are in the result": lambda i, g: i[:g],
    "only the last group of {group} elements of `{name}` is in the result": (
        lambda i, g: i[(i.numel() - 1) // g * g :]
    ),
    "the first {group} elements of `{name}` are not in the result": lambda i, g: i[g:],
    "only the first of each {group} elements of `{name}` is in the result": _of_each(
        lambda place, _: place == 0
    ),
    "only the first {half} of each {group} elements of `{name}` are in the result": _of_each(
        lambda place, group: place < group // 2
    ),
    "only the first 32 of each {group} elements of `{name}` are in the result": _of_each(
        lambda place, _: place < 32
    ),
    "only every 32nd of each {group} elements of `{name}` is in the result": _of_each(
        lambda place, _: place % 32 == 0
    ),
    "the first of each {group} elements of `{name}` is not in the result": _of_each(
        lambda place, _: place > 0
    ),
    "the last of each {group} elements of `{name}` is not in the result": _of_each(
        lambda place, group: place < group - 1
    ),
    "the first {group} elements of `{name}` are in the result again in the place of every "
    "{group}": lambda i, g: i % g,
    "each element of `{name}` is in the result once for each group of {group}": (
        lambda i, g: _repeated(i, -(-i.numel() // g))
    ),
    "each block of {group} takes every second element of `{name}` from its beginning on": (
        lambda i, g: _every_second(i, g)
    ),
    "elements of `{name}` from {group} on are in the result twice, those from twice that on three "
    "times, and so on": _suffixes,
    "the last element of `{name}` is in the result again, up to a multiple of {group} elements": (
        lambda i, g: _rounded_up(i, g).clamp_max(i.numel() - 1)
    ),
    "zeros past the end of `{name}`, up to a multiple of {group} elements, are in the result as "
    "well": _rounded_up,
}


def _shape(words: str) -> str:
    return re.sub(r"\d+", "", words)
