"""Sample reports: one for each verdict, and some special ones.

All are valid: `test_report` validates them against the schema.
"""

from __future__ import annotations

from dataclasses import replace

from grader.checks.common.findings import describe, hint
from grader.report.evidence import (
    BenchmarkTiming,
    BoundedCount,
    BrokenRule,
    BuildEvidence,
    CaseResult,
    CorrectnessEvidence,
    CounterFigure,
    CounterLine,
    CountersEvidence,
    Diagnostic,
    Finding,
    FindingKind,
    MemoryEvidence,
    Mismatch,
    PerformanceEvidence,
    ProgramEvidence,
    ProgramRun,
    RulesEvidence,
    TierShown,
    ToolRun,
)
from grader.report.model import CheckResult, KernelResult, Report
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Language, Visibility

NAN = float("nan")
SIZES = (1, 31, 32, 33, 1000, 1023, 1024, 1025, 5003)
ENVIRONMENT: dict[str, str | int | float | None] = {
    "device": "cpu",
    "gpu": None,
    "torch": "2.13.0",
    "triton": "3.9.0",
    "python": "3.11.7",
    "sandbox": "full",
}
ANSI = "\x1b[31mred\x1b[0m \x1b]0;owned\x07 \x1b[2J\x1b[1;1H"
HOSTILE = f"{ANSI}[bold red]markup[/] \0NUL evil\u202egnp.exe\rback \x9b5m \u200b{'A' * 300}"


def case(n: int, **changes: object) -> CaseResult:
    right = CaseResult(
        name=f"n={n}",
        visibility=Visibility.VISIBLE,
        sizes={"n": n},
        verdict=Verdict.ACCEPTED,
        message="all elements are right",
        elements=n,
        max_error=5.9e-8,
        wall_s=0.004,
    )
    return replace(right, **changes)  # type: ignore[arg-type]  # the fields are checked by the schema


def wrong_case(n: int, **changes: object) -> CaseResult:
    wrong = case(
        n,
        verdict=Verdict.WRONG_ANSWER,
        message=f"8 of {n} elements are wrong: only the last 8 elements",
        hint="does the grid cover the last, incomplete block?",
        mismatched=8,
        mismatches=tuple(
            Mismatch(
                output="output",
                index=(n - 8 + i,),
                expected=1.7615942 + i / 10,
                actual=(NAN, float("inf"), 0.0, -0.0, 1.76159)[i],
                allowed=1.2e-5,
            )
            for i in range(5)
        ),
        pattern="only the last 8 elements",
        max_error=None,
    )
    return replace(wrong, **changes)  # type: ignore[arg-type]


def correctness(cases: tuple[CaseResult, ...], *, output: str = "") -> CorrectnessEvidence:
    return CorrectnessEvidence(
        cases=cases,
        cases_total=len(SIZES),
        atol=1e-6,
        rtol=1e-5,
        exact=False,
        transport="shared",
        output=output,
    )


def build(**changes: object) -> CheckResult:
    done = CheckResult(
        check=CheckName.BUILD,
        name="build",
        verdict=Verdict.ACCEPTED,
        score=0.0,
        max_score=0.0,
        message="compiled for the host with g++ 12.2.0",
        wall_s=0.8,
        evidence=BuildEvidence(tool="g++ 12.2.0", cached=False),
    )
    return replace(done, **changes)  # type: ignore[arg-type]


def visible(**changes: object) -> CheckResult:
    right = CheckResult(
        check=CheckName.CORRECTNESS,
        name="correctness",
        verdict=Verdict.ACCEPTED,
        score=40.0,
        max_score=40.0,
        message="9 of 9 cases are right",
        wall_s=0.4,
        evidence=correctness(tuple(map(case, SIZES))),
    )
    return replace(right, **changes)  # type: ignore[arg-type]


