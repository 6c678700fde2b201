"""The correctness check: all cases, and what the language adds to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from grader.checks.check import Check, CheckContext, CheckOutcome, Cost, HostCode, WatchedCase
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.small_case import smallest_case
from grader.checks.correctness.case_property import rest_of_groups, separating_property
from grader.checks.correctness.leading_case import leading_case
from grader.report.evidence import CaseResult, CorrectnessEvidence
from grader.report.verdict import Verdict, aggregate
from grader.text.hints import hints, matching_hint
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
        from grader.checks.correctness.without_gpu import explained_without_gpu

        records: dict[str, list[dict[str, Any]]] = {}

        def keep(record: dict[str, Any]) -> None:
            records.setdefault(str(record.get("record")), []).append(record)

        context.set_steps(len(context.cases))
        executed = context.file.language.imported and context.device is Device.CPU
        watched: list[WatchedCase] = []
        setup = replace(context.setup(), watched=_to_watch(context) if executed else frozenset())
        context.support.before_cases(context, setup)
        verified = check_correctness(
            setup,
            context.cases,
            context.data,
            context.advance,
            keep,
            context.oracle,
            on_watched=watched.append,
            explain=context.explains,
        )
        verified = context.support.after_cases(context, verified, records.get("launch", []))
        if context.device is Device.CUDA and context.explains:
            verified = explained_without_gpu(context, verified)
        outcomes = by_visibility(verified, context.assignment.weights)
        elsewhere = context.assignment.hidden_elsewhere
        outcomes += hidden_elsewhere(elsewhere, context.assignment.hidden_weight)
        host = None
        if executed:
            wrote, left = "host_wrote" in records, "host_left" in records
            host = HostCode(wrote=wrote, left=left, operations=operations(records.get("torch", [])))
        seen = watched if _first_is_clean(context, watched) else ()
        return [replace(one, host=host, watched=tuple(seen)) for one in outcomes]


def _to_watch(context: CheckContext) -> frozenset[str]:
    """Return the cases whose memory the executor of launches shall check while they are judged.

    The first one, too: its call finds scratch memory of the submission without a value, which later
    calls may keep. No case at all if that one is too large to be watched.
    """
    if not context.includes(CheckName.MEMORY) or CheckName.MEMORY not in context.file.kernel.points:
        return frozenset()
    cases, first = context.cases, context.cases[:1]
    if any(not case.memory and smallest_case(context.assignment, [case]) is None for case in first):
        return frozenset()
    return frozenset(case.name for case in cases if case.memory or case in first)


def _first_is_clean(context: CheckContext, watched: Sequence[WatchedCase]) -> bool:
    """True if the first call was watched, and nothing was found in a case that is not marked."""
    unmarked = [case.name for case in context.cases[:1] if not case.memory]
    told = [one.records for one in watched if one.case.name in unmarked]
    found = any(one.get("record") == "finding" for records in told for one in records)
    return len(told) == len(unmarked) and not found


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
