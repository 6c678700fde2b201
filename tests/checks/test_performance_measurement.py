"""A whole measurement with real workers on the CPU, under a simulated clock.

The workers are those of a GPU except for the device: a host build of CUDA C++, a Python submission,
torch's baseline. Only the assumed cost of a burst advances the clock, so every figure is exact and
nothing depends on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
from doubled import BARE, HALF_ONLY, doubled
from paths import REPOSITORY
from shared_server import SharedServer

from grader.assignment.cases import Case
from grader.assignment.model import Assignment, Limits
from grader.assignment.reader import read_assignment
from grader.build.artifact import Built
from grader.build.baseline import build_baseline
from grader.checks.check import BuildRequest
from grader.checks.common.case_run import RunSetup
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.performance.buffer_pool import BufferPool, Sample, open_buffer_pool
from grader.checks.performance.measurement import (
    DRIFT_TOLERANCE,
    HOST_DRIFT_TOLERANCE,
    DriftTolerance,
    Measured,
    Round,
    measure,
)
from grader.checks.performance.timed_worker import Timed, loaded_session
from grader.judge.oracle import Oracle
from grader.judge.outcome import Outcome
from grader.judge.python_server import PythonServer
from grader.judge.session import Session
from grader.languages.registry import support_of
from grader.protocol import wire
from grader.protocol.launches import LaunchMode
from grader.report.verdict import Verdict
from grader.submission.reader import SourceFile
from grader.system import process_tree
from grader.timing.estimate import estimate
from grader.vocabulary import Device, Language, Visibility

# Each is a whole measurement, with a build and workers.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_nvcc")]

SILU = read_assignment(REPOSITORY / "assignments" / "silu")
CASE = Case(name="n", sizes={"n": 1000}, values="random", visibility=Visibility.VISIBLE, seed=0)
SETS = 4
OVERHEAD_S = 0.0005
TORCH_S, HAND_IN_S = 0.0020, 0.0008
REFERENCE = (REPOSITORY / "reference" / "silu" / "silu.cu").read_text()
# A function of the number of calls: the seconds of a burst.
Cost = Callable[[int], float]


def constant(call_s: float) -> Cost:
    return lambda calls: OVERHEAD_S + calls * call_s


AS_EVER, TORCH = constant(HAND_IN_S), constant(TORCH_S)


@dataclass
class Clock:
    """A clock that only the test advances."""

    now_s: float = 0.0
    bursts: list[tuple[str, int]] = field(default_factory=list)
    ended: dict[str, int] = field(
        default_factory=dict
    )  # the worker, and the number of bursts before
    prepared: list[str] = field(default_factory=list)
    sides: dict[int, str] = field(default_factory=dict)  # by process id

    def perf_counter(self) -> float:
        return self.now_s

    def monotonic(self) -> float:
        return self.now_s


class Clocked(Session):
    """A session whose bursts take the time that `cost` returns; the worker really works."""

    clock: Clock
    cost: Cost
    side: str
    count: int

    def prepare(self, calls: bytes) -> Outcome:
        self.count = len(wire.unpack_run(calls)[1])
        self.clock.prepared.append(self.side)
        return super().prepare(calls)

    def run(self, *, wall_s: float) -> Outcome:
        count = self.count
        self.clock.now_s += self.cost(count)
        self.clock.bursts.append((self.side, count))
        return super().run(wall_s=20)

    def close(self) -> None:
        super().close()
        self.clock.ended[self.side] = len(self.clock.bursts)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    stand_in = SimpleNamespace(perf_counter=made.perf_counter, monotonic=made.monotonic)
    monkeypatch.setattr("grader.checks.performance.timed_worker.time", stand_in)
    monkeypatch.setattr("grader.checks.performance.measurement.time", stand_in)
    return made


@pytest.fixture
def server() -> PythonServer:
    process_tree.become_subreaper()  # the server's orphaned workers become children of this process
    return SharedServer(Device.CPU)


@pytest.fixture
def timed(clock: Clock, server: PythonServer, tmp_path: Path) -> Callable[..., Measured]:
    def measured(
        text: str,
        language: Language = Language.CUDA,
        *,
        cost: Cost = AS_EVER,
        torch_cost: Cost = TORCH,
        budget_s: float = 5.0,
        throttled: Callable[[], Sequence[str]] = lambda: (),
        enough: Callable[[Sequence[Round]], bool] = lambda rounds: len(rounds) >= 20,
        tolerance: DriftTolerance = DRIFT_TOLERANCE,
        assignment: Assignment = SILU,
        case: Case = CASE,
    ) -> Measured:
        name = assignment.kernels[0].files[language]
        hand_in = SourceFile(path=name, text=text)
        request = BuildRequest(
            assignment=assignment,
            source=hand_in,
            device=Device.CPU,
            architecture=None,
            scratch=tmp_path / "built",
        )
        built = support_of(language).build(request)
        assert isinstance(built, Built), built
        baseline = build_baseline(assignment, Device.CPU, tmp_path / "baseline")
        bench = RunSetup(
            assignment=assignment, built=built, server=server, driver=None, private=False
        )

        def start(side: str, what: Built, how: Cost) -> Session:
            session = Clocked(what, Limits(), server, mode=LaunchMode(tuning=True))
            session.clock, session.cost, session.side = clock, how, side
            clock.sides[session.pid] = side
            return session

        with (
            open_buffer_pool(bench, Oracle(assignment), case, sets=SETS, seed=3) as made,
            loaded_session(
                Timed(baseline, Limits(), lambda: start("torch", baseline, torch_cost))
            ) as torch_session,
        ):
            return measure(
                made,
                Timed(built, Limits(), lambda: start("hand-in", built, cost)),
                baseline,
                torch_session,
                budget_s=budget_s,
                throttled=throttled,
                first=lambda: True,
                enough=enough,
                tolerance=tolerance,
            )

    return measured


def failed(measured: Measured) -> tuple[Verdict, str]:
    assert measured.failure is not None
    return measured.failure.verdict, measured.failure.message


def test_overhead_and_speedup_are_found_whatever_the_number_of_calls(
    timed: Callable[..., Measured], clock: Clock
) -> None:
    measured = timed(REFERENCE)
    assert measured.failure is None
    assert measured.overhead_s == pytest.approx(OVERHEAD_S)
    assert measured.alone_s == pytest.approx(TORCH_S)
    assert measured.found is not None
    assert measured.found.median == pytest.approx(TORCH_S / HAND_IN_S)
    assert measured.found.width == pytest.approx(0, abs=1e-9)
    # Torch warm and alone first, then beside the submission, whose first call is its own burst.
    first = clock.bursts.index(("hand-in", 1))
    assert {side for side, _ in clock.bursts[:first]} == {"torch"}
    assert {calls for side, calls in clock.bursts[first:] if side == "torch"} == {1, 3, 4}


def test_a_python_submission_is_timed_alike(timed: Callable[..., Measured]) -> None:
    text = """
