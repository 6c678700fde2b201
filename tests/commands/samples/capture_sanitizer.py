"""Captures compute-sanitizer's findings on the samples; run it on a machine with a GPU.

    python3 tests/commands/samples/capture_sanitizer.py --out DIR

For every sample below reference/silu/samples/{memory_error,accepted} and each
of the four tools:

    silu.cu ──nvcc──→ program (exact cudaMalloc, n = 33 and 1025) ─┐
    silu.py ──────────────── this file with --triton-sample ───────┴─→ compute-sanitizer → XML

--sanitizer selects another version of the sanitizer. The packages on PyPI before 13.4.92 lack its
launcher (12.9, 13.0 to 13.3: exit code 255 with any driver). --libraries names the folder of its
libraries, if it is not the sanitizer's. --keep also writes the XML of the samples in
tests/checks/sanitizer_xml into a folder of that version:

    pip download --no-deps -d wheel nvidia-cuda-sanitizer-api==13.5.25
    python3 -m zipfile -e wheel/*.whl sanitizer
    tool=$PWD/sanitizer/nvidia/cu13/compute-sanitizer; chmod +x $tool/*
    python3 tests/commands/samples/capture_sanitizer.py --out DIR \\
        --keep tests/checks/sanitizer_xml --sanitizer $tool/compute-sanitizer

DIR/summary.json has exit codes and the first records, DIR/raw.tar.gz the unchanged XML
(long files are cut) and the tools' output, DIR/table.txt the printed table. Needs nvcc,
compute-sanitizer and, for Triton, torch, but not the grader. Takes about a minute on 16
cores; a run that fails or hangs becomes a cell of the table.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from paths import REPOSITORY

sys.path.insert(0, str(REPOSITORY))  # this import of the grader needs the standard library only

from grader.commands.verify.samples import Expectation, Sample, find_samples

SIZES = (33, 1025)
FOUND = 86  # compute-sanitizer's exit code if it has findings
TOOLS: dict[str, tuple[str, ...]] = {
    "plain": (),  # without compute-sanitizer: is the answer right?
    "memcheck": ("--tool", "memcheck", "--leak-check", "full"),
    "racecheck": ("--tool", "racecheck"),
    "initcheck": ("--tool", "initcheck"),
    "synccheck": ("--tool", "synccheck"),
}
# Newer versions can check shared memory; used if --help names the option.
ADDRESS_SPACE = "--initcheck-address-space"
DEADLINE_S = 170.0
LARGEST_XML = 256 << 10
LARGEST_ARCHIVE = 8 << 20

HEADER = """#pragma once
extern "C" void silu(const float* input, float* output, int n);
"""
PROGRAM = """
#include <cmath>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
#include "silu.cu"

static void tell(const char* what, cudaError_t error)
{
    if (error != cudaSuccess) std::printf("%s: %s\\n", what, cudaGetErrorName(error));
}

