"""Findings of every tool: merged, sorted, each with a hint."""

from __future__ import annotations

import typing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.build.artifact import Built
from grader.checks.common import emulation_findings
from grader.checks.common.findings import SHOWN, describe, hint, merged_findings
from grader.emulation.cuda_cpp.compile_commands import RUNTIME_DIR
from grader.emulation.cuda_cpp.findings import Finding as HostFinding
from grader.report.evidence import BuildEvidence, Finding, FindingKind, Severity
from grader.vocabulary import Device, Language

KINDS: tuple[FindingKind, ...] = typing.get_args(FindingKind)
SEVERITIES: tuple[Severity, ...] = typing.get_args(Severity)


def finding(line: int | None = 3, **changes: object) -> Finding:
    found = Finding(
        kind="out_of_bounds",
        severity="error",
        message="the access is past the end of its buffer",
        file="silu.cu",
        line=line,
        block=(0, 0, 0),
        buffer="output",
        tool="memcheck",
    )
    return replace(found, **changes)  # type: ignore[arg-type]


LINES = st.none() | st.integers(1, 4)


@st.composite
def drawn_findings(draw: st.DrawFn) -> list[Finding]:
    """Draw findings as tools report them: only a race has another line."""
    findings = []
    for kind in draw(st.lists(st.sampled_from(KINDS), max_size=12)):
        line = draw(LINES)
        findings.append(
            finding(
                line,
                kind=kind,
                severity=draw(st.sampled_from(SEVERITIES)),
                file=draw(st.sampled_from(["silu.cu", "silu.cuh"])),
                other_line=draw(LINES) if kind == "race" and line is not None else None,
                buffer=draw(st.sampled_from([None, "input", "output"])),
                count=draw(st.integers(1, 5)),
            )
        )
    return findings


FINDINGS = drawn_findings()


# --- merged ----------------------------------------------------------------------------------


def test_nothing_is_found_in_nothing() -> None:
    assert merged_findings([]) == ()


def test_repeats_at_one_line_are_one_with_their_count() -> None:
    assert merged_findings([finding(count=2), finding(), finding(count=4)]) == (finding(count=7),)


def test_what_several_tools_find_is_one_that_names_them() -> None:
    """Each tool has a run of its own: their counts are of the same accesses."""
    found = [finding(count=2), finding(tool="initcheck", count=5), finding(count=2)]
    assert merged_findings(found) == (finding(tool="memcheck, initcheck", count=5),)


@pytest.mark.parametrize("severity", SEVERITIES)
def test_first_occurrence_is_the_one_shown(severity: Severity) -> None:
    first = finding(severity=severity, block=(1, 0, 0), thread=(2, 0, 0))
    later = replace(first, block=(7, 0, 0), thread=(8, 0, 0), message="the same again")
    assert merged_findings([first, later]) == (replace(first, count=2),)


@pytest.mark.parametrize("error_first", [True, False])
def test_error_is_shown_for_a_warning_of_the_same_line(error_first: bool) -> None:
    error = finding(message="an error", count=2)
    warning = finding(severity="warning", message="a warning", count=3)
    both = (error, warning) if error_first else (warning, error)
    assert merged_findings(both) == (replace(error, count=5),)


@pytest.mark.parametrize(
    "other",
    [
        finding(kind="misaligned"),
        finding(4),
        finding(None),
        finding(file="other.cu"),
        finding(other_line=4),
    ],
)
def test_other_kinds_lines_and_files_are_distinguished(other: Finding) -> None:
    assert len(merged_findings([finding(), other])) == 2


def test_several_buffers_at_one_line_are_one() -> None:
    assert merged_findings([finding(), finding(buffer="input")]) == (finding(count=2),)


def test_without_a_line_buffers_are_distinguished() -> None:
    leaks = [finding(None, kind="leak", buffer=name) for name in ("a", "b", "a")]
    assert [(f.buffer, f.count) for f in merged_findings(leaks)] == [("a", 2), ("b", 1)]


def test_race_seen_from_either_side_is_one() -> None:
    here = finding(3, kind="race", other_line=8)
    there = finding(8, kind="race", other_line=3)
    assert merged_findings([here, there]) == (replace(here, count=2),)


def test_race_of_a_line_with_itself_is_one_however_the_tool_says_so() -> None:
    bare = finding(3, kind="race")
    assert merged_findings([bare, replace(bare, other_line=3)]) == (replace(bare, count=2),)


