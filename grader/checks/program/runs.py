"""Run the student's own program several times, with and without a changed output.

    judge ──orders──→ main.cu ─entry→ shim ─→ the student's own kernel, which is right
                      exit code ←──── an output, changed or not

In a secret order the program runs with the kernel's output as it is, where exit code 0 is expected,
and with a changed one, where any other exit code is expected: an element far off (in the corners,
at the end of a row, in even and odd rows and columns), a NaN, an infinity, one off by 1 %, two
exchanged, a tile, zeros everywhere, or nothing written. The judge sees the exit code itself. Points
also need the shim's observation that the entry was called. See docs/decisions/own-program.md for
what this proves.
"""

from __future__ import annotations

import math
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from grader.assignment.model import Assignment, Limits
from grader.build.artifact import Built
from grader.build.elf import read_symbols
from grader.checks.check import CheckOutcome
from grader.checks.common.crash import explain_crash, source_place
from grader.checks.common.diagnosis import IDLE_HINT, Diagnosis, exceeded_limit
from grader.checks.common.second_try import second_try
from grader.checks.program.control_page import (
    NO_ORDERS,
    PAGE_FD,
    Kind,
    Observation,
    Orders,
    Page,
    Place,
)
from grader.errors import ToolError
from grader.judge.outcome import OF_LIMIT, Outcome, Status, parse_records
from grader.judge.time_budget import TimeBudget
from grader.report.evidence import ProgramEvidence, ProgramRun
from grader.report.verdict import Verdict
from grader.sandbox import spawn
from grader.sandbox.scratch_dir import scratch_folder
from grader.sandbox.spawn import Ended
from grader.system.retry import Pool
from grader.text.hints import hints
from grader.text.printable import last_line
from grader.vocabulary import Device

_UNCHANGED_RUNS = 2
# At least these; every output is changed in one run.
_CHANGES = (
    (Kind.FAR_UP, Place.LAST),
    (Kind.FAR_DOWN, Place.FIRST),
    (Kind.FAR_UP, Place.TOP_RIGHT),
    (Kind.FAR_DOWN, Place.BOTTOM_LEFT),
    (Kind.FAR_DOWN, Place.EVEN),
    (Kind.FAR_UP, Place.ODD),
    (Kind.FAR_DOWN, Place.ROW_END),
    (Kind.NOT_A_NUMBER, Place.ANY),
    (Kind.INFINITE, Place.ANY),
    (Kind.SLIGHT, Place.ANY),
    (Kind.EXCHANGED, Place.ANY),
    (Kind.ALL_ZERO, Place.ANY),
    (Kind.WHOLE_TILE, Place.ANY),
    (Kind.NEVER_WRITTEN, Place.ANY),
)
# More than rounding and than a sensible tolerance; less where outputs are only moved.
_SLIGHT, _SLIGHT_IF_EXACT = 0.011, 0.0011
_IGNORED = "; it ignores a failure: "
_AT_A_TIME = 4
_REPORT_FD = PAGE_FD + 1
_KEPT_CHARACTERS = 8000  # of the end of a run's output, which says what went wrong
# Exit codes of the loader, the sandbox and the shim if the program could not start.
_NOT_STARTED = frozenset({126, 127, NO_ORDERS})


def plan(outputs: int, rng: random.Random, *, exact: bool = False) -> tuple[Orders, ...]:
    """Return the orders for all runs in random order, for an entry with `outputs` outputs.

    With `exact`, the assignment compares bits.
    """
    order = rng.sample(range(outputs), outputs)
    changed = max(len(_CHANGES), outputs)
    runs = [(True, i) for i in range(changed)] + [(False, i) for i in range(_UNCHANGED_RUNS)]
    rng.shuffle(runs)
    return tuple(
        Orders(
            change=change,
            output=order[i % outputs],
            place=_CHANGES[i % len(_CHANGES)][1],
            pick=rng.getrandbits(64),
            kind=_CHANGES[i % len(_CHANGES)][0],
            slight=_SLIGHT_IF_EXACT if exact else _SLIGHT,
        )
        for change, i in runs
    )


