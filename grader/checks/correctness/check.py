"""The correctness check: all cases, and what the language adds to them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from grader.checks.check import Check, CheckContext, CheckOutcome, Cost, HostCode
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.correctness.case_property import rest_of_groups, separating_property
from grader.report.evidence import CaseResult, CorrectnessEvidence
from grader.report.verdict import Verdict, aggregate
from grader.text.hints import hints, matching_hint
from grader.text.numbers import without_numbers as alike
from grader.text.sizes import case_text
from grader.vocabulary import CheckName, Device, Visibility


class CorrectnessCheck(Check[CorrectnessEvidence]):
    """Runs all cases and compares the outputs."""

    name = CheckName.CORRECTNESS
    cost = Cost.CASES
    needs_correct = False

    def run(self, context: CheckContext) -> Sequence[CheckOutcome[CorrectnessEvidence]]:
        """Run every case."""
        from grader.checks.correctness.judging import check_correctness

        told: dict[str, list[dict[str, Any]]] = {}

        def keep(record: dict[str, Any]) -> None:
            told.setdefault(str(record.get("record")), []).append(record)

        context.set_steps(len(context.cases))
        setup = context.setup()
        context.support.before_cases(context, setup)
        verified = check_correctness(
            setup, context.cases, context.data, context.advance, keep, context.oracle
        )
        verified = context.support.after_cases(context, verified, told.get("launch", []))
        outcomes = by_visibility(verified, context.assignment.weights)
        elsewhere = context.assignment.hidden_elsewhere
        outcomes += hidden_elsewhere(elsewhere, context.assignment.hidden_weight)
        host = None
        if context.file.language.imported and context.device is Device.CPU:
            wrote, left = "host_wrote" in told, "host_left" in told
            host = HostCode(wrote=wrote, left=left, operations=operations(told.get("torch", [])))
        return [replace(outcome, host=host) for outcome in outcomes]


def operations(records: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Return the names of torch's functions that a worker says, cut to a readable length."""
    found: dict[str, None] = {}
    for record in records:
        names = record.get("operations")
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            found.update(dict.fromkeys(name[:40] for name in names[:20]))
    return tuple(found)


def by_visibility(
    verified: CorrectnessEvidence, weights: Mapping[str, int] | None = None
) -> list[CheckOutcome[CorrectnessEvidence]]:
    """Return one outcome for each visibility, and for each group of cases with a weight.

    Points are divided by the number of cases, and by the `weights` of groups, by title.
    """
    weights = weights or {}
    order = list(Visibility)
    groups: dict[tuple[int, str], list[CaseResult]] = {}
    for case in verified.cases:
        key = order.index(case.visibility), case.title if case.title in weights else ""
        groups.setdefault(key, []).append(case)
    outcomes = []
    # Of a visibility those without a group come first, then the groups in the order of the spec.
    for place, group in sorted(groups, key=lambda key: (key[0], key[1] != "")):
        visibility, cases = order[place], tuple(groups[place, group])
        visible = visibility is Visibility.VISIBLE
        right = sum(case.verdict.earns_points for case in cases)
        verdict = _verdict_on(cases)
        message, hint = f"{right} of {len(cases)} {visibility.phrase}cases right", ""
        # The sizes and values of hidden cases appear in the evidence only.
        if visible and not verdict.earns_points and (lead := leading_case(cases, verdict)):
            message = _diagnosis_of(lead, cases)
            # What the source shows is nearer to the fix than what separates the cases.
            general = not lead.hint or lead.hint in hints("symptom").values()
            hint = (general and matching_hint(message, "property")) or lead.hint
            if lead.mismatched and not hint:
                hint = hints("no_pattern")["hint"]
        outcomes.append(
            CheckOutcome(
                diagnosis=Diagnosis(verdict, message, hint=hint),
                evidence=replace(
                    verified,
                    cases=cases,
                    cases_total=len(cases),
                    # For visible cases only: a submission may print the sizes it gets.
                    output=verified.output if visible else "",
                ),
                wall_s=round(sum(case.wall_s for case in cases), 3),
                label=_line_name(cases[0], group, list(weights)),
                weight=weights.get(group, len(cases)),
                visibility=visibility,
            )
        )
    return outcomes


def _line_name(case: CaseResult, group: str, groups: Sequence[str]) -> str:
    """Return the name of the line of a case; a group whose title is hidden has a number."""
    visible = case.visibility is Visibility.VISIBLE
    words = ["correctness"] if visible else ["correctness", case.visibility.phrase.strip()]
    if group:
        words.append(group if visible or case.title_shown else f"group {groups.index(group) + 1}")
    return ", ".join(words)


_TELLING = 8  # wrong elements: a case with fewer has no pattern
_MOST_ALONE = 6  # wrong cases for all of which the pattern of a single one may speak
_NOTHING = "nothing was ever written"
_ONE_NUMBER = re.compile(r"every element is [-\d.e+]+$")
_OTHER_NUMBER = re.compile(
    r"^the result is that of `(?P<name>\w+)` (= \S+( in every element)?"
    r"|with the opposite sign|times .+|divided by .+|in the denominator.+)$"
)


_OFTEN_BY_CHANCE = re.compile(rf"{_OTHER_NUMBER.pattern}|known mistake: ")


