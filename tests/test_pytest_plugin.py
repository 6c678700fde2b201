"""`pytest --grade`: a submission's cases and checks behave like any other tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import course as courses
import pytest
import sample_reports
from course import Course
from paths import REPOSITORY

from grader import pytest_plugin
from grader.errors import GraderError

# `collection` is loaded here, because an inner session forgets what it imports.
from grader.pytest_plugin import collection, graded_file  # noqa: F401
from grader.report.evidence import CorrectnessEvidence
from grader.report.model import CheckResult, KernelResult, write_report
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Visibility

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytest_plugins = ["pytester"]

PLUGIN = ("-p", "grader.pytest_plugin", "-W", "error")
SECRET = 76543  # the size of a hidden case


@pytest.fixture(autouse=True)
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine may have any plugins, ours too, and Hypothesis's takes a second."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.fixture
def hand_in(pytester: pytest.Pytester, course: Course, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A submission with one file of the course, in a folder of its own."""
    monkeypatch.setenv("GRADE_ASSIGNMENTS", str(course.root / "assignments"))
    folder = pytester.path / "homework"
    folder.mkdir()
    (folder / "v1_simple.cu").write_text(courses.CUDA.replace(" + shift;", ";"))
    return folder


def result() -> KernelResult:
    """One of three visible cases is wrong, and the hidden one; memory waits for a GPU."""
    visible = (
        sample_reports.case(1),
        sample_reports.wrong_case(33),
        sample_reports.case(257),
    )
    hidden = (sample_reports.wrong_case(SECRET, visibility=Visibility.HIDDEN, max_error=1.5),)
    lines = (
        sample_reports.build(),
        _cases("correctness", replace(sample_reports.correctness(visible), cases_total=3)),
        replace(
            _cases(
                "correctness, hidden", replace(sample_reports.correctness(hidden), cases_total=1)
            ),
            visibility=Visibility.HIDDEN,
        ),
        replace(sample_reports.unmeasured(), check=CheckName.MEMORY, name="memory"),
    )
    return sample_reports.kernel(
        *lines, verdict=Verdict.WRONG_ANSWER, name="v1_simple", file="v1_simple.cu"
    )


