"""The program check: programs that can tell right from wrong, and programs that cannot.

They are linked with one right kernel and run as the grader runs them; the tests at the end go
through the whole grader.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import own_programs
import pytest
import weak_programs
from builds import silu_build
from paths import REPOSITORY
from silu_points import KERNEL as RIGHT_KERNEL
from slow import slow_unless

from grader.assignment.cases import CaseTemplate
from grader.assignment.model import Assignment, Kernel
from grader.assignment.reader import read_assignment
from grader.build.artifact import Built, Rejected
from grader.build.student_main import Target, build_main, build_program
from grader.checks.check import CheckOutcome
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.program import runs
from grader.checks.program.control_page import Kind, Place
from grader.checks.program.runs import check_program, plan
from grader.errors import ToolError
from grader.gpu.nvml import Gpu
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.judge.time_budget import TimeBudget
from grader.report.evidence import ProgramEvidence, RulesEvidence
from grader.report.model import CheckResult, KernelResult, Report
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile, read_submission
from grader.system import toolchain
from grader.vocabulary import CheckName, Device, Language, Visibility

# A global variable, for the program that defines the same name.
KERNEL = "int calls = 1;\n" + (REPOSITORY / "tests/grading/hand_ins/right.cu").read_text()
CPU = Target(device=Device.CPU)


@pytest.fixture
def no_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide nvcc, which would take a second for each program."""
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: None)


@pytest.fixture(scope="module")
def silu() -> Assignment:
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    limits = replace(assignment.limits, program_s=2.0, output_kib=64, memory_mib=256)
    cases = (CaseTemplate(sizes={"n": 33}, memory=True), CaseTemplate(sizes={"n": 1025}))
    return replace(assignment, limits=limits, cases=cases)


def build(assignment: Assignment, text: str, target: Target = CPU) -> Built | Rejected:
    main = SourceFile(path="main.cu", text=text)
    part = build_main(assignment, main, target)
    if isinstance(part, Rejected):
        return part
    kernel = SourceFile(path="silu.cu", text=KERNEL)
    return build_program(assignment, main, part, kernel, target)


def run(assignment: Assignment, program: Built, seed: int = 0) -> CheckOutcome[ProgramEvidence]:
    return check_program(
        assignment,
        program,
        TimeBudget(assignment.limits),
        kernel="silu",
        kernel_file="silu.cu",
        rng=random.Random(seed),
        advance=lambda _: None,
    )


def judge(assignment: Assignment, text: str) -> Diagnosis:
    built = build(assignment, text)
    if isinstance(built, Rejected):
        return Diagnosis(built.verdict, built.message, hint=built.hint)
    return run(assignment, built).diagnosis


# ---- outcomes ----

# The rejected programs that run by default: one for each kind of fault.
QUICK = ("always_says_right", "does_not_compile", "is_empty")


@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.parametrize("name", slow_unless({"right"}.__contains__, own_programs.ACCEPTED))
def test_who_can_tell_is_accepted(silu: Assignment, name: str) -> None:
    sentence = judge(silu, own_programs.ACCEPTED[name])
    assert sentence.verdict is Verdict.ACCEPTED, sentence
    assert sentence.message == (
        "accepts silu.cu in 2 of 2 runs, and detects a wrong element in 14 of 14"
    )


@pytest.mark.usefixtures("no_nvcc")
def test_an_ignored_failure_is_told_with_its_line(silu: Assignment) -> None:
    again = "    cudaFree(d_in);\n    cudaFree(d_in);\n"
    sentence = judge(silu, own_programs.main(own_programs.CALL + own_programs.COMPARE + again))
    assert sentence.verdict is Verdict.ACCEPTED, sentence
    assert sentence.message.endswith(
        "in 14 of 14; it ignores a failure: main.cu:30: cudaFree failed (invalid argument)"
    )
    assert "what every CUDA call returns" in sentence.hint


