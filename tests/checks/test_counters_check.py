"""The counters check: bounds kept and broken, messages with line and figure, forged records.

The submissions in `counted_hand_ins/` are transposes, each named for how it uses memory; `turn/` is
their assignment.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import report_document
import torch
from shared_server import SharedServer
from slow import slow_unless

from grader.assignment.cases import Range
from grader.assignment.counter_bounds import (
    COUNTS,
    FIGURES,
    CountBound,
    CounterBounds,
    FigureName,
)
from grader.assignment.model import Assignment, Kernel, Rules
from grader.assignment.reader import read_assignment
from grader.build.artifact import Built, Checked
from grader.build.kernel_file import build_checked
from grader.checks.check import CheckOutcome
from grader.checks.common.case_run import RunSetup
from grader.checks.common.tool_run import ToolOutcome
from grader.checks.counters import count_triton
from grader.checks.counters.count import (
    CounterScoring,
    check_host_counters,
    counting_case,
    not_built,
)
from grader.checks.counters.messages import broken_bound
from grader.checks.counters.totals import AccessCounts, read_host, read_triton
from grader.gpu.nvml import Gpu
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.judge.oracle import Oracle
from grader.judge.python_server import PythonServer
from grader.report.evidence import BuildEvidence, CounterFigure, CountersEvidence
from grader.report.model import CheckResult, KernelResult, to_json
from grader.report.verdict import Verdict
from grader.submission.reader import read_submission
from grader.system import toolchain
from grader.vocabulary import CheckName, Device, Language

RNG = random.Random(0)
HAND_INS = Path(__file__).resolve().parent / "counted_hand_ins"
TURN = read_assignment(HAND_INS / "turn")


@pytest.fixture(autouse=True)
def no_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide nvcc, which would take a second for each file."""
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: None)


@pytest.fixture
def server() -> PythonServer:
    return SharedServer(Device.CPU)


@pytest.fixture
def graded(tmp_path: Path, server: PythonServer) -> Callable[..., KernelResult]:
    """Return a function that grades a submission, with other bounds or points if asked."""

    def grade_one(name: str, *, options: Options | None = None, **changes: Any) -> KernelResult:
        source = HAND_INS / name
        shutil.copyfile(source, tmp_path / f"turn{source.suffix}")
        assignment = replace(TURN, kernels=(replace(TURN.kernels[0], **changes),))
        submission = read_submission(tmp_path, assignment)
        report = grade(assignment, submission, options or Options(), Progress(), server)
        jsonschema.validate(json.loads(json.dumps(to_json(report))), report_document.schema())
        return report.kernels[0]

    return grade_one


def counters(kernel: KernelResult) -> CheckResult:
    (check,) = (check for check in kernel.checks if check.check is CheckName.COUNTERS)
    return check


def evidence(check: CheckResult) -> CountersEvidence:
    assert isinstance(check.evidence, CountersEvidence)
    return check.evidence


def ratios(check: CheckResult) -> dict[FigureName, float | None]:
    return {figure.name: figure.ratio for figure in evidence(check).figures}


def bounds(**most: float) -> dict[str, Any]:
    """Return the change of a kernel that sets only these bounds."""
    assert set(most) <= set(FIGURES)
    sizes = {"rows": 256, "cols": 232}
    return {"counters": CounterBounds(sizes=sizes, most={n: most[n] for n in FIGURES if n in most})}


# --- bounds ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_padded_tile_keeps_every_bound(graded: Callable[..., KernelResult]) -> None:
    kernel = graded("padded_tile.cu")
    check = counters(kernel)
    assert (kernel.verdict, kernel.score) == (Verdict.ACCEPTED, 100)
    assert (check.verdict, check.score, check.max_score) == (Verdict.ACCEPTED, 40, 40)
    assert ratios(check) == dict.fromkeys(FIGURES, 1.0)
    assert check.message == (
        "loads 1.00×, stores 1.00×, traffic 1.00× the least; no bank conflicts"
    )
    found = evidence(check)
    assert (found.tool, found.case, found.launches) == ("host device", "rows=256, cols=232", 1)
    assert [figure.allowed for figure in found.figures] == [1.1, 1.1, 1.1, 1.2]
    assert found.origin == "worker"


