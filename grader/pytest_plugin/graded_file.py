"""One source file of a submission: graded once, then asked for each check and case."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from grader.commands.local_process import run_local
from grader.errors import GraderError
from grader.formats import student_view
from grader.report.evidence import CorrectnessEvidence
from grader.report.model import CheckResult, KernelResult
from grader.report.reader import read_report
from grader.report.verdict import Verdict
from grader.text.numbers import points
from grader.vocabulary import CheckName, Device, Language, Visibility


class Outcome(Enum):
    """What pytest shows for a check or case."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


Result = tuple[Outcome, str]  # with the sentences that a student reads
_RUNS = (CheckName.CORRECTNESS, CheckName.PROGRAM)
_PASSED: Result = (Outcome.PASSED, "")


@dataclass(slots=True, kw_only=True)
class GradedFile:
    """A source file of `source`, which is a folder, an archive or the file itself."""

    assignment: str
    kernel: str
    language: Language
    device: Device
    source: Path
    _result: KernelResult | None = field(default=None, init=False)
    _failure: GraderError | None = field(default=None, init=False)

    def outcome(self, check: CheckName, case: str | None, visibility: Visibility) -> Result:
        """Return the outcome of a check, or of a visible case; grade the file if need be.

        Raises GraderError if it cannot be graded.
        """
        kernel = self._graded()
        lines = [line for line in kernel.checks if line.check == check]
        if check == CheckName.CORRECTNESS:
            lines = [line for line in lines if line.visibility is visibility]
        if not lines:
            return _without_lines(kernel, check)
        if case is not None:
            return _of_case(lines[0], case)
        results = [_of_check(line) for line in lines]
        return next((one for one in results if one[0] is Outcome.FAILED), results[0])

    def summary(self) -> str:
        """Return the file's verdict and points."""
        kernel = self._graded()
        won = "no score"
        if kernel.score is not None:
            won = f"{points(kernel.score)} / {points(kernel.max_score)} points"
        pending = f", {points(kernel.pending)} pending" if kernel.pending else ""
        file = student_view.safe_line(kernel.file or "")
        return f"{student_view.label(kernel)} · {file}: {kernel.verdict.phrase}, {won}{pending}"

    def _graded(self) -> KernelResult:
        if self._failure is not None:
            raise self._failure
        if self._result is None:
            with tempfile.TemporaryDirectory(prefix="pytest-grade-") as scratch:
                file = Path(scratch) / "report.json"
                try:
                    run_local([*self._words(), "--json", file], lambda _: None)
                except GraderError as error:
                    self._failure = error
                    raise
                except BaseException:  # Ctrl-C, pytest-timeout: keep what was graded before
                    self._result = self._read(file) if file.is_file() else None
                    if self._result is None:
                        self._failure = GraderError("the grading was interrupted")
                    raise
                self._result = self._read(file)
        return self._result

    def _words(self) -> Sequence[str | Path]:
        words: list[str | Path] = [self.assignment, "--from", self.source, "--kernel", self.kernel]
        return [*words, "--language", self.language, "--device", self.device]

    def _read(self, file: Path) -> KernelResult:
        kernels = read_report(file).kernels
        return next(one for one in kernels if one.language is self.language)


def _without_lines(kernel: KernelResult, check: CheckName) -> Result:
    """Return the outcome of a check that the report does not have."""
    if kernel.verdict is Verdict.GRADER_ERROR:
        return Outcome.SKIPPED, "not graded: the grader failed in another check"
    if check != CheckName.RULES:
        return Outcome.SKIPPED, "not checked here"
    run = [one for one in kernel.checks if one.check in _RUNS and one.evidence is not None]
    if not run:
        return Outcome.SKIPPED, "not checked: nothing was run"
    # Of a kernel that runs again for them the rules are inspected only if its cases are right.
    imported = kernel.language is not None and kernel.language.imported
    if imported and not all(one.verdict.earns_points for one in run):
        return Outcome.SKIPPED, "not checked: see correctness"
    return _PASSED


def _of_check(check: CheckResult) -> Result:
    visible = check.visibility is Visibility.VISIBLE
    if check.verdict.earns_points:
        return _PASSED
    if check.verdict.judged or check.verdict is Verdict.GRADER_ERROR:
        return Outcome.FAILED, student_view.visible_text(check)
    reason = check.message if visible else student_view.visible_text(check)
    return Outcome.SKIPPED, student_view.safe_line(reason, 300)


def _of_case(check: CheckResult, name: str) -> Result:
    evidence = check.evidence
    if not isinstance(evidence, CorrectnessEvidence):
        return _of_check(check)
    case = next((one for one in evidence.cases if one.name == name), None)
    if case is None:
        return Outcome.SKIPPED, "not run: an earlier case failed"
    if case.verdict.earns_points:
        return _PASSED
    if not case.verdict.judged:
        return Outcome.SKIPPED, student_view.safe_line(case.message, 300)
    return Outcome.FAILED, student_view.visible_case(check, evidence, case)
