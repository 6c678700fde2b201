"""The sandbox's level and its system-call filter, without a submission."""

from __future__ import annotations

import errno
import os
import re
import socket
import struct
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.commands.doctor.machine import judge_isolation
from grader.commands.doctor.rows import RowState
from grader.errors import ToolError
from grader.sandbox import landlock, policy, probe, seccomp
from grader.sandbox.level import Isolation, Level, require
from grader.sandbox.policy import Layers
from grader.sandbox.probe import _judged, with_hidden
from grader.sandbox.seccomp import BOUNDED, NUMBERS, REFUSED, program

FULL = Isolation(level=Level.FULL, layers="fenced files")
PARTIAL = Isolation(level=Level.PARTIAL, layers="fenced files", missing=("a submission can shout",))
NONE = Isolation(level=Level.NONE, layers="limits only", missing=("a submission can do it all",))

# --- levels ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "level"),
    [
        ({"read a hidden file": None, "send over UDP": None}, Level.FULL),
        ({"read a hidden file": None, "send over UDP": "worked"}, Level.PARTIAL),
        ({"read a hidden file": None, "send over UDP": "not refused, but: timed out"}, "partial"),
        ({"read a hidden file": "worked", "send over UDP": None}, Level.NONE),
        ({"signal the judge": "worked"}, Level.NONE),
    ],
)
def test_a_level_is_what_did_not_go(outcomes: dict[str, str | None], level: str) -> None:
    found = _judged(Layers(), outcomes, ())
    assert found.level == level
    ways_out = [name for name, outcome in outcomes.items() if outcome]
    assert found.missing == tuple(f"a submission can {name}" for name in ways_out)


def test_a_level_can_be_required() -> None:
    require(Level.FULL, FULL)
    require(Level.NONE, NONE)
    require(Level.PARTIAL, FULL)
    with pytest.raises(ToolError, match="level partial here, not full: a submission can shout"):
        require(Level.FULL, PARTIAL)
    with pytest.raises(ToolError, match="level none here, not partial"):
        require(Level.PARTIAL, NONE)


def test_the_lesser_level_counts() -> None:
    both = FULL.lesser(PARTIAL)
    assert both == PARTIAL.lesser(FULL)
    assert (both.level, both.missing) == (Level.PARTIAL, PARTIAL.missing)
    assert NONE.lesser(PARTIAL).level is Level.NONE


def test_an_assignment_among_programs_can_be_read(tmp_path: Path) -> None:
    assert with_hidden(FULL, [tmp_path]) == FULL
    exposed = with_hidden(FULL, [Path("/usr/share")])
    assert exposed.level is Level.NONE
    assert exposed.missing[0].startswith("a submission can read /usr/share")


def test_no_home_is_granted() -> None:
    granted = landlock.granted(gpu=False)
    assert str(Path.home()) not in granted["read"]
    assert not {"/", "/tmp", "/dev/shm", "/proc", "/etc"} & set(granted["read"])
    assert granted["write"] == []


def test_packages_of_another_environment_are_granted_and_the_course_beside_them_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `make setup` lets `.venv` see the packages of the environment that has torch.
    packages = tmp_path / "lib" / "python3" / "site-packages"
    packages.mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path), str(packages)])
    landlock._readable.cache_clear()
    granted = landlock.granted(gpu=False)["read"]
    landlock._readable.cache_clear()
    assert str(packages) in granted
    assert str(tmp_path) not in granted


@pytest.fixture
def tried_afresh() -> Iterator[None]:
    probe.isolation()
    before = {gpu: policy.layers_in_use(gpu=gpu) for gpu in (False, True)}
    probe._measured.cache_clear()
    yield
    probe._measured.cache_clear()
    for gpu, layers in before.items():
        policy.use_layers(layers, gpu=gpu)


