"""A disk that is full, or from which no program runs, is named, and costs no points."""

from __future__ import annotations

import errno
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from failing_compiler import compile_with, failing_compiler
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.build.host_compiler import compile_own
from grader.emulation.cuda_cpp.__main__ import main
from grader.grading import internal_error
from grader.grading.plan import Options
from grader.pool.state import WorkerState
from grader.report.model import Report
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.system.cache import cache_root
from grader.vocabulary import CheckName, Language

CHECKS = frozenset({CheckName.CORRECTNESS, CheckName.MEMORY})


@pytest.fixture
def disk_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """Mount a disk with such options for all temporary files."""
    mounted = []

    def mount(options: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(tmp_path)]
        if os.geteuid() or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("needs the right to mount a tmpfs")
        mounted.append(tmp_path)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        return tmp_path

    yield mount
    for disk in mounted:
        subprocess.run(["umount", disk], check=True)


def graded(language: Language) -> Report:
    """Grade the right SiLU, which is not in the cache, on its small cases."""
    silu = read_assignment(REPOSITORY / "assignments" / "silu")
    small = tuple(case for case in silu.cases if case.sizes["n"] in (1, 1000))
    solved = read_submission(REPOSITORY / "reference" / "silu", silu)
    files = {
        path: replace(file, text=f"{file.text}\n{language.comment} {uuid4()}\n")
        for path, file in solved.files.items()
        if path == f"silu{language.suffix}"
    }
    submission = replace(solved, files=files)
    options = Options(kernels=frozenset({"silu"}), languages=frozenset({language}), checks=CHECKS)
    state = WorkerState()
    try:
        return state.grade(replace(silu, cases=small), submission, options)
    finally:
        state.close()


@pytest.mark.usefixtures("no_nvcc")
def test_no_space_to_compile_is_an_error_of_the_grader(disk_with: Callable[[str], Path]) -> None:
    disk = disk_with("size=1m")
    (kernel,) = graded(Language.CUDA).kernels
    assert kernel.verdict is Verdict.GRADER_ERROR
    assert f"no space is left in {disk}" in " ".join(check.message for check in kernel.checks)


def test_no_space_for_a_launch_leaves_the_points_open(disk_with: Callable[[str], Path]) -> None:
    disk = disk_with("size=16k")
    (kernel,) = graded(Language.TRITON).kernels
    # Executor and compile gate share the disk: either may be the first to find it full.
    assert kernel.verdict in (Verdict.NOT_MEASURED, Verdict.GRADER_ERROR)
    told = " ".join(check.message for check in kernel.checks)
    assert "No space left on device" in told or f"no space is left in {disk}" in told


@pytest.mark.usefixtures("no_nvcc")
def test_a_disk_from_which_no_program_runs(disk_with: Callable[[str], Path]) -> None:
    disk = disk_with("size=200m,noexec")
    (kernel,) = graded(Language.CUDA).kernels
    assert kernel.verdict is Verdict.GRADER_ERROR
    told = " ".join(check.message for check in kernel.checks)
    assert f"no program can run from {disk}: it is mounted noexec" in told
    (kernel,) = graded(Language.TRITON).kernels  # from its IR
    assert kernel.verdict is Verdict.ACCEPTED


def test_grade_run_on_such_a_disk(
    disk_with: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    disk = disk_with("size=200m,noexec")
    program = disk / "program.cu"
    program.write_text("int main() {}\n", encoding="utf-8")
    assert main([str(program)]) == 2
    assert (
        capsys.readouterr().err == f"no program can run from {disk}: set TMPDIR to another disk\n"
    )


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("full", [True, False], ids=["full", "the file's own words"])
def test_a_compiler_that_finds_no_space(
    code: int, full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = failing_compiler(tmp_path, f"ld: kernel.so: {os.strerror(code)}")

    def allocate(descriptor: int, offset: int, size: int) -> None:
        if full:
            raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "posix_fallocate", allocate)

    def compile_runtime() -> None:
        compile_own(["/bin/sh", tool.name], tmp_path / "runtime.o", "the host runtime", tool)

    if full:
        for attempt in (partial(compile_with, tool), compile_runtime):
            with pytest.raises(OSError, match=os.strerror(code)):
                attempt()
    else:
        assert compile_with(tool).library is None


def test_the_folder_whose_disk_is_full_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path / "cache" / "not made yet"))
    temporary = Path(tempfile.gettempdir())
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    for full, name in ((temporary, "TMPDIR"), (cache_root(), "GRADE_CACHE_DIR")):
        free = {temporary: 1 << 40, cache_root(): 1 << 40} | {full: 1 << 20}
        monkeypatch.setattr(internal_error, "free_bytes", free.__getitem__)
        told = internal_error.as_grader_error(error)
        assert told.message == f"no space is left in {full}"
        assert told.tip == f"free some there, or set {name} to a folder on another disk"


def test_a_quota_may_be_that_of_either_folder() -> None:
    told = internal_error.as_grader_error(OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)))
    assert told.message.startswith("no space is left in ")
    assert str(cache_root()) in told.message or str(tempfile.gettempdir()) in told.message


def test_another_refusal_of_the_system_is_told_in_its_words_without_a_path() -> None:
    error = OSError(errno.EMFILE, "of a hidden case", "/a/secret")
    told = internal_error.as_grader_error(error).message
    assert told == f"an unexpected OSError ({os.strerror(errno.EMFILE)})"