def _cases(name: str, evidence: CorrectnessEvidence) -> CheckResult:
    return sample_reports.visible(
        name=name,
        verdict=Verdict.WRONG_ANSWER,
        score=0.0,
        message=evidence.cases[-1].message,
        evidence=evidence,
    )


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The arguments of each grading, which is replaced by `result`."""
    graded: list[list[str]] = []

    def run(arguments: Sequence[str | Path], on_progress: Callable[[str], None]) -> str:
        words = list(map(str, arguments))
        graded.append(words)
        write_report(sample_reports.report(result()), Path(words[words.index("--json") + 1]))
        return "the report as text"

    monkeypatch.setattr(graded_file, "run_local", run)
    return graded


def run(pytester: pytest.Pytester, *words: str | Path) -> pytest.RunResult:
    # As an object: this process has imported it already.
    return pytester.runpytest_inprocess("-W", "error", *words, plugins=[pytest_plugin])


def text(done: pytest.RunResult) -> str:
    return "\n".join([*done.outlines, *done.errlines])


def test_collecting_names_each_case_and_check_and_grades_nothing(
    pytester: pytest.Pytester, hand_in: Path, graded: list[list[str]]
) -> None:
    done = run(pytester, "--grade", hand_in, "affine", "--collect-only", "-q")
    assert [line for line in done.outlines if "::" in line] == [
        "affine::v0_torch::submitted",
        "affine::v1_simple::cuda::build",
        "affine::v1_simple::cuda::correctness[n=1]",
        "affine::v1_simple::cuda::correctness[n=33]",
        "affine::v1_simple::cuda::correctness[n=257]",
        "affine::v1_simple::cuda::correctness[hidden]",
        "affine::v1_simple::cuda::memory",
        "affine::v1_simple::cuda::rules",
    ]
    assert not graded


def test_a_kernel_of_the_assignments_name_is_not_named_twice(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, graded: list[list[str]]
) -> None:
    monkeypatch.setenv("GRADE_ASSIGNMENTS", str(REPOSITORY / "assignments"))
    (pytester.path / "silu.cu").write_text("// not a stub\n")
    done = run(pytester, "--grade", pytester.path, "silu", "--collect-only", "-q")
    assert "silu::cuda::correctness[n=257]" in done.outlines


def test_a_file_is_graded_once_and_points_pending_are_skipped(
    pytester: pytest.Pytester, hand_in: Path, graded: list[list[str]]
) -> None:
    done = run(pytester, "--grade", hand_in, "affine")
    done.assert_outcomes(passed=4, failed=2, skipped=2)
    assert len(graded) == 1
    words = graded[0]
    assert words[:3] == ["affine", "--from", str(hand_in)]
    assert words[words.index("--kernel") + 1] == "v1_simple"
    shown = text(run(pytester, "--grade", hand_in, "affine", "-rs"))
    assert "homework: no v0_torch.py" in shown
    assert "v1_simple.cu: needs a GPU" in shown


def test_a_failure_has_our_sentences_and_no_traceback(
    pytester: pytest.Pytester, hand_in: Path, graded: list[list[str]]
) -> None:
    shown = text(run(pytester, "--grade", hand_in, "affine"))
    assert "affine::v1_simple::cuda::correctness[n=33] __" in shown
    assert "n=33: wrong answer, 8 of 33 elements are wrong: only the last 8 elements" in shown
    assert "hint: does the grid cover the last, incomplete block?" in shown
    assert "Traceback" not in shown
    assert ".py:" not in shown
    assert "v1_simple · CUDA C++ · v1_simple.cu: wrong answer, " in shown


def test_hidden_cases_stay_hidden(
    pytester: pytest.Pytester, hand_in: Path, graded: list[list[str]]
) -> None:
    xml = pytester.path / "out.xml"
    done = run(pytester, "--grade", hand_in, "affine", "-vv", "-rA", f"--junitxml={xml}")
    assert "0 of 1 hidden cases accepted; wrong answer in 1 (largest error 1.5)" in text(done)
    assert str(SECRET) not in text(done) + xml.read_text()


@pytest.mark.parametrize(
    ("words", "outcomes"),
    [
        (("-k", "257 and cuda"), {"passed": 1, "deselected": 7}),
        (("-k", "memory"), {"skipped": 1, "deselected": 7}),
        (("-x",), {"passed": 2, "failed": 1, "skipped": 1}),
        (("--deselect", "affine::v1_simple"), {"skipped": 1, "deselected": 7}),
    ],
)
def test_options_that_select_work_as_ever(
    words: tuple[str, ...],
    outcomes: dict[str, int],
    pytester: pytest.Pytester,
    hand_in: Path,
    graded: list[list[str]],
) -> None:
    run(pytester, "--grade", hand_in, "affine", *words).assert_outcomes(**outcomes)


def test_lf_runs_what_failed(
    pytester: pytest.Pytester, hand_in: Path, graded: list[list[str]]
) -> None:
    run(pytester, "--grade", hand_in, "affine")
    done = run(pytester, "--grade", hand_in, "affine", "--lf")
    done.assert_outcomes(failed=2, deselected=6)


def test_junitxml_has_classes_names_and_points(
    pytester: pytest.Pytester, hand_in: Path, graded: list[list[str]]
) -> None:
    run(pytester, "--grade", hand_in, "affine", "--junitxml=out.xml")
    cases = list(ElementTree.parse(pytester.path / "out.xml").iter("testcase"))
    wrong = next(case for case in cases if case.get("name") == "correctness[n=33]")
    assert wrong.get("classname") == "affine.v1_simple.cuda"
    failure = wrong.find("failure")
    assert failure is not None
    assert "only the last 8 elements" in (failure.text or "")
    properties = {one.get("name"): one.get("value") for one in wrong.iter("property")}
    assert "wrong answer" in (properties["graded"] or "")
    assert sum(case.find("skipped") is not None for case in cases) == 2


def test_other_tests_run_beside(
    pytester: pytest.Pytester, hand_in: Path, graded: list[list[str]]
) -> None:
    pytester.makepyfile(test_mine="def test_mine(): pass")
    done = run(pytester, "test_mine.py", "--grade", hand_in, "affine")
    done.assert_outcomes(passed=5, failed=2, skipped=2)


def test_all_assignments_with_files_are_graded_if_none_is_named(
    pytester: pytest.Pytester, hand_in: Path, graded: list[list[str]]
) -> None:
    run(pytester, "--grade", hand_in).assert_outcomes(passed=4, failed=2, skipped=2)


def test_what_an_interrupted_grading_found_counts(
    pytester: pytest.Pytester, hand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(arguments: Sequence[str | Path], _: object) -> str:
        words = list(map(str, arguments))
        write_report(sample_reports.report(result()), Path(words[words.index("--json") + 1]))
        pytest.fail("Timeout >1.0s", pytrace=False)

    monkeypatch.setattr(graded_file, "run_local", interrupted)
    done = run(pytester, "--grade", hand_in, "affine")
    done.assert_outcomes(passed=3, failed=3, skipped=2)  # the first item is the time-out
    assert "Timeout >1.0s" in text(done)
    assert "Traceback" not in text(done)


def test_a_grading_that_fails_is_a_sentence_at_each_test_and_tried_once(
    pytester: pytest.Pytester, hand_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def fail(*_: object) -> str:
        calls.append(1)
        raise GraderError("g++ is missing")

    monkeypatch.setattr(graded_file, "run_local", fail)
    done = run(pytester, "--grade", hand_in, "affine")
    done.assert_outcomes(failed=7, skipped=1)
    assert len(calls) == 1
    assert "not graded: g++ is missing" in text(done)
    assert "Traceback" not in text(done)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("homework", "afine"), "there is no assignment `afine`; did you mean `affine`?"),
        (("nowhere", "affine"), "there is no submission at nowhere"),
        (("empty", "affine"), "affine: no v0_torch.py in empty"),
        (("empty",), "there is no submission in empty"),
        (("homework", "test_mine.py"), "paths of other tests stand before --grade"),
        (("homework", "affine", "--grade-device", "tpu"), "invalid choice: 'tpu'"),
    ],
)
def test_bad_input_is_a_sentence(
    words: tuple[str, ...], sentence: str, pytester: pytest.Pytester, hand_in: Path
) -> None:
    (pytester.path / "empty").mkdir()
    pytester.makepyfile(test_mine="def test_mine(): pass")
    done = run(pytester, "--grade", *words)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert sentence in text(done)
    assert "Traceback" not in text(done)


def test_without_the_option_nothing_is_added_or_imported(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_imports():
            ours = {name for name in sys.modules if name.split(".")[0] == "grader"}
            assert ours == {"grader", "grader.pytest_plugin"}
            assert not {"torch", "click", "rich", "jsonschema"} & set(sys.modules)
        """
    )
    done = _process(pytester.path)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_collecting_imports_no_torch(pytester: pytest.Pytester, hand_in: Path) -> None:
    pytester.makeconftest(
        """
        import sys

        def pytest_collection_finish():
            assert not {"torch", "triton"} & set(sys.modules)
        """
    )
    done = _process(pytester.path, "--grade", "homework", "affine", "--collect-only", "-q")
    assert "8 tests collected" in done.stdout, done.stdout + done.stderr


