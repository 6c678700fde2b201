"""One call of a submission in a process of its own, for profiles that torch makes.

The process is a program of `grader.worker` in the sandbox. The arguments of one case lie in a file
beside the submission; what the program leaves is read back.
"""

from __future__ import annotations

import sys
from pathlib import Path

from grader.assignment.cases import Case
from grader.grading.context import FileContext
from grader.protocol import wire
from grader.sandbox import scratch_dir, spawn
from grader.sandbox.scratch_dir import scratch_folder
from grader.text.printable import last_line, one_line
from grader.vocabulary import CheckName, Language, Memory

_CALL, _MADE = "call.pt", "made"
_MOST_BYTES = 64 << 20
_MOST_REASON = 300
# torch's profiler and its compiler load the whole of CUDA, and keep every event.
_LIMITS = spawn.Limits(memory_mib=32768)


def counted_case(file: FileContext) -> Case:
    """Return the case that counters use: a small one."""
    from grader.checks.counters.count import counting_case  # imports torch

    kernel, language = file.file.kernel, file.file.language
    rng = file.rng(CheckName.COUNTERS)
    return counting_case(file.assignment, kernel, language, file.public_seed, rng)


def store_call(file: FileContext, case: Case, path: Path) -> None:
    """Write a case's arguments: `values` in order, tensors on the CPU, outputs of zeros.

    `host` are the numbers of those that stay in host memory, `bits` the words of `grader_call` in
    CUDA C++, None for an array.
    """
    import torch

    from grader.judge.arguments import call_arguments

    signature, language = file.assignment.signature_of(case), file.file.language
    data = file.data(case)
    values: list[torch.Tensor | int | float] = []
    for argument in signature.arguments:
        if not argument.is_array:
            values.append(signature.scalar(argument, case.sizes))
        elif argument.role.read:
            values.append(data.inputs[argument.name])
        else:
            kind = getattr(torch, signature.element_type(argument, language).word)
            values.append(torch.zeros(signature.shape(argument, case.sizes), dtype=kind))
    host = [i for i, one in enumerate(signature.arguments) if one.memory is Memory.HOST]
    packed = call_arguments(signature, language, case.sizes, case.launch, dtype=case.dtype)
    words = wire.ARGUMENT.iter_unpack(packed)
    bits = [None if kind == wire.SLOT else int(word) for kind, word in words]
    of_cuda = language.base is Language.CUDA
    torch.save({"values": values, "host": host, "bits": bits if of_cuda else []}, path)


def run_once(
    file: FileContext,
    case: Case,
    program: Path,
    *arguments: str,
    wall_s: float,
) -> tuple[bytes, str]:
    """Run `program FILE ENTRY ARGUMENTS… CALL MADE`; return what it has made, or why nothing."""
    with scratch_folder("grade-call-") as folder:
        if file.file.language.imported:
            source = folder / "submission.py"
            source.write_text(file.built.text, encoding="utf-8")
        else:
            source = folder / "submission.so"
            source.write_bytes(file.built.path.read_bytes())
        store_call(file, case, folder / _CALL)
        words = (source.name, file.built.entry, *arguments, _CALL, _MADE)
        ended = spawn.run(
            [sys.executable, "-I", str(program), *words],
            cwd=folder,
            environment=spawn.clean_environment(folder),
            wall_s=wall_s,
            limits=_LIMITS,
            gpu=file.gpu is not None,
        )
        made = scratch_dir.read_if_there(folder / _MADE, _MOST_BYTES)
    if made:
        return made, ""
    if ended.end is spawn.End.TIME_LIMIT:
        return b"", f"it did not end within {wall_s:g} s"
    if ended.end not in (spawn.End.EXITED, spawn.End.SIGNALED):
        return b"", f"it was ended at its {ended.end.value}"
    return b"", one_line(last_line(ended.output, _MOST_REASON)) or "it printed nothing"
