"""`grade local` under signals, beside a second run, and with a full disk."""

from __future__ import annotations

import errno
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from paths import HAND_INS, REPOSITORY

from grader.cli import main

GRADE = [sys.executable, "-c", "from grader.__main__ import main; main()"]
_PATIENCE_S = 60.0  # the host runtime may have to be compiled first


def hand_in(folder: Path, name: str) -> Path:
    folder.mkdir()
    shutil.copyfile(HAND_INS / name, folder / f"silu{Path(name).suffix}")
    return folder


@contextmanager
def grading(
    source: Path, scratch: Path, *more: str, terminal: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `grade local silu` with its temporary files in `scratch`."""
    scratch.mkdir(exist_ok=True)
    environment = {
        **os.environ, "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(scratch), "TERM": "xterm",
        "CUDACXX": "",
        "GRADE_ASSIGNMENTS": str(REPOSITORY / "assignments"),
    }  # fmt: skip
    process = subprocess.Popen(
        [
            *GRADE,
            "local",
            "silu",
            "--from",
            str(source),
            "--device",
            "cpu",
            "--check",
            "correctness",
            *more,
        ],
        cwd=source,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if terminal is None else terminal,
        stderr=subprocess.PIPE if terminal is None else terminal,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def below(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        return list(psutil.Process(process.pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def compiling(process: subprocess.Popen[bytes]) -> bool:
    return any(child.name() == "cc1plus" for child in below(process))


def importing_torch(process: subprocess.Popen[bytes]) -> bool:
    return "libtorch_cpu" in Path(f"/proc/{process.pid}/maps").read_text()


def in_a_case(process: subprocess.Popen[bytes]) -> bool:
    workers = [child for child in below(process) if child.name() == "cuda_worker"]
    return any(worker.cpu_times().user > 0.3 for worker in workers)


def wait_until(
    stage: Callable[[subprocess.Popen[bytes]], bool], process: subprocess.Popen[bytes]
) -> None:
    deadline_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline_s and process.poll() is None:
        try:
            if stage(process):
                return
        except (psutil.Error, OSError):
            pass  # a child ended during the search
        time.sleep(0.01)
    pytest.fail(f"never came to the stage {stage.__name__}")


STAGES = [
    (compiling, "endless_templates.cu"),
    (importing_torch, "right.cu"),
    (in_a_case, "endless_loop_on_host.cu"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(("stage", "file"), STAGES, ids=[stage.__name__ for stage, _ in STAGES])
def test_a_signal(
    tmp_path: Path,
    stage: Callable[[subprocess.Popen[bytes]], bool],
    file: str,
    number: signal.Signals,
    code: int,
) -> None:
    scratch = tmp_path / "scratch"
    with grading(hand_in(tmp_path / "hand_in", file), scratch) as process:
        wait_until(stage, process)
        started = below(process)
        process.send_signal(number)
        time.sleep(0.02)
        process.send_signal(number)  # the second signal
        _, errors = process.communicate(timeout=_PATIENCE_S)
    assert process.returncode == code
    assert b"Traceback" not in errors
    assert ("interrupted" in errors.decode()) == (number is signal.SIGINT)
    # A zombie that the system's first process has not reaped yet has ended.
    assert [child for child in started if alive(child)] == []
    assert list(scratch.iterdir()) == []


@pytest.mark.slow
def test_a_terminal_is_given_back_as_it_was(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    before = os.ttyname(theirs), termios.tcgetattr(theirs)
    source = hand_in(tmp_path / "hand_in", "endless_loop_on_host.cu")
    with grading(source, tmp_path / "scratch", terminal=theirs) as process:
        wait_until(in_a_case, process)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=_PATIENCE_S)
    after = os.ttyname(theirs), termios.tcgetattr(theirs)
    os.close(theirs)
    shown = b""
    try:
        while data := os.read(ours, 65536):
            shown += data
    except OSError as error:
        assert error.errno == errno.EIO  # no process holds the other end any more
    os.close(ours)
    assert before == after
    assert shown.rfind(b"\x1b[?25l") < shown.rfind(b"\x1b[?25h"), "the cursor is hidden still"
    assert shown.rstrip().endswith(b"interrupted")


@pytest.mark.slow
def test_two_runs_beside_each_other(tmp_path: Path) -> None:
    source = hand_in(tmp_path / "hand_in", "right.cu")
    file, scratch = tmp_path / "report.json", tmp_path / "scratch"
    more = ("--json", str(file))
    with grading(source, scratch, *more) as one, grading(source, scratch, *more) as other:
        codes = one.wait(_PATIENCE_S), other.wait(_PATIENCE_S)
        errors = [done.communicate()[1].decode() for done in (one, other)]
    assert codes == (0, 0), errors
    assert json.loads(file.read_text())["verdict"] == "accepted"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hand_in", "report.json", "scratch"]
    assert list(scratch.iterdir()) == []
    assert [path.name for path in source.iterdir()] == ["silu.cu"]


def test_a_full_disk_for_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = hand_in(tmp_path / "hand_in", "entry_is_a_kernel.cu")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setenv("GRADE_ASSIGNMENTS", str(REPOSITORY / "assignments"))
    monkeypatch.chdir(source)
    file = tmp_path / "report.json"
    file.write_text("{}")
    arguments = ["local", "silu", "--from", str(source), "--device", "cpu", "--json", str(file)]
    arguments += ["--check", "correctness"]
    monkeypatch.setattr(sys, "argv", ["grade", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.main()
    printed = capsys.readouterr()
    assert ended.value.code == 3
    assert "`silu` is a __global__ kernel" in " ".join(printed.out.split()), (
        "the result is told all the same"
    )
    assert f"cannot write the report {file}: No space left on device" in printed.err.replace(
        "\n", " "
    )
    assert "--json" in printed.err
    assert file.read_text() == "{}", "the old report is untouched"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["hand_in", "report.json"]


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("nowhere", 2, "there is no submission at"),
        (".", 1, "no silu.cu or silu.py in"),
    ],
)
def test_nothing_handed_in(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    source: str,
    code: int,
    words: str,
) -> None:
    monkeypatch.setenv("GRADE_ASSIGNMENTS", str(REPOSITORY / "assignments"))
    monkeypatch.chdir(tmp_path)
    arguments = ["local", "silu", "--from", source, "--device", "cpu"]
    monkeypatch.setattr(sys, "argv", ["grade", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.main()
    printed = capsys.readouterr()
    assert ended.value.code == code
    assert words in " ".join((printed.out + printed.err).split())


def test_the_untouched_stub_is_not_submitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRADE_ASSIGNMENTS", str(REPOSITORY / "assignments"))
    file = tmp_path / "report.json"
    stubs = REPOSITORY / "student_template"
    arguments = ["local", "silu", "--from", str(stubs), "--device", "cpu", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", ["grade", *arguments])
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 1
    report = json.loads(file.read_text())
    assert (report["verdict"], report["score"], report["handed_in"]) == ("not_submitted", 0, 0)
    said = " ".join(capsys.readouterr().out.split())
    assert "silu.cu and silu.py: the stubs as handed out" in said
    assert "main.cu: the stub as handed out" in said
