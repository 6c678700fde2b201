"""CUDA emulation on the host: compile, run, check and count CUDA C++ kernels without a GPU.

    rewrite          a .cu file → C++ that g++ accepts, line for line
    compile_command  the g++ command of a source file, fast or checked
    runtime_command  the g++ command of the runtime, once per machine
    header_command   the g++ command of its precompiled header
    has_bare_locals  whether a file declares a local variable without a value
    wrong_calls      the compiler's dump (DUMP) → calls that nvcc refuses
    unhooked         the same of the checked build → accesses that the checker cannot see
    read_report      output of a run → findings and counters
    symbolize        program counters → the student's lines

These functions start only addr2line, through a runner that the caller may supply. A
built object exports the C functions of `runtime/caller.h`. docs/host.md describes the
parts and their limits; `python -m grader.emulation.cuda_cpp` is the stand-alone tool.
"""

from grader.emulation.cuda_cpp.access_counters import KernelCounters, LineCounters
from grader.emulation.cuda_cpp.compile_commands import (
    DUMP,
    HEADER,
    INCLUDE_DIR,
    OBJECT,
    Mode,
    compile_command,
    contracts,
    header_command,
    object_command,
    program_command,
    runtime_command,
    runtime_key_parts,
)
from grader.emulation.cuda_cpp.execution_space import WrongCall, wrong_calls
from grader.emulation.cuda_cpp.features import (
    Refused,
    Unsupported,
    not_allowed,
    without_unused_includes,
)
from grader.emulation.cuda_cpp.findings import Finding
from grader.emulation.cuda_cpp.locals import has_bare_locals
from grader.emulation.cuda_cpp.report import Fault, Report, read_report
from grader.emulation.cuda_cpp.rewriter import Rewritten, rewrite
from grader.emulation.cuda_cpp.symbols import Place, symbolize
from grader.emulation.cuda_cpp.tokens import TooComplicatedError
from grader.emulation.cuda_cpp.unhooked import Unhooked, unhooked

__all__ = [
    "DUMP",
    "HEADER",
    "INCLUDE_DIR",
    "OBJECT",
    "Fault",
    "Finding",
    "KernelCounters",
    "LineCounters",
    "Mode",
    "Place",
    "Refused",
    "Report",
    "Rewritten",
    "TooComplicatedError",
    "Unhooked",
    "Unsupported",
    "WrongCall",
    "compile_command",
    "contracts",
    "has_bare_locals",
    "header_command",
    "not_allowed",
    "object_command",
    "program_command",
    "read_report",
    "rewrite",
    "runtime_command",
    "runtime_key_parts",
    "symbolize",
    "unhooked",
    "without_unused_includes",
    "wrong_calls",
]