import torch

def silu(input, output, n):
    torch.mul(input, torch.sigmoid(input), out=output)
"""
    measured = timed(text, Language.TRITON)
    assert measured.failure is None
    assert measured.found is not None
    assert measured.found.median == pytest.approx(TORCH_S / HAND_IN_S)


def test_a_bare_kernel_is_timed_beside_a_baseline_without_a_launch(
    timed: Callable[..., Measured], tmp_path: Path
) -> None:
    # The baseline got the numbers of the launch as further arguments.
    assignment = doubled(tmp_path, bare=True)
    measured = timed(BARE, assignment=assignment, case=assignment.benchmarks[0].case(1))
    assert measured.failure is None


def test_a_benchmark_is_timed_and_judged_in_its_type(
    timed: Callable[..., Measured], tmp_path: Path
) -> None:
    assignment = doubled(tmp_path)
    single, half = (benchmark.case(1) for benchmark in assignment.benchmarks)
    assert half.name == "n=1000, float16"
    right = timed(HALF_ONLY, assignment=assignment, case=half)
    assert right.failure is None
    assert right.found is not None
    verdict, message = failed(timed(HALF_ONLY, assignment=assignment, case=single))
    assert verdict is Verdict.TAMPERED
    assert "wrong" in message
    python = "def doubled(x, y, n):\n    import torch\n    torch.add(x, x, out=y)\n"
    assert timed(python, Language.TRITON, assignment=assignment, case=half).failure is None


def test_being_slow_in_short_bursts_gains_nothing(timed: Callable[..., Measured]) -> None:
    measured = timed(REFERENCE, cost=lambda n: constant(HAND_IN_S)(n) + (0.01 if n == 1 else 0))
    assert measured.overhead_s == pytest.approx(OVERHEAD_S)
    assert measured.found is not None
    assert measured.found.median == pytest.approx(TORCH_S / HAND_IN_S)


def test_a_larger_overhead_beside_the_submission_is_believed_within_bounds(
    timed: Callable[..., Measured], clock: Clock
) -> None:
    def beside(more_s: float) -> Cost:
        return lambda calls: (
            constant(TORCH_S)(calls) + more_s * (any(side == "hand-in" for side, _ in clock.bursts))
        )

    assert timed(REFERENCE, torch_cost=beside(0.0001)).overhead_s == pytest.approx(0.0006)
    clock.bursts.clear()
    assert timed(REFERENCE, torch_cost=beside(0.0009)).overhead_s == pytest.approx(0.000625)


def test_hogging_the_machine_while_torch_runs_is_not_measured(
    timed: Callable[..., Measured], clock: Clock
) -> None:
    def beside(calls: int) -> float:
        hogged = any(side == "hand-in" for side, _ in clock.bursts)
        return constant(TORCH_S * (1.05 if hogged else 1.0))(calls)

    verdict, message = failed(timed(REFERENCE, torch_cost=beside))
    assert verdict is Verdict.NOT_MEASURED
    assert message.startswith("torch took 2000.0 us alone and 2100.0 us beside the submission")


def drifting(clock: Clock, beside: float, after: float) -> Cost:
    """Torch, slower by these factors beside the submission and after the submission's worker."""

    def cost(calls: int) -> float:
        begun = [n for n, (side, _) in enumerate(clock.bursts) if side == "hand-in"]
        # Two of the three bursts of the last round are torch's.
        ended = begun and len(clock.bursts) - begun[-1] > 2
        return constant(TORCH_S * (after if ended else beside if begun else 1.0))(calls)

    return cost


