"""Tries to escape from the sandbox, and reports which attempts succeed.

    python -I -S escape_attempts.py '{"judge": pid, "secret": path, ...}'

Prints one JSON object: for each attempt null if the kernel refused it, else its outcome. The
attempts do no harm: the signal is 0, the limit is only read, and a created file is removed. Any
error other than a refusal (nobody listens, no such address) counts as success.

`grader.sandbox.probe` runs this program like a submission, before the first submission.
"""

import ctypes
import errno
import json
import os
import platform
import resource
import socket
import sys
from collections.abc import Callable
from pathlib import Path

# Permissions, rules, an absent system call, a read-only mount.
_REFUSALS = (errno.EACCES, errno.EPERM, errno.ENOSYS, errno.EROFS, errno.EAFNOSUPPORT)

_PTRACE_SEIZE = 0x4206
_IPC_RMID = 0
_CLONE_NEWUSER = 0x1000_0000
# The numbers of calls without a function in the C library, by architecture.
_ADD_KEY = {"x86_64": 248, "aarch64": 217}
_SHMGET = {"x86_64": 29, "aarch64": 194}

_libc = ctypes.CDLL(None, use_errno=True)


def _called(result: int) -> str:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return f"returned {result}"


def attempts(about: dict[str, str]) -> dict[str, Callable[[], object]]:
    """Return the attempts by name; `about` has the targets: pid, paths and addresses."""
    judge, secret = int(about["judge"]), Path(about["secret"])
    number = platform.machine()

    def make(folder: Path) -> str:
        path = folder / f"grade-probe-{os.getpid()}"
        path.touch(exist_ok=False)
        path.unlink()
        return f"made and removed {path}"

    def udp() -> int:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            return client.sendto(b"probe", ("127.0.0.1", int(about["port"])))

    def connect(family: int, address: tuple[str, int] | str) -> str:
        with socket.socket(family, socket.SOCK_STREAM) as client:
            client.settimeout(2)
            client.connect(address)
            return "connected"

    def open_for_writing(path: str) -> str:
        os.close(os.open(path, os.O_WRONLY))
        return "opened"

    def peek() -> str:
        data = ctypes.create_string_buffer(8)

        class Part(ctypes.Structure):
            _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

        here = Part(ctypes.cast(data, ctypes.c_void_p), 8)
        return _called(
            _libc.process_vm_readv(judge, ctypes.byref(here), 1, ctypes.byref(here), 1, 0)
        )

    def segment() -> str:
        made = _libc.syscall(_SHMGET[number], 0, ctypes.c_size_t(4096), 0o600)
        outcome = _called(made)
        _libc.shmctl(made, _IPC_RMID, None)
        return outcome

    return {
        "read a hidden file": secret.read_bytes,
        "list a hidden folder": lambda: list(secret.parent.iterdir()),
        "write beside a hidden file": lambda: make(secret.parent),
        "write to a shared folder": lambda: make(Path(about["shared"])),
        "write to /dev/shm": lambda: make(Path("/dev/shm")),
        "change the rights of a hidden file": lambda: secret.chmod(0o600),
        "change the kernel's settings": lambda: open_for_writing("/proc/sys/kernel/core_pattern"),
        "read the judge's memory": lambda: Path(f"/proc/{judge}/mem").open("rb").close(),
        "read the judge's environment": Path(f"/proc/{judge}/environ").read_bytes,
        "look into the judge": peek,
        "trace the judge": lambda: _called(_libc.ptrace(_PTRACE_SEIZE, judge, None, None)),
        "signal the judge": lambda: os.kill(judge, 0),
        "limit the judge": lambda: resource.prlimit(judge, resource.RLIMIT_CPU),
        "slow the judge down": lambda: os.setpriority(
            os.PRIO_PROCESS, judge, os.getpriority(os.PRIO_PROCESS, judge)
        ),
        "connect over TCP": lambda: connect(socket.AF_INET, ("127.0.0.1", int(about["port"]))),
        "send over UDP": udp,
        "connect to a program's socket": lambda: connect(socket.AF_UNIX, about["socket"]),
        "connect to a program's abstract socket": lambda: connect(
            socket.AF_UNIX, "\0" + about["abstract"]
        ),
        "use the kernel's keyrings": lambda: _called(
            _libc.syscall(_ADD_KEY[number], b"user", b"grade-probe", b"x", ctypes.c_size_t(1), -1)
        ),
        "make a namespace": lambda: _called(_libc.unshare(_CLONE_NEWUSER)),
        "leave memory behind": segment,
    }


def _outcome(attempt: Callable[[], object]) -> str | None:
    try:
        attempt()
    except OSError as error:
        if error.errno in _REFUSALS:
            return None
        return f"not refused, but {os.strerror(error.errno or 0)}"
    except Exception as error:
        return f"not refused, but {type(error).__name__}: {error}"
    return "worked"


def start_cuda() -> str | None:
    """Start the CUDA driver as a worker does; return the error, or None if it works."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return str(error)
    context = ctypes.c_void_p()
    code = driver.cuInit(0) or driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    return f"CUDA error {code}" if code else None


def main() -> None:
    """Make all attempts and print their outcomes."""
    about = json.loads(sys.argv[1])
    result = {
        "unreadable": [path for path in about["needed"] if not os.access(path, os.R_OK)],
        "scratch": os.access(os.environ["TMPDIR"], os.R_OK),
        "cuda": start_cuda() if about["gpu"] else None,
        "attempts": {name: _outcome(attempt) for name, attempt in attempts(about).items()},
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
