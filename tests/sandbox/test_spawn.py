"""Untrusted programs: how they end, what they may use, and that they leave nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from grading_bench import nothing_left
from paths import REPOSITORY

from grader.sandbox import fork_server, scratch_dir, spawn
from grader.sandbox.capture import Capture
from grader.sandbox.spawn import End, Limits
from grader.system import process_tree

PYTHON = [sys.executable, "-I", "-S", "-c"]


@pytest.fixture(scope="module", autouse=True)
def subreaper() -> None:
    process_tree.become_subreaper()


def run(
    folder: Path, code: str, *, wall_s: float = 10.0, limits: Limits | None = None
) -> spawn.Ended:
    environment = spawn.clean_environment(folder)
    with nothing_left(folder):
        return spawn.run(
            [*PYTHON, code], cwd=folder, environment=environment, wall_s=wall_s, limits=limits
        )


# --- ends ------------------------------------------------------------------------------------


def test_a_program_that_ends_well(tmp_path: Path) -> None:
    ended = run(tmp_path, "print('done')")
    assert (ended.end, ended.exit_code, ended.signal, ended.output) == (
        End.EXITED,
        0,
        None,
        "done\n",
    )
    assert ended.ok


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGRTMIN + 5])
def test_a_program_that_dies_of_a_signal(tmp_path: Path, number: int) -> None:
    ended = run(tmp_path, f"import os; os.kill(os.getpid(), {int(number)})")
    assert (ended.end, ended.exit_code, ended.signal) == (End.SIGNALED, None, number)
    assert not ended.ok


def test_a_program_that_fails(tmp_path: Path) -> None:
    ended = run(tmp_path, "import sys; sys.exit('sorry')")
    assert (ended.end, ended.exit_code, ended.output) == (End.EXITED, 1, "sorry\n")
    assert not ended.ok


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    environment = spawn.clean_environment(tmp_path)
    ended = spawn.run(["/no/such"], cwd=tmp_path, environment=environment, wall_s=10)
    assert ended.exit_code == 127
    assert "cannot run /no/such: No such file or directory" in ended.output


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_server_that_a_submission_has_stopped_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setattr(fork_server, "_ANSWER_S", 0.5)
    server = fork_server.ready()
    os.kill(server, number)
    environment = spawn.clean_environment(tmp_path)
    ended = spawn.run([*PYTHON, "print(7)"], cwd=tmp_path, environment=environment, wall_s=10)
    assert ended.output == "7\n"
    assert fork_server.ready() != server
    assert not psutil.pid_exists(server)


def test_a_server_ends_with_its_judge(tmp_path: Path) -> None:
    code = "from grader.sandbox import fork_server; print(fork_server.ready())"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    judge = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    deadline_s = time.monotonic() + 10
    # It is the child of this process now, the next subreaper.
    while psutil.pid_exists(pid := int(judge.stdout)):
        assert time.monotonic() < deadline_s, "it lives on"
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)
    assert judge.stderr == ""


# --- limits ----------------------------------------------------------------------------------


def test_the_time_limit(tmp_path: Path) -> None:
    started_s = time.monotonic()
    ended = run(tmp_path, "print('so far', flush=True)\nwhile True: pass", wall_s=0.5)
    assert ended.end is End.TIME_LIMIT
    assert (ended.exit_code, ended.signal) == (None, None)
    assert ended.output == "so far\n"
    assert time.monotonic() - started_s < 5


def test_the_output_limit(tmp_path: Path) -> None:
    ended = run(tmp_path, "while True: print('again')", limits=Limits(output_kib=200))
    assert ended.end is End.OUTPUT_LIMIT
    assert ended.output.startswith("again\nagain\n")
    assert "bytes left out" in ended.output
    assert len(ended.output) < 100_000


TAKE = "kept = [bytearray(b'x' * (8 << 20)) for _ in range(64)]"
MEMORY = {
    "its own": TAKE,
    "shared": """
