"""Sample hand-ins with a fault planted in each, or right ones, and what becomes of them.

What is expected stands in the samples, in a comment at the end of the line that it belongs to, or
on a line of its own just before:

    # ! out_of_bounds error load x 1023     kind, severity, access, tensor, first element
    # ! endless                             the reason of not being measured
    # ! load of 4 requests 1 sectors 4 …    what its line requests of memory
    # !                                     the compiler's error is here
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paths import REPOSITORY, TESTS

from grader.protocol.launches import code_name, without_folders

SAMPLES = TESTS / "emulation" / "triton_ir"
GATE = REPOSITORY / "grader" / "worker" / "triton_compile.py"
RUNNER = Path(__file__).with_name("triton_sample_runner.py")
_MARK = re.compile(r"# !(.*)$")

Told = dict[str, Any]


def files(folder: str) -> list[Path]:
    """Return the samples of a folder."""
    return sorted((SAMPLES / folder).glob("*.py"))


def marks(file: Path) -> list[tuple[int, str]]:
    """Return (line, what is expected there)."""
    found = []
    for number, line in enumerate(file.read_text().splitlines(), start=1):
        if match := _MARK.search(line):
            own_line = line.strip().startswith("#")
            found += [(number + own_line, part.strip()) for part in match[1].split(",")]
    return sorted(found)


def run(
    paths: Sequence[Path], *options: str, environment: dict[str, str] | None = None
) -> dict[str, Told]:
    """Run samples, each in processes of its own; return what became of each, by name."""
    ended = subprocess.run(
        [sys.executable, RUNNER, *options, *paths],
        capture_output=True,
        text=True,
        timeout=1000,
        env={**os.environ, "TRITON_DEFAULT_FP_FUSION": "1", **(environment or {})},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    version, *results = [json.loads(line) for line in ended.stdout.splitlines()]
    named = {Path(result["file"]).stem: {**version, **result} for result in results}
    assert len(named) == len(paths), "two samples have the same name"
    return named


def compiled(launches: Sequence[Told], folder: Path, **environment: str) -> list[Told]:
    """Compile launches as the gate does; their code goes into the folder. Return the results."""
    without = [{**one, "text": without_folders(one["text"])} for one in launches]
    ended = subprocess.run(
        [sys.executable, GATE, "80"],
        input=json.dumps(without),
        env={**os.environ, "TRITON_CACHE_DIR": str(folder / "cache"), **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    results: list[Told] = json.loads(ended.stdout)["results"]
    for code in folder.glob("[0-9]*.*"):  # named as the executor looks for it
        one = launches[int(code.stem)]
        code.rename(code.with_stem(code_name(one["text"], one["options"])))
    return results


def counted(paths: Sequence[Path], **environment: str) -> dict[str, Told]:
    """Run samples twice, with the compiler in between, so that accesses are counted."""
    first = run(paths, "--unchecked", environment=environment)
    with tempfile.TemporaryDirectory() as folder:
        compiled([one for told in first.values() for one in records(told, "launch")],
                 Path(folder), **environment)  # fmt: skip
        shutil.rmtree(Path(folder, "cache"), ignore_errors=True)
        return run(paths, "--unchecked", f"--code={folder}", environment=environment)


@functools.cache
def result(folder: str, name: str, *options: str) -> Told:
    """Return what became of one sample."""
    return run([SAMPLES / folder / f"{name}.py"], *options)[name]


def records(result: Told, kind: str, of: str = "told") -> list[Told]:
    """Return the records of a kind, of the executor's or of the `worker`'s."""
    return [record for record in result[of] if record["record"] == kind]


def requests(result: Told) -> list[tuple[int, str]]:
    """Return (line, words of its mark) of each line whose requests were counted."""
    return sorted(
        (
            line["line"],
            f"{line['access']} of {line['access_bytes']} requests {line['requests']} "
            f"sectors {line['sectors']} ideal {line['ideal_sectors']}",
        )
        for record in records(result, "counters")
        for line in record["lines"]
    )


def findings(result: Told) -> list[tuple[Any, ...]]:
    """Return (line, words of its mark) of each different finding, by line."""
    found = set()
    for record in records(result, "finding"):
        words = (record[key] for key in ("kind", "severity", "access", "tensor", "offset"))
        found.add((record["line"], " ".join(map(str, words))))
    return sorted(found)
