"""compute-sanitizer's XML, as captured on an H200, read into findings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.check.finding import folded
from grader.check.sanitizer import TOOLS, parse, read_findings, watcher
from grader.evidence import Finding
from grader.host.symbols import Place
from grader.toolchain import Tool
from grader.words import Language

CAPTURED = Path(__file__).parent / "sanitizer_xml" / "2025.3.1"


def nowhere(addresses: set[int]) -> Mapping[int, Place]:
    return {}


def read(name: str, copy: str = "silu.so", file: str = "silu.cu") -> tuple[Finding, ...]:
    path = CAPTURED / f"{name}.xml"
    return folded(parse(path.read_bytes(), name.rsplit(".", 1)[1], file, copy, nowhere))


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
        ("syncwarp-without-oneself.synccheck", "barrier", "error", 14, "barrier error"),
        ("write-one-past-the-end.memcheck", "out_of_bounds", "error", 12, "writes 4 bytes"),
        ("leaked-scratch.memcheck", "leak", "error", None, "never freed"),
        ("double-free.memcheck", "invalid_copy", "error", None, "cudaFree"),
    ],
)
def test_a_captured_fault_is_read(
    name: str, kind: str, severity: str, line: int | None, phrase: str
) -> None:
    (found,) = read(name)
    assert (found.kind, found.severity, found.line) == (kind, severity, line)
    assert phrase in found.message
    assert found.hint
    assert found.tool == f"compute-sanitizer {name.rsplit('.', 1)[1]}"


def test_a_race_names_both_lines_and_counts() -> None:
    (found,) = read("missing-barrier.racecheck")
    assert (found.line, found.other_line) == (13, 16)
    assert found.count > 1


def test_thread_and_block_are_read() -> None:
    (found,) = read("missing-guard.memcheck")
    assert found.block == (0, 0, 0)
    assert found.thread == (32, 0, 0)
    assert found.kernel == "silu_kernel"
    assert found.access == "read"


def test_what_follows_a_failed_kernel_is_no_finding_of_its_own() -> None:
    raw = (CAPTURED / "write-one-past-the-end.memcheck.xml").read_text()
    assert "cudaErrorLaunchFailure" in raw
    assert len(read("write-one-past-the-end.memcheck")) == 1


def test_memory_that_torch_keeps_is_not_the_students_leak() -> None:
    raw = (CAPTURED / "torch-keeps-memory.memcheck.xml").read_text()
    assert "Leaked" in raw
    assert read("torch-keeps-memory.memcheck", copy="silu.py", file="silu.py") == ()


def test_a_line_on_the_hosts_stack_is_found_by_its_address() -> None:
    path = CAPTURED / "leaked-scratch.memcheck.xml"

    def locate(addresses: set[int]) -> Mapping[int, Place]:
        assert 0x9257 in addresses  # one before where the call returns to
        return {0x9257: Place(function="silu", file="silu.cu", line=23)}

    (found,) = folded(parse(path.read_bytes(), "memcheck", "silu.cu", "silu.so", locate))
    assert found.line == 23


def test_uninitialised_memory_past_the_end_is_one_fault() -> None:
    both = (*read("missing-guard.initcheck"), *read("missing-guard.memcheck"))
    assert [found.kind for found in folded(both)] == ["out_of_bounds"]


@pytest.mark.parametrize("xml", [b"", b"no xml", b"<ComputeSanitizerOutput>", b"\0\xff"])
def test_a_forged_report_is_refused(xml: bytes) -> None:
    with pytest.raises(ValueError, match="not XML"):
        parse(xml, "memcheck", "silu.cu", "silu.so", nowhere)


def test_no_report_is_no_finding(tmp_path: Path) -> None:
    assert read_findings(tmp_path, "memcheck", "silu.cu", "silu.so", nowhere) == ()


def test_records_of_another_shape_are_passed_over() -> None:
    xml = b"<Output><record><what><text>x</text></what></record><record/></Output>"
    assert parse(xml, "memcheck", "silu.cu", "silu.so", nowhere) == ()


@pytest.mark.parametrize("tool", TOOLS)
def test_leaks_are_looked_for_in_cuda_only(tool: str) -> None:
    sanitizer = Tool(name="compute-sanitizer", path=Path("/bin/cs"), version="2025.3.1")
    cuda = watcher(sanitizer, tool, Language.CUDA)
    triton = watcher(sanitizer, tool, Language.TRITON)
    assert ("--leak-check" in cuda.command) == (tool == "memcheck")
    assert "--leak-check" not in triton.command
    assert triton.environment["PYTORCH_NO_CUDA_MEMORY_CACHING"] == "1"