import mmap
memory = mmap.mmap(-1, 512 << 20)
for i in range(0, 512 << 20, 4096):
    memory[i] = 1
""",
    "a child's": f"""
import os
if os.fork() == 0:
    {TAKE}
""",
}


@pytest.mark.parametrize("code", MEMORY.values(), ids=MEMORY)
def test_the_memory_limit(tmp_path: Path, code: str) -> None:
    code += "\nimport time\ntime.sleep(60)"
    assert run(tmp_path, code, limits=Limits(memory_mib=256)).end is End.MEMORY_LIMIT


def test_pages_that_a_fork_shares_count_once(tmp_path: Path) -> None:
    code = (
        "import os, time\nkept = bytearray(b'x' * (100 << 20))\n"
        "for _ in range(4):\n    if os.fork() == 0: break\ntime.sleep(0.4)"
    )
    assert run(tmp_path, code, limits=Limits(memory_mib=256)).end is End.EXITED


def test_the_process_limit(tmp_path: Path) -> None:
    code = "import os, time\nfor _ in range(50):\n    if os.fork() == 0: break\ntime.sleep(60)"
    assert run(tmp_path, code, limits=Limits(processes=20)).end is End.PROCESS_LIMIT


def test_the_file_limit(tmp_path: Path) -> None:
    code = """
import os
file = open("big", "wb", buffering=0)
try:
    for _ in range(9):
        file.write(bytes(1 << 20))
except OSError as error:
    print(error.strerror)
os.unlink("big")
"""
    assert run(tmp_path, code, limits=Limits(file_mib=4)).output == "File too large\n"


@pytest.mark.parametrize("count", [1, pytest.param(100_000, marks=pytest.mark.slow)])
def test_the_folder_limit(tmp_path: Path, count: int) -> None:
    code = f"""
import time
for number in range({count}):
    with open(f"file{{number}}", "wb") as file:
        file.write(bytes(1 << 24) if {count} == 1 else b"")
time.sleep(60)
"""
    inner = tmp_path / "inner"
    inner.mkdir()
    ended = spawn.run(
        [*PYTHON, code],
        cwd=inner,
        environment=spawn.clean_environment(inner),
        wall_s=50,
        limits=Limits(folder_mib=8),
    )
    assert ended.end is End.FOLDER_LIMIT


def test_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "1234")
    code = (
        "import os, sys\nprint(sorted(os.environ))\nprint(os.getcwd())\n"
        "numbers = []\nfor number in range(1024):\n    try:\n        os.fstat(number)\n"
        "        numbers.append(number)\n    except OSError:\n        pass\n"
        "print(numbers, repr(sys.stdin.read()))\n"
        "print(os.getsid(0) == os.getpid())"
    )
    names, folder, rest, leads = run(tmp_path, code).output.splitlines()
    assert "SECRET" not in names
    assert "HOME" in names
    assert folder == str(tmp_path)
    assert rest == "[0, 1, 2] ''", "no descriptor but its own three; nothing to read"
    assert leads == "True"


# --- leftovers -------------------------------------------------------------------------------

LEFT = {
    "a child": """
if os.fork() == 0:
    time.sleep(1000)
""",
    "a daemon": """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
""",
    "a daemon without descriptors": """
if os.fork() == 0:
    os.setsid()
    os.closerange(0, 100)
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
""",
    "a family of daemons": """
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        for _ in range(3):
            os.fork()
        time.sleep(1000)
""",
    "a chain": """
if os.fork() == 0:
    os.setsid()
    while True:
        if os.fork():
            os._exit(0)
        os.setsid()
""",
    "a process that heeds no signal": """
