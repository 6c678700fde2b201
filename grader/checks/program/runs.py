"""Can the student's own program tell a right kernel from a wrong one?

    judge ──orders──→ main.cu ─entry→ shim ─→ the student's own kernel, which is right
                      exit code ←──── one element of an output, changed or not

The same program is run several times, in an order that nobody outside knows:
with the kernel's output as it is (exit code 0 is right) and with one element
changed (another exit code is right). The exit code is seen by the judge; that
the entry was called at all is the shim's word, without which nothing is won.
docs/decisions/own-program.md says what this proves and what it does not.
"""

from __future__ import annotations

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
from grader.checks.common.crash import explain_crash
from grader.checks.common.diagnosis import LOOP_HINT, Diagnosis
from grader.checks.program.control_page import NO_ORDERS, PAGE_FD, Orders, Page, Seen
from grader.errors import ToolError
from grader.judge.outcome import Outcome, Status, parse_records
from grader.report.evidence import ProgramEvidence, ProgramRun
from grader.report.verdict import Verdict
from grader.sandbox import spawn
from grader.sandbox.scratch_dir import box
from grader.sandbox.spawn import End, Ended
from grader.vocabulary import Device

_HONEST_RUNS = 2
_CHANGED_RUNS = 2  # at least; one for each output
_REPORT_FD = PAGE_FD + 1
_KEPT_CHARACTERS = 8000  # of what one run printed: the end, which says what went wrong
_WORDS_SHOWN = 200
# How the loader, our confinement and the shim say that the program could not start.
_NOT_STARTED = frozenset({126, 127, NO_ORDERS})


def plan(outputs: int, rng: random.Random) -> tuple[Orders, ...]:
    """Return the runs to make, in a random order, for an entry with so many outputs.

    Every output is changed in at least one run; the very last element of one
    is, so that who leaves out the end is found out for certain, and some
    other element.
    """
    order = rng.sample(range(outputs), outputs)
    changed = max(_CHANGED_RUNS, outputs)
    runs = [(True, order[i % outputs], i % 2 == 0) for i in range(changed)]
    runs += [(False, order[i % outputs], i % 2 == 0) for i in range(_HONEST_RUNS)]
    rng.shuffle(runs)
    return tuple(
        Orders(
            change=change,
            output=output,
            last=last,
            pick=rng.getrandbits(64),
            negative=rng.random() < 0.5,
        )
        for change, output, last in runs
    )


def check_program(
    assignment: Assignment,
    program: Built,
    *,
    kernel: str,
    kernel_file: str,
    rng: random.Random,
    advance: Callable[[str], None],
) -> CheckOutcome[ProgramEvidence]:
    """Run `program` as often as planned, or until a run is not accepted.

    `kernel` is the name of the one that it is linked with, of `kernel_file`.
    Raises ToolError if the program cannot be started on this machine.
    """
    orders = plan(len(assignment.signature.outputs), rng)
    limits = assignment.limits
    runs: list[ProgramRun] = []
    hint = ""
    for number, order in enumerate(orders, start=1):
        started_s = time.monotonic()
        ended, seen, records = _run(program, order, limits)
        array = assignment.signature.outputs[order.output].name
        diagnosis = _Reading(
            program=program,
            kernel_file=kernel_file,
            limits=limits,
            order=order,
            array=array,
            ended=ended,
            seen=seen,
            records=records,
        ).diagnosis()
        runs.append(
            ProgramRun(
                changed=order.change,
                verdict=diagnosis.verdict,
                message=diagnosis.message,
                calls=seen.calls if seen is not None else 0,
                array=array,
                element=seen.index if seen is not None else (),
                exit_code=ended.exit_code,
                signal=ended.signal,
                wall_s=round(time.monotonic() - started_s, 3),
                output=ended.output[-_KEPT_CHARACTERS:],
            )
        )
        hint = diagnosis.hint
        advance(f"run {number}")
        if diagnosis.verdict is not Verdict.ACCEPTED:
            break
    return CheckOutcome(
        diagnosis=_whole(runs, kernel_file, hint),
        evidence=ProgramEvidence(kernel=kernel, runs=tuple(runs), runs_total=len(orders)),
        wall_s=round(sum(run.wall_s for run in runs), 3),
    )


def _whole(runs: Sequence[ProgramRun], kernel_file: str, hint: str) -> Diagnosis:
    last = runs[-1]
    if last.verdict is not Verdict.ACCEPTED:
        return Diagnosis(last.verdict, last.message, hint=hint)
    noticed = sum(run.changed for run in runs)
    return Diagnosis(
        Verdict.ACCEPTED,
        f"says right to {kernel_file} in {len(runs) - noticed} of "
        f"{len(runs) - noticed} runs, and noticed a wrong element in {noticed} of {noticed}",
    )


def _run(
    program: Built, order: Orders, limits: Limits
) -> tuple[Ended, Seen | None, tuple[dict[str, object], ...]]:
    """Run the program once, in a folder of its own."""
    with box("grade-program-") as folder, Page(order) as page:
        # A copy: the cache's own path is none of its business.
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
            end = running.wait_for(None, time.monotonic() + limits.program_s)
            assert end is not None  # there is no channel to become readable
            ended = running.finish(end)
        finally:
            running.kill()
        assert running.report is not None
        if ended.exit_code in _NOT_STARTED and not page.taken and not _runs_while_loaded(program):
            raise ToolError(f"{program.file} could not be started: {_last_line(ended.output)}")
        return ended, page.seen(), parse_records(running.report.text())


