"""Progress is shown on consoles, and its failures do not affect a result."""

from __future__ import annotations

import io
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest
from paths import REPOSITORY
from rich.console import Console

from grader.grading.progress import LiveProgress, LogProgress, Progress, progress_on

TITLE = "silu · CUDA C++ · correctness"
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def work(progress: Progress, cases: int = 3) -> None:
    with progress:
        with progress.step("silu · CUDA C++ · build"):
            pass
        with progress.step(TITLE, total=cases) as step:
            for n in range(cases):
                step.advance(f"n={n}")


def log_of(interval_s: float, cases: int = 3) -> list[str]:
    file = io.StringIO()
    work(LogProgress(Console(file=file), interval_s=interval_s), cases)
    return file.getvalue().splitlines()


def test_log_has_a_line_for_each_step() -> None:
    assert log_of(interval_s=1e9) == ["silu · CUDA C++ · build", TITLE]


def test_log_says_how_far_it_is_after_a_while() -> None:
    assert log_of(interval_s=0.0)[2:] == [f"{TITLE}: {n + 1} of 3, 0 s n={n}" for n in range(3)]


def test_log_is_rate_limited() -> None:
    assert len(log_of(interval_s=3600.0, cases=1000)) == 2


def test_log_lines_are_not_broken_at_a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert TITLE in log_of(interval_s=1e9)


def test_log_takes_no_orders_from_a_title() -> None:
    file = io.StringIO()
    with LogProgress(Console(file=file)).step("[red]\x1b[2J:smile:\nsecond"):
        pass
    assert file.getvalue() == "[red]\\x1b[2J:smile: second\n"


@pytest.mark.parametrize(
    ("terminal", "term", "kind"),
    [
        (True, "xterm-256color", LiveProgress),
        (True, "dumb", LogProgress),
        (False, "xterm-256color", LogProgress),
    ],
)
def test_kind_suits_the_console(
    terminal: bool, term: str, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    assert type(progress_on(Console(file=io.StringIO(), force_terminal=terminal))) is kind


def test_a_long_part_leaves_the_title_of_its_line_whole() -> None:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80)
    with LiveProgress(console) as progress, progress.step(TITLE, total=10) as step:
        step.advance("rows=17, cols=33, left=-2.1, top=1.2, step=0.09, iterations=40")
        time.sleep(0.5)
    shown = SEQUENCE.sub("", file.getvalue())
    assert f"{TITLE} 1/10 rows=17, cols=33" in shown


def test_a_students_command_in_a_pipe_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert type(progress_on(Console(file=io.StringIO()), log=False)) is Progress
    terminal = Console(file=io.StringIO(), force_terminal=True)
    assert type(progress_on(terminal, log=False)) is LogProgress


class GoneStream(io.StringIO):
    """A terminal that is closed during the work."""

    def write(self, _text: str) -> int:
        raise OSError(5, "Input/output error")


class SmallStream(io.StringIO):
    """A stream that claims to accept everything and does not."""

    def write(self, text: str) -> int:
        text.encode("ascii")
        return len(text)


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("stream", [GoneStream(), SmallStream(), closed()])
@pytest.mark.parametrize("kind", [LiveProgress, LogProgress])
def test_a_broken_stream_does_not_stop_the_work(kind: type[Progress], stream: io.StringIO) -> None:
    progress = kind(Console(file=stream, force_terminal=kind is LiveProgress))  # type: ignore[call-arg]
    done = []
    with progress, progress.step(TITLE, total=2) as step:
        step.advance("n=1")
        time.sleep(0.3)  # past the first redraw
        step.advance("n=2")
        done.append(step.done)
    assert done == [2]


@pytest.mark.parametrize("kind", [LiveProgress, LogProgress])
def test_errors_of_the_work_come_through(kind: type[Progress]) -> None:
    console = Console(file=io.StringIO(), force_terminal=kind is LiveProgress)
    with (
        pytest.raises(ZeroDivisionError),
        kind(console) as progress,  # type: ignore[call-arg]
        progress.step(TITLE),
    ):
        _ = 1 / 0


def test_silent_progress_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    work(Progress())
    assert capfd.readouterr() == ("", "")


# --- on a real terminal ----------------------------------------------------------------------

PROGRAM = f"""
import sys, time
from rich.console import Console
from grader.grading.progress import progress_on
with progress_on(Console(stderr=True)) as progress:
    with progress.step({TITLE!r}, total=2) as step:
        step.advance("n=[red]{{step}}")
        time.sleep(float(sys.argv[1]))
"""


def on_terminal(seconds: float, *, interrupt: bool, encoding: str = "utf-8") -> str:
    """Return everything that the program sent to its terminal."""
    master, slave = pty.openpty()
    environment = {
        **os.environ,
        "TERM": "xterm",
        "COLUMNS": "100",
        "PYTHONIOENCODING": encoding,
        "PYTHONPATH": str(REPOSITORY),
    }
    for name in ("NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "FORCE_COLOR"):
        environment.pop(name, None)
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(seconds)],
        stdin=slave,
        stdout=subprocess.DEVNULL,
        stderr=slave,
        env=environment,
    )
    os.close(slave)
    sent = b""
    interrupted = False
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # the last writer closed the terminal
            break
        if not chunk:
            break
        sent += chunk
        if interrupt and not interrupted and b"1/2" in sent:
            program.send_signal(signal.SIGINT)
            interrupted = True
    os.close(master)
    assert program.wait(timeout=30) == (-signal.SIGINT if interrupt else 0)
    return sent.decode(encoding)


@pytest.mark.parametrize("interrupt", [False, True])
def test_terminal_is_left_clean(interrupt: bool) -> None:
    sent = on_terminal(30.0 if interrupt else 0.5, interrupt=interrupt)
    assert TITLE in sent
    assert "1/2" in sent
    assert "n=[red]{step}" in sent  # neither markup nor a format string
    assert sent.rindex("\x1b[?25h") > sent.rindex("\x1b[?25l")  # the cursor is visible again
    # The display removes its lines: the output after the last erasure is not from it.
    last = sent[sent.rindex("\x1b[2K") :].partition("Traceback")[0]
    assert SEQUENCE.sub("", last).strip() == ""


def test_terminal_without_unicode_gets_none() -> None:
    sent = on_terminal(0.5, interrupt=False, encoding="ascii")
    assert "silu - CUDA C++ - correctness" in sent
