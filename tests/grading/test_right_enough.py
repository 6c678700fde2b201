"""When a result is right: by tolerance of output and case, by fraction, or by the oracle's word."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from course import Course

from grader.assignment.tolerance import Tolerance
from grader.checks.performance.timed_outputs import TimedOutputs
from grader.commands.local import Request, grade_local
from grader.commands.verify.lints import lint_rows
from grader.commands.verify.oracle_proofs import oracle_rows
from grader.commands.verify.row import State
from grader.errors import GraderError
from grader.formats import student_view
from grader.judge.oracle import Oracle
from grader.report.reader import read_report
from grader.vocabulary import Device, Language

TOML = "assignments/affine/assignment.toml"
PYTHON = "assignments/affine/oracle.py"
GENERAL = "tolerance = { atol = 1e-6, rtol = 1e-5 }"
# Wrong in the second element.
ONE_WRONG = "output.copy_(2 * input * weight + shift)\n    output[1:2] += 1"
# Without the last element.
NOT_WRITTEN = "output[: n - 1].copy_((2 * input * weight + shift)[: n - 1])"
# Right up to the sign, which an `accept` can allow.
NEGATED = "output.copy_(-(2 * input * weight + shift))"
ACCEPT = """

def accept(inputs, outputs):
    apart = (outputs["output"].double().abs() - expected(inputs)["output"].abs()).abs().max()
    return True if apart < 1e-4 else f"the largest difference is {apart:.3g}"