@pytest.mark.parametrize(
    ("beside", "after", "measurable"),
    [
        (1.19, 1.0, True),
        (0.76, 1.0, True),
        (1.21, 1.0, False),  # slower than before and than after
        (0.74, 1.0, False),
        (1.21, 1.05, True),  # the machine drifted
        (0.74, 0.95, True),
        (1.4, 1.1, False),
        (1.22, 1.5, True),  # far from both, and between them
        (0.7, 0.5, True),
    ],
)
def test_where_torch_reads_the_hosts_memory_it_may_differ_by_more(
    timed: Callable[..., Measured], clock: Clock, beside: float, after: float, measurable: bool
) -> None:
    found = timed(
        REFERENCE, torch_cost=drifting(clock, beside, after), tolerance=HOST_DRIFT_TOLERANCE
    )
    assert (found.failure is None) == measurable, found.failure
    nearer = min(1.0, after, key=lambda each: abs(each - beside))
    assert found.alone_s == pytest.approx(nearer * TORCH_S)
    assert {side for side, _ in clock.bursts[clock.ended["hand-in"] :]} == {"torch"}


def test_both_workers_take_turns_on_one_core(
    timed: Callable[..., Measured], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[tuple[str, str, int]] = []

    @contextmanager
    def pinned_to(pid: int, core: str) -> Iterator[None]:
        prepared = len(clock.prepared)
        yield
        assert clock.prepared[prepared:] == [clock.sides[pid]]
        woken.append((clock.sides[pid], core, len(clock.bursts)))

    monkeypatch.setattr("grader.checks.performance.timed_worker.pinned_to", pinned_to)
    monkeypatch.setattr(
        "grader.checks.performance.timed_worker.core_of", lambda pid: f"{clock.sides[pid]}'s core"
    )
    assert timed(REFERENCE).failure is None
    # Each of the submission's bursts, from the first, and none of torch's.
    bursts = [n for n, (side, _) in enumerate(clock.bursts) if side == "hand-in"]
    assert woken == [("hand-in", "torch's core", n) for n in bursts]


def test_timing_torch_once_more_is_in_the_budget(
    timed: Callable[..., Measured], clock: Clock
) -> None:
    measured = timed(
        REFERENCE, budget_s=1.0, enough=lambda rounds: False, tolerance=HOST_DRIFT_TOLERANCE
    )
    assert measured.failure is None
    assert 0.9 < clock.now_s <= 1.0


def test_compiling_and_tuning_are_not_in_the_budget(
    timed: Callable[..., Measured], clock: Clock
) -> None:
    def tunes(calls: int) -> float:
        first = not any(side == "hand-in" for side, _ in clock.bursts)
        return constant(HAND_IN_S)(calls) + 4 * first

    measured = timed(REFERENCE, cost=tunes, budget_s=1.0, enough=lambda rounds: False)
    assert measured.tuning_s == pytest.approx(4)
    assert 0.9 < clock.now_s - measured.tuning_s <= 1.0
    assert len(measured.rounds) >= 9
    clock.bursts.clear()
    assert timed(REFERENCE, cost=constant(0.9), enough=lambda rounds: False).tuning_s == 0.0


def test_rounds_of_a_throttled_gpu_are_thrown_away(timed: Callable[..., Measured]) -> None:
    looks = iter(range(10_000))
    measured = timed(REFERENCE, throttled=lambda: ["hardware slowdown"] * (next(looks) % 3 == 0))
    assert measured.failure is None
    assert (len(measured.rounds), measured.discarded) == (20, 10)


def test_a_gpu_that_is_always_throttled_is_given_up(timed: Callable[..., Measured]) -> None:
    verdict, message = failed(timed(REFERENCE, throttled=lambda: ["hardware slowdown"]))
    assert verdict is Verdict.NOT_MEASURED
    assert "were discarded" in message


def test_rounds_end_with_the_budget(timed: Callable[..., Measured], clock: Clock) -> None:
    measured = timed(REFERENCE, budget_s=1.0, enough=lambda rounds: False)
    assert measured.failure is None
    assert 0.9 < clock.now_s <= 1.0
    assert len(measured.rounds) >= 9


def test_a_slow_gpu_gets_some_rounds_all_the_same(timed: Callable[..., Measured]) -> None:
    slow = constant(0.1)
    measured = timed(
        REFERENCE, cost=slow, torch_cost=slow, budget_s=1.0, enough=lambda rounds: False
    )
    assert measured.failure is None
    assert len(measured.rounds) == 6


def test_a_judge_that_verifies_slowly_gets_some_rounds_all_the_same(
    timed: Callable[..., Measured], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = BufferPool.judge

    def slowly(self: BufferPool, sample: Sample) -> Diagnosis | None:
        clock.now_s += 3
        return judge(self, sample)

    monkeypatch.setattr(BufferPool, "judge", slowly)
    measured = timed(REFERENCE, budget_s=1.0, enough=lambda rounds: False)
    assert measured.failure is None
    assert len(measured.rounds) == 6


def test_one_long_round_does_not_end_the_rounds(
    timed: Callable[..., Measured], clock: Clock
) -> None:
    def disturbed(calls: int) -> float:
        once = sum(side == "hand-in" for side, _ in clock.bursts) == 20
        return constant(HAND_IN_S)(calls) + 0.8 * once

    undisturbed = timed(REFERENCE, budget_s=2.0, enough=lambda rounds: False)
    clock.now_s = 0.0
    clock.bursts.clear()
    measured = timed(REFERENCE, cost=disturbed, budget_s=2.0, enough=lambda rounds: False)
    assert 1.9 < clock.now_s <= 2.0
    assert len(measured.rounds) > 0.3 * len(undisturbed.rounds)
    assert measured.found is not None
    assert measured.found.median == pytest.approx(TORCH_S / HAND_IN_S)


@pytest.mark.parametrize(("call_s", "pairs"), [(0.1, 7), (0.01, 7), (TORCH_S, 30), (1e-5, 40)])
def test_torch_alone_is_timed_for_a_while(
    timed: Callable[..., Measured], clock: Clock, call_s: float, pairs: int
) -> None:
    timed(REFERENCE, torch_cost=constant(call_s))
    alone = [calls for side, calls in clock.bursts[: clock.bursts.index(("hand-in", 1))]]
    # After warming up: bursts of one call alternate with longer ones.
    turns = "".join("1" if calls == 1 else "+" for calls in alone).rsplit("++", 1)[-1]
    assert turns.count("1+") == pytest.approx(pairs, abs=3)


def test_what_takes_torch_long_is_not_hopeless(timed: Callable[..., Measured]) -> None:
    measured = timed(REFERENCE, cost=constant(1.5), torch_cost=constant(0.9), budget_s=0.5)
    assert measured.failure is None
    assert measured.found is not None
    assert measured.found.median == pytest.approx(0.6)


def test_a_slow_submission_makes_fewer_calls(timed: Callable[..., Measured], clock: Clock) -> None:
    measured = timed(REFERENCE, cost=constant(0.014))
    assert measured.found is not None
    assert measured.found.median == pytest.approx(TORCH_S / 0.014)
    assert max(calls for side, calls in clock.bursts if side == "hand-in") == 2


@pytest.mark.parametrize("slow_bursts", [2, 5, 12])
def test_being_slow_at_first_gains_no_short_bursts(
    timed: Callable[..., Measured], clock: Clock, slow_bursts: int
) -> None:
    """Two slow bursts: by chance. Five: all of the warm-up. Twelve: the first rounds, too."""

    def slow_at_first(calls: int) -> float:
        before = sum(side == "hand-in" for side, _ in clock.bursts)
        return constant(0.06 if before < slow_bursts else HAND_IN_S)(calls)

    measured = timed(
        REFERENCE,
        cost=slow_at_first,
        enough=lambda rounds: (
            len(rounds) >= 20 and estimate([one.ratio for one in rounds]).width <= 0.01
        ),
    )
    assert measured.calls_per_round == SETS
    assert measured.found is not None
    assert measured.found.median == pytest.approx(TORCH_S / HAND_IN_S)
    assert measured.found.width == pytest.approx(0, abs=1e-9)


def test_a_baseline_that_was_disturbed_once_is_timed_in_long_bursts(
    timed: Callable[..., Measured], clock: Clock
) -> None:
    def disturbed(calls: int) -> float:
        return constant(0.06 if len(clock.bursts) == 1 else TORCH_S)(calls)

    timed(REFERENCE, torch_cost=disturbed)
    assert max(calls for side, calls in clock.bursts if side == "torch") == SETS


def test_who_takes_seconds_is_too_slow_at_once(
    timed: Callable[..., Measured], clock: Clock
) -> None:
    verdict, message = failed(timed(REFERENCE, cost=constant(4.0)))
    assert verdict is Verdict.TOO_SLOW
    assert message == "a call takes 4.0 s, and torch's 2 ms"
    assert sum(side == "hand-in" for side, _ in clock.bursts) <= 3


# ---- attacks, by real workers ----

CACHED = """
import torch

kept = {{}}
calls = 0

def silu(input, output, n):
    global calls
    calls += 1
    key = {key}
    if key not in kept:
        kept[key] = input * torch.sigmoid(input)
    output.copy_(kept[key])
"""


@pytest.mark.parametrize(
    "key", ["input.data_ptr()", "n", "calls % 4", "0", "(float(input[0]) > 0, n)", "id(input)"]
)
def test_answers_kept_under_a_key_are_found_out(timed: Callable[..., Measured], key: str) -> None:
    verdict, message = failed(timed(CACHED.format(key=key), Language.TRITON))
    assert verdict is Verdict.TAMPERED
    assert "wrong in timed calls" in message


def test_a_patched_clock_changes_no_figure(timed: Callable[..., Measured]) -> None:
    text = """
import time
import torch

time.perf_counter = time.monotonic = time.time = lambda: 0.0
torch.cuda.Event = torch.cuda.synchronize = None

def silu(input, output, n):
    torch.mul(input, torch.sigmoid(input), out=output)
"""
    measured = timed(text, Language.TRITON)
    assert measured.failure is None
    assert measured.found is not None
    assert measured.found.median == pytest.approx(TORCH_S / HAND_IN_S)


def test_a_thread_that_works_after_done_is_found_out(timed: Callable[..., Measured]) -> None:
    text = """
import threading
import time
import torch

def later(input, output):
    time.sleep(0.2)
    torch.mul(input, torch.sigmoid(input), out=output)

def silu(input, output, n):
    threading.Thread(target=later, args=(input, output)).start()
"""
    assert failed(timed(text, Language.TRITON))[0] is Verdict.TAMPERED


KEEPER = """
#include "silu.h"
#include <vector>
__global__ void kernel(const float* input, float* output, int n) {{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}}
extern "C" void silu(const float* input, float* output, int n) {{
  static {kept};
  if ({skip}) {{ {answer}; return; }}
  kernel<<<(n + 255) / 256, 256>>>(input, output, n);
  {keep};
}}
"""


@pytest.mark.parametrize(
    ("kept", "skip", "answer", "keep"),
    [
        (  # the last output again
            "float* last = nullptr", "last",
            "cudaMemcpy(output, last, n * sizeof(float), cudaMemcpyDeviceToDevice)",
            "last = output",
        ),
        ("int calls = 0", "++calls > 3", "", ""),  # working in the warm-up only
        ("int calls = 0", "++calls % 2 == 0", "", ""),  # every other call
        (  # by pointer: a known address means that the answer is there already
            "std::vector<const float*> seen",
            "[&]{ for (auto p : seen) if (p == input) return true; return false; }()",
            "", "seen.push_back(input)",
        ),
    ],
)  # fmt: skip
def test_native_code_that_skips_work_is_found_out(
    timed: Callable[..., Measured], kept: str, skip: str, answer: str, keep: str
) -> None:
    text = KEEPER.format(kept=kept, skip=skip, answer=answer, keep=keep)
    verdict, message = failed(timed(text))
    assert verdict is Verdict.TAMPERED
    assert "wrong in timed calls" in message
