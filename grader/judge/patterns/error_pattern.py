"""Describe the pattern of the wrong elements in one sentence for the student.

Each detector recognises one classic mistake from which elements are wrong and what their values
are. Detectors run from the most to the least informative, and the first match is reported. A
pattern is a hint, never part of a verdict.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import torch

from grader.assignment.tolerance import Tolerance
from grader.judge.compare import Comparison, accepts_all
from grader.judge.patterns import (
    formula_hypothesis,
    misplaced,
    moved_factor,
    reordered,
    row_scale,
    tile_hypothesis,
)
from grader.judge.patterns.input_hypothesis import WHERE_WRONG
from grader.judge.patterns.pattern_input import PatternInput
from grader.judge.patterns.wrong_places import alternation, only_diagonals, place
from grader.report.evidence import MOST_DESCRIBED

_Detector = Callable[[PatternInput], "str | None"]


class Detectors:
    """All detectors, for one case of a submission after another.

    One mistake spoils many cases. Where a detector behind the hypotheses on other inputs named the
    cause of the last one, it is asked before them: they compute the assignment tens of times. A
    slow detector that recognised nothing in several cases is not asked again. A huge output, or one
    of a hidden case, of which students read no pattern, need not be described after another one
    was.

    `steady` counts the cases, one after another, in which a second call gave the same values.
    Detectors that are not `used` need no case described.
    """

    def __init__(self, *, used: bool = True) -> None:
        self.used = used
        self._order: tuple[_Detector, ...] = _DETECTORS
        self._misses: Counter[_Detector] = Counter()
        self._have_told = False
        self.steady = 0

    def know_enough(self, wrong: Comparison, *, hidden: bool = False) -> bool:
        """True if the pattern of an earlier case has to do, or nobody asks for any."""
        large = wrong.wrong.numel() > MOST_DESCRIBED
        return not self.used or (self._have_told and (hidden or large))

    def describe(self, given: PatternInput) -> str | None:
        """Return the pattern of the error, or None if no detector recognises it."""
        telling = given.comparison.mismatched >= _LEAST
        for detector in self._order:
            if self._misses[detector] == _MOST_MISSES:
                continue
            if found := detector(given):
                self._order = _with_early(detector)
                self._have_told |= telling
                del self._misses[detector]
                return found
            if telling and detector in _SLOW:
                self._misses[detector] += 1
        return None


def _with_early(detector: _Detector) -> tuple[_Detector, ...]:
    """Return the detectors in order, but one that names the cause before those hypotheses."""
    if detector not in _OF_CAUSES:
        return _DETECTORS
    dear = _DETECTORS.index(_other_inputs)
    return (*_DETECTORS[:dear], detector, *(d for d in _DETECTORS[dear:] if d is not detector))


NOTHING_WRITTEN = "nothing was ever written"
_LEAST = 8  # wrong elements: fewer fit a pattern of their values by chance
_MOST_MISSES = 10  # cases, one after another, in which a slow detector recognises nothing
_SEARCHED = 8  # elements, or rows, that decide whether it is worth to look at all


def _added_to_output(given: PatternInput) -> str | None:
    """Recognise `+=` onto what was in the output before the call."""
    if given.again is None or given.poison is None:
        return None
    wrong = given.comparison.wrong & ~given.unwritten
    if bool((torch.isfinite(given.comparison.actual) & wrong).any()):
        return None
    expected, poison = given.comparison.expected.double()[wrong], given.poison.double()
    # What is small beside the poison is lost in a sum with it.
    tells = expected.abs() > poison.abs() / 1000
    added = (given.again.double()[wrong] - (expected + poison)).abs()
    if 4 * int(tells.sum()) >= 3 * tells.numel() > 0 and bool(
        (added <= 2e-2 * expected.abs())[tells].all()
    ):
        return "the result is added to what the output held before the call"
    return None


def _never_written(given: PatternInput) -> str | None:
    wrong, unwritten = given.comparison.wrong, given.unwritten & given.comparison.wrong
    if not bool(unwritten.any()):
        return None
    count, total = int(unwritten.sum()), wrong.numel()
    if count == total:
        return NOTHING_WRITTEN
    if diagonal := only_diagonals(~unwritten):
        return f"{diagonal} is written, other elements are never written"
    where = place(unwritten)
    if int(wrong.sum()) - count <= given.comparison.wrong_allowed:
        return f"{where}: never written"
    if where.startswith("only"):
        return f"{where}: never written; others are wrong"
    return f"{count} of the wrong elements were never written"


TORN = "each element was written in part"


def _torn(given: PatternInput) -> str | None:
    """Recognise partly written elements; a few may look so by chance, most must."""
    written = given.comparison.wrong & ~given.unwritten
    size = given.comparison.element_bytes
    in_part = written & (given.unwritten_bytes > 0)
    if int(in_part.sum()) * 2 <= int(written.sum()):
        return None
    return f"{TORN}: {size - int(given.unwritten_bytes[written].median())} of its {size} bytes"


def _constant(given: PatternInput) -> str | None:
    actual = given.comparison.actual
    if actual.numel() < 4 or not bool((actual == actual.flatten()[0]).all()):
        return None
    return f"every element is {float(actual.flatten()[0]):g}"


def _not_a_number(given: PatternInput) -> str | None:
    wrong = given.comparison.wrong
    nan = torch.isnan(given.comparison.actual.double()) & wrong
    if bool(nan.all()):
        return "every element is not a number"
    if bool(nan.any()) and int(nan.sum()) == int(wrong.sum()):
        return f"{place(wrong)}: not a number"
    return None


def _overflowed_counter(given: PatternInput) -> str | None:
    """Recognise counters packed into one word, of which one has carried into its neighbour."""
    if given.comparison.actual.dtype.is_floating_point:
        return None
    error = (given.comparison.expected.double() - given.comparison.actual.double()).flatten()
    for bits in (8, 16):
        lost = torch.where(error > 0, error, 0) / 2**bits
        carried = torch.cat((torch.zeros(1), lost[:-1]))
        left = error - lost * 2**bits
        if bool((lost == lost.floor()).all() and (left == -carried)[carried > 0].all()) and bool(
            (left[carried == 0] == 0).all() and (carried > 0).any()
        ):
            at = int(torch.nonzero(lost).flatten()[0])
            return (
                f"element {at} is {int(lost[at]) * 2**bits} too small and the next one "
                f"{int(lost[at])} too large: a counter of {bits} bits overflows into its neighbour"
            )
    return None


def _equals_input(given: PatternInput) -> str | None:
    actual = given.comparison.actual
    if int(given.comparison.wrong.sum()) < _LEAST:
        return None
    for name, value in given.inputs.items():
        if value.numel() == actual.numel() and value.dtype == actual.dtype:
            same = actual.flatten() == value.flatten()
            if bool((same | ~given.comparison.wrong.flatten()).all()) and bool(same.any()):
                if name == given.comparison.output:
                    return _kept(given, value)
                return f"the wrong elements equal the input `{name}`"
    return None


def _kept(given: PatternInput, before: torch.Tensor) -> str:
    """Say which elements of an output, that is an input as well, are as before the call."""
    wrong = given.comparison.wrong.flatten()
    changed = (given.comparison.expected.double() != before.double()).flatten()
    right = torch.nonzero(changed & ~wrong).flatten()
    first, last = (int(torch.nonzero(wrong).flatten()[at]) for at in (0, -1))
    kept = "as before the call; those"
    if right.numel() and int(right[-1]) < first:
        return f"elements from {first} on are {kept} up to {int(right[-1])} are right"
    if right.numel() and int(right[0]) > last:
        return f"elements up to {last} are {kept} from {int(right[0])} on are right"
    return "the wrong elements are as before the call"


def _factor(given: PatternInput) -> str | None:
    """Recognise an input that is missing as a factor, or is one too many."""
    comparison = given.comparison
    actual, expected = comparison.actual.double(), comparison.expected.double()
    if int(comparison.wrong.sum()) < _LEAST or not bool(torch.isfinite(actual).all()):
        return None
    if int((expected != 0).sum()) < _LEAST:
        return None  # 0 times anything is 0
    loose = Tolerance(atol=4 * given.tolerance.atol, rtol=4 * given.tolerance.rtol)
    for name, value in given.inputs.items():
        whole = value.shape == expected.shape
        row = value.dim() == 1 and expected.dim() == 2 and value.numel() == expected.shape[1]
        if not (whole or row) or not value.is_floating_point():
            continue
        if accepts_all(actual * value.double(), expected, loose):
            return f"the factor `{name}` is missing in every element"
        if accepts_all(actual, expected * value.double(), loose):
            return f"`{name}` is a factor once too often in every element"
    return None


def _shifted(given: PatternInput) -> str | None:
    """Recognise values that are off by one element along the last dimension."""
    actual, expected = given.comparison.actual.flatten(), given.comparison.expected.flatten()
    if actual.numel() < 4:
        return None
    for offset, direction in ((1, "forward"), (-1, "back")):
        moved = torch.roll(expected, offset)
        inner = slice(1, None) if offset == 1 else slice(None, -1)
        if accepts_all(actual[inner], moved[inner], given.tolerance):
            return f"every value is one element too far {direction} (off by one)"
    return None


def _negated(given: PatternInput) -> str | None:
    actual, expected = given.comparison.actual, given.comparison.expected
    if expected.dtype.is_floating_point and accepts_all(actual, -expected, given.tolerance):
        return "every element has the wrong sign"
    return None


def _scaled(given: PatternInput) -> str | None:
    """Recognise a constant factor in all elements."""
    comparison = given.comparison
    actual, expected = comparison.actual.double(), comparison.expected.double()
    if not bool(torch.isfinite(actual).all()):
        return None
    usable = torch.isfinite(expected) & (expected.abs() > 1e-6)
    if int(usable.sum()) < 4:
        return None
    ratios = actual[usable] / expected[usable]
    some = ratios[:: ratios.numel() // _SEARCHED + 1]
    if float(some.max() - some.min()) > 4e-3 * float(some.abs().max()):
        return None  # more than twice the spread below; the median of a million takes long
    factor = float(ratios.median())
    # Near 1 the spread must be small, so that mostly right elements do not look like a factor.
    spread = min(1e-3 * abs(factor), 0.2 * abs(factor - 1.0))
    if factor in (0.0, 1.0) or not bool(((ratios - factor).abs() <= spread).all()):
        return None
    digits = 4 if abs(factor - 1.0) > 1e-3 else 7
    why = ""
    positive = ((name, size) for name, size in given.sizes.items() if size > 0)
    for name, size in positive:
        for words, number in ((f"`{name}`", float(size)), (f"the root of `{name}`", size**0.5)):
            if number >= 3 and abs(factor / number - 1) < 1e-4:
                why = why or f": it is multiplied by {words}"
            if number >= 3 and abs(factor * number - 1) < 1e-4:
                why = why or f": it is divided by {words}"
    return f"every element is {factor:.{digits}g} times the expected value{why}"


def _signed_zeros(given: PatternInput) -> str | None:
    """Recognise zeros of the other sign, which only an exact comparison tells apart."""
    if not given.tolerance.exact:
        return None
    actual, expected = given.wrong_pairs
    if not bool((actual == expected).all()):
        return None
    # The bits differ, and the numbers are equal: NaN is equal to nothing.
    negative = int(torch.signbit(actual).sum())
    if negative in (0, actual.numel()):
        got, wanted = ("-0", "+0") if negative else ("+0", "-0")
        return f"zeros have the wrong sign: {got} where {wanted} is expected, bit for bit"
    return "zeros have the wrong sign: +0 where -0 is expected and -0 where +0 is, bit for bit"


def _whole_numbers(given: PatternInput) -> str | None:
    """Recognise a conversion to an integer on the way."""
    actual, expected = given.wrong_pairs
    if actual.numel() < _LEAST or not given.comparison.actual.dtype.is_floating_point:
        return None
    fits = torch.isfinite(actual) & (actual == actual.trunc())
    tells = (actual.abs() < 2**22) & (actual != 0) & (expected != expected.trunc())
    if (
        bool(fits.all())
        and int(tells.sum()) >= _LEAST
        and float(actual.min()) < float(actual.max())
    ):
        return "every wrong element is a whole number"
    return None


# The narrowest first: float16 holds most of what bfloat16 does.
_NARROW = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def _rounded(given: PatternInput) -> str | None:
    """Recognise results that a narrower type holds exactly, or errors of its size."""
    comparison = given.comparison
    actual, expected = given.wrong_pairs
    if actual.numel() < _LEAST or not comparison.actual.dtype.is_floating_point:
        return None
    if not bool((torch.isfinite(actual) & torch.isfinite(expected)).all()):
        return None
    relative = ((actual - expected).abs() / expected.abs().clamp_min(1e-30)).median()
    # A narrow type errs nearly everywhere.
    if float(relative) > 2**-6 or 4 * actual.numel() < comparison.wrong.numel():
        return None
    if comparison.actual.dtype is torch.float32:
        for name, kind in _NARROW.items():
            if bool((actual.float().to(kind).double() == actual).all()):
                return f"every wrong element is slightly off, and a {name} number"
    bits = round(-math.log2(float(relative))) if float(relative) else 60
    near = {8: "bfloat16", 9: "bfloat16", 10: "float16 or TF32", 11: "float16 or TF32"}
    near |= {12: "float16 or TF32", 13: "float16 or TF32"}
    if comparison.actual.dtype is torch.float16:
        near = dict.fromkeys(range(6, 11), "float16")
    if bits in near:
        return f"every wrong element is slightly off, by about 2^-{bits} of its value: {near[bits]}"
    return None


def _just_beyond(given: PatternInput) -> str | None:
    """Recognise errors that pass the tolerance gradually: digits are lost, no index is wrong."""
    comparison = given.comparison
    if not comparison.actual.dtype.is_floating_point or given.tolerance.exact:
        return None
    error = (comparison.actual.double() - comparison.expected).abs() / comparison.allowed
    wrong, right = error[comparison.wrong], error[~comparison.wrong]
    if not right.numel() or not bool(wrong.max() < 2) or not 0.5 < float(right.max()) <= 1:
        return None
    return (
        f"wrong elements are off by up to {float(wrong.max()):.2f} times what is allowed, right "
        f"ones by up to {float(right.max()):.2f} times"
    )


def _row_factors(given: PatternInput) -> torch.Tensor | None:
    """Return the factor of each row, actual to expected; None if it is not one number in a row."""
    comparison = given.comparison
    width = comparison.expected.shape[-1] if comparison.expected.dim() else 1
    if width < 2 or not bool(torch.isfinite(comparison.actual.double()).all()):
        return None
    actual = comparison.actual.double().view(-1, width)
    expected = comparison.expected.double().view(-1, width)
    few = slice(None, None, actual.shape[0] // _SEARCHED + 1)
    if _one_factor_each(actual[few], expected[few]) is None:
        return None
    factors = _one_factor_each(actual, expected)
    enough = int((expected.abs() > 1e-6).sum()) >= _LEAST
    return factors if enough else None


def _one_factor_each(actual: torch.Tensor, expected: torch.Tensor) -> torch.Tensor | None:
    """Return the factor of each row, None if a row has no single one."""
    usable = expected.abs() > 1e-6
    ratios = torch.where(usable, actual / expected, torch.nan)
    factors = ratios.nanmedian(dim=1, keepdim=True).values
    near = (ratios - factors).abs() <= 1e-3 * factors.abs()
    known = bool(usable.any(dim=1).all())
    return factors.flatten() if known and bool((~usable | near).all()) else None


def _row_scale(given: PatternInput) -> str | None:
    """Recognise a root of a mean square that is computed wrong."""
    factors = _row_factors(given)
    if factors is None:
        return None
    expected = given.comparison.expected
    shape = tuple(expected.shape)
    mistakes = row_scale.mistakes(shape, given.inputs, given.sizes)
    return row_scale.explain_shares(
        factors, expected.reshape(-1, shape[-1]), given.inputs
    ) or row_scale.explain(factors, given.kept(f"rows of {given.comparison.output}", mistakes))


def _within_rows(given: PatternInput) -> str | None:
    """Recognise threads that divide by a sum of their own."""
    comparison = given.comparison
    width = comparison.expected.shape[-1] if comparison.expected.dim() else 1
    if width < _LEAST or comparison.expected.numel() > 2**16:
        return None
    actual = comparison.actual.double().view(-1, width)
    expected = comparison.expected.double().view(-1, width)
    if not bool(torch.isfinite(actual).all()):
        return None
    factors = torch.where(expected.abs() > 1e-6, actual / expected, torch.nan)
    return row_scale.explain_own_shares(factors, expected) or row_scale.explain_within(
        factors, given.inputs, given.sizes
    )


def _formula(given: PatternInput) -> str | None:
    """Recognise another formula of an input."""
    arguments = given.comparison, given.inputs, given.tolerance
    return formula_hypothesis.same_formula(*arguments) or formula_hypothesis.scaled_exponent(
        *arguments
    )


def _added(given: PatternInput) -> str | None:
    """Recognise what is added to the result, or to an input before it is scaled."""
    return formula_hypothesis.added(
        given.comparison, given.inputs, given.tolerance
    ) or formula_hypothesis.row_offset(given.comparison, given.inputs)


def _range_of_input(given: PatternInput) -> str | None:
    return formula_hypothesis.wrong_range(given.comparison, given.inputs)


def _other_type(given: PatternInput) -> str | None:
    return formula_hypothesis.reinterpreted(given.comparison)


def _misplaced(given: PatternInput) -> str | None:
    """Recognise right values in wrong places, by a rule for the places."""
    return misplaced.explain(given.comparison, given.tolerance)


def _known_mistake(given: PatternInput) -> str | None:
    return given.known_mistake()


def _other_inputs(given: PatternInput) -> str | None:
    found = given.other_inputs()
    if found and found.endswith((" times 2", " divided by 2", " are exchanged")):
        return _row_scale(given) or found  # a root can have the same factor by chance
    if found is None or not found.startswith(WHERE_WRONG):
        return found
    region = place(given.comparison.wrong)
    there = found.removeprefix(WHERE_WRONG)
    return f"{region}: there {there}" if region.startswith("only") else found


def _tile_index(given: PatternInput) -> str | None:
    """Recognise a product of matrices whose tiles are read with a wrong index."""
    return tile_hypothesis.explain(given.comparison, given.inputs, given.tolerance)


def _moved_factor(given: PatternInput) -> str | None:
    """Recognise a product of which one factor is read from another place."""
    return moved_factor.explain(given.comparison, given.inputs)


def _row_factor(given: PatternInput) -> str | None:
    """Recognise a factor that is one number within each row, and differs between rows."""
    factors = _row_factors(given)
    if factors is None or factors.numel() < 2 or float((factors - 1).abs().max()) < 1e-4:
        return None
    low, high = float(factors.min()), float(factors.max())
    return f"each row is off by a factor of its own, {low:.4g} to {high:.4g}"


def _periodic(given: PatternInput) -> str | None:
    blocks = alternation(given.comparison.wrong)
    return f"{blocks} is wrong" if blocks else None


def _region(given: PatternInput) -> str | None:
    region = place(given.comparison.wrong)
    return None if region.startswith(("elements", "all elements")) else region


# No hypothesis on other inputs says more than these.
_OF_CAUSES: tuple[_Detector, ...] = (_formula, _moved_factor)
_SLOW = frozenset(
    {
        _other_inputs, _tile_index, _row_scale, _formula, _added, _within_rows, _moved_factor,
        _misplaced,
    }
)  # fmt: skip
_DETECTORS: tuple[_Detector, ...] = (
    _signed_zeros,
    reordered.row_stride,
    _torn,
    _added_to_output,
    _never_written,
    _overflowed_counter,
    _known_mistake,
    _range_of_input,
    _not_a_number,
    _constant,
    _negated,
    _shifted,
    reordered.transposed,
    reordered.tile_transposed,
    reordered.tiles_misplaced,
    reordered.gathered,
    _equals_input,
    _other_type,
    _factor,
    _other_inputs,
    _tile_index,
    _row_scale,
    _formula,
    _added,
    _within_rows,
    _moved_factor,
    _scaled,
    _row_factor,
    _misplaced,
    reordered.moved,
    _whole_numbers,
    _rounded,
    _just_beyond,
    _periodic,
    _region,
)
