"""JSON that a submission may have written must not crash the judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builds import silu_build
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.build import compile_gate
from grader.build.artifact import Built, Rejected
from grader.checks.common import emulation_findings, executor_findings
from grader.commands import local
from grader.errors import GraderError
from grader.grading import builds, pipeline
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.grading.selection import Selected
from grader.judge.outcome import parse_records
from grader.report.evidence import BuildEvidence, Finding
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.system import untrusted_json
from grader.vocabulary import CheckName, Device, Language


@pytest.mark.parametrize(
    "text",
    [
        "[" * 30 + "]" * 30,
        "[" * 100_000,
        "",
        "nothing",
    ],
)
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        untrusted_json.parse(text)
    assert parse_records(f'{{"record": {text}}}') == ()


@pytest.mark.parametrize(
    "number",
    ["Infinity", "-Infinity", "NaN", "1e400", "-1e999", str(2**64), str(-(2**64)), "9" * 5000],
)
def test_what_is_no_plain_number_is_none(number: str) -> None:
    assert untrusted_json.parse(f'{{"a": [{number}]}}') == {"a": [None]}
    assert parse_records(f'{{"record": {number}}}') == ({"record": None},)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("NaN", "JSON has no number NaN"),
        ("1e400", "1e400 is too large a number"),
        (str(2**64), "18446744073709551616 is too large a number"),
        ("9" * 5000, "^9{200} is too large a number"),
    ],
)
def test_strictly_what_is_no_plain_number_is_an_error(number: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        untrusted_json.parse(f'{{"a": [{number}]}}', strict=True)


def test_plain_values() -> None:
    value = {"a": [2**64 - 1, -(2**63), 1.5, None, True, "ü"], "b": {"c": {}}}
    assert untrusted_json.parse(json.dumps(value)) == value


FINDING: dict[str, Any] = {
    "record": "finding",
    "kind": "race",
    "severity": "error",
    "message": "m",
    "hint": "h",
    "line": 1,
    "offset": 1,
    "program": [0],
    "block": [0, 0, 0],
    "tensor": None,
    "access": "load",
    "count": 1,
    "kernel": "k",
}


@pytest.mark.parametrize(
    "change",
    [
        {"program": [float("inf")]},
        {"count": float("inf")},
        {"program": [None]},
        {"count": None},
        {"count": "many"},
        {"kind": "joke"},
        {"kind": []},
    ],
)
def test_a_forged_finding_of_the_executor(change: dict[str, Any]) -> None:
    executor_findings.read_run([FINDING], "silu.py")
    with pytest.raises(ValueError):
        executor_findings.read_run([FINDING | change], "silu.py")


@pytest.mark.parametrize(
    "change",
    [
        {"block": ["x", 0, 0]},
        {"block": [1e999, 0, 0]},
        {"count": None},
        {"offset": "1", "element_bytes": 4, "buffer": "b"},
        {"count": "many"},
        {"count": 1.5},
        {"kind": "joke"},
        {"kind": []},
        {"buffer": ["x"]},
        {"message": {}},
        {"pc": [1]},
        {"severity": None},
    ],
)
def test_a_forged_finding_of_the_host_device(change: dict[str, Any]) -> None:
    built = silu_build()

    def read(record: dict[str, Any]) -> tuple[Finding, ...]:
        return emulation_findings.read_run([record], built, "")[0]

    assert len(read(FINDING)) == 1
    with pytest.raises(ValueError):
        read(FINDING | change)


@pytest.mark.parametrize(
    "answer",
    [
        '{"results": [{"error": "x"}]}',
        '{"results": [1]}',
        '{"results": [null, {"error": {"message": "bad"}}]}',
        '{"results": [{"error": [1]}]}',
        '{"results": {"error": {}}}',
        '{"results": []}',
        "[1]",
        "",
    ],
)
def test_what_is_not_the_gates_answer_rejects_nothing(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(gated(answer, tmp_path, monkeypatch), Built)


@pytest.mark.parametrize("message", ["5", "[]", "null", '"no"', "{}"])
def test_the_gates_answer(message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = f'{{"triton": [], "results": [{{"error": {{"message": {message}}}}}]}}'
    rejected = gated(answer, tmp_path, monkeypatch)
    assert isinstance(rejected, Rejected)
    assert rejected.verdict is Verdict.COMPILE_ERROR


def gated(answer: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Built | Rejected:
    monkeypatch.setenv("GRADE_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setattr(compile_gate, "run_compiler", lambda *_: compile_gate._report(answer))
    file = folder / "silu.py"
    file.write_text(f"# {answer}")
    built = Built(
        language=Language.TRITON,
        device=Device.CPU,
        path=file,
        file="silu.py",
        entry="silu",
        evidence=BuildEvidence(tool="none", cached=False),
    )
    return compile_gate.compile_launches(built, [{"kernel": "k"}])


def test_a_defect_of_the_grader_spoils_one_kernel_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(*_: object) -> None:
        raise OverflowError("hidden case n=12345")

    def report() -> Any:
        assignment = read_assignment(REPOSITORY / "assignments" / "silu")
        options = Options(checks=frozenset({CheckName.BUILD}))
        return pipeline.grade(
            assignment, read_submission(tmp_path, assignment), options, Progress()
        )

    (tmp_path / "silu.py").write_text("def silu(input, output, n):\n    pass\n")
    monkeypatch.setattr(builds.Builds, "built", breaks)
    found = report()
    assert found.verdict is Verdict.GRADER_ERROR
    assert found.score is None
    check = found.kernels[0].checks[0]
    assert check.verdict is Verdict.GRADER_ERROR
    assert "an unexpected OverflowError in test_untrusted_json.py:" in check.message
    assert "12345" not in check.message
    monkeypatch.setenv("GRADE_DEBUG", "1")
    report()
    assert "hidden case n=12345" in capsys.readouterr().err


def test_an_assignment_that_breaks_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graded = []

    def one(chosen: Selected, *_: object) -> None:
        graded.append(chosen.assignment.name)
        raise KeyError("broken") if len(graded) == 1 else GraderError("another")

    monkeypatch.setattr(local, "_grade_and_show", one)
    monkeypatch.chdir(REPOSITORY)
    request = local.Request(
        assignments=(),
        source=Path("reference"),
        device="cpu",
        kernels=(),
        languages=(),
        checks=(),
        seed=0,
        json_path=tmp_path,
    )
    with pytest.raises(GraderError, match="an unexpected KeyError"):
        local.grade_local(request)
    assert len(graded) > 1
