"""The state of one kernel file while it is graded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from grader.build.artifact import Built, Rejected
from grader.checks.check import CheckOutcome, KernelFile
from grader.errors import GraderError
from grader.report.evidence import MemoryEvidence
from grader.vocabulary import CheckName


@dataclass(slots=True, kw_only=True)
class FileState:
    """The build of a file and the outcomes of its checks.

    `build` is None until the compiler has finished. `failure` is a check and the grader's own error
    in it, which ends the file's checks.
    """

    file: KernelFile
    build: Built | Rejected | None = None
    found: dict[CheckName, tuple[CheckOutcome[Any], ...]] = field(default_factory=dict)
    failure: tuple[CheckName, GraderError] | None = None

    def copy(self) -> FileState:
        """Return a copy that later checks do not change."""
        return replace(self, found=dict(self.found))

    def fail(self, check: CheckName, error: GraderError) -> None:
        """Note the grader's error in a check; of several the one of the first check stays."""
        order = tuple(CheckName).index
        if self.failure is None or order(check) < order(self.failure[0]):
            self.failure = check, error

    def reset(self) -> None:
        """Forget all checks, and what they made of the build."""
        self.build, self.failure = None, None
        self.found.clear()

    @property
    def correct(self) -> bool | None:
        """Whether the cases are right; None if that is unknown or was filtered out."""
        return not self.stops and all_right(self.found.get(CheckName.CORRECTNESS, ()))

    @property
    def stops(self) -> bool:
        """True if a kernel has an access at which every GPU stops, whatever a CPU computes."""
        found = (one.evidence for one in self.found.get(CheckName.MEMORY, ()))
        return any(
            finding.kind == "misaligned" and finding.severity == "error" and finding.kernel
            for evidence in found
            if isinstance(evidence, MemoryEvidence)
            for finding in evidence.findings
        )

    @property
    def failed(self) -> bool:
        """True if the build or a check was judged and earns no points, or the grader failed."""
        verdicts = [outcome.verdict for found in self.found.values() for outcome in found]
        if isinstance(self.build, Rejected):
            verdicts.append(self.build.verdict)
        lost = any(verdict.judged and not verdict.earns_points for verdict in verdicts)
        return lost or self.failure is not None


def all_right(outcomes: Sequence[CheckOutcome[Any]]) -> bool | None:
    """True if all outcomes earn points; None if there is none, or some are pending.

    Cases that another grader runs do not count.
    """
    verdicts = [outcome.verdict for outcome in outcomes if not outcome.elsewhere]
    if not all(verdict.earns_points or verdict.pending for verdict in verdicts):
        return False
    return None if not verdicts or any(verdict.pending for verdict in verdicts) else True
