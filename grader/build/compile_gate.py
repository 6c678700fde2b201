"""The compile gate for Triton: compile the launches that the executor ran, for a GPU.

The executor runs the IR of Triton's front end. Whether the rest of the compiler takes it, and
whether a GPU has the shared memory for it, the compiler decides, as nvcc does for CUDA C++: that
needs no GPU. The code that it makes says which thread accesses what, for counting.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from grader.build.artifact import Built, Rejected
from grader.gpu.target import course_target
from grader.protocol import programs
from grader.protocol.launches import code_name, without_folders
from grader.protocol.targets import Target
from grader.report.evidence import BuildEvidence, Diagnostic
from grader.report.verdict import Verdict
from grader.sandbox import spawn
from grader.sandbox.scratch_dir import scratch_folder
from grader.system import untrusted_json
from grader.system.cache import cached_folder, content_key

_WALL_S = 120.0
_MOST_LAUNCHES = 12
_MOST_WARNINGS = 10
_RUN = 'exec "$@" < launches.json'
_MOST_CODE = 32 << 20  # bytes of one file of code
_KEPT = ("kernel", "text", "options")


def compile_launches(built: Built, launches: Sequence[dict[str, Any]]) -> Built | Rejected:
    """Compile each distinct launch; return `built`, or why a launch is rejected.

    The result for a file and its launches is cached if all of them compile. If a launch cannot be
    compiled here, because the compiler does not read its IR or crashes, the result has a warning.
    """
    target = course_target()
    kept = ({name: launch.get(name) for name in _KEPT} for launch in launches)
    distinct = list({json.dumps(launch, sort_keys=True): launch for launch in kept}.values())
    chosen = json.dumps(_round_robin(distinct)[:_MOST_LAUNCHES])
    reports: list[dict[str, Any]] = []

    def make(folder: Path) -> None:
        reports.append(_compile(chosen, target))
        results = reports[0].get("results", [])
        if not results or any(result.get("error") for result in results):
            raise _NotAcceptedError
        (folder / "launches.json").write_text(chosen)
        (folder / "report.json").write_text(json.dumps(reports[0]))

    try:
        entry = cached_folder("triton-gate", content_key(_version(), target.name, chosen), make)
        report = json.loads((entry / "report.json").read_text())
    except _NotAcceptedError:
        report = reports[0]
    for result in report.get("results", []):
        if result.get("error"):
            return _rejected(built, result["error"], str(report.get("triton"))[:40])
    return _with_warnings(built, _not_compiled(distinct, report))


def _round_robin(launches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first launch of each kernel, then the second of each, and so on."""
    seen: Counter[str] = Counter()
    ranked = []
    for launch in launches:
        name = str(launch.get("kernel"))
        ranked.append((seen[name], launch))
        seen[name] += 1
    return [launch for _, launch in sorted(ranked, key=lambda pair: pair[0])]


def _not_compiled(launches: list[dict[str, Any]], report: dict[str, Any]) -> list[str]:
    """Return a sentence for each kernel that was not compiled, with the reason."""
    results = report.get("results", [])
    why = "the compiler's program ended early"
    if results:
        why = f"no more than {_MOST_LAUNCHES} launches are compiled"
    reasons = [
        (str(result.get("kernel")), str(result.get("problem")))
        for result in results
        if not result.get("ok")
    ]
    tried = {str(result.get("kernel")) for result in results}
    names = (str(launch.get("kernel")) for launch in launches)
    reasons += [(name, why) for name in names if name not in tried]
    return [
        f"kernel `{name[:100]}` was not compiled, so it is unknown whether it compiles for a GPU: "
        f"{(reason.splitlines() or [''])[0][:300]}"
        for name, reason in dict.fromkeys(reasons)
    ]


def _with_warnings(built: Built, messages: list[str]) -> Built:
    if not messages:
        return built
    warnings = tuple(
        Diagnostic(file=built.file, line=None, severity="warning", message=message)
        for message in messages[:_MOST_WARNINGS]
    )
    evidence = replace(
        built.evidence,
        diagnostics=built.evidence.diagnostics + warnings,
        diagnostics_total=built.evidence.diagnostics_total + len(messages),
    )
    return replace(built, evidence=evidence)


