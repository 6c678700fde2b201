"""The memory check on the CPU: the messages that a student reads."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from paths import REPOSITORY
from slow import slow_unless

from grader.assignment.cases import CaseTemplate, Range
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.checks.memory import on_cpu
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.judge.outcome import Outcome
from grader.judge.session import Session
from grader.report.evidence import MemoryEvidence
from grader.report.model import CheckResult
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.system import toolchain
from grader.vocabulary import CheckName, Language, Visibility

SAMPLES = REPOSITORY / "reference" / "silu" / "samples"


@pytest.fixture(scope="module")
def silu() -> Assignment:
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    cases = tuple(CaseTemplate(sizes={"n": n}, memory=True) for n in (1, 33, 1025))
    return dataclasses.replace(assignment, cases=cases)


@pytest.fixture(autouse=True)
def no_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide nvcc, which does not matter here and takes a second for each submission."""
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: None)


def memory_check(assignment: Assignment, folder: Path, language: Language) -> CheckResult:
    options = Options(languages=frozenset({language}), checks=frozenset({CheckName.MEMORY}))
    report = grade(assignment, read_submission(folder, assignment), options, Progress())
    (check,) = (c for k in report.kernels for c in k.checks if c.check is CheckName.MEMORY)
    return check


@pytest.mark.parametrize(("language", "line"), [(Language.CUDA, 11), (Language.TRITON, 17)])
def test_a_write_to_an_input_is_a_wrong_answer_at_its_line(
    silu: Assignment, language: Language, line: int
) -> None:
    check = memory_check(silu, SAMPLES / "wrong_answer" / "in-place-on-the-input", language)
    assert check.verdict is Verdict.WRONG_ANSWER
    assert check.message.startswith(f"silu.{'cu' if line == 11 else 'py'}:{line}: ")
    assert check.hint == "inputs are read-only: write to the output"
    assert isinstance(check.evidence, MemoryEvidence)
    (finding,) = check.evidence.findings
    assert (finding.line, finding.buffer, finding.severity) == (line, "input", "warning")
    assert finding.hint == check.hint


# ---- one kernel for the check, another one for the points ----

OTHERWISE = """#include "silu.h"
__global__ void k(const float* input, float* output, int n)
{{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    {access}
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}}
extern "C" void silu(const float* input, float* output, int n)
{{
    k<<<(n + 255) / 256, 256>>>(input, output, n);
}}
"""


def test_no_macro_of_the_compiler_tells_that_accesses_are_checked(
    silu: Assignment, tmp_path: Path
) -> None:
    access = "\n#ifndef __SANITIZE_THREAD__\nif (input[i] > 1e38f) return;\n#endif\n"
    (tmp_path / "silu.cu").write_text(OTHERWISE.format(access=access))
    check = memory_check(silu, tmp_path, Language.CUDA)
    assert check.verdict is Verdict.MEMORY_ERROR, check.message


def test_an_instruction_of_the_cpu_is_an_access_that_is_not_checked(
    silu: Assignment, tmp_path: Path
) -> None:
    access = "if (i == 0) __builtin_ia32_movnti((int*)&output[n], 7);"
    (tmp_path / "silu.cu").write_text(OTHERWISE.format(access=access))
    check = memory_check(silu, tmp_path, Language.CUDA)
    assert check.verdict is not Verdict.ACCEPTED
    assert check.score == 0


# ---- hidden cases ----

BEYOND_THE_VISIBLE = """#include <cstdio>
#include "silu.h"
__global__ void k(const float* input, float* output, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[n > 1025 && i == 0 ? n : i]));
}
extern "C" void silu(const float* input, float* output, int n)
{
    printf("n is %d\\n", n);
    k<<<(n + 255) / 256, 256>>>(input, output, n);
}
"""


def test_a_hidden_size_finds_what_no_visible_one_reaches(silu: Assignment, tmp_path: Path) -> None:
    (tmp_path / "silu.cu").write_text(BEYOND_THE_VISIBLE)
    visible = memory_check(silu, tmp_path, Language.CUDA)
    assert visible.verdict is Verdict.ACCEPTED
    size = Range(1500, 1501)
    drawn = CaseTemplate(sizes={"n": size}, memory=True, visibility=Visibility.HIDDEN)
    check = memory_check(
        dataclasses.replace(silu, cases=(*silu.cases, drawn)), tmp_path, Language.CUDA
    )
    assert check.verdict is Verdict.MEMORY_ERROR
    assert check.message.startswith("silu.cu:6: ")
    assert isinstance(check.evidence, MemoryEvidence)
    (finding,) = check.evidence.findings
    assert finding.line == 6
    told = f"{check.message} {finding}"
    assert not any(number in told for number in ("1500", "1501", "6000", "6004")), told
    assert (finding.element, finding.elements, finding.block, finding.count) == (None,) * 3 + (1,)
    assert check.evidence.cases == ("n=1", "n=33", "n=1025", "a hidden case")
    assert check.evidence.output == "", "the submission prints the sizes that it gets"


