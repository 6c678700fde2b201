"""The results of a build: `Built` or `Rejected`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath, PurePosixPath

from grader.build.ptxas import Assembled
from grader.report.evidence import BuildEvidence
from grader.report.verdict import Verdict
from grader.sandbox.compiled_kernels import CompiledKernels
from grader.submission.reader import SourceFile
from grader.vocabulary import Device, Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """Something that a worker can run: a shared library, or a Python file.

    If `launched`, the entry is a kernel and the worker launches it. `text` is the submitted source,
    line for line in the base of its language, "" where nobody reads it; `headers` are the files
    that it includes, by name, as compiled; `given` names those of them that are the course's.
    `flags` are notes for staff about it; with `torch_allowed` host code may compute outputs.
    `launch_limits` are settings of the emulation's runtime that say what the
    course's GPU can launch, `assembled` is what ptxas says of the file's kernels, None without
    nvcc. `code` are folders with what the compiler for a GPU made of its launches in the cases.
    `compiled` holds the kernels that its workers have compiled so far.
    """

    language: Language
    device: Device
    path: Path
    file: str
    entry: str
    launched: bool = False
    evidence: BuildEvidence
    text: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    given: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    torch_allowed: bool = False
    launch_limits: str = ""
    assembled: Assembled | None = None
    code: tuple[Path, ...] = field(default=(), compare=False, repr=False)
    compiled: CompiledKernels = field(default_factory=CompiledKernels, compare=False, repr=False)

    def own_file(self, name: str) -> str | None:
        """Return the path of the student's file that a tool names; None for any other file."""
        base, own = PurePath(name).name, PurePosixPath(self.file)
        if base == own.name:
            return self.file
        return str(own.with_name(base)) if base in self.headers else None

    def on_cpu(self) -> Built:
        """Return the same for the executor of launches, which needs no kernels for a GPU."""
        return replace(self, device=Device.CPU, compiled=CompiledKernels())

    @property
    def own_names(self) -> frozenset[str]:
        """The names of the file and of its headers."""
        return frozenset({PurePosixPath(self.file).name, *self.headers})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A submission that cannot be run; `message` says why.

    `verdict` is compile_error, forbidden, the verdict of an exceeded limit, or not_measured if
    this machine cannot decide.
    """

    verdict: Verdict
    message: str
    hint: str = ""
    evidence: BuildEvidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A file built with memory checks, and its text as it was compiled."""

    built: Built
    text: str


def unfit(source: SourceFile) -> Rejected | None:
    """Return the rejection of a file that could not be read, None if it could."""
    wrong = next((one for one in (source, *source.headers) if one.problem is not None), None)
    return None if wrong is None else reject_source(wrong.problem or "", wrong.hint)


def reject_source(message: str, hint: str) -> Rejected:
    """Return the rejection of a file without compiling it."""
    evidence = BuildEvidence(tool="none", cached=False)
    return Rejected(verdict=Verdict.COMPILE_ERROR, message=message, hint=hint, evidence=evidence)