def check_program(
    assignment: Assignment,
    program: Built,
    budget: TimeBudget,
    *,
    kernel: str,
    kernel_file: str,
    rng: random.Random,
    advance: Callable[[str], None],
) -> CheckOutcome[ProgramEvidence]:
    """Run `program` as planned; the runs end with the first that is not accepted.

    A run whose time limit the machine may have caused is repeated once, by itself.

    It is linked with the kernel named `kernel`, from `kernel_file`. Raises ToolError if the program
    cannot be started on this machine.
    """
    exact = assignment.tolerances[program.language].exact
    orders = plan(len(assignment.signature.outputs), rng, exact=exact)

    def one(order: Orders) -> tuple[ProgramRun, Diagnosis]:
        started_s = time.monotonic()
        result = _run(program, kernel_file, assignment, order, budget)
        diagnosis = result.diagnosis()
        ended, observation = result.ended, result.observation
        run = ProgramRun(
            changed=order.change,
            verdict=diagnosis.verdict,
            message=diagnosis.message,
            calls=observation.calls if observation is not None else 0,
            array=result.array,
            element=observation.index if observation is not None else (),
            exit_code=ended.exit_code,
            signal=ended.signal,
            wall_s=round(time.monotonic() - started_s, 3),
            output=ended.output[-_KEPT_CHARACTERS:],
        )
        return run, diagnosis

    def again(number: int) -> bool:
        """Run once more if the machine may have been the cause; return whether it is accepted."""
        done[number] = second_try(
            budget,
            program.device,
            done[number],
            lambda: one(orders[number]),
            lambda run: run[1],
            crowded=number > 0 and program.device is Device.CUDA,
        )
        return done[number][0].verdict is Verdict.ACCEPTED

    # The first by itself: who is slow, or always wrong, need not be run again and again.
    done = [one(orders[0])]
    advance("run 1")
    first_accepted = again(0)
    if first_accepted:
        most = max(1, min(_AT_A_TIME, os.cpu_count() or 1))
        with Pool(most, thread_name_prefix="program") as pool:
            for number, result in enumerate(pool.map(one, orders[1:]), start=2):
                done.append(result)
                advance(f"run {number}")
    failed = next((i for i in range(1, len(done)) if not again(i)), -1) if first_accepted else 0
    runs = [run for run, _ in done][: failed + 1 or None]
    hint = done[failed][1].hint
    return CheckOutcome(
        diagnosis=_summary(runs, kernel_file, hint),
        evidence=ProgramEvidence(kernel=kernel, runs=tuple(runs), runs_total=len(orders)),
        wall_s=round(sum(run.wall_s for run in runs), 3),
    )


def _summary(runs: Sequence[ProgramRun], kernel_file: str, hint: str) -> Diagnosis:
    last = runs[-1]
    if last.verdict is not Verdict.ACCEPTED:
        return Diagnosis(last.verdict, last.message, hint=hint)
    changed = sum(run.changed for run in runs)
    unchanged = len(runs) - changed
    ignored = next((at for run in runs if (at := run.message.partition(_IGNORED)[2])), "")
    return Diagnosis(
        Verdict.ACCEPTED,
        f"accepts {kernel_file} in {unchanged} of {unchanged} runs, and detects a wrong element "
        f"in {changed} of {changed}{f'{_IGNORED}{ignored}' if ignored else ''}",
        hint=hints("program")["failed_call"] if ignored else "",
    )


