"""Build one CUDA C++ file for a device: choose the compiler, and explain a rejection."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from grader.assignment.libraries import allowed_libraries, link_flags
from grader.assignment.model import Assignment
from grader.build import diagnostics, ptxas
from grader.build.artifact import Built, Checked, Rejected, reject_source, unfit
from grader.build.compiler import Compiled, Compiler, compile_file, failure
from grader.build.entry_mismatch import entry_problem, kernel_entry
from grader.build.host_compiler import (
    host_compiler,
    prepare,
    prepare_headers,
    reject_disabled_checks,
)
from grader.build.launch_limits import launch_limits
from grader.build.libc_overrides import overridden_names
from grader.build.nvcc import nvcc_compiler, nvcc_gate
from grader.build.ptxas import Assembled
from grader.build.trampoline import trampoline
from grader.emulation import cuda_cpp
from grader.emulation.cuda_cpp import Mode
from grader.gpu.target import course_target
from grader.protocol.targets import target_of
from grader.report.evidence import BuildEvidence, Diagnostic
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile
from grader.system import toolchain
from grader.system.cache import cached_answer, code_key, content_key
from grader.system.retry import Pool
from grader.system.toolchain import Tool
from grader.vocabulary import Device, Language

# A function that compiles a text of the file with a compiler.
Compile = Callable[[Compiler, str], Built | Rejected]


def build(
    assignment: Assignment,
    source: SourceFile,
    device: Device,
    *,
    architecture: tuple[int, int] | None,
    contract: bool = False,
) -> Built | Rejected:
    """Build `source` for `device`, or return why that is impossible.

    `architecture` is the GPU's compute capability (needed for cuda). `contract` is that of
    `host_compiler`. Raises GraderError if a compiler breaks down.
    """
    if rejected := unfit(source):
        return rejected
    holder = _file_of_entry(assignment, source)
    is_kernel = kernel_entry(assignment.signature, holder.path, holder.text)
    if is_kernel is not None:
        return reject_source(*is_kernel)
    compile_with = partial(_compile, assignment, source, device)
    allowed = allowed_libraries(assignment, source.path)
    links = link_flags(allowed)
    if device is Device.CUDA:
        assert architecture is not None
        compiler = partial(nvcc_compiler, architecture=architecture, libraries=links)
        built = build_on_gpu(source, compile_with, compiler)
        major, minor = architecture
        return (
            built if isinstance(built, Rejected) else _assembled(built, built, 10 * major + minor)
        )
    return build_on_cpu(
        source,
        compile_with,
        lambda cxx, here, text: _on_cpu(
            partial(_compile, assignment, here, device), host_compiler(cxx, contract=contract), text
        ),
        allowed,
    )


def build_on_gpu(
    source: SourceFile, compile_with: Compile, compiler: Callable[[Tool], Compiler]
) -> Built | Rejected:
    """Build with nvcc; `compiler` configures it."""
    nvcc = toolchain.find_nvcc()
    if nvcc is None:
        cost = "CUDA C++ cannot be compiled for this machine's GPU"
        return missing_tool("nvcc", cost, "; `grade local --device cpu` does without")
    return compile_with(compiler(nvcc), source.text)


def build_on_cpu(
    source: SourceFile,
    compile_with: Compile,
    on_cpu: Callable[[Tool, SourceFile, str], Built | Rejected],
    allowed: frozenset[str] | None = None,
) -> Built | Rejected:
    """Build with `on_cpu`; nvcc tests the file in parallel.

    `on_cpu` gets g++, the file with its headers rewritten, and the file's rewritten text.

    `allowed` are the libraries that the file may use; None if the spec does not say.

    The emulation and nvcc accept different code. Code that nvcc (if it is installed) rejects is a
    compile error; code that only the emulation rejects is not measured. Without nvcc, calls between
    host and device functions are tested by `cuda_cpp.wrong_calls`.
    """
    cxx = toolchain.find_cxx()
    if cxx is None:
        return missing_tool("g++", "CUDA C++ cannot run on this machine's CPU")
    nvcc = toolchain.find_nvcc()
    with Pool(1, thread_name_prefix="gate") as pool:
        compiler = nvcc_gate(nvcc) if nvcc else None
        front_ends = pool.submit(compile_with, compiler, source.text) if compiler else None
        prepared = prepare(source, allowed=allowed)
        here = prepare_headers(source, allowed=allowed)
        if isinstance(prepared, Rejected):
            emulated: Built | Rejected = prepared
        elif isinstance(here, Rejected):
            emulated = here
        else:
            emulated = on_cpu(cxx, here, prepared)
            if nvcc is None and isinstance(emulated, Built):
                emulated = _wrong_calls(emulated, prepared) or emulated
        gate = front_ends.result() if front_ends else None
    if nvcc and isinstance(emulated, Rejected) and isinstance(gate, Built):
        gate = compile_with(nvcc_gate(nvcc, links=link_flags(allowed)), source.text)
    decided = decide_with_nvcc(emulated, gate, source.path)
    if not isinstance(decided, Built):
        return decided
    decided = replace(decided, launch_limits=launch_limits(gate))
    return _assembled(decided, gate, course_target().capability)


def _wrong_calls(built: Built, text: str) -> Rejected | None:
    """Return the rejection for calls that nvcc would refuse; None if there are none."""
    texts = {Path(built.file).name: text, **built.headers}
    found = tuple(
        Diagnostic(
            file=built.own_file(call.file) or call.file,
            line=call.line,
            severity="error",
            message=call.message,
        )
        for call in cuda_cpp.wrong_calls(_dump(built), texts=texts)
    )
    if not found:
        return None
    first = found[0]
    return Rejected(
        verdict=Verdict.COMPILE_ERROR,
        message=f"{first.file}:{first.line}: {first.message}",
        hint=diagnostics.advice(first.message),
        evidence=replace(
            built.evidence,
            diagnostics=found[: diagnostics.SHOWN],
            diagnostics_total=len(found),
        ),
    )


def _assembled(built: Built, by_nvcc: Built | Rejected | None, capability: int) -> Built:
    """Return `built` with what its kernels use, by nvcc's output for a compute capability."""
    if not isinstance(by_nvcc, Built):
        return built
    kernels = tuple(ptxas.parse(by_nvcc.evidence.output))
    return replace(built, assembled=Assembled(target=target_of(capability), kernels=kernels))


