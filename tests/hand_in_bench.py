"""Grade single files on the CPU with small limits, and see what is left behind.

One Python server serves a whole test process: importing torch and triton takes
longer than everything else here.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from grader.judge.server import PythonServer
from grader.pipeline import grade
from grader.progress import Progress
from grader.report import CheckResult, Report
from grader.spec import Assignment
from grader.spec_reader import read_assignment
from grader.submission import read_submission
from grader.words import Device
from grader.workshop import Options

REPOSITORY = Path(__file__).resolve().parent.parent
HAND_INS = Path(__file__).resolve().parent / "hand_ins"

_LIMITS = """\
[limits]
build_s = 10
load_s = 1
call_s = 1
output_kib = 64
memory_mib = 256
"""
_CASES = """\
[[cases]]
sizes = { n = [33, 1000, 1025] }

[[cases]]
sizes = { n = { min = 300, max = 600 } }
visibility = "hidden"
"""


def small_silu(root: Path) -> Assignment:
    """Return a copy of the silu assignment with small limits and four cases, made in `root`."""
    folder = root / "assignments" / "silu"
    shutil.copytree(REPOSITORY / "assignments" / "silu", folder)
    spec = folder / "assignment.toml"
    text = spec.read_text(encoding="utf-8")
    text = re.sub(r"\[limits\].*", _LIMITS + _CASES, text, flags=re.S)
    spec.write_text(text, encoding="utf-8")
    return read_assignment(folder)


def lay_down(source: Path, folder: Path) -> Path:
    """Copy a hand-in as the file that the assignment asks for; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, folder / f"silu{source.suffix}")
    return folder


def grade_folder(assignment: Assignment, folder: Path) -> Report:
    """Grade on the CPU."""
    return grade(assignment, read_submission(folder, assignment), Options(), Progress())


def failed_check(report: Report) -> CheckResult:
    """Return the check that the student reads first: the first that is not accepted."""
    checks = [check for kernel in report.kernels for check in kernel.checks]
    return next((c for c in checks if not c.verdict.earns_points), checks[-1])


class SharedServer:
    """Stands in for `PythonServer`: one real one, which `close` leaves running."""

    real: PythonServer | None = None

    def __new__(cls, device: Device) -> SharedServer:  # type: ignore[misc] # it is the real one
        if cls.real is None:
            cls.real = PythonServer(device)
            cls.real.ready()
            cls.real.shut = cls.real.close
            cls.real.close = lambda: None
        return cls.real
