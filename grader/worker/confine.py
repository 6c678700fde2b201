"""Give up what a hand-in must not have, then become the program to run.

    python -I -S confine.py SETTINGS PROGRAM ARGUMENT...

SETTINGS is JSON: {"cwd": str, "judge": pid, "keep": [fd...], "limits": {"core": n, ...},
"groups": [file to enter by...], "user": uid or null, "powers": whether to keep root's,
"fence": {"write": [path...], ...} or null, "filter": base64 or null}.
Runs between the judge's spawn and the untrusted program, in a process of its
own, because code between fork and exec is not safe in a judge with threads.
The Triton server calls `confine` in its forked children for the same reason:
one list of steps for every worker.

    own session      killable as a group, recognisable as ours
    parent's death   the kernel kills us when the judge is gone
    descriptors      everything above 2 that was not given is closed: CUDA, for
                     one, opens device files without close-on-exec
    control groups   entered first, while nothing keeps us from it
    limits           core files, file size, open files, CPU time
    another user     where the judge is root and the settings name one; without
                     the powers of root in any case
    no new rights    set-uid programs lose their power
    fence            Landlock: files, TCP, signals and sockets beyond our own
    filter           seccomp: system calls (`grader.sandbox.seccomp` wrote it)

A kernel without Landlock or seccomp leaves that step out: how much of all this
holds on a machine is found out by trying it (`grader.sandbox.probe`), not by a claim
of this program.
"""

import base64
import contextlib
import ctypes
import errno
import json
import os
import resource
import signal
import stat
import struct
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import standalone  # noqa: F401 # so that the imports below find their modules

from grader.protocol.landlock import CREATE_RULESET, landlock_abi

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
SECCOMP_MODE_FILTER = 2

_LIMITS = {
    "core": resource.RLIMIT_CORE,
    "file_bytes": resource.RLIMIT_FSIZE,
    "open_files": resource.RLIMIT_NOFILE,
    "cpu_s": resource.RLIMIT_CPU,
    "threads": resource.RLIMIT_NPROC,
}

# --- Landlock (linux/landlock.h); the numbers of its calls are the same on every machine ---

_ADD_RULE, _RESTRICT_SELF = 445, 446
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
# The rights that files have; the others are those of folders.
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
# How many rights an ABI knows, from its number.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NEWEST_RIGHTS = 16

_READ = _EXECUTE | _READ_FILE | _READ_DIR
GRANTS = {
    "read": _READ,
    # Not device files: those would open a way around all other rules.
    "write": ((1 << 15) - 1) & ~(_MAKE_CHAR | _MAKE_BLOCK),
    # What is there can be read and written, nothing made or removed.
    "change": _READ | _WRITE_FILE | _TRUNCATE,
    "device": _READ_FILE | _READ_DIR | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV,
}


def confine(settings: dict) -> None:  # type: ignore[type-arg] # plain JSON
    """Apply the settings to this process."""
    with contextlib.suppress(PermissionError):  # already a session leader
        os.setsid()
    for entrance in settings["groups"]:
        Path(entrance).write_text("0")
    libc = ctypes.CDLL(None, use_errno=True)
    _die_with(settings["judge"], libc)
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
    if not settings["powers"]:
        _give_up_rights(settings["user"], libc)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # The kernel forgets it when the user changes.
    _die_with(settings["judge"], libc)
    if settings["fence"] is not None:
        _fence(settings["fence"], libc)
    if settings["filter"] is not None:
        _filter(base64.b64decode(settings["filter"]), libc)


def _die_with(judge: int, libc: ctypes.CDLL) -> None:
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != judge:
        os._exit(0)  # it died before the kernel was told


def _close_all_but(keep: list[int]) -> None:
    low = 3
    for descriptor in sorted(keep):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, max(low, resource.getrlimit(resource.RLIMIT_NOFILE)[0], 65536))


def _give_up_rights(user: int | None, libc: ctypes.CDLL) -> None:
    """Become `user`, if there is one, and no longer be almighty."""
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # beyond the last one, or no power to drop any
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header, nothing = struct.pack("=Ii", 0x20080522, 0), bytes(24)
    if libc.capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "the powers of root could not be given up")
    # A process that changed its user may not look at itself, which CUDA does.
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


def _fence(granted: dict[str, list[str]], libc: ctypes.CDLL) -> None:
    """Deny every path that is not below a granted one, TCP, and what lies outside of us."""
    abi = landlock_abi(libc)
    if abi < 1:
        return
    handled = (1 << _FILE_RIGHTS.get(abi, _NEWEST_RIGHTS)) - 1
    # Files; TCP both ways; abstract sockets and signals. An older kernel takes a shorter one.
    attributes = struct.pack("=QQQ", handled, 3, 3)[: 8 if abi < 4 else 16 if abi < 6 else 24]
    size = ctypes.c_size_t(len(attributes))
    ruleset = _checked(libc.syscall(CREATE_RULESET, attributes, size, 0))
    # Where we are already may lie where our user could not come by its path.
    _grant(ruleset, ".", GRANTS["write"] & handled, libc)
    for kind, paths in granted.items():
        for path in paths:
            _grant(ruleset, path, GRANTS[kind] & handled, libc)
    _checked(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _grant(ruleset: int, path: str, rights: int, libc: ctypes.CDLL) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # not on this machine, or not for us
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _OF_FILES
        beneath = struct.pack("=Qi", rights, descriptor)
        _checked(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, beneath, 0))
    finally:
        os.close(descriptor)


def _filter(program: bytes, libc: ctypes.CDLL) -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

    given = Program(len(program) // 8, program)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(given), 0, 0) != 0:
        number = ctypes.get_errno()
        if number not in (errno.EINVAL, errno.ENOSYS):  # a kernel without filters
            raise OSError(number, "the filter of system calls was not taken")


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"the fence could not be put up: {os.strerror(number)}")
    return result


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