int main()
{
    void (*volatile entry)(const float*, float*, int) = silu;  // not to be inlined
    for (const int n : {SIZES}) {
        std::vector<float> x(n), y(n, NAN);
        for (int i = 0; i < n; ++i) x[i] = 1.0f + 5.0f * std::sin(1.0f + 0.7f * i);
        float *input = nullptr, *output = nullptr;
        tell("malloc", cudaMalloc(&input, n * sizeof(float)));
        tell("malloc", cudaMalloc(&output, n * sizeof(float)));
        tell("to device", cudaMemcpy(input, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
        entry(input, output, n);
        tell("launch", cudaGetLastError());
        tell("kernel", cudaDeviceSynchronize());
        tell("to host", cudaMemcpy(y.data(), output, n * sizeof(float), cudaMemcpyDeviceToHost));
        int wrong = 0;
        for (int i = 0; i < n; ++i) {
            const double e = x[i] / (1.0 + std::exp(-static_cast<double>(x[i])));
            wrong += !(std::fabs(y[i] - e) <= 1e-7 + 1e-5 * std::fabs(e));
        }
        std::printf("n=%d wrong=%d\\n", n, wrong);
        tell("free", cudaFree(input));
        tell("free", cudaFree(output));
    }
    tell("reset", cudaDeviceReset());
}
""".replace("SIZES", ", ".join(map(str, SIZES)))


@dataclass(slots=True, kw_only=True)
class Cell:
    """One sample under one tool."""

    sample: str
    tool: str
    exit_code: int | None = None  # None: it was killed, or could not be started
    problem: str = ""
    wall_s: float = 0.0
    records: int = 0
    first: list[dict[str, Any]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)  # of the sample's file, all records
    output: str = ""
    raw: bytes = b""


# ---- reading the XML ----


def read_records(raw: bytes) -> tuple[int, list[dict[str, Any]]]:
    """Return the number of records, and all records in brief; none if it is not XML."""
    try:
        root = ET.fromstring(raw)
    except ET.ParseError:
        # Cut short by a crash: return the complete records.
        whole = raw[: raw.rfind(b"</record>") + len(b"</record>")]
        if b"</record>" not in raw:
            return 0, []
        try:
            root = ET.fromstring(whole + b"</ComputeSanitizerOutput>")
        except ET.ParseError:
            return raw.count(b"<record>"), []
    records = list(root.iter("record"))
    return len(records), [brief(record) for record in records]


def brief(record: ET.Element) -> dict[str, Any]:
    """Return the important fields of a record, and the paths of all texts for the others."""
    places = [
        {child.tag: (child.text or "").strip() for child in element}
        for element in record.iter()
        if any(child.tag == "line" for child in element)
    ]
    texts: dict[str, str] = {}
    for path, text in flat(record, ""):
        if len(texts) < 60:
            texts.setdefault(path, text)
    return {
        "kind": text_of(record, "kind"),
        "level": text_of(record, "level"),
        "text": text_of(record, "text"),
        "places": places[:8],
        "texts": texts,
    }


def flat(element: ET.Element, path: str) -> Iterable[tuple[str, str]]:
    """Yield path and text of every leaf, with repeats numbered."""
    seen: dict[str, int] = {}
    for child in element:
        number = seen[child.tag] = seen.get(child.tag, -1) + 1
        here = f"{path}/{child.tag}" + (f"[{number}]" if number else "")
        text = (child.text or "").strip()
        if text:
            yield here, text
        for key, value in child.attrib.items():
            yield f"{here}@{key}", value
        yield from flat(child, here)


def text_of(record: ET.Element, tag: str) -> str:
    found = next(record.iter(tag), None)
    return "" if found is None or found.text is None else found.text.strip()


def student_lines(record: dict[str, Any], file: str) -> list[int]:
    """Return the lines of the sample that a record names, first named first."""
    lines = []
    for place in record["places"]:
        if any(Path(v).name == file for v in place.values()) and place["line"].isdigit():
            lines.append(int(place["line"]))
    return lines


# ---- building and running ----


def ended(
    command: Sequence[str | Path], *, timeout_s: float, cwd: Path, **environment: str
) -> tuple[int | None, str]:
    """Run a command in a new process group; return exit code (None: timeout) and output."""
    try:
        process = subprocess.Popen(
            list(map(str, command)),
            cwd=cwd,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return None, str(error)
    try:
        output, _ = process.communicate(timeout=max(1.0, timeout_s))
        code: int | None = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        code = None
    return code, output.decode("utf-8", "replace")


def build(sample: Sample, folder: Path, nvcc: str, architecture: str) -> tuple[Path | None, str]:
    """Compile a CUDA sample with its main; return the program, or None and the diagnostics."""
    folder.mkdir(parents=True)
    (folder / "main.cu").write_text(PROGRAM)
    (folder / "silu.h").write_text(HEADER)
    # -g is for host frames (leaks, copies); device code stays optimised.
    flags = ("-std=c++17", "-O3", "-g", "-lineinfo", "-Xcompiler=-rdynamic")
    command = [nvcc, *flags, f"-arch={architecture}", f"-I{sample.folder}", f"-I{folder}"]
    command += ["-o", "program", "main.cu"]
    code, output = ended(command, timeout_s=90, cwd=folder)
    return (folder / "program" if code == 0 else None), output


class Capture:
    """The runs, all in one pool of threads."""

    def __init__(self, options: argparse.Namespace, scratch: Path, deadline: float) -> None:
        self._options = options
        self._scratch = scratch
        self._deadline = deadline

    def run(self, sample: Sample, tool: str, program: Sequence[str | Path]) -> Cell:
        """Run one sample under one tool."""
        cell = Cell(sample=sample.title, tool=tool)
        left_s = self._deadline - time.monotonic()
        if left_s < 2:
            cell.problem = "no time left"
            return cell
        folder = self._scratch / f"{sample.verdict}-{sample.name}-{sample.language}-{tool}"
        folder.mkdir()
        xml = folder / "records.xml"
        command: list[str | Path] = list(program)
        if tool != "plain":
            padding = self._options.padding
            command = [
                self._options.sanitizer, *self._libraries(), *TOOLS[tool], "--xml", "--save", xml,
                "--error-exitcode", str(FOUND), "--print-limit", "20",
                *(["--padding", str(padding)] if padding and tool == "memcheck" else []),
                *program,
            ]  # fmt: skip
        started = time.monotonic()
        cell.exit_code, cell.output = ended(
            command,
            timeout_s=min(self._options.timeout, left_s),
            cwd=folder,
            PYTORCH_NO_CUDA_MEMORY_CACHING="1",
        )
        cell.wall_s = round(time.monotonic() - started, 2)
        if cell.exit_code is None:
            cell.problem = "ended at its time limit"
        if xml.is_file():
            cell.raw = xml.read_bytes()
            cell.records, records = read_records(cell.raw)
            cell.first = records[:3]
            for record in records:
                record_lines = student_lines(record, sample.path.name)
                cell.lines += [line for line in record_lines if line not in cell.lines]
        return cell

    def _libraries(self) -> list[str | Path]:
        libraries = self._options.libraries
        return ["--injection-path", libraries.resolve()] if libraries else []

    def cuda(self, sample: Sample, nvcc: str, architecture: str) -> tuple[Path | None, str]:
        """Compile one sample."""
        return build(sample, self._scratch / f"{sample.verdict}-{sample.name}", nvcc, architecture)


# ---- the table ----


def cell_words(cell: Cell | None) -> str:
    """Return a cell of the table: `3@12` is three records, the first at the sample's line 12."""
    if cell is None:
        return "-"
    if cell.problem:
        return "built?" if "compile" in cell.problem else "time"
    if cell.tool == "plain":
        counts = re.findall(r"wrong=(\d+)", cell.output)
        right = len(counts) == len(SIZES) and all(count == "0" for count in counts)
        return "ok" if right and cell.exit_code == 0 else f"bad {cell.exit_code}"
    if not cell.records:
        return "." if cell.exit_code == 0 else f"exit {cell.exit_code}"
    at = f"@{','.join(map(str, cell.lines[:3]))}" if cell.lines else "@?"
    code = "" if cell.exit_code == FOUND else f" exit {cell.exit_code}"
    return f"{cell.records}{at}{code}"


def agrees(expected: Expectation | None, cells: dict[str, Cell]) -> bool:
    """True if the device's findings agree with the sample's first line."""
    tools = [tool for tool in TOOLS if tool in cells and tool != "plain"]
    if not all(cells[tool].exit_code in (0, FOUND) for tool in tools):
        return False
    found = [tool for tool in tools if cells[tool].exit_code == FOUND]
    planted = expected.planted if expected else None
    if expected is None or planted is None or planted.gpu == "blind":
        return not [tool for tool in found if tool != "initcheck-all"]
    cell = cells.get(planted.gpu)
    return cell is not None and planted.gpu in found and any(map(expected.named_by, cell.lines))


def table(samples: Sequence[Sample], cells: dict[str, dict[str, Cell]], header: str) -> str:
    """Return the printed table; `no` at the end of a line differs from the sample's first line."""
    rows = [["sample", "promised", *TOOLS, ""]]
    differ = 0
    for sample in samples:
        expected = sample.expectation()
        row_cells = cells.get(sample.title, {})
        good = agrees(expected, row_cells)
        differ += not good
        promised = "."
        if expected and expected.planted:
            promised = f"{expected.planted.gpu}@{','.join(map(str, expected.lines))}"
        name = f"{'' if expected else sample.verdict + '/'}{sample.name}{sample.path.suffix}"
        words = [cell_words(row_cells.get(tool)) for tool in TOOLS]
        rows.append([name, promised, *words, "" if good else "no"])
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [
        "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([header, *lines, f"{len(samples)} samples, {differ} differ"]) + "\n"


def archive(cells: Iterable[Cell], extra: dict[str, str], path: Path) -> None:
    """Write all XML into one archive, within its size limit."""
    limit = LARGEST_XML
    while True:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
            files = {name: text.encode() for name, text in extra.items()}
            for cell in cells:
                if cell.raw:
                    files[f"{cell.sample}/{cell.tool}.xml"] = cell.raw[:limit]
                files[f"{cell.sample}/{cell.tool}.txt"] = cell.output.encode()[: limit // 8]
            for name, data in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        if buffer.tell() <= LARGEST_ARCHIVE or limit < 1024:
            path.write_bytes(buffer.getvalue())
            return
        limit //= 2


# The files in tests/checks/sanitizer_xml for each version.
KEPT = (
    "double-free/silu.cu memcheck", "leaked-scratch/silu.cu memcheck",
    "local-index-too-large/silu.cu memcheck", "misaligned-float4/silu.cu memcheck",
    "missing-barrier/silu.cu racecheck", "missing-guard/silu.cu initcheck",
    "missing-guard/silu.cu memcheck", "missing-syncwarp/silu.cu racecheck",
    "shared-index-too-large/silu.cu memcheck", "syncwarp-without-oneself/silu.cu synccheck",
    "write-one-past-the-end/silu.cu memcheck",
)  # fmt: skip
WHOLE = ("missing-guard.memcheck", "missing-barrier.racecheck")
REPEATED = ("leaked-scratch.memcheck",)  # a leak counts from its second record on


def keep(cells: Iterable[Cell], release: str, folder: Path) -> None:
    """Write the shortened XML of `KEPT` into the version's folder: 2025.2.1/NAME.TOOL.xml."""
    version = re.search(r"\d{4}\.\d+\.\d+", release)
    if version is None:
        sys.exit(f"--keep: `{release}` names no version")
    place = folder / version[0]
    place.mkdir(parents=True, exist_ok=True)
    for cell in cells:
        name, _, file = cell.sample.removeprefix("memory_error/").partition("/")
        if f"{name}/{file} {cell.tool}" in KEPT and cell.raw:
            stem = f"{name}.{cell.tool}"
            (place / f"{stem}.xml").write_bytes(cut(cell.raw, stem))


def cut(raw: bytes, stem: str) -> bytes:
    """Drop records that repeat a fault at the same line, unless tests count them."""
    most = 2 if stem in REPEATED else 1
    seen: Counter[tuple[str, ...]] = Counter()

    def shortened(match: re.Match[bytes]) -> bytes:
        record = ET.fromstring(match[0])
        fault = [record.findtext(path) or "" for path in ("kind", "what/text", "where/line")]
        fault[1] = re.sub(r"\d+", "N", fault[1])
        seen[tuple(fault)] += 1
        return match[0] if seen[tuple(fault)] <= most else b""

    if stem in WHOLE:
        return raw
    return re.sub(rb" *<record>.*?</record>\r?\n", shortened, raw, flags=re.DOTALL)


# ---- Triton, in a separate process ----


def run_triton_sample(path: Path) -> int:
    """Call a Triton sample as the worker does: exact sizes, inputs made on the host."""
    import importlib.util

    import torch

    spec = importlib.util.spec_from_file_location("silu", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for n in SIZES:
        x = torch.tensor([1.0 + 5.0 * math.sin(1.0 + 0.7 * i) for i in range(n)])
        source = x.cuda()
        output = torch.empty(n, device="cuda")
        module.silu(source, output, n)
        torch.cuda.synchronize()
        # Compare on the host: torch's kernels must not read uninitialized memory.
        expected = x.double() * torch.sigmoid(x.double())
        close = (output.cpu().double() - expected).abs() <= 1e-7 + 1e-5 * expected.abs()
        print(f"n={n} wrong={n - int(close.sum())}", flush=True)
        del source, output
    return 0


# ---- main ----


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, run, write and print; return 0 if every run completed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, help="the folder for the results")
    parser.add_argument("--only", default="", help="a regular expression for the samples' names")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 4)
    parser.add_argument("--timeout", type=float, default=60.0, help="of one run, in seconds")
    parser.add_argument("--padding", type=int, default=0, help="memcheck's, in bytes")
    parser.add_argument("--sanitizer", default=shutil.which("compute-sanitizer") or "")
    parser.add_argument("--libraries", type=Path, help="the sanitizer's, if not beside it")
    parser.add_argument("--keep", type=Path, help="write the XML that the tests read below here")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "nvcc")
    parser.add_argument("--arch", default="native")
    parser.add_argument("--triton-sample", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.triton_sample:
        return run_triton_sample(options.triton_sample)
    if not options.out:
        parser.error("--out is needed")
    options.out.mkdir(parents=True, exist_ok=True)
    for place in ("/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer"):
        options.sanitizer = options.sanitizer or shutil.which("compute-sanitizer", path=place) or ""
    here = Path.cwd()
    if options.sanitizer and not os.access(options.sanitizer, os.X_OK):
        parser.error(f"--sanitizer {options.sanitizer} is no program that can be run: chmod +x")
    if options.libraries and not any(options.libraries.glob("libsanitizer-collection.so")):
        parser.error(f"--libraries {options.libraries} has no libsanitizer-collection.so")
    _, version = ended([options.sanitizer, "--version"], timeout_s=30, cwd=here)
    _, usage = ended([options.sanitizer, "--help"], timeout_s=30, cwd=here)
    query = ["nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"]
    _, gpu = ended(query, timeout_s=30, cwd=here)
    if ADDRESS_SPACE in usage:
        TOOLS["initcheck-all"] = ("--tool", "initcheck", ADDRESS_SPACE, "all")
    samples = [
        sample
        for verdict in ("memory_error", "accepted")
        for sample in find_samples(REPOSITORY / "reference")
        if (sample.assignment, sample.verdict, sample.patch) == ("silu", verdict, None)
        and re.search(options.only, sample.title)
    ]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="samples-") as scratch:
        capture = Capture(options, Path(scratch), started + DEADLINE_S)
        cells = run_all(capture, samples, options)
    wall_s = time.monotonic() - started
    every = [cell for by_tool in cells.values() for cell in by_tool.values()]
    release = version.strip().splitlines()[-1:] or ["no compute-sanitizer"]
    header = f"{gpu.strip()} · {release[0]} · {wall_s:.0f} s"
    text = table(samples, cells, header)
    archive(every, {"help.txt": usage, "version.txt": version, "table.txt": text},
            options.out / "raw.tar.gz")  # fmt: skip
    summary = {
        "gpu": gpu.strip(),
        "version": version.strip(),
        "wall_s": round(wall_s, 1),
        "cells": [
            {k: v[:1500] if k == "output" else v for k, v in asdict(cell).items() if k != "raw"}
            for cell in every
        ],
    }
    if options.keep:
        keep(every, release[0], options.keep)
    (options.out / "summary.json").write_text(json.dumps(summary, indent=1))
    (options.out / "table.txt").write_text(text)
    print(text, end="")
    return int(any(cell.problem for cell in every))


def run_all(
    capture: Capture, samples: Sequence[Sample], options: argparse.Namespace
) -> dict[str, dict[str, Cell]]:
    """Return the cells by sample and tool. Triton runs first: torch takes the longest to start."""
    cells: dict[str, dict[str, Cell]] = {sample.title: {} for sample in samples}
    futures: list[Future[Cell]] = []
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        built = {
            sample.title: pool.submit(capture.cuda, sample, options.nvcc, options.arch)
            for sample in samples
            if sample.language == "cuda"
        }
        for sample in samples:
            if sample.language == "triton":
                program = (sys.executable, Path(__file__), "--triton-sample", sample.path)
                futures += [pool.submit(capture.run, sample, tool, program) for tool in TOOLS]
        for sample in samples:
            if sample.language != "cuda":
                continue
            executable, diagnostics = built[sample.title].result()
            if executable is None:
                cells[sample.title] = {
                    tool: Cell(
                        sample=sample.title,
                        tool=tool,
                        problem="did not compile",
                        output=diagnostics,
                    )
                    for tool in TOOLS
                }
            else:
                futures += [pool.submit(capture.run, sample, tool, [executable]) for tool in TOOLS]
        for future in futures:
            cell = future.result()
            cells[cell.sample][cell.tool] = cell
    return cells


if __name__ == "__main__":
    sys.exit(main())