def hidden(**changes: object) -> CheckResult:
    cases = tuple(case(n, visibility=Visibility.HIDDEN) for n in SIZES)
    right = CheckResult(
        check=CheckName.CORRECTNESS,
        name="correctness, hidden",
        verdict=Verdict.ACCEPTED,
        score=20.0,
        max_score=20.0,
        visibility=Visibility.HIDDEN,
        message="9 of 9 cases are right",
        wall_s=0.4,
        evidence=correctness(cases),
    )
    return replace(right, **changes)  # type: ignore[arg-type]


def unmeasured() -> CheckResult:
    return CheckResult(
        check=CheckName.PERFORMANCE,
        name="performance",
        verdict=Verdict.NOT_MEASURED,
        score=0.0,
        max_score=20.0,
        pending=20.0,
        message="needs a GPU",
        hint="grade it on a machine with an NVIDIA GPU",
    )


def finding(kind: FindingKind, line: int | None, **changes: object) -> Finding:
    found = Finding(
        kind=kind,
        severity="error",
        message=f"this is {kind}",
        hint=hint(kind),
        file="silu.cu",
        line=line,
        kernel="silu_kernel",
        block=(3, 0, 0),
        thread=(232, 0, 0),
        buffer="output",
        tool="memcheck",
    )
    return replace(found, **changes)  # type: ignore[arg-type]


def memory_evidence(*findings: Finding, **changes: object) -> MemoryEvidence:
    count = sum(found.count for found in findings)
    evidence = MemoryEvidence(
        tools=(ToolRun(tool="host device", findings=count, wall_s=0.2),),
        cases=("n=1", "n=33", "n=1000"),
        findings=findings,
        findings_total=len(findings),
    )
    return replace(evidence, **changes)  # type: ignore[arg-type]


def memory(**changes: object) -> CheckResult:
    right = CheckResult(
        check=CheckName.MEMORY,
        name="memory",
        verdict=Verdict.ACCEPTED,
        score=25.0,
        max_score=25.0,
        message="no memory errors",
        wall_s=0.2,
        evidence=memory_evidence(),
    )
    return replace(right, **changes)  # type: ignore[arg-type]


def faulty(*findings: Finding, **changes: object) -> CheckResult:
    """Return the memory check of a kernel with these findings, errors first."""
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    wrong = memory(
        verdict=Verdict.MEMORY_ERROR,
        score=0.0,
        message=describe(findings[0]) + more,
        hint=findings[0].hint,
        evidence=memory_evidence(*findings),
    )
    return replace(wrong, **changes)  # type: ignore[arg-type]


def counter_line(line: int | None, transactions: int, **changes: object) -> CounterLine:
    """Return a line of 2560 requests that need 10240 sectors."""
    coalesced = CounterLine(
        file="v3_shared_tile.cu",
        line=line,
        kernel="transpose_kernel",
        space="global",
        access="load",
        access_bytes=4,
        requests=2560,
        transactions=transactions,
        least=10240,
        per_request=transactions / 2560,
        ratio=transactions / 10240,
    )
    return replace(coalesced, **changes)  # type: ignore[arg-type]


# A tiled transpose that writes columns: every figure except loads is bad.
COUNTED = CountersEvidence(
    tool="host device",
    case="rows=256, cols=320",
    launches=1,
    figures=(
        CounterFigure(name="load_sectors", unit="sectors", measured=10240, least=10240, ratio=1.0),
        CounterFigure(
            name="store_sectors",
            unit="sectors",
            measured=81920,
            least=10240,
            ratio=8.0,
            allowed=1.1,
        ),
        CounterFigure(
            name="shared_wavefronts",
            unit="wavefronts",
            measured=84480,
            least=5120,
            ratio=16.5,
            allowed=None,
        ),
        CounterFigure(
            name="traffic", unit="bytes", measured=2949120, least=655360, ratio=4.5, allowed=1.2
        ),
    ),
    lines=(
        counter_line(31, 81920, access="load", ratio=32.0, space="shared", least=2560),
        counter_line(31, 81920, access="store"),
        counter_line(24, 10240),
        counter_line(24, 2560, access="store", ratio=1.0, space="shared", least=2560),
    ),
    lines_total=4,
)