def _runs_while_loaded(program: Built) -> bool:
    """True if code of the student's may have ended it before the shim's first line."""
    try:
        return bool(read_symbols(program.path).indirect)
    except (OSError, ValueError):
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """One run, and what is to be said of it."""

    program: Built
    kernel_file: str
    limits: Limits
    order: Orders
    array: str
    ended: Ended
    seen: Seen | None
    records: tuple[dict[str, object], ...]

    def diagnosis(self) -> Diagnosis:
        """Return the verdict on this run: limits first, then crashes, then what was judged."""
        limit = _OVER.get(self.ended.end)
        if limit is not None or self.ended.signal == signal.SIGXCPU:
            verdict, what, hint = limit or _OVER[End.TIME_LIMIT]
            return self._say(verdict, what.format(limits=self.limits), hint)
        if self.seen is None:
            return self._say(
                Verdict.RUNTIME_ERROR,
                "wrote into memory that belongs to the grader",
                "look for a write outside an array on the host",
            )
        # assert() is an honest way to say wrong.
        asserted = self.ended.signal == signal.SIGABRT and self.order.change
        if self.ended.signal is not None and not (asserted and self.seen.calls):
            return self._crash(self.ended.signal)
        if self.seen.calls == 0:
            return self._not_called()
        if not self.order.change:
            return self._unchanged()
        return self._changed(self.seen)

    def _say(self, verdict: Verdict, what: str, hint: str = "") -> Diagnosis:
        return Diagnosis(verdict, f"{self.program.file} {what}", hint=hint)

    def _crash(self, number: int) -> Diagnosis:
        outcome = Outcome(status=Status.DIED, ended=self.ended, records=self.records)
        crash = explain_crash(number, outcome, self.program)
        in_kernel_file = replace(self.program, file=self.kernel_file)
        place = crash.place or explain_crash(number, outcome, in_kernel_file).place
        where = f" in the kernel {crash.kernel}" if crash.kernel else ""
        where += f" ({place})" if place else ""
        return self._say(Verdict.RUNTIME_ERROR, f"crashed: {crash.what}{where}", crash.hint)

    def _not_called(self) -> Diagnosis:
        entry = self.program.entry
        if self.ended.exit_code:
            what = f"ended with exit code {self.ended.exit_code} before it called `{entry}`"
            return self._say(Verdict.WRONG_ANSWER, what + self._last_words())
        return self._say(
            Verdict.WRONG_ANSWER,
            f"never calls `{entry}`, so that it judges nothing",
            f"call `{entry}` on device memory, and compare what it writes",
        )

    def _unchanged(self) -> Diagnosis:
        if self.ended.exit_code == 0:
            return self._say(Verdict.ACCEPTED, "said right, and it is (exit code 0)")
        return self._say(
            Verdict.WRONG_ANSWER,
            f"ended with exit code {self.ended.exit_code}, but {self.kernel_file} is right"
            f"{self._last_words()}",
            "is what it expects right, for every element? Leave room for rounding",
        )

    def _changed(self, seen: Seen) -> Diagnosis:
        if seen.touched == 0 and seen.refused:
            what = (
                f"passes an output `{self.array}` to `{self.program.entry}` that is no memory of "
                "the size that the other arguments say"
            )
            return self._say(Verdict.WRONG_ANSWER, what)
        if seen.touched == 0:
            what = f"calls `{self.program.entry}` without any element, so that it judges nothing"
            return self._say(Verdict.WRONG_ANSWER, what)
        index = ", ".join(map(str, seen.index))
        change = f"`{self.array}[{index}]` was changed from {seen.before:.6g} to {seen.after:.6g}"
        if self.ended.exit_code != 0:
            how = "was aborted" if self.ended.signal else f"exit code {self.ended.exit_code}"
            return self._say(Verdict.ACCEPTED, f"noticed that {change} ({how})")
        return self._say(
            Verdict.WRONG_ANSWER,
            f"said right (exit code 0), but {change}",
            "compare every element after it was copied back, the last one too, and return 1 if "
            "one is wrong",
        )

    def _last_words(self) -> str:
        words = _last_line(self.ended.output)
        return f'; its last words: "{words}"' if words else "; it printed nothing"


# By how a run ended: the verdict, what the program did, and where to look.
_OVER = {
    End.TIME_LIMIT: (
        Verdict.TIME_LIMIT,
        "did not end within {limits.program_s:g} s",
        LOOP_HINT,
    ),
    End.OUTPUT_LIMIT: (
        Verdict.OUTPUT_LIMIT,
        "printed more than {limits.output_kib} KiB",
        "print the first few wrong elements only",
    ),
    End.MEMORY_LIMIT: (
        Verdict.MEMORY_LIMIT,
        "used more than {limits.memory_mib} MiB of memory",
        "look for an allocation in a loop",
    ),
    End.PROCESS_LIMIT: (
        Verdict.RUNTIME_ERROR,
        "started too many processes",
        "it needs no process of its own",
    ),
}


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    return last if len(last) <= _WORDS_SHOWN else last[:_WORDS_SHOWN] + " …"
