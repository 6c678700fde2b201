"""What ends a launch before its end."""

from __future__ import annotations

from grader.emulation.common.location import Location


class Unsupported(Exception):  # noqa: N818 # it is no error of the kernel
    """The executor has no such operation; `at` is its place."""

    at: Location | None = None


class TimeLimitError(Exception):
    """The launch took longer than it may.

    `endless` if its first programs did not end, `waiting` if the loop at `at` does nothing but look
    at memory until it changes.
    """

    def __init__(self, at: Location | None = None) -> None:
        super().__init__()
        self.at = at
        self.endless = self.waiting = False


class KernelError(Exception):
    """The kernel itself stopped: a device_assert."""

    def __init__(self, message: str, at: Location | None) -> None:
        super().__init__(message)
        self.at = at
