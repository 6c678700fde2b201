"""compute-sanitizer's XML, as captured on an H200, is read into findings."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from builds import silu_build
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.checks.common.findings import merged_findings
from grader.checks.common.source_evidence import with_source
from grader.checks.memory.sanitizer import TOOLS, last_log_line, read_report, tool_command
from grader.checks.memory.sanitizer_xml import ReportError, ToolReport, parse
from grader.emulation.cuda_cpp.symbols import Place
from grader.report.evidence import Finding
from grader.system.toolchain import Tool
from grader.vocabulary import Device

# Records that repeat a fault are cut; `cut` in capture_sanitizer.py lists the files.
XML = Path(__file__).parent / "sanitizer_xml"
CAPTURED = XML / "2025.3.1"  # of the CUDA 13.0 toolkit, on workers
NEWER = XML / "2026.4.0"  # of PyPI's 13.5.25, on programs with a main
# Another version, without a driver, and the same message on an H200 whose driver (580, CUDA 13)
# is newer than it: no XML, exit code 255.
NO_DRIVER = Path(__file__).parent / "sanitizer_xml" / "2025.2.1" / "no-driver.memcheck.log"


def nowhere(addresses: set[int]) -> Mapping[int, Place]:
    return {}


def read(
    name: str, copy: str = "silu.so", file: str = "silu.cu", captured: Path = CAPTURED
) -> tuple[Finding, ...]:
    xml = (captured / f"{name}.xml").read_bytes()
    if name.startswith("leaked-scratch"):
        xml = called_twice(xml)
    return merged_findings(parse(xml, name.rsplit(".", 1)[1], file, copy, nowhere).findings)


def called_twice(xml: bytes) -> bytes:
    """Captured with one call per case: give every second record the frame of a repeated call."""
    records = xml.split(b"<record>")
    for number in range(2, len(records), 2):
        records[number] = records[number].replace(b">grader_call<", b">grader_call_again<")
    return b"<record>".join(records)


@pytest.mark.parametrize(
    ("name", "kind", "severity", "line", "phrase"),
    [
        ("missing-guard.memcheck", "out_of_bounds", "error", 10, "reads 4 bytes of global memory"),
        ("missing-guard.initcheck", "uninitialized", "error", 10, "nobody has written"),
        ("missing-barrier.racecheck", "race", "error", 13, "a write here, a read in line 16"),
        ("missing-syncwarp.racecheck", "race", "warning", 13, "race in shared memory"),
        ("misaligned-float4.memcheck", "misaligned", "error", 16, "not a multiple of 16"),
        ("shared-index-too-large.memcheck", "out_of_bounds", "error", 12, "shared memory outside"),
        ("local-index-too-large.memcheck", "out_of_bounds", "error", 14, "local memory outside"),
        ("syncwarp-without-oneself.synccheck", "barrier", "error", 14, "the mask of a warp"),
        ("write-one-past-the-end.memcheck", "out_of_bounds", "error", 12, "writes 4 bytes"),
        ("leaked-scratch.memcheck", "leak", "error", None, "never freed"),
        ("double-free.memcheck", "invalid_copy", "error", None, "cudaFree"),
    ],
)
@pytest.mark.parametrize("captured", [CAPTURED, NEWER], ids=["2025.3.1", "2026.4.0"])
def test_a_captured_fault_is_read(
    captured: Path, name: str, kind: str, severity: str, line: int | None, phrase: str
) -> None:
    if captured == CAPTURED:
        (found,) = read(name)
    else:
        # The lines of a program's own main count as the submission's.
        (found,) = read(name, "program", captured=captured)
        line = {"leaked-scratch.memcheck": 23, "double-free.memcheck": 27}.get(name, line)
    assert (found.kind, found.severity, found.line) == (kind, severity, line)
    assert phrase in found.message
    assert found.hint
    # This warp error does not miss a `__syncthreads()`.
    assert ("`__syncwarp`" in found.hint) == (kind == "barrier")
    assert found.tool == f"compute-sanitizer {name.rsplit('.', 1)[1]}"


def test_a_refused_launch_is_no_memory_error() -> None:
    raw = (NEWER / "double-free.memcheck.xml").read_bytes()
    raw = raw.replace(b"API call to cudaFree", b"API call to cudaLaunchKernel")
    report = parse(raw, "memcheck", "silu.cu", "program", lambda _: {})
    assert (report.findings, report.foreign) == ((), 0)
    assert report.kept == 1


def test_a_race_names_both_lines_and_counts() -> None:
    (found,) = read("missing-barrier.racecheck")
    assert (found.line, found.other_line) == (13, 16)
    assert found.count > 1


def race_of(*places: tuple[str, str, int]) -> ToolReport:
    sides = [
        f"<{side}><direction>{'Write' if side == 'source' else 'Read'}</direction><where>"
        f"<func>{function}</func><path>/include/{file}</path><line>{line}</line></where></{side}>"
        for side, (function, file, line) in zip(
            ("source", "destination", "destination"), places, strict=True
        )
    ]
    what = f"<what><text>Race condition</text>{''.join(sides)}</what>"
    record = f"<x><record><level>Error</level>{what}</record></x>"
    return parse(record.encode(), "racecheck", "silu.cu", "silu.so", nowhere, ["tiles.h"])


COPY = ("cp_async", "cuda_pipeline_helpers.h", 203)
LOAD, LATER = ("load", "tiles.h", 19), ("load", "tiles.h", 28)


@pytest.mark.parametrize(
    ("places", "file", "line", "message"),
    [
        ((COPY, LOAD, LATER), "tiles.h", 19, "a read here, a write in `cp_async` of cuda_pipeline"),
        ((("f", "silu.cu", 7), LOAD, LATER), "silu.cu", 7, "a write here, a read in tiles.h:19"),
        ((LOAD, ("f", "silu.cu", 7), LATER), "silu.cu", 7, "a read here, a write in tiles.h:19"),
        ((LOAD, LATER, LATER), "tiles.h", 19, "a write here, a read in line 28"),
        ((LOAD, LOAD, LATER), "tiles.h", 19, "a write here, a read in the same line"),
    ],
)
def test_a_race_with_a_header_names_the_access_that_is_there(
    places: tuple[tuple[str, str, int], ...], file: str, line: int, message: str
) -> None:
    (found,) = race_of(*places).findings
    assert (found.file, found.line) == (file, line)
    assert message in found.message


def test_of_equal_findings_the_one_in_the_students_file_is_first() -> None:
    in_header = race_of(COPY, LOAD, LATER).findings
    own = race_of(("f", "silu.cu", 70), LOAD, LATER).findings
    assert [f.file for f in merged_findings([*in_header, *own])] == ["tiles.h", "silu.cu"]
    first, _ = merged_findings([*in_header, *own], {"tiles.h"})
    assert first.file == "silu.cu"


def test_thread_and_block_are_read() -> None:
    (found,) = read("missing-guard.memcheck")
    assert found.block == (0, 0, 0)
    assert found.thread == (32, 0, 0)
    assert found.kernel == "silu_kernel"
    assert found.access == "read"


GUARD_FORGOTTEN = """\
#include "silu.h"



