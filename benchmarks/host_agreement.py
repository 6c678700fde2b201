"""Compares the CUDA emulation with the GPU's tools (needs an NVIDIA GPU).

Run from the repository root on a machine with nvcc, compute-sanitizer, ncu, g++ and a GPU:

    python benchmarks/host_agreement.py --out DIR
    python benchmarks/host_agreement.py --document DIR   # put DIR's tables into the page

Three comparisons:

* planted faults (tests/emulation/cuda_cpp/faults): the kind and line that the emulation
  reports, against the compute-sanitizer tool named in each file;
* correct kernels that look suspicious (tests/emulation/cuda_cpp/correct): no finding from
  the emulation, against all four tools;
* access counters (tests/emulation/cuda_cpp/counters): requests, sectors and shared
  wavefronts against Nsight Compute's, for each kernel.

Known reasons for differences are in the `// gpu:` lines of the programs and in EXPLAINED.

DIR gets agreement.json, agreement.md and the tools' raw output. A tool that hangs is killed
with all its processes, and a failure becomes a row; the script starts no work after --budget
seconds. Standard library only, besides grader.emulation.cuda_cpp.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from grader.emulation.cuda_cpp import KernelCounters, Mode, runtime_command  # needs the path
from grader.emulation.cuda_cpp.standalone import Run, build, run

TESTS = ROOT / "tests" / "emulation" / "cuda_cpp"
DOCUMENT = ROOT / "docs" / "host-agreement.md"
MARKERS = ("<!-- agreement: begin -->\n", "<!-- agreement: end -->\n")
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
MARK = re.compile(r"// FAULT (\w+)( warning)?$")
TOOL = re.compile(r"^// tool: (\w+)$", re.MULTILINE)
REASON = re.compile(r"^// gpu: (.+)$", re.MULTILINE)
# With 16 tools in parallel, a tool takes 2 to 10 s; one program hangs on every GPU.
TOOL_TIMEOUT_S = 40.0
_NVCC = ("-std=c++17", "-O2", "-lineinfo", "-w")
WAVEFRONT_TOLERANCE = 0.02

_LSU = "l1tex__t_{what}_pipe_lsu_mem_global_op_{op}.sum"
_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"
# (our name, space, operation, our counter, the metric)
COUNTERS = (
    ("load requests", "global", "load", "requests", _LSU.format(what="requests", op="ld")),
    ("load sectors", "global", "load", "sectors", _LSU.format(what="sectors", op="ld")),
    ("store requests", "global", "store", "requests", _LSU.format(what="requests", op="st")),
    ("store sectors", "global", "store", "sectors", _LSU.format(what="sectors", op="st")),
    ("shared load wavefronts", "shared", "load", "wavefronts", _WAVEFRONTS.format(op="ld")),
    ("shared store wavefronts", "shared", "store", "wavefronts", _WAVEFRONTS.format(op="st")),
)
# The reasons why a figure may differ although both are right.
EXPLAINED = {
    ("gemm_tiled", "shared load wavefronts"): "nvcc merges loads of neighbouring words "
    "of the unrolled loop into 16-byte loads; the emulation counts every load of the source",
    ("shared_reduction", "shared load wavefronts"): "nvcc may keep the last sum in a register",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRow:
    """One planted fault. Findings are (kind, line); the GPU's line may be None."""

    name: str
    tool: str
    expected: tuple[tuple[str, int], ...]
    host: tuple[tuple[str, int | None], ...]
    gpu: tuple[tuple[str, int | None], ...]
    agrees: bool
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectRow:
    """One correct kernel: the number of findings of the host and of each tool (-1: no answer)."""

    name: str
    host: int
    gpu: dict[str, int]
    agrees: bool
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterRow:
    """One counter of one kernel."""

    kernel: str
    counter: str
    host: int
    gpu: int | None
    agrees: bool
    note: str


