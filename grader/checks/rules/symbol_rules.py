"""What a CUDA C++ hand-in was linked with: the names that a kernel file has no need of.

Told by the symbol tables of the library that was built, not by the hand-in's
text: a name in a comment is not there, one made of pieces by macros is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from grader.build.elf import Symbols, read_symbols
from grader.report.evidence import BrokenRule, RuleName

KEPT = "breaks no rule that was looked for"
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """Names, whole or how they begin, and the sentence that forbids them."""

    rule: RuleName
    message: str
    whole: frozenset[str] = frozenset()
    begins: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()

    def holds_for(self, name: str) -> bool:
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
        # As in _ZN6thrust…, _ZN3cub…: a namespace with the length of its name before it.
        contains=("N6thrust", "N3cub", "K6thrust", "K3cub"),
    ),
    _Rule(
        rule="loaded_kernel",
        message="loads a kernel that is not in its own text",
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
        message="calls into the Python that runs it",
        begins=("Py_", "PyRun_", "PyObject_", "PyImport_", "PyGILState_", "_Py"),
    ),
)
# NVIDIA's runtime is linked into what nvcc builds, and needs these itself.
_ON_A_PROCESSOR = (
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
# Words in the text that a person may want to look at. They decide nothing.
_WORTH_A_LOOK = (
    "cublas", "cudnn", "thrust::", "cub::", "dlopen", "dlsym", "system(", "popen", "execv",
    "fork(", "socket(", "ptrace", "syscall", "cuModuleLoad", "nvrtc", ".incbin", ".version",
    "mprotect", "/proc/", "getppid", "kill(", "dup2", "grader.worker", "sys.modules",
    "_getframe", "DisableTorch", "import threading",
)  # fmt: skip
# In a student's own program: what finds the orders of the shim that it is linked with.
_OF_A_PROGRAM = (
    "grader_", "__bss_start", "__data_start", "_edata", "__dso_handle", "dl_iterate_phdr",
    "init_array", "asm", "(char*)&", "(char *)&", "char*>(&", "char *>(&",
)  # fmt: skip
_PASTES = re.compile(r"^[ \t]*#[ \t]*define\b[^\n]*##", re.MULTILINE)
# Where all arrays are on the device, and so is the work.
_COPIES_BACK = ("DeviceToHost", "cudaMemcpyDefault")


def broken_rules(library: Path, *, on_gpu: bool) -> tuple[BrokenRule, ...]:
    """Return what the linked names break; `on_gpu` says that nvcc built it.

    Raises ValueError or OSError if the symbols cannot be read.
    """
    symbols = read_symbols(library)
    return tuple(
        BrokenRule(rule=rule.rule, message=rule.message, names=names[:_SHOWN])
        for rule in (_RULES if on_gpu else (*_RULES, *_ON_A_PROCESSOR))
        if (names := _named(rule, symbols))
    )


def _named(rule: _Rule, symbols: Symbols) -> tuple[str, ...]:
    # What is instantiated from templates is defined here, all else is needed from elsewhere.
    names = symbols.needed | symbols.optional
    if rule.contains:
        names |= symbols.defined
    return tuple(sorted(filter(rule.holds_for, names)))


def worth_a_look(
    text: str, *, all_on_device: bool = False, program: bool = False
) -> tuple[str, ...]:
    """Return what in a text staff may want to look at; proof of nothing.

    `program` says that it is a student's own, which copies back what it compares.
    """
    words = list(_WORTH_A_LOOK)
    words += _COPIES_BACK if all_on_device else ()
    words += _OF_A_PROGRAM if program else ()
    said = [f"the text says `{word}`" for word in words if word in text]
    pasted = _PASTES.search(text)
    if pasted is not None:
        line = text.count("\n", 0, pasted.start()) + 1
        said.append(f"line {line}: a macro pastes names together")
    return tuple(said)
