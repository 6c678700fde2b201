"""The memory check under a fake compute-sanitizer: the outcomes of its runs.

The fake runs the worker as the real tool does and then writes what a test specifies, so no GPU is
needed; the worker is a host build. Tests marked gpu run the same submissions under the real tools.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from paths import REPOSITORY
from sanitizer_stand_in import CLEAN, built_for, stand_in

from grader.assignment.cases import CaseTemplate
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.checks.check import CheckOutcome
from grader.checks.common.case_run import RunSetup
from grader.checks.memory import on_gpu, sanitizer_prestart, sanitizer_result
from grader.checks.memory.on_gpu import check_gpu_memory
from grader.checks.memory.sanitizer import TOOLS
from grader.gpu.nvml import Gpu
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.judge import session
from grader.judge.oracle import Oracle
from grader.report.evidence import MemoryEvidence
from grader.report.model import CheckResult
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.system import toolchain
from grader.vocabulary import CheckName, Device, Language

SAMPLES = REPOSITORY / "reference" / "silu" / "samples"
NO_DRIVER = Path(__file__).parent / "sanitizer_xml" / "2025.2.1" / "no-driver.memcheck.log"


# Like compute-sanitizer: options, then the program; the child inherits the channel.
@pytest.fixture(scope="module")
def silu() -> Assignment:
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    cases = tuple(CaseTemplate(sizes={"n": n}, memory=True) for n in (1, 33))
    limits = dataclasses.replace(assignment.limits, call_s=1.0)
    return dataclasses.replace(assignment, cases=cases, limits=limits)


pytestmark = pytest.mark.usefixtures("unfenced")  # the fake is a file of the test


@pytest.fixture(autouse=True)
def no_nvcc(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("gpu") is None:
        monkeypatch.setattr(toolchain, "find_nvcc", lambda: None)
        monkeypatch.setattr(sanitizer_prestart, "_CALL_S", 1.0)


def check(
    assignment: Assignment,
    tmp_path: Path,
    body: str,
    hand_in: Path | str = "accepted/grid-stride",
    *,
    hangs: bool = False,
) -> CheckOutcome[MemoryEvidence]:
    """Check a sample, or a text, under a fake that executes `body`."""
    folder = SAMPLES / hand_in if (SAMPLES / hand_in).is_dir() else tmp_path / "hand_in"
    if folder.parent == tmp_path:
        folder.mkdir()
        (folder / "silu.cu").write_text(str(hand_in))
    tool = stand_in(tmp_path, body)
    built = built_for(assignment, folder)
    oracle = Oracle(assignment)
    drawn = assignment.draw_cases(Device.CPU, Language.CUDA, public_seed=0, secret_seed=0)
    cases = [(case, oracle.data(case, Language.CUDA)) for case in drawn]
    bench = RunSetup(assignment=assignment, built=built, server=None, driver=None, private=False)
    return check_gpu_memory(bench, tool, cases, lambda name: None, hangs=hangs)


def evidence(judged: CheckOutcome[MemoryEvidence]) -> MemoryEvidence:
    assert judged.evidence is not None
    return judged.evidence


def kernel(statement: str, before: str = "", host: str = "") -> str:
    return f"""#include "silu.h"