class _NotAcceptedError(Exception):
    """Not every launch compiled: the result is not cached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuCode:
    """The code of launches: in `folder`, by `protocol.launches.code_name`.

    `problem` says why there is none; then `verdict` is compile_error if the compiler refuses a
    launch, else not_measured.
    """

    folder: Path | None = None
    problem: str = ""
    verdict: Verdict = Verdict.NOT_MEASURED


def gpu_code(launches: Sequence[dict[str, Any]]) -> GpuCode:
    """Compile launches, and keep what the compiler makes of each: the GPU dialect, and PTX.

    The files come from a process that runs no student code, but reads a submission's IR.
    """
    named: dict[str, dict[str, Any]] = {}
    for launch in launches:
        text = without_folders(str(launch.get("text")))
        name = code_name(text, launch.get("options") or {})
        kept = {key: launch.get(key) for key in _KEPT}
        named[name] = {**kept, "text": text, "keep": name}
    if len(named) > _MOST_LAUNCHES:
        return GpuCode(problem=f"more than {_MOST_LAUNCHES} different launches are not compiled")
    chosen = json.dumps([named[name] for name in sorted(named)])
    target = course_target()
    files = [f"{name}.{kind}" for name in sorted(named) for kind in ("ttgir", "ptx")]
    reports: list[dict[str, Any]] = []

    def make(folder: Path) -> None:
        reports.append(_compile(chosen, target, keep=folder, names=files))
        results = reports[0].get("results", [])
        if not results or not all(result.get("ok") for result in results):
            raise _NotAcceptedError
        if not all((folder / name).is_file() for name in files):
            raise _NotAcceptedError

    key = content_key(_version(), target.name, chosen)
    try:
        return GpuCode(folder=cached_folder("triton-code", key, make))
    except _NotAcceptedError:
        results = reports[0].get("results", [])
    for result in results:
        if result.get("error"):
            lines = str(result["error"].get("message", "")).strip().splitlines() or ["no reason"]
            reason = f"the kernel does not compile for a GPU: {_reason(lines)[:500]}"
            return GpuCode(problem=reason, verdict=Verdict.COMPILE_ERROR)
        if not result.get("ok"):
            lines = str(result.get("problem")).splitlines() or [""]
            return GpuCode(problem=f"the compiler for a GPU failed: {lines[0][:300]}")
    why = "made more code than the grader reads" if results else "ended early"
    return GpuCode(problem=f"the compiler's program {why}")


def _version() -> str:
    try:
        return importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        return "none"


def _compile(
    launches: str, target: Target, *, keep: Path | None = None, names: Sequence[str] = ()
) -> dict[str, Any]:
    """Compile launches, a JSON list, for a target; return `worker.triton_compile`'s report.

    Files of code with these names go into the folder `keep`.
    """
    with scratch_folder("grade-gate-") as folder:
        (folder / "launches.json").write_text(launches)
        program = [sys.executable, "-I", str(programs.TRITON_COMPILE), str(target.capability)]
        ended = spawn.run(
            ["/bin/sh", "-c", _RUN, "sh", *program],
            cwd=folder,
            environment=spawn.clean_environment(folder),
            wall_s=_WALL_S,
        )
        if keep is not None:
            for name in names:
                _copy(folder / name, keep / name)
    return _report(ended.output)


def _copy(source: Path, target: Path) -> None:
    """Copy a file of a confined process, if it is a file of no more than the limit."""
    try:
        descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    with os.fdopen(descriptor, "rb") as file:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            data = file.read(_MOST_CODE + 1)
            if len(data) <= _MOST_CODE:
                target.write_bytes(data)


def _report(output: str) -> dict[str, Any]:
    """Return the program's JSON, the last in the output; {} if there is none.

    The compiler may print before it.
    """
    for line in reversed(output.splitlines()):
        try:
            report = untrusted_json.parse(line)
        except ValueError:
            continue
        if isinstance(report, dict) and isinstance(report.get("results"), list):
            return report if all(map(_is_result, report["results"])) else {}
    return {}


def _is_result(result: object) -> bool:
    """True if this has the form of `triton_compile`'s result for one launch."""
    return isinstance(result, dict) and isinstance(result.get("error"), (dict, type(None)))


def _rejected(built: Built, error: dict[str, Any], version: str) -> Rejected:
    text = str(error.get("message", "")).strip().splitlines() or ["no reason was given"]
    reason = _reason(text)[:500]
    diagnostic = Diagnostic(file=built.file, line=None, message=reason)
    return Rejected(
        verdict=Verdict.COMPILE_ERROR,
        message=f"{built.file}: the kernel does not compile for a GPU: {reason}",
        evidence=BuildEvidence(
            tool=f"triton {version}",
            cached=False,
            diagnostics=(diagnostic,),
            diagnostics_total=1,
            output="\n".join(text)[:8000],
        ),
    )


def _reason(lines: list[str]) -> str:
    """Return the line with the reason; ptxas's is below a heading that triton adds."""
    if not any("`ptxas` stderr" in line for line in lines):
        return lines[0]
    for word in ("error", "fatal"):
        for line in lines:
            if found := re.search(rf"\b{word}\s*:\s*(\S.*)", line):
                return f"ptxas: {found[1]}"
    return lines[0]