def main() -> int:
    """Run everything, write the results, print a short table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--out", type=Path, metavar="DIR", help="run, and write the results here")
    where.add_argument(
        "--document",
        type=Path,
        metavar="DIR",
        help="write docs/host-agreement.md from an earlier run's results",
    )
    parser.add_argument("--jobs", type=int, default=min(16, os.cpu_count() or 1))
    parser.add_argument("--budget", type=float, default=220.0, help="seconds")
    parser.add_argument("--arch", default="native", help="nvcc -arch")
    options = parser.parse_args()
    if options.document:
        _document(options.document)
        return 0
    out: Path = options.out
    for name in ("host", "gpu", "raw"):
        (out / name).mkdir(parents=True, exist_ok=True)
    bench = _Bench(out=out, arch=options.arch, deadline=time.monotonic() + options.budget)
    faults = sorted((TESTS / "faults").glob("*.cu"))
    correct = sorted((TESTS / "correct").glob("*.cu"))
    with ThreadPoolExecutor(options.jobs) as pool:
        # Measure the counters first: the rest keeps the GPU and the cores busy.
        counter_rows = bench.guard(bench.counters, [])
        fault_rows = list(pool.map(bench.fault, faults))
        correct_rows = list(pool.map(bench.correct, correct))
    result = {
        "gpu": bench.text(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        ),
        "nvcc": bench.text(["nvcc", "--version"]).splitlines()[-1:],
        "compute_sanitizer": bench.text(["compute-sanitizer", "--version"]).splitlines()[-1:],
        "gxx": bench.text(["g++", "--version"]).splitlines()[:1],
        "faults": [asdict(row) for row in fault_rows],
        "correct": [asdict(row) for row in correct_rows],
        "counters": [asdict(row) for row in counter_rows],
    }
    (out / "agreement.json").write_text(json.dumps(result, indent=1) + "\n")
    (out / "agreement.md").write_text(_markdown(fault_rows, correct_rows, counter_rows))
    _summary(fault_rows, correct_rows, counter_rows)
    return 0


class _Bench:
    """The folders, the deadline, and one method per comparison."""

    def __init__(self, *, out: Path, arch: str, deadline: float) -> None:
        self.out = out
        self.arch = arch
        self.deadline = deadline
        self.runtime = out / "host" / "runtime.o"
        command = runtime_command(compiler="g++", mode=Mode.CHECKED, output=self.runtime)
        subprocess.run(command, check=True, timeout=120)

    # ---- failures become notes ----

    def guard(self, work: Callable[[], Any], default: Any) -> Any:
        try:
            return work()
        except Exception as problem:  # a broken tool must not hide the other rows
            print(f"{getattr(work, '__name__', 'step')}: {problem}", file=sys.stderr)
            return default

    def text(self, command: list[str]) -> str:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.strip()

    def command(self, command: list[str], *, log: str) -> subprocess.CompletedProcess[str] | None:
        """Run within the remaining time; None if the command did not end."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            return None
        try:
            done = _run_group(command, timeout_s=min(TOOL_TIMEOUT_S, left))
        except (OSError, subprocess.TimeoutExpired):
            return None
        (self.out / "raw" / f"{log}.txt").write_text(done.stdout + done.stderr)
        return done

    # ---- the two devices ----

    def host_run(self, source: Path, settings: str = "") -> Run:
        folder = self.out / "host" / source.stem
        folder.mkdir(exist_ok=True)
        program = build(source, mode=Mode.CHECKED, folder=folder, runtime=self.runtime)
        if program.executable is None:
            raise RuntimeError(f"{source.name}: {program.diagnostics[:500]}")
        return run(program, settings=settings, timeout_s=TOOL_TIMEOUT_S, capture=True)

    def gpu_program(self, source: Path) -> Path | None:
        program = self.out / "gpu" / source.stem
        done = self.command(
            ["nvcc", *_NVCC, f"-arch={self.arch}", "-o", str(program), str(source)],
            log=f"nvcc-{source.stem}",
        )
        return program if done and done.returncode == 0 else None

    def sanitizer(
        self, program: Path, tool: str, source: Path
    ) -> tuple[tuple[str, int | None], ...] | None:
        """Return (kind, line) of each record, or None if the tool gave no answer."""
        saved = self.out / "raw" / f"{source.stem}-{tool}.xml"
        command = ["compute-sanitizer", "--tool", tool, "--xml", "--save", str(saved)]
        if tool == "memcheck":
            command += ["--leak-check", "full"]
        done = self.command([*command, str(program)], log=f"{source.stem}-{tool}")
        if done is None or not saved.exists():
            return None
        return tuple(sorted(set(_records(saved, tool, source.name)), key=str))

    # ---- the comparisons ----

    def fault(self, source: Path) -> FaultRow:
        text = source.read_text()
        marked = tuple(
            (match[1], number)
            for number, line in enumerate(text.splitlines(), start=1)
            if (match := MARK.search(line))
        )
        match = TOOL.search(text)
        tool = match[1] if match else "memcheck"
        reason = REASON.search(text)
        marked_lines = {line for _, line in marked}
        host_run = self.guard(lambda: self.host_run(source), None)
        host = tuple(
            (f.kind, f.other_line if f.other_line in marked_lines else f.line)
            for f in (host_run.report.findings if host_run else ())
        )
        program = self.gpu_program(source)
        found = self.sanitizer(program, tool, source) if program else None
        kinds = {kind for kind, _ in marked}
        seen = {kind for kind, _ in found or ()}
        lines = {line for kind, line in found or () if kind in kinds and line is not None}
        agrees = bool(kinds & seen) and set(host) == set(marked)
        if program is None:
            note = "nvcc gave no program"
        elif found is None:
            note = "the tool gave no answer" + (f": {reason[1]}" if reason else "")
        elif agrees and lines and not lines & marked_lines:
            note = f"the GPU's line is {min(lines)}"
        elif agrees:
            note = ""
        else:
            note = reason[1] if reason else f"the tool reported {sorted(seen) or 'nothing'}"
        return FaultRow(
            name=source.stem,
            tool=tool,
            expected=marked,
            host=host,
            gpu=found or (),
            agrees=agrees,
            note=note,
        )

    def correct(self, source: Path) -> CorrectRow:
        host_run = self.guard(lambda: self.host_run(source), None)
        program = self.gpu_program(source)
        counts = {}
        for tool in TOOLS:
            found = self.sanitizer(program, tool, source) if program else None
            counts[tool] = -1 if found is None else len(found)
        host = len(host_run.report.findings) if host_run else -1
        reason = REASON.search(source.read_text())
        loud = [tool for tool, count in counts.items() if count > 0]
        silent = [tool for tool, count in counts.items() if count < 0]
        note = "; ".join(
            [f"{tool} reports {counts[tool]}" for tool in loud]
            + [f"{tool} gave no answer" for tool in silent]
        )
        if note and reason:
            note += f" ({reason[1]})"
        return CorrectRow(
            name=source.stem,
            host=host,
            gpu=counts,
            agrees=host == 0 and not any(counts.values()),
            note=note,
        )

    def counters(self) -> list[CounterRow]:
        source = TESTS / "counters" / "kernels.cu"
        host = {
            kernel.kernel: kernel
            for kernel in self.host_run(source, "counted_blocks=0").report.kernels
        }
        program = self.gpu_program(source)
        metrics = ",".join(metric for *_, metric in COUNTERS)
        command = ["ncu", "--clock-control", "none", "--csv", "--metrics", metrics, str(program)]
        done = self.command(command, log="ncu") if program else None
        gpu = _ncu_table(done.stdout) if done else {}
        return [
            row for name, kernel in sorted(host.items()) for row in _rows(kernel, gpu.get(name))
        ]