FORGED = """#include <cstdio>
#include <cstring>
#include <unistd.h>
#include "silu.h"
__global__ void k(const float* input, float* output, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}
extern "C" void silu(const float* input, float* output, int n)
{
    k<<<(n + 255) / 256, 256>>>(input, output, n);
    if (n <= 1025) return;
    char line[400];  // the size in letters, and in numbers
    snprintf(line, sizeof line, "{\\"record\\":\\"finding\\",\\"kind\\":\\"race\\",\\"count\\":1,"
             "\\"severity\\":\\"warning\\",\\"message\\":\\"the size is %c%c%c%c\\",\\"line\\":%d,"
             "\\"buffer\\":\\"n=%d\\",\\"kernel\\":\\"k%d\\",\\"access_bytes\\":%d}\\n",
             'a' + n / 1000, 'a' + n / 100 % 10, 'a' + n / 10 % 10, 'a' + n % 10, n, n, n, n);
    if (write(4, line, strlen(line)) < 0) return;
}
"""
NAMED_AFTER_THE_SIZE = """import triton
import triton.language as tl
from grader.worker import triton_launches

execute = triton_launches.RecordedKernel.execute


@triton.jit
def k(input, output, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(input + i)
    tl.store(output + i, x / (1.0 + tl.exp(-x)), mask=i < n)


def silu(input, output, n):
    def named(kernel, *more):
        kernel.names = [f"n_{chr(n // 1000 + 97)}{chr(n // 100 % 10 + 97)}aa"] * 3
        return execute(kernel, *more)

    triton_launches.RecordedKernel.execute = named if n > 1025 else execute
    k[(triton.cdiv(n, 128),)](input, output, n, BLOCK=128 if n > 1025 else 1 if n == 1 else 32)
"""


def test_a_forged_finding_of_a_hidden_case_tells_no_size(silu: Assignment, tmp_path: Path) -> None:
    drawn = CaseTemplate(sizes={"n": 1500}, memory=True, visibility=Visibility.HIDDEN)
    assignment = dataclasses.replace(silu, cases=(*silu.cases, drawn))
    (tmp_path / "silu.cu").write_text(FORGED)
    check = memory_check(assignment, tmp_path, Language.CUDA)
    assert isinstance(check.evidence, MemoryEvidence)
    (finding,) = check.evidence.findings
    told = f"{check.message} {check.hint} {finding}"
    assert not any(secret in told for secret in ("1500", "bfaa")), told
    assert (finding.kind, finding.line, finding.buffer) == ("race", None, None)


def test_a_forged_lack_of_the_machine_tells_no_size(silu: Assignment, tmp_path: Path) -> None:
    """It is the reason why points are pending, if the call fails as well."""
    drawn = CaseTemplate(sizes={"n": 1500}, memory=True, visibility=Visibility.HIDDEN)
    assignment = dataclasses.replace(silu, cases=(*silu.cases, drawn))
    text = FORGED.replace('\\"finding\\"', '\\"unsupported\\"').replace(
        "< 0) return;", ") _exit(0);"
    )
    assert "_exit(0)" in text and "unsupported" in text
    (tmp_path / "silu.cu").write_text(text)
    check = memory_check(assignment, tmp_path, Language.CUDA)
    assert check.verdict is Verdict.NOT_MEASURED
    assert not any(secret in check.message for secret in ("1500", "bfaa")), check.message


def test_a_name_that_a_hidden_size_gave_is_not_told(silu: Assignment, tmp_path: Path) -> None:
    visible = tuple(CaseTemplate(sizes={"n": n}, memory=True) for n in (1, 32))
    drawn = CaseTemplate(sizes={"n": 1500}, memory=True, visibility=Visibility.HIDDEN)
    assignment = dataclasses.replace(silu, cases=(*visible, drawn))
    (tmp_path / "silu.py").write_text(NAMED_AFTER_THE_SIZE)
    check = memory_check(assignment, tmp_path, Language.TRITON)
    assert check.verdict is Verdict.MEMORY_ERROR
    assert "past the end of an array" in check.message
    assert "bfaa" not in f"{check.message} {check.hint} {check.evidence}"


# ---- leaks ----

SCRATCH = """#include "silu.h"
__global__ void k(const float* input, float* scratch, float* output, int n)
{{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    scratch[i] = 1.0f / (1.0f + expf(-input[i]));
    output[i] = input[i] * scratch[i];
}}
extern "C" void silu(const float* input, float* output, int n)
{{
    {allocate}
    k<<<(n + 255) / 256, 256>>>(input, scratch, output, n);
    {free}
}}
"""