def decide_with_nvcc(
    emulated: Built | Rejected, gate: Built | Rejected | None, path: str
) -> Built | Rejected:
    """Decide between the result of the emulation and that of nvcc (None: there is no nvcc)."""
    if gate is None or (isinstance(emulated, Rejected) and emulated.verdict is Verdict.FORBIDDEN):
        return emulated
    if isinstance(gate, Rejected):
        if isinstance(emulated, Rejected):
            mistaken = emulated.verdict is Verdict.NOT_MEASURED and _is_mistake(emulated, gate)
            return gate if mistaken else emulated
        return gate if gate.evidence.diagnostics else emulated
    if isinstance(emulated, Rejected) and emulated.verdict is Verdict.COMPILE_ERROR:
        if any(found.message.startswith("#error") for found in emulated.evidence.diagnostics):
            return emulated  # the file itself refuses this compiler
        return replace(
            emulated,
            verdict=Verdict.NOT_MEASURED,
            message=f"nvcc compiles {path}, but the emulation of a GPU on this machine cannot: "
            f"{emulated.message}",
            hint="grade it on a machine with a GPU",
        )
    if isinstance(emulated, Built):
        tools = f"{emulated.evidence.tool}; {gate.evidence.tool} accepts it"
        return replace(emulated, evidence=replace(emulated.evidence, tool=tools))
    return emulated


def _is_mistake(emulated: Rejected, gate: Rejected) -> bool:
    """True if nvcc rejects a line that would not compile on any other machine either.

    A header may be missing only on this machine, and clusters need a newer GPU than the gate
    compiles for.
    """
    if any("cluster" in found.message for found in emulated.evidence.diagnostics):
        return False
    errors = [found for found in gate.evidence.diagnostics if found.severity == "error"]
    if gate.verdict is not Verdict.COMPILE_ERROR or not errors:
        return False
    # An error without a line counts only if it is about the entry.
    if errors[0].line is None and errors[0].message != gate.message:
        return False
    return not any(diagnostics.is_missing_header(found.message) for found in errors)


def build_checked(
    assignment: Assignment, source: SourceFile, *, mark_locals: bool = False
) -> Checked | Rejected:
    """Build a CUDA C++ file for the CPU with every memory access checked.

    With `mark_locals`, reads of local variables without a value are found, too.
    """
    cxx = toolchain.find_cxx()
    if cxx is None:
        return missing_tool("g++", "memory accesses cannot be checked on this machine's CPU")
    allowed = allowed_libraries(assignment, source.path)
    prepared = prepare(source, mark_locals=mark_locals, allowed=allowed)
    if isinstance(prepared, Rejected):
        return prepared
    here = prepare_headers(source, mark_locals=mark_locals, allowed=allowed)
    if isinstance(here, Rejected):
        return here
    compile_with = partial(_compile, assignment, here, Device.CPU)
    built = _on_cpu(compile_with, host_compiler(cxx, Mode.CHECKED), prepared)
    if isinstance(built, Rejected):
        return built
    return _unhooked(built) or Checked(built=built, text=prepared)


def _unhooked(built: Built) -> Rejected | None:
    """Return the rejection for accesses that no check sees; None if there are none."""
    dump = _dump(built)
    if not dump:
        return Rejected(
            verdict=Verdict.NOT_MEASURED,
            message=f"g++ does not say which accesses of {built.file} are checked",
            evidence=built.evidence,
        )
    files = (Path(built.file).name, *built.headers)
    key = content_key(code_key(Path(cuda_cpp.__file__).parent), dump, *files)
    # To read a dump takes some milliseconds, in every grading.
    found = cached_answer(
        "unhooked",
        key,
        lambda: [(one.file, one.line) for one in cuda_cpp.unhooked(dump, files=files)],
    )
    if not found:
        return None
    name, line = found[0]
    file = built.own_file(name) or built.file
    what = "a function's result goes straight to memory, where this machine cannot check it"
    diagnostic = Diagnostic(file=file, line=line, severity="warning", message=what)
    return Rejected(
        verdict=Verdict.NOT_MEASURED,
        message=f"{file}:{line}: {what}",
        hint="assign it: `T t = f(x); *p = t;`, in place of `new (p) T(f(x))` or of a "
        "constructor's `member(f(x))`",
        evidence=replace(built.evidence, diagnostics=(diagnostic,), diagnostics_total=1),
    )


