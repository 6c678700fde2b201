"""Signals as exceptions, so that no process and no file is left; none is lost.

A handler's exception surfaces wherever the main thread happens to be. Inside
an import of torch that can be C code which takes it for a missing module and
goes on: `check`, called where such code is left behind, raises it again.
`deadline` ends a block in the same way when its time is spent.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_came: list[int] = []


class OutOfTime(BaseException):
    """The time that a block had is spent; like an interruption, nothing on the way handles it."""


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Raise KeyboardInterrupt, or SystemExit(128 + number), when a signal comes in the block."""

    def leave(number: int, _: FrameType | None) -> None:
        heed_no_more()  # clearing up takes a moment: an impatient second one must not cut it short
        _came.append(number)
        _raise(number)

    # What the caller ignores, as nohup does, stays ignored.
    heeded = [ending for ending in _ENDINGS if signal.getsignal(ending) is not signal.SIG_IGN]
    before = [(ending, signal.signal(ending, leave)) for ending in heeded]
    try:
        yield
    except Exception:
        check()  # an import that was cut short fails in ways of its own
        raise
    finally:
        # After a signal the rest of the way out takes no other.
        for ending, handler in before:
            if signal.getsignal(ending) is leave:
                signal.signal(ending, handler)


def heed_no_more() -> None:
    """Ignore all signals that would end this process: it ends now in any case."""
    for ending in _ENDINGS:
        signal.signal(ending, signal.SIG_IGN)


@contextlib.contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Raise OutOfTime in the block when it has taken so long; None is for ever.

    Signals reach the main thread only, so this must be called there.
    """

    def stop(number: int, _: FrameType | None) -> None:
        _came.append(number)
        _raise(number)

    if seconds is None:
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    # Of 0 seconds there would be no alarm at all.
    others = signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
        check()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *others)  # an alarm that the caller had set
        _came[:] = [number for number in _came if number != signal.SIGALRM]


def check() -> None:
    """Raise again what a signal raised, if that was lost."""
    if _came:
        _raise(_came[0])


def came() -> bool:
    """Return whether a signal has ended what this process was doing."""
    return bool(_came)


def _raise(number: int) -> None:
    if number == signal.SIGALRM:
        raise OutOfTime
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)
