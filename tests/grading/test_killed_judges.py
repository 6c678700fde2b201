"""The next judge on the machine ends what a killed judge leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from grader.sandbox import cgroup

# A submission whose daemon has left its session, so it does not end with the judge.
_DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print("daemon", os.getpid(), flush=True)
        time.sleep(1000)
    os._exit(0)
time.sleep(1000)
"""
_JUDGE = f"""
import sys, time
from pathlib import Path
from grader.sandbox import spawn
from grader.sandbox.policy import Layers
from grader.system import process_tree
process_tree.become_subreaper()
program = spawn.spawn(
    [sys.executable, "-I", "-S", "-c", {_DAEMON!r}],
    cwd=Path(sys.argv[1]), environment={{}}, limits=spawn.Limits(), layers=Layers(own_group=True),
)
while not program.output.text().endswith("\\n"):
    program.wait_for(None, time.monotonic() + 0.1)
print(program.output.text().split()[1], flush=True)
time.sleep(1000)
"""
_NEXT = "from grader.sandbox import cgroup; cgroup.places()"


def groups_of(judge: int) -> list[Path]:
    return [
        folder for place in cgroup.places() for folder in place.folder.glob(f"gpu-grade-{judge}-*")
    ]


def test_the_next_judge_ends_what_a_killed_one_has_left(tmp_path: Path) -> None:
    if not cgroup.places():
        pytest.skip("no control group may be made here")
    with subprocess.Popen(
        [sys.executable, "-c", _JUDGE, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as judge:
        assert judge.stdout is not None
        daemon = psutil.Process(int(judge.stdout.readline()))
        # Processes of a living judge are left alone.
        subprocess.run([sys.executable, "-c", _NEXT], check=True)
        assert daemon.is_running()
        assert groups_of(judge.pid)
        judge.kill()
    subprocess.run([sys.executable, "-c", _NEXT], check=True)
    assert groups_of(judge.pid) == []
    assert not daemon.is_running() or daemon.status() == psutil.STATUS_ZOMBIE


def test_a_container_within_this_one_has_processes_of_its_own() -> None:
    assert not cgroup._is_elsewhere(os.getpid())
    assert not cgroup._is_elsewhere(4_194_399), "nobody has this number"
    command = ["unshare", "--pid", "--fork", "sleep", "1000"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as outside:
        try:
            inside: list[psutil.Process] = []
            while not inside and outside.poll() is None:
                inside = psutil.Process(outside.pid).children()
            if not inside:
                pytest.skip("no process namespace may be made here")
            assert cgroup._is_elsewhere(inside[0].pid)
            inside[0].send_signal(signal.SIGKILL)
        finally:
            outside.kill()
