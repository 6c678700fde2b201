"""The system calls that a hand-in may not make, as a filter that the kernel runs.

A seccomp filter is a program for the kernel's own small machine (classic BPF).
It sees the number of a call and its six arguments as numbers; what an argument
points to it cannot see. So paths are left to Landlock, and this filter closes
what Landlock has no rule for: sockets other than those between a program's own
processes, looking into other processes, the kernel's keyrings, namespaces,
changing the rights of files, memory that outlives a process.

The filter allows whatever it does not name: toolchains and drivers of the next
year may use calls of the next year. What a refused call returns is in the table.
`program` is pure; `grader.worker.confine` hands its result to the kernel.
"""

from __future__ import annotations

import errno
import functools
import platform
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

# What the kernel calls the machine (linux/audit.h).
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Calls of the x32 ABI carry this bit; on aarch64 there is no such ABI.
_X32 = 0x4000_0000

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST = 0x20, 0x15, 0x35
_AND, _RETURN = 0x54, 0x06
_KILL_PROCESS, _REFUSE, _ALLOW = 0x8000_0000, 0x0005_0000, 0x7FFF_0000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16

# CLONE_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET, _NEWTIME
_NEW_NAMESPACES = 0x7E02_0080
_SOCKET_KIND = 0xF  # the rest of a socket's type are flags
_EVERYTHING = 0xFFFF_FFFF  # -1: every process that may be signalled


class For(Enum):
    """What a filter is for: a GPU's driver needs calls that nothing else needs."""

    PROCESSOR = "processor"
    GPU = "gpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Calls that are always refused, in the same way and for the same reason."""

    why: str
    calls: tuple[str, ...]
    error: int = errno.EPERM
    on_gpu: bool = True  # refused to programs that use a GPU, too


REFUSED = (
    Refused(
        why="look into or steer other processes",
        calls=(
            "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise",
            "process_mrelease", "kcmp", "pidfd_getfd", "move_pages", "migrate_pages",
            "perf_event_open",
        ),
    ),
    Refused(why="the kernel's keyrings", calls=("add_key", "request_key", "keyctl")),
    Refused(
        why="namespaces and mounts",
        calls=(
            "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree",
            "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
            "open_tree_attr",
        ),
    ),
    # glibc falls back to clone, whose flags can be looked at.
    Refused(why="flags that a filter cannot see", calls=("clone3",), error=errno.ENOSYS),
    Refused(
        why="calls that go past a filter",
        calls=("io_uring_setup", "io_uring_enter", "io_uring_register"),
        error=errno.ENOSYS,
    ),
    Refused(why="parts of the kernel with a history", calls=("bpf", "userfaultfd")),
    Refused(
        why="the machine as a whole",
        calls=(
            "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load",
            "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog",
            "sethostname", "setdomainname", "settimeofday", "clock_settime", "adjtimex",
            "clock_adjtime", "iopl", "ioperm", "vhangup", "lookup_dcookie",
        ),
    ),
    Refused(why="files by number, past their paths",
            calls=("open_by_handle_at", "name_to_handle_at")),
    # Landlock has no rule for these, and under the judge's own user they would work.
    Refused(
        why="rights, owners, times and attributes of files",
        calls=(
            "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat",
            "utime", "utimes", "futimesat", "utimensat",
            "setxattr", "lsetxattr", "fsetxattr", "setxattrat",
            "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "file_setattr",
        ),
        # Drivers make shared files, and caches of what they compile: not seen without.
        on_gpu=False,
    ),
    Refused(
        why="watching folders that cannot be read",
        calls=("inotify_init", "inotify_init1", "fanotify_init"),
    ),
    Refused(
        why="memory and messages that outlive a process",
        calls=(
            "shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl",
            "semget", "semop", "semtimedop", "semctl", "mq_open", "mq_unlink",
        ),
    ),
    # Not seen by the watch over memory until it is mapped. Drivers may use it.
    Refused(
        why="memory that nobody counts", calls=("memfd_create", "memfd_secret"), on_gpu=False
    ),
    # Sockets with names: Landlock knows those without a path only. MPS has one.
    Refused(
        why="sockets of other programs", calls=("connect",), error=errno.EACCES, on_gpu=False
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """A call that is refused for some values of one argument.

    Refused is `argument & mask` if that is (`equal`), or is not, `value`.
    """

    why: str
    calls: tuple[str, ...]
    argument: int
    value: int
    equal: bool
    mask: int = 0xFFFF_FFFF
    error: int = errno.EPERM
    on_gpu: bool = True


BOUNDED = (
    Bounded(
        why="sockets to anywhere but this machine's own programs",
        calls=("socket", "socketpair"),
        argument=0,
        value=socket.AF_UNIX,
        equal=False,
        error=errno.EACCES,
    ),
    # These can be sent to a name without being connected to it.
    Bounded(
        why="sockets of other programs",
        calls=("socket", "socketpair"),
        argument=1,
        mask=_SOCKET_KIND,
        value=socket.SOCK_DGRAM,
        equal=True,
        error=errno.EACCES,
        on_gpu=False,
    ),
    Bounded(
        why="namespaces and mounts",
        calls=("clone",),
        argument=0,
        mask=_NEW_NAMESPACES,
        value=0,
        equal=False,
    ),
    Bounded(
        why="a signal to everybody", calls=("kill",), argument=0, value=_EVERYTHING, equal=True
    ),
    Bounded(
        why="limits and priorities of other processes",
        calls=("prlimit64",),
        argument=0,
        value=0,
        equal=False,
    ),
    Bounded(
        why="limits and priorities of other processes",
        calls=("setpriority", "ioprio_set"),
        argument=1,
        value=0,
        equal=False,
    ),
    # A thread's number looks like a process's: drivers may place their own threads.
    Bounded(
        why="limits and priorities of other processes",
        calls=("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"),
        argument=0,
        value=0,
        equal=False,
        on_gpu=False,
    ),
)

# Name: (x86_64, aarch64); None where the machine has no such call.
NUMBERS: dict[str, tuple[int | None, int | None]] = {
    "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171), "bpf": (321, 280),
    "chmod": (90, None), "chown": (92, None), "chroot": (161, 51), "clock_adjtime": (305, 266),
    "clock_settime": (227, 112), "clone": (56, 220), "clone3": (435, 435), "connect": (42, 203),
    "delete_module": (176, 106), "fanotify_init": (300, 262), "fchmod": (91, 52),
    "fchmodat": (268, 53), "fchmodat2": (452, 452), "fchown": (93, 55), "fchownat": (260, 54),
    "file_setattr": (469, 469), "finit_module": (313, 273), "fremovexattr": (199, 16),
    "fsconfig": (431, 431), "fsetxattr": (190, 7), "fsmount": (432, 432), "fsopen": (430, 430),
    "fspick": (433, 433), "futimesat": (261, None), "init_module": (175, 105),
    "inotify_init": (253, None), "inotify_init1": (294, 26), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "io_uring_setup": (425, 425), "ioperm": (173, None),
    "iopl": (172, None), "ioprio_set": (251, 30), "kcmp": (312, 272), "kexec_file_load": (320, 294),
    "kexec_load": (246, 104), "keyctl": (250, 219), "kill": (62, 129), "lchown": (94, None),
    "lookup_dcookie": (212, 18), "lremovexattr": (198, 15), "lsetxattr": (189, 6),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "migrate_pages": (256, 238),
    "mount": (165, 40), "mount_setattr": (442, 442), "move_mount": (429, 429),
    "move_pages": (279, 239), "mq_open": (240, 180), "mq_unlink": (241, 181), "msgctl": (71, 187),
    "msgget": (68, 186), "msgrcv": (70, 188), "msgsnd": (69, 189), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241), "pidfd_getfd": (438, 438), "pivot_root": (155, 41),
    "prlimit64": (302, 261), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "ptrace": (101, 117),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "reboot": (169, 142),
    "removexattr": (197, 14), "removexattrat": (466, 466), "request_key": (249, 218),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274), "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119), "semctl": (66, 191), "semget": (64, 190), "semop": (65, 193),
    "semtimedop": (220, 192), "setdomainname": (171, 162), "sethostname": (170, 161),
    "setns": (308, 268), "setpriority": (141, 140), "settimeofday": (164, 170),
    "setxattr": (188, 5), "setxattrat": (463, 463), "shmat": (30, 196), "shmctl": (31, 195),
    "shmget": (29, 194), "socket": (41, 198), "socketpair": (53, 199), "swapoff": (168, 225),
    "swapon": (167, 224), "syslog": (103, 116), "umount2": (166, 39), "unshare": (272, 97),
    "userfaultfd": (323, 282), "utime": (132, None), "utimensat": (280, 88), "utimes": (235, None),
    "vhangup": (153, 58),
}  # fmt: skip


