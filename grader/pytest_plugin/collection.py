"""Collects a submission: an item for each case and each check of its source files.

    silu                            an assignment
      cuda                          one of its files, graded when its first item runs
        correctness[n=257]          a visible case
        correctness[hidden]         all hidden cases: number, verdicts and largest error only
        memory                      a check

Collecting reads the spec and the source files, and starts nothing. The kernel's name comes between
if it is not the assignment's: `gemm::v2_tiled::cuda::memory`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest

from grader.assignment.model import Kernel
from grader.errors import GraderError, UsageError
from grader.grading.plan import Options, absence_reason, make_plan
from grader.grading.selection import Selected, chosen_assignments, chosen_device, selected
from grader.pytest_plugin.graded_file import GradedFile, Outcome
from grader.vocabulary import CheckName, Device, Language, Visibility

_N = TypeVar("_N", bound=pytest.Item | pytest.Collector)

# The property of a test's report that names its file's verdict and points.
GRADED = "graded"


class SubmissionTests:
    """The plugin that `--grade` registers."""

    def __init__(self, source: str, assignments: Sequence[str], device: str) -> None:
        self._source = source
        self._assignments = tuple(assignments)
        self._device = device

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Add the submission to what the session collects. Raises UsageError."""
        report = yield
        if isinstance(collector, pytest.Session):
            try:
                report.result = [*(report.result or ()), *self._collectors(collector)]
            except GraderError as error:
                tip = f"\n  tip: {error.tip}" if error.tip else ""
                raise pytest.UsageError(f"--grade: {error.message}{tip}") from None
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Name the submission's file, not this one, as the place of a skipped test."""
        report = yield
        ours = isinstance(item, (GradedItem, AbsentItem))
        if ours and report.skipped and isinstance(report.longrepr, tuple):
            place: Any = (str(item.path), None, report.longrepr[2])  # without a line
            report.longrepr = place
        return report

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print verdict and points of each file."""
        reports = [one for some in terminalreporter.stats.values() for one in some]
        properties = [pair for one in reports for pair in getattr(one, "user_properties", ())]
        lines = dict.fromkeys(value for name, value in properties if name == GRADED)
        if lines:
            terminalreporter.section("graded")
            for line in lines:
                terminalreporter.write_line(line)

    def _collectors(self, session: pytest.Session) -> Iterator[pytest.Collector]:
        self._check_words()
        gpu = chosen_device(self._device)
        device = Device.CPU if gpu is None else Device.CUDA
        for one in selected(self._assignments, Path(self._source), (), ()):
            if not one.submission.files:
                kernel = one.assignment.kernels[0]
                reason = absence_reason(one.assignment, one.submission, kernel, Options())
                raise UsageError(f"{one.assignment.name}: {reason}")
            name = one.assignment.name
            yield AssignmentNode.from_parent(
                session, name=name, nodeid=name, one=one, device=device, source=self._source
            )

    def _check_words(self) -> None:
        """Raise UsageError if the folder or an assignment does not exist."""
        if not Path(self._source).exists():
            raise UsageError(f"there is no submission at {self._source}", tip="name its folder")
        try:
            chosen_assignments(self._assignments)
        except UsageError:
            for word in self._assignments:
                if Path(word).exists():
                    raise UsageError(
                        f"there is no assignment `{word}`",
                        tip="paths of other tests stand before --grade",
                    ) from None
            raise


class AssignmentNode(pytest.Collector):
    """One assignment: a node for each submitted file, an item for each absent kernel."""

    def __init__(self, *, one: Selected, device: Device, source: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._one = one
        self._device = device
        self._source = source

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield the nodes in the order of the spec."""
        assignment, submission = self._one.assignment, self._one.submission
        options = Options(kernels=self._one.kernels, languages=self._one.languages)
        for kernel, files in make_plan(assignment, submission, options).kernels:
            prefix = "" if kernel.name == assignment.name else f"{kernel.name}::"
            if not files:
                reason = absence_reason(assignment, submission, kernel, options)
                path = Path(self._source).absolute()
                yield _child(AbsentItem, self, f"{prefix}submitted", path=path, reason=reason)
            for file in files:
                named = self._one.paths.get(file.source.path, self._source)
                yield _child(
                    FileNode,
                    self,
                    f"{prefix}{file.language}",
                    path=Path(named).absolute(),
                    one=self._one,
                    kernel=kernel,
                    language=file.language,
                    device=self._device,
                    source=self._source,
                )