def _run_group(command: list[str], *, timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run a command in a new session; on a time-out kill all its processes.

    Killing only the tool would leave its program on the GPU.
    """
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except BaseException:
            for pid in _session(process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)


def _session(leader: int) -> Iterable[int]:
    """Return the processes of a session, also those in other process groups."""
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getsid(int(entry.name)) == leader:
                yield int(entry.name)
        except ProcessLookupError:
            pass


def _rows(kernel: KernelCounters, gpu: dict[str, int] | None) -> Iterable[CounterRow]:
    for name, space, operation, field, metric in COUNTERS:
        ours = kernel.total(field, space=space, operation=operation)
        theirs = gpu.get(metric) if gpu else None
        if ours == 0 and not theirs:
            continue
        tolerance = WAVEFRONT_TOLERANCE if field == "wavefronts" else 0.0
        agrees = theirs is not None and abs(ours - theirs) <= tolerance * theirs
        note = "" if agrees else EXPLAINED.get((kernel.kernel, name), "")
        if theirs is None:
            note = "no figure from ncu"
        yield CounterRow(
            kernel=kernel.kernel, counter=name, host=ours, gpu=theirs, agrees=agrees, note=note
        )


def _ncu_table(text: str) -> dict[str, dict[str, int]]:
    """Return kernel → metric → value from ncu's CSV; skip lines before it."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return {}
    table: dict[str, dict[str, int]] = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        name = (row.get("Kernel Name") or "").split("(")[0].split("<")[0].strip()
        value = (row.get("Metric Value") or "").replace(",", "")
        if row.get("Metric Name") and value:
            table.setdefault(name, {})[row["Metric Name"]] = round(float(value))
    return table


def _records(saved: Path, tool: str, file: str) -> Iterable[tuple[str, int | None]]:
    """Return (our kind, line) of each record in a compute-sanitizer XML file."""
    try:
        records: Iterable[ET.Element] = ET.parse(saved).getroot().iter("record")
    except ET.ParseError:
        # The program died and left an incomplete file: read its complete records.
        text = saved.read_text(errors="replace")
        chunks = re.findall(r"<record>.*?</record>", text, re.DOTALL)
        records = iter([ET.fromstring(chunk) for chunk in chunks])
    for record in records:
        yield from _record(record, tool, file)


def _record(record: ET.Element, tool: str, file: str) -> Iterable[tuple[str, int | None]]:
    said = [record.findtext(key) or "" for key in ("kind", "what/text", "what/error")]
    text = (" ".join(said).strip() or " ".join(record.itertext())).lower()
    line = None
    for where in record.iter("where"):
        path, number = where.findtext("path") or "", where.findtext("line")
        if number and number.isdigit() and (not path or path.endswith(file)):
            line = int(number)
            break
    if "leak" in text:
        kind = "leak"
    elif tool == "racecheck":
        kind = "race"
    elif tool == "initcheck":
        kind = "uninitialized"
    elif tool == "synccheck":
        kind = "barrier"
    elif "misaligned" in text:
        kind = "misaligned"
    elif "api call" in text or "cudamem" in text or "cudafree" in text:
        if "cudalaunch" in text or not ("cudaerrorinvalid" in text or "invalid argument" in text):
            return  # a refused launch, or a code that follows from a fault already listed
        kind = "invalid_copy"
    elif "invalid" in text or "out of bounds" in text or "out-of-bounds" in text:
        kind = "out_of_bounds"
    else:
        return
    yield kind, line


def _markdown(faults: list[FaultRow], correct: list[CorrectRow], counters: list[CounterRow]) -> str:
    lines = [
        "| planted fault | kind | line here | compute-sanitizer | agrees | why not |",
        "|---|---|---|---|---|---|",
    ]
    for row in faults:
        kinds = ", ".join(dict.fromkeys(kind for kind, _ in row.expected))
        here = ", ".join(str(line) for line in dict.fromkeys(line for _, line in row.host)) or "–"
        there = ", ".join(f"{kind} {line or ''}".strip() for kind, line in row.gpu[:3]) or "–"
        mark = "yes" if row.agrees else "no"
        lines.append(
            f"| {row.name} | {kinds} | {here} | {row.tool}: {there} | {mark} | {row.note} |"
        )
    silent = sum(row.agrees for row in correct)
    lines += ["", f"Correct kernels without a finding on either side: {silent} of {len(correct)}."]
    lines += [f"* {row.name}: host {row.host}; {row.note}" for row in correct if not row.agrees]
    same = sum(count.agrees for count in counters)
    names = tuple(name for name, *_ in COUNTERS)
    lines += [
        "",
        f"Counters that agree: {same} of {len(counters)}. "
        "One figure: both have it; two: here / GPU.",
        "",
        f"| kernel | {' | '.join(names)} |",
        f"|---|{'---:|' * len(names)}",
    ]
    cells = {(count.kernel, count.counter): _cell(count) for count in counters}
    for kernel in dict.fromkeys(count.kernel for count in counters):
        figures = " | ".join(cells.get((kernel, name), "") for name in names)
        lines.append(f"| {kernel} | {figures} |")
    lines += [""] * any(not count.agrees for count in counters)
    lines += [
        f"* {c.kernel}, {c.counter}: {c.note or 'not explained'}" for c in counters if not c.agrees
    ]
    return "\n".join(lines) + "\n"


def _cell(count: CounterRow) -> str:
    if count.gpu == count.host:
        return f"{count.host:,}"
    return f"{count.host:,} / {'–' if count.gpu is None else f'{count.gpu:,}'}"


def _document(out: Path) -> None:
    """Put the tables of an earlier run between the markers of docs/host-agreement.md."""
    result = json.loads((out / "agreement.json").read_text())
    made_with = [
        result["gpu"].split(",")[0],
        *(line.split("/")[0].replace("Build cuda_", "CUDA ") for line in result["nvcc"]),
        *(
            line.replace("Version", "compute-sanitizer").split(" (")[0]
            for line in result["compute_sanitizer"]
        ),
        *result["gxx"],
    ]
    tables = _markdown(
        [FaultRow(**row) for row in result["faults"]],
        [CorrectRow(**row) for row in result["correct"]],
        [CounterRow(**row) for row in result["counters"]],
    )
    before, begin, rest = DOCUMENT.read_text().partition(MARKERS[0])
    _, end, after = rest.partition(MARKERS[1])
    if not end:
        raise SystemExit(f"{DOCUMENT}: no {MARKERS[0].strip()} … {MARKERS[1].strip()}")
    DOCUMENT.write_text(
        f"{before}{begin}Measured with {', '.join(made_with)}.\n\n{tables}{end}{after}"
    )


def _summary(faults: list[FaultRow], correct: list[CorrectRow], counters: list[CounterRow]) -> None:
    for row in faults:
        if not row.agrees:
            print(f"fault    {row.name}: host {row.host} gpu {row.gpu[:3]} {row.note}")
    for plain in correct:
        if not plain.agrees:
            print(f"correct  {plain.name}: host {plain.host} {plain.note}")
    for count in counters:
        if not count.agrees:
            figures = f"host {count.host} gpu {count.gpu}"
            print(f"counter  {count.kernel} {count.counter}: {figures} {count.note}")
    print(f"faults: {sum(row.agrees for row in faults)} of {len(faults)} agree")
    print(f"correct: {sum(row.agrees for row in correct)} of {len(correct)} agree")
    print(f"counters: {sum(row.agrees for row in counters)} of {len(counters)} agree")


if __name__ == "__main__":
    sys.exit(main())
