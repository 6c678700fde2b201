"""The table of planted faults in docs/memory-safety.md: fault, device, tool.

    python tools/memory_table.py run --device cpu --json cpu.json
    python tools/memory_table.py run --device cuda --json cuda.json     (on a GPU machine)
    python tools/memory_table.py write cpu.json cuda.json               (either may be left out)

`run` grades every sample of silu's with a planted fault on one device (silu has them of
every kind; other assignments repeat them) and notes what was found; `write` puts both
together between the markers of the page. A cell that no run tells stays as it is; one
that never was told is "not captured yet".
Nothing in the table is typed by hand but the reasons, which stand in the samples.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "memory-safety.md"
START, END = "<!-- table: made by tools/memory_table.py -->", "<!-- end of table -->"
sys.path[:0] = [str(REPOSITORY)]

from grader import gpu, toolchain  # noqa: E402
from grader.evidence import MemoryEvidence  # noqa: E402
from grader.pipeline import grade  # noqa: E402
from grader.plan import Options  # noqa: E402
from grader.progress import Progress  # noqa: E402
from grader.spec_reader import read_assignment  # noqa: E402
from grader.submission import read_submission  # noqa: E402
from grader.verify.expectation import Planted  # noqa: E402
from grader.verify.samples import Sample, find_samples  # noqa: E402
from grader.words import CheckName, Device, Language  # noqa: E402


def planted() -> list[Sample]:
    """Return the samples with a planted fault, of the assignment that has all kinds of them."""
    samples = find_samples(REPOSITORY / "reference")
    return [sample for sample in samples if sample.assignment == "silu" and fault_of(sample)]


def fault_of(sample: Sample) -> Planted | None:
    """Return the fault that the sample's first line describes."""
    expected = sample.expectation()
    return expected.planted if expected else None


def found_in(sample: Sample, device: Device) -> dict[str, Any]:
    """Grade one sample and return what the memory check says of it."""
    assignment = read_assignment(REPOSITORY / "assignments" / sample.assignment)
    options = Options(
        gpu=gpu.visible(gpu.gpus())[0] if device is Device.CUDA else None,
        languages=frozenset({Language(sample.language)}),
        checks=frozenset({CheckName.MEMORY}),
    )
    report = grade(assignment, read_submission(sample.folder, assignment), options, Progress())
    (check,) = (c for k in report.kernels for c in k.checks if c.check is CheckName.MEMORY)
    findings = check.evidence.findings if isinstance(check.evidence, MemoryEvidence) else ()
    expected, fault = sample.expectation(), fault_of(sample)
    assert expected is not None and fault is not None
    hit = next((f for f in findings if f.kind == fault.kind and expected.named_by(f.line)), None)
    return {
        "sample": sample.title,
        "verdict": str(check.verdict),
        "message": check.message,
        "tool": hit.tool.removeprefix("compute-sanitizer ") if hit else None,
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
@click.option("--only", default="", help="A part of the samples' titles.")
def run(device: str, output: Path, jobs: int, only: str) -> None:
    """Grade every planted fault on one device."""
    with ThreadPoolExecutor(jobs) as pool:
        wanted = [sample for sample in planted() if only in sample.title]
        rows = list(pool.map(lambda sample: found_in(sample, Device(device)), wanted))
    sanitizer = toolchain.find_compute_sanitizer()
    machine = {
        "device": gpu.gpus()[0].name if device == "cuda" else "CPU",
        "compute_sanitizer": sanitizer.version if sanitizer else None,
    }
    output.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1) + "\n")
    for row in rows:
        print(f"{row['sample']:55} {row['verdict']:14} {row['tool'] or '-':22} {row['line'] or ''}")


@main.command()
@click.argument("runs", type=click.Path(path_type=Path, exists=True), nargs=-1, required=True)
def write(runs: tuple[Path, ...]) -> None:
    """Put runs into the page."""
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
        "| planted fault | language | kind | line | CPU | GPU | why one is blind |",
        "|---|---|---|---|---|---|---|",
    ]
    for sample in planted():
        expected, fault = sample.expectation(), fault_of(sample)
        assert expected is not None and fault is not None
        cpu, cuda = cells.get(sample.title, ["not captured yet"] * 2)
        why = expected.why or ""
        lines.append(
            f"| {sample.name} | {Language(sample.language).phrase} | {fault.kind} "
            f"| {', '.join(map(str, expected.lines))} | {cpu} | {cuda} | {why} |"
        )
    PAGE.write_text(f"{before}{START}\n{chr(10).join(lines)}\n{END}{after}", encoding="utf-8")


def _standing(table: str) -> tuple[dict[str, list[str]], str]:
    """Return the cells (CPU, GPU) that the page has now, by sample, and its line on the GPU."""
    lines = table.strip().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[4:]]
    found = {(row[0], row[1]): row[4:6] for row in rows}
    cells = {
        sample.title: found[key]
        for sample in planted()
        if (key := (sample.name, Language(sample.language).phrase)) in found
    }
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
