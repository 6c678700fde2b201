"""The course's GPU is named in one variable, which the judge reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.build.nvcc import nvcc_gate
from grader.errors import UsageError
from grader.gpu.target import course_target
from grader.grading.selection import chosen_device
from grader.judge.python_server import Request
from grader.protocol.targets import TARGETS
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