def test_errors_come_first_then_lines_in_order_and_unknown_lines_last() -> None:
    mixed = [
        finding(1, severity="warning"),
        finding(None, buffer="input"),
        finding(30),
        finding(None, severity="warning"),
        finding(4),
    ]
    assert [(f.severity, f.line) for f in merged_findings(mixed)] == [
        ("error", 4),
        ("error", 30),
        ("error", None),
        ("warning", 1),
        ("warning", None),
    ]


def test_read_beyond_an_array_is_no_uninitialized_read_as_well() -> None:
    outside, unwritten = finding(), finding(kind="uninitialized")
    elsewhere = finding(9, kind="uninitialized")
    assert merged_findings([unwritten, outside, elsewhere]) == (outside, elsewhere)


def test_faults_whose_lines_are_unknown_do_not_explain_each_other() -> None:
    outside, unwritten = finding(None), finding(None, kind="uninitialized")
    assert merged_findings([outside, unwritten]) == (outside, unwritten)


def test_warning_of_a_row_does_not_hide_an_uninitialized_read() -> None:
    """The end of the row is inside the array, so memory there may be uninitialized."""
    row, unwritten = finding(severity="warning"), finding(kind="uninitialized")
    assert merged_findings([row, unwritten]) == (unwritten, row)


@given(FINDINGS)
def test_no_occurrence_is_lost(findings: list[Finding]) -> None:
    reported = merged_findings(findings)
    outside = {f.line for f in reported if f.kind == "out_of_bounds" and f.severity == "error"}
    for kind in KINDS:
        found, kept = (
            sum(f.count for f in some if f.kind == kind) for some in (findings, reported)
        )
        assert found == kept or (kind == "uninitialized" and found > kept and outside)


@given(FINDINGS)
def test_folding_twice_changes_nothing(findings: list[Finding]) -> None:
    assert merged_findings(merged_findings(findings)) == merged_findings(findings)


@given(FINDINGS)
def test_no_error_is_hidden_by_a_warning(findings: list[Finding]) -> None:
    error = any(f.severity == "error" for f in findings)
    assert error == any(f.severity == "error" for f in merged_findings(findings))


@given(FINDINGS, st.randoms())
def test_order_of_the_tool_does_not_change_what_is_distinguished(
    findings: list[Finding], random: typing.Any
) -> None:
    shuffled = findings.copy()
    random.shuffle(shuffled)
    counts = [sorted(f.count for f in merged_findings(some)) for some in (findings, shuffled)]
    assert counts[0] == counts[1]


def test_ten_thousand_findings_fold_at_once() -> None:
    many = [finding(1 + n % 20, block=(n, 0, 0)) for n in range(10_000)]
    few = merged_findings(many)
    assert [(f.line, f.count, f.block) for f in few] == [(n + 1, 500, (n, 0, 0)) for n in range(20)]
    assert SHOWN == 10


# --- description -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "reported"),
    [
        (finding(message="it leaks"), "silu.cu:3: it leaks"),
        (finding(None, message="it leaks"), "silu.cu: it leaks"),
        (finding(message="it leaks", count=2), "silu.cu:3: it leaks (2 times)"),
        (finding(None, message="it leaks", count=40), "silu.cu: it leaks (40 times)"),
    ],
)
def test_sentence_is_place_message_and_count(found: Finding, reported: str) -> None:
    assert describe(found) == reported


# --- hints -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_hint(kind: FindingKind) -> None:
    text = hint(kind)
    assert 20 < len(text) < 160
    assert text == " ".join(text.split())
    assert not text.endswith(".")
    assert text.count("`") % 2 == 0


def test_hints_differ() -> None:
    assert len({hint(kind) for kind in KINDS}) == len(KINDS)


@pytest.mark.parametrize(
    ("kind", "phrase"),
    [
        ("out_of_bounds", "`if (i < n)`"),
        ("misaligned", "float4"),
        ("race", "`__syncthreads()`"),
        ("uninitialized", "cudaMemset"),
        ("barrier", "all threads of a block"),
        ("leak", "`cudaFree`"),
        ("invalid_copy", "size in bytes"),
    ],
)
def test_hint_names_what_to_look_for(kind: FindingKind, phrase: str) -> None:
    assert phrase in hint(kind)


