"""Tasks of a verification, and the worker pool that does them and returns rows.

The command-line process makes a task, and a pool worker, which has torch and a Python
server, does it. A failure inside a task becomes a row of that task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from grader.assignment.model import Assignment
from grader.commands.verify import judgement
from grader.commands.verify.patches import patched_files
from grader.commands.verify.row import Row, State
from grader.commands.verify.samples import Expectation, Sample
from grader.errors import GraderError
from grader.grading.context import import_judging
from grader.grading.plan import Options
from grader.pool import process_pool
from grader.pool.state import WorkerState
from grader.report.model import Report
from grader.submission.reader import SourceFile, Submission, read_submission
from grader.vocabulary import CheckName, Device, Language

# Far more than any task takes, including waits for a GPU. Submissions and oracles have limits: only
# the grader itself can hang.
_PATIENCE_S = 900.0
_TIMED = frozenset({"too_slow", "tampered"})
# Samples that must exceed the time limit get less time than a student's kernel, to save a minute
# each. A sample that takes longer than these limits but not the real ones belongs in too_slow/.
_SAMPLE_CALL_S = {Device.CPU: 0.1, Device.CUDA: 0.25}  # a GPU's first call may load a module
_SAMPLE_LOAD_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A piece of work; tasks with the largest `weight` (seconds) start first.

    `subject` is that of its rows. `do` is a function of a module and its arguments
    (`functools.partial`), because a task is pickled; it raises GraderError.
    """

    assignment: str
    subject: str
    detail: str = ""
    weight: float
    do: Callable[[WorkerState], tuple[Row, ...]]

    @property
    def title(self) -> str:
        """The text for the progress line."""
        detail = f", {self.detail}" if self.detail else ""
        return f"{self.assignment} · {self.subject}{detail}"


class Pool(process_pool.Pool[Task, tuple[Row, ...]]):
    """A pool of `jobs` processes; use as a context manager, from the main thread."""

    def __init__(self, jobs: int, patience_s: float = _PATIENCE_S) -> None:
        super().__init__(
            jobs,
            f"{__name__}:rows_of",
            lambda task, message: (failed(task, message),),
            patience_s=patience_s,
        )


def rows_of(task: Task, state: WorkerState) -> tuple[Row, ...]:
    """Do a task; return its rows, or a row with the grader error."""
    try:
        return task.do(state)
    except GraderError as error:
        return (failed(task, error.message),)
    except Exception as error:
        return (failed(task, f"{type(error).__name__}: {error}"),)


def failed(task: Task, message: str) -> Row:
    """Return the row of a task that has no result."""
    return Row(
        assignment=task.assignment,
        subject=task.subject,
        check="verdict",
        state=State.FAILED,
        expected="a result",
        actual="the grader failed",
        note=message,
    )


def grade_sample(
    assignment: Assignment,
    sample: Sample,
    stated: Expectation | None,
    options: Options,
    state: WorkerState,
) -> tuple[Row, ...]:
    """Prove that a sample gets its folder's verdict and meets its first line.

    Without one, of a memory error, propose it.
    """
    expectation = stated or Expectation()
    by_time = expectation.check == CheckName.PERFORMANCE or sample.verdict in _TIMED
    if not (options.checks or by_time):
        # Speed has no influence on this verdict.
        options = replace(options, checks=frozenset(CheckName) - {CheckName.PERFORMANCE})
    if sample.verdict == "time_limit":
        limits = replace(
            assignment.limits,
            call_s=min(assignment.limits.call_s, _SAMPLE_CALL_S[options.device]),
            load_s=min(assignment.limits.load_s, _SAMPLE_LOAD_S),
        )
        assignment = replace(assignment, limits=limits)
    if sample.has_program:
        options = replace(options, kernels=frozenset())
    submission = submission_of(sample, assignment)
    if stated is None:
        report = state.grade(assignment, submission, options)
        return (judgement.propose_fault(sample, report),)

    def judge(report: Report) -> Row:
        return judgement.judge_sample(sample, stated, report, options.device)

    if stated.message is not None:
        return (judge(state.grade(assignment, submission, options)),)
    return (_by_verdict(assignment, submission, options, judge, state),)


def _by_verdict(
    assignment: Assignment,
    submission: Submission,
    options: Options,
    judge: Callable[[Report], Row],
    state: WorkerState,
) -> Row:
    """Grade, and judge a report in which nothing explains wrong results: only verdicts count.

    A row that differs shall say more, so it is that of another grading, if it differs again.
    """
    row = judge(state.grade(assignment, submission, replace(options, explain=False)))
    if row.state.wrong:
        again = judge(state.grade(assignment, submission, options))
        return again if again.state.wrong else row
    return row


def submission_of(sample: Sample, assignment: Assignment) -> Submission:
    """Return the sample as it is handed in, with the solved files of its kernel that it lacks.

    Raises ValueError, with a sentence, if its patch does not apply.
    """
    kernel = next(k for k in assignment.kernels if sample.file in k.paths)
    if sample.patch is None:
        submission = read_submission(sample.folder, assignment)
    else:
        files = {
            path: SourceFile(path=path, text=text)
            for path, text in patched_files(sample.patch, sample.folder).items()
            if path in kernel.paths
        }
        submission = Submission(source=sample.patch, files=files)
    paths = kernel.paths_in(Language(sample.language))
    missing = [path for path in paths if path not in submission]
    if not missing:
        return submission
    solved = read_submission(sample.reference, assignment).files
    added = {path: solved[path] for path in missing if path in solved}
    return replace(submission, files={**submission.files, **added})


def grade_folder(
    assignment: Assignment,
    folder: Path,
    options: Options,
    judge: Callable[[Report], Row],
    state: WorkerState,
) -> tuple[Row, ...]:
    """Grade the files in a folder, and judge the report."""
    submission = read_submission(folder, assignment)
    return (_by_verdict(assignment, submission, options, judge, state),)


def grade_trivial(
    assignment: Assignment,
    texts: dict[str, str],
    subject: str,
    check: str,
    options: Options,
    state: WorkerState,
) -> tuple[Row, ...]:
    """Prove that a kernel that does no work is built and earns nothing; `texts` are by path."""
    files = {path: SourceFile(path=path, text=text) for path, text in texts.items()}
    submission = Submission(source=Path("made by grade verify"), files=files)
    judge = partial(judgement.judge_trivial, subject, check)
    return (_by_verdict(assignment, submission, options, judge, state),)


def prove_oracle(
    assignment: Assignment, languages: Sequence[Language], options: Options, state: WorkerState
) -> tuple[Row, ...]:
    """Prove the oracle's properties, and that the comparison refuses mutants.

    In all `languages` the cases, types and tolerances are the same, and so are the rows.
    """
    import_judging()
    # Imports torch, which the command-line process does not need.
    from grader.commands.verify.oracle_proofs import oracle_rows

    first = languages[0]
    rows = list(oracle_rows(assignment, first, options.device, options.secret_seed))
    return tuple(
        replace(row, subject=f"{row.subject.removesuffix(first.phrase)}{language.phrase}")
        for language in languages
        for row in rows
    )