def _run(
    program: Built, kernel_file: str, assignment: Assignment, order: Orders, budget: TimeBudget
) -> _RunResult:
    """Run the program once, in a new scratch folder."""
    limits = assignment.limits
    with scratch_folder("grade-program-") as folder, Page(order) as page:
        # A copy, so that the program does not learn the cache's path.
        copy = folder / "main"
        shutil.copy(program.path, copy)
        environment = spawn.clean_environment(folder)
        if program.device is Device.CPU:
            environment["GRADER_HOST_REPORT_FD"] = str(_REPORT_FD)
        running = spawn.spawn(
            [str(copy)],
            cwd=folder,
            environment=environment,
            limits=spawn.Limits(memory_mib=limits.memory_mib, output_kib=limits.output_kib),
            descriptors={PAGE_FD: page.descriptor},
            report=True,
            gpu=program.device is Device.CUDA,
        )
        try:
            opens_gpu = program.device is Device.CUDA
            deadline_s = time.monotonic() + limits.program_s
            idle_s = budget.idle_left_s(opens_gpu=opens_gpu)
            end = running.wait_for(None, deadline_s, idle_s=idle_s)
            budget.spend(program.file, running.spent(), opens_gpu=opens_gpu)
            assert end is not None  # there is no channel to become readable
            ended = running.finish(end)
        finally:
            running.kill()
        assert running.report is not None
        if ended.exit_code in _NOT_STARTED and not page.taken and not _runs_while_loaded(program):
            raise ToolError(f"{program.file} could not be started: {last_line(ended.output)}")
        return _RunResult(
            program=program,
            kernel_file=kernel_file,
            limits=limits,
            order=order,
            array=assignment.signature.outputs[order.output].name,
            ended=ended,
            observation=page.observation(),
            records=parse_records(running.report.text()),
            exhaustion=budget.exhaustion,
        )