@functools.cache
def program(purpose: For, machine: str = platform.machine()) -> bytes:
    """Return the filter for the kernel, b"" for a machine whose numbers are not known."""
    if machine not in _ARCHITECTURES:
        return b""
    return b"".join(struct.pack("=HBBI", *one) for one in _instructions(purpose, machine))


def _instructions(purpose: For, machine: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield (code, jump if true, jump if false, operand); jumps count instructions."""
    column = list(_ARCHITECTURES).index(machine)
    refuse = _REFUSE
    # Numbers mean other calls in another ABI of the same machine: those are closed.
    yield _LOAD, 0, 0, _ARCHITECTURE_AT
    yield _JUMP_EQUAL, 1, 0, _ARCHITECTURES[machine]
    yield _RETURN, 0, 0, _KILL_PROCESS
    yield _LOAD, 0, 0, _NUMBER_AT
    yield _JUMP_AT_LEAST, 0, 1, _X32
    yield _RETURN, 0, 0, refuse | errno.ENOSYS
    for rule in REFUSED:
        if purpose is For.GPU and not rule.on_gpu:
            continue
        for number in _numbers(rule.calls, column):
            yield _JUMP_EQUAL, 0, 1, number
            yield _RETURN, 0, 0, refuse | rule.error
    for bound in BOUNDED:
        if purpose is For.GPU and not bound.on_gpu:
            continue
        for number in _numbers(bound.calls, column):
            yield _JUMP_EQUAL, 0, 5, number
            # The kernel looks at the low half of these arguments only; so do we.
            yield _LOAD, 0, 0, _ARGUMENTS_AT + 8 * bound.argument
            yield _AND, 0, 0, bound.mask
            yield _JUMP_EQUAL, *((0, 1) if bound.equal else (1, 0)), bound.value
            yield _RETURN, 0, 0, refuse | bound.error
            # Another rule may ask about the same call.
            yield _LOAD, 0, 0, _NUMBER_AT
    yield _RETURN, 0, 0, _ALLOW


def _numbers(calls: tuple[str, ...], column: int) -> Iterator[int]:
    for call in calls:
        number = NUMBERS[call][column]
        if number is not None:
            yield number
