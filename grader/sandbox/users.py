"""Temporary users: if the judge is root, each untrusted program can run as its own user.

Such a program can neither read the judge's files nor signal its processes, whatever else fails.
Killing every process of the user ends all that the program started, however it hid.

Two judges on one machine must not choose the same user. A judge claims a user id by binding an
abstract socket of that name: the kernel gives the name to one socket only, and frees it when the
judge is gone.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError
from grader.system.process_tree import kill_until_none
from grader.system.retry import retry_start

# Assigned to nobody by Debian, Fedora and systemd, and below 65,536: unprivileged containers
# have no more user ids than that.
_UIDS = range(64_200, 64_900)
_POLL_S = 0.01
# A child that becomes the user: its `kill(-1)` reaches all processes of the user at once.
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


@dataclass(frozen=True, slots=True)
class TemporaryUser:
    """A user id that this judge has claimed."""

    uid: int
    _claim: socket.socket

    def end(self) -> None:
        """Kill every process of the user, and release the user id.

        Raises GraderError if the processes multiply faster than they can be killed or do not end,
        or if the machine cannot start the process that kills them.
        """
        command = [sys.executable, "-I", "-S", "-c", _KILL, str(self.uid)]

        def kill() -> Sequence[int]:
            found = processes_of(self.uid)
            if found:
                retry_start(lambda: subprocess.run(command, check=False))
            return found

        with self._claim:
            kill_until_none(kill, _POLL_S)


def claim() -> TemporaryUser:
    """Claim a user that has no process and that no other judge uses.

    Raises GraderError if there is none.
    """
    for uid in random.sample(_UIDS, len(_UIDS)):
        name = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            name.bind(f"\0gpu-grade-user-{uid}")
        except OSError:
            name.close()
            continue
        if not processes_of(uid):
            return TemporaryUser(uid, name)
        name.close()
    raise GraderError("no unused user id is left to run a submission")


def give_folder(folder: Path, uid: int) -> None:
    """Make the user own a folder and all in it, which must not come from untrusted code."""
    for path in (folder, *folder.rglob("*")):
        os.lchown(path, uid, uid)


def processes_of(uid: int) -> list[int]:
    """Return the processes with this real, effective, saved or file system uid, without zombies.

    First asks the kernel for the priority of the user's processes, which fails if there are none:
    reading /proc takes a third of a second in a judge whose threads all run. It looks at real uids
    only; an unprivileged program cannot give that one up and keep another.
    """
    try:
        os.getpriority(os.PRIO_USER, uid)
    except ProcessLookupError:
        return []
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            # Not the folder's owner: a process can make root the owner of its folder.
            with contextlib.suppress(OSError):
                status = (entry / "status").read_text()
                uids = status.partition("\nUid:")[2].partition("\n")[0].split()
                if str(uid) in uids and "\nState:\tZ" not in status:
                    found.append(int(entry.name))
    return found