@pytest.mark.parametrize(
    ("name", "line", "message"),
    slow_unless(
        lambda row: row[0] == "uncoalesced_loads.cu",
        [
            (
                "uncoalesced_loads.cu",
                11,
                "32.0 sectors per load request, 4.0 would do; in all, loads take 8.00 times the "
                "fewest, the assignment allows 1.1 (and 1 more broken)",
            ),
            (
                "uncoalesced_stores.cu",
                10,
                "29.0 sectors per store request, 3.6 would do; in all, stores take 8.00 times the "
                "fewest, the assignment allows 1.1 (and 1 more broken)",
            ),
            (
                "bank_conflicts.cu",
                16,
                "32.0 wavefronts per shared load request, 1.0 would do; in all, shared memory "
                "takes 15.74 times the fewest, the assignment allows 1.1",
            ),
            (
                "one_thread_a_block.cu",
                8,
                "50 % of the traffic is here; kernels move 8.0 times the bytes of the arrays, the "
                "assignment allows 1.2",
            ),
        ],
    ),
)
def test_a_broken_bound_names_the_line_and_the_number(
    name: str, line: int, message: str, graded: Callable[..., KernelResult]
) -> None:
    kernel = graded(name)
    check = counters(kernel)
    assert (kernel.verdict, kernel.score, kernel.pending) == (Verdict.TOO_SLOW, 60, 0)
    assert (check.verdict, check.score) == (Verdict.TOO_SLOW, 0)
    assert check.message == f"turn.cu:{line}: {message}"
    assert check.hint
    worst = evidence(check).lines[0]
    assert (worst.file, worst.line, worst.kernel) == ("turn.cu", line, "turn_kernel")
    # The comment at the head of each submission says where its fault is.
    assert f"line {line})" in (HAND_INS / name).read_text().splitlines()[0]


@pytest.mark.parametrize(
    ("name", "figure", "ratio"),
    [
        ("uncoalesced_loads.cu", "load_sectors", 8.0),
        ("uncoalesced_stores.cu", "store_sectors", 8.0),
        ("bank_conflicts.cu", "shared_wavefronts", 15.7377),
        ("one_thread_a_block.cu", "traffic", 8.0),
    ],
)
@pytest.mark.slow
def test_each_bound_by_itself(
    name: str, figure: FigureName, ratio: float, graded: Callable[..., KernelResult]
) -> None:
    loose = {other: 1.1 for other in FIGURES if other not in (figure, "traffic")}
    kept = counters(graded(name, **bounds(**loose, **{figure: ratio + 0.01})))
    broken = counters(graded(name, **bounds(**loose, **{figure: ratio - 0.01})))
    assert (kept.verdict, kept.score) == (Verdict.ACCEPTED, 40)
    assert (broken.verdict, broken.score) == (Verdict.TOO_SLOW, 0)
    assert ratios(kept)[figure] == ratio
    assert "more broken" not in broken.message


@pytest.mark.slow
def test_the_same_numbers_twice(graded: Callable[..., KernelResult]) -> None:
    first = evidence(counters(graded("bank_conflicts.cu")))
    assert evidence(counters(graded("bank_conflicts.cu"))) == first


def test_counters_by_themselves_need_no_other_check(graded: Callable[..., KernelResult]) -> None:
    kernel = graded("padded_tile.cu", options=Options(checks=frozenset({CheckName.COUNTERS})))
    assert [check.check for check in kernel.checks] == [CheckName.BUILD, CheckName.COUNTERS]
    check = counters(kernel)
    assert (check.verdict, check.score, check.pending) == (Verdict.ACCEPTED, 0, 40)
    assert check.message.endswith("its points wait for the correctness check")


def test_another_check_by_itself_counts_nothing(graded: Callable[..., KernelResult]) -> None:
    kernel = graded("padded_tile.cu", options=Options(checks=frozenset({CheckName.CORRECTNESS})))
    assert [check.check for check in kernel.checks] == [CheckName.BUILD, CheckName.CORRECTNESS]


