"""What an error of an oracle says: of a hidden case neither sizes nor the exception's text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from course import make_course

from grader.errors import GraderError
from grader.judge.oracle import Oracle
from grader.vocabulary import Language, Visibility


def error(tmp_path: Path, line: str, visibility: Visibility, *, for_staff: bool) -> GraderError:
    """Return the error of a case of 77 elements whose `expected` begins with this line."""
    course = make_course(tmp_path)
    course.edit(
        "assignments/affine/oracle.py",
        "def expected(inputs):\n",
        f"def expected(inputs):\n    {line}\n",
    )
    assignment = course.assignment
    case = replace(
        assignment.cases[0].draw(1),
        name="n=77",
        sizes={"n": 77, "shift": 0.5},
        visibility=visibility,
    )
    with pytest.raises(GraderError) as caught:
        Oracle(assignment, for_staff=for_staff).data(case, Language.CUDA)
    return caught.value


@pytest.mark.parametrize(
    "line",
    [
        'raise ValueError(inputs["n"])',
        'return {"output": inputs["input"].double()[1:]}',
        'return {"output": inputs["input"]}',
        "raise SystemExit(77)",
    ],
)
def test_only_staff_reads_the_sizes_of_a_hidden_case(line: str, tmp_path: Path) -> None:
    told = error(tmp_path / "a", line, Visibility.HIDDEN, for_staff=False)
    assert "expected(" in told.message
    assert not {"77", "76"} & set(told.message.replace("(", " ").replace(",", " ").split())
    assert "oracle.py:" in told.message


def test_visible_cases_and_staff_get_the_whole_error(tmp_path: Path) -> None:
    line = 'raise ValueError(inputs["n"])'
    hidden = error(tmp_path / "a", line, Visibility.HIDDEN, for_staff=False)
    assert hidden.message.endswith("expected(a hidden case) raised ValueError")
    assert hidden.tip == "`grade verify affine --seed SEED` shows staff case and error"
    for number, (visibility, for_staff) in enumerate(
        [(Visibility.VISIBLE, False), (Visibility.AFTER_DUE_DATE, True)]
    ):
        told = error(tmp_path / str(number), line, visibility, for_staff=for_staff)
        assert told.message.endswith("expected(n=77) raised ValueError: 77")


@pytest.mark.parametrize(
    ("made", "phrase"),
    [
        ("{}", "no `output`: return a dict with it"),
        ("{'output': inputs['input']}", "`output` as torch.float32, not torch.float64"),
        ("{'output': 1}", "`output` as int, not a tensor"),
        ("{'output': inputs['input'][1:].double()}", "`output` with shape (76,), not (77,), for"),
    ],
)
def test_a_broken_mistake_is_named_with_its_sentence(
    made: str, phrase: str, tmp_path: Path
) -> None:
    course = make_course(tmp_path)
    mistakes = f'def mistakes(inputs):\n    return {{"the shift twice": {made}}}\n\n\n'
    course.edit("assignments/affine/oracle.py", "def expected", f"{mistakes}def expected")
    oracle = Oracle(course.assignment)
    case = replace(course.assignment.cases[0].draw(1), name="n=77", sizes={"n": 77, "shift": 0.5})
    inputs = oracle.data(case, Language.CUDA).inputs
    with pytest.raises(GraderError) as caught:
        oracle.mistakes(case, inputs)
    message = caught.value.message
    assert message.startswith(f"{oracle.place('mistakes')}: mistakes() returned {phrase}")
    assert message.endswith(', for "the shift twice"')
