"""Gradings of a verification: each expectation can fail."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import pytest
from course import CUDA, TORCH, Course
from slow import slow_unless

from grader.assignment.model import Assignment
from grader.commands.verify.plan import plan
from grader.commands.verify.row import Row, State, proof
from grader.commands.verify.run import _write_first_lines
from grader.commands.verify.tasks import grade_folder, rows_of
from grader.grading.plan import Options
from grader.pool.state import WorkerState
from grader.report.model import Report
from grader.submission.reader import Submission
from grader.vocabulary import Language

pytestmark = pytest.mark.usefixtures("no_nvcc")

REFERENCE = "reference/affine/v1_simple.cu"
SHIFT = "reference/affine/samples/wrong_answer/forgot-the-shift/v1_simple.cu"
GUARD = "reference/affine/samples/memory_error/missing-guard/v1_simple.cu"
IN_CUDA = Options(languages=frozenset({Language.CUDA}))


def done(
    course: Course,
    state: WorkerState,
    options: Options,
    title: str = "",
    *,
    samples: tuple[str, ...] = (),
    repeat: int = 1,
) -> list[Row]:
    """Do the planned tasks with this title in this process."""
    rows, tasks = plan(course.assignment, course.root, options, samples=samples, repeat=repeat)
    tasks = [task for task in tasks if title in task.title]
    assert tasks or samples
    return [*rows, *(row for task in tasks for row in rows_of(task, state))]


def sample(course: Course, state: WorkerState, title: str) -> Row:
    (row,) = done(course, state, Options(), samples=(title,))
    return row


def by_check(rows: list[Row], check: str) -> Row:
    (row,) = (row for row in rows if row.check == check)
    return row


# ---- stubs, references, trivial submissions ----


def test_a_stub_that_scores_is_reported(course: Course, state: WorkerState) -> None:
    course.edit(REFERENCE, "    // TODO(student): about 1 line\n", "")
    course.edit(REFERENCE, "    // end\n", "    // TODO(student)\n    i;\n    // end\n")
    course.generate()
    row = by_check(done(course, state, IN_CUDA, "touched"), "touched")
    assert row.state is State.DIFFERS
    assert row.actual == "accepted with 80 points (correctness, correctness, hidden, memory)"


def test_a_stub_that_does_not_compile_is_reported(course: Course, state: WorkerState) -> None:
    course.edit("student_template/affine/v1_simple.cu", "__global__ void", "__global__ void (")
    row = by_check(done(course, state, IN_CUDA, "touched"), "touched")
    assert (row.state, row.actual) == (State.DIFFERS, "not built: compile error")


@pytest.mark.slow
def test_a_stub_whose_fingerprint_is_not_known_is_reported(
    course: Course, state: WorkerState
) -> None:
    course.edit("student_template/affine/v1_simple.cu", "TODO", "TO DO")
    row = by_check(done(course, state, IN_CUDA, "untouched"), "untouched")
    assert row.state is State.DIFFERS
    assert "python -m grader.assignment.generated" in row.note


def test_a_reference_that_fails_is_reported_with_its_seed(
    course: Course, state: WorkerState
) -> None:
    course.edit(REFERENCE, "+ shift;", "+ 0.6f;")
    options = Options(public_seed=5, secret_seed=5, languages=frozenset({Language.CUDA}))
    rows = done(course, state, options, "reference v1_simple.cu, seed", repeat=2)
    wrong = [row for row in rows if row.state is State.DIFFERS]
    assert [row.check for row in wrong] == ["accepted, seed 5", "accepted, seed 6"]
    assert wrong[0].actual == "wrong answer with 0 points"
    assert "every element is 0.1 too large" in wrong[0].note


@pytest.mark.slow
def test_zeros_that_are_accepted_are_reported(course: Course, state: WorkerState) -> None:
    course.edit("assignments/affine/oracle.py", '2 * x * w + inputs["shift"]', "0 * x")
    row = by_check(done(course, state, IN_CUDA, "zeros"), "writes zeros")
    assert row.state is State.DIFFERS
    assert row.actual == "forbidden with 0 points (correctness, correctness, hidden)"


def test_an_oracle_that_raises_is_the_graders_error(course: Course, state: WorkerState) -> None:
    course.edit("assignments/affine/oracle.py", "    x, w =", "    1 / 0\n    x, w =")
    row = sample(course, state, "block-of-32")
    assert row.state is State.FAILED
    assert "ZeroDivisionError" in row.note


def test_languages_with_equal_cases_share_one_proof_of_the_oracle(
    course: Course, state: WorkerState
) -> None:
    def titles() -> list[str]:
        _, tasks = plan(course.assignment, course.root, Options())
        return [task.subject for task in tasks if task.subject.startswith("oracle")]

    assert titles() == ["oracle, CUDA C++ and Triton"]
    rows = done(course, state, Options(), "oracle")
    subjects = {row.subject for row in rows if row.check in ("same seed", "one step past")}
    assert subjects == {
        f"{of}, {language}"
        for of in ("oracle", "comparison")
        for language in ("CUDA C++", "Triton")
    }
    each = "cuda = { atol = 1e-6, rtol = 1e-5 }, triton = { atol = 2e-6, rtol = 1e-5 }"
    course.edit("assignments/affine/assignment.toml", "atol = 1e-6, rtol = 1e-5", each)
    assert titles() == ["oracle, CUDA C++", "oracle, Triton"]


# ---- what explains wrong results ----


class Spy(WorkerState):
    """Notes for each grading if somebody reads what explains wrong results."""

    def __init__(self) -> None:
        super().__init__()
        self.explained: list[bool] = []

    def grade(self, assignment: Assignment, submission: Submission, options: Options) -> Report:
        self.explained.append(options.explain)
        return super().grade(assignment, submission, options)


@pytest.fixture
def spy() -> Iterator[Spy]:
    with contextlib.closing(Spy()) as state:
        yield state


def test_wrong_results_are_explained_only_where_a_row_shows_it(course: Course, spy: Spy) -> None:
    assert by_check(done(course, spy, IN_CUDA, ", touched"), "touched").state is State.AGREES
    assert spy.explained == [False]
    assert sample(course, spy, "forgot-the-shift/v1_simple.cu").state is State.AGREES
    assert spy.explained == [False, True]  # its first line quotes a message
    course.edit(SHIFT, 'message="wrong" ', "")
    course.edit(SHIFT, "weight[i];", "weight[i] + shift;")
    row = sample(course, spy, "forgot-the-shift/v1_simple.cu")
    assert (row.state, row.actual) == (State.DIFFERS, "accepted; by no check")
    assert spy.explained == [False, True, False, True]


def test_a_reference_that_fails_once_is_reported(course: Course, spy: Spy) -> None:
    def judge(report: Report) -> Row:
        failed = len(spy.explained) == 1
        return proof("affine", "reference", "accepted", expected="", problem="wrong" * failed)

    (row,) = grade_folder(
        course.assignment, course.root / "student_template" / "affine", IN_CUDA, judge, spy
    )
    assert spy.explained == [False, True]
    assert (row.state, row.actual) == (State.DIFFERS, "wrong")


# ---- samples ----


@pytest.mark.slow
def test_a_sample_slow_by_its_counters_needs_no_points_for_speed(
    course: Course, state: WorkerState
) -> None:
    slow = "samples/too_slow/one-thread/v1_simple.cu"
    course.edit(
        "assignments/affine/assignment.toml",
        "points = { correctness = 60, memory = 20 }",
        "points = { correctness = 50, memory = 20, counters = 10 }\n"
        "counters = { sizes = { n = 1024 }, traffic = 1.2 }",
    )
    first = '// expect: device=cuda why="one thread does it all"'
    course.edit(f"reference/affine/{slow}", first, "// expect: check=counters")
    row = sample(course, state, "one-thread")
    assert (row.state, row.actual) == (State.AGREES, "too slow; by counters")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "path", "old", "new", "actual"),
    slow_unless(
        lambda row: row[0] in ("right after all", "another line"),
        [
            ("right after all", SHIFT, "weight[i];", "weight[i] + shift;", "accepted; by no check"),
            (
                "another message",
                SHIFT,
                "wrong",
                "swapped",
                "does not: the result is that of `shift` = 0",
            ),
            ("another check", SHIFT, "check=correctness", "check=build", "by correctness"),
            ("a line nobody names", SHIFT, "check=", "line=7 check=", "names no line"),
            ("another line", GUARD, "line=9", "line=5", "error out of bounds at line 9"),
            (
                "another kind",
                GUARD,
                "kind=out_of_bounds",
                "kind=misaligned",
                "error out of bounds at",
            ),
            ("a warning only", GUARD, "cpu=error", 'cpu=warning why="x"', "error out of bounds at"),
            ("blind", GUARD, "cpu=error", 'cpu=blind why="x"', "error out of bounds at line 9"),
        ],
    ),
)
def test_a_sample_that_fails_its_expectation_is_reported(
    course: Course, state: WorkerState, fault: str, path: str, old: str, new: str, actual: str
) -> None:
    course.edit(path, old, new)
    row = sample(course, state, path.split("samples/")[1])
    assert row.state is State.DIFFERS, fault
    assert actual in row.actual


@pytest.mark.parametrize(
    ("verdict", "text", "actual"),
    [
        ("accepted", CUDA.replace("2.0f", "3.0f"), "wrong answer"),
        ("wrong_answer", CUDA, "accepted"),
    ],
)
def test_a_sample_in_the_wrong_folder_is_reported(
    course: Course, state: WorkerState, verdict: str, text: str, actual: str
) -> None:
    folder = course.reference / "samples" / verdict / "planted"
    folder.mkdir(parents=True)
    (folder / "v1_simple.cu").write_text(text)
    row = sample(course, state, "planted")
    assert (row.state, row.actual) == (State.DIFFERS, actual)


def test_a_line_that_a_compiler_or_a_message_names_is_seen(
    course: Course, state: WorkerState
) -> None:
    for verdict, line, text in (
        ("compile_error", 8, CUDA.replace("2.0f *", "two *")),
        ("runtime_error", 7, TORCH.replace("output.copy_(", "raise ValueError(")),
    ):
        mark, file = ("//", "v1_simple.cu") if text.startswith("#include") else ("#", "v0_torch.py")
        folder = course.reference / "samples" / verdict / "named"
        folder.mkdir(parents=True)
        number = next(
            n
            for n, words in enumerate(text.splitlines(), 2)
            if "two *" in words or "raise" in words
        )
        (folder / file).write_text(f"{mark} expect: line={number}\n{text}")
        row = sample(course, state, f"{verdict}/named")
        assert row.state is State.AGREES, (line, row)


def test_the_line_of_a_memory_error_is_proposed(course: Course, state: WorkerState) -> None:
    text = (course.root / GUARD).read_text(encoding="utf-8")
    course.edit(GUARD, text, text.partition("\n")[2])
    row = sample(course, state, "missing-guard")
    assert (row.state, row.actual) == (State.DIFFERS, text.partition("\n")[0])
    assert row.expected == "the fault in a new first line of v1_simple.cu"
    references = course.root / "reference"
    assert list(_write_first_lines([row], references)) == [course.root / GUARD]
    assert (course.root / GUARD).read_text(encoding="utf-8") == text
    assert list(_write_first_lines([replace(row, actual="no line")], references)) == []


def test_a_sample_that_is_no_submission_of_the_assignment_is_reported(
    course: Course, state: WorkerState
) -> None:
    samples = course.reference / "samples"
    for path, text in (
        ("accepted/x/v2_better.cu", CUDA),
        ("excellent/x/v1_simple.cu", CUDA),
        ("not_submitted/x/v1_simple.cu", CUDA),
        ("wrong_answer/x/v1_simple.cu", f"// expect: lines=3\n{CUDA}"),
        ("wrong_answer/y/v1_simple.cu", f"// expect: line=3\n{CUDA}"),
        ("memory_error/x/v1_simple.cu", CUDA),
        ("too_slow/x/v1_simple.cu", CUDA),
    ):
        (samples / path).parent.mkdir(parents=True)
        (samples / path).write_text(text)
    rows = done(course, state, Options(), samples=("/x/", "/y/"))
    actual = {row.subject.removeprefix("sample "): row.actual for row in rows}
    assert {row.state for row in rows} == {State.DIFFERS}
    assert "no kernel's file (v0_torch.py, v1_simple.cu)" in actual["accepted/x/v2_better.cu"]
    assert "`excellent` is no verdict" in actual["excellent/x/v1_simple.cu"]
    assert "`not_submitted` is no verdict" in actual["not_submitted/x/v1_simple.cu"]
    assert "unknown here: lines" in actual["wrong_answer/x/v1_simple.cu"]
    assert "line 3 of v1_simple.cu holds no statement" in actual["wrong_answer/y/v1_simple.cu"]
    assert "no line, and no fault is found" in actual["memory_error/x/v1_simple.cu"]
    assert "needs device=cuda" in actual["too_slow/x/v1_simple.cu"]


def test_filters_select_tasks(course: Course) -> None:
    kernel = Options(kernels=frozenset({"v0_torch"}))
    _, tasks = plan(course.assignment, course.root, kernel)
    titles = [task.title for task in tasks]
    assert titles and not any("v1_simple" in title for title in titles)
    rows, tasks = plan(course.assignment, course.root, Options(), samples=("wrong_answer/*.cu",))
    assert rows == []
    assert [task.title for task in tasks] == [
        "affine · sample wrong_answer/forgot-the-shift/v1_simple.cu"
    ]