def test_a_layer_that_keeps_a_kernel_from_running_is_taken_away(
    monkeypatch: pytest.MonkeyPatch, tried_afresh: None
) -> None:
    outcomes: dict[str, object] = {
        "attempts": {"read a hidden file": None},
        "unreadable": [],
        "scratch": True,
        "cuda": None,
    }
    failing = {**outcomes, "cuda": "CUDA error 304"}

    def run_probe(layers: Layers, *, gpu: bool) -> object:
        return failing if gpu and layers.landlock else outcomes

    monkeypatch.setattr(probe, "run_probe", run_probe)
    monkeypatch.setattr(probe, "landlock_abi", lambda libc: 7)
    found = probe.isolation(gpu=True)
    assert found.level is Level.NONE
    assert any("CUDA does not start there: CUDA error 304" in note for note in found.notes)
    assert policy.layers_in_use(gpu=True) == Layers(landlock=False, filter=False)
    assert policy.layers_in_use(gpu=False).landlock


def test_no_user_of_its_own_where_another_user_cannot_enter_the_scratch_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tried_afresh: None
) -> None:
    # A compiler whose TMPDIR is closed to it writes to /tmp, where the sandbox lets nobody write.
    if not policy.layers_in_use(gpu=False).own_user:
        pytest.skip("no submission has a user of its own here: see `grade doctor`")
    tmp_path.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    found = probe.isolation()
    assert found.notes[0] == f"no user of its own: it cannot enter {tmp_path} (TMPDIR)"
    assert not policy.layers_in_use(gpu=False).own_user


def test_a_layer_that_the_kernel_has_not_is_not_claimed(
    monkeypatch: pytest.MonkeyPatch, tried_afresh: None
) -> None:
    outcomes: dict[str, object] = {
        "attempts": {"read a hidden file": "worked"},
        "unreadable": [],
        "scratch": True,
        "cuda": None,
    }
    monkeypatch.setattr(probe, "run_probe", lambda layers, *, gpu: outcomes)
    monkeypatch.setattr(probe, "landlock_abi", lambda libc: -1)
    monkeypatch.setattr(seccomp, "program", lambda *, gpu: b"")
    found = probe.isolation()
    assert "fenced" not in found.layers
    assert "filtered" not in found.layers
    assert found.notes[0] == "no Landlock: it is not in this kernel, or not allowed"
    assert found.notes[1].startswith("no seccomp filter: the grader has none for ")
    assert not policy.layers_in_use(gpu=False).landlock


def test_doctor_asks_for_a_readable_python_before_a_newer_kernel() -> None:
    denied = replace(NONE, notes=("no user of its own: cannot run python: Permission denied",))
    (row,) = judge_isolation(denied)
    assert row.fix.startswith("install Python where every user can read it")
    assert "Linux 6.12" in row.fix
    closed = replace(NONE, notes=("no user of its own: it cannot enter /root/tmp (TMPDIR)",))
    (row,) = judge_isolation(closed)
    assert row.fix.startswith("set TMPDIR to a folder that every user can enter, such as /tmp; if")
    (row,) = judge_isolation(NONE)
    assert row.fix.startswith("to grade other people's code, use Linux 6.12")


@pytest.mark.parametrize(
    ("found", "states", "words"),
    [
        (None, [], ""),
        (FULL, [RowState.OK], "level full"),
        (PARTIAL, [RowState.NOTE], "a submission can shout"),
        (NONE, [RowState.NOTE], "grade your own code only"),
    ],
)
def test_doctor_tells_the_level(
    found: Isolation | None, states: list[RowState], words: str
) -> None:
    rows = list(judge_isolation(found))
    assert [row.state for row in rows] == states
    assert words in " ".join(row.found + row.cost for row in rows)


# --- the filter --------------------------------------------------------------------------------

ALLOWED, KILLED = 0x7FFF_0000, 0x8000_0000
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def answer(call: str | int, *arguments: int, machine: str, gpu: bool = False, abi: int = 0) -> int:
    """Run the filter as the kernel does; return its result."""
    number = NUMBERS[call][list(MACHINES).index(machine)] if isinstance(call, str) else call
    assert number is not None
    padded = (*arguments, *[0] * 6)[:6]
    data = struct.pack("=iIQ6Q", number, abi or MACHINES[machine], 0, *padded)
    code = list(struct.iter_unpack("=HBBI", program(gpu=gpu, machine=machine)))
    at, accumulator = 0, 0
    while True:
        operation, if_true, if_false, operand = code[at]
        at += 1
        if operation == 0x06:
            return int(operand)
        if operation == 0x20:
            accumulator = struct.unpack_from("=I", data, operand)[0]
        elif operation == 0x54:
            accumulator &= operand
        else:
            holds = accumulator == operand if operation == 0x15 else accumulator >= operand
            at += if_true if holds else if_false


