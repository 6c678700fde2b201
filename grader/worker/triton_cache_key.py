"""Shortens Triton's cache key, so that a worker need not read half a gigabyte.

Triton's cache key includes a hash of its own code. The cache in a worker's scratch folder never
outlives an installation of Triton, so the version is enough. This replaces one function of Triton;
if a version of Triton lacks it, only time is lost.
"""

import importlib


def install() -> None:
    """Use Triton's version in place of the hash of its code."""
    import triton

    def version() -> str:
        return str(triton.__version__)

    # The modules that call it: the first one up to Triton 3.4, the others since.
    for name in ("triton.compiler.compiler", "triton.runtime.cache", "triton.runtime.autotuner"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if hasattr(module, "triton_key"):
            module.triton_key = version  # type: ignore[attr-defined]