__global__ void silu_kernel(const float* in, float* out, int rows, int cols)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows)
        out[row] = in[row * cols + col];

    LINE
}
extern "C" void silu(const float* input, float* output, int n)
{
    float* scratch;
    cudaMalloc(&scratch, n * sizeof(float));
    LAUNCH
}
"""


@pytest.mark.parametrize(
    ("name", "line", "launch", "said"),
    [
        ("missing-guard.memcheck", "", "(input, output, n, n);", "no condition tests `col`, which"),
        ("missing-guard.memcheck", "", "(scratch, output, n, n);", "was given `n * sizeof(float)`"),
        (
            "missing-guard.initcheck",
            "",
            "(scratch, output, n, n);",
            "is a cudaMemcpy into `scratch`",
        ),
        (
            "missing-guard.memcheck",
            "",
            "(output, input, n, n);",
            "passes the input `input` for `out`",
        ),
        (
            "missing-guard.memcheck",
            "",
            "(scratch, output, n, n); cudaFree(scratch);"
            " silu_kernel<<<dim3(n, n), dim3(16, 16)>>>(scratch, output, n, n);",
            "frees `scratch`, and line 18 still uses it: free it at the end",
        ),
        (
            "missing-barrier.racecheck",
            "tile[0] = 1;",
            "(input, output, n, n);",
            "put `__syncthreads()` between the write in line 13 and the read in line 16",
        ),
    ],
)
def test_what_the_source_shows_is_the_hint(name: str, line: str, launch: str, said: str) -> None:
    text = GUARD_FORGOTTEN.replace("LAUNCH", f"silu_kernel<<<dim3(n, n), dim3(16, 16)>>>{launch}")
    built = silu_build(device=Device.CUDA, text=text.replace("LINE", line))
    signature = read_assignment(REPOSITORY / "assignments" / "silu").signature
    (found,) = read(name)
    assert said in with_source(found, built, signature).hint
    elsewhere = dataclasses.replace(built, file="other.cu")
    assert with_source(found, elsewhere, signature) == found


def test_the_hint_of_a_tool_that_knows_more_is_kept() -> None:
    (found,) = read("missing-guard.memcheck")
    other = dataclasses.replace(found, hint="the index is negative", tool="host device")
    for both in ((found, other), (other, found)):
        (merged,) = merged_findings(both)
        assert merged.hint == "the index is negative"


def test_what_follows_a_failed_kernel_is_no_finding_of_its_own() -> None:
    raw = (CAPTURED / "write-one-past-the-end.memcheck.xml").read_text()
    assert "cudaErrorLaunchFailure" in raw
    assert len(read("write-one-past-the-end.memcheck")) == 1


def test_memory_that_torch_keeps_is_not_the_students_leak() -> None:
    raw = (CAPTURED / "torch-keeps-memory.memcheck.xml").read_text()
    assert "Leaked" in raw
    report = parse(raw.encode(), "memcheck", "silu.py", "silu.py", nowhere)
    assert report == ToolReport(foreign=1)
    assert not report.blames_submission


def test_a_line_on_the_hosts_stack_is_found_by_its_address() -> None:
    path = CAPTURED / "leaked-scratch.memcheck.xml"

    def locate(addresses: set[int]) -> Mapping[int, Place]:
        assert 0x9257 in addresses  # one byte before the return address
        return {0x9257: Place(function="silu", file="silu.cu", line=23)}

    xml = called_twice(path.read_bytes())
    (found,) = merged_findings(parse(xml, "memcheck", "silu.cu", "silu.so", locate).findings)
    assert (found.line, found.count) == (23, 2)


@pytest.mark.parametrize(
    ("frames", "leaks"),
    [
        (("grader_call",), 0),  # allocated once and kept
        (("grader_call",) * 4, 0),  # an array of them, or one for each size
        (("grader_call_again",), 0),  # replaced by each call; the last one is still allocated
        (("grader_call", "grader_call_again"), 2),
        (("grader_call", "grader_call_again") * 3, 6),
        (("_init",), 1),  # from neither call
    ],
)
def test_memory_that_is_kept_is_no_leak(frames: tuple[str, ...], leaks: int) -> None:
    (before, record), after = LEAK.split("@"), "</ComputeSanitizerOutput>"
    xml = before + "".join(record.replace("FRAME", frame) for frame in frames) + after
    report = parse(xml.encode(), "memcheck", "silu.cu", "silu.so", nowhere)
    assert [found.kind for found in report.findings] == ["leak"] * leaks
    assert (report.kept, report.foreign) == (len(frames) - leaks, 0)
    assert report.blames_submission


def test_what_follows_an_error_is_not_a_record() -> None:
    xml = (NEWER / "write-one-past-the-end.memcheck.xml").read_text()
    report = parse(xml.encode(), "memcheck", "silu.cu", "silu.so", nowhere)
    assert (len(report.findings), report.foreign) == (1, 0)


LEAK = """<ComputeSanitizerOutput>@<record><kind>Leak</kind><what><text>Leaked 4 bytes</text>
<size>4</size></what><hostStack>
<frame><func>cudaMalloc</func><pc>0x4c</pc><module>silu.so</module></frame>
<frame><func>silu</func><pc>0x92</pc><module>silu.so</module></frame>
<frame><func>FRAME</func><pc>0x93</pc><module>silu.so</module></frame>
</hostStack></record>"""


@pytest.mark.parametrize("name", ["missing-guard.memcheck", "missing-barrier.racecheck"])
def test_a_report_that_ends_early_is_refused_and_its_whole_records_are_kept(name: str) -> None:
    xml = (CAPTURED / f"{name}.xml").read_bytes()
    cut = xml[: xml.index(b"</record>") + 30]
    with pytest.raises(ReportError, match="ends early") as caught:
        parse(cut, name.rsplit(".", 1)[1], "silu.cu", "silu.so", nowhere)
    (found,) = merged_findings(caught.value.report.findings)
    whole = read(name)[0]
    assert (found.kind, found.line) == (whole.kind, whole.line)
    assert 0 < found.count < whole.count


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_only_a_file_of_its_own_is_a_report(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "findings.xml"
    if kind == "link":
        place.symlink_to(CAPTURED / "missing-guard.memcheck.xml")
    elif kind == "pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    assert read_report(tmp_path, "memcheck", "silu.cu", "silu.so", nowhere) == ToolReport()


def test_the_first_error_in_the_log_is_the_reason(tmp_path: Path) -> None:
    assert last_log_line(tmp_path) == ""
    log = NO_DRIVER.read_text()
    (tmp_path / "sanitizer.log").write_text(log)
    assert last_log_line(tmp_path) == (
        "Error: Target application terminated before first instrumented API call"
    )
    (tmp_path / "sanitizer.log").write_text("========= COMPUTE-SANITIZER\n========= killed\n")
    assert last_log_line(tmp_path) == "killed"


def test_uninitialised_memory_past_the_end_is_one_fault() -> None:
    both = (*read("missing-guard.initcheck"), *read("missing-guard.memcheck"))
    assert [found.kind for found in merged_findings(both)] == ["out_of_bounds"]


@pytest.mark.parametrize("xml", [b"", b"no xml", b"<ComputeSanitizerOutput>", b"\0\xff"])
def test_a_report_without_a_record_that_is_not_xml_is_refused(xml: bytes) -> None:
    with pytest.raises(ReportError, match="not XML"):
        parse(xml, "memcheck", "silu.cu", "silu.so", nowhere)


def test_no_report_is_no_finding(tmp_path: Path) -> None:
    assert read_report(tmp_path, "memcheck", "silu.cu", "silu.so", nowhere) == ToolReport()


def test_records_of_another_shape_are_passed_over() -> None:
    xml = b"<Output><record><what><text>x</text></what></record><record/></Output>"
    assert parse(xml, "memcheck", "silu.cu", "silu.so", nowhere) == ToolReport(foreign=1)


@pytest.mark.parametrize("tool", TOOLS)
def test_only_memcheck_looks_for_leaks(tool: str) -> None:
    sanitizer = Tool(name="compute-sanitizer", path=Path("/bin/cs"), version="2025.3.1")
    cuda = tool_command(sanitizer, tool, leaks=True)
    triton = tool_command(sanitizer, tool, leaks=False)
    assert ("--leak-check" in cuda) == (tool == "memcheck")
    assert "--leak-check" not in triton
