"""docs/instructors.md, followed word by word in an empty folder.

A block after a line with only a path is the content of that file. In a console block, every
line after `$ ` is run, and the lines below it must be in its output.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bad_specs import GOOD
from paths import REPOSITORY as ROOT

from grader.assignment.schema import course_problems, schema_problems

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAGE = ROOT / "docs" / "instructors.md"
_FRAGMENTS = "\n## More that a spec can say\n"
_BLOCK = re.compile(r"(?:^`([^`\n]+)`\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def steps(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield path (or ""), kind and content of each block."""
    yield from _BLOCK.findall(text)


def commands(console: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command with the lines below it."""
    found: list[tuple[str, list[str]]] = []
    for line in console.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    yield from found


def follow(section: str, course: Path, environment: dict[str, str]) -> list[str]:
    """Follow a section; return the last lines of its commands' output."""
    ends = []
    for path, kind, content in steps(section):
        if path:
            (course / path).parent.mkdir(parents=True, exist_ok=True)
            (course / path).write_text(content, encoding="utf-8")
            continue
        assert kind == "console", content
        for command, shown in commands(content):
            if command in ("mkdir course", "cd course"):
                continue
            done = subprocess.run(
                ["bash", "-c", command], cwd=course, env=environment, capture_output=True,
                text=True,
            )  # fmt: skip
            assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
            for line in shown:
                assert line in done.stdout.splitlines(), f"{command}\n{done.stdout}"
            if done.stdout:
                ends.append(done.stdout.splitlines()[-1])
    return ends


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which `grade` and `python` are those of these tests."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in (("grade", "-m grader"), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (programs / name).chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "100",
        "CUDACXX": "",  # nvcc takes a second for each file, and the page shows none of its output
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_page_leads_to_verified_assignments(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    course = tmp_path / "course"
    course.mkdir()
    text, _, _ = PAGE.read_text(encoding="utf-8").partition(_FRAGMENTS)
    ends = follow(text, course, environment)
    proofs = [line for line in ends if line.startswith("all ")]
    assert len(proofs) == 3, ends  # both assignments, and the samples of `grade new`
    stub = (course / "student_template/row_softmax/row_softmax.cu").read_text()
    assert "TODO(student)" in stub
    assert "expf" not in stub
    assert (course / "gradescope.zip").is_file()


def test_the_oracles_on_the_page_are_a_page_long() -> None:
    oracles = [c for path, _, c in steps(PAGE.read_text()) if path.endswith("oracle.py")]
    assert len(oracles) == 2
    assert all(len(oracle.splitlines()) <= 40 for oracle in oracles)


def test_the_parts_of_specs_on_the_page_have_the_form_of_the_schema() -> None:
    fragments = list(steps(PAGE.read_text(encoding="utf-8").partition(_FRAGMENTS)[2]))
    tables = [tomllib.loads(content) for _, kind, content in fragments if kind == "toml"]
    assert tables
    for table in tables:
        of_course = "target" in table
        found = (
            course_problems(table)
            if of_course
            else schema_problems({**tomllib.loads(GOOD), **table})
        )
        assert [str(one) for one in found] == []
