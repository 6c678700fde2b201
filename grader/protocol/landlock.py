"""Ask the kernel for its Landlock version, for `worker.confine` and `sandbox.probe`."""

import ctypes

CREATE_RULESET = 444
_VERSION = 1  # the flag LANDLOCK_CREATE_RULESET_VERSION


def landlock_abi(libc: ctypes.CDLL) -> int:
    """Return the version of Landlock's ABI, less than 1 if Landlock is unavailable."""
    return int(libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION))
