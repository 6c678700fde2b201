"""A signal ends the run even if other code swallows its exception."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

import pytest

from grader.system import signals


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(signals, "_received", [])
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, handlers, strict=True):
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, None), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_is_an_exception(number: signal.Signals, code: int | None) -> None:
    kind = KeyboardInterrupt if code is None else SystemExit
    with pytest.raises(kind) as caught, signals.terminable():
        os.kill(os.getpid(), number)
    if code is not None:
        assert isinstance(caught.value, SystemExit)
        assert caught.value.code == code


def test_what_was_swallowed_is_raised_again() -> None:
    with pytest.raises(SystemExit), signals.terminable():
        # Like C code that looks for an optional module.
        with contextlib.suppress(SystemExit):
            os.kill(os.getpid(), signal.SIGTERM)
        signals.check()
        pytest.fail("it went on")


def test_what_fails_for_want_of_it_is_no_error_of_the_grader() -> None:
    with pytest.raises(KeyboardInterrupt), signals.terminable():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("half a module") from None


def test_a_second_signal_does_not_cut_clearing_up_short() -> None:
    cleared = False
    with pytest.raises(KeyboardInterrupt), signals.terminable():
        try:
            os.kill(os.getpid(), signal.SIGINT)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
            cleared = True
    assert cleared


def test_what_the_caller_ignores_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with signals.terminable():
        os.kill(os.getpid(), signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_handlers_are_put_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with signals.terminable():
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
    signals.check()
