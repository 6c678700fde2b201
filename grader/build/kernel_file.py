"""Build one file of a hand-in for a device: the choice of compiler, and the sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from grader.assignment.model import Assignment
from grader.build import diagnostics
from grader.build.artifact import Built, Rejected
from grader.build.compiler import Compiled, Compiler, compile_file, limit_verdict
from grader.build.entry_mismatch import entry_problem, kernel_entry
from grader.build.host_compiler import forbidden_switch, host_compiler, prepare
from grader.build.libc_overrides import taken_names
from grader.build.nvcc import nvcc_compiler, nvcc_gate
from grader.build.python_source import build_python
from grader.build.trampoline import trampoline
from grader.emulation.cuda_cpp import Mode
from grader.report.evidence import BuildEvidence, Diagnostic
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile
from grader.system import toolchain
from grader.system.retry import Pool
from grader.system.toolchain import Tool
from grader.vocabulary import Device, Language


def build(
    assignment: Assignment,
    source: SourceFile,
    language: Language,
    device: Device,
    *,
    architecture: tuple[int, int] | None,
    scratch: Path,
) -> Built | Rejected:
    """Make `source` runnable on `device`, or say why it is not.

    `architecture` is the GPU's compute capability (needed for cuda); `scratch`
    is a folder that lives as long as the result. Raises GraderError if a
    compiler breaks down.
    """
    if source.problem is not None:
        return unfit(source.problem, source.hint)
    if language is Language.TRITON:
        return build_python(assignment.signature, source, device, scratch)
    is_kernel = kernel_entry(assignment.signature, source.path, source.text)
    if is_kernel is not None:
        return unfit(*is_kernel)
    if device is Device.CUDA:
        nvcc = toolchain.find_nvcc()
        if nvcc is None:
            return missing("nvcc", "CUDA C++ cannot be compiled for this machine's GPU")
        assert architecture is not None
        return _compile(assignment, source, device, nvcc_compiler(nvcc, architecture), source.text)
    cxx = toolchain.find_cxx()
    if cxx is None:
        return missing("g++", "CUDA C++ cannot run on this machine's processor")
    return _for_processor(assignment, source, cxx)


def _for_processor(assignment: Assignment, source: SourceFile, cxx: Tool) -> Built | Rejected:
    """Build for the host device; nvcc, where there is one, has the last word.

    Our host device and a GPU's compiler accept different code. What nvcc
    rejects is a compile error; what only we cannot compile is not the
    student's fault.
    """
    nvcc = toolchain.find_nvcc()
    with Pool(1, thread_name_prefix="gate") as side:
        gate = (
            side.submit(_compile, assignment, source, Device.CUDA, nvcc_gate(nvcc), source.text)
            if nvcc is not None
            else None
        )
        prepared = prepare(source)
        ours = (
            prepared
            if isinstance(prepared, Rejected)
            else _for_host(assignment, source, host_compiler(cxx), prepared.text)
        )
        theirs = gate.result() if gate is not None else None
    return last_word(ours, theirs, source.path)


def last_word(
    ours: Built | Rejected, theirs: Built | Rejected | None, path: str
) -> Built | Rejected:
    """Return what counts of the host device's product and nvcc's (None: there is no nvcc)."""
    if theirs is None or (isinstance(ours, Rejected) and ours.verdict is Verdict.FORBIDDEN):
        return ours
    if isinstance(theirs, Rejected):
        if isinstance(ours, Rejected):
            mistaken = ours.verdict is Verdict.NOT_MEASURED and _is_a_mistake(ours, theirs)
            return theirs if mistaken else ours
        return theirs if theirs.evidence.diagnostics else ours
    if isinstance(ours, Rejected) and ours.verdict is Verdict.COMPILE_ERROR:
        return replace(
            ours,
            verdict=Verdict.NOT_MEASURED,
            message=f"nvcc compiles {path}, but this machine's stand-in for a GPU "
            f"cannot: {ours.message}",
            hint="grade it on a machine with a GPU",
        )
    if isinstance(ours, Built):
        tools = f"{ours.evidence.tool}; {theirs.evidence.tool} accepts it"
        return replace(ours, evidence=replace(ours.evidence, tool=tools))
    return ours


def _is_a_mistake(ours: Rejected, theirs: Rejected) -> bool:
    """True if nvcc finds fault with a line that no other machine would compile either.

    A header may be missing on this machine alone, and clusters are of newer
    GPUs than the gate compiles for.
    """
    if any("cluster" in found.message for found in ours.evidence.diagnostics):
        return False
    errors = [found for found in theirs.evidence.diagnostics if found.severity == "error"]
    if theirs.verdict is not Verdict.COMPILE_ERROR or not errors:
        return False
    if errors[0].line is None and errors[0].message != theirs.message:  # not of the entry either
        return False
    return not any(diagnostics.is_missing_header(found.message) for found in errors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The checked host build of a file, and the file's text as it was compiled."""

    built: Built
    text: str