#include <cstdio>
#include <cstdlib>
{before}
__global__ void k(const float* input, float* output, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {statement}
}}
extern "C" void silu(const float* input, float* output, int n)
{{
    {host}
    k<<<(n + 255) / 256, 256>>>(input, output, n);
}}
"""


RIGHT = "if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));"


# ---- a tool that works ----


def test_a_clean_run_is_accepted(silu: Assignment, tmp_path: Path) -> None:
    judged = check(silu, tmp_path, CLEAN)
    assert judged.diagnosis.verdict is Verdict.ACCEPTED, judged
    assert [run.tool for run in evidence(judged).tools] == [f"compute-sanitizer {t}" for t in TOOLS]


@pytest.mark.slow
def test_ten_thousand_findings_are_folded_ten_are_shown(silu: Assignment, tmp_path: Path) -> None:
    body = "run()\nreport(''.join(record(1 + n % 12) for n in range(10_000)))\nsys.exit(86)"
    judged = check(silu, tmp_path, body)
    assert judged.diagnosis.verdict is Verdict.MEMORY_ERROR
    # 10,000 over 12 lines: each of four tools found the same.
    assert judged.diagnosis.message.endswith(" (834 times) (and 11 more)")
    found = evidence(judged)
    assert (len(found.findings), found.findings_total) == (10, 12)
    assert sum(run.findings for run in found.tools) == 40_000
    assert [finding.line for finding in found.findings] == list(range(1, 11))


def test_a_report_that_ends_early_counts_as_far_as_it_goes(
    silu: Assignment, tmp_path: Path
) -> None:
    half = "open(xml, 'w').write('<Output>' + record(7) + record(8)[:-20])"
    body = f"run()\n{half}\nos.kill(os.getpid(), 9)"
    judged = check(silu, tmp_path, body)
    assert judged.diagnosis.verdict is Verdict.MEMORY_ERROR
    assert [finding.line for finding in evidence(judged).findings] == [7]


# ---- a tool that fails ----


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        # What 2025.2.1 does without a driver, or with a newer one, for every program.
        (
            f"open(log, 'w').write({NO_DRIVER.read_text()!r})\nsys.exit(255)",
            "could not run: Error: Target application terminated before first instrumented",
        ),
        (
            "open(log, 'w').write('========= Error: Device not supported\\n')\nsys.exit(1)",
            "could not run: Error: Device not supported",
        ),
        ("sys.exit(255)", "could not run: loading silu.cu ended the program with exit code 255"),
        ("os.kill(os.getpid(), 9)", "could not run: loading silu.cu crashed: killed"),
        ("run()\nsys.exit(255)", "could not run (exit code 255): it printed nothing"),
        ("run()\nprint('no memory')\nsys.exit(3)", "could not run (exit code 3): no memory"),
        ("run()\nos.kill(os.getpid(), 9)", "could not run (ended by signal 9): it printed nothing"),
        ("run()\nopen(xml, 'w').write('<Comp')", "its report is not XML"),
        ("run()\nopen(xml, 'w').write('\\0nonsense')", "its report is not XML"),
        ("run()\nreport()\nsys.exit(86)", "found errors outside the submission's code"),
    ],
)
def test_a_tool_that_cannot_run_is_not_the_submissions_fault(
    silu: Assignment, tmp_path: Path, body: str, reason: str
) -> None:
    judged = check(silu, tmp_path, body)
    assert judged.diagnosis.verdict is Verdict.NOT_MEASURED, judged.diagnosis
    assert judged.diagnosis.message.startswith("compute-sanitizer memcheck")
    assert reason in judged.diagnosis.message
    assert evidence(judged).tools[0].problem == judged.diagnosis.message


WARNING = "record(13, 'Race condition').replace('Error', 'Warning')"
STACK = "<hostStack><frame><func>grader_call</func></frame></hostStack></record>"
LEAK = f"record(7, 'Leaked 4 bytes').replace('</record>', '{STACK}')"
FOREIGN = "record(7).replace('silu.cu', 'worker.cpp')"


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (LEAK, "no memory errors"),
        (WARNING, "no memory errors, 1 warning"),
    ],
)
def test_an_exit_code_for_what_is_no_error_is_none(
    silu: Assignment, tmp_path: Path, records: str, message: str
) -> None:
    """The tool's exit code also counts warnings and kept memory (as on an H200)."""
    judged = check(silu, tmp_path, f"run()\nreport({records})\nsys.exit(86)")
    assert (judged.diagnosis.verdict, judged.diagnosis.message) == (Verdict.ACCEPTED, message)
    judged = check(silu, tmp_path, f"run()\nreport({records} + {FOREIGN})\nsys.exit(86)")
    assert judged.diagnosis.verdict is Verdict.NOT_MEASURED
    assert judged.diagnosis.message.endswith("found errors outside the submission's code")


def test_one_tool_that_cannot_run_leaves_the_findings_of_the_others(
    silu: Assignment, tmp_path: Path
) -> None:
    body = "if tool == 'racecheck': sys.exit(255)\nrun()\nreport(record(9))\nsys.exit(86)"
    judged = check(silu, tmp_path, body)
    assert judged.diagnosis.verdict is Verdict.MEMORY_ERROR
    assert evidence(judged).findings[0].line == 9


# ---- submissions ----

CRASH = kernel(RIGHT, host="if (n > 1) *(volatile int*)16 = 1;")
PRINTS = kernel(
    RIGHT,
    host='std::puts("========= Invalid __global__ read of size 4 bytes\\n'
    '=========     at silu.cu:7\\n========= ERROR SUMMARY: 1 error");',
)
FORGES = kernel(
    RIGHT,
    host="""std::FILE* f = std::fopen("findings.xml", "w");
    std::fputs("<ComputeSanitizerOutput></ComputeSanitizerOutput>", f);
    std::fclose(f);
    f = std::fopen("sanitizer.log", "w");
    std::fputs("========= Error: Device not supported\\n", f);
    std::fclose(f);""",
)


@pytest.mark.slow
def test_a_kernel_that_never_ends_is_over_its_time(silu: Assignment, tmp_path: Path) -> None:
    judged = check(silu, tmp_path, CLEAN, "time_limit/endless-kernel")
    assert judged.diagnosis.verdict is Verdict.TIME_LIMIT
    assert "calling silu on n=1 did not end within 1 s" in judged.diagnosis.message


