"""The table in docs/planted-faults.md says of each planted fault what its sample promises."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest
from paths import REPOSITORY

from grader.checks.common import executor_findings
from grader.checks.common.emulation_findings import TOOL as HOST_TOOL
from grader.commands.verify.samples import Planted
from grader.vocabulary import Device, Language

NEVER = "not captured yet"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "memory_table", REPOSITORY / "tools" / "memory_table.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


TABLE = load()


def cells() -> dict[str, list[str]]:
    text = TABLE.PAGE.read_text(encoding="utf-8")
    found: dict[str, list[str]] = TABLE._standing(text.split(TABLE.START)[1].split(TABLE.END)[0])[0]
    return found


def test_every_planted_fault_has_a_row_and_a_cell_for_the_cpu() -> None:
    found = cells()
    assert set(found) == {TABLE.key_of(sample) for sample in TABLE.planted()}
    assert [key for key, (cpu, _) in found.items() if cpu == NEVER] == []


@pytest.mark.parametrize("device", list(Device))
def test_the_cells_agree_with_the_samples(device: Device) -> None:
    found, wrong = cells(), []
    for sample in TABLE.planted():
        cell = found[TABLE.key_of(sample)][device is Device.CUDA]
        fault = TABLE.fault_of(sample)
        severity = fault.severity(device.value)
        tool, _, line = cell.removesuffix(" (warning)").partition(", line ")
        if cell == NEVER:
            continue
        if severity is None:
            right = cell.startswith("–")
        else:
            warned = cell.endswith(" (warning)")
            # On a GPU, an expected warning may be an error in some runs, but not the reverse.
            right = warned == (severity == "warning") or (device is Device.CUDA and not warned)
            right = right and int(line) in sample.expectation().lines
            of = _of(fault, sample.language)
            right = right and (device is Device.CPU or of in tool.split(", "))
        if not right:
            wrong.append((sample.title, cell))
    assert wrong == []


def _of(fault: Planted, language: str) -> str:
    """Return the tool that must find a fault on a GPU."""
    imported = Language(language).imported
    on_cpu = executor_findings.tool_of(Language(language)) if imported else HOST_TOOL
    return on_cpu if fault.gpu == "blind" else fault.gpu