@pytest.mark.slow
@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        (name, fault)
        for name in weak_programs.ASSIGNMENTS
        for fault in ("right", *weak_programs.FAULTS)
        if weak_programs.is_fault(name, fault)
    ],
)
def test_a_program_of_a_shipped_assignment_has_to_see_every_change(name: str, fault: str) -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / name)
    file = {"silu": "silu.cu", "transpose": "v4_padded.cu", "gemm": "v2_tiled.cu"}[name]
    kernel = SourceFile(path=file, text=(REPOSITORY / "reference" / name / file).read_text())
    main = SourceFile(path="main.cu", text=weak_programs.weakened(name, fault))
    part = build_main(assignment, main, CPU)
    assert isinstance(part, Built), part
    built = build_program(assignment, main, part, kernel, CPU)
    assert isinstance(built, Built), built
    if fault != "right":
        sentence = run(assignment, built).diagnosis
        assert sentence.verdict is Verdict.WRONG_ANSWER, sentence
        assert sentence.message.startswith("main.cu accepted the output"), sentence
        return
    for seed in range(3):
        sentence = run(assignment, built, seed).diagnosis
        assert sentence.verdict is Verdict.ACCEPTED, sentence


@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.parametrize("name", slow_unless(QUICK.__contains__, own_programs.REJECTED))
def test_who_cannot_tell_gets_the_reason(silu: Assignment, name: str) -> None:
    text, verdict, message, hint = own_programs.REJECTED[name]
    sentence = judge(silu, text)
    assert sentence.verdict == verdict, sentence
    assert message in sentence.message
    assert hint in sentence.hint