def refused(error: int) -> int:
    return 0x0005_0000 | error


@pytest.mark.parametrize("machine", MACHINES)
def test_what_the_filter_says(machine: str) -> None:
    def says(call: str | int, *arguments: int, gpu: bool = False) -> int:
        return answer(call, *arguments, machine=machine, gpu=gpu)

    assert says("socket", socket.AF_INET, socket.SOCK_DGRAM) == refused(errno.EACCES)
    assert says("socket", socket.AF_INET6, socket.SOCK_STREAM) == refused(errno.EACCES)
    assert says("socketpair", socket.AF_UNIX, socket.SOCK_STREAM) == ALLOWED
    assert says("socketpair", socket.AF_UNIX, socket.SOCK_SEQPACKET | 0o2000000) == ALLOWED
    assert says("socket", socket.AF_UNIX, socket.SOCK_DGRAM | 0o4000) == refused(errno.EACCES)
    assert says("socket", socket.AF_UNIX, socket.SOCK_DGRAM, gpu=True) == ALLOWED
    assert says("socket", socket.AF_INET, gpu=True) == refused(errno.EACCES)
    # The kernel reads the low half of an argument, so the high half cannot bypass the rule.
    assert says("socket", socket.AF_INET | 1 << 32) == refused(errno.EACCES)
    assert says("kill", 0xFFFF_FFFF, 9) == refused(errno.EPERM)
    assert says("kill", 1234, 9) == ALLOWED
    assert says("prlimit64", 0, 7) == ALLOWED
    assert says("prlimit64", 1234, 7) == refused(errno.EPERM)
    assert says("setpriority", os.PRIO_PROCESS, 0, 5) == ALLOWED
    assert says("setpriority", os.PRIO_PROCESS, 1234, 5) == refused(errno.EPERM)
    assert says("setpriority", os.PRIO_USER, 0, 5) == refused(errno.EPERM), "the judge's user"
    assert says("ioprio_set", 3, 0) == refused(errno.EPERM), "the judge's user"
    assert says("clone", 0x003D_0F00) == ALLOWED, "as threads are made"
    assert says("clone", 0x1000_0000) == refused(errno.EPERM)
    assert says("clone3") == refused(errno.ENOSYS)
    assert says("ptrace") == says("ptrace", gpu=True) == refused(errno.EPERM)
    assert says("connect") == refused(errno.EACCES)
    assert says("connect", gpu=True) == ALLOWED
    assert says(63) == ALLOWED, "a call that nobody named"
    assert answer(63, machine=machine, abi=0x4000_0003) == KILLED, "the 32-bit ABI"
    assert says(0x4000_0000 | 59) == refused(errno.ENOSYS), "the x32 ABI"


def test_every_refused_call_has_its_numbers_and_no_other_has() -> None:
    refused_or_bounded = *(rule.calls for rule in REFUSED), *(rule.calls for rule in BOUNDED)
    named = {call for calls in refused_or_bounded for call in calls}
    assert named == set(NUMBERS)


@pytest.mark.parametrize(
    ("column", "header"),
    [
        (0, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        (1, "/usr/include/asm-generic/unistd.h"),
    ],
)
def test_the_numbers_are_the_kernels(column: int, header: str) -> None:
    path = Path(header)
    if not path.exists():
        pytest.skip(f"no {header} here")
    found = re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)$", path.read_text(), re.MULTILINE)
    known = {name: int(number) for name, number in found}
    assert len(known) > 250
    wrong = {
        name: numbers[column]
        for name, numbers in NUMBERS.items()
        if name in known and known[name] != numbers[column]
    }
    assert wrong == {}


def test_an_unknown_machine_has_no_filter() -> None:
    assert program(gpu=False, machine="riscv64") == b""
