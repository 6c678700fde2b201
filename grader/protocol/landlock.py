"""Landlock's version, which decides what `confine` may ask of the kernel."""

import ctypes

CREATE_RULESET = 444
_VERSION = 1  # asks create_ruleset for the kernel's ABI


def landlock_abi(libc: ctypes.CDLL) -> int:
    """Ask which version of Landlock may be used; less than 1: none."""
    return int(libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION))
