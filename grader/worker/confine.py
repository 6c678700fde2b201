"""Confine this process, before it becomes an untrusted program.

The settings are {"cwd": str, "judge": pid, "keep": [fd...], "limits": {"core": n, ...},
"groups": [file...], "user": uid or null, "powers": keep root's capabilities?,
"landlock": {"write": [path...], ...} or null, "seccomp": hexadecimal digits or null}.

This runs in a process that a fork server has forked (`forking`), because code between fork and exec
is not safe in a judge with threads.

    control groups   entered first, before the other steps forbid it
    own session      the program and its children can be killed as a group
    parent's death   the kernel kills this process when the judge is gone
    descriptors      all above 2 that were not given are closed: CUDA, for example, opens
                     device files without close-on-exec
    limits           core files, file size, open files, CPU time
    another user     if the judge is root and the settings name one; root's capabilities are
                     always dropped
    no new rights    set-uid programs have no effect
    Landlock         files, TCP, signals and abstract sockets
    seccomp          system calls (`grader.sandbox.seccomp` compiles the filter)

A kernel without Landlock or seccomp skips that step. `grader.sandbox.probe` tests the confinement
on a machine.
"""

import ctypes
import errno
import os
import resource
import struct

from grader.protocol.landlock import CREATE_RULESET, landlock_abi

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
SECCOMP_MODE_FILTER = 2
_SIGKILL = 9
_FILE_TYPE, _FOLDER = 0o170000, 0o040000  # in a file's mode

_LIMITS = {
    "core": resource.RLIMIT_CORE,
    "file_bytes": resource.RLIMIT_FSIZE,
    "open_files": resource.RLIMIT_NOFILE,
    "cpu_s": resource.RLIMIT_CPU,
    "threads": resource.RLIMIT_NPROC,
}

# --- Landlock (linux/landlock.h); the call numbers are the same on every architecture ---

_ADD_RULE, _RESTRICT_SELF = 445, 446
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
# The rights that apply to files; all others apply to folders only.
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
# The number of rights by ABI version.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NEWEST_RIGHTS = 16

_READ = _EXECUTE | _READ_FILE | _READ_DIR
GRANTS = {
    "read": _READ,
    # No device files: they would bypass all other rules.
    "write": ((1 << 15) - 1) & ~(_MAKE_CHAR | _MAKE_BLOCK),
    # Existing files can be read and written; nothing can be created or removed.
    "change": _READ | _WRITE_FILE | _TRUNCATE,
    "device": _READ_FILE | _READ_DIR | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV,
}


def confine(settings: dict) -> None:  # type: ignore[type-arg] # plain JSON
    """Apply the settings to this process."""
    try:  # noqa: SIM105 # importing contextlib takes longer
        os.setsid()
    except PermissionError:
        pass  # already a session leader
    for entrance in settings["groups"]:
        _write(entrance, "0")
    libc = ctypes.CDLL(None, use_errno=True)
    _die_with(settings["judge"], libc)
    _close_all_but(settings["keep"])
    for name, value in settings["limits"].items():
        _, hard = resource.getrlimit(_LIMITS[name])
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        resource.setrlimit(_LIMITS[name], (value, value))
    # If the machine runs out of memory, the kernel should kill the submission, not the judge.
    try:  # noqa: SIM105 # as above
        _write("/proc/self/oom_score_adj", "1000")
    except OSError:
        pass
    os.umask(0o077)
    os.chdir(settings["cwd"])
    if not settings["powers"]:
        _give_up_rights(settings["user"], libc)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # The kernel clears this setting when the user changes.
    _die_with(settings["judge"], libc)
    if settings["landlock"] is not None:
        _restrict_paths(settings["landlock"], libc)
    if settings["seccomp"] is not None:
        _filter_calls(bytes.fromhex(settings["seccomp"]), libc)


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _die_with(judge: int, libc: ctypes.CDLL) -> None:
    libc.prctl(PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    if os.getppid() != judge:
        os._exit(0)  # the judge died before the call above


def _close_all_but(keep: list[int]) -> None:
    low = 3
    for descriptor in sorted(keep):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, max(low, resource.getrlimit(resource.RLIMIT_NOFILE)[0], 65536))


def _give_up_rights(user: int | None, libc: ctypes.CDLL) -> None:
    """Become `user`, if there is one, and drop the capabilities of root."""
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # beyond the last capability, or not permitted
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    header, nothing = struct.pack("=Ii", 0x20080522, 0), bytes(24)
    if libc.capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "root's capabilities could not be dropped")
    # CUDA reads this process's /proc files, which a change of the user forbids.
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


def _restrict_paths(granted: dict[str, list[str]], libc: ctypes.CDLL) -> None:
    """Deny paths outside the granted ones, TCP, and signals and sockets to other processes."""
    abi = landlock_abi(libc)
    if abi < 1:
        return
    handled = (1 << _FILE_RIGHTS.get(abi, _NEWEST_RIGHTS)) - 1
    # Files; TCP; abstract sockets and signals. Older kernels take a shorter structure.
    attributes = struct.pack("=QQQ", handled, 3, 3)[: 8 if abi < 4 else 16 if abi < 6 else 24]
    size = ctypes.c_size_t(len(attributes))
    ruleset = _checked(libc.syscall(CREATE_RULESET, attributes, size, 0))
    # Use ".": this user may have no access to the parents of its folder.
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
        return  # absent on this machine, or not accessible to this user
    try:
        if os.fstat(descriptor).st_mode & _FILE_TYPE != _FOLDER:
            rights &= _OF_FILES
        beneath = struct.pack("=Qi", rights, descriptor)
        _checked(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, beneath, 0))
    finally:
        os.close(descriptor)


def _filter_calls(program: bytes, libc: ctypes.CDLL) -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))

    argument = Program(len(program) // 8, program)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(argument), 0, 0) != 0:
        number = ctypes.get_errno()
        if number not in (errno.EINVAL, errno.ENOSYS):  # a kernel without filters
            raise OSError(number, "the kernel refused the filter of system calls")


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"Landlock could not be set up: {os.strerror(number)}")
    return result
