"""Spare each worker the fingerprint of Triton itself, a read of half a gigabyte.

Triton files what it compiled under a hash of, among other things, all of its
own code. A cache in a worker's box outlives no installation of Triton: its
version is enough of a name there. Takes the place of one function, where that
is found; where it is not, nothing changes but the time.
"""

import importlib


def install() -> None:
    """Have the cache's names begin with Triton's version."""
    import triton

    def version() -> str:
        return str(triton.__version__)

    # By the module that looks it up: the first up to Triton 3.4, the second since.
    for name in ("triton.compiler.compiler", "triton.runtime.cache", "triton.runtime.autotuner"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if hasattr(module, "triton_key"):
            module.triton_key = version  # type: ignore[attr-defined]