@pytest.mark.slow
def test_a_kernel_that_is_known_to_hang_is_not_tried_again(
    silu: Assignment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def again(*_: object, **__: object) -> None:
        raise AssertionError("tried again")

    monkeypatch.setattr(sanitizer_result, "second_try", again)
    monkeypatch.setattr(on_gpu, "fails_without_a_tool", again)
    short = dataclasses.replace(silu, limits=dataclasses.replace(silu.limits, call_s=0.5))
    judged = check(short, tmp_path, CLEAN, "time_limit/endless-kernel", hangs=True)
    assert judged.diagnosis.verdict is Verdict.TIME_LIMIT
    assert "calling silu on n=1 did not end within 0.5 s" in judged.diagnosis.message


@pytest.mark.slow
def test_what_a_tool_saw_of_a_kernel_that_never_ends_counts(
    silu: Assignment, tmp_path: Path
) -> None:
    """compute-sanitizer writes its report when the program that it runs has ended."""
    body = "run()\nreport(record(9))\nsys.exit(86)"
    judged = check(silu, tmp_path, body, "time_limit/endless-kernel")
    assert judged.diagnosis.verdict is Verdict.MEMORY_ERROR
    assert evidence(judged).findings[0].line == 9


@pytest.mark.slow
def test_a_tool_that_outlives_its_program_is_ended(
    silu: Assignment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_TOOL_REPORT_S", 0.2)
    body = "run()\nimport time\ntime.sleep(3600)"
    judged = check(silu, tmp_path, body, "time_limit/endless-kernel")
    assert judged.diagnosis.verdict is Verdict.TIME_LIMIT


def test_a_crash_before_the_first_kernel_is_the_submissions(
    silu: Assignment, tmp_path: Path
) -> None:
    judged = check(silu, tmp_path, CLEAN, CRASH)
    assert judged.diagnosis.verdict is Verdict.RUNTIME_ERROR
    assert "calling silu on n=33" in judged.diagnosis.message


def test_a_submission_that_launches_nothing_proves_nothing(
    silu: Assignment, tmp_path: Path
) -> None:
    judged = check(silu, tmp_path, CLEAN, "wrong_answer/no-launch")
    assert judged.diagnosis.verdict is Verdict.WRONG_ANSWER
    assert "outputs were wrong in this run" in judged.diagnosis.message


def test_what_a_submission_prints_is_no_finding(silu: Assignment, tmp_path: Path) -> None:
    judged = check(silu, tmp_path, CLEAN, PRINTS)
    assert judged.diagnosis.verdict is Verdict.ACCEPTED, judged.diagnosis
    assert not evidence(judged).findings
    assert "ERROR SUMMARY" in evidence(judged).output


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (CLEAN, Verdict.ACCEPTED),  # the tool overwrites it with its own
        ("run()\nreport(record(7))\nsys.exit(86)", Verdict.MEMORY_ERROR),
        ("run()\nsys.exit(86)", Verdict.NOT_MEASURED),  # errors, and a report that leaves them out
    ],
)
def test_a_forged_report_wins_nothing(
    silu: Assignment, tmp_path: Path, body: str, verdict: Verdict
) -> None:
    assert check(silu, tmp_path, body, FORGES).diagnosis.verdict is verdict


# ---- under the real tools ----


def graded_on(gpu: Gpu, assignment: Assignment, folder: Path) -> CheckResult:
    options = Options(
        gpu=gpu, languages=frozenset({Language.CUDA}), checks=frozenset({CheckName.MEMORY})
    )
    report = grade(assignment, read_submission(folder, assignment), options, Progress())
    (found,) = (c for k in report.kernels for c in k.checks if c.check is CheckName.MEMORY)
    return found


MANY_FAULTS = kernel(
    "\n    ".join(["float sum = 0.0f;", *["sum += input[n + 64 * i];"] * 12, "output[i] = sum;"])
)


@pytest.mark.gpu
def test_a_finding_of_the_real_tools_has_the_hint_of_its_source(
    first_gpu: Gpu, silu: Assignment, tmp_path: Path
) -> None:
    text = kernel(RIGHT).replace("(input, output, n);", "(input, output, 256);")
    (tmp_path / "silu.cu").write_text(text)
    found = graded_on(first_gpu, silu, tmp_path)
    assert found.verdict is Verdict.MEMORY_ERROR, found.message
    assert isinstance(found.evidence, MemoryEvidence)
    tools = [one for one in found.evidence.findings if "compute-sanitizer" in one.tool]
    assert tools
    assert all("passes `256` for the parameter `n` of `k`" in one.hint for one in tools)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("text", "verdict", "phrase"),
    [
        (kernel(f"while (*(volatile const float*)input != 12345.f) {{}} {RIGHT}"),
         Verdict.TIME_LIMIT, "did not end within"),
        (MANY_FAULTS, Verdict.MEMORY_ERROR, "silu.cu:"),
        (CRASH, Verdict.RUNTIME_ERROR, "calling silu on n=33"),
        (kernel(RIGHT, host="return;"), Verdict.WRONG_ANSWER, "outputs were wrong"),
        (PRINTS, Verdict.ACCEPTED, "no memory errors"),
        (FORGES, Verdict.ACCEPTED, "no memory errors"),
    ],
    ids=["never-ends", "many-faults", "crashes", "launches-nothing", "prints", "forges"],
)  # fmt: skip
def test_bad_submissions_under_the_real_tools(
    first_gpu: Gpu, silu: Assignment, tmp_path: Path, text: str, verdict: Verdict, phrase: str
) -> None:
    (tmp_path / "silu.cu").write_text(text)
    found = graded_on(first_gpu, silu, tmp_path)
    assert found.verdict is verdict, found.message
    assert phrase in found.message
