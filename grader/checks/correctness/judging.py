"""Judge the cases of a submission one after another (`case_judge.py`), in few workers.

A worker that crashes is replaced for the next case; after the second crash the remaining cases are
not run. A case whose time limit the machine may have caused is tried once more (`second_try`).
After a time limit that stands, the next calls get a part of the limit and no second try, because a
loop that never ends would exceed it again.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

from grader.assignment.cases import Case
from grader.checks.check import WatchedCase
from grader.checks.common.case_run import RunSetup
from grader.checks.common.diagnosis import Diagnosis, Phase, explain
from grader.checks.common.second_try import second_try
from grader.checks.correctness.answer_hint import KEPT, kept_hint
from grader.checks.correctness.case_judge import CaseJudge, case_result
from grader.checks.correctness.together import with_common_pattern
from grader.judge.oracle import CaseData, Oracle
from grader.judge.patterns.error_map import keep_one_map
from grader.judge.patterns.error_pattern import Detectors
from grader.judge.session import Session
from grader.protocol.launches import LaunchMode
from grader.report.evidence import CaseResult, CorrectnessEvidence
from grader.report.verdict import Verdict
from grader.text.hints import matching_hint
from grader.vocabulary import Device, Visibility

_CRASHES_ALLOWED = 2


def check_correctness(
    setup: RunSetup,
    cases: Sequence[Case],
    data: Callable[[Case], CaseData],
    advance: Callable[[str], None],
    on_record: Callable[[dict[str, Any]], None] = lambda record: None,
    oracle: Oracle | None = None,
    *,
    host_settings: str = "",
    on_watched: Callable[[WatchedCase], None] = lambda watched: None,
    explain: bool = True,
) -> CorrectnessEvidence:
    """Run every case and judge it.

    `on_record` gets each record of Triton's executor, and the worker's about torch; `on_watched`
    each case whose memory it checked meanwhile, and in which the worker did not fail.

    The `oracle` explains wrong results as those of other inputs. Without `explain` wrong elements
    are counted, and nothing else is said of them. `host_settings` are those of `Session`.

    Output is kept for visible cases only, because a submission may print the sizes that it gets.
    """
    worker = _Worker(setup, data, on_record, oracle, host_settings, Detectors(used=explain))
    with contextlib.closing(worker):
        results = _judge_each(worker, cases, advance, on_watched)
        # An autotuned kernel takes another configuration in each case on the CPU.
        device = setup.built.device
        if explain and device is Device.CPU and "autotune" not in setup.built.text:
            at = _wrong_after_others(results, worker.unrelated)
            if at is not None and worker.is_right_when_new(cases[at]):
                hint = kept_hint(setup.built)
                results[at] = replace(results[at], pattern=KEPT, hint=hint)
    if explain:
        results = with_common_pattern(results, cases, data, oracle, setup)
    tolerance = setup.assignment.tolerances[setup.built.language]
    return CorrectnessEvidence(
        cases=keep_one_map(results),
        cases_total=len(cases),
        atol=tolerance.atol,
        rtol=tolerance.rtol,
        exact=tolerance.exact,
        transport="private" if setup.private else "shared",
        output="".join(worker.outputs),
    )


def _judge_each(
    worker: _Worker,
    cases: Sequence[Case],
    advance: Callable[[str], None],
    on_watched: Callable[[WatchedCase], None],
) -> list[CaseResult]:
    """Judge the cases in their order, until too many have crashed."""
    results: list[CaseResult] = []
    crashes: list[Verdict] = []
    setup = worker.setup
    for case in cases:
        if len(crashes) >= _CRASHES_ALLOWED:
            results.append(_not_run(case, crashes))
            continue
        started_s = time.monotonic()
        worker.turn_to(case.visibility)
        attempt = worker.attempt(case)
        if Verdict.TIME_LIMIT not in crashes:
            again, failure = partial(worker.attempt, case), attrgetter("failure")
            attempt = second_try(setup.budget, setup.built.device, attempt, again, failure)
        judged = attempt.result
        if not attempt.loaded:
            crashes += [judged.verdict] * _CRASHES_ALLOWED  # loading would fail again
        if judged.verdict in _CRASHES:
            crashes.append(judged.verdict)
        elif attempt.watched is not None:
            on_watched(attempt.watched)
        if judged.verdict is Verdict.TIME_LIMIT:
            worker.limits = setup.assignment.limits.after_a_timeout
        results.append(replace(judged, wall_s=time.monotonic() - started_s))
        advance(case.name)
    return results


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The result of a case, why its worker failed, and whether the submission was loaded."""

    result: CaseResult
    failure: Diagnosis | None
    loaded: bool = True
    watched: WatchedCase | None = None


