"""Give up what a hand-in must not have, then become the program to run.

    python -I -S confine.py SETTINGS PROGRAM ARGUMENT...

SETTINGS is JSON: {"cwd": str, "judge": pid, "keep": [fd...], "limits": {"core": n, ...}}.
Runs between the judge's spawn and the untrusted program, in a process of its
own, because code between fork and exec is not safe in a judge with threads.
The Triton server calls `confine` in its forked children for the same reason:
one list of steps for every worker.

    own session      killable as a group, recognisable as ours
    no new rights    set-uid programs lose their power
    parent's death   the kernel kills us when the judge is gone
    descriptors      everything above 2 that was not given is closed: CUDA, for
                     one, opens device files without close-on-exec
    limits           core files, file size, open files, CPU time
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38

_LIMITS = {
    "core": resource.RLIMIT_CORE,
    "file_bytes": resource.RLIMIT_FSIZE,
    "open_files": resource.RLIMIT_NOFILE,
    "cpu_s": resource.RLIMIT_CPU,
}


def confine(settings: dict) -> None:  # type: ignore[type-arg] # plain JSON
    """Apply the settings to this process."""
    with contextlib.suppress(PermissionError):  # already a session leader
        os.setsid()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != settings["judge"]:
        os._exit(0)  # it died before the kernel was told
    _close_all_but(settings["keep"])
    for name, value in settings["limits"].items():
        _, hard = resource.getrlimit(_LIMITS[name])
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(_LIMITS[name], (value, value))
    # Where memory runs out the kernel should take the hand-in, not the judge.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    os.umask(0o077)
    os.chdir(settings["cwd"])


def _close_all_but(keep: list[int]) -> None:
    low = 3
    for descriptor in sorted(keep):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, max(low, resource.getrlimit(resource.RLIMIT_NOFILE)[0], 65536))


def main() -> None:
    """Confine this process and execute the program."""
    confine(json.loads(sys.argv[1]))
    program, *arguments = sys.argv[2:]
    try:
        os.execv(program, [program, *arguments])
    except OSError as error:
        print(f"cannot run {program}: {error.strerror}", file=sys.stderr)
        sys.exit(127)


if __name__ == "__main__":
    main()
