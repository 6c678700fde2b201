"""Check a Python source file before it runs: its syntax and its entry.

The file is parsed in a separate process in the sandbox, and not executed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from grader.assignment.signature import Signature
from grader.build.artifact import Built, Rejected
from grader.errors import GraderError
from grader.protocol import programs
from grader.report.evidence import BuildEvidence, Diagnostic
from grader.report.verdict import Verdict
from grader.sandbox import spawn
from grader.sandbox.quick_start import quick_start
from grader.sandbox.scratch_dir import scratch_folder
from grader.submission.reader import SourceFile
from grader.system.cache import cached_answer, code_key, content_key
from grader.text.did_you_mean import did_you_mean
from grader.vocabulary import Device, Language

_WALL_S = 10.0


KERNEL_MARKS = {Language.TRITON: "@triton.jit", Language.NUMBA: "@cuda.jit"}


def build_python(
    signature: Signature,
    source: SourceFile,
    device: Device,
    scratch: Path,
    language: Language = Language.TRITON,
) -> Built | Rejected:
    """Check the file and write it into `scratch` for a worker to import."""
    path = scratch / source.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source.text, encoding="utf-8")
    found = inspected(source, programs.INSPECT_PYTHON, signature.entry)
    problem = _problem(signature, source.path, found, language)
    if problem is not None:
        message, hint, line = problem
        diagnostic = Diagnostic(file=source.path, line=line, message=message)
        return Rejected(
            verdict=Verdict.COMPILE_ERROR,
            message=message,
            hint=hint,
            evidence=_evidence((diagnostic,)),
        )
    # Functions of the file are device functions in Numba, and modules such as `math` are known.
    foreign = found["foreign"] if language is Language.TRITON else ()
    return Built(
        language=language,
        device=device,
        path=path,
        file=source.path,
        entry=signature.entry,
        launched=signature.launch is not None,
        evidence=_evidence(tuple(_foreign_call(source.path, call) for call in foreign)),
        text=source.text,
        flags=tuple(f"line {call['line']}: {call['what']}" for call in foreign),
    )


def _foreign_call(file: str, call: dict[str, Any]) -> Diagnostic:
    """Return the warning about a call in a kernel that is not Triton's."""
    message = f"{call['what']}: it does not compile for a GPU"
    return Diagnostic(file=file, line=call["line"], severity="warning", message=message)


def _evidence(diagnostics: tuple[Diagnostic, ...]) -> BuildEvidence:
    version = ".".join(map(str, sys.version_info[:3]))
    return BuildEvidence(
        tool=f"Python {version}",
        cached=False,
        diagnostics=diagnostics,
        diagnostics_total=len(diagnostics),
    )


def inspected(source: SourceFile, program: Path, entry: str) -> dict[str, Any]:
    """Return what a program that parses Python finds in a file, or what is wrong as {"syntax": …}.

    Raises GraderError if the program breaks down.
    """
    code = code_key(program.parent)
    key = content_key(code, program.name, sys.version, source.path, source.text, entry)
    try:
        found: dict[str, Any] = cached_answer(
            "inspected", key, lambda: _inspected(source, program, entry)
        )
    except _ParserFailedError as failed:
        return {"syntax": {"message": str(failed), "line": None}}
    return found


class _ParserFailedError(Exception):
    """The parser has failed, perhaps for lack of time or memory: next time it may not."""


def _inspected(source: SourceFile, program: Path, entry: str) -> dict[str, Any]:
    """Run the program. Raises _ParserFailedError for what is no mistake in a line."""
    with scratch_folder("grade-inspect-") as folder:
        path = folder / Path(source.path).name
        path.write_text(source.text, encoding="utf-8")
        ended = spawn.run(
            quick_start(program, path.name, entry),
            cwd=folder,
            environment=spawn.clean_environment(folder),
            wall_s=_WALL_S,
            limits=spawn.WHOLE_OUTPUT,
        )
    if ended.signal is not None or ended.end is not spawn.End.EXITED:
        raise _ParserFailedError("Python's parser failed on this file")
    try:
        result: dict[str, Any] = json.loads(ended.output) if ended.ok else {}
    except ValueError:
        result = {}
    if not result:
        raise GraderError(f"inspecting {path.name} failed: {ended.output[-500:]}")
    if "syntax" in result and result["syntax"]["line"] is None:
        raise _ParserFailedError(result["syntax"]["message"])
    return result


def _problem(
    signature: Signature, file: str, found: dict[str, Any], language: Language
) -> tuple[str, str, int | None] | None:
    """Return (message, hint, line) of the first problem, None if there is none."""
    if "syntax" in found:
        syntax = found["syntax"]
        place = f"{file}:{syntax['line']}" if syntax["line"] else file
        return f"{place}: syntax error: {syntax['message']}", "", syntax["line"]
    if found["inline"]:
        return (
            f"{file}:{found['inline']}: this file asks torch to build CUDA source, but it is "
            f"graded as {language.phrase}",
            f"write the kernel in {language.phrase}; CUDA C++ has a file of its own, and inline "
            "CUDA if the assignment asks for it",
            found["inline"],
        )
    numba = language is Language.NUMBA
    declaration = signature.numba_declaration if numba else signature.python_declaration
    expected, jit = f"expected: {declaration}", KERNEL_MARKS[language]
    entry = found["entry"]
    if entry is None:
        if signature.entry in found["assigned"]:
            return None  # bound by an assignment or import: the call shows whether it fits
        kernel = signature.launch is not None
        own = [name for name in found["functions"] if (name in found["kernels"]) is kernel]
        only = f"; is `{own[0]}` meant?" if len(own) == 1 else ""
        suggestion = did_you_mean(signature.entry, [*own, *found["assigned"]]) or only
        return f"{file} defines no function `{signature.entry}`{suggestion}", expected, None
    if signature.launch and not entry["kernel"]:
        return (
            f"{file}:{entry['line']}: `{signature.entry}` is an ordinary function; it must be a "
            f"{jit} kernel, which the grader launches",
            expected,
            entry["line"],
        )
    if entry["kernel"] and not signature.launch:
        return (
            f"{file}:{entry['line']}: `{signature.entry}` is a {jit} kernel; "
            "it must be an ordinary function that launches one",
            expected,
            entry["line"],
        )
    constexprs = signature.launch.constexprs if signature.launch and not numba else ()
    count = len(signature.arguments) + len(constexprs)
    positional = len(entry["positional"])
    for name in constexprs:
        if name not in entry["positional"]:
            return (
                f"{file}:{entry['line']}: `{signature.entry}` has no argument `{name}`; "
                f"found: {entry['text']}",
                expected,
                entry["line"],
            )
    fits = positional - entry["defaults"] <= count and (positional >= count or entry["variadic"])
    if fits and not entry["required_keywords"]:
        return None
    return (
        f"{file}:{entry['line']}: `{signature.entry}` has a wrong parameter list; "
        f"found: {entry['text']}",
        expected,
        entry["line"],
    )
