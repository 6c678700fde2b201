"""Grading on a real GPU: both languages, both transports, and faults that occur only there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from paths import REPOSITORY
from silu_points import SPEED

from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.gpu import lock
from grader.gpu import nvml as nvidia
from grader.gpu.nvml import Gpu
from grader.grading.pipeline import grade
from grader.grading.plan import Options, Transport
from grader.grading.progress import Progress
from grader.report.evidence import CorrectnessEvidence
from grader.report.model import CheckResult, Report
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.vocabulary import CheckName, Language

pytestmark = [pytest.mark.gpu, pytest.mark.xdist_group("gpu")]

LAUNCHER = """
extern "C" void silu(const float* input, float* output, int n) {{
  silu_kernel<<<(n + 255) / 256, 256>>>(input, output, n);{more}
}}
"""


@pytest.fixture(scope="module")
def silu() -> Assignment:
    return read_assignment(REPOSITORY / "assignments" / "silu")


def grade_on(
    gpu: Gpu,
    assignment: Assignment,
    folder: Path,
    *,
    language: Language,
    transport: Transport | None = None,
) -> Report:
    # Without the performance check, which has its own tests and depends on this GPU.
    checks = frozenset(CheckName) - {CheckName.PERFORMANCE}
    options = Options(gpu=gpu, languages=frozenset({language}), transport=transport, checks=checks)
    return grade(assignment, read_submission(folder, assignment), options, Progress())


def visible_check(report: Report) -> CheckResult:
    return next(check for check in report.kernels[0].checks if check.check is CheckName.CORRECTNESS)


def cases(check: CheckResult) -> CorrectnessEvidence:
    assert isinstance(check.evidence, CorrectnessEvidence)
    return check.evidence


def hand_in(folder: Path, kernel: str, *, more: str = "") -> Path:
    (folder / "silu.cu").write_text(kernel + LAUNCHER.format(more=more))
    return folder


@pytest.mark.parametrize("transport", ["shared", "private"])
@pytest.mark.parametrize("language", [Language.CUDA, Language.TRITON])
def test_the_reference_is_accepted(
    first_gpu: Gpu, silu: Assignment, language: Language, transport: Transport
) -> None:
    folder = REPOSITORY / "reference"
    report = grade_on(first_gpu, silu, folder, language=language, transport=transport)
    assert report.verdict is Verdict.ACCEPTED, report
    assert (report.score, report.pending) == (report.max_score - SPEED, 0)
    assert cases(visible_check(report)).transport == transport


@pytest.mark.parametrize("language", [Language.CUDA, Language.TRITON])
def test_a_grid_that_is_rounded_down_is_named_as_without_a_gpu(
    first_gpu: Gpu, silu: Assignment, language: Language
) -> None:
    """Nothing sees launches on a GPU: the same cases without one tell what ran."""
    folder = REPOSITORY / "reference" / "silu" / "samples" / "wrong_answer" / "forgot-the-tail"
    check = visible_check(grade_on(first_gpu, silu, folder, language=language))
    assert "never written; `silu_kernel` ran with " in check.message
    assert "rounds down, so that the last, incomplete" in check.hint


def test_memory_is_shared_where_the_probe_allows_it(first_gpu: Gpu, silu: Assignment) -> None:
    report = grade_on(first_gpu, silu, REPOSITORY / "reference", language=Language.CUDA)
    assert cases(visible_check(report)).transport == "shared"


def test_a_write_past_the_end_hits_a_guard(
    first_gpu: Gpu, silu: Assignment, tmp_path: Path
) -> None:
    folder = hand_in(
        tmp_path,
        "__global__ void silu_kernel(const float* in, float* out, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i <= n) out[i] = i < n ? in[i] / (1.f + expf(-in[i])) : 1.f; }",
    )
    check = visible_check(grade_on(first_gpu, silu, folder, language=Language.CUDA))
    assert check.verdict is Verdict.MEMORY_ERROR
    assert "wrote outside `output`: the element past the last" in check.message


def test_an_illegal_address_ends_one_worker_only(
    first_gpu: Gpu, silu: Assignment, tmp_path: Path
) -> None:
    folder = hand_in(
        tmp_path,
        "__global__ void silu_kernel(const float* in, float* out, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (n == 31) *(volatile float*)16 = 1.f;"
        " else if (i < n) out[i] = in[i] / (1.f + expf(-in[i])); }",
    )
    check = visible_check(grade_on(first_gpu, silu, folder, language=Language.CUDA))
    assert check.verdict is Verdict.MEMORY_ERROR
    assert "illegal memory access" in check.message
    failed = [case.name for case in cases(check).cases if case.verdict is not Verdict.ACCEPTED]
    assert failed == ["n=31"]


def test_an_endless_kernel_is_ended(first_gpu: Gpu, silu: Assignment, tmp_path: Path) -> None:
    folder = hand_in(
        tmp_path,
        "__global__ void silu_kernel(const float* in, float* out, int n) {"
        " while (*(volatile const float*)in != 12345.f) {} }",
    )
    check = visible_check(grade_on(first_gpu, silu, folder, language=Language.CUDA))
    assert check.verdict is Verdict.TIME_LIMIT
    after = grade_on(first_gpu, silu, REPOSITORY / "reference", language=Language.CUDA)
    assert after.verdict is Verdict.ACCEPTED


def test_a_changed_input_is_reported(first_gpu: Gpu, silu: Assignment, tmp_path: Path) -> None:
    folder = hand_in(
        tmp_path,
        "__global__ void silu_kernel(const float* in, float* out, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < n) { out[i] = in[i] / (1.f + expf(-in[i])); ((float*)in)[i] = out[i]; } }",
    )
    check = visible_check(grade_on(first_gpu, silu, folder, language=Language.CUDA))
    assert check.verdict is Verdict.WRONG_ANSWER
    assert "`input` was changed" in check.message


def test_a_bad_launch_is_reported(first_gpu: Gpu, silu: Assignment, tmp_path: Path) -> None:
    folder = hand_in(
        tmp_path,
        "__global__ void silu_kernel(const float* in, float* out, int n) {}",
        more=" silu_kernel<<<1, 4096>>>(input, output, n);",
    )
    check = visible_check(grade_on(first_gpu, silu, folder, language=Language.CUDA))
    assert check.verdict is Verdict.RUNTIME_ERROR
    # The driver decides which of the two.
    assert "CUDA error 1:" in check.message or "CUDA error 9:" in check.message
    assert "1024 threads" in check.hint


def test_a_failed_assertion_is_named(first_gpu: Gpu, silu: Assignment, tmp_path: Path) -> None:
    folder = hand_in(
        tmp_path,
        "#include <cassert>\n"
        "template <class T> __global__ void silu_kernel(const T* in, T* out, int n) {"
        " assert(threadIdx.x != 5 && in); }",
    )
    check = visible_check(grade_on(first_gpu, silu, folder, language=Language.CUDA))
    assert check.verdict is Verdict.RUNTIME_ERROR
    assert "the assertion `threadIdx.x != 5 && in` failed (silu.cu:2)" in check.message


def test_work_on_an_unwaited_stream_is_waited_for_by_us(
    first_gpu: Gpu, silu: Assignment, tmp_path: Path
) -> None:
    (tmp_path / "silu.cu").write_text(
        "__global__ void k(const float* in, float* out, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < n) out[i] = in[i] / (1.f + expf(-in[i])); }\n"
        'extern "C" void silu(const float* input, float* output, int n) {'
        " cudaStream_t s; cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);"
        " k<<<(n + 255) / 256, 256, 0, s>>>(input, output, n); }"
    )
    report = grade_on(first_gpu, silu, tmp_path, language=Language.CUDA)
    assert report.verdict is Verdict.ACCEPTED


def test_a_triton_type_error_is_a_compile_error(
    first_gpu: Gpu, silu: Assignment, tmp_path: Path
) -> None:
    (tmp_path / "silu.py").write_text(
        "import triton\nimport triton.language as tl\n\n"
        "@triton.jit\ndef k(x, y, n, B: tl.constexpr):\n"
        "    i = tl.program_id(0) * B + tl.arange(0, B)\n"
        "    tl.store(y + i, tl.load(x + i, mask=i < n) + no_such_name, mask=i < n)\n\n"
        "def silu(input, output, n):\n"
        "    k[(triton.cdiv(n, 256),)](input, output, n, B=256)\n"
    )
    check = visible_check(grade_on(first_gpu, silu, tmp_path, language=Language.TRITON))
    assert check.verdict is Verdict.COMPILE_ERROR
    assert "silu.py:" in check.message


@pytest.mark.skipif(
    "PYTEST_XDIST_WORKER" in os.environ, reason="other tests' processes hold the GPU's memory too"
)
def test_gpu_memory_comes_back(first_gpu: Gpu, silu: Assignment) -> None:
    grade_on(first_gpu, silu, REPOSITORY / "reference", language=Language.CUDA)
    before = free_mib(first_gpu)
    for _ in range(3):
        grade_on(first_gpu, silu, REPOSITORY / "reference", language=Language.CUDA)
    assert before - free_mib(first_gpu) < 64


def free_mib(gpu: Gpu) -> int:
    """Return what no process holds while nothing is graded on the GPU."""
    with lock.shared_use(gpu.uuid), lock.exclusive_use(gpu.uuid):
        (free,) = (each.memory_free_mib for each in nvidia.gpus() if each.uuid == gpu.uuid)
    return free


@pytest.mark.parametrize("check", [CheckName.RULES, CheckName.MEMORY, CheckName.COUNTERS])
@pytest.mark.parametrize("language", [Language.CUDA, Language.TRITON])
def test_each_check_alone_opens_the_gpu_first(
    first_gpu: Gpu, silu: Assignment, language: Language, check: CheckName
) -> None:
    """The first check to run opened no driver: `--check rules` ended in a grader error."""
    options = Options(gpu=first_gpu, languages=frozenset({language}), checks=frozenset({check}))
    report = grade(silu, read_submission(REPOSITORY / "reference", silu), options, Progress())
    assert report.verdict is not Verdict.GRADER_ERROR, report
    assert report.score is not None