for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    time.sleep(1000)
""",
}


@pytest.mark.parametrize("code", LEFT.values(), ids=LEFT)
def test_nothing_is_left(tmp_path: Path, code: str) -> None:
    ended = run(tmp_path, f"import os, signal, time\n{code}")
    assert ended.end is End.EXITED
    assert process_tree.strays() == []


def test_nothing_is_left_of_a_program_of_another_thread(tmp_path: Path) -> None:
    code = f"import os, signal, time\n{LEFT['a daemon']}"
    before = set(psutil.Process().children())
    with ThreadPoolExecutor(1) as other:
        ended = other.submit(run, tmp_path, code).result()
        left = [child for child in psutil.Process().children() if child not in before]
    assert ended.end is End.EXITED
    assert left == []


def test_children_of_ours_are_no_strays() -> None:
    pid = os.posix_spawn("/bin/sleep", ["sleep", "100"], {})
    try:
        assert process_tree.sweep() == 0
        assert psutil.pid_exists(pid)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_program_dies_with_its_judge(tmp_path: Path) -> None:
    command = [*PYTHON, "import time; time.sleep(1000)"]
    code = f"""
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from grader.sandbox import spawn
folder = Path({str(tmp_path)!r})
program = spawn.spawn({command!r}, cwd=folder, environment={{}}, limits=spawn.Limits())
print(program.pid, flush=True)
time.sleep(1000)
"""
    reading, writing = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, writing, 1)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    judge = os.posix_spawn(
        sys.executable, [sys.executable, "-c", code], environment, file_actions=actions
    )
    os.close(writing)
    with os.fdopen(reading) as output:
        pid = int(output.readline())
    os.kill(judge, signal.SIGKILL)
    os.waitpid(judge, 0)
    deadline_s = time.monotonic() + 10
    # This process is the subreaper, so it is our child now, and a zombie until the sweep.
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline_s, "it lives on"
        time.sleep(0.01)
    process_tree.sweep()


# --- output ----------------------------------------------------------------------------------


def captured(*pieces: bytes, limit_bytes: int = 1 << 20) -> Capture:
    reading, writing = os.pipe()
    capture = Capture(reading, limit_bytes)
    for piece in pieces:
        os.write(writing, piece)
        capture.drain()
    os.close(writing)
    return capture


def test_short_output_is_kept_whole() -> None:
    capture = captured(b"one ", "zwölf".encode(), b" \xff")
    assert capture.text() == "one zwölf \ufffd"
    assert capture.drain() is False
    capture.close()


def test_of_long_output_head_and_tail_are_kept() -> None:
    capture = captured(*(b"%07d\n" % number for number in range(20_000)))
    text = capture.text()
    assert text.startswith("0000000\n")
    assert text.endswith("0019999\n")
    assert f"… {160_000 - 2 * 32 * 1024} bytes left out …" in text
    assert capture.total_bytes == 160_000
    assert not capture.over_limit
    capture.close()


@pytest.mark.parametrize("before", [0, 5, 40_000, 100_000])
def test_what_came_since(before: int) -> None:
    capture = captured(*[b"x" * 5000] * (before // 5000), b"x" * (before % 5000), b"the rest")
    assert capture.text(before).endswith("the rest")
    if before < 2 * 32 * 1024:
        assert capture.text(before) == "the rest"
    capture.close()


def test_reading_stops_at_the_limit() -> None:
    capture = captured(b"x" * 60_000, limit_bytes=10_000)
    assert capture.over_limit
    capture.close()


# --- scratch folder --------------------------------------------------------------------------


def test_a_box_is_removed_whatever_is_in_it() -> None:
    with scratch_dir.scratch_folder("grade-test-") as folder:
        (folder / "closed").mkdir()
        (folder / "closed" / "file").touch()
        (folder / "closed").chmod(0)
        (folder / "link").symlink_to("/")
        here = os.open(folder, os.O_RDONLY)
        for _ in range(1200):
            os.mkdir("deeper", dir_fd=here)
            deeper = os.open("deeper", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = deeper
        os.close(here)
    assert not folder.exists()
    assert Path("/etc/passwd").exists()