def build_checked(assignment: Assignment, source: SourceFile) -> Checked | Rejected:
    """Build a CUDA C++ file for the processor with every memory access checked."""
    cxx = toolchain.find_cxx()
    if cxx is None:
        return missing("g++", "memory accesses cannot be watched on this machine's processor")
    prepared = prepare(source)
    if isinstance(prepared, Rejected):
        return prepared
    compiler = host_compiler(cxx, Mode.CHECKED)
    built = _for_host(assignment, source, compiler, prepared.text)
    return built if isinstance(built, Rejected) else Checked(built=built, text=prepared.text)


def _for_host(
    assignment: Assignment, source: SourceFile, compiler: Compiler, text: str
) -> Built | Rejected:
    """Compile with our runtime, and see that it was linked with the true C library."""
    built = _compile(assignment, source, Device.CPU, compiler, text)
    if isinstance(built, Rejected):
        return forbidden_switch(built)
    try:
        taken = taken_names(built.path, compiler.parts()[0])
    except ValueError as error:
        return Rejected(
            verdict=Verdict.COMPILE_ERROR,
            message=f"{source.path} was linked to something that cannot be read: {error}",
            evidence=built.evidence,
        )
    if not taken:
        return built
    names = ", ".join(f"`{name}`" for name in taken[:5])
    return Rejected(
        verdict=Verdict.COMPILE_ERROR,
        message=f"{source.path} defines {names}, which the C library does already",
        hint="choose another name, or make it static in a namespace of its own",
        evidence=built.evidence,
    )


def unfit(message: str, hint: str) -> Rejected:
    """Return the verdict on a file that no compiler needs to see."""
    evidence = BuildEvidence(tool="none", cached=False)
    return Rejected(verdict=Verdict.COMPILE_ERROR, message=message, hint=hint, evidence=evidence)


def missing(tool: str, cost: str) -> Rejected:
    """Return the verdict where this machine lacks a tool."""
    return Rejected(
        verdict=Verdict.NOT_MEASURED,
        message=f"{tool} is not on this machine: {cost}",
        hint="`grade doctor` says how to get it",
        evidence=BuildEvidence(tool=tool, cached=False),
    )


def _compile(
    assignment: Assignment, source: SourceFile, device: Device, compiler: Compiler, text: str
) -> Built | Rejected:
    signature = assignment.signature
    file = Path(source.path).name
    compiled = compile_file(
        compiler,
        trampoline=trampoline(signature, file),
        file=file,
        text=text,
        header=(f"{signature.entry}.h", signature.header()),
        wall_s=assignment.limits.build_s,
    )
    if compiled.library is None:
        return _rejected(assignment, source, compiled)
    return Built(
        language=Language.CUDA,
        device=device,
        path=compiled.library,
        file=source.path,
        entry=signature.entry,
        evidence=compiled.evidence,
    )


def _rejected(assignment: Assignment, source: SourceFile, compiled: Compiled) -> Rejected:
    assert compiled.ended is not None
    limit = limit_verdict(compiled.ended)
    if limit is not None:
        return Rejected(verdict=limit[0], message=limit[1], evidence=compiled.evidence)
    entry = entry_problem(assignment.signature, source.path, source.text, compiled.ended.output)
    first = first_error(compiled)
    message, hint = entry or (first, diagnostics.advice(first))
    evidence = compiled.evidence
    if entry is not None:
        evidence = _without_echoes(evidence, source.path, message)
    return Rejected(verdict=Verdict.COMPILE_ERROR, message=message, hint=hint, evidence=evidence)


def _without_echoes(evidence: BuildEvidence, file: str, message: str) -> BuildEvidence:
    """Leave out what an entry that is missing or mistaken breaks in the grader's own files."""
    theirs = [found for found in evidence.diagnostics if found.line is not None]
    told = tuple(theirs) or (Diagnostic(file=file, line=None, severity="error", message=message),)
    left_out = len(evidence.diagnostics) - len(theirs)
    total = max(evidence.diagnostics_total - left_out, len(told))
    return replace(evidence, diagnostics=told, diagnostics_total=total)


def first_error(compiled: Compiled) -> str:
    """Return the first error of a failed build as a sentence with its place."""
    for diagnostic in compiled.evidence.diagnostics:
        if diagnostic.severity == "error":
            place = f":{diagnostic.line}" if diagnostic.line else ""
            return f"{diagnostic.file}{place}: {diagnostic.message}"
    return "the compiler failed without a message that could be read"
