"""The rules check: a kernel must do the work itself; staff get flags for suspicious text."""

from __future__ import annotations

from collections.abc import Sequence

from grader.build.artifact import Rejected
from grader.checks.check import Check, CheckContext, CheckOutcome, Cost, HostCode
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.common.small_case import small_case, unknown_small_case
from grader.checks.rules.symbol_rules import NO_BROKEN_RULE, suspicious_text
from grader.report.evidence import BrokenRule, RulesEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Visibility


class KernelRulesCheck(Check[RulesEvidence]):
    """Tests whether a kernel obeys the rules; a kernel that may use torch has none."""

    name = CheckName.RULES
    cost = Cost.CASES
    needs_correct = False

    def applies(self, context: CheckContext) -> bool:
        """Check kernels that must not use torch."""
        return not context.file.is_program and not context.file.kernel.rules.torch_allowed

    def run(self, context: CheckContext) -> Sequence[CheckOutcome[RulesEvidence]]:
        """Inspect the kernel, unless its cases are wrong and it would run again."""
        from grader.checks.rules.inspection import check_rules

        if context.correct is False and context.file.language.imported:
            return ()
        outcome = check_rules(
            context.setup(),
            "\n".join([context.file.source.text, *context.file.source.header_texts.values()]),
            context.cases,
            context.data,
            host=self._host_code(context),
            host_work=self._host_work(context),
        )
        return reported(outcome)

    def lines(self, evidence: RulesEvidence) -> Sequence[str]:
        """Return the flags for staff; students see an outcome with a broken rule only."""
        return [] if evidence.broken else [f"for staff: {flag}" for flag in evidence.flags]

    @staticmethod
    def _host_code(context: CheckContext) -> HostCode | None:
        """Return what was seen of the host code, unless it leaves a question open."""
        host = next((one.host for one in context.outcomes(CheckName.CORRECTNESS)), None)
        complete = context.correct  # else some case may not have run
        return host if host is not None and (complete or host.wrote) else None

    @staticmethod
    def _host_work(context: CheckContext) -> BrokenRule | None:
        """Return the rule that the host code of a right kernel breaks."""
        from grader.checks.rules.host_work import can_tell, find_host_work

        file = context.file
        wanted = context.support.host_is_native and not file.kernel.rules.host_allowed
        if not wanted or context.correct is False:
            return None
        checked = context.checked_build()
        if isinstance(checked, Rejected):
            return None
        case = unknown_small_case(context.assignment, context.cases)
        if case is None or not can_tell(context.assignment, case):
            case = small_case(context.assignment, file.language, context.public_seed)
        setup = context.setup(checked.built, private=False)
        return find_host_work(setup, checked.text, (case, context.data(case)))


class ProgramRulesCheck(Check[RulesEvidence]):
    """Flags suspicious text in main.cu for staff; it breaks no rule."""

    name = CheckName.RULES
    cost = Cost.PROGRAM
    needs_correct = False

    def applies(self, context: CheckContext) -> bool:
        """Check the student's program."""
        return context.file.is_program

    def run(self, context: CheckContext) -> Sequence[CheckOutcome[RulesEvidence]]:
        """Flag suspicious words in the source of a program that has run."""
        if not any(outcome.evidence for outcome in context.outcomes(CheckName.PROGRAM)):
            return ()
        flags = suspicious_text(context.file.source.text, program=True)
        return reported(
            CheckOutcome(
                diagnosis=Diagnosis(Verdict.ACCEPTED, NO_BROKEN_RULE),
                evidence=RulesEvidence(broken=(), flags=flags),
                visibility=Visibility.HIDDEN,
            )
        )


def reported(outcome: CheckOutcome[RulesEvidence]) -> Sequence[CheckOutcome[RulesEvidence]]:
    """Return the outcome if there is a broken rule or a flag to report, else nothing."""
    evidence = outcome.evidence
    silent = outcome.verdict is Verdict.ACCEPTED and (evidence is None or not evidence.flags)
    return () if silent else (outcome,)