# --- counts ----------------------------------------------------------------------------------


def counts(**bounds: CountBound) -> dict[str, Any]:
    """Return the change of a kernel that sets only these bounds."""
    known = {name: bounds[name] for name in COUNTS if name in bounds}
    assert len(known) == len(bounds)
    return {"counters": CounterBounds(sizes={"rows": 256, "cols": 232}, most={}, counts=known)}


# A tile of 32 rows of 33 floats, which each of 8 × 8 blocks loads with a request for each row;
# those of the last column of blocks have a quarter of their lanes.
TILE = {"launches": 1, "barriers": 1, "shared_bytes": 4224, "atomics": 0, "global_loads": 2048}


def test_counts_are_those_of_the_kernel(graded: Callable[..., KernelResult]) -> None:
    exact = {name: CountBound(least=number, most=number) for name, number in TILE.items()}
    check = counters(graded("padded_tile.cu", **counts(**exact)))
    found = {one.name: one.counted for one in evidence(check).counts}
    assert found == TILE
    assert (check.verdict, check.score) == (Verdict.ACCEPTED, 40)


def test_atomics_on_shared_memory_are_none_on_global_memory(
    graded: Callable[..., KernelResult],
) -> None:
    bound = CountBound(most=0)
    check = counters(graded("atomic_tile.cu", **counts(atomics=bound, global_atomics=bound)))
    found = {one.name: one.counted for one in evidence(check).counts}
    # A request for each row of a tile that exists.
    assert found == {"atomics": 2048, "global_atomics": 0}
    assert check.message == (
        "turn.cu: 2048 requests of warps for atomic operations, the assignment allows at most 0"
    )
    assert "shared memory count as well" in check.hint


@pytest.mark.parametrize(
    ("name", "bound", "message"),
    [
        ("shared_bytes", CountBound(most=4096), "4224 bytes of shared memory in a block, the "
         "assignment allows at most 4096"),
        ("atomics", CountBound(least=2), "0 requests of warps for atomic operations, the "
         "assignment asks for at least 2"),
    ],
)  # fmt: skip
def test_a_count_outside_its_bound_is_told_with_both_numbers(
    name: str, bound: CountBound, message: str, graded: Callable[..., KernelResult]
) -> None:
    check = counters(graded("padded_tile.cu", **counts(**{name: bound})))
    assert (check.verdict, check.score) == (Verdict.TOO_SLOW, 0)
    assert check.message == f"turn.cu: {message}"
    assert check.hint


def test_a_bound_that_this_machine_does_not_count_is_pending(
    graded: Callable[..., KernelResult],
) -> None:
    bound = {"registers": CountBound(most=32)}
    check = counters(graded("padded_tile.cu", **counts(**bound)))
    assert (check.verdict, check.score, check.pending) == (Verdict.NOT_MEASURED, 0, 40)
    assert check.message.startswith("the bound on `registers` (registers of a thread) is not")
    both = counters(graded("padded_tile.cu", **counts(**bound, launches=CountBound(least=2))))
    assert (both.verdict, both.pending) == (Verdict.TOO_SLOW, 0)


@pytest.mark.slow
def test_in_triton_the_compiler_tells_registers_and_shared_memory(
    graded: Callable[..., KernelResult],
) -> None:
    bound = CountBound(most=10**6)
    check = counters(graded("a_tile.py", **counts(registers=bound, shared_bytes=bound)))
    assert (check.verdict, check.score) == (Verdict.ACCEPTED, 40)
    found = {one.name: one.counted or 0 for one in evidence(check).counts}
    assert 0 < found["registers"] <= 255
    assert found["shared_bytes"] > 0
    few = counters(graded("a_tile.py", **counts(registers=CountBound(most=2))))
    assert few.verdict is Verdict.TOO_SLOW
    assert few.message.endswith("registers of a thread, the assignment allows at most 2")