LAUNCHED = replace(
    COUNTED,
    counts=(
        BoundedCount(name="launches", counted=26797, at_most=4),
        BoundedCount(name="registers", counted=None, at_least=1, at_most=64),
    ),
)


def counters(**changes: object) -> CheckResult:
    slow = CheckResult(
        check=CheckName.COUNTERS,
        name="counters",
        verdict=Verdict.TOO_SLOW,
        score=0.0,
        max_score=10.0,
        message="v3_shared_tile.cu:31: 32.0 sectors per store request, 4.0 would do; in all, "
        "stores take 8.00 times the fewest, the assignment allows 1.1 (and 1 more broken)",
        hint="let neighbouring threads write neighbouring addresses: threadIdx.x goes with the "
        "index that runs along a row of the array that is written",
        wall_s=0.1,
        evidence=COUNTED,
    )
    return replace(slow, **changes)  # type: ignore[arg-type]


def skipped(check: CheckName, name: str, points: float, after: str) -> CheckResult:
    return CheckResult(
        check=check,
        name=name,
        verdict=Verdict.SKIPPED,
        score=0.0,
        max_score=points,
        message=f"skipped, because {after} failed",
    )


def kernel(*checks: CheckResult, verdict: Verdict, **changes: object) -> KernelResult:
    unknown = any(check.score is None for check in checks)
    entry = KernelResult(
        name="silu",
        title="SiLU",
        language=Language.CUDA,
        file="silu.cu",
        counted=True,
        verdict=verdict,
        score=None if unknown else sum(check.score or 0.0 for check in checks),
        max_score=sum(check.max_score for check in checks),
        pending=sum(check.pending for check in checks),
        checks=checks,
    )
    return replace(entry, **changes)  # type: ignore[arg-type]


