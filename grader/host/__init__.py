"""CUDA on the host: compile, run, check and count CUDA C++ kernels without a GPU.

    rewrite          a .cu file → C++ that g++ accepts, line for line
    compile_command  the g++ command of a hand-in, fast or checked
    runtime_command  the g++ command of our runtime, once per machine

These are pure: nothing is started, the caller does that inside its sandbox.
A built object exports the C functions of `runtime/caller.h`. What the parts
do and what they cannot do is in docs/host.md; `python -m grader.host` is the
tool on its own.
"""

from grader.host.commands import (
    INCLUDE_DIR,
    Mode,
    compile_command,
    runtime_command,
    runtime_key_parts,
)
from grader.host.features import Refused, Unsupported
from grader.host.rewriter import Rewritten, rewrite

__all__ = [
    "INCLUDE_DIR",
    "Mode",
    "Refused",
    "Rewritten",
    "Unsupported",
    "compile_command",
    "rewrite",
    "runtime_command",
    "runtime_key_parts",
]
