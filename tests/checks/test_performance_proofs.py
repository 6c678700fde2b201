"""The script of the proofs, without a GPU: its tables, and the limits of a session."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest
import sample_reports
from click.testing import CliRunner
from paths import REPOSITORY

from grader.assignment.calibration import read_calibration
from grader.errors import GraderError
from grader.report.evidence import PerformanceEvidence


def script(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem + "_script", REPOSITORY / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses look for the module
    spec.loader.exec_module(module)
    return module


PROOFS = script("benchmarks/performance.py")
TABLES = script("tools/ladder_tables.py")
SESSION = script("tools/gpu_session.py")


def calibration(folder: Path) -> Path:
    timed = sample_reports.performance().evidence
    assert isinstance(timed, PerformanceEvidence)
    evidence = asdict(timed)
    figure = {
        "kernel": "silu", "language": "cuda", "hand_in": "reference", "speedup": 1.5,
        "evidence": evidence, "problem": None,
    }  # fmt: skip
    document = {
        "format": 1,
        "assignment": "silu",
        "environment": {"gpu": "NVIDIA H200", "compute_capability": "9.0"},
        "figures": [figure, {**figure, "hand_in": "too_slow/x", "speedup": None, "evidence": None}],
    }
    path = folder / "calibration" / "nvidia-h200.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(document))
    return path


def test_a_ladder_has_a_row_for_each_benchmark_that_was_timed(tmp_path: Path) -> None:
    silu = tmp_path / "silu"
    silu.mkdir()
    for name in ("assignment.toml", "oracle.py"):
        (silu / name).write_text((REPOSITORY / "assignments/silu" / name).read_text())
    found = read_calibration(calibration(silu))
    assert found.architecture == "sm_90"
    text = TABLES.ladders(tmp_path)
    assert "### SiLU on NVIDIA H200" in text
    rows = [line for line in text.splitlines() if "reference" in line]
    assert len(rows) == len(found.figures[0].benchmarks) >= 1
    assert "too_slow" not in text
    assert TABLES.three_digits(found.figures[0].benchmarks[0].speedup) in rows[0]


def test_the_docs_hold_what_the_calibrations_give() -> None:
    text = TABLES.PAGE.read_text(encoding="utf-8")
    assert TABLES.with_tables(text, TABLES.ladders(REPOSITORY / "assignments")) == text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "cannot be read"),
        ("[]", "no calibration of format 1"),
        ('{"format": 2}', "no calibration of format 1"),
        ('{"format": 1, "environment": {}}', "is no file of `grade calibrate`"),
    ],
)
def test_a_broken_calibration_is_named(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "gpu.json"
    path.write_text(text)
    with pytest.raises(GraderError, match=sentence) as caught:
        read_calibration(path)
    assert str(path) in caught.value.message
    assert "grade calibrate" in (caught.value.tip or "")


def test_every_proof_is_a_part_of_the_session(tmp_path: Path) -> None:
    commands = [" ".join(part.argv) for part in SESSION.parts(tmp_path)]
    for name in PROOFS.PARTS:
        assert any(f"performance.py --part {name}" in command for command in commands)
    # No part is longer than one call may be.
    assert all(part.limit_s <= 600 for part in SESSION.parts(tmp_path))


def test_a_part_that_does_not_end_is_ended(tmp_path: Path) -> None:
    sleeper = SESSION.Part(
        name="sleeper",
        argv=(sys.executable, "-c", "print('begun', flush=True); import time; time.sleep(60)"),
        limit_s=60,
    )
    done = SESSION.run(sleeper, 0.5, tmp_path)
    assert (done.code, done.word) == (None, "TIME UP")
    assert done.wall_s < 30


def test_a_parts_code_and_last_lines_are_reported(tmp_path: Path) -> None:
    part = SESSION.Part(
        name="bad", argv=(sys.executable, "-c", "print('why'); raise SystemExit(3)"), limit_s=60
    )
    done = SESSION.run(part, 60, tmp_path)
    assert (done.word, done.tail) == ("exit 3", ("why",))
    assert (tmp_path / "bad.txt").read_text() == "why\n"


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(SESSION.main, ["--out", str(tmp_path), "--part", "nonsense"])
    assert result.exit_code == 2
    assert "no part nonsense" in result.output