def report(*kernels: KernelResult, **changes: object) -> Report:
    counted = next(entry for entry in kernels if entry.counted)
    whole = Report(
        assignment="silu",
        title="SiLU",
        verdict=counted.verdict,
        score=counted.score,
        max_score=counted.max_score,
        pending=counted.pending,
        handed_in=1,
        kernels_total=1,
        filtered=False,
        wall_s=3.21,
        environment=ENVIRONMENT,
        kernels=kernels,
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


def accepted() -> Report:
    """Both languages are right, on a machine without a GPU; the first counts."""
    cuda = kernel(build(), visible(), hidden(), verdict=Verdict.ACCEPTED)
    triton_build = build(
        message="built with Python 3.13.1",
        evidence=BuildEvidence(tool="triton 3.9.0", cached=False, origin="worker"),
    )
    triton = kernel(
        triton_build,
        visible(),
        hidden(),
        verdict=Verdict.ACCEPTED,
        language=Language.TRITON,
        file="silu.py",
        counted=False,
    )
    return report(cuda, triton)


def wrong_answer() -> Report:
    cases = (
        *map(case, SIZES[:3]),
        wrong_case(33),
        wrong_case(1000, message="some elements are wrong", pattern=None, max_error=1.76),
        wrong_case(1025),
    )
    seen = visible(
        verdict=Verdict.WRONG_ANSWER,
        score=0.0,
        message="3 of 9 cases are right",
        hint="does the grid cover the last, incomplete block?",
        evidence=correctness(cases, output="block 0\nblock 1\n"),
    )
    unseen = hidden(
        verdict=Verdict.WRONG_ANSWER,
        score=0.0,
        message="0 of 9 cases are right, n=77777 is not",
        hint="n=77777 is odd",
        evidence=correctness(
            tuple(
                wrong_case(
                    n,
                    visibility=Visibility.HIDDEN,
                    max_error=error,
                    message="all are wrong",
                    pattern=None,
                    mismatched=n,
                )
                for n, error in ((77777, 0.25), (88888, None), (99999, 1.5))
            ),
            output="n=77777\n",
        ),
    )
    return report(kernel(build(), seen, unseen, unmeasured(), verdict=Verdict.WRONG_ANSWER))


def compile_error() -> Report:
    diagnostics = (
        Diagnostic(
            file="silu.cu",
            line=14,
            column=7,
            severity="warning",
            message="unused variable 'i' [-Wunused-variable]",
        ),
        Diagnostic(file="silu.cu", line=17, column=33, message="expected ';' before '}' token"),
        Diagnostic(file="silu.cu", line=None, message="'blokDim' was not declared in this scope"),
    )
    failed = build(
        verdict=Verdict.COMPILE_ERROR,
        message="silu.cu does not compile",
        hint="fix the first error first: the others may follow from it",
        evidence=BuildEvidence(
            tool="g++ 12.2.0",
            cached=False,
            diagnostics=diagnostics,
            diagnostics_total=14,
            output="".join(f"silu.cu: line {i} of the log\n" for i in range(52)),
        ),
    )
    return report(
        kernel(
            failed,
            skipped(CheckName.CORRECTNESS, "correctness", 40.0, "build"),
            verdict=Verdict.COMPILE_ERROR,
        )
    )


def memory_error() -> Report:
    """Findings of every kind from several tools, one of which could not run."""
    findings = (
        finding(
            "out_of_bounds",
            14,
            message="the access is past the end of its buffer: a read of `input`[1000] of 1000 "
            "elements, kernel silu_kernel, block (3,0,0), thread (232,0,0)",
            buffer="input",
            element=1000,
            access="read",
            access_bytes=4,
            count=1716,
            tool="host device",
        ),
        finding(
            "out_of_bounds",
            15,
            message="Invalid __global__ write of size 4 bytes",
            element=-1,
            access="write",
            access_bytes=4,
        ),
        finding(
            "misaligned",
            17,
            message="the address is no multiple of 16",
            block=(0, 1, 0),
            thread=(0, 0, 1),
            buffer="input",
            element=1,
            access="read",
            access_bytes=16,
        ),
        finding(
            "race",
            21,
            message="threads of one block access one location without a barrier between",
            other_line=24,
            buffer="tile",
            element=0,
            access="write",
            access_bytes=4,
            count=2,
            tool="racecheck",
        ),
        finding(
            "uninitialized",
            24,
            message="shared memory is read before this block has written it",
            buffer="tile",
            tool="initcheck",
        ),
        finding(
            "barrier",
            26,
            message="not all threads of the block come to this barrier",
            buffer=None,
            tool="synccheck",
        ),
        finding(
            "invalid_copy",
            31,
            message="a copy runs past the end of a buffer",
            kernel=None,
            block=None,
            thread=None,
        ),
        finding(
            "leak",
            None,
            message="device memory is never freed",
            kernel=None,
            block=None,
            thread=None,
            buffer="scratch",
            count=3,
        ),
        finding(
            "race",
            40,
            severity="warning",
            message="threads write one location without order, all of them the same value",
            thread=None,
            access="atomic",
        ),
    )
    broken = ToolRun(tool="racecheck", findings=0, wall_s=0.1, problem="the device was refused")
    checked = faulty(
        *findings,
        evidence=memory_evidence(
            *findings,
            findings_total=23,
            tools=(
                *memory_evidence(*findings).tools,
                broken,
                replace(broken, tool="synccheck"),
                replace(broken, tool="initcheck", problem="it ended with exit code 255"),
            ),
            output="========= ERROR SUMMARY: 0 errors\n",
        ),
    )
    return report(kernel(build(), visible(), checked, verdict=Verdict.MEMORY_ERROR))


def memory_warning() -> Report:
    """An accepted kernel with warnings; in Triton nothing could be checked."""
    warning = finding(
        "out_of_bounds",
        9,
        severity="warning",
        message="an array index runs over the end of its row",
        buffer="tile",
        element=32,
    )
    warned = memory(
        message="no memory errors, 1 warning",
        hint=describe(warning),
        evidence=memory_evidence(warning, output="block 0\n"),
    )
    reason = "the executor cannot run tt.dot_scaled"
    unseen = memory(
        verdict=Verdict.NOT_MEASURED,
        score=0.0,
        pending=25.0,
        message=reason,
        evidence=memory_evidence(
            tools=(ToolRun(tool="executor", findings=0, wall_s=0.1, problem=reason),)
        ),
    )
    cuda = kernel(build(), visible(), warned, verdict=Verdict.ACCEPTED)
    triton = replace(
        kernel(build(), visible(), unseen, verdict=Verdict.ACCEPTED),
        language=Language.TRITON,
        file="silu.py",
        counted=False,
    )
    return report(cuda, triton)


def own_program() -> Report:
    """A right kernel, and a main.cu that compares all elements but the last."""
    runs = (
        ProgramRun(
            changed=False,
            verdict=Verdict.ACCEPTED,
            message="main.cu accepted the right output (exit code 0)",
            calls=2,
            array="output",
            element=(41,),
            exit_code=0,
            signal=None,
            wall_s=0.1,
            output="PASS\n",
        ),
        ProgramRun(
            changed=True,
            verdict=Verdict.WRONG_ANSWER,
            message="main.cu accepted the output (exit code 0), but `output[999]` was changed from "
            "9.99 to -45.95",
            calls=2,
            array="output",
            element=(999,),
            exit_code=0,
            signal=None,
            wall_s=0.1,
            output="block 0\nPASS\n",
        ),
    )
    check = CheckResult(
        check=CheckName.PROGRAM,
        name="program",
        verdict=Verdict.WRONG_ANSWER,
        score=0.0,
        max_score=10.0,
        message=runs[-1].message,
        hint="copy the output back, and compare every element, including the last",
        wall_s=0.2,
        evidence=ProgramEvidence(kernel="silu", runs=runs, runs_total=4),
    )
    main = kernel(
        build(),
        check,
        verdict=Verdict.WRONG_ANSWER,
        name="main",
        title="Your own program",
        file="main.cu",
    )
    right = kernel(build(), visible(), verdict=Verdict.ACCEPTED)
    return report(
        right,
        main,
        verdict=Verdict.WRONG_ANSWER,
        max_score=50.0,
        handed_in=2,
        kernels_total=2,
    )


def forbidden() -> Report:
    broken = BrokenRule(
        rule="library",
        message="the result is computed by a library, not by a kernel of yours",
        names=("cublasSgemm_v2",),
    )
    rules = CheckResult(
        check=CheckName.RULES,
        name="rules",
        verdict=Verdict.FORBIDDEN,
        score=0.0,
        max_score=0.0,
        message=f"silu.cu: {broken.message} (cublasSgemm_v2)",
        hint="remove it: this kernel must be written by hand",
        evidence=RulesEvidence(broken=(broken,), flags=("the source contains `cublas`",)),
    )
    unearned = visible(score=0.0, message="4 of 4 cases right; no points: the kernel breaks a rule")
    return report(
        kernel(build(), unearned, rules, verdict=Verdict.FORBIDDEN), verdict=Verdict.FORBIDDEN
    )


def flagged() -> Report:
    rules = CheckResult(
        check=CheckName.RULES,
        name="rules",
        verdict=Verdict.ACCEPTED,
        score=0.0,
        max_score=0.0,
        message="no broken rule was found",
        visibility=Visibility.HIDDEN,
        evidence=RulesEvidence(broken=(), flags=("the source contains `/proc/`",)),
    )
    return report(kernel(build(), visible(), rules, verdict=Verdict.ACCEPTED))


def grader_error() -> Report:
    broken = visible(
        verdict=Verdict.GRADER_ERROR,
        score=None,
        message="the oracle raised ZeroDivisionError",
        evidence=None,
    )
    return report(kernel(build(), broken, verdict=Verdict.GRADER_ERROR))


def not_submitted() -> Report:
    absent = KernelResult(
        name="silu",
        title="SiLU",
        language=None,
        file=None,
        counted=True,
        verdict=Verdict.NOT_SUBMITTED,
        score=0.0,
        max_score=60.0,
        pending=0.0,
    )
    return report(absent, handed_in=0)


def ladder() -> Report:
    """Several kernels, one of them an untouched stub, in a partial run."""
    first = kernel(
        build(), visible(), verdict=Verdict.ACCEPTED, name="v1_row_wise", title="V1 row-wise"
    )
    absent = replace(
        not_submitted().kernels[0], name="v4_padded", title="V4 padded", max_score=40.0
    )
    return report(
        first,
        absent,
        assignment="transpose",
        title="Transpose",
        max_score=80.0,
        handed_in=1,
        kernels_total=2,
        filtered=True,
    )


def performance() -> CheckResult:
    """A kernel at half the speed of torch, on two sizes, on a GPU of 4 TB/s."""
    timings = tuple(
        BenchmarkTiming(
            name=f"n={n}",
            sizes={"n": n},
            baseline_us=baseline_us,
            submission_us=submission_us,
            speedup=round(baseline_us / submission_us, 4),
            low=round(baseline_us / submission_us - 0.004, 4),
            high=round(baseline_us / submission_us + 0.003, 4),
            speedups=tuple(round(baseline_us / submission_us + k / 1000, 4) for k in range(-3, 4)),
            rounds=7,
            discarded=1,
            calls_per_round=240,
            overhead_us=61.5,
            baseline_alone_us=baseline_us - 0.4,
            gb_s=round(8 * n / submission_us / 1e3, 1),
            tflop_s=None,
            roof_share=round(8 * n / submission_us / 1e3 / 3940, 4),
            peak_share=None,
        )
        for n, baseline_us, submission_us in ((1 << 26, 130.2, 251.0), (1 << 27, 259.8, 499.0))
    )
    return CheckResult(
        check=CheckName.PERFORMANCE,
        name="performance",
        verdict=Verdict.TOO_SLOW,
        score=5.0,
        max_score=20.0,
        message="0.52 times as fast as torch (0.515 to 0.523)",
        hint="the next tier is at 0.9, or at 0.85 of the copy's bandwidth",
        wall_s=7.9,
        evidence=PerformanceEvidence(
            benchmarks=timings,
            speedup=0.5197,
            low=0.515,
            high=0.523,
            roof=0.5445,
            roof_low=0.5391,
            roof_high=0.5473,
            roof_kind="copy",
            tiers=(
                TierShown(speedup=0.5, share=0.25, accepted=False, reached=True),
                TierShown(speedup=0.9, roof=0.85, share=1.0, accepted=True, reached=False),
            ),
            share=0.25,
            reached_by="torch",
            roof_gb_s=3940.0,
            sm_mhz=1980,
            memory_mhz=3201,
            temperature_c=48,
            throttle_reasons=("software power cap",),
            flags=(),
        ),
    )


def too_slow() -> Report:
    slow = kernel(build(), visible(), performance(), verdict=Verdict.TOO_SLOW)
    return report(slow)


def too_slow_by_counters() -> Report:
    """A right transpose whose stores are not coalesced; Triton has no bounds."""
    cuda = kernel(
        build(),
        visible(),
        counters(),
        verdict=Verdict.TOO_SLOW,
        name="v3_shared_tile",
        file="v3_shared_tile.cu",
    )
    reported = counters(
        verdict=Verdict.ACCEPTED,
        score=10.0,
        message="loads 1.00×, stores 8.00×, traffic 4.50× the least; "
        "16.50× the shared wavefronts by bank conflicts; "
        "most in line 31: 32.0 sectors per store request, 4.0 would do",
        hint="",
    )
    triton = replace(
        kernel(build(), visible(), reported, verdict=Verdict.ACCEPTED),
        name="v3_shared_tile",
        language=Language.TRITON,
        file="v3_shared_tile.py",
        counted=False,
    )
    return report(cuda, triton, assignment="transpose", title="Transpose")


def hostile() -> Report:
    """A submission that tries to control the reader's terminal."""
    cases = (
        wrong_case(
            33,
            message=HOSTILE,
            hint=HOSTILE,
            pattern="[link=file:///etc/passwd]pattern[/link]",
            mismatches=(
                Mismatch(
                    output="[red]", index=(0, 1, 2), expected=1e300, actual=-NAN, allowed=1e-300
                ),
            ),
        ),
    )
    output = f"{HOSTILE}\n" + "".join(f"[blink]line {i}[/blink]\n" for i in range(5000))
    seen = visible(
        verdict=Verdict.WRONG_ANSWER,
        score=0.0,
        message=f"[red]{ANSI}",
        hint="\x1b[8mhidden hint",
        evidence=correctness(cases, output=output),
    )
    diagnostic = Diagnostic(
        file="\x1b[1m[b]silu.cu", line=3, severity="warning", message=f"{HOSTILE}\nsecond line"
    )
    built = build(
        message="built\nwith\0warnings",
        evidence=BuildEvidence(
            tool="g++",
            cached=True,
            diagnostics=(diagnostic,),
            diagnostics_total=1,
            output=HOSTILE,
        ),
    )
    fault = finding(
        "race",
        3,
        message=HOSTILE,
        hint=HOSTILE,
        file=f"{ANSI}.cu",
        kernel="[red]k\x1b[0m",
        buffer="tile\0\u202e",
        tool="\x1b]0;tool\x07",
    )
    unsafe = faulty(
        fault,
        replace(fault, line=4, severity="warning", hint="[blink]look[/blink]"),
        evidence=memory_evidence(
            fault,
            replace(fault, line=4, severity="warning", message="", hint="[blink]look[/blink]"),
            tools=(ToolRun(tool="\x1b[2Jtool", findings=1, wall_s=0.1, problem=HOSTILE),),
            output=f"========= Invalid read\n{HOSTILE}",
        ),
    )
    worst = counter_line(3, 81920, file=f"{ANSI}.cu", kernel=HOSTILE)
    costly = counters(
        message=HOSTILE, hint=HOSTILE, evidence=replace(COUNTED, tool=ANSI, lines=(worst,))
    )
    return report(
        kernel(
            built, seen, unsafe, costly, verdict=Verdict.MEMORY_ERROR, file="si\x1b[5mlu\u202e.cu"
        ),
        title="SiLU \x07[blink]",
    )


def of(verdict: Verdict) -> Report:
    """Return a report whose verdict is this one."""
    named = {
        Verdict.ACCEPTED: accepted,
        Verdict.TOO_SLOW: too_slow_by_counters,
        Verdict.WRONG_ANSWER: wrong_answer,
        Verdict.COMPILE_ERROR: compile_error,
        Verdict.MEMORY_ERROR: memory_error,
        Verdict.GRADER_ERROR: grader_error,
        Verdict.NOT_SUBMITTED: not_submitted,
    }
    if verdict in named:
        return named[verdict]()
    if verdict is Verdict.NOT_MEASURED:
        return report(kernel(unmeasured(), verdict=verdict))
    seen = visible(
        verdict=verdict,
        score=40.0 if verdict.earns_points else 0.0,
        message=f"the check ended with {verdict.phrase}",
        evidence=correctness((case(1, verdict=verdict, message=verdict.phrase),)),
    )
    return report(kernel(build(), seen, verdict=verdict))
