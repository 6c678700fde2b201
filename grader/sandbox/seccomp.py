"""The system calls that an untrusted program may not make, as a seccomp filter.

A seccomp filter is a classic BPF program that the kernel runs. It sees the number of a call and
its six arguments as numbers; it cannot follow pointers. So Landlock restricts paths, and this
filter refuses what Landlock has no rule for: sockets except those between a program's own
processes, access to other processes, the kernel's keyrings, namespaces, changing the modes of
files, memory that outlives a process.

The filter allows all calls that it does not name: next year's toolchains and drivers may use new
calls. The tables state the error that a refused call returns. `program` is pure;
`grader.worker.confine` passes its result to the kernel.
"""

from __future__ import annotations

import errno
import functools
import os
import platform
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

# The kernel's numbers of the architectures (linux/audit.h).
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
_IOPRIO_WHO_USER = 3  # linux/ioprio.h
_EVERYTHING = 0xFFFF_FFFF  # -1: every process that may be signalled


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Calls that are always refused, with the same error and for the same reason."""

    why: str
    calls: tuple[str, ...]
    error: int = errno.EPERM
    on_gpu: bool = True  # False if a GPU's driver needs the calls


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
    # glibc falls back to clone, whose flags the filter can see.
    Refused(why="flags that a filter cannot see", calls=("clone3",), error=errno.ENOSYS),
    Refused(
        why="calls that go past a filter",
        calls=("io_uring_setup", "io_uring_enter", "io_uring_register"),
        error=errno.ENOSYS,
    ),
    Refused(why="parts of the kernel with many known exploits", calls=("bpf", "userfaultfd")),
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
    # Landlock has no rule for these, and they would succeed for a program of the judge's user.
    Refused(
        why="rights, owners, times and attributes of files",
        calls=(
            "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat",
            "utime", "utimes", "futimesat", "utimensat",
            "setxattr", "lsetxattr", "fsetxattr", "setxattrat",
            "removexattr", "lremovexattr", "fremovexattr", "removexattrat", "file_setattr",
        ),
        # GPU drivers make shared files and caches: not tested without these calls.
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
    # The memory limit does not count this memory until it is mapped. GPU drivers may use it.
    Refused(
        why="memory that no limit counts", calls=("memfd_create", "memfd_secret"), on_gpu=False
    ),
    # Sockets with a path: Landlock restricts only those without. MPS uses one on a GPU.
    Refused(
        why="sockets of other programs", calls=("connect",), error=errno.EACCES, on_gpu=False
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """Calls that are refused for some values of one argument.

    A call is refused if `argument & mask` equals `value`, or without `equal` if it differs.
    """

    why: str
    calls: tuple[str, ...]
    argument: int
    value: int
    equal: bool
    mask: int = 0xFFFF_FFFF
    error: int = errno.EPERM
    on_gpu: bool = True


BOUNDED: tuple[Bounded, ...] = (
    Bounded(
        why="sockets to anywhere but this machine's own programs",
        calls=("socket", "socketpair"),
        argument=0,
        value=socket.AF_UNIX,
        equal=False,
        error=errno.EACCES,
    ),
    # A datagram socket can send to a name without `connect`.
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
        why="a signal to all processes", calls=("kill",), argument=0, value=_EVERYTHING, equal=True
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
    # All processes of this user, of which the judge may be one: 0 names the user as well.
    *(
        Bounded(
            why="limits and priorities of other processes",
            calls=(call,),
            argument=0,
            value=of_a_user,
            equal=True,
        )
        for call, of_a_user in (("setpriority", os.PRIO_USER), ("ioprio_set", _IOPRIO_WHO_USER))
    ),
    # A thread id looks like a process id, and GPU drivers may place their own threads.
    Bounded(
        why="limits and priorities of other processes",
        calls=("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"),
        argument=0,
        value=0,
        equal=False,
        on_gpu=False,
    ),
)

# Name: (x86_64, aarch64); None where the architecture has no such call.
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
def program(*, gpu: bool, machine: str = platform.machine()) -> bytes:
    """Return the filter for the kernel, b"" for an architecture that has no table.

    `gpu` leaves out the rules that would stop a GPU's driver.
    """
    if machine not in _ARCHITECTURES:
        return b""
    instructions = _instructions(gpu=gpu, machine=machine)
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)


def _instructions(*, gpu: bool, machine: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield (code, jump if true, jump if false, operand); jumps count instructions."""
    column = list(_ARCHITECTURES).index(machine)
    # In another ABI of the same machine the numbers mean other calls: such calls are refused.
    yield _LOAD, 0, 0, _ARCHITECTURE_AT
    yield _JUMP_EQUAL, 1, 0, _ARCHITECTURES[machine]
    yield _RETURN, 0, 0, _KILL_PROCESS
    yield _LOAD, 0, 0, _NUMBER_AT
    yield _JUMP_AT_LEAST, 0, 1, _X32
    yield _RETURN, 0, 0, _REFUSE | errno.ENOSYS
    rules: tuple[Refused | Bounded, ...] = (*REFUSED, *BOUNDED)
    for rule in rules:
        if gpu and not rule.on_gpu:
            continue
        for call in rule.calls:
            number = NUMBERS[call][column]
            if number is None:
                continue
            if isinstance(rule, Refused):
                yield _JUMP_EQUAL, 0, 1, number
                yield _RETURN, 0, 0, _REFUSE | rule.error
                continue
            yield _JUMP_EQUAL, 0, 5, number
            # Only the low half, as the kernel reads no more of these arguments.
            yield _LOAD, 0, 0, _ARGUMENTS_AT + 8 * rule.argument
            yield _AND, 0, 0, rule.mask
            yield _JUMP_EQUAL, *((0, 1) if rule.equal else (1, 0)), rule.value
            yield _RETURN, 0, 0, _REFUSE | rule.error
            # Another rule may test the same call.
            yield _LOAD, 0, 0, _NUMBER_AT
    yield _RETURN, 0, 0, _ALLOW
