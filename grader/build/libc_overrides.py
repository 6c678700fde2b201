"""Functions of the C library that a hand-in puts its own in the place of.

Our host runtime is linked into the hand-in's library and stands on `write`,
`mmap`, `memcpy` and some more. A hand-in that defines one of them, in whatever
way, would be called in its place, and could change what the runtime tells. So
none of the names that the runtime needs may be defined in the product.
"""

from __future__ import annotations

import functools
from pathlib import Path

from grader.build.elf import read_symbols

# The C library has it linked into every product.
_LINKED_IN = frozenset({"atexit"})


@functools.cache
def _needed(runtime: Path) -> frozenset[str]:
    # With an underscore begin what compiler and linker put there, and C++'s own names.
    return frozenset(
        name for name in read_symbols(runtime).needed - _LINKED_IN if not name.startswith("_")
    )


def taken_names(library: Path, runtime: Path) -> tuple[str, ...]:
    """Return the names that `library` defines and our `runtime` means the C library's.

    Raises ValueError or OSError if the symbols cannot be read.
    """
    return tuple(sorted(read_symbols(library).defined & _needed(runtime)))
