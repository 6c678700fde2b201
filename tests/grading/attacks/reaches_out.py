"""Tries, from Python, to reach everything that is not its own; prints what came of it.

The words in @ are filled in by the test. Signal 0 asks for the same right as any
other and, should it be granted, hurts nobody.
"""

import ctypes
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

HIDDEN, OTHER, JUDGE = Path("@HIDDEN@"), Path("@OTHER@"), int("@JUDGE@")
libc = ctypes.CDLL(None, use_errno=True)


def call(*arguments):
    if libc.syscall(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "")


def connect(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(2)
        one.connect(address)


def run_outside():
    done = subprocess.run(["cat", HIDDEN], capture_output=True, text=True)
    if done.returncode:
        raise OSError(13, done.stderr)


def imports_the_oracle():
    sys.path.insert(0, str(HIDDEN.parent))
    __import__("oracle")


ATTEMPTS = {
    "read the oracle": HIDDEN.read_text,
    "list the assignment": lambda: list(HIDDEN.parent.iterdir()),
    "import the oracle": imports_the_oracle,
    "copy the assignment": lambda: shutil.copytree(HIDDEN.parent, "stolen"),
    "read another hand-in": (OTHER / "silu.cu").read_text,
    "read the home folder": lambda: list(Path("@HOME@").iterdir()),
    "read the cache": lambda: list(Path("@CACHE@").iterdir()),
    "read the passwords": Path("/etc/shadow").read_text,
    "run a program that reads the oracle": run_outside,
    "write into the assignment": (HIDDEN.parent / "planted").touch,
    "write into another box": (OTHER / "planted").touch,
    "write into /tmp": Path("/tmp/grade-planted").touch,
    "write into /dev/shm": Path("/dev/shm/grade-planted").touch,
    "remove the oracle": HIDDEN.unlink,
    "change the oracle's rights": lambda: HIDDEN.chmod(0o777),
    "set the oracle's time": lambda: os.utime(HIDDEN, (0, 0)),
    "read the judge's memory": lambda: os.open(f"/proc/{JUDGE}/mem", os.O_RDONLY),
    "read the judge's environment": Path(f"/proc/{JUDGE}/environ").read_bytes,
    "read the parent's environment": Path(f"/proc/{os.getppid()}/environ").read_bytes,
    "kill the judge": lambda: os.kill(JUDGE, 0),
    "kill the parent": lambda: os.kill(os.getppid(), 0),
    "kill everybody": lambda: os.kill(-1, 0),
    "signal by descriptor": lambda: signal.pidfd_send_signal(os.pidfd_open(JUDGE), 0),
    "limit the judge": lambda: resource.prlimit(JUDGE, resource.RLIMIT_CPU),
    "slow the judge down": lambda: os.setpriority(os.PRIO_PROCESS, JUDGE, 0),
    "pin the judge down": lambda: os.sched_setaffinity(JUDGE, {0}),
    "connect": lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int("@PORT@"))),
    "send a datagram": lambda: connect(
        socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", int("@PORT@"))
    ),
    "connect with IPv6": lambda: connect(
        socket.AF_INET6, socket.SOCK_STREAM, ("::1", int("@PORT@"))
    ),
    "connect to a program": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "@SOCKET@"),
    "use the keyrings": lambda: call(int("@ADD_KEY@"), b"user", b"planted", b"x", 1, -3),
    "make a namespace": lambda: call(int("@UNSHARE@"), 0x10000000),
}


def silu(input, output, n):
    for name, attempt in ATTEMPTS.items():
        try:
            attempt()
        except (OSError, ImportError, shutil.Error) as error:
            print(f"{name}: {type(error).__name__} {error}")
        else:
            print(f"{name}: worked")
