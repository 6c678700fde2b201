"""The rules check: a kernel does the work itself; staff get flags for what looks odd."""

from __future__ import annotations

from collections.abc import Sequence

from grader.checks.check import Check, CheckContext, CheckOutcome, Cost
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.rules.symbol_rules import KEPT, worth_a_look
from grader.report.evidence import RulesEvidence
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Language, Visibility


class KernelRulesCheck(Check[RulesEvidence]):
    """Does a kernel keep the rules? One that may use torch has none to keep."""

    name = CheckName.RULES
    evidence = RulesEvidence
    cost = Cost.CASES
    needs_correct = False

    def applies(self, context: CheckContext) -> bool:
        """Look at kernels which the assignment wants written by hand."""
        return not context.file.is_program and not context.file.kernel.rules.torch_allowed

    def run(self, context: CheckContext) -> Sequence[CheckOutcome[RulesEvidence]]:
        """Inspect the kernel. A Triton kernel whose cases are wrong need not run once more."""
        from grader.checks.rules.inspection import check_rules

        if context.correct is False and context.file.language is Language.TRITON:
            return ()
        outcome = check_rules(
            context.setup(), context.file.source.text, context.cases, context.data
        )
        return reported(outcome)


class ProgramRulesCheck(Check[RulesEvidence]):
    """What staff may want to look at in main.cu; it breaks no rule."""

    name = CheckName.RULES
    evidence = RulesEvidence
    cost = Cost.PROGRAM
    needs_correct = False

    def applies(self, context: CheckContext) -> bool:
        """Look at the student's program."""
        return context.file.is_program

    def run(self, context: CheckContext) -> Sequence[CheckOutcome[RulesEvidence]]:
        """Flag words in the text of a program that has run."""
        if not any(outcome.evidence for outcome in context.outcomes(CheckName.PROGRAM)):
            return ()
        flags = worth_a_look(context.file.source.text, program=True)
        return reported(
            CheckOutcome(
                diagnosis=Diagnosis(Verdict.ACCEPTED, KEPT),
                evidence=RulesEvidence(broken=(), flags=flags),
                visibility=Visibility.HIDDEN,
            )
        )


def reported(outcome: CheckOutcome[RulesEvidence]) -> Sequence[CheckOutcome[RulesEvidence]]:
    """Return what the report says: a broken rule to the student, flags to staff, else nothing."""
    evidence = outcome.evidence
    silent = outcome.verdict is Verdict.ACCEPTED and (evidence is None or not evidence.flags)
    return () if silent else (outcome,)
