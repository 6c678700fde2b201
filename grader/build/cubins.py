"""Machine code of the launches that the executor recorded, for a GPU that replays them.

The compiler runs in the sandbox, without student code. What it returns describes a file that runs
in the sandbox too, so its form is checked and its content is not.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.build import compile_gate
from grader.protocol.targets import Target
from grader.sandbox import scratch_dir
from grader.sandbox.scratch_dir import scratch_folder
from grader.system.cache import cached_folder, content_key
from grader.system.retry import Pool

TABLE = "kernels.txt"  # its form is described in replay/replay.cpp
_MOST_BYTES = 64 << 20
_MOST_COMPILERS = 6
_NUMBERS = ("threads", "shared", "ctas", "cooperative", "parameters", "scratch_bytes",
            "scratch_alignment", "profile_bytes", "profile_alignment")  # fmt: skip


class CubinError(Exception):
    """A launch cannot be compiled for the GPU; the message says why."""


def cubins(launches: Sequence[dict[str, Any]], target: Target) -> Path:
    """Return a folder with the machine code of the launches, N.cubin each, and their table.

    Raises CubinError.
    """
    kept = [compile_gate.to_compile(launch) for launch in launches]
    if not kept:
        raise CubinError("no kernel was launched")

    def make(folder: Path) -> None:
        parts = min(len(kept), _MOST_COMPILERS, max(1, (os.cpu_count() or 1) // 2))
        with Pool(parts, thread_name_prefix="cubins") as pool:
            lines = list(pool.map(lambda i: _compile(kept, i, parts, target, folder),
                                  range(parts)))  # fmt: skip
        table = {number: line for part in lines for number, line in part.items()}
        (folder / TABLE).write_text("".join(f"{table[n]}\n" for n in range(len(kept))))

    key = content_key(compile_gate.triton_version(), target.name, json.dumps(kept))
    return cached_folder("cubins", key, make)


def _compile(
    launches: list[dict[str, Any]], first: int, step: int, target: Target, folder: Path
) -> dict[int, str]:
    """Compile every `step`-th launch into the folder; return their lines of the table."""
    numbers = range(first, len(launches), step)
    lines = {}
    with scratch_folder("grade-cubins-") as scratch:
        chosen = json.dumps([launches[number] for number in numbers])
        report = compile_gate.run_compiler(chosen, scratch, target.capability)
        results = report.get("results", [])
        if len(results) != len(numbers):
            raise CubinError(str(report.get("why", "the compiler's program ended early")))
        for position, (number, result) in enumerate(zip(numbers, results, strict=True)):
            name = f"{number}.cubin"
            lines[number] = _line(name, launches[number], result)
            try:
                code = scratch_dir.read(scratch / f"{position}.cubin", _MOST_BYTES)
            except OSError as error:
                raise CubinError(f"the compiler left no machine code: {error.strerror}") from error
            (folder / name).write_bytes(code)
    return lines


def _line(file: str, launch: dict[str, Any], result: dict[str, Any]) -> str:
    """Return a kernel's line of the table; CubinError if it was not compiled."""
    known = result.get("cubin")
    if not result.get("ok") or not isinstance(known, dict):
        error = result.get("error") or {}
        reason = str(result.get("problem") or error.get("message") or "no reason was given")
        raise CubinError(
            f"the kernel {str(launch.get('kernel'))[:100]} does not compile for this GPU: "
            f"{compile_gate.first_line(reason, 200)}"
        )
    try:
        name = str(known["name"])
        descriptors = [[int(number) for number in each] for each in known["descriptors"]]
        numbers = [int(known[key]) for key in _NUMBERS]
    except (KeyError, TypeError, ValueError) as error:
        raise CubinError("the compiler describes a kernel in another form") from error
    whole = all(5 <= len(each) <= 9 for each in descriptors)
    if not re.fullmatch(r"[\w$.]+", name) or min(numbers) < 0 or not whole:
        raise CubinError("the compiler describes a kernel in another form")
    words = [file, name, *numbers, len(descriptors)]
    for swizzle, size, kind, halves, *block in descriptors:
        words += [swizzle, size, kind, halves, len(block), *block]
    return " ".join(map(str, words))
