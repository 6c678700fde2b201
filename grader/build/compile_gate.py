"""The compile gate for Triton: compile the launches that the executor ran, for a GPU.

The executor runs the IR of Triton's front end. Whether the rest of the compiler takes it, the
compiler decides, as nvcc does for CUDA C++: that needs no GPU. Whether the course's GPU can launch
what it makes, the limits of that GPU decide: threads, shared memory and registers of a block. The
code that it makes says which thread accesses what, for counting.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from grader.build import ptxas
from grader.build.artifact import Built, Rejected
from grader.gpu.target import course_target
from grader.protocol import programs
from grader.protocol.launches import code_name, without_folders
from grader.protocol.targets import REGISTERS_PER_BLOCK, THREADS_PER_BLOCK, WARP, Target
from grader.report.evidence import BuildEvidence, Diagnostic
from grader.report.verdict import Verdict
from grader.sandbox import spawn
from grader.sandbox.scratch_dir import read, scratch_folder
from grader.system import untrusted_json
from grader.system.cache import cached_folder, content_key, stored_folder

_WALL_S = 120.0
_MOST_LAUNCHES = 12
# What tells one configuration of a kernel from another: the types of its tensors and pointers, and
# its operations but for arithmetic, of which known arguments need less.
_FEATURE = re.compile(r"(?:tensor|tt\.ptr)<[^>\n]{0,200}>+|\b(?:tt|scf|cf|math)\.(?!divis)\w+")
_ENTRY = re.compile(r"tt\.func public @[^\n]*")
_DIVISIBLE = "tt.divisibility = 16"
_MOST_WARNINGS = 10
_RUN = 'exec "$@" < launches.json'
_MOST_CODE = 32 << 20  # bytes of one file of code
_REPORT = "report.json"
_CODE = (".ttgir", ".ptx")  # what the executor reads: the GPU dialect, and the assembler's text
_GATE = "triton-gate"  # the kind of entry in the cache


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledLaunch:
    """The machine code of one launch: what a block of it uses.

    `shared_bytes` is the shared memory that the launch asks for, beyond the static one.
    """

    kernel: str
    threads: int
    shared_bytes: int
    resources: ptxas.Resources | None


def compile_launches(built: Built, launches: Sequence[dict[str, Any]]) -> Built | Rejected:
    """Compile launches of each configuration; return `built` with the code, or why one is rejected.

    If a launch cannot be compiled here, because the compiler does not read its IR or crashes, the
    result has a warning. Of a launch that is `hidden`, because hidden cases alone made it, nothing
    is told but the verdict: its kernel's name and its options may be what a case was.
    """
    seen = _distinct(launch for launch in launches if not launch.get("hidden"))
    unseen = [launch for launch in _distinct(launches) if launch not in seen]
    configurations = _configurations([*seen, *unseen])
    shown = _ends(seen, [[one for one in group if one in seen] for group in configurations])
    others = _ends(unseen, configurations)
    first = [*_round_robin(shown), *_round_robin(others)][:_MOST_LAUNCHES]
    results = _compile_each(first, course_target())
    code = tuple(result.folder for result in results if result.folder is not None)
    decided = _decided(replace(built, code=code), shown, results[: len(shown)])
    if not others or isinstance(decided, Rejected):
        return decided
    hidden = _decided(decided, others, results[len(shown) :])
    if isinstance(hidden, Rejected):
        reason = "a launch of a hidden case is not possible"
        message = f"{built.file}: {reason} on a GPU"
        return _rejected(built, hidden.verdict, message, reason, hint=hidden.hint)
    why = (
        "a launch of a hidden case was not compiled, so it is unknown whether it compiles for a GPU"
    )
    return decided if hidden is decided else _with_warnings(decided, [why])


def _decided(
    built: Built, distinct: list[dict[str, Any]], results: list[_Result]
) -> Built | Rejected:
    """Return `built`, with a warning for each launch that cannot be compiled, or a rejection."""
    target = course_target()
    for result in results:
        if error := result.told.get("error"):
            reason, output = _reason(error)
            line = _line(error, built.file)
            place = built.file if line is None else f"{built.file}:{line}"
            message = f"{place}: the kernel does not compile for a GPU: {reason}"
            return _rejected(
                built, Verdict.COMPILE_ERROR, message, reason, line=line, output=output
            )
    for launch in _compiled(results):
        if problem := _cannot_launch(launch, target):
            reason, hint = problem
            gpu = f"{target.name} ({target.gpu})"
            # What a GPU says at the launch: it is a runtime error there too.
            message = f"{built.file}: the GPU, {gpu}, cannot launch `{launch.kernel}`: {reason}"
            return _rejected(built, Verdict.RUNTIME_ERROR, message, reason, hint=hint)
    return _with_warnings(built, _not_compiled(distinct, results))


def compiled_launches(
    launches: Sequence[dict[str, Any]], target: Target
) -> tuple[CompiledLaunch, ...]:
    """Return the resources of each distinct launch that compiles."""
    return tuple(_compiled(_compile_some(_distinct(launches), target)))


def to_compile(launch: dict[str, Any]) -> dict[str, Any]:
    """Return what `worker.triton_compile` needs of a launch.

    Each worker has a folder of its own: with it, no run would find another's result.
    """
    text = without_folders(str(launch.get("text", "")))
    return {"kernel": launch.get("kernel"), "text": text, "options": launch.get("options")}


def _distinct(launches: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = map(to_compile, launches)
    return list({json.dumps(launch, sort_keys=True): launch for launch in kept}.values())


def _configurations(launches: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the launches of each configuration of a kernel.

    Triton compiles it anew for every set of arguments that are 1 or divisible by 16.
    """
    groups: dict[tuple[object, ...], list[dict[str, Any]]] = {}
    for launch in launches:
        options = json.dumps(launch["options"], sort_keys=True)
        features = frozenset(_FEATURE.findall(launch["text"]))
        groups.setdefault((launch["kernel"], options, features), []).append(launch)
    return list(groups.values())