@pytest.mark.parametrize("message", emulation_findings._HINTS)
def test_hint_of_a_message_belongs_to_one_of_the_runtime(message: str) -> None:
    """A message that changes its wording would silently lose its hint."""
    text = emulation_findings._HINTS[message]
    assert any(f'"{message}"' in source.read_text() for source in RUNTIME_DIR.glob("*.cpp"))
    assert 20 < len(text) < 160
    assert text.count("`") % 2 == 0


@pytest.mark.parametrize(
    ("message", "phrase"),
    [
        ("a shuffle reads a lane that does not take part", "exactly the lanes"),
        ("lanes named by the mask of a warp function wait elsewhere", "exactly the lanes"),
        ("the calling lane is not in the mask of a warp function", "exactly the lanes"),
        ("threads of one block wait at different barriers", "`__syncthreads()`"),
    ],
)
def test_only_a_blocks_barrier_is_about_syncthreads(message: str, phrase: str) -> None:
    found = HostFinding(kind="barrier", severity="error", message=message)
    assert phrase in emulation_findings._hint(found, "")
    assert ("__syncthreads" in emulation_findings._hint(found, "")) == ("__syncthreads" in phrase)


def test_the_finding_of_a_missing_syncwarp_names_it() -> None:
    message = "threads of one warp access one location without __syncwarp between"
    found = HostFinding(kind="race", severity="error", message=message)
    assert "`__syncwarp()`" in emulation_findings._hint(found, "")


@pytest.mark.parametrize(
    ("line", "phrase"),
    [
        ("if (row >= rows && col >= cols) return;", "only a thread past both edges returns"),
        ("if (row < rows || col < cols) {", "line 3 lets a thread through"),
        ("if (row >= rows || col >= cols) return;", ""),
        ("if (row < rows && col < cols) {", ""),
        ("if (row < 0 || col < 0) {", ""),
    ],
)
def test_tests_that_are_joined_with_the_wrong_operator(line: str, phrase: str) -> None:
    text = f"__global__ void k()\n{{\n{line}\nx[row * cols + col] = 1;"
    message = "the access is past the end of its buffer"
    found = HostFinding(
        kind="out_of_bounds", severity="error", message=message,
        line=4, buffer="x", element_bytes=4, offset=36, buffer_bytes=16, access_bytes=4,
    )  # fmt: skip
    said = emulation_findings._hint(found, text)
    assert phrase in said
    assert phrase or "join" not in said


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("float2 x = a[i];", "`a` ends within the 8 bytes of this access"),
        ("cudaMalloc(&a, n);\ndouble x = a[i];", "cudaMalloc counts bytes"),
    ],
)
def test_an_access_that_is_wider_than_the_rest_of_the_array(text: str, phrase: str) -> None:
    message = "the access is past the end of its buffer"
    found = HostFinding(
        kind="out_of_bounds", severity="error", message=message,
        line=1, buffer="a", element_bytes=8, offset=24, buffer_bytes=28, access_bytes=8,
    )  # fmt: skip
    assert phrase in emulation_findings._hint(found, text)


def test_a_barrier_that_is_used_before_it_is_initialised() -> None:
    found = HostFinding(
        kind="race", severity="error", message="threads of one block access one location",
        line=3, other_line=2, buffer="bar", space="shared", write=True, other_write=True,
    )  # fmt: skip
    text = "__shared__ barrier bar;\nif (rank == 0) init(&bar, 128);\nbar.arrive_and_wait();\n"
    said = emulation_findings._hint(found, text)
    assert said.startswith("one thread initialises `bar` in line 2 while others are in line 3")


def test_a_read_in_front_of_a_loop_of_atomic_cas() -> None:
    found = HostFinding(
        kind="race", severity="warning", line=1, other_line=2, write=False, other_write=True,
        message="threads of one block access one location without a barrier between",
    )  # fmt: skip
    text = "int old = *sum;\ndo old = atomicCAS(sum, seen = old, seen + 1); while (old != seen);"
    said = emulation_findings._hint(found, text)
    assert said.startswith("no harm if atomicCAS in line 2 compares with the value read in line 1")
    assert "__syncthreads" in emulation_findings._hint(found, text.replace("CAS", "Exch"))


COPY = "__pipeline_memcpy_async(&tile[i], x + i, 4);"


