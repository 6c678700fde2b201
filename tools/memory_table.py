"""Make the table of planted faults in docs/planted-faults.md: fault, device, tool.

    python tools/memory_table.py run --device cpu --json cpu.json
    python tools/memory_table.py run --device cuda --json cuda.json     (on a GPU machine)
    python tools/memory_table.py write cpu.json cuda.json               (one may be left out)

`run` runs the memory check on every sample with a planted fault on one device and records
the findings. The exit code is 1 if a finding differs from the sample's first line. The file
is complete after each sample, so an interrupted run keeps its records.
`write` puts the recorded runs between the page's markers. A cell without a record is not
changed; a new one is "not captured yet". The reasons come from the samples.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "planted-faults.md"
START, END = "<!-- table: made by tools/memory_table.py -->", "<!-- end of table -->"
sys.path[:0] = [str(REPOSITORY)]

from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.commands.verify.judgement import judge_sample
from grader.commands.verify.samples import Planted, Sample, find_samples, in_language
from grader.commands.verify.tasks import submission_of
from grader.gpu import nvml
from grader.grading.plan import Options
from grader.pool.state import WorkerState
from grader.report.evidence import MemoryEvidence
from grader.report.model import Report
from grader.system import toolchain
from grader.vocabulary import CheckName, Device, Language


def planted() -> list[Sample]:
    """Return the samples with a planted fault, those of silu first: it has all kinds."""
    found = [
        in_language(sample, _assignment(sample.assignment))
        for sample in find_samples(REPOSITORY / "reference")
        if fault_of(sample)
    ]
    return sorted(found, key=lambda sample: sample.assignment != "silu")


@functools.cache
def _assignment(name: str) -> Assignment:
    return read_assignment(REPOSITORY / "assignments" / name)


def key_of(sample: Sample) -> str:
    """Return the unique name of a sample."""
    return f"{sample.assignment}/{sample.name}/{sample.language}"


def fault_of(sample: Sample) -> Planted | None:
    """Return the fault that the sample's first line describes."""
    expected = sample.expectation()
    return expected.planted if expected else None


def found_in(sample: Sample, device: Device, state: WorkerState) -> dict[str, Any]:
    """Grade one sample and return the memory check's result."""
    assignment = _assignment(sample.assignment)
    own = {kernel.name for kernel in assignment.kernels if sample.file in kernel.paths}
    options = Options(
        kernels=frozenset(own),  # a bonus alone decides the verdict
        gpu=nvml.visible(nvml.gpus())[0] if device is Device.CUDA else None,
        languages=frozenset({Language(sample.language)}),
        checks=frozenset({CheckName.MEMORY}),
    )
    report = state.grade(assignment, submission_of(sample, assignment), options)
    return row_of(sample, report, device)


def row_of(sample: Sample, report: Report, device: Device) -> dict[str, Any]:
    """Return what the memory check found, and whether the sample's first line says so."""
    (check,) = (c for k in report.kernels for c in k.checks if c.check is CheckName.MEMORY)
    findings = check.evidence.findings if isinstance(check.evidence, MemoryEvidence) else ()
    expected, fault = sample.expectation(), fault_of(sample)
    assert expected is not None and fault is not None
    hits = [f for f in findings if f.kind == fault.kind and expected.named_by(f.line)]
    promised = f"compute-sanitizer {fault.gpu}"
    hit = min(hits, key=lambda f: promised not in f.tool.split(", "), default=None)
    return {
        "sample": key_of(sample),
        "agrees": not judge_sample(sample, expected, report, device).state.wrong,
        "verdict": str(check.verdict),
        "message": check.message,
        "tool": hit.tool.replace("compute-sanitizer ", "") if hit else None,
        "severity": hit.severity if hit else None,
        "line": hit.line if hit else None,
        "others": sorted({f.kind for f in findings} - {fault.kind}),
    }


@click.group()
def main() -> None:
    """Make the table of planted faults."""


@main.command()
@click.option("--device", type=click.Choice(["cpu", "cuda"]), required=True)
@click.option("--json", "output", type=click.Path(path_type=Path), required=True)
@click.option("--jobs", default=1, show_default=True)
@click.option(
    "--only", multiple=True, default=[""], help="Part of ASSIGNMENT/NAME/LANGUAGE (repeatable)."
)
def run(device: str, output: Path, jobs: int, only: tuple[str, ...]) -> None:
    """Grade every planted fault on one device."""
    sanitizer = toolchain.find_compute_sanitizer()
    machine = {
        "device": nvml.gpus()[0].name if device == "cuda" else "CPU",
        "compute_sanitizer": sanitizer.version if sanitizer else None,
    }
    wanted = [sample for sample in planted() if any(part in key_of(sample) for part in only)]
    rows: list[dict[str, Any]] = []
    own = threading.local()
    with contextlib.ExitStack() as stack:

        def begin() -> None:
            # With a Python server, which imports torch once.
            own.state = stack.enter_context(contextlib.closing(WorkerState()))

        pool = stack.enter_context(ThreadPoolExecutor(jobs, initializer=begin))
        for row in pool.map(lambda sample: found_in(sample, Device(device), own.state), wanted):
            result = f"{row['verdict']:14} {row['tool'] or '-':22} {row['line'] or '':4}"
            click.echo(f"{row['sample']:60} {result} {'' if row['agrees'] else 'DIFFERS'}")
            rows.append(row)
            output.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    sys.exit(not all(row["agrees"] for row in rows))


@main.command()
@click.argument("runs", type=click.Path(path_type=Path, exists=True), nargs=-1, required=True)
def write(runs: tuple[Path, ...]) -> None:
    """Write the recorded runs into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(START)
    table, after = rest.split(END)
    cells, machine = _standing(table)
    for path in runs:
        run = json.loads(path.read_text())
        column = 0 if run["machine"]["device"] == "CPU" else 1
        if column:
            machine = (
                f"GPU: {run['machine']['device']}, "
                f"compute-sanitizer {run['machine']['compute_sanitizer']}."
            )
        for row in run["rows"]:
            cells.setdefault(row["sample"], ["not captured yet"] * 2)[column] = _cell(row)
    lines = [
        machine,
        "",
        "| assignment | planted fault | language | kind | line | CPU | GPU | why not found |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for sample in planted():
        expected, fault = sample.expectation(), fault_of(sample)
        assert expected is not None and fault is not None
        cpu, cuda = cells.get(key_of(sample), ["not captured yet"] * 2)
        why = expected.why or ""
        lines.append(
            f"| {sample.assignment} | {sample.name} | {Language(sample.language).phrase} "
            f"| {fault.kind} "
            f"| {', '.join(map(str, expected.lines))} | {cpu} | {cuda} | {why} |"
        )
    PAGE.write_text(f"{before}{START}\n{chr(10).join(lines)}\n{END}{after}", encoding="utf-8")


def _standing(table: str) -> tuple[dict[str, list[str]], str]:
    """Return the page's cells (CPU, GPU) by sample, and its line that names the GPU."""
    lines = table.strip().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[4:]]
    languages = {language.phrase: language.value for language in Language}
    cells = {f"{row[0]}/{row[1]}/{languages[row[2]]}": row[5:7] for row in rows}
    return cells, lines[0] if lines else ""


def _cell(row: dict[str, Any]) -> str:
    if row["tool"] is None:
        other = f" ({row['verdict'].replace('_', ' ')})" if row["verdict"] != "accepted" else ""
        return f"–{other}"
    return f"{row['tool']}, line {row['line']}" + (
        " (warning)" if row["severity"] == "warning" else ""
    )


if __name__ == "__main__":
    main()