def _runs_while_loaded(program: Built) -> bool:
    """True if the student's code may have ended the program before the shim ran."""
    try:
        return bool(read_symbols(program.path).indirect)
    except (OSError, ValueError):
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _RunResult:
    """The result of one run, from which its diagnosis follows."""

    program: Built
    kernel_file: str
    limits: Limits
    order: Orders
    array: str
    ended: Ended
    observation: Observation | None
    records: tuple[dict[str, object], ...]
    exhaustion: str  # what used up the submission's budget of idle time, if it is used up

    def diagnosis(self) -> Diagnosis:
        """Return the diagnosis: limits first, then crashes, then the exit code."""
        cpu_time_is_up = self.ended.signal == signal.SIGXCPU
        status = Status.TIME_LIMIT if cpu_time_is_up else OF_LIMIT.get(self.ended.end)
        waited = self.ended.waited
        if status is Status.TIME_LIMIT and waited and self.exhaustion:
            return Diagnosis(
                Verdict.TIME_LIMIT, f"{self.program.file} {self.exhaustion}", hint=IDLE_HINT
            )
        exceeded = exceeded_limit(
            status, self.program.file, self.limits, self.limits.program_s, waited=waited
        )
        if status is Status.OUTPUT_LIMIT and exceeded is not None:
            return replace(exceeded, hint="print the first few wrong elements only")
        if exceeded is not None:
            return exceeded
        if self.observation is None:
            return self._diagnosis(
                Verdict.RUNTIME_ERROR,
                "wrote into memory that belongs to the grader",
                "look for a write outside an array on the host",
            )
        # A failed assert() counts as a rejection of the output.
        asserted = self.ended.signal == signal.SIGABRT and self.order.change
        if self.ended.signal is not None and not (asserted and self.observation.calls):
            return self._crash(self.ended.signal)
        if self.observation.calls == 0:
            return self._not_called()
        if not self.order.change:
            return self._unchanged()
        return self._changed(self.observation)

    def _diagnosis(self, verdict: Verdict, what: str, hint: str = "") -> Diagnosis:
        message = f"{self.program.file} {what}"
        if verdict is not Verdict.ACCEPTED and (failed := self._failed_call()):
            message, hint = f"{failed}; {message}", hints("program")["failed_call"]
        return Diagnosis(verdict, message, hint=hint)

    def _crash(self, number: int) -> Diagnosis:
        outcome = Outcome(status=Status.DIED, ended=self.ended, records=self.records)
        crash = explain_crash(number, outcome, self.program)
        in_kernel_file = replace(self.program, file=self.kernel_file)
        place = crash.place or explain_crash(number, outcome, in_kernel_file).place
        where = f" in the kernel {crash.kernel}" if crash.kernel else ""
        where += f" ({place})" if place else ""
        return self._diagnosis(Verdict.RUNTIME_ERROR, f"crashed: {crash.what}{where}", crash.hint)

    def _not_called(self) -> Diagnosis:
        entry = self.program.entry
        if self.ended.exit_code:
            what = f"ended with exit code {self.ended.exit_code} before it called `{entry}`"
            return self._diagnosis(Verdict.WRONG_ANSWER, what + self._last_output())
        return self._diagnosis(
            Verdict.WRONG_ANSWER,
            f"never calls `{entry}`, so it tests nothing",
            f"call `{entry}` on device memory, and compare what it writes",
        )

    def _unchanged(self) -> Diagnosis:
        if self.ended.exit_code == 0:
            what = "accepted the right output (exit code 0)"
            if failed := self._failed_call():
                what += f"{_IGNORED}{failed}"
            return self._diagnosis(Verdict.ACCEPTED, what)
        return self._diagnosis(
            Verdict.WRONG_ANSWER,
            f"ended with exit code {self.ended.exit_code}, but {self.kernel_file} is right"
            f"{self._last_output()}",
            "check the expected value of every element, and allow for rounding",
        )

    def _changed(self, observation: Observation) -> Diagnosis:
        if observation.touched == 0 and observation.refused:
            what = (
                f"passes `{self.program.entry}` an output `{self.array}` that is not memory of the "
                "size that the other arguments give"
            )
            return self._diagnosis(Verdict.WRONG_ANSWER, what)
        if observation.touched == 0:
            what = f"calls `{self.program.entry}` without any element, so it tests nothing"
            return self._diagnosis(Verdict.WRONG_ANSWER, what)
        change = self._change(observation)
        if self.ended.exit_code != 0:
            how = "was aborted" if self.ended.signal else f"exit code {self.ended.exit_code}"
            return self._diagnosis(Verdict.ACCEPTED, f"detected that {change} ({how})")
        kind = observation.kind
        if kind is Kind.NEVER_WRITTEN and math.isnan(observation.after):
            kind = Kind.NOT_A_NUMBER
        return self._diagnosis(
            Verdict.WRONG_ANSWER,
            f"accepted the output (exit code 0), but {change}",
            hints("overlooked_change").get(
                kind.name,
                "copy the output back, compare every element, including the last, and return 1 if "
                "one is wrong",
            ),
        )

    def _change(self, observation: Observation) -> str:
        index = ", ".join(map(str, observation.index))
        if observation.kind is Kind.ALL_ZERO:
            return f"all of `{self.array}` was set to 0"
        if observation.kind is Kind.NEVER_WRITTEN:
            return (
                f"all of `{self.array}` was left as it was before the call "
                f"({observation.after:.6g} at [{index}])"
            )
        if observation.kind is Kind.WHOLE_TILE:
            return (
                f"{observation.elements} elements of `{self.array}` were changed, from [{index}] on"
            )
        change = (
            f"`{self.array}[{index}]` was changed from {observation.before:.6g} to "
            f"{observation.after:.6g}"
        )
        if observation.kind is Kind.EXCHANGED:
            change += ", and another element from that to this"
        return change

    def _failed_call(self) -> str:
        """Return "main.cu:12: cudaMemcpy failed (invalid argument)", "" if no CUDA call failed."""
        failed = self.observation.failed if self.observation is not None else None
        if failed is None:
            return ""
        record: dict[str, object] = {"pc": failed.offset}
        files = (self.program, replace(self.program, file=self.kernel_file))
        place = next((at for file in files if (at := source_place(record, file))), "")
        return f"{f'{place}: ' if place else ''}{failed.name} failed ({failed.why})"

    def _last_output(self) -> str:
        line = last_line(self.ended.output)
        return f'; its last line of output: "{line}"' if line else "; it printed nothing"