# --- no points -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "verdict", "message"),
    slow_unless(
        lambda row: row[0] in ("no_kernel.cu", "forged_beside.cu"),
        [
            ("no_kernel.cu", "wrong_answer", "no kernel was launched in this run"),
            ("kernel_for_show.cu", "wrong_answer", "kernels read 0 bytes, but the arrays to"),
            ("silent.cu", "wrong_answer", "the counters' report is incomplete"),
            ("forged_instead.cu", "wrong_answer", "the counters' report is incomplete"),
            ("forged_twice.cu", "tampered", "the submission wrote into the counters' report"),
            ("forged_beside.cu", "tampered", "the submission wrote into the counters' report"),
            ("nonsense.cu", "tampered", "the submission wrote into the counters' report"),
        ],
    ),
)
def test_no_points_without_proof(
    name: str, verdict: str, message: str, graded: Callable[..., KernelResult]
) -> None:
    kernel = graded(name, rules=Rules(host_allowed=True))
    check = counters(kernel)
    assert kernel.score == 60, "its cases are right"
    assert (check.verdict, check.score, check.pending) == (Verdict(verdict), 0, 0)
    assert message in check.message


def test_a_kernel_with_wrong_cases_is_not_counted(graded: Callable[..., KernelResult]) -> None:
    kernel = graded("wrong.cu")
    check = counters(kernel)
    assert kernel.verdict is Verdict.WRONG_ANSWER
    assert (check.verdict, check.score, check.evidence) == (Verdict.SKIPPED, 0, None)


@pytest.mark.slow
def test_outputs_that_are_wrong_in_the_counted_run_alone_win_nothing(
    graded: Callable[..., KernelResult],
) -> None:
    check = counters(graded("wrong_where_large.cu"))
    assert (check.verdict, check.score) == (Verdict.WRONG_ANSWER, 0)
    assert "outputs were wrong in the run that counts accesses" in check.message


@pytest.mark.slow
def test_a_crash_in_the_counted_run_wins_nothing(graded: Callable[..., KernelResult]) -> None:
    check = counters(graded("exits_where_large.cu"))
    assert (check.verdict, check.score) == (Verdict.RUNTIME_ERROR, 0)
    assert "ended the program with exit code 0" in check.message


# --- shown without points --------------------------------------------------------------------

POINTS = {CheckName.CORRECTNESS: 60.0}


def test_bounds_without_points_are_shown_only(graded: Callable[..., KernelResult]) -> None:
    kernel = graded("uncoalesced_stores.cu", points=POINTS)
    check = counters(kernel)
    assert (kernel.verdict, kernel.score, kernel.max_score) == (Verdict.ACCEPTED, 60, 60)
    assert (check.verdict, check.max_score) == (Verdict.ACCEPTED, 0)
    assert check.message == (
        "loads 1.00×, stores 8.00×, traffic 4.50× the least; "
        "most in line 10: 29.0 sectors per store request, 3.6 would do; "
        "beyond a bound without points: store_sectors (at most 1.1), traffic (at most 1.2)"
    )


def test_a_kernel_without_bounds_is_counted_on_its_largest_small_case(
    graded: Callable[..., KernelResult],
) -> None:
    check = counters(graded("padded_tile.cu", points=POINTS, counters=None))
    assert (check.verdict, check.max_score) == (Verdict.ACCEPTED, 0)
    assert evidence(check).case == "rows=64, cols=96"
    assert {figure.allowed for figure in evidence(check).figures} == {None}


@pytest.mark.parametrize("name", ["no_kernel.cu", "silent.cu", "exits_where_large.cu"])
def test_what_is_shown_only_costs_nothing(name: str, graded: Callable[..., KernelResult]) -> None:
    kernel = graded(name, points=POINTS, rules=Rules(host_allowed=True))
    assert (kernel.verdict, kernel.score) == (Verdict.ACCEPTED, 60)
    assert counters(kernel).verdict is Verdict.SKIPPED
    assert counters(kernel).message.startswith("not counted: ")


def test_a_wrong_kernel_without_points_has_no_entry(graded: Callable[..., KernelResult]) -> None:
    checks = graded("wrong.cu", points=POINTS).checks
    assert CheckName.COUNTERS not in {check.check for check in checks}


