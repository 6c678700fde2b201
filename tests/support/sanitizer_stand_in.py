"""A stand-in for compute-sanitizer, for machines without a GPU."""

from __future__ import annotations

import sys
from pathlib import Path

from grader.assignment.model import Assignment
from grader.build.artifact import Built
from grader.build.kernel_file import build
from grader.submission.reader import read_submission
from grader.system.toolchain import Tool
from grader.vocabulary import Device

STAND_IN = """\
#!{python}
import os, subprocess, sys
words = sys.argv[1:]
xml, log, tool = (words[words.index(o) + 1] for o in ("--save", "--log-file", "--tool"))
program = words[words.index({python!r}):]
def run():
    return subprocess.run(program, close_fds=False).returncode
def report(records=""):
    open(xml, "w").write("<ComputeSanitizerOutput>" + records + "</ComputeSanitizerOutput>")
def record(line, text="Invalid __global__ read of size 4 bytes"):
    return (f"<record><level>Error</level><what><text>{{text}}</text></what>"
            f"<where><path>silu.cu</path><line>{{line}}</line></where></record>")
{body}
"""
CLEAN = "code = run()\nreport()\nsys.exit(code)"


def stand_in(folder: Path, body: str) -> Tool:
    """Write a program that runs `body` into the folder."""
    program = folder / "compute-sanitizer"
    program.write_text(STAND_IN.format(python=sys.executable, body=body))
    program.chmod(0o755)
    return Tool(name="compute-sanitizer", path=program, version="2025.3.1")


def built_for(assignment: Assignment, folder: Path) -> Built:
    """Build the `silu.cu` of a folder for the CPU."""
    built = build(
        assignment,
        read_submission(folder, assignment).files["silu.cu"],
        Device.CPU,
        architecture=None,
    )
    assert isinstance(built, Built), built
    return built