class FileNode(pytest.Collector):
    """One source file: an item for each visible case and each check."""

    def __init__(
        self,
        *,
        one: Selected,
        kernel: Kernel,
        language: Language,
        device: Device,
        source: str,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._one = one
        self._kernel = kernel
        self._language = language
        self._device = device
        self.graded = GradedFile(
            assignment=one.assignment.name,
            kernel=kernel.name,
            language=language,
            device=device,
            source=Path(source),
        )

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the items in the order of a report."""
        for check in CheckName:
            if check == CheckName.CORRECTNESS and check in self._kernel.points:
                yield from self._cases()
            elif check in self._kernel.points or check == CheckName.BUILD or self._has(check):
                yield _child(GradedItem, self, str(check), check=check)

    def _has(self, check: CheckName) -> bool:
        return check == CheckName.RULES and not self._kernel.rules.torch_allowed

    def _cases(self) -> Iterator[pytest.Item]:
        assignment = self._one.assignment.of(self._kernel)
        drawn = assignment.draw_cases(self._device, self._language, public_seed=0, secret_seed=0)
        for case in drawn:
            if case.visibility is Visibility.VISIBLE:
                yield _child(
                    GradedItem,
                    self,
                    f"{CheckName.CORRECTNESS}[{case.name}]",
                    check=CheckName.CORRECTNESS,
                    case=case.name,
                )
        others = {case.visibility for case in drawn} - {Visibility.VISIBLE}
        if assignment.hidden_elsewhere:
            others.add(Visibility.HIDDEN)
        for visibility in sorted(others):
            yield _child(
                GradedItem,
                self,
                f"{CheckName.CORRECTNESS}[{visibility}]",
                check=CheckName.CORRECTNESS,
                visibility=visibility,
            )


def _child(kind: type[_N], parent: pytest.Collector, name: str, **arguments: Any) -> _N:
    """Return a node below `parent`; its id is parsed from text, as `--lf` compares parsed ids."""
    nodeid = f"{parent.nodeid}::{name}"
    return cast(_N, kind.from_parent(parent, name=name, nodeid=nodeid, **arguments))


class FailedCheckError(Exception):
    """A check or case that the submission does not pass; the message is for the student."""


class GradedItem(pytest.Item):
    """One check, or one case of the correctness check."""

    parent: FileNode

    def __init__(
        self,
        *,
        check: CheckName,
        case: str | None = None,
        visibility: Visibility = Visibility.VISIBLE,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._check = check
        self._case = case
        self._visibility = visibility

    def runtest(self) -> None:
        """Grade the file if this is its first item; fail or skip with the report's sentences."""
        file = self.parent.graded
        try:
            outcome, text = file.outcome(self._check, self._case, self._visibility)
        except GraderError as error:
            raise FailedCheckError(f"not graded: {error.message}") from None
        self.user_properties.append((GRADED, file.summary()))
        if outcome is Outcome.SKIPPED:
            pytest.skip(text)
        if outcome is Outcome.FAILED:
            raise FailedCheckError(text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the sentences, without a traceback; also those of a time-out."""
        if isinstance(excinfo.value, (FailedCheckError, pytest.fail.Exception)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the source file, and the test's whole name as the title of its failure."""
        return self.path, None, self.nodeid


class AbsentItem(pytest.Item):
    """A kernel of which no file was handed in."""

    def __init__(self, *, reason: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._reason = reason

    def runtest(self) -> None:
        """Skip."""
        pytest.skip(self._reason)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the title."""
        return self.path, None, self.nodeid