# --- Triton ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_in_triton_a_tile_keeps_every_bound(graded: Callable[..., KernelResult]) -> None:
    kernel = graded("a_tile.py")
    check = counters(kernel)
    assert (kernel.verdict, check.verdict, check.score) == (Verdict.ACCEPTED, Verdict.ACCEPTED, 40)
    assert check.message == "loads 1.00×, stores 1.00×, traffic 1.00× the least"
    found = evidence(check)
    assert (found.tool, found.launches) == ("executor of Triton's IR", 1)
    # What lies in shared memory the compiler decides.
    assert [figure.allowed for figure in found.figures] == [1.1, 1.1, None, 1.2]
    assert ratios(check)["shared_wavefronts"] is None
    moved = next(figure.measured for figure in found.figures if figure.name == "traffic")
    assert found.asked_bytes == moved
    [launch] = found.resources
    assert (launch.target, launch.threads % 32) == ("sm_80", 0)
    assert 0 < launch.occupancy <= 1


def test_in_triton_a_broken_bound_names_the_line_and_the_number(
    graded: Callable[..., KernelResult],
) -> None:
    kernel = graded("a_column.py")
    check = counters(kernel)
    assert (kernel.verdict, kernel.score) == (Verdict.TOO_SLOW, 60)
    assert check.message == (
        "turn.py:11: 29.0 sectors per store request, 3.6 would do; in all, stores take 8.00 times "
        "the fewest, the assignment allows 1.1 (and 1 more broken)"
    )
    assert check.hint and "tl.arange" in check.hint
    assert "line 11)" in (HAND_INS / "a_column.py").read_text().splitlines()[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "runs"),
    [
        ({"rows": 37, "cols": 41}, 1),  # to Triton as 33×7, a judged case: the gate compiled it
        ({"rows": 64, "cols": 41}, 2),  # `rows` is divisible by 16: to Triton another kernel
    ],
)
def test_in_triton_a_case_runs_again_for_code_that_is_missing(
    sizes: dict[str, int],
    runs: int,
    graded: Callable[..., KernelResult],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []
    run_case = count_triton.run_case

    def counted(*arguments: Any) -> ToolOutcome:
        seen.append(arguments)
        return run_case(*arguments)

    monkeypatch.setattr(count_triton, "run_case", counted)
    bounds = CounterBounds(sizes=sizes, most={"store_sectors": 9.0})
    check = counters(graded("a_tile.py", counters=bounds))
    assert (check.verdict, len(seen)) == (Verdict.ACCEPTED, runs)
    assert ratios(check)["store_sectors"] is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "verdict", "message"),
    [
        ("host_code_where_large.py", "wrong_answer", "host code wrote results into `output`"),
        (
            "another_launch_each_time.py",
            "not_measured",
            "every run of the same case launches other",
        ),
    ],
)
def test_in_triton_no_points_without_proof(
    name: str, verdict: str, message: str, graded: Callable[..., KernelResult]
) -> None:
    kernel = graded(name)
    check = counters(kernel)
    assert kernel.score == 60, "its cases are right"
    assert (check.verdict, check.score) == (Verdict(verdict), 0)
    assert check.pending == (40 if verdict == "not_measured" else 0)
    assert message in check.message


def test_a_language_without_a_bound_has_the_points_for_right_cases(
    graded: Callable[..., KernelResult],
) -> None:
    check = counters(graded("a_column.py", **bounds(shared_wavefronts=1.1)))
    assert (check.verdict, check.score, check.evidence) == (Verdict.ACCEPTED, 40, None)
    assert check.message.startswith("the assignment has no bound for this language")


def test_a_language_may_have_bounds_of_its_own() -> None:
    spec = CounterBounds(
        sizes={},
        most={"traffic": 2.0, "shared_wavefronts": 1.5},
        special={Language.TRITON: {"traffic": 3.0, "store_sectors": 9.0}},
    )
    assert spec.of(Language.CUDA) == {"traffic": 2.0, "shared_wavefronts": 1.5}
    assert spec.of(Language.TRITON) == {"traffic": 3.0, "store_sectors": 9.0}


