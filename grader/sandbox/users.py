"""Users that exist for the time of one program: for a judge that is root.

A program that runs as a user of its own can neither read the judge's files nor
signal its processes, whatever else fails; and `kill_all_of` ends everything
that it started, however it hid, for a user has no process that is not its own.

Two judges on one machine must not choose the same user. A number is taken by
binding an abstract socket of its name: the kernel gives it to one process
only, and takes it back when that process is gone.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from grader.errors import GraderError
from grader.system.retry import patiently

# Given to nobody by Debian, Fedora and systemd, and below 65,536: containers that
# are not privileged have no more users than that.
_USERS = range(64_200, 64_900)
_KILL_S = 10.0
_KILL = """
import os, signal, sys
user = int(sys.argv[1])
os.setgroups([])
os.setresgid(user, user, user)
os.setresuid(user, user, user)
try:
    os.kill(-1, signal.SIGKILL)
except ProcessLookupError:
    pass
"""

_lock = threading.Lock()
_taken: dict[int, socket.socket] = {}


def take() -> int:
    """Return a user that no process has and no other judge uses.

    Raises GraderError if there is none.
    """
    with _lock:
        for user in random.sample(_USERS, len(_USERS)):
            if user in _taken:
                continue
            claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                claim.bind(f"\0gpu-grade-user-{user}")
            except OSError:
                claim.close()
                continue
            if not processes_of(user):
                _taken[user] = claim
                return user
            claim.close()
    raise GraderError("there is no user left to run a hand-in as")


def give_back(user: int) -> None:
    """Say that nothing of the user's is left."""
    with _lock:
        _taken.pop(user).close()


def hand_over(folder: Path, user: int) -> None:
    """Make a folder and all in it the user's. Nothing hostile may have been in it before."""
    for path in (folder, *folder.rglob("*")):
        os.lchown(path, user, user)


def kill_all_of(user: int) -> None:
    """Kill every process of the user; return when there is none.

    Raises GraderError if they multiply faster than they can be killed, or if
    there is no room for the process that does it.
    """
    deadline_s = time.monotonic() + _KILL_S

    def kill() -> None:
        # A child that becomes the user: `kill(-1)` reaches all that it may signal at once.
        subprocess.run([sys.executable, "-I", "-S", "-c", _KILL, str(user)], check=False)

    while True:
        patiently(kill)
        if not processes_of(user):
            return
        if time.monotonic() > deadline_s:
            raise GraderError("a hand-in's processes multiply faster than they can be ended")
        time.sleep(0.01)


def processes_of(user: int) -> list[int]:
    """Return the processes that have the user, by any of its four kinds; zombies do not count."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            # Not the folder's owner: a process can make root the owner of its own.
            with contextlib.suppress(OSError):
                status = (entry / "status").read_text()
                users = status.partition("\nUid:")[2].partition("\n")[0].split()
                if str(user) in users and "\nState:\tZ" not in status:
                    found.append(int(entry.name))
    return found