def leading_case(cases: Sequence[CaseResult], verdict: Verdict) -> CaseResult | None:
    """Return the case that tells most about a failure.

    That is one with a pattern that names a cause, else one of the gravest failures: with the most
    frequent pattern, of equally frequent ones the strongest, and of such cases the smallest.
    """
    named = [case for case in cases if verdict.judged and names_cause(case.pattern)]
    # Along an axis of one element several mistakes are one.
    wrong = [case for case in cases if case.mismatched >= _TELLING]
    alone = Counter(alike(case.pattern) for case in named)
    few = len(wrong) <= _MOST_ALONE
    named = [
        case
        for case in named
        if few or alone[alike(case.pattern)] > 1 or 1 not in case.sizes.values()
    ]
    # Another number for an argument, or another formula, would be wrong in every case that is not
    # very small.
    holds = [case for case in wrong if case.max_error is not None]
    named = [
        case
        for case in named
        if not _OFTEN_BY_CHANCE.search(case.pattern or "")
        or 2 * alone[alike(case.pattern)] >= sum(map(_unexplained, holds))
    ]
    # Much gives NaN: what explains nothing else must explain all that is wrong.
    explained = all(names_cause(case.pattern) for case in wrong)
    if not explained:
        cases = [case for case in cases if not _known_by_nan(case)] or cases
        named = [case for case in named if case in cases]
    gravest = _refining(named) or named or [case for case in cases if case.verdict is verdict]
    # One number in one case alone says little: larger cases say more.
    varied = [case for case in gravest if not _ONE_NUMBER.match(case.pattern or "")]
    gravest = varied if 2 * len(varied) > len(gravest) else gravest
    # Of a single element, the last one is all; larger cases say more.
    gravest = [case for case in gravest if not (case.pattern or "").startswith(_NOTHING)] or gravest
    often = Counter(_kind(case) for case in gravest)
    return min(
        gravest,
        key=lambda case: (
            -often[_kind(case)],
            _rank(case),
            # Triton compiles an argument of 1 as a constant: its errors are others.
            list(case.sizes.values()).count(1) if verdict is Verdict.COMPILE_ERROR else 0,
            case.elements,
        ),
        default=None,
    )


def _refining(named: Sequence[CaseResult]) -> list[CaseResult]:
    """Return the cases that say what is wrong with an argument, of which others say `= 0`."""
    numbers = [_OTHER_NUMBER.search(case.pattern or "") for case in named]
    names = "|".join(re.escape(number["name"]) for number in numbers if number)
    return [case for case in named if names and re.match(rf"(?:{names})\b", case.pattern or "")]


def _known_by_nan(case: CaseResult) -> bool:
    """True if a known mistake agrees with a case whose wrong elements are not finite."""
    finite = any(math.isfinite(one.actual) for one in case.mismatches)
    return "known mistake" in (case.pattern or "") and bool(case.mismatches) and not finite


def _unexplained(case: CaseResult) -> bool:
    """True if the case names no cause of its own, or one that holds by chance in one case."""
    return not names_cause(case.pattern) or bool(_OFTEN_BY_CHANCE.search(case.pattern or ""))


def _kind(case: CaseResult) -> str:
    """Return the pattern without numbers and without what was launched."""
    return alike((case.pattern or "").partition("; ")[0])


def names_cause(pattern: str | None) -> bool:
    """True if the pattern of wrong elements names the mistake, not only where it shows."""
    return pattern is not None and bool(matching_hint(pattern, "pattern"))


def _rank(case: CaseResult) -> int:
    """Return the place of the case's pattern among the hints, which are in order of strength."""
    known = [*hints("pattern"), *hints("symptom")]
    places = (at for at, one in enumerate(known) if re.search(one, case.pattern or ""))
    return next(places, len(known))


def _diagnosis_of(lead: CaseResult, cases: Sequence[CaseResult]) -> str:
    """Return the sentence that leads: the cause as far as it is known, and where it shows."""
    what = lead.pattern or lead.message
    if lead.pattern and lead.verdict is Verdict.RUNTIME_ERROR:
        what = f"{lead.message}, {lead.pattern}"
    if lead.mismatched and not lead.pattern:
        what = f"{what}, without a pattern that is known"
    # The words about a launch that is too small say where.
    rest = "" if " ran with " in what else rest_of_groups(cases)
    where = rest or separating_property(cases)
    return f"{what} ({case_text(lead.name, lead.sizes, lead.title)})" + (
        f"; {where}" if where else ""
    )


def hidden_elsewhere(
    cases: int, weight: int | None = None
) -> list[CheckOutcome[CorrectnessEvidence]]:
    """Return the outcome of hidden cases that only the course's grader has; [] for none.

    They count for as many visible cases as `weight`, or as their number.
    """
    if not cases:
        return []
    message = f"{cases} hidden case{'s' * (cases > 1)}, graded by the course"
    return [
        CheckOutcome(
            diagnosis=Diagnosis(Verdict.NOT_MEASURED, message),
            wall_s=0.0,
            label="correctness, hidden",
            weight=weight or cases,
            visibility=Visibility.HIDDEN,
            elsewhere=True,
        )
    ]


def always_timed_out(outcomes: Sequence[CheckOutcome[CorrectnessEvidence]]) -> bool:
    """True if cases were run and every call exceeded its time limit."""
    cases = [case for one in outcomes if one.evidence for case in one.evidence.cases]
    return {case.verdict for case in cases} - {Verdict.SKIPPED} == {Verdict.TIME_LIMIT}


def _verdict_on(cases: Sequence[CaseResult]) -> Verdict:
    """Return the verdict on a group of cases, which earns points only if every case does.

    A worker can claim that a case was not measured, so such a case never helps.
    """
    verdict = aggregate(case.verdict for case in cases)
    all_earn = all(case.verdict.earns_points for case in cases)
    return verdict if all_earn or not verdict.earns_points else Verdict.NOT_MEASURED