def test_the_entry_point_names_the_plugin() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"gpu_grade": "grader.pytest_plugin"}


# --- real gradings ------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_submission_is_graded_through_its_entry_point(
    pytester: pytest.Pytester, hand_in: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    installed = tmp_path / "installed" / "gpu_grade-0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: gpu-grade\nVersion: 0\n")
    (installed / "entry_points.txt").write_text("[pytest11]\ngpu_grade = grader.pytest_plugin\n")
    words = ("--grade", "homework", "affine", "--grade-device", "cpu", "--junitxml=out.xml")
    done = _process(pytester.path, *words, plugin=(), path=installed.parent)
    assert "FAILED affine::v1_simple::cuda::correctness[n=257]" in done.stdout
    assert "wrong answer, 257 of 257 elements are wrong" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert done.returncode == 1


@pytest.mark.slow
def test_pytest_timeout_ends_the_grading_and_its_processes(
    pytester: pytest.Pytester, hand_in: Path
) -> None:
    endless = courses.CUDA.replace("if (i < n)", "while (shift < 1) { } if (i < n)")
    (hand_in / "v1_simple.cu").write_text(endless)
    words = ("--grade", str(hand_in), "affine", "--grade-device", "cpu", "--timeout=4")
    done = _process(pytester.path, *words, "-p", "pytest_timeout", "-x")
    assert "Timeout" in done.stdout
    assert "1 failed" in done.stdout
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert f"--from {hand_in}" not in left


def _process(
    folder: Path, *words: str, plugin: Sequence[str] = PLUGIN, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    found = os.pathsep.join(map(str, [REPOSITORY, *([path] if path else [])]))
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": found, "CUDACXX": ""},
        capture_output=True,
        text=True,
    )