"""


def cases(course: Course, monkeypatch: pytest.MonkeyPatch, body: str) -> list[dict[str, Any]]:
    """Grade the PyTorch rung with another body; return its cases, without the hidden one."""
    monkeypatch.chdir(course.root)
    folder = course.root / "submission"
    folder.mkdir(exist_ok=True)
    (folder / "v0_torch.py").write_text(
        f"def affine(input, weight, output, n, shift):\n    {body}\n"
    )
    report = course.root / "report.json"
    grade_local(
        Request(
            assignments=("affine",), source=folder, device="cpu", kernels=("v0_torch",),
            languages=("triton",), checks=("correctness",), seed=0, json_path=report,
        )
    )  # fmt: skip
    checks = json.loads(report.read_text())["kernels"][0]["checks"]
    found = next(one for one in checks if one["evidence"] and "cases" in one["evidence"])
    return list(found["evidence"]["cases"])


def verdicts(found: list[dict[str, Any]]) -> list[str]:
    return [case["verdict"] for case in found]


@pytest.mark.slow
def test_fraction_output_and_case_decide(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    course.edit(TOML, "rtol = 1e-5 }", "rtol = 1e-5, output = { max_wrong_fraction = 0.01 } }")
    course.edit(TOML, "n = [1, 33, 257]", "n = [33, 257]")
    found = cases(course, monkeypatch, ONE_WRONG)
    assert verdicts(found) == ["wrong_answer", "accepted"]
    assert found[0]["message"].startswith("1 of 33 elements is wrong")
    assert found[1]["message"] == (
        "right: 1 of 257 elements of `output` are outside the tolerance, 2 may be"
    )
    course.edit(TOML, "memory = true", "memory = true\ntolerance = { atol = 1.5 }")
    assert verdicts(cases(course, monkeypatch, ONE_WRONG)) == ["accepted", "accepted"]


@pytest.mark.slow
def test_cases_have_names_that_students_read(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    course.edit(TOML, "memory = true", 'memory = true\nname = "edges of a warp"')
    hidden = 'visibility = "hidden"\nname = "middling"'
    course.edit(TOML, 'visibility = "hidden"', hidden)
    wrong = ONE_WRONG.replace("output[1:2]", "output[:]")
    assert [case["title"] for case in cases(course, monkeypatch, wrong)] == ["edges of a warp"] * 3

    def shown() -> str:
        report = read_report(course.root / "report.json")
        return "\n".join(entry.text for entry in student_view.checks(report))

    assert "edges of a warp: n=1" in shown()
    assert "middling" not in shown()
    course.edit(TOML, hidden, f"{hidden}\nshow_name = true")
    cases(course, monkeypatch, wrong)
    assert re.search(r"wrong answer in 1 \(largest error 1\): middling", shown())


@pytest.mark.slow
def test_what_is_never_written_is_wrong_whatever_the_fraction(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    course.edit(TOML, "rtol = 1e-5 }", "rtol = 1e-5, max_wrong_fraction = 0.5 }")
    course.edit(TOML, "n = [1, 33, 257]", "n = [33, 257]")
    found = cases(course, monkeypatch, NOT_WRITTEN)
    assert verdicts(found) == ["wrong_answer", "wrong_answer"]
    assert "only the last element: never written" in found[0]["message"]


@pytest.mark.slow
def test_the_oracle_may_compare_by_itself(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdicts(cases(course, monkeypatch, NEGATED)) == ["wrong_answer"] * 3
    oracle = course.root / PYTHON
    oracle.write_text(oracle.read_text() + ACCEPT)
    assert verdicts(cases(course, monkeypatch, NEGATED)) == ["accepted"] * 3
    found = cases(course, monkeypatch, "output.copy_(2 * input * weight + shift + 3)")
    assert verdicts(found) == ["wrong_answer"] * 3
    assert found[0]["message"].startswith("the largest difference is ")
    assert found[0]["mismatches"] == []
    rows = list(oracle_rows(course.assignment, Language.TRITON, Device.CPU, 0))
    assert [row.actual for row in rows if row.state is State.DIFFERS] == []


@pytest.mark.parametrize(
    ("body", "line", "phrase"),
    [
        ("    return 1 / 0", 2, "accept(n=1) raised ZeroDivisionError"),
        ("    pass", 1, "accept(n=1) returned NoneType, not True, False or a sentence"),
        ('    return outputs["output"] == 0', 1, "accept(n=1) returned Tensor, not True"),
        ('    return " "', 1, "accept(n=1) returned an empty text"),
        ("    raise SystemExit", 2, "accept(n=1) raised SystemExit"),
    ],
)
def test_an_accept_that_breaks_its_contract_is_a_grader_error(
    course: Course, body: str, line: int, phrase: str
) -> None:
    oracle = course.root / PYTHON
    before = len(oracle.read_text().splitlines())
    oracle.write_text(f"{oracle.read_text()}def accept(inputs, outputs):\n{body}\n")
    case = course.assignment.draw_cases(Device.CPU, Language.CUDA, public_seed=0, secret_seed=0)[0]
    data = Oracle(course.assignment).data(case, Language.CUDA)
    assert data.refusal is not None
    with pytest.raises(GraderError) as caught:
        data.refusal({name: value.float() for name, value in data.expected.items()})
    assert phrase in caught.value.message
    assert caught.value.message.startswith(f"{Path(oracle).resolve()}:{before + line}: ")


def test_verify_reports_an_accept_that_accepts_everything(course: Course) -> None:
    oracle = course.root / PYTHON
    oracle.write_text(oracle.read_text() + "\n\ndef accept(inputs, outputs):\n    return True\n")
    rows = list(oracle_rows(course.assignment, Language.CUDA, Device.CPU, 0))
    wrong = {row.check: row.actual for row in rows if row.state is State.DIFFERS}
    assert wrong["mutant: zeros"] == "n=1: `accept` accepts it for `output`"
    assert {"mutant: NaN", "mutant: stale", "mutant: all bits set"} <= wrong.keys()


@pytest.mark.parametrize(
    ("own", "phrase"),
    [
        ("rtol = 1e-5, max_wrong_fraction = 0.2", "wrong at every edge"),
        ("rtol = 1e-5, max_wrong_fraction = 0.001", "allows no wrong element: the largest case"),
        ("rtol = 1e-5, output = { rtol = 1e-2 }", "rounded to half precision"),
    ],
)
def test_verify_warns_of_a_tolerance_that_is_not_what_it_seems(
    course: Course, own: str, phrase: str
) -> None:
    course.edit(TOML, GENERAL, f"tolerance = {{ atol = 1e-6, {own} }}")
    rows = list(lint_rows(course.assignment, course.reference))
    warned = [row.actual for row in rows if row.check == "tolerance"]
    assert len(warned) == 2  # one for each language
    assert all(phrase in text and text.startswith("`output` in ") for text in warned)


@pytest.mark.parametrize(("wrong", "fraction", "right"), [(2, 0.01, True), (3, 0.01, False)])
def test_timed_calls_are_right_enough_by_the_same_rules(
    course: Course, wrong: int, fraction: float, right: bool
) -> None:
    drawn = course.assignment.draw_cases(Device.CPU, Language.CUDA, public_seed=0, secret_seed=0)
    case = next(one for one in drawn if one.sizes == {"n": 257})
    tolerances = {"output": Tolerance(atol=1e-6, rtol=1e-5, max_wrong_fraction=fraction)}

    def verified(shift: float) -> bool:
        oracle = Oracle(course.assignment)
        data = oracle.data(case, Language.CUDA)
        outputs = {"output": data.expected["output"].float()}
        outputs["output"][:wrong] *= shift
        timed = TimedOutputs(oracle, case, tolerances, torch.Generator())
        return timed.right(data.inputs, outputs)

    assert verified(1.0)
    assert verified(2.0) == right
    oracle = course.root / PYTHON
    oracle.write_text(oracle.read_text() + ACCEPT)
    assert verified(-1.0)
    assert not verified(2.0)


def test_a_group_of_cases_earns_its_points_alone(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    course.edit(TOML, "memory = true", 'memory = true\nname = "small"\nweight = 3')
    large = "\n[[cases]]\nsizes = { n = 500 }\n"
    course.edit(TOML, 'visibility = "hidden"\n', f'visibility = "hidden"\n{large}')
    body = "output.copy_(2 * input * weight + shift + (n == 500))"
    cases(course, monkeypatch, body)
    report = read_report(course.root / "report.json")
    lines = {one.name: (one.score, one.max_score) for one in report.kernels[0].checks}
    assert lines["correctness"] == (0, 4)
    assert lines["correctness, small"] == (12, 12)
    assert lines["correctness, hidden"] == (4, 4)
