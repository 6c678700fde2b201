"""Grade one hand-in for one assignment.

    plan        which kernels, in which languages, were handed in
    build       all of them, in threads, while torch is imported here
    check       each built one in turn
    score       points, the better language, the report
"""

from __future__ import annotations

import importlib.metadata
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grader import sandbox, score
from grader.build.product import Built, Rejected
from grader.build.unit import build
from grader.errors import GraderError, ToolError
from grader.fingerprint import fingerprint, read_stubs
from grader.gpu import Gpu
from grader.progress import Progress
from grader.report import CheckResult, KernelResult, Report
from grader.spec import Assignment, Kernel
from grader.submission import HandIn, Submission
from grader.verdict import Verdict
from grader.words import CheckName, Device, Language, Visibility

if TYPE_CHECKING:
    # They import torch, which takes a second: only once the compilers are busy.
    from grader.judge.oracle import Oracle
    from grader.judge.server import PythonServer
    from grader.worker import cuda_driver

Transport = Literal["shared", "private"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is asked for. Empty filters leave nothing out.

    `gpu` is the one to use, None for the CPU. `transport` None means shared
    memory where a probe shows that it works.
    """

    gpu: Gpu | None = None
    kernels: frozenset[str] = frozenset()
    languages: frozenset[Language] = frozenset()
    checks: frozenset[CheckName] = frozenset()
    public_seed: int = 0
    secret_seed: int = 0
    transport: Transport | None = None

    @property
    def device(self) -> Device:
        """The device to grade on."""
        return Device.CPU if self.gpu is None else Device.CUDA

    @property
    def filtered(self) -> bool:
        """True if something is left out on request."""
        return bool(self.kernels or self.languages or self.checks)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    """One file to grade."""

    kernel: Kernel
    language: Language
    hand_in: HandIn

    @property
    def title(self) -> str:
        return f"{self.kernel.name} · {self.language.phrase}"


def grade(
    assignment: Assignment, submission: Submission, options: Options, progress: Progress
) -> Report:
    """Grade `submission`; a student's failures are in the report, ours are raised.

    Raises GraderError for what is wrong with the assignment or this machine as
    a whole; what goes wrong with one kernel only is its `grader_error`.
    """
    started_s = time.monotonic()
    kernels = [k for k in assignment.kernels if not options.kernels or k.name in options.kernels]
    units = {kernel.name: _units(assignment, submission, kernel, options) for kernel in kernels}
    everything = [unit for several in units.values() for unit in several]
    with _workshop(assignment, options, everything) as shop:
        results: list[KernelResult] = []
        for kernel in kernels:
            graded = [shop.grade(unit, progress) for unit in units[kernel.name]]
            results += score.count_better(graded) or [
                score.not_submitted(kernel, _absence(assignment, submission, kernel, options))
            ]
        environment = shop.environment()
    return score.assemble(
        assignment,
        results,
        filtered=options.filtered,
        wall_s=round(time.monotonic() - started_s, 3),
        environment=environment,
    )


def _units(
    assignment: Assignment, submission: Submission, kernel: Kernel, options: Options
) -> list[_Unit]:
    units = []
    for language, path in kernel.files.items():
        wanted = not options.languages or language in options.languages
        if wanted and path in submission and not _untouched(assignment, submission, path):
            hand_in = submission.files[path]
            units.append(_Unit(kernel=kernel, language=language, hand_in=hand_in))
    return units


def _untouched(assignment: Assignment, submission: Submission, path: str) -> bool:
    hand_in = submission.files[path]
    stubs = read_stubs(assignment.folder)
    return hand_in.problem is None and stubs.get(path) == fingerprint(hand_in.text)


def _absence(
    assignment: Assignment, submission: Submission, kernel: Kernel, options: Options
) -> str:
    """Say why a kernel counts as not handed in."""
    paths = [
        path
        for language, path in kernel.files.items()
        if not options.languages or language in options.languages
    ]
    stubs = [path for path in paths if path in submission]
    if stubs:
        return f"{' and '.join(stubs)}: the stub as handed out, not a solution yet"
    return f"no {' or '.join(paths)} in {submission.source}" if paths else "left out on request"


@contextmanager
def _workshop(
    assignment: Assignment, options: Options, units: Sequence[_Unit]
) -> Iterator[_Workshop]:
    """Start all builds, and torch, side by side; end every process on the way out."""
    sandbox.become_subreaper()
    with tempfile.TemporaryDirectory(prefix="grade-") as folder:
        pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="build")
        shop = _Workshop(assignment, options, Path(folder), pool)
        try:
            shop.start(units)
            yield shop
        except BaseException:
            # Builds still running would be waited for; nobody wants their result.
            sandbox.kill_all()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            shop.close()
            sandbox.sweep()


class _Workshop:
    """What the grading of one hand-in shares: builds under way, oracle, server, driver."""

    def __init__(
        self, assignment: Assignment, options: Options, folder: Path, pool: ThreadPoolExecutor
    ) -> None:
        self._assignment = assignment
        self._options = options
        self._folder = folder
        self._pool = pool
        self._builds: dict[tuple[str, Language], Future[Built | Rejected]] = {}
        self._server: PythonServer | None = None
        self._oracle: Oracle | None = None
        self._driver: cuda_driver.Driver | None = None
        self._private = options.transport == "private"

    def start(self, units: Sequence[_Unit]) -> None:
        """Start the compilers, then the Python server, then import torch here."""
        gpu = self._options.gpu
        for unit in units:
            scratch = self._folder / unit.kernel.name / unit.language.value
            self._builds[unit.kernel.name, unit.language] = self._pool.submit(
                build,
                self._assignment,
                unit.hand_in,
                unit.language,
                self._options.device,
                architecture=gpu.compute_capability if gpu else None,
                scratch=scratch,
            )
        if any(unit.language is Language.TRITON for unit in units):
            # Spawned from here, not from the pool: it dies with its thread.
            from grader.judge.server import PythonServer

            self._server = PythonServer(self._options.device)

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.close()

    def grade(self, unit: _Unit, progress: Progress) -> KernelResult:
        """Build and check one file."""
        checks: list[CheckResult] = []
        try:
            with progress.step(f"{unit.title} · build"):
                built = self._builds[unit.kernel.name, unit.language].result()
            checks.append(_build_check(built))
            if isinstance(built, Built):
                checks += self._correctness(unit, built, progress)
            else:
                checks += _after_rejection(unit.kernel, built)
        except GraderError as error:
            checks.append(_grader_error(unit.kernel, error))
        return score.kernel_result(unit.kernel, unit.language, checks)

    def _correctness(
        self, unit: _Unit, built: Built, progress: Progress
    ) -> list[CheckResult]:
        """Run the cases; one entry for the visible ones, one for each hidden kind."""
        checks = self._options.checks
        if checks and CheckName.CORRECTNESS not in checks:
            return []
        from grader.check.correctness import Bench, check_correctness

        self._prepare()
        assert self._oracle is not None
        oracle = self._oracle
        cases = self._cases(unit.language)
        bench = Bench(
            assignment=self._assignment,
            built=built,
            server=self._server,
            driver=self._driver,
            private=self._private,
        )
        with progress.step(f"{unit.title} · correctness", total=len(cases)) as step:
            verified = check_correctness(
                bench, cases, lambda case: oracle.data(case, unit.language), step.advance
            )
        evidence = CorrectnessEvidence(
            cases=verified.cases,
            cases_total=len(cases),
            transport="private" if self._private else "shared",
            output=verified.output,
            **_tolerance(self._assignment, unit.language),
        )
        return list(score.correctness_checks(unit.kernel, evidence))