@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.slow
def test_a_program_that_sleeps_is_tried_twice(
    silu: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Perhaps the machine was to blame for the first time."""
    built = build(silu, own_programs.main('    for (;;) std::system("sleep 1");\n'))
    assert isinstance(built, Built)
    started: list[Built] = []
    real = runs._run

    def counted(program: Built, *more: Any) -> Any:
        started.append(program)
        return real(program, *more)

    monkeypatch.setattr(runs, "_run", counted)
    sentence = run(silu, built).diagnosis
    assert sentence.verdict is Verdict.TIME_LIMIT
    assert len(started) == 2


@pytest.mark.usefixtures("no_nvcc")
def test_a_file_that_is_no_text_is_not_compiled(silu: Assignment) -> None:
    unfit = SourceFile(path="main.cu", problem="main.cu is a symbolic link, not a file")
    built = build_main(silu, unfit, CPU)
    assert isinstance(built, Rejected)
    assert (built.verdict, built.message) == (Verdict.COMPILE_ERROR, unfit.problem)


@pytest.mark.usefixtures("no_nvcc")
def test_a_kernel_with_a_main_of_its_own_is_reported(silu: Assignment) -> None:
    main = SourceFile(path="main.cu", text=own_programs.ACCEPTED["right"])
    part = build_main(silu, main, CPU)
    assert isinstance(part, Built)
    kernel = SourceFile(path="silu.cu", text=KERNEL + "int main() { return 0; }\n")
    built = build_program(silu, main, part, kernel, CPU)
    assert isinstance(built, Rejected)
    assert built.message == "silu.cu defines `main`, too: main.cu is the program"


@pytest.mark.slow
@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.usefixtures("unfenced")  # otherwise it does not find the page
def test_a_program_that_writes_into_the_graders_page_wins_nothing(silu: Assignment) -> None:
    forges = """\
static void forge()
{
    FILE* maps = std::fopen("/proc/self/maps", "r");
    char line[600];
    while (std::fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char rights[5];
        std::sscanf(line, "%lx-%lx %4s", &from, &to, rights);
        if (rights[3] == 's' && to - from == 4096) ((unsigned long*)from)[7] = 1;
    }
    std::fclose(maps);
}
"""
    sentence = judge(silu, own_programs.main("    forge();\n", before=forges))
    assert sentence.verdict is Verdict.RUNTIME_ERROR
    assert sentence.message == "main.cu wrote into memory that belongs to the grader"


def test_a_program_that_cannot_start_is_our_fault(silu: Assignment, tmp_path: Path) -> None:
    (tmp_path / "program").write_text("no program")
    (tmp_path / "program").chmod(0o755)
    built = silu_build(path=tmp_path / "program", file="main.cu")
    with pytest.raises(ToolError, match=r"main.cu could not be started: cannot run .*Exec format"):
        run(silu, built)


@pytest.mark.slow
def test_a_program_that_ends_while_it_is_loaded_is_not_our_fault(silu: Assignment) -> None:
    # The assembly is pasted from pieces, so that neither the text nor nvcc's part of it shows it.
    ends = """\
#ifndef __EDG__
#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
extern "C" {
static void nothing() {}
static void (*choose())()
{
    CAT(__as, m__) volatile("mov $231, %%eax; mov $127, %%edi; syscall" ::: "rax", "rdi");
    return nothing;
}
void chosen() __attribute__((ifunc("choose")));
}
void (*volatile used)() = chosen;
#endif
"""
    sentence = judge(silu, own_programs.main("    return 0;\n", before=ends))
    assert sentence.verdict is Verdict.WRONG_ANSWER
    assert sentence.message.startswith("main.cu ended with exit code 127 before it called `silu`")


@pytest.mark.skipif(toolchain.find_nvcc() is None, reason="no nvcc here")
def test_nvcc_has_the_last_word(silu: Assignment) -> None:
    built = build(
        silu, own_programs.main("    return f();\n", before="__device__ int f() { return 0; }\n")
    )
    assert isinstance(built, Rejected)
    assert built.verdict is Verdict.COMPILE_ERROR
    assert "main.cu:25: calling a __device__ function" in built.message


@pytest.mark.slow
@pytest.mark.skipif(toolchain.find_nvcc() is None, reason="no nvcc here")
def test_nvcc_builds_the_program(silu: Assignment) -> None:
    """The build needs no GPU; running the program does."""
    target = Target(device=Device.CUDA, architecture=(8, 0))
    assert isinstance(build(silu, own_programs.ACCEPTED["right"], target), Built)
    for name in ("has_no_main", "defines_the_entry", "declares_the_entry", "shares_a_name"):
        text, verdict, message, hint = own_programs.REJECTED[name]
        built = build(silu, text, target)
        assert isinstance(built, Rejected)
        assert (built.verdict, built.hint) == (verdict, hint) or hint in built.hint
        assert message in built.message


# ---- the runs look alike ----

# Prints everything by which a program might distinguish its runs, before it calls the entry.
SPY = """\
#include <dirent.h>
#include <unistd.h>

extern char** environ;

static void look(const char* when)
{
    std::printf("-- %s\\n", when);
    for (char** word = environ; *word; ++word) std::puts(*word);
    DIR* folder = opendir("/proc/self/fd");
    while (dirent* entry = readdir(folder)) {
        char to[400] = "";
        if (std::atoi(entry->d_name) == dirfd(folder)) continue;
        if (readlinkat(dirfd(folder), entry->d_name, to, sizeof to - 1) > 0)
            std::printf("%s -> %s\\n", entry->d_name, to);
    }
    closedir(folder);
    // Every byte that two processes share, as the grader's page is.
    FILE* maps = std::fopen("/proc/self/maps", "r");
    char line[600];
    while (std::fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char rights[5];
        std::sscanf(line, "%lx-%lx %4s", &from, &to, rights);
        if (rights[3] != 's') continue;
        unsigned long sum = 0;
        for (auto at = (const unsigned char*)from; at < (const unsigned char*)to; ++at) sum += *at;
        std::printf("%s %lu bytes, sum %lu\\n", rights, to - from, sum);
    }
    std::fclose(maps);
}
struct Early { Early() { look("before main"); } } early;
"""


@pytest.mark.slow
@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.usefixtures("unfenced")  # it looks at /proc/self
def test_a_program_sees_the_same_in_all_its_runs_until_it_compares(silu: Assignment) -> None:
    looks = own_programs.main(
        '    look("in main");\n' + own_programs.CALL + own_programs.COMPARE, before=SPY
    )
    built = build(silu, looks)
    assert isinstance(built, Built)
    judged = run(silu, built)
    assert judged.diagnosis.verdict is Verdict.ACCEPTED
    assert judged.evidence is not None
    seen = set()
    for done in judged.evidence.runs:
        text = done.output.split("element ")[0]
        folder = next(
            line.removeprefix("HOME=") for line in text.splitlines() if line.startswith("HOME=")
        )
        text = text.replace(folder, "FOLDER")
        seen.add("\n".join(line for line in text.splitlines() if "pipe:[" not in line))
    assert len(seen) == 1
    text = seen.pop()
    assert text.count("rw-s 4096 bytes, sum 0") == 2  # the page: it looks empty in both runs
    assert "memfd" not in text


# ---- the plan of the runs ----


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_every_output_is_changed_and_the_last_element_of_one(outputs: int) -> None:
    for seed in range(50):
        runs = plan(outputs, random.Random(seed))
        changed = [order for order in runs if order.change]
        assert {order.output for order in changed} == set(range(outputs))
        assert {order.place for order in changed} == set(Place)
        assert {order.kind for order in changed} == set(Kind)
        assert sum(not order.change for order in runs) == 2


def test_the_order_of_the_runs_is_any() -> None:
    orders = {tuple(order.change for order in plan(1, random.Random(seed))) for seed in range(200)}
    assert len(orders) > 40  # of 55 combinations


def test_a_seed_makes_the_same_runs_again() -> None:
    assert plan(2, random.Random("7/silu/program")) == plan(2, random.Random("7/silu/program"))


# ---- the change, for every type ----

SHAPED = """\
format = 1
name = "shaped"
title = "Shapes"

[signature]
entry = "shaped"

[[signature.arguments]]
name = "first"
type = "{type}"
shape = ["rows", "cols"]
role = "inout"

[[signature.arguments]]
name = "second"
type = "{type}"
shape = ["max(rows, 2) - 1", "2 ** 2 * cols // 3", "rows % 4"]
role = "out"
memory = "host"

[[signature.arguments]]
name = "rows"
type = "int32"

[[signature.arguments]]
name = "cols"
type = "int64"

[[kernels]]
name = "shaped"
title = "Shapes"
files = {{ cuda = "shaped.cu" }}
points = {{ correctness = 1 }}

[program]
points = 1

[tolerance]
exact = true

[[cases]]
sizes = {{ rows = 7, cols = 5 }}
"""
WRITES_SECOND = """\
#include <cstring>
#include "shaped.h"
void shaped({c}*, {c}* second, int, long long) {{ std::memset(second, {fill}, 108 * sizeof({c})); }}
"""
# Its exit code says which element was changed: 1 + element of either array.
FINDS_IT = """\
#include <cstdio>
#include <cstring>
#include "shaped.h"
int main()
{{
    {c} first[7 * 5], second[6 * 6 * 3], zero[108];
    std::memset(zero, {fill}, sizeof zero);
    std::memcpy(first, zero, sizeof first);
    std::memset(second, {fill} ^ 0x11, sizeof second);
    {c}* d_first;
    cudaMalloc(&d_first, sizeof first);
    cudaMemcpy(d_first, first, sizeof first, cudaMemcpyHostToDevice);
    shaped(d_first, second, 7, 5);
    cudaMemcpy(first, d_first, sizeof first, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 35; ++i)
        if (std::memcmp(first + i, zero, sizeof *zero)) return 1 + i;
    for (int i = 0; i < 108; ++i)
        if (std::memcmp(second + i, zero, sizeof *zero)) return 100 + i;
    return 0;
}}
"""


@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.parametrize(
    ("kind", "c"),
    slow_unless(
        {("int8", "signed char")}.__contains__,
        [
            ("float16", "__half"),
            ("float32", "float"),
            ("float64", "double"),
            ("int8", "signed char"),
            ("int32", "int"),
            ("int64", "long long"),
        ],
    ),
)
@pytest.mark.parametrize(
    "fill",
    [
        pytest.param(0, id="zero"),
        pytest.param(0x7F, id="huge", marks=pytest.mark.slow),
        pytest.param(0xFF, id="all-bits", marks=pytest.mark.slow),
    ],
)
def test_one_element_is_changed_in_every_type_and_shape(
    tmp_path: Path, kind: str, c: str, fill: int
) -> None:
    folder = tmp_path / "shaped"
    folder.mkdir()
    (folder / "assignment.toml").write_text(SHAPED.format(type=kind))
    shutil.copy(REPOSITORY / "assignments" / "silu" / "oracle.py", folder)
    assignment = read_assignment(folder)
    main = SourceFile(path="main.cu", text=FINDS_IT.format(c=c, fill=fill))
    part = build_main(assignment, main, CPU)
    assert isinstance(part, Built), part
    kernel = SourceFile(path="shaped.cu", text=WRITES_SECOND.format(c=c, fill=fill))
    built = build_program(assignment, main, part, kernel, CPU)
    assert isinstance(built, Built), built
    judged = run(assignment, built, seed=fill)
    assert judged.diagnosis.verdict is Verdict.ACCEPTED, judged.diagnosis
    assert judged.evidence is not None
    for done in judged.evidence.runs:
        assert len(done.element) == {"first": 2, "second": 3}[done.array]
        linear = 0
        for position, extent in zip(
            done.element, {"first": (7, 5), "second": (6, 6, 3)}[done.array], strict=True
        ):
            linear = linear * extent + position
        base = {"first": 1, "second": 100}[done.array]
        first = 0 if "all of" in done.message or "elements of" in done.message else linear
        assert done.exit_code == (base + first if done.changed else 0), done


# ---- through the whole grader ----


def hand_in(folder: Path, *, main: str | None, kernel: str | None = KERNEL) -> Path:
    if main is not None:
        (folder / "main.cu").write_text(main)
    if kernel is not None:
        (folder / "silu.cu").write_text(kernel)
    return folder


def report_of(assignment: Assignment, folder: Path, **options: object) -> Report:
    asked = Options(**options)  # type: ignore[arg-type]  # the fields are Options' own
    return grade(assignment, read_submission(folder, assignment), asked, Progress())


def entry(report: Report) -> KernelResult:
    return next(kernel for kernel in report.kernels if kernel.name == "main")


def check_of(report: Report) -> CheckResult:
    return next(check for check in entry(report).checks if check.check is CheckName.PROGRAM)


RIGHT = own_programs.ACCEPTED["right"]
WRONG_KERNEL = KERNEL.replace("1.0f +", "2.0f +")


@pytest.mark.usefixtures("no_nvcc")
def test_it_is_an_entry_of_the_report(silu: Assignment, tmp_path: Path) -> None:
    report = report_of(silu, hand_in(tmp_path, main=RIGHT))
    main = entry(report)
    assert (main.title, main.file, main.language) == (
        "Your own program",
        "main.cu",
        Language.CUDA,
    )
    assert [check.check for check in main.checks] == [CheckName.BUILD, CheckName.PROGRAM]
    assert (main.verdict, main.score, main.max_score) == (Verdict.ACCEPTED, 10.0, 10.0)
    assert (report.verdict, report.score, report.max_score) == (
        Verdict.ACCEPTED,
        RIGHT_KERNEL + 10.0,
        100.0,
    )
    assert (report.handed_in, report.kernels_total, report.filtered) == (2, 2, False)
    evidence = check_of(report).evidence
    assert isinstance(evidence, ProgramEvidence)
    assert (evidence.kernel, evidence.origin, evidence.runs_total) == ("silu", "judge", 16)
    assert sum(done.changed for done in evidence.runs) == 14


@pytest.mark.usefixtures("no_nvcc")
def test_a_program_that_cannot_tell_takes_its_own_points_only(
    silu: Assignment, tmp_path: Path
) -> None:
    text = own_programs.REJECTED["always_says_right"][0]
    report = report_of(silu, hand_in(tmp_path, main=text))
    assert (report.verdict, report.score) == (Verdict.WRONG_ANSWER, RIGHT_KERNEL)


# As docs/security.md says, the shim's orders are in the program's own memory.
SEARCHES_ITS_MEMORY = """\
#include <cstdint>
#include "silu.h"
extern "C" char __bss_start, _end;
int main()
{
    float *x, *y;
    cudaMalloc(&x, 4);
    cudaMalloc(&y, 4);
    cudaMemset(x, 0, 4);
    silu(x, y, 1);
    const uintptr_t end = (uintptr_t)&_end - 7 * sizeof(uint64_t);
    for (uintptr_t at = ((uintptr_t)&__bss_start + 7) & ~7ull; at <= end; at += 8) {
        const uint64_t* o = (const uint64_t*)at;
        const double slight = *(const double*)(at + 6 * sizeof(uint64_t));
        // token, change, output, place, pick, kind
        if (o[0] >> 32 && o[1] <= 1 && o[2] == 0 && o[3] <= 7 && o[4] && o[5] <= 8 &&
            slight > 1e-4 && slight < 0.1)
            return (int)o[1];
    }
    return 77;
}
"""


@pytest.mark.slow
@pytest.mark.usefixtures("no_nvcc")
def test_staff_are_shown_what_a_program_needs_to_search_its_memory(
    silu: Assignment, tmp_path: Path
) -> None:
    main = entry(report_of(silu, hand_in(tmp_path, main=SEARCHES_ITS_MEMORY)))
    shown = [check for check in main.checks if isinstance(check.evidence, RulesEvidence)]
    assert [check.visibility for check in shown] == [Visibility.HIDDEN]
    assert "the source contains `__bss_start`" in shown[0].evidence.flags  # type: ignore[union-attr]
    assert main.verdict is Verdict.ACCEPTED, "it still wins: nothing is claimed that is not so"


@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.parametrize("main", [None, "stub"])
def test_no_program_is_not_submitted(silu: Assignment, tmp_path: Path, main: str | None) -> None:
    stub = (REPOSITORY / "student_template/silu/main.cu").read_text()
    report = report_of(silu, hand_in(tmp_path, main=stub if main else None))
    assert entry(report).verdict is Verdict.NOT_SUBMITTED
    assert (report.verdict, report.score, report.handed_in) == (Verdict.ACCEPTED, RIGHT_KERNEL, 1)
    message = entry(report).checks[0].message
    assert message.startswith("main.cu: the stub as handed out" if main else "no main.cu")


@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.parametrize(
    ("kernel", "phrase"),
    [
        (None, "needs your kernel in CUDA C++, which was not handed in"),
        (WRONG_KERNEL, "needs a kernel in CUDA C++ that is right on all cases: silu.cu is not"),
        ("no C++", "silu.cu is not"),
    ],
    ids=["absent", "wrong", "not-compiled"],
)
def test_without_a_right_kernel_it_is_skipped(
    silu: Assignment, tmp_path: Path, kernel: str | None, phrase: str
) -> None:
    report = report_of(silu, hand_in(tmp_path, main=RIGHT, kernel=kernel))
    check = check_of(report)
    assert (check.verdict, check.score) == (Verdict.SKIPPED, 0.0)
    assert phrase in check.message


@pytest.mark.usefixtures("no_nvcc")
def test_a_kernel_that_cannot_be_judged_here_leaves_its_points_pending(
    silu: Assignment, tmp_path: Path
) -> None:
    inline = KERNEL.replace(
        "if (i < n)", 'asm volatile("wgmma.fence.sync.aligned;");\n    if (i < n)'
    )
    check = check_of(report_of(silu, hand_in(tmp_path, main=RIGHT, kernel=inline)))
    assert (check.verdict, check.score, check.pending) == (Verdict.NOT_MEASURED, 0.0, 10.0)


@pytest.mark.slow
@pytest.mark.usefixtures("no_nvcc")
def test_the_last_right_kernel_of_a_ladder_serves(silu: Assignment, tmp_path: Path) -> None:
    points = {CheckName.CORRECTNESS: 1.0}
    rungs = tuple(
        Kernel(name=name, title=name, files={Language.CUDA: f"{name}.cu"}, points=points)
        for name in ("v1", "v2", "v3")
    )
    ladder = replace(silu, kernels=rungs)
    for name, text in (("v1", KERNEL), ("v2", KERNEL), ("v3", WRONG_KERNEL)):
        (tmp_path / f"{name}.cu").write_text(text)
    hand_in(tmp_path, main=RIGHT, kernel=None)
    for options in ({}, {"kernels": frozenset({"main"})}):
        check = check_of(report_of(ladder, tmp_path, **options))
        assert check.verdict is Verdict.ACCEPTED
        assert isinstance(check.evidence, ProgramEvidence)
        assert check.evidence.kernel == "v2"
        assert "accepts v2.cu" in check.message


@pytest.mark.usefixtures("no_nvcc")
@pytest.mark.parametrize(
    ("options", "names", "checks"),
    slow_unless(
        lambda case: case[1] in (["main"], ["silu"]),
        [
            ({"kernels": {"main"}}, ["main"], ["build", "program"]),
            ({"kernels": {"silu"}}, ["silu"], None),
            ({"languages": {Language.TRITON}}, ["silu"], None),
            ({"languages": {Language.CUDA}}, ["silu", "main"], ["build", "program"]),
            ({"checks": {CheckName.PROGRAM}}, ["silu", "main"], ["build", "program"]),
            ({"checks": {CheckName.BUILD}}, ["silu", "main"], ["build"]),
            ({"checks": {CheckName.CORRECTNESS}}, ["silu"], None),
        ],
    ),
    ids=str,
)
def test_a_filter_leaves_it_out_or_grades_what_it_needs(
    silu: Assignment,
    tmp_path: Path,
    options: dict[str, set[str]],
    names: list[str],
    checks: list[str] | None,
) -> None:
    asked = {key: frozenset(value) for key, value in options.items()}
    report = report_of(silu, hand_in(tmp_path, main=RIGHT), **asked)
    assert report.filtered
    assert [kernel.name for kernel in report.kernels] == names
    if checks is not None:
        main = entry(report)
        assert main.verdict is Verdict.ACCEPTED
        assert [str(check.check) for check in main.checks] == checks


# ---- on a GPU ----


@pytest.mark.gpu
@pytest.mark.xdist_group("gpu")
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("right", "accepted"),
        ("managed_memory", "accepted"),
        ("ignores_a_failed_copy", "wrong_answer"),
        ("ignores_a_failed_launch", "wrong_answer"),
        ("always_says_right", "wrong_answer"),
        ("leaves_out_the_last", "wrong_answer"),
        ("compares_two_calls", "wrong_answer"),
        ("never_calls", "wrong_answer"),
        ("loops_for_ever", "time_limit"),
    ],
)
def test_on_a_gpu(first_gpu: Gpu, tmp_path: Path, name: str, verdict: str) -> None:
    assignment = read_assignment(REPOSITORY / "assignments" / "silu")
    programs = own_programs.ACCEPTED | {k: v[0] for k, v in own_programs.REJECTED.items()}
    report = report_of(assignment, hand_in(tmp_path, main=programs[name]), gpu=first_gpu)
    check = check_of(report)
    assert check.verdict == verdict, check


@pytest.fixture(autouse=True)
def forgotten_tools() -> Iterator[None]:
    """Clear the search's cache, because `no_nvcc` hides a tool."""
    yield
    toolchain.clear_cache()
