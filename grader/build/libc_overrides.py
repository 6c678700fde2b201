"""Find functions of the C library that a submission overrides.

The emulation's runtime is linked into the submission's library and calls `write`, `mmap`, `memcpy`
and others. A submission that defines one of them would be called instead, and could change the
runtime's report. So the product must not define a name that the runtime needs.
"""

from __future__ import annotations

import functools
from pathlib import Path

from grader.build.elf import read_symbols

# Part of every product: the C library links it in statically.
_LINKED_IN = frozenset({"atexit"})


@functools.cache
def _needed(runtime: Path) -> frozenset[str]:
    # Names with a leading underscore come from the compiler, the linker or C++.
    return frozenset(
        name for name in read_symbols(runtime).needed - _LINKED_IN if not name.startswith("_")
    )


def overridden_names(library: Path, runtime: Path) -> tuple[str, ...]:
    """Return the names that `library` defines and `runtime` needs from the C library.

    Raises ValueError or OSError if the symbols cannot be read.
    """
    return tuple(sorted(read_symbols(library).defined & _needed(runtime)))
