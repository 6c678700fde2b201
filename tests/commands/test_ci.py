"""`grade ci` and `grade report`: as a platform runs them, and with failures."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import format_contracts
import jsonschema
import pytest
import report_document
import sample_reports
from paths import REPOSITORY
from silu_points import KERNEL, MEMORY, PROGRAM, SPEED

from grader.assignment.late import LateRule
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.checks.check import CheckOutcome, KernelFile
from grader.checks.common.diagnosis import Diagnosis
from grader.commands.ci import gradescope_metadata, run
from grader.commands.ci.gradescope_metadata import RateLimit, read_metadata
from grader.errors import GraderError, UsageError
from grader.formats import registry
from grader.formats.output_format import OutputFormat
from grader.grading import pipeline
from grader.grading.check_results import NOT_YET, results
from grader.grading.file_state import FileState
from grader.grading.partial import is_unfinished, out_of_time
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.report.model import Report, json_text, to_json
from grader.report.reader import read_report
from grader.report.verdict import Verdict
from grader.sandbox.level import Isolation, Level
from grader.submission.reader import SourceFile, Submission, read_submission
from grader.system import signals
from grader.vocabulary import CheckName, Language, Visibility

SCHEMA = report_document.schema()
NOON = datetime(2026, 3, 2, 12, tzinfo=timezone(timedelta(hours=-8)))


def grade(
    *arguments: str | Path, cwd: Path = REPOSITORY, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "CUDACXX": "", **variables}
    return subprocess.run(
        [sys.executable, "-m", "grader", *map(str, arguments)],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
    )


def submission(folder: Path, sample: str = "silu.cu") -> Path:
    """Make a submission with one CUDA C++ file, a sample or the reference."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(REPOSITORY / "reference" / "silu" / sample, folder / "silu.cu")
    return folder


# --- as a platform runs it -------------------------------------------------------------------


