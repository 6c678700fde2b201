"""Text that tries to keep the judge busy: the judge's own process parses it."""

from __future__ import annotations

import time

import pytest
from paths import REPOSITORY

from grader.assignment.reader import read_assignment
from grader.build import diagnostics
from grader.build.artifact import Rejected
from grader.build.entry_mismatch import entry_problem, kernel_entry
from grader.build.host_compiler import prepare
from grader.emulation import cuda_cpp
from grader.emulation.cuda_cpp import tokens
from grader.emulation.cuda_cpp.symbols import parse_frames
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile

SIZE = 200_000
# CPU time of this thread: ten times the time of these texts, a tenth of that of a quadratic scan.
MOST_S = 8.0
HEAD = "__global__ void k(float* x) {}\nvoid silu(float* x) { "
UNITS = {
    "shared": "__shared__ ",
    "shared float": "__shared__ float ",
    "shared in brackets": "__shared__ (* ",
    "shared aligned": "__shared__ __align__( ",
    "shared variables": "__shared__ float a; ",
    "device": "__device__ ",
    "device int": "__device__ int ",
    "device initialised": "__device__ int a={",
    "device equals": "__device__ a = ",
    "device commas": "__device__ a , ",
    "device variables": "__device__ int a; ",
    "device names": "a, ",
    "allocations": "cudaMalloc(",
    "launches by call": "cudaLaunchKernel((",
    "launches": "k<<<1,1>>>(",
    "no launches": "> <<<",
    "comparisons": "k<<<a<",
    "assembly": "asm(",
    "assembly without any": "asm ",
    "templates": "template<",
    "round": "(",
    "curly": "{",
    "macros": "#define A \\\n",
    "includes": "#include <",
    "libraries": "thrust::",
    "quotes": '"',
    "quoted quotes": '\\"',
    "comments": "/*",
    "kernels": "__global__ ",
    "definitions": "silu(){}",
    "calls": "a(a()",
}
CLOSED = {
    "allocations": ("cudaMalloc(", ")"),
    "launches": ("k<<<1,1>>>(", ")"),
    "kernels of launches": ("f(", "<<<1,1>>>(x))"),
    "launches by call": ("cudaLaunchKernel((", "))"),
    "device in brackets": ("[ __device__ a : ", "]"),
    "shared in brackets": ("__shared__ (* ", ")"),
    "equals, then a long list": ("__device__ a = ", ", b : "),
}


def texts() -> dict[str, str]:
    found = {name: HEAD + unit * (SIZE // len(unit)) for name, unit in UNITS.items()}
    found["device names"] = "__device__ int " + UNITS["device names"] * (SIZE // 3) + "b;"
    for name, (opening, closing) in CLOSED.items():
        count = SIZE // len(opening + closing)
        found[f"{name}, closed"] = HEAD + opening * count + closing * count
    return found


TEXTS = texts()


@pytest.mark.slow
@pytest.mark.parametrize("name", TEXTS)
def test_no_text_keeps_the_judge_busy(name: str) -> None:
    text = TEXTS[name]
    signature = read_assignment(REPOSITORY / "assignments" / "silu").signature
    started_s = time.thread_time()
    try:
        written = len(cuda_cpp.rewrite(text, file="silu.cu").text)
    except cuda_cpp.TooComplicatedError:
        written = 0
    kernel_entry(signature, "silu.cu", text)
    entry_problem(signature, "silu.cu", text, "")
    assert time.thread_time() - started_s < MOST_S
    assert written < 50 * SIZE


@pytest.mark.slow
def test_too_many_tokens_are_a_compile_error() -> None:
    text = "()" * 250_000
    rejected = prepare(SourceFile(path="silu.cu", text=text))
    assert isinstance(rejected, Rejected)
    assert rejected.verdict is Verdict.COMPILE_ERROR
    assert rejected.message.startswith("silu.cu cannot be translated for a CPU")
    assert "400,000 words and symbols" in rejected.message


def test_the_cpu_budget_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_MOST_CPU_S", -1.0)
    with pytest.raises(cuda_cpp.TooComplicatedError, match="takes too long"):
        cuda_cpp.rewrite("int a;", file="silu.cu")


REFUSED = '__attribute__((no_sanitize("address"))) int a;'


def test_a_finding_at_every_word_is_reported_a_few_times() -> None:
    rejected = prepare(SourceFile(path="silu.cu", text=f"{REFUSED}\n" * 1000))
    assert isinstance(rejected, Rejected)
    assert len(rejected.evidence.diagnostics) == diagnostics.SHOWN
    assert rejected.evidence.diagnostics_total == 1000
    assert rejected.evidence.diagnostics[-1].line == diagnostics.SHOWN


@pytest.mark.parametrize("digits", ["9" * 10, "9" * 5000])
def test_lines_without_end_are_no_lines(digits: str) -> None:
    assert diagnostics.parse(f"silu.cu:{digits}: error: x", "silu.cu") == ()
    assert parse_frames(f"0x1\nf\nsilu.cu:{digits}\n0xno\n") == {1: ()}


def test_the_innermost_declaration_is_still_registered() -> None:
    text = "__device__ const __constant__ int a = 1, b[] = {1, 2};\n__device__ float c;\n"
    found = cuda_cpp.rewrite(text, file="silu.cu").text
    assert [found.count(f'({name}, "{name}"') for name in "abc"] == [1, 1, 1]