# --- on a machine with a GPU -----------------------------------------------------------------


def counted_for_a_gpu(name: str, tmp_path: Path) -> CheckOutcome[CountersEvidence]:
    """Count as on a machine with a GPU, where the CPU is only used for counting."""
    shutil.copyfile(HAND_INS / name, tmp_path / "turn.cu")
    (kernel,) = TURN.kernels
    product = build_checked(TURN, read_submission(tmp_path, TURN).files["turn.cu"])
    assert isinstance(product, Checked)
    case = counting_case(TURN, kernel, Language.CUDA, 0, RNG)
    data = Oracle(TURN).data(case, Language.CUDA)
    bench = RunSetup(assignment=TURN, built=product.built, server=None, driver=None, private=False)
    scoring = CounterScoring.of(kernel, Language.CUDA, Device.CUDA)
    return check_host_counters(bench, product.text, (case, data), scoring)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("padded_tile.cu", Verdict.ACCEPTED),
        ("uncoalesced_stores.cu", Verdict.TOO_SLOW),
        ("forged_beside.cu", Verdict.TAMPERED),
        # A failure of the emulation alone may be the emulation's own fault.
        ("wrong_where_large.cu", Verdict.NOT_MEASURED),
        ("exits_where_large.cu", Verdict.NOT_MEASURED),
        ("no_kernel.cu", Verdict.NOT_MEASURED),
    ],
)
def test_for_a_gpu_the_cpu_only_stands_in(name: str, verdict: Verdict, tmp_path: Path) -> None:
    assert counted_for_a_gpu(name, tmp_path).diagnosis.verdict is verdict