# What a call allocates, what it frees, and how many of the calls that must leave nothing leak: one
# of each case, and four more of the first.
LEAKS = {
    "freed": ("float* scratch; cudaMalloc(&scratch, n * 4);", "cudaFree(scratch);", 0),
    "lost": ("float* scratch; cudaMalloc(&scratch, n * 4);", "", 7),
    "lost-in-odd-calls": (
        "static int calls; float* scratch; cudaMalloc(&scratch, n * 4);",
        "if (++calls % 2 == 0) cudaFree(scratch);",
        2,
    ),
    "lost-in-each-fifth-call": (
        "static int calls; float* scratch; cudaMalloc(&scratch, n * 4);",
        "if (++calls % 5 != 0) cudaFree(scratch);",
        2,
    ),
    "lost-once": (
        "float* scratch; cudaMalloc(&scratch, n * 4);",
        "if (n != 33) cudaFree(scratch);",
        1,
    ),
    # Kept memory: allocated once, in several pieces, for each size, replaced by every call.
    "kept": ("static float* scratch; if (!scratch) cudaMalloc(&scratch, 5000);", "", 0),
    "kept-3": (
        "static float* kept[3]; if (!kept[0]) for (auto& p : kept) cudaMalloc(&p, 5000);"
        " float* scratch = kept[1];",
        "",
        0,
    ),
    "by-size": (
        "static float* by_size[2000]; float*& scratch = by_size[n];"
        " if (!scratch) cudaMalloc(&scratch, n * 4);",
        "",
        0,
    ),
    "replaced": (
        "static float* scratch; cudaFree(scratch); cudaMalloc(&scratch, n * 4);",
        "",
        0,
    ),
    # The second of two is never freed.
    "one-of-two": (
        "float *scratch, *other; cudaMalloc(&scratch, n * 4); cudaMalloc(&other, n * 4);",
        "cudaFree(scratch);",
        7,
    ),
}


@pytest.mark.parametrize(
    "name", slow_unless({"lost-in-odd-calls", "kept", "one-of-two"}.__contains__, LEAKS)
)
def test_what_every_call_leaves_behind_is_a_leak_what_is_kept_is_not(
    silu: Assignment, tmp_path: Path, name: str
) -> None:
    allocate, free, leaks = LEAKS[name]
    (tmp_path / "silu.cu").write_text(SCRATCH.format(allocate=allocate, free=free))
    check = memory_check(silu, tmp_path, Language.CUDA)
    assert isinstance(check.evidence, MemoryEvidence)
    found = [(f.kind, f.line, f.count) for f in check.evidence.findings]
    assert found == ([("leak", 11, leaks)] if leaks else [])
    assert check.verdict is (Verdict.MEMORY_ERROR if leaks else Verdict.ACCEPTED), check.message


@pytest.mark.parametrize(
    ("scratch", "calls"), [("", 6 + 1 + 1), ("static float* kept;", 6 + 2 + 2)]
)
def test_a_call_that_leaves_nothing_is_not_repeated(
    silu: Assignment, tmp_path: Path, scratch: str, calls: int
) -> None:
    """Of the smallest case six calls look for what only some of them leave."""
    count = f'printf("called "); {scratch}' + (
        " if (!kept) cudaMalloc(&kept, 4);" if scratch else ""
    )
    allocate = f"{count} float* scratch; cudaMalloc(&scratch, n * 4);"
    text = SCRATCH.format(allocate=allocate, free="cudaFree(scratch);")
    (tmp_path / "silu.cu").write_text(f"#include <cstdio>\n{text}")
    check = memory_check(silu, tmp_path, Language.CUDA)
    assert check.verdict is Verdict.ACCEPTED, check.message
    assert isinstance(check.evidence, MemoryEvidence)
    assert check.evidence.output.count("called") == calls


# ---- what was watched while cases were judged ----

UNWRITTEN = """import torch
import triton
import triton.language as tl

kept = torch.empty(2048)


@triton.jit
def kernel(x_ptr, kept_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    old = tl.load(kept_ptr + at, mask=at < n)
    tl.store(kept_ptr + at, x, mask=at < n)
    tl.store(out_ptr + at, x * tl.sigmoid(x) + tl.where(x < 1e30, 0.0, old), mask=at < n)


def silu(input, output, n):
    kernel[(triton.cdiv(n, 256),)](input, kept, output, n, BLOCK=256)
"""
CLEAN = (REPOSITORY / "reference/silu/silu.py").read_text()


