"""Turn signals into exceptions, so that cleanup runs and no process or file is left behind.

A handler's exception surfaces wherever the main thread is. C code inside an import of torch may
take it for a missing module and continue: `check`, called after such code, raises it again.
`deadline` ends a block in the same way when its time is over. Signals belong to the process, and
so the list of those received is module state.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

_TERMINATING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_received: list[int] = []


class OutOfTime(BaseException):
    """A block's deadline has passed; like KeyboardInterrupt, `except Exception` misses it."""


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Raise KeyboardInterrupt, or SystemExit(128 + number), when a signal arrives in the block."""

    def leave(number: int, _: FrameType | None) -> None:
        ignore_termination()  # a second signal must not cut the cleanup short
        _received.append(number)
        _raise(number)

    # A signal that the caller ignores, as nohup does, stays ignored.
    handled = [number for number in _TERMINATING if signal.getsignal(number) is not signal.SIG_IGN]
    before = [(number, signal.signal(number, leave)) for number in handled]
    try:
        yield
    except Exception:
        check()  # an interrupted import may fail with any exception
        raise
    finally:
        # After a signal all of them stay ignored until the process ends.
        for number, handler in before:
            if signal.getsignal(number) is leave:
                signal.signal(number, handler)


def ignore_termination() -> None:
    """Ignore all signals that would end this process: it is ending already."""
    for number in _TERMINATING:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTime in the block after `seconds`; None means no deadline.

    Signals reach the main thread only, so this must be called there.
    """

    def stop(number: int, _: FrameType | None) -> None:
        _received.append(number)
        _raise(number)

    if seconds is None:
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    # A timer of 0 seconds would be switched off.
    previous_timer = signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
        check()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *previous_timer)
        _received[:] = [number for number in _received if number != signal.SIGALRM]


def check() -> None:
    """Raise the exception of a received signal again, if other code has swallowed it."""
    if _received:
        _raise(_received[0])


def received() -> bool:
    """True if a terminating signal or an alarm has arrived in `terminable` or `deadline`."""
    return bool(_received)


def _raise(number: int) -> None:
    if number == signal.SIGALRM:
        raise OutOfTime
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)