@pytest.mark.slow
def test_a_wrong_submission_on_gradescope(tmp_path: Path) -> None:
    output, report = tmp_path / "results.json", tmp_path / "report.json"
    source = submission(tmp_path / "submission", "samples/wrong_answer/forgot-the-tail/silu.cu")
    done = grade(
        "ci", "silu", "--from", source, "--device", "cpu", "--format", "gradescope",
        "--output", output, "--report", report,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    results = format_contracts.gradescope(output.read_text())
    whole = read_report(report)
    assert results["score"] == whole.score == 0
    assert not is_unfinished(whole)
    hidden = [c for c in whole.kernels[0].checks if c.visibility.value == "hidden"]
    assert hidden
    seed = whole.environment["secret_seed"]
    assert f"--seed {seed}" in done.stdout
    assert str(seed) not in output.read_text()


@pytest.mark.slow
def test_each_run_draws_new_cases_and_its_seed_replays_them(tmp_path: Path) -> None:
    source = submission(tmp_path / "submission")
    drawn: list[tuple[int, list[dict[str, Any]]]] = []
    for number in range(3):
        output = tmp_path / f"{number}.json"
        seed = ["--seed", str(drawn[0][0])] if number == 2 else []
        done = grade(
            "ci", "silu", "--from", source, "--device", "cpu", "--format", "json",
            "--output", output, *seed,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        report = json.loads(output.read_text())
        assert (report["score"], report["pending"]) == (KERNEL, SPEED)
        assert report["environment"]["public_seed"] == 0
        cases = [
            case["sizes"]
            for check in report["kernels"][0]["checks"]
            if check["visibility"] == "hidden"
            for case in check["evidence"]["cases"]
        ]
        drawn.append((report["environment"]["secret_seed"], cases))
    assert drawn[0][0] != drawn[1][0]
    assert drawn[0][1] != drawn[1][1]
    assert drawn[0] == drawn[2]


@pytest.mark.slow
def test_github_gets_its_three_outputs(tmp_path: Path) -> None:
    source = submission(
        tmp_path / "repository" / "hw" / "silu", "samples/wrong_answer/forgot-the-tail/silu.cu"
    )
    output, summary = tmp_path / "classroom.json", tmp_path / "summary.md"
    step = tmp_path / "output"
    summary.write_text("before\n")
    done = grade(
        "ci", "silu", "--from", source.parent, "--device", "cpu", "--format", "github",
        "--output", output,
        GITHUB_WORKSPACE=str(tmp_path / "repository"),
        GITHUB_STEP_SUMMARY=str(summary),
        GITHUB_OUTPUT=str(step),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    result = format_contracts.classroom(output.read_text())
    assert result["status"] == "fail"
    name, _, encoded = step.read_text().strip().partition("=")
    assert name == "result"
    assert format_contracts.classroom_output(encoded) == result
    assert summary.read_text().startswith("before\n## SiLU\n")
    commands = done.stdout.split("::\n")[-1].strip().split("\n")
    found = format_contracts.github_commands(commands)
    assert found[0]["file"] == "hw/silu/silu.cu"
    # No line of this log has the sizes of hidden cases.
    assert "secret" not in done.stdout + done.stderr


@pytest.mark.slow
def test_github_names_the_file_where_the_course_has_it(tmp_path: Path) -> None:
    (tmp_path / "assignments" / "silu").mkdir(parents=True)
    submission(
        tmp_path / "student_template" / "silu", "samples/compile_error/missing-semicolon/silu.cu"
    )
    done = grade(
        "ci", "silu", "--from", tmp_path, "--device", "cpu", "--format", "github",
        "--output", tmp_path / "classroom.json", GITHUB_WORKSPACE=str(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    commands = done.stdout.split("::\n")[-1].strip().split("\n")
    assert format_contracts.github_commands(commands)[0]["file"] == "student_template/silu/silu.cu"


def test_students_read_no_path_of_the_graders_machine(tmp_path: Path) -> None:
    source, output = tmp_path / "submission", tmp_path / "results.json"
    submission(source / "week 3" / "mine")
    done = grade(
        "ci", "silu", "--from", source, "--device", "cpu", "--format", "gradescope",
        "--output", output,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(tmp_path) not in output.read_text()
    text = json.loads(output.read_text())["tests"][0]["output"]
    assert " ".join(text.split()) == (
        "not submitted: no silu.cu or silu.py in the submission; `week 3/mine/silu.cu` is there: "
        "hand in silu.cu without the folders"
    )


@pytest.mark.slow
def test_autolabs_scores_are_the_last_line(tmp_path: Path) -> None:
    source, output = submission(tmp_path / "submission"), tmp_path / "result.txt"
    done = grade(
        "ci", "silu", "--from", source, "--device", "cpu", "--format", "autolab",
        "--output", output,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith(output.read_text())
    scores = format_contracts.autolab(output.read_text())["scores"]
    assert scores == {"silu": KERNEL, "main": 0.0}


def test_a_wrong_folder_leaves_no_result_and_says_why(tmp_path: Path) -> None:
    output = tmp_path / "results.json"
    output.write_text("of another run")
    done = grade(
        "ci", "silu", "--from", tmp_path / "none", "--format", "gradescope", "--output", output
    )
    assert done.returncode == 3
    assert "there is no submission" in done.stderr
    assert not output.exists()


# --- failures --------------------------------------------------------------------------------


def request(
    tmp_path: Path, form: OutputFormat = registry.GRADESCOPE, **changes: object
) -> run.Request:
    usual = run.Request(
        assignment="silu",
        source=submission(tmp_path / "submission"),
        format=form,
        output=tmp_path / "result",
        level=Level.NONE,
        budget_s=100.0,
        seed=1,
        device="cpu",
        report_path=None,
        metadata_path=None,
        limit=None,
    )
    return replace(usual, **changes)  # type: ignore[arg-type]


Grading = Callable[[Callable[[Report], None]], Report]


@pytest.fixture
def grading(monkeypatch: pytest.MonkeyPatch) -> Callable[[Grading], None]:
    """Return a function that replaces the pipeline."""
    monkeypatch.chdir(REPOSITORY)

    def put(replacement: Grading) -> None:
        def grade(
            assignment: Assignment,
            submission: Submission,
            options: Options,
            progress: Progress,
            *,
            on_report: Callable[[Report], None],
        ) -> Report:
            return replacement(on_report)

        monkeypatch.setattr(run, "grade", grade)

    return put


def half_done() -> Report:
    """The partial report while the kernel's second check runs."""
    waiting = replace(sample_reports.unmeasured(), message=NOT_YET, hint="", waiting=True)
    entry = sample_reports.kernel(
        sample_reports.build(), sample_reports.visible(), waiting, verdict=Verdict.ACCEPTED
    )
    return sample_reports.report(entry)


@pytest.mark.parametrize("form", registry.formats(), ids=str)
def test_what_does_not_fit_into_the_budget_is_pending(
    form: OutputFormat, tmp_path: Path, grading: Callable[[Grading], None]
) -> None:
    def slow(hear: Callable[[Report], None]) -> Report:
        hear(half_done())
        raise signals.OutOfTime

    grading(slow)
    assert run.grade_ci(request(tmp_path, form)) == 0
    text = (tmp_path / "result").read_text()
    _valid(form, text)
    if form is registry.GRADESCOPE:
        assert json.loads(text)["score"] == 40
        assert "20 points are pending" in json.loads(text)["output"]
        assert "the run ended at its limit of 100 s" in text


def test_a_budget_that_ends_before_the_first_report_is_a_grader_error(
    tmp_path: Path, grading: Callable[[Grading], None]
) -> None:
    def slow(hear: Callable[[Report], None]) -> Report:
        raise signals.OutOfTime

    grading(slow)
    with pytest.raises(GraderError, match="spent before grading began") as caught:
        run.grade_ci(request(tmp_path))
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("form", registry.formats(), ids=str)
def test_the_file_is_valid_at_every_moment(
    form: OutputFormat, tmp_path: Path, grading: Callable[[Grading], None]
) -> None:
    seen = []

    def step_by_step(hear: Callable[[Report], None]) -> Report:
        for report in (sample_reports.of(Verdict.NOT_MEASURED), half_done()):
            hear(report)
            seen.append((tmp_path / "result").read_text())
        return sample_reports.wrong_answer()

    grading(step_by_step)
    assert run.grade_ci(request(tmp_path, form)) == 0
    for text in (*seen, (tmp_path / "result").read_text()):
        _valid(form, text)
    assert len(set(seen)) == 2


@pytest.mark.parametrize("form", [registry.GRADESCOPE, registry.AUTOLAB])
def test_a_grader_error_removes_the_partial_score(
    form: OutputFormat, tmp_path: Path, grading: Callable[[Grading], None]
) -> None:
    def broken(hear: Callable[[Report], None]) -> Report:
        hear(half_done())
        assert (tmp_path / "result").exists()
        hear(sample_reports.grader_error())
        assert not (tmp_path / "result").exists()
        return sample_reports.grader_error()

    grading(broken)
    with pytest.raises(GraderError, match="nothing is published: silu: the oracle raised"):
        run.grade_ci(request(tmp_path, form))
    assert not (tmp_path / "result").exists()


@pytest.mark.parametrize(
    "form", [registry.PRAIRIELEARN, registry.GITHUB, registry.JUNIT, registry.JSON]
)
def test_a_format_that_can_express_a_grader_error_does(
    form: OutputFormat, tmp_path: Path, grading: Callable[[Grading], None]
) -> None:
    grading(lambda hear: sample_reports.grader_error())
    assert run.grade_ci(request(tmp_path, form)) == 0
    _valid(form, (tmp_path / "result").read_text())


@pytest.mark.parametrize("error", [UsageError("no"), ZeroDivisionError(), GraderError("no")])
def test_a_failure_leaves_no_file(
    error: Exception, tmp_path: Path, grading: Callable[[Grading], None]
) -> None:
    def broken(hear: Callable[[Report], None]) -> Report:
        hear(half_done())
        raise error

    grading(broken)
    with pytest.raises((GraderError, ZeroDivisionError)) as caught:
        run.grade_ci(request(tmp_path))
    assert getattr(caught.value, "exit_code", 3) == 3
    assert not (tmp_path / "result").exists()


def test_an_interruption_leaves_the_partial_result(
    tmp_path: Path, grading: Callable[[Grading], None]
) -> None:
    def interrupted(hear: Callable[[Report], None]) -> Report:
        hear(half_done())
        raise KeyboardInterrupt

    grading(interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.grade_ci(request(tmp_path))
    assert format_contracts.gradescope((tmp_path / "result").read_text())["score"] == 40


def test_a_weaker_sandbox_than_required_grades_nothing(
    tmp_path: Path, grading: Callable[[Grading], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def graded(hear: Callable[[Report], None]) -> Report:
        raise AssertionError("it was graded")

    weak = Isolation(level=Level.NONE, layers="limits", missing=("a submission can read a file",))
    grading(graded)
    monkeypatch.setattr(run, "isolation", lambda *, gpu: weak)
    with pytest.raises(GraderError, match="reaches the level none here, not partial"):
        run.grade_ci(request(tmp_path, level=Level.PARTIAL))


def _page(text: str) -> None:
    assert text.startswith("<!DOCTYPE html>")
    assert text.rstrip().endswith("</html>")


def _valid(form: OutputFormat, text: str) -> None:
    contract: dict[OutputFormat, Callable[[str], Any]] = {
        registry.GRADESCOPE: format_contracts.gradescope,
        registry.PRAIRIELEARN: format_contracts.prairielearn,
        registry.AUTOLAB: format_contracts.autolab,
        registry.GITHUB: format_contracts.classroom,
        registry.JUNIT: format_contracts.junit,
        registry.JSON: json.loads,
        registry.HTML: _page,
        registry.SARIF: format_contracts.sarif,
    }
    contract[form](text)


def test_a_deadline_ends_an_endless_loop() -> None:
    with pytest.raises(signals.OutOfTime), signals.deadline(0.01):
        while True:
            pass
    signals.check()  # no signal is pending


def test_a_deadline_that_is_met_raises_nothing() -> None:
    with signals.deadline(1000):
        pass
    with signals.deadline(None):
        pass


def test_checks_without_time_are_pending_with_a_reason() -> None:
    report = out_of_time(half_done(), 60)
    last = report.kernels[0].checks[-1]
    assert last.message == "not graded: the run ended at its limit of 60 s"
    assert not is_unfinished(report)
    assert report.pending == 20


@pytest.mark.parametrize("right", [True, False])
def test_points_that_a_wrong_answer_costs_are_not_pending(right: bool) -> None:
    kernel = read_assignment(REPOSITORY / "assignments" / "silu").kernels[0]
    file = KernelFile(kernel=kernel, language=Language.CUDA, source=SourceFile(path="silu.cu"))
    verdict = Verdict.ACCEPTED if right else Verdict.WRONG_ANSWER
    cases = CheckOutcome[Any](diagnosis=Diagnosis(verdict=verdict, message="said"))
    state = FileState(file=file, found={CheckName.CORRECTNESS: (cases,)})
    lines = results(state, Options(), finished=False)
    assert [(check.check, check.pending) for check in lines if check.waiting] == [
        (CheckName.MEMORY, MEMORY * right),
        (CheckName.PERFORMANCE, SPEED * right),
    ]


@pytest.mark.slow
def test_a_report_can_be_asked_for_after_every_check() -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    submission = read_submission(REPOSITORY / "reference", assignment)
    heard: list[Report] = []
    last = pipeline.grade(assignment, submission, Options(), Progress(), on_report=heard.append)
    assert (heard[0].pending, heard[0].handed_in) == (100, 2)
    for report in heard:
        jsonschema.validate(json.loads(json_text(to_json(report))), SCHEMA)
        assert report.score is not None
        assert (report.max_score, report.score + report.pending) == (100, 100)
    decided = [report.score for report in heard]
    assert decided == sorted(decided, key=lambda score: score or 0)
    assert (last.score, last.pending) == (KERNEL + PROGRAM, SPEED)
    # The cases of a file come before its expensive checks.
    both = [[check.check for check in entry.checks if not check.pending] for entry in last.kernels]
    assert all(CheckName.MEMORY in checks for checks in both[:2])
    first = next(r for r in heard if _done(r, 0, CheckName.MEMORY))
    assert _done(first, 0, CheckName.CORRECTNESS)


def _done(report: Report, kernel: int, name: CheckName) -> bool:
    checks = [check for check in report.kernels[kernel].checks if check.check is name]
    return bool(checks) and not any(check.waiting for check in checks)


# --- Gradescope's metadata -------------------------------------------------------------------


def metadata(tmp_path: Path, *hours_ago: float, **changes: Any) -> Path:
    """Write the metadata of a submission at noon, with earlier ones `hours_ago`."""
    earlier: list[dict[str, Any]] = [
        {
            "submission_time": (NOON - timedelta(hours=hours)).isoformat(),
            "score": "35.0",
            "autograder_error": False,
        }
        for hours in hours_ago
    ]
    if earlier:
        earlier[-1]["results"] = {
            "score": 35.0,
            "output": "old\n\nresult",
            "tests": [{"name": "t", "score": 35.0, "output": "kept"}],
        }
    data = {
        "id": 1,
        "created_at": NOON.isoformat(),
        "assignment": {"due_date": (NOON - timedelta(hours=3)).isoformat(), "late_due_date": None},
        "previous_submissions": earlier,
        **changes,
    }
    path = tmp_path / "submission_metadata.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize(
    ("hours_ago", "turn_h"),
    [((), None), ((30, 25), None), ((5,), None), ((23, 5), 1), ((23, 20, 5), 4), ((24, 5), None)],
)
def test_the_limit_counts_in_a_window_before_the_submission(
    hours_ago: tuple[float, ...], turn_h: float | None, tmp_path: Path
) -> None:
    limit = RateLimit(count=2, window_h=24)
    turn = gradescope_metadata.next_grading(read_metadata(metadata(tmp_path, *hours_ago)), limit)
    assert turn == (None if turn_h is None else NOON + timedelta(hours=turn_h))


def test_a_refused_submission_keeps_the_old_result_and_does_not_count(
    tmp_path: Path, grading: Callable[[Grading], None]
) -> None:
    def graded(hear: Callable[[Report], None]) -> Report:
        raise AssertionError("it was graded")

    grading(graded)
    limit = RateLimit(count=1, window_h=24)
    asked = request(tmp_path, metadata_path=metadata(tmp_path, 5), limit=limit)
    assert run.grade_ci(asked) == 0
    results = format_contracts.gradescope((tmp_path / "result").read_text())
    assert results["score"] == 35
    assert results["tests"][0]["output"] == "kept"
    assert "Hand in again after 2026-03-03 07:00" in results["output"]
    assert results["output"].endswith("</p>\n<pre>old\n\nresult</pre>\n")
    # The next one, an hour later: the first still counts, the refused one does not.
    path = metadata(tmp_path, 6, 1)
    data = json.loads(path.read_text())
    data["created_at"] = NOON.isoformat()
    data["previous_submissions"][0].pop("results", None)
    data["previous_submissions"][1]["submission_time"] = NOON.isoformat()
    data["created_at"] = (NOON + timedelta(hours=1)).isoformat()
    data["previous_submissions"][1]["results"] = results
    path.write_text(json.dumps(data))
    again = read_metadata(path)
    assert again.refused == {NOON}
    turn = gradescope_metadata.next_grading(again, limit)
    assert turn == NOON - timedelta(hours=6) + timedelta(hours=24)
    assert turn is not None
    refused = gradescope_metadata.refusal(again, limit, turn)
    assert refused["output"].count("Not graded") == 1
    assert refused["output"].endswith("</p>\n<pre>old\n\nresult</pre>\n")


@pytest.mark.parametrize(
    ("score", "scored"),
    [("1e999", 0), ("NaN", 0), ("-Infinity", 0), ("9" * 400, 0), ('"1e999"', 0), ("35.5", 35.5)],
    ids=lambda value: str(value)[:9],
)
def test_an_earlier_score_that_is_no_number_is_ignored(
    score: str, scored: float, tmp_path: Path
) -> None:
    path = metadata(tmp_path, 5)
    data = json.loads(path.read_text())
    [earlier] = data["previous_submissions"]
    earlier.update(score="SCORE", results={"output": "half \ud800 pair"})
    path.write_text(json.dumps(data).replace('"SCORE"', score))
    limit = RateLimit(count=1, window_h=24)
    assert run.grade_ci(request(tmp_path, metadata_path=path, limit=limit)) == 0
    results = format_contracts.gradescope((tmp_path / "result").read_text())
    assert results["score"] == scored


def test_earlier_scores_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    path = metadata(tmp_path, 5)
    data = json.loads(path.read_text())
    [earlier] = data["previous_submissions"]
    test = {"name": "silu", "output": "kept", "score": "SCORE"}
    earlier.update(score=35.0, results={"score": "SCORE", "tests": [test]})
    path.write_text(json.dumps(data).replace('"SCORE"', "1e999"))
    limit = RateLimit(count=1, window_h=24)
    assert run.grade_ci(request(tmp_path, metadata_path=path, limit=limit)) == 0
    results = format_contracts.gradescope((tmp_path / "result").read_text())
    assert results["score"] == 35
    assert results["tests"] == [{"name": "silu", "output": "kept"}]


@pytest.mark.parametrize("year", ["0001-01-01", "9999-12-31"])
@pytest.mark.parametrize("zone", ["+14:00", "-14:00"])
@pytest.mark.parametrize("window_h", [24.0, 1e300])
def test_times_at_the_ends_of_the_calendar(
    year: str, zone: str, window_h: float, tmp_path: Path
) -> None:
    time = f"{year}T12:00:00{zone}"
    path = metadata(tmp_path, created_at=time)
    data = json.loads(path.read_text())
    data["previous_submissions"] = [{"submission_time": time, "score": 1.0}]
    path.write_text(json.dumps(data))
    about = read_metadata(path)
    turn = gradescope_metadata.next_grading(about, RateLimit(count=1, window_h=window_h))
    assert (turn is None) == (year[0] == "9" or window_h > 24)
    gradescope_metadata.notes(about)


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ({"output": "<b>", "output_format": "text"}, "<pre>&lt;b&gt;</pre>\n"),
        ({"output": "<p>old</p>\n", "output_format": "html"}, "<p>old</p>\n"),
        ({"output": "Not graded: of then.\n\nold"}, "<pre>old</pre>\n"),
        ({"output": 3}, ""),
    ],
)
def test_a_refusal_shows_the_earlier_output_as_html(
    kept: dict[str, Any], shown: str, tmp_path: Path
) -> None:
    path = metadata(tmp_path, 5)
    data = json.loads(path.read_text())
    data["previous_submissions"][0]["results"] = {"score": 1.0, "tests": [], **kept}
    path.write_text(json.dumps(data))
    about, limit = read_metadata(path), RateLimit(count=1, window_h=24)
    refused = gradescope_metadata.refusal(about, limit, NOON)
    assert refused["output_format"] == "html"
    assert refused["output"].partition("</p>\n")[2] == shown


def test_grader_errors_do_not_count(tmp_path: Path) -> None:
    path = metadata(tmp_path, 5)
    data = json.loads(path.read_text())
    data["previous_submissions"][0]["autograder_error"] = True
    path.write_text(json.dumps(data))
    limit = RateLimit(count=1, window_h=24)
    assert gradescope_metadata.next_grading(read_metadata(path), limit) is None


def test_a_late_submission_has_a_note(tmp_path: Path, grading: Callable[[Grading], None]) -> None:
    grading(lambda hear: sample_reports.accepted())
    assert run.grade_ci(request(tmp_path, metadata_path=metadata(tmp_path))) == 0
    output = json.loads((tmp_path / "result").read_text())["output"]
    assert "<p><strong>Handed in 3.0 hours after the due date.</strong></p>\n" in output


@pytest.mark.parametrize(
    ("hours", "lost"),
    [(-1, 0), (0, 0), (1, 0), (1.01, 0.1), (25, 0.1), (25.01, 0.2), (73.5, 0.35), (9000, 0.35)],
)
def test_a_late_submission_loses_a_share_for_each_begun_period(hours: float, lost: float) -> None:
    rule = LateRule(period_h=24, lose=0.1, grace_h=1, most=0.35)
    assert rule.share_lost(timedelta(hours=hours)) == pytest.approx(lost)


def test_a_late_submission_loses_points_and_reads_why(
    tmp_path: Path, grading: Callable[[Grading], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    course = tmp_path / "assignments" / "silu"
    shutil.copytree(REPOSITORY / "assignments" / "silu", course)
    spec = course / "assignment.toml"
    spec.write_text(spec.read_text() + "\n[late]\nperiod_h = 2\nlose = 0.1\n")
    whole = sample_reports.accepted()
    grading(lambda hear: whole)
    monkeypatch.chdir(tmp_path)
    assert run.grade_ci(request(tmp_path, metadata_path=metadata(tmp_path))) == 0
    results = json.loads((tmp_path / "result").read_text())
    assert whole.score
    assert results["score"] == round(0.8 * whole.score, 2)
    lost = (
        "Handed in 3.0 hours after the due date: 20 % of the points below are taken off the whole "
        "score, 10 % for each 2 hours that have begun."
    )
    assert f"<strong>{lost}</strong>" in results["output"]
    on_time = metadata(tmp_path, assignment={"due_date": NOON.isoformat()})
    assert run.grade_ci(request(tmp_path, metadata_path=on_time)) == 0
    assert json.loads((tmp_path / "result").read_text())["score"] == whole.score


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "it is no JSON object"),
        ("{}", "`created_at`"),
        ('{"created_at": "2026-03-02T12:00:00"}', "`created_at` is not a time with a time zone"),
        (
            '{"created_at": "2026-03-02T12:00:00.5Z", "previous_submissions": [{}]}',
            r"`previous_submissions\[0\].submission_time`",
        ),
    ],
)
def test_broken_metadata_is_named(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "metadata.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        read_metadata(path)


# --- cases that students see later -----------------------------------------------------------

RECORDED = Path(__file__).parent / "samples" / "gradescope_metadata.json"
PUBLISHED = frozenset({Visibility.AFTER_DUE_DATE, Visibility.AFTER_PUBLISHED})


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("now", "seen"),
    [
        ("2025-11-03T23:30:00-08:00", False),  # late hand-ins are still possible
        ("2025-11-05T23:30:00-08:00", False),  # and one author has an extension
        ("2025-11-06T19:59:59+00:00", False),
        ("2025-11-06T20:00:01+00:00", True),
        ("2026-11-06T12:00:00+09:00", True),
    ],
)
def test_cases_are_shown_once_nobody_may_hand_in_any_more(now: str, seen: bool) -> None:
    shown = gradescope_metadata.shown(read_metadata(RECORDED), at(now))
    assert shown == ({Visibility.AFTER_DUE_DATE} if seen else set())


def test_without_a_due_date_no_hidden_case_is_shown(tmp_path: Path) -> None:
    about = read_metadata(metadata(tmp_path, assignment={"due_date": None}))
    assert gradescope_metadata.shown(about, at("9999-12-31T23:59:59+00:00")) == set()
    assert gradescope_metadata.shown(None, NOON) == set()


def later(visibility: Visibility) -> Report:
    """Return a report whose hidden check has another visibility."""
    report = sample_reports.wrong_answer()
    kernels = tuple(
        replace(
            kernel,
            checks=tuple(
                replace(check, visibility=visibility)
                if check.visibility is Visibility.HIDDEN and check.check is CheckName.CORRECTNESS
                else check
                for check in kernel.checks
            ),
        )
        for kernel in report.kernels
    )
    return replace(report, kernels=kernels)


SIZE = "77777"  # of a hidden case that is wrong


@pytest.mark.parametrize(
    ("visibility", "due", "shown", "seen"),
    [
        (Visibility.AFTER_DUE_DATE, "2020-01-01T00:00:00+00:00", frozenset(), True),
        (Visibility.AFTER_DUE_DATE, "9000-01-01T00:00:00+00:00", frozenset(), False),
        (Visibility.AFTER_PUBLISHED, "2020-01-01T00:00:00+00:00", frozenset(), False),
        (Visibility.AFTER_PUBLISHED, "2020-01-01T00:00:00+00:00", PUBLISHED, True),
        (Visibility.HIDDEN, "2020-01-01T00:00:00+00:00", PUBLISHED, False),
    ],
)
def test_a_gradescope_run_shows_what_students_may_see_by_then(
    visibility: Visibility,
    due: str,
    shown: frozenset[Visibility],
    seen: bool,
    tmp_path: Path,
    grading: Callable[[Grading], None],
) -> None:
    report = later(visibility)
    grading(lambda hear: report)
    path = metadata(tmp_path, assignment={"due_date": due, "late_due_date": None})
    full = tmp_path / "full.json"
    asked = request(tmp_path, metadata_path=path, shown=shown, report_path=full)
    assert run.grade_ci(asked) == 0
    text = (tmp_path / "result").read_text()
    assert (SIZE in text) == seen
    # The course's own report keeps what is hidden.
    assert visibility.value in full.read_text()


@pytest.mark.slow
def test_a_report_is_shown_for_publication_without_grading_again(tmp_path: Path) -> None:
    report = later(Visibility.AFTER_PUBLISHED)
    path = tmp_path / "report.json"
    path.write_text(json_text(to_json(report)))
    options = ("report", path, "--format", "gradescope")
    assert SIZE not in grade(*options).stdout
    assert SIZE not in grade(*options, "--show", "after_due_date").stdout
    assert SIZE in grade(*options, "--show", "after_published").stdout


# --- grade report ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_report_is_shown_again_in_every_format(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(json_text(to_json(sample_reports.wrong_answer())))
    for form in (registry.GRADESCOPE, registry.JUNIT):
        done = grade("report", report, "--format", form.name)
        assert done.returncode == 0, done.stderr
        _valid(form, done.stdout)
    output = tmp_path / "result"
    done = grade("report", report, "--format", "prairielearn", "--output", output)
    assert (done.returncode, done.stdout) == (0, "")
    _valid(registry.PRAIRIELEARN, output.read_text())
    done = grade("report", report)
    assert "wrong answer · 0 / 80 points" in done.stdout


def test_a_report_without_a_score_is_no_result_for_gradescope(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(json_text(to_json(sample_reports.grader_error())))
    done = grade("report", report, "--format", "gradescope")
    assert done.returncode == 3
    assert "has no score" in done.stderr
    assert done.stdout == ""
