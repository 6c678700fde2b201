"""The course's GPU is named in one variable, which the judge reads."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from bad_specs import GOOD, ORACLE

from grader.build.nvcc import nvcc_gate
from grader.errors import UsageError
from grader.gpu.target import course_target, use_target
from grader.grading.selection import chosen_assignments, chosen_device
from grader.judge.python_server import Request
from grader.protocol.targets import TARGETS, target_of
from grader.system.toolchain import Tool
from grader.vocabulary import Device

NVCC = Tool(name="nvcc", path=Path("nvcc"), version="13.0.0")


def request() -> Request:
    return Request(file=Path("silu.py"), entry="silu", device=Device.CPU, cwd=Path())


@pytest.mark.parametrize("value", [None, "", " "])
def test_the_default_is_an_a100(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("GRADE_TARGET", raising=False)
    if value is not None:
        monkeypatch.setenv("GRADE_TARGET", value)
    assert course_target() is TARGETS[80]
    assert request().target == 80


@pytest.mark.parametrize("capability", TARGETS)
def test_the_target_reaches_workers_and_nvcc(
    monkeypatch: pytest.MonkeyPatch, capability: int
) -> None:
    monkeypatch.setenv("GRADE_TARGET", f"sm_{capability}")
    target = course_target()
    assert target.capability == request().target == capability
    assert 10 * target.version[0] + target.version[1] == capability
    assert f"-arch=sm_{capability}" in nvcc_gate(NVCC).command(Path("a"), Path("b"), Path("c"))


@pytest.mark.parametrize("value", ["sm_9", "90", "H100", "sm_90a"])
def test_an_unknown_target_is_an_error_before_anything_is_graded(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("GRADE_TARGET", value)
    with pytest.raises(UsageError) as raised:
        chosen_device("cpu")
    assert raised.value.message.startswith(f"GRADE_TARGET='{value}' is not a known GPU")
    assert "sm_80 (A100)" in str(raised.value.tip) and "sm_90 (H100)" in str(raised.value.tip)
    assert raised.value.exit_code == 2


def test_a_gpu_that_is_not_listed_has_the_figures_of_an_older_one() -> None:
    unlisted = target_of(103)
    assert unlisted.name == "sm_103" and unlisted.gpu == TARGETS[100].gpu
    assert target_of(90) is TARGETS[90]
    assert target_of(70).shared_kib_per_block == TARGETS[75].shared_kib_per_block


def test_the_schema_has_all_targets_by_gpu_and_architecture() -> None:
    file = resources.files("grader").joinpath("schemas/assignment.schema.json")
    schema = json.loads(file.read_text("utf-8"))
    listed = schema["$defs"]["course"]["properties"]["target"]["enum"]
    targets = TARGETS.values()
    assert listed == [*(one.gpu for one in targets), *(one.name for one in targets)]


@pytest.mark.parametrize("word", ["H100", "sm_90"])
def test_a_course_names_its_target_unless_the_variable_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, word: str
) -> None:
    folder = tmp_path / "assignments" / "scale"
    folder.mkdir(parents=True)
    (folder / "assignment.toml").write_text(GOOD, encoding="utf-8")
    (folder / "oracle.py").write_text(ORACLE, encoding="utf-8")
    (folder.parent / "course.toml").write_text(f'target = "{word}"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRADE_TARGET", "")
    chosen_assignments(())
    assert course_target() is TARGETS[90]
    monkeypatch.setenv("GRADE_TARGET", "sm_75")
    use_target(word)
    assert course_target() is TARGETS[75]