def test_without_a_compiler_the_points_are_pending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copyfile(HAND_INS / "padded_tile.cu", tmp_path / "turn.cu")
    monkeypatch.setattr(toolchain, "find_cxx", lambda: None)
    product = build_checked(TURN, read_submission(tmp_path, TURN).files["turn.cu"])
    assert not isinstance(product, Checked)
    outcome = not_built(product, CounterScoring.of(TURN.kernels[0], Language.CUDA, Device.CUDA))
    assert outcome.diagnosis.verdict is Verdict.NOT_MEASURED
    assert "g++ is not on this machine" in outcome.diagnosis.message
    hidden = replace(product, verdict=Verdict.FORBIDDEN)
    outcome = not_built(hidden, CounterScoring.of(TURN.kernels[0], Language.CUDA, Device.CUDA))
    assert outcome.diagnosis.verdict is Verdict.FORBIDDEN
    broken = replace(product, verdict=Verdict.COMPILE_ERROR)
    outcome = not_built(broken, CounterScoring.of(TURN.kernels[0], Language.CUDA, Device.CUDA))
    assert outcome.diagnosis.verdict is Verdict.NOT_MEASURED


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("padded_tile.cu", Verdict.ACCEPTED),
        ("uncoalesced_stores.cu", Verdict.TOO_SLOW),
        ("a_tile.py", Verdict.ACCEPTED),
        ("a_column.py", Verdict.TOO_SLOW),
    ],
)
def test_bounds_bind_on_a_gpu(
    name: str,
    verdict: Verdict,
    first_gpu: Gpu,
    graded: Callable[..., KernelResult],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()  # nvcc is needed here
    assert torch.cuda.is_available()
    check = counters(graded(name, options=Options(gpu=first_gpu)))
    assert check.verdict is verdict
    in_triton = name.endswith(".py")
    assert evidence(check).tool == ("executor of Triton's IR" if in_triton else "host device")


# --- the case --------------------------------------------------------------------------------


def with_cases(*rows: int) -> tuple[Assignment, Kernel]:
    (template, *_) = TURN.cases
    cases = tuple(replace(template, sizes={"rows": n, "cols": n}) for n in rows)
    kernel = replace(TURN.kernels[0], counters=None)
    return replace(TURN, cases=cases), kernel


@pytest.mark.parametrize(
    ("rows", "chosen"), [((8, 128, 64), 128), ((16, 5000), 16), ((4000, 3000), 3000)]
)
def test_the_largest_small_case_is_counted_or_else_the_smallest(
    rows: tuple[int, ...], chosen: int
) -> None:
    case = counting_case(*with_cases(*rows), Language.CUDA, 0, RNG)
    assert case.sizes == {"rows": chosen, "cols": chosen}


def test_in_triton_a_case_of_multiples_of_16_goes_first() -> None:
    assignment, kernel = with_cases(17, 64, 100)
    assert counting_case(assignment, kernel, Language.TRITON, 0, RNG).sizes["rows"] == 64
    assert counting_case(assignment, kernel, Language.CUDA, 0, RNG).sizes["rows"] == 100
    assert counting_case(*with_cases(17, 99), Language.TRITON, 0, RNG).sizes["rows"] == 99


def test_the_size_to_count_is_drawn_from_a_range() -> None:
    ranges: dict[str, int | float | Range] = {"rows": Range(64, 160, step=32), "cols": 232}
    kernel = replace(TURN.kernels[0], counters=CounterBounds(sizes=ranges, most={}))
    drawn = {
        counting_case(TURN, kernel, Language.CUDA, 0, random.Random(seed)).sizes["rows"]
        for seed in range(50)
    }
    assert drawn == {64, 96, 128, 160}


# --- records ---------------------------------------------------------------------------------

ACCESS = {
    "record": "access",
    "kernel": "k",
    "pc": 0,
    "space": "global",
    "operation": "load",
    "access_bytes": 4,
    "requests": 2,
    "lanes": 64,
    "bytes": 256,
    "sectors": 8,
    "ideal_sectors": 8,
}
KERNEL = {
    "record": "kernel",
    "kernel": "k",
    "launches": 1,
    "grid": [1, 1, 1],
    "block": [64, 1, 1],
    "dynamic_shared": 0,
    "accesses": 64,
    "read_bytes": 256,
    "written_bytes": 0,
    "blocks": 1,
    "counted_blocks": 1,
    "barriers": 0,
    "shared_bytes": 0,
    "truncated": False,
}
SUMMARY = {
    "record": "summary",
    "accesses": 64,
    "launches": 1,
    "copied_bytes": 0,
    "host_read_bytes": 0,
    "host_wrote_bytes": 0,
}
HONEST: list[dict[str, Any]] = [KERNEL, ACCESS, SUMMARY]


def read(called: list[dict[str, Any]], then: list[dict[str, Any]]) -> AccessCounts:
    built = Built(
        language=Language.CUDA, device=Device.CPU, path=Path("/nowhere.so"), file="turn.cu",
        entry="turn", evidence=BuildEvidence(tool="g++", cached=False),
    )  # fmt: skip
    return read_host(called, [*called, *then], built, "")


def test_honest_records_are_read() -> None:
    counted = read(HONEST, [SUMMARY])
    assert (counted.complete, counted.problem, counted.launches) == (True, None, 1)
    (line,) = counted.lines
    assert (line.file, line.line, line.per_request, line.ratio) == ("turn.cu", None, 4.0, 1.0)
    assert (counted.asked_bytes, counted.resources) == (256, ())
    assert not read(HONEST, []).complete
    assert not read([], [SUMMARY]).complete


@pytest.mark.parametrize(
    ("operation", "asked", "words"),
    [
        ("load", 2048, "come from global memory again and again"),
        ("load", 128, "uses few of each sector's 32 bytes"),
        ("load", 192, "either the same elements"),
        ("atomic", 128, "add up in registers or in shared memory first"),
    ],
)
def test_the_hint_names_the_cause_of_too_much_traffic(
    operation: str, asked: int, words: str
) -> None:
    counted = replace(read([KERNEL, {**ACCESS, "operation": operation}, SUMMARY], [SUMMARY]),
                      asked_bytes=asked)  # fmt: skip
    figure = CounterFigure(
        name="traffic", unit="bytes", measured=256, least=64, ratio=4.0, allowed=2.0
    )
    message, hint = broken_bound(figure, counted, Language.CUDA, more=0)
    assert message.startswith("turn.cu: 100 % of the traffic is here; kernels move 4.0 times")
    assert words in hint


def test_the_lines_that_move_most_come_first_where_that_is_the_fault(
    graded: Callable[..., KernelResult],
) -> None:
    found = evidence(counters(graded("one_thread_a_block.cu")))
    moved = [line.transactions for line in found.lines if line.space == "global"]
    assert moved == sorted(moved, reverse=True) and len(moved) > 1


@pytest.mark.parametrize("change", [{"truncated": True}, {"counted_blocks": 0}])
def test_what_was_not_counted_is_not_the_submissions_fault(change: dict[str, Any]) -> None:
    counted = read([{**KERNEL, **change}, ACCESS, SUMMARY], [SUMMARY])
    assert counted.problem is not None


@pytest.mark.parametrize(
    "change",
    [
        {"sectors": -1},
        {"sectors": 1.5},
        {"sectors": True},
        {"sectors": float("inf")},
        {"sectors": 2**70},
        {"sectors": "8"},
        {"requests": 0},
        {"requests": 1},  # 64 lanes in one request
        {"lanes": 1},
        {"bytes": 255},
        {"space": "local"},
        {"operation": "prefetch"},
        {"kernel": ["k"]},
        {"ideal_sectors": None},
        {"ideal_sectors": 0},
    ],
    ids=str,
)
def test_a_record_that_the_runtime_cannot_have_written_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        read([KERNEL, {**ACCESS, **change}, SUMMARY], [SUMMARY])


@pytest.mark.parametrize(
    "change",
    [{"dynamic_shared": -1}, {"dynamic_shared": None}, {"block": [2000, 1, 1]}, {"block": "64"}],
    ids=str,
)
def test_a_launch_that_there_cannot_be_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        read([{**KERNEL, **change}, ACCESS, SUMMARY], [SUMMARY])


@pytest.mark.parametrize("again", [KERNEL, ACCESS, SUMMARY], ids=lambda r: str(r["record"]))
def test_what_is_reported_twice_is_refused(again: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        read([*HONEST, again], [SUMMARY])
    with pytest.raises(ValueError):
        read(HONEST, [SUMMARY, again])


LINE = {
    "line": 4, "access": "load", "access_bytes": 4, "requests": 1, "lanes": 8, "sectors": 1,
    "ideal_sectors": 1,
}  # fmt: skip
EXECUTED = {
    "record": "counters", "kernel": "k", "launches": 1, "lines": [LINE], "lines_total": 1,
}  # fmt: skip


def test_the_executors_records_are_read() -> None:
    counted = read_triton([{"record": "launch"}, EXECUTED], "turn.py")
    (line,) = counted.lines
    assert (line.line, line.access_bytes, line.ratio, counted.launches) == (4, 4, 1.0, 1)
    assert (counted.problem, counted.asked_bytes) == (None, 32)
    assert read_triton([{**EXECUTED, "lines_total": 2}], "turn.py").problem is not None


@pytest.mark.parametrize(
    "records",
    [
        [EXECUTED, EXECUTED],
        [{**EXECUTED, "lines": 3}],
        [{**EXECUTED, "lines": [3]}],
        [{**EXECUTED, "kernel": 3}],
        [{**EXECUTED, "launches": -1}],
        [{**EXECUTED, "lines": [{**LINE, "sectors": "1"}]}],
        [{**EXECUTED, "lines": [{**LINE, "access": "peek"}]}],
        [{**EXECUTED, "lines": [{**LINE, "requests": 0}]}],
    ],
)
def test_what_the_executor_cannot_have_written_is_refused(records: list[Any]) -> None:
    with pytest.raises(ValueError):
        read_triton(records, "turn.py")


def test_every_submission_is_used() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    files = {path.name for path in HAND_INS.iterdir() if path.is_file()}
    assert {name for name in files if not re.search(rf'"{name}"', text)} == set()