def _dump(built: Built) -> str:
    """Return what the compiler wrote about a build for this CPU; "" if it wrote nothing."""
    path = built.path.with_name(cuda_cpp.DUMP)
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def _on_cpu(compile_with: Compile, compiler: Compiler, text: str) -> Built | Rejected:
    """Compile with the emulation's runtime; reject a file that overrides the C library."""
    built = compile_with(compiler, text)
    if isinstance(built, Rejected):
        return reject_disabled_checks(built)
    try:
        overrides = overridden_names(built.path, compiler.parts()[0])
    except ValueError as error:
        return Rejected(
            verdict=Verdict.COMPILE_ERROR,
            message=f"{built.file} was compiled into a library that cannot be read: {error}",
            evidence=built.evidence,
        )
    if not overrides:
        return built
    names = ", ".join(f"`{name}`" for name in overrides[:5])
    return Rejected(
        verdict=Verdict.COMPILE_ERROR,
        message=f"{built.file} defines {names}, which the C library defines, too",
        hint="choose another name, or declare it static in a namespace",
        evidence=built.evidence,
    )


def missing_tool(tool: str, cost: str, instead: str = "") -> Rejected:
    """Return the rejection because this machine lacks a tool; `cost` says what it cannot do."""
    return Rejected(
        verdict=Verdict.NOT_MEASURED,
        message=f"{tool} is not on this machine: {cost}",
        hint=f"`grade doctor` says how to get it{instead}",
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
        headers=source.header_texts,
        others=assignment.header_texts,
        wall_s=assignment.limits.build_s,
    )
    compiled = replace(compiled, evidence=_with_replaced(compiled.evidence, source))
    if compiled.library is None:
        return _rejected(assignment, source, compiled)
    return Built(
        language=Language.CUDA,
        device=device,
        path=compiled.library,
        file=source.path,
        entry=signature.entry,
        launched=signature.launch is not None,
        evidence=compiled.evidence,
        text=source.text,
        headers=source.header_texts,
        given=assignment.given,
    )


def _with_replaced(evidence: BuildEvidence, source: SourceFile) -> BuildEvidence:
    """Return the evidence with a warning for each given file that the submission has changed."""
    warnings = tuple(
        Diagnostic(
            file=header.path,
            line=None,
            severity="warning",
            message="this file is given: the course's own is used, not the one handed in",
        )
        for header in source.headers
        if header.replaced
    )
    return replace(
        evidence,
        diagnostics=(*evidence.diagnostics, *warnings),
        diagnostics_total=evidence.diagnostics_total + len(warnings),
    )


def _rejected(assignment: Assignment, source: SourceFile, compiled: Compiled) -> Rejected:
    assert compiled.ended is not None
    holder = _file_of_entry(assignment, source)
    entry = entry_problem(assignment.signature, holder.path, holder.text, compiled.ended.output)
    first = first_error(compiled)
    message, hint = entry or (first, diagnostics.advice(first))
    rejected = failure(compiled, message, hint)
    if entry is None or rejected.message != message:  # not about the entry, or a limit
        return rejected
    return replace(rejected, evidence=_without_echoes(compiled.evidence, source.path, message))


def _file_of_entry(assignment: Assignment, source: SourceFile) -> SourceFile:
    """Return the file or that of its headers which has the entry, such as a given launcher."""
    entry = re.compile(rf"\b{re.escape(assignment.signature.entry)}\s{{0,20}}\(")
    files = (source, *source.headers)
    return next((one for one in files if entry.search(one.text)), source)


def _without_echoes(evidence: BuildEvidence, file: str, message: str) -> BuildEvidence:
    """Leave out the errors that a missing or wrong entry causes in the grader's own files."""
    own = [found for found in evidence.diagnostics if found.line is not None]
    shown = tuple(own) or (Diagnostic(file=file, line=None, severity="error", message=message),)
    left_out = len(evidence.diagnostics) - len(own)
    total = max(evidence.diagnostics_total - left_out, len(shown))
    return replace(evidence, diagnostics=shown, diagnostics_total=total)


def first_error(compiled: Compiled) -> str:
    """Return the first error of a failed build as a sentence with its file and line."""
    for diagnostic in compiled.evidence.diagnostics:
        if diagnostic.severity == "error":
            place = f":{diagnostic.line}" if diagnostic.line else ""
            return f"{diagnostic.file}{place}: {diagnostic.message}"
    return "the compiler failed without a message that could be read"