class _Worker:
    """The worker that judges the cases, replaced when it has ended; close it in the end.

    `outputs` are what the submission wrote in visible cases. Those cases are `unrelated` to earlier
    ones that were the first of their process, or in which it ended as if all were well.
    """

    def __init__(
        self,
        setup: RunSetup,
        data: Callable[[Case], CaseData],
        on_record: Callable[[dict[str, Any]], None],
        oracle: Oracle | None,
        host_settings: str,
        detectors: Detectors,
    ) -> None:
        self.setup = setup
        self.limits = setup.assignment.limits
        self.outputs: list[str] = []
        self.unrelated: set[str] = set()
        self._data = data
        self._on_record = on_record
        self._oracle = oracle
        self._host_settings = host_settings
        self._session: Session | None = None
        self._loaded: tuple[dict[str, Any], ...] = ()  # what loading the file recorded
        self._visibility = Visibility.VISIBLE
        self._detectors = detectors

    def turn_to(self, visibility: Visibility) -> None:
        """Go on with cases of this visibility."""
        if self._session is not None and visibility is not self._visibility:
            self._keep_output(self._session)
            # Kernels compiled later could reveal the sizes of hidden cases.
            self._session.contribute_kernels()
        self._visibility = visibility

    def attempt(self, case: Case) -> _Attempt:
        """Judge the case, in a new session if the last one has ended."""
        setup = self.setup
        session = self._session
        if session is None or not session.alive:
            self.close()
            session = self._session = Session(
                setup.built,
                self.limits,
                setup.server,
                host_settings=self._host_settings,
                mode=LaunchMode(trials=True),
                contributes=self._visibility is Visibility.VISIBLE,
                budget=setup.budget,
            )
            loaded = session.load()
            if not loaded.done:
                failure = explain(loaded, setup.built, self.limits, Phase.LOADING)
                return _Attempt(case_result(case, failure), failure, loaded=False)
            self._loaded = loaded.records
            self.unrelated.add(case.name)
        run = CaseJudge(
            setup, session, case, self._data(case), self._on_record, self.limits, self._oracle,
            self._detectors,
        )  # fmt: skip
        result = run.judge()
        if run.ended_well:
            self.unrelated.add(case.name)
        timed_out = result.verdict is Verdict.TIME_LIMIT
        watched = run.watched
        if watched is not None:
            watched = replace(watched, records=(*self._loaded, *watched.records))
            self._loaded = ()
        return _Attempt(result, run.failure if timed_out else None, watched=watched)

    def is_right_when_new(self, case: Case) -> bool:
        """Judge the visible case once more, the first of a process."""
        self.close()
        self._visibility = Visibility.VISIBLE
        return self.attempt(case).result.verdict is Verdict.ACCEPTED

    def close(self) -> None:
        """End the session, if there is one."""
        if self._session is not None:
            self._keep_output(self._session)
            self._session.close()
            self._session = None

    def _keep_output(self, session: Session) -> None:
        """Keep the output of the cases so far if they are visible; discard it otherwise."""
        if self._visibility is Visibility.VISIBLE:
            self.outputs.append(session.output)
        session.forget_output()


def _wrong_after_others(results: Sequence[CaseResult], unrelated: set[str]) -> int | None:
    """Return which visible case failed without a known cause after other calls, None if none did.

    If others are right, what is kept between calls may be the cause.
    """
    if not any(result.verdict is Verdict.ACCEPTED for result in results):
        return None
    found = [
        at
        for at, result in enumerate(results)
        if result.verdict in (Verdict.WRONG_ANSWER, Verdict.RUNTIME_ERROR)
        and result.visibility is Visibility.VISIBLE
        and result.name not in unrelated
        and not matching_hint(result.pattern or "", "pattern")
    ]
    # One that tells, as the leading case does: along an axis of one element mistakes are one.
    return min(found, key=lambda at: (1 in results[at].sizes.values(), at), default=None)


# After these verdicts the next case would most likely end the same way.
_CRASHES = frozenset(
    {
        Verdict.RUNTIME_ERROR,
        Verdict.COMPILE_ERROR,
        Verdict.OUTPUT_LIMIT,
        Verdict.TIME_LIMIT,
        Verdict.MEMORY_LIMIT,
        Verdict.TAMPERED,
        Verdict.NOT_MEASURED,
    }
)


def _not_run(case: Case, crashes: Sequence[Verdict]) -> CaseResult:
    """Return the result of a case that is not run.

    Its points are pending, not lost, if the earlier cases could not be measured either.
    """
    if all(verdict is Verdict.NOT_MEASURED for verdict in crashes):
        return case_result(case, Diagnosis(Verdict.NOT_MEASURED, "not run: see the earlier cases"))
    message = "not run: the submission failed in earlier cases"
    return case_result(case, Diagnosis(Verdict.SKIPPED, message))