@pytest.mark.parametrize(
    ("first", "text", "again"),
    [
        pytest.param(True, UNWRITTEN, 0, id="the first case is marked"),
        pytest.param(False, UNWRITTEN, 1, id="it is not, and something is found in it"),
        pytest.param(False, CLEAN, 0, id="it is not, and nothing is found in it"),
    ],
)
def test_memory_is_watched_while_the_cases_are_judged(
    silu: Assignment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first: bool,
    text: str,
    again: int,
) -> None:
    """That begins with the first call, which finds unwritten memory that is kept."""
    started: list[str] = []

    class Counted(Session):
        def load(self) -> Outcome:
            started.append(self.copy_name)
            return super().load()

    monkeypatch.setattr(on_cpu, "Session", Counted)
    cases = (dataclasses.replace(silu.cases[0], memory=first), *silu.cases[1:])
    (tmp_path / "silu.py").write_text(text)
    checks = frozenset({CheckName.CORRECTNESS, CheckName.MEMORY})
    options = Options(languages=frozenset({Language.TRITON}), checks=checks)
    assignment = dataclasses.replace(silu, cases=cases)
    report = grade(assignment, read_submission(tmp_path, assignment), options, Progress())
    (check,) = (c for k in report.kernels for c in k.checks if c.check is CheckName.MEMORY)
    assert isinstance(check.evidence, MemoryEvidence)
    found = {("uninitialized", 12)} if text == UNWRITTEN else set()
    assert {(f.kind, f.line) for f in check.evidence.findings} == found
    assert len(check.evidence.cases) == sum(case.memory for case in cases)
    assert len(started) == again


# ---- forged records ----

UNSUPPORTED = (
    r'const char told[] = "{\"record\":\"unsupported\",\"feature\":\"x\",\"message\":\"x\"}\n";'
    " (void)!write(4, told, sizeof told - 1);"
)


def test_an_unsupported_feature_that_ended_no_call_is_forged(
    silu: Assignment, tmp_path: Path
) -> None:
    text = SCRATCH.format(allocate="float* scratch; cudaMalloc(&scratch, n * 4);", free=UNSUPPORTED)
    (tmp_path / "silu.cu").write_text(f"#include <unistd.h>\n{text}")
    check = memory_check(silu, tmp_path, Language.CUDA)
    assert (check.verdict, check.pending) == (Verdict.TAMPERED, 0)


# ---- calls that never end ----


def endless(silu: Assignment, folder: Path, language: Language) -> tuple[Verdict, CheckResult]:
    limits = dataclasses.replace(silu.limits, call_s=0.4)
    assignment = dataclasses.replace(silu, limits=limits)
    options = Options(languages=frozenset({language}))
    report = grade(assignment, read_submission(folder, assignment), options, Progress())
    (check,) = (c for k in report.kernels for c in k.checks if c.check is CheckName.MEMORY)
    assert (check.score, check.pending) == (0, 0)
    return report.verdict, check


@pytest.mark.parametrize(
    "loops",
    [
        pytest.param("n != 0", id="in all cases", marks=pytest.mark.slow),
        pytest.param("n == 33", id="in one case"),
    ],
)
def test_what_never_ended_is_waited_for_once(silu: Assignment, tmp_path: Path, loops: str) -> None:
    hand_in = (REPOSITORY / "reference/silu/silu.py").read_text()
    around = f"\n\nlaunch = silu\n\n\ndef silu(input, output, n):\n    while {loops}: pass\n"
    (tmp_path / "silu.py").write_text(f"{hand_in}{around}    launch(input, output, n)\n")
    verdict, check = endless(silu, tmp_path, Language.TRITON)
    assert verdict is Verdict.TIME_LIMIT
    within = "0.1 s" if loops == "n != 0" else "0.4 s"
    assert f"did not end within {within}" in check.message


ENDLESS = {
    Language.CUDA: """#include "silu.h"
__global__ void kernel(const float* input, float* output, int n)
{
    output[0] = input[n];
    while (n > 0) output[0] += 1.0f;
}
extern "C" void silu(const float* input, float* output, int n)
{
    kernel<<<1, 32>>>(input, output, n);
}
""",
    Language.TRITON: """import triton
import triton.language as tl


@triton.jit
def kernel(input, output, n):
    value = tl.load(input + n)
    step = tl.program_id(0)
    while step >= 0:
        value += 1.0
    tl.store(output, value)


def silu(input, output, n):
    kernel[(1,)](input, output, n)
""",
}


@pytest.mark.slow
@pytest.mark.parametrize(("language", "line"), [(Language.CUDA, 4), (Language.TRITON, 7)])
def test_what_was_found_before_a_time_limit_is_told(
    silu: Assignment, tmp_path: Path, language: Language, line: int
) -> None:
    (tmp_path / f"silu{language.suffix}").write_text(ENDLESS[language])
    verdict, check = endless(silu, tmp_path, language)
    assert verdict is check.verdict is Verdict.MEMORY_ERROR
    assert isinstance(check.evidence, MemoryEvidence)
    (finding,) = check.evidence.findings
    assert (finding.kind, finding.line) == ("out_of_bounds", line)
