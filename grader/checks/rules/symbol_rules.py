"""Rules on the symbols that a CUDA C++ submission is linked with, and suspicious words in its text.

The rules look at the symbol tables of the built library, not at the text: they ignore comments, and
names that macros paste together do not escape them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from grader.build.elf import Symbols, read_symbols
from grader.report.evidence import BrokenRule, RuleName

NO_BROKEN_RULE = "no broken rule was found"
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """Forbidden symbols (whole names, prefixes, parts of mangled names) and a message."""

    rule: RuleName
    message: str
    whole: frozenset[str] = frozenset()
    begins: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()

    def matches(self, name: str) -> bool:
        return (
            name in self.whole
            or name.startswith(self.begins)
            or (name.startswith("_Z") and any(part in name for part in self.contains))
        )


_RULES = (
    _Rule(
        rule="library",
        message="the result is computed by a library, not by a kernel of yours",
        begins=("cublas", "cudnn", "cufft", "cusparse", "cusolver", "cutensor", "nccl", "npp"),
    ),
    _Rule(
        rule="library",
        message="the work is done by Thrust or CUB, not by a kernel of yours",
        # Parts of mangled names such as _ZN6thrust…, _ZN3cub…: a namespace after its length.
        contains=("N6thrust", "N3cub", "K6thrust", "K3cub"),
    ),
    _Rule(
        rule="loaded_kernel",
        message="loads a kernel that is not in its source file",
        whole=frozenset({"cuLinkCreate_v2", "cuLinkCreate", "cuLaunchKernel", "cuLaunchKernelEx"}),
        begins=("cuModuleLoad", "cuLibraryLoad", "nvrtc", "nvJitLink"),
    ),
    _Rule(
        rule="program",
        message="starts another process",
        whole=frozenset(
            {
                *("system", "popen", "fork", "vfork", "_Fork", "clone", "posix_spawn"),
                *("posix_spawnp", "execl", "execle", "execlp", "execv", "execve", "execvp"),
                *("execvpe", "execveat", "fexecve"),
            }
        ),
    ),
    _Rule(
        rule="other_process",
        message="looks into other processes",
        whole=frozenset({"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_open"}),
    ),
    _Rule(
        rule="interpreter",
        message="calls the Python interpreter that runs it",
        begins=("Py_", "PyRun_", "PyObject_", "PyImport_", "PyGILState_", "_Py"),
    ),
)
# Not for nvcc's libraries: they contain NVIDIA's runtime, which needs these symbols itself.
_CPU_RULES = (
    _Rule(
        rule="loaded_library",
        message="loads a library, or looks for a function, while it runs",
        whole=frozenset({"dlopen", "dlmopen", "dlsym", "dlvsym", "dlinfo"}),
    ),
    _Rule(
        rule="network",
        message="opens network connections",
        whole=frozenset({"socket", "connect", "bind", "listen", "getaddrinfo", "gethostbyname"}),
    ),
)
# Words in the source that staff may want to look at. They decide nothing.
_SUSPICIOUS_WORDS = (
    "cublas", "cudnn", "thrust::", "cub::", "dlopen", "dlsym", "system(", "popen", "execv",
    "fork(", "socket(", "ptrace", "syscall", "cuModuleLoad", "nvrtc", ".incbin", ".version",
    "mprotect", "/proc/", "getppid", "kill(", "dup2", "grader.worker", "sys.modules",
    "_getframe", "DisableTorch", "import threading",
)  # fmt: skip
# The same in a student's own program: ways to find the orders of the shim that is linked with it.
_SUSPICIOUS_IN_PROGRAM = (
    "grader_", "__bss_start", "__data_start", "_edata", "__dso_handle", "dl_iterate_phdr",
    "init_array", "asm", "(char*)&", "(char *)&", "char*>(&", "char *>(&",
)  # fmt: skip
_PASTES = re.compile(r"^[ \t]*#[ \t]*define\b[^\n]*##", re.MULTILINE)
# Suspicious where all arrays, and so the work, are on the device.
_COPIES_TO_HOST = ("DeviceToHost", "cudaMemcpyDefault")


def broken_rules(library: Path, *, on_gpu: bool) -> tuple[BrokenRule, ...]:
    """Return the rules that a library's symbols break; `on_gpu` is true if nvcc built it.

    Raises ValueError or OSError if the symbols cannot be read.
    """
    symbols = read_symbols(library)
    return tuple(
        BrokenRule(rule=rule.rule, message=rule.message, names=names[:_SHOWN])
        for rule in (_RULES if on_gpu else (*_RULES, *_CPU_RULES))
        if (names := _named(rule, symbols))
    )


def _named(rule: _Rule, symbols: Symbols) -> tuple[str, ...]:
    # Instantiated templates are defined in the library, all other functions in other libraries.
    names = symbols.needed | symbols.optional
    if rule.contains:
        names |= symbols.defined
    return tuple(sorted(filter(rule.matches, names)))


def suspicious_text(
    text: str, *, all_on_device: bool = False, program: bool = False
) -> tuple[str, ...]:
    """Return flags for staff about suspicious words in a source file; they prove nothing.

    `program` is true for the student's own program, which may copy results to the host.
    """
    words = list(_SUSPICIOUS_WORDS)
    words += _COPIES_TO_HOST if all_on_device else ()
    words += _SUSPICIOUS_IN_PROGRAM if program else ()
    flags = [f"the source contains `{word}`" for word in words if word in text]
    pasted = _PASTES.search(text)
    if pasted is not None:
        line = text.count("\n", 0, pasted.start()) + 1
        flags.append(f"line {line}: a macro pastes names together")
    return tuple(flags)