def _ends(
    launches: Sequence[dict[str, Any]], groups: Sequence[list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Return those of the launches of which most, or least, is known in their group.

    The compiler does most with what is known, as vectors and copies that overlap in shared memory,
    and needs most instructions where nothing is: these two stand for all between them.
    """
    filled = [group for group in groups if group]
    ends = [end(group, key=_known) for group in filled for end in (max, min)]
    return [launch for launch in launches if launch in ends]


def _known(launch: dict[str, Any]) -> int:
    """Return how many more arguments are known to be divisible by 16 than not."""
    entry = _ENTRY.search(launch["text"])
    return 2 * entry[0].count(_DIVISIBLE) - entry[0].count("%") if entry else 0


@dataclass(frozen=True, slots=True)
class _Result:
    """What the compiler's program has told of a launch; `folder` in the cache has the code."""

    told: dict[str, Any]
    folder: Path | None = None


def _compile_some(distinct: list[dict[str, Any]], target: Target) -> list[_Result]:
    """Compile the first launches of each kernel."""
    return _compile_each(_round_robin(distinct)[:_MOST_LAUNCHES], target)


def _compile_each(launches: list[dict[str, Any]], target: Target) -> list[_Result]:
    """Compile launches; return a result for each, from the cache or of a new compilation.

    What compiles is cached launch by launch: who changes one of three kernels waits for one.
    """
    keys = [_key(target, launch) for launch in launches]
    known = {key: _stored(entry) for key in keys if (entry := stored_folder(_GATE, key))}
    missing = {key: launch for key, launch in zip(keys, launches, strict=True) if key not in known}
    if missing:
        known |= _compile_now(missing, target)
    return [known[key] for key in keys]


def _key(target: Target, launch: dict[str, Any]) -> str:
    return content_key(triton_version(), target.name, json.dumps(launch, sort_keys=True))


def _stored(entry: Path) -> _Result:
    return _Result(json.loads((entry / _REPORT).read_text()), entry)


def _compile_now(launches: dict[str, dict[str, Any]], target: Target) -> dict[str, _Result]:
    """Compile launches by their keys; return results, and cache what is no error."""
    with scratch_folder("grade-gate-") as scratch:
        report = run_compiler(json.dumps(list(launches.values())), scratch, target.capability)
        results = report.get("results", [])
        if len(results) != len(launches):
            problem = report.get("why", "the compiler's program ended early")
            none = {"ok": False, "problem": problem}
            return {
                key: _Result({"kernel": one["kernel"], **none}) for key, one in launches.items()
            }
        known = {}
        for number, (key, told) in enumerate(zip(launches, results, strict=True)):
            keep = partial(_keep, told, scratch / str(number), _code_name(launches[key]))
            refused = told.get("error")
            known[key] = _Result(told) if refused else _stored(cached_folder(_GATE, key, keep))
        return known


def _keep(told: dict[str, Any], code: Path, name: str, folder: Path) -> None:
    """Keep what was told and the code, which `gpu_code` misses if it is too large.

    It comes from a process that runs no student code, but reads a submission's IR.
    """
    (folder / _REPORT).write_text(json.dumps(told))
    for kind in _CODE:
        with contextlib.suppress(OSError):
            (folder / f"{name}{kind}").write_bytes(read(code.with_suffix(kind), _MOST_CODE))


def _code_name(launch: dict[str, Any]) -> str:
    return code_name(launch["text"], launch["options"] or {})


def _round_robin(launches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first launch of each kernel, then the second of each, and so on."""
    seen: Counter[str] = Counter()
    ranked = []
    for launch in launches:
        name = str(launch.get("kernel"))
        ranked.append((seen[name], launch))
        seen[name] += 1
    return [launch for _, launch in sorted(ranked, key=lambda pair: pair[0])]


def _compiled(results: Iterable[_Result]) -> Iterable[CompiledLaunch]:
    """Yield the launches that were compiled. The compiler's program runs no student code."""
    for told in (result.told for result in results if result.told.get("ok")):
        yield CompiledLaunch(
            kernel=str(told["kernel"])[:100],
            threads=int(told["threads"]),
            shared_bytes=int(told["shared_bytes"]),
            resources=next(iter(ptxas.parse(str(told["ptxas"]))), None),
        )


def _cannot_launch(launch: CompiledLaunch, target: Target) -> tuple[str, str] | None:
    """Return why the target cannot launch this, and a hint; None if it can."""
    if launch.threads > THREADS_PER_BLOCK:
        return (
            f"{launch.threads:,} threads in each block (num_warps={launch.threads // WARP}); "
            f"the limit is {THREADS_PER_BLOCK:,}",
            f"num_warps is 1, 2, 4, 8, 16 or {THREADS_PER_BLOCK // WARP}",
        )
    shared = launch.shared_bytes + (launch.resources.shared_bytes if launch.resources else 0)
    if shared > target.shared_bytes_per_block:
        return (
            f"{shared:,} bytes of shared memory for each block; "
            f"the limit is {target.shared_bytes_per_block:,}",
            "use smaller blocks, or a smaller num_stages",
        )
    if launch.resources is not None:
        each = launch.resources.allocated_registers
        if each * launch.threads > REGISTERS_PER_BLOCK:
            return (
                f"{each * launch.threads:,} registers for each block ({launch.threads} threads "
                f"of {each}); the limit is {REGISTERS_PER_BLOCK:,}",
                "use a smaller maxnreg, or a smaller num_warps",
            )
    return None


def _not_compiled(launches: list[dict[str, Any]], results: list[_Result]) -> list[str]:
    """Return a sentence for each kernel that was not compiled, with the reason."""
    why = f"no more than {_MOST_LAUNCHES} launches are compiled"
    told = [result.told for result in results]
    reasons = [(str(one.get("kernel")), str(one.get("problem"))) for one in told if not one["ok"]]
    tried = {str(one.get("kernel")) for one in told}
    names = (str(launch.get("kernel")) for launch in launches)
    reasons += [(name, why) for name in names if name not in tried]
    return [
        f"kernel `{name[:100]}` was not compiled, so it is unknown whether it compiles for a GPU: "
        f"{_plain(first_line(reason, 300))}"
        for name, reason in dict.fromkeys(reasons)
    ]


def _plain(reason: str) -> str:
    """Return a reason in words that a student can do something with."""
    if "PassManager::run failed" in reason:  # all that Python hears of a pass
        return "a pass of Triton's compiler failed without a reason; try other block sizes"
    return reason


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


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuCode:
    """The code of launches: files in `folders`, named by `protocol.launches.code_name`.

    `problem` says why there is none; then `verdict` is compile_error if the compiler refuses a
    launch, else not_measured. `launches` are what the compiled launches use.
    """

    folders: tuple[Path, ...] = ()
    launches: tuple[CompiledLaunch, ...] = ()
    problem: str = ""
    verdict: Verdict = Verdict.NOT_MEASURED


def gpu_code(launches: Sequence[dict[str, Any]]) -> GpuCode:
    """Compile launches, and return what the compiler makes of each: the GPU dialect, and PTX."""
    distinct = _distinct(launches)
    if len(distinct) > _MOST_LAUNCHES:
        return GpuCode(problem=f"more than {_MOST_LAUNCHES} different launches are not compiled")
    results = _compile_each(distinct, course_target())
    for told in (result.told for result in results):
        if error := told.get("error"):
            reason = f"the kernel does not compile for a GPU: {_reason(error)[0]}"
            return GpuCode(problem=reason, verdict=Verdict.COMPILE_ERROR)
        if not told["ok"]:
            problem = first_line(str(told.get("problem")), 300)
            return GpuCode(problem=f"the compiler for a GPU failed: {problem}")
    folders = tuple(result.folder for result in results if result.folder is not None)
    for folder, launch in zip(folders, distinct, strict=True):
        if not all((folder / f"{_code_name(launch)}{kind}").is_file() for kind in _CODE):
            return GpuCode(problem="the compiler made more code than the grader reads")
    return GpuCode(folders=folders, launches=tuple(_compiled(results)))


def triton_version() -> str:
    """Return the version of the installed Triton, "none" without one."""
    try:
        return importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        return "none"


def run_compiler(launches: str, folder: Path, capability: int) -> dict[str, Any]:
    """Run `worker.triton_compile` in a folder, sandboxed; return its report, {} without one."""
    (folder / "launches.json").write_text(launches)
    program = [sys.executable, "-I", str(programs.TRITON_COMPILE), str(capability)]
    ended = spawn.run(
        ["/bin/sh", "-c", _RUN, "sh", *program],
        cwd=folder,
        environment=spawn.clean_environment(folder),
        wall_s=_WALL_S,
        limits=spawn.WHOLE_OUTPUT,
    )
    if ended.end is spawn.End.TIME_LIMIT:
        return {"results": [], "why": f"the compiler did not end within {_WALL_S:g} s"}
    return _report(ended.output)


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
    if not isinstance(result, dict) or not isinstance(result.get("error"), (dict, type(None))):
        return False
    figures = ("threads", "shared_bytes")
    return not result.get("ok") or all(type(result.get(name)) is int for name in figures)


def _rejected(
    built: Built,
    verdict: Verdict,
    message: str,
    reason: str,
    *,
    line: int | None = None,
    hint: str = "",
    output: str = "",
) -> Rejected:
    evidence = BuildEvidence(
        tool=f"triton {triton_version()[:40]}",
        cached=False,
        diagnostics=(Diagnostic(file=built.file, line=line, message=reason),),
        diagnostics_total=1,
        output=output[:8000],
    )
    return Rejected(verdict=verdict, message=message, hint=hint, evidence=evidence)


def first_line(text: str, most: int) -> str:
    """Return the first line, of at most so many characters."""
    return (text.splitlines() or [""])[0][:most]


def _line(error: dict[str, Any], file: str) -> int | None:
    """Return the line of the student's file that an error is told to come from."""
    for place in error.get("places") or ():
        match place:
            case [str(name), int(line)] if name == file.rpartition("/")[2] and line > 0:
                return line
    return None


def _reason(error: dict[str, Any]) -> tuple[str, str]:
    """Return the line with the reason, and the compiler's whole text.

    ptxas's reason is below a heading that triton adds.
    """
    text = str(error.get("message", "")).strip() or "no reason was given"
    reason = first_line(text, 500)
    if "`ptxas` stderr" in text:
        for word in ("error", "fatal"):
            if found := re.search(rf"\b{word}\s*:\s*(\S.*)", text):
                return f"ptxas: {found[1]}"[:500], text
    return reason, text
