"""Limits for the course's own oracle: one that never ends, or fills the memory, is stopped.

An oracle runs in the judge, whose process must go on and tell what happened. A thread watches the
calls: beyond a limit it raises `BeyondLimitError` in the thread of the call, where the traceback
then has the oracle's line. Python raises it between two lines of Python. A call that stays in
torch or numpy does not get there, and the process ends, with the same sentence.

Time is counted in ticks of the watching thread: a process that was stopped (Ctrl-Z) loses none.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

from grader.assignment.model import Limits
from grader.errors import ExitCode
from grader.system import process_tree

_TICK_S = 0.1
# From the exception to the end of the process. torch's largest operation on a case ends sooner;
# memory is filled faster.
_GRACE_S = 20.0
_GRACE_OF_MEMORY_S = 1.0
_MOST_OF_FREE = 0.8  # of the memory that is free when a call begins
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class BeyondLimitError(BaseException):
    """The call is beyond a limit. No Exception: an oracle that catches all must not catch it."""


@dataclass(slots=True)
class WatchedCall:
    """A call of an oracle, in the thread `ident`; `problem` says which limit it exceeded."""

    ident: int
    place: str
    what: str
    limits: Limits
    left_s: float
    first_bytes: int
    most_bytes: int = 0  # 0 until the thread has looked at the call: most calls end sooner
    problem: str = ""
    grace_s: float = 0.0


_calls: list[WatchedCall] = []
_lock = threading.Lock()
_watching: list[int] = []  # the process that has the thread: a fork has none


@contextmanager
def limited(limits: Limits, place: str, what: str) -> Iterator[WatchedCall]:
    """Watch the block, a call of the oracle in the file `place`; `what` names the call.

    Raises BeyondLimitError in the block if it exceeds a limit; the call then has the problem.
    """
    call = WatchedCall(
        ident=threading.get_ident(),
        place=place,
        what=what,
        limits=limits,
        left_s=limits.oracle_s,
        first_bytes=_resident(),
    )
    with _lock:
        _calls.append(call)
        if _watching != [os.getpid()]:
            _watching[:] = [os.getpid()]
            threading.Thread(target=_watch, name="oracle limits", daemon=True).start()
    try:
        yield call
    finally:
        with _lock:
            _calls.remove(call)
            if call.problem:
                _raise_in(call.ident, None)  # one that is still to come must not hit later code
        if call.problem and sys.exc_info()[0] is None:
            raise BeyondLimitError


def _watch() -> None:
    while True:
        time.sleep(_TICK_S)
        with _lock:
            if not _calls:
                _watching.clear()
                return
            resident = _resident()
            for call in _calls:
                _look_at(call, resident)


def _look_at(call: WatchedCall, resident: int) -> None:
    call.left_s -= _TICK_S
    if not call.most_bytes:
        free = psutil.virtual_memory().available + max(0, resident - call.first_bytes)
        call.most_bytes = min(call.limits.oracle_mib << 20, int(_MOST_OF_FREE * free))
    if not call.problem and call.left_s <= 0:
        call.grace_s = _GRACE_S
        call.problem = f"did not end within {call.limits.oracle_s:g} s (`oracle_s` in [limits])"
    elif not call.problem and resident - call.first_bytes > call.most_bytes:
        call.grace_s = _GRACE_OF_MEMORY_S
        call.problem = f"took more than {call.most_bytes >> 20} MiB of memory"
        if call.most_bytes == call.limits.oracle_mib << 20:
            call.problem += " (`oracle_mib` in [limits])"
    if not call.problem:
        return
    _raise_in(call.ident, BeyondLimitError)
    call.grace_s -= _TICK_S
    if call.grace_s <= 0:
        print(f"error: {call.place}: {call.what} {call.problem}", file=sys.stderr, flush=True)
        process_tree.kill_all()
        os._exit(ExitCode.GRADER_FAILED)


def _raise_in(ident: int, kind: type[BaseException] | None) -> None:
    """Make Python raise an exception in a thread; None takes it back."""
    found = ctypes.py_object(kind) if kind is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), found)


def _resident() -> int:
    """Return the memory of this process in bytes."""
    file = os.open("/proc/self/statm", os.O_RDONLY)  # pathlib takes twice as long
    try:
        return int(os.read(file, 256).split()[1]) * _PAGE_BYTES
    finally:
        os.close(file)