@pytest.mark.parametrize(
    ("lines", "phrase"),
    [
        ((COPY, "__syncthreads();", "__pipeline_wait_prior(0);"), "line 3 is asynchronous"),
        ((COPY, "__pipeline_commit();", "__syncthreads();"), "first (`__pipeline_wait_prior(0)`)"),
        ((COPY, "__pipeline_wait_prior(0);", "__syncthreads();"), "the other side is missing"),
        (("grader_copy_async(tile, x);", "", "__syncthreads();"), "first (cp.async.wait_all)"),
        (("tile[i] = x[i];", "", "__syncthreads();"), "the other side is missing"),
        (("if (i == 0) tile[0] = next();", "", "__syncthreads();"), "threads leave the loop"),
    ],
)
def test_a_race_across_a_barrier(lines: tuple[str, ...], phrase: str) -> None:
    read = "if (tile[0] > 9) return;" if "next" in lines[0] else "y[i] = tile[i];"
    text = "\n".join(("__global__ void k()", "{", *lines, read, "}"))
    said = emulation_findings.two_lines_hint(text, (6, 3), ("read", "write"))
    assert phrase in said


@pytest.mark.parametrize(
    ("begin", "line", "phrase"),
    [
        ("mem + n", "scale[0] = 1.0f;", "`sums` in line 5 and `scale` in line 6 meet in `mem`"),
        ("&sums[n]", "if (i == 0) scale[0] = sums[0];", "`sums` in line 5 and `scale` in line 6"),
        ("mem", "scale[0] = 1.0f;", "put `__syncthreads()` between"),
        ("mem + n", "sums[0] = scale[0];", "put `__syncthreads()` between"),
    ],
)
def test_parts_of_dynamic_shared_memory_that_overlap(begin: str, line: str, phrase: str) -> None:
    text = (
        "__global__ void k()\n{ extern __shared__ float mem[];\n"
        f"float* sums = mem;\nfloat* scale = {begin};\n"
        f"if (i < h) sums[i] += sums[i + h];\n{line}\n}}"
    )
    found = HostFinding(
        kind="race", severity="error", message="threads of one block access one location",
        line=5, other_line=6, buffer="mem", space="shared", write=False, other_write=True,
    )  # fmt: skip
    assert phrase in emulation_findings._hint(found, text)


def test_elements_that_several_threads_change() -> None:
    found = HostFinding(
        kind="race", severity="error", message="threads of one block access one location",
        line=1, other_line=1, buffer="count", space="global", write=True,
    )  # fmt: skip
    for line in ("count[x[i]]++;", "count[x[i]] += 1;", "++count[x[i]];"):
        assert "change the same element of `count`" in emulation_findings._hint(found, line)
    assert "change the same" not in emulation_findings._hint(found, "y[i]++; z = count[i];")


def test_a_sum_that_is_read_while_other_blocks_add_to_it() -> None:
    message = "different blocks access one location, and nothing orders blocks"
    found = HostFinding(
        kind="race", severity="warning", message=message,
        line=1, other_line=2, buffer="total", write=True, other_write=False,
    )  # fmt: skip
    text = "atomicAdd(total, sum);\ny[i] = x[i] / *total;"
    said = emulation_findings._hint(found, text)
    assert said.startswith("line 2 reads `total` while other blocks still add to it in line 1")
    assert "still add" not in emulation_findings._hint(found, "*total = 1;\ny = *total;")


# ---- a flood of forged findings ----


def forged(lines: int) -> list[dict[str, object]]:
    words = {"record": "finding", "kind": "race", "severity": "warning", "message": "m", "count": 1}
    return [{**words, "file": "silu.cu", "line": line} for line in range(1, lines + 1)]


def test_only_findings_that_are_shown_get_a_look_at_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[object] = []

    def look(found: object, _: str) -> str:
        looks.append(found)
        return ""

    monkeypatch.setattr(emulation_findings, "_hint", look)
    found, _ = emulation_findings.read_run(forged(1000), library(tmp_path), "")
    assert len(found) == 1000
    assert len(looks) <= 2 * SHOWN


def test_more_findings_than_the_runtime_keeps_are_forged(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="more findings than the runtime keeps"):
        emulation_findings.read_run(forged(1500), library(tmp_path), "")


def library(folder: Path) -> Built:
    evidence = BuildEvidence(tool="g++", cached=False)
    path = folder / "kernel.so"
    return Built(
        language=Language.CUDA, device=Device.CPU, path=path, file="silu.cu", entry="silu",
        evidence=evidence,
    )  # fmt: skip
