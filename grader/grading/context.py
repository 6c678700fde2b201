"""What the grading of one hand-in shares: builds under way, oracle, server, driver.

Time is saved by order: compilers are started first, in threads, as soon as one of them has found
out what the sandbox is worth here; then the server that imports torch and triton for Python
workers; then torch is imported here, a second's work for each.
"""

from __future__ import annotations

import functools
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.assignment.model import Assignment, Case
from grader.build.artifact import Built, Rejected
from grader.build.baseline import build_baseline
from grader.build.compile_gate import compile_launches
from grader.checks.memory.sanitizer_prestart import Prestart
from grader.grading.builds import Builds
from grader.grading.environment import describe
from grader.grading.plan import Options, StudentProgram, Unit
from grader.judge.python_server import PythonServer
from grader.protocol import cuda_driver
from grader.report.evidence import CorrectnessEvidence
from grader.report.verdict import Verdict
from grader.sandbox.probe import isolation
from grader.system import process_tree, signals, toolchain
from grader.system.retry import Pool
from grader.system.umask import private_files
from grader.vocabulary import CheckName, Device, Language, Visibility

if TYPE_CHECKING:
    # They import torch, which takes a second: only once the compilers are busy.
    from grader.checks.common.case_run import CheckContext
    from grader.checks.counters.check import CountersVerdict
    from grader.checks.memory.verdict import MemoryVerdict
    from grader.checks.performance.check import SpeedVerdict
    from grader.judge.oracle import Oracle


@contextmanager
def open_context(
    assignment: Assignment,
    options: Options,
    units: Sequence[Unit],
    own: StudentProgram | None = None,
    server: PythonServer | None = None,
) -> Iterator[GradingContext]:
    """Start all builds, and torch, side by side; end every process on the way out.

    A `server` that is lent stays the lender's: it is used, not closed.
    """
    confine = functools.partial(isolation, gpu=options.device is Device.CUDA)
    process_tree.become_subreaper()
    with private_files(), tempfile.TemporaryDirectory(prefix="grade-") as folder:
        pool = Pool(4, "build", first=confine)
        context = GradingContext(assignment, options, Path(folder), pool, server)
        try:
            context.start(units, own)
            confine()  # where nothing is built, or while that is being found out
            yield context
        except BaseException:
            context.abandon()
            raise
        finally:
            context.close()
            pool.shutdown(wait=True, cancel_futures=True)
            process_tree.sweep()


class GradingContext:
    """The builds and tools of one hand-in; made by `open_context`."""

    def __init__(
        self,
        assignment: Assignment,
        options: Options,
        folder: Path,
        pool: Pool,
        server: PythonServer | None,
    ) -> None:
        self._assignment = assignment
        self._options = options
        self._folder = folder
        self._builds = Builds(assignment, options, folder, pool)
        self._ahead: Prestart[tuple[str, Language]] = Prestart(pool, assignment.limits)
        self._launches: dict[tuple[str, Language], list[dict[str, Any]]] = {}
        self._server = server
        self._lent = server is not None
        self._oracle: Oracle | None = None
        self._driver: cuda_driver.Driver | None = None
        # On a processor the tools know the bounds of shared buffers.
        self._private = options.transport == "private" and options.device is Device.CUDA

    def start(self, units: Sequence[Unit], own: StudentProgram | None = None) -> None:
        """Start the compilers, then the Python server, then import torch here."""
        self._builds.start(units, own, self._looks_into)
        on_gpu = self._options.gpu is not None
        timed = on_gpu and any(map(self.checks_performance, units))  # beside torch
        if self._server is None and (timed or any(u.language is Language.TRITON for u in units)):
            # Spawned from here, not from the pool: it dies with its thread.
            self._server = PythonServer(self._options.device)
        if on_gpu:
            watched = filter(self.checks_memory, units)
            self._ahead.expect((_key(unit), self._builds.begun(unit)) for unit in watched)
        if (units and self.wants(CheckName.CORRECTNESS)) or (own is not None and own.kernels):
            # A second's work for this thread, while the others compile.
            import grader.checks.correctness.check  # noqa: F401

            signals.check()

    def abandon(self) -> None:
        """End the builds under way, which nobody wants any more."""
        self._builds.abandon()

    def close(self) -> None:
        """End what waits, and the server, if it is ours."""
        self._ahead.close()
        if self._server is not None and not self._lent:
            self._server.close()

    def wants(self, check: CheckName) -> bool:
        """True unless the check was filtered out."""
        return self._options.wants(check)

    def chooser(self, check: CheckName) -> random.Random:
        """Return what a check draws secrets from, the same in every run with the same seed."""
        return random.Random(f"{self._options.secret_seed}/{self._assignment.name}/{check}")

    def built(self, unit: Unit) -> Built | Rejected:
        """Wait for the unit's build."""
        return self._builds.built(unit)

    def cases(self, unit: Unit) -> tuple[Case, ...]:
        """Return the cases of this run for the unit's language."""
        options = self._options
        return self._assignment.draw_cases(
            options.device,
            unit.language,
            public_seed=options.public_seed,
            secret_seed=options.secret_seed,
        )

    def check_correctness(
        self, unit: Unit, built: Built, cases: Sequence[Case], advance: Callable[[str], None]
    ) -> CorrectnessEvidence:
        """Run the cases of one built file."""
        from grader.checks.correctness.check import check_correctness

        oracle = self._prepare()
        bench = self._bench(built, private=self._private)
        launches = self._launches.setdefault(_key(unit), [])

        def hear(record: dict[str, Any]) -> None:
            if record.get("record") == "launch":
                launches.append(record)

        return check_correctness(
            bench, cases, lambda case: oracle.data(case, unit.language), advance, hear
        )

    def compile_gate(self, unit: Unit, built: Built) -> Built | Rejected:
        """Ask a GPU's compiler about the Triton kernels that the interpreter ran."""
        launches = self._launches.get(_key(unit))
        if unit.language is not Language.TRITON or not launches:
            return built
        return compile_launches(built, launches)

    def checks_memory(self, unit: Unit) -> bool:
        """True if the unit's memory safety is to be checked."""
        return CheckName.MEMORY in unit.kernel.points and self.wants(CheckName.MEMORY)

    def check_memory(
        self, unit: Unit, built: Built, advance: Callable[[str], None]
    ) -> MemoryVerdict:
        """Run the small cases of one built file under the tool for its device."""
        from grader.checks.common.diagnosis import Diagnosis
        from grader.checks.memory.check import check_host_memory, check_interpreter_memory
        from grader.checks.memory.on_gpu import check_gpu_memory
        from grader.checks.memory.verdict import MemoryVerdict

        oracle = self._prepare()
        cases = [
            (case, oracle.data(case, unit.language))
            for case in self.cases(unit)
            if case.memory and case.visibility is Visibility.VISIBLE
        ]
        if self._options.device is Device.CUDA:
            tool = toolchain.find_compute_sanitizer()
            if tool is None:
                message = "compute-sanitizer is not on this machine"
                diagnosis = Diagnosis(verdict=Verdict.NOT_MEASURED, message=message)
                return MemoryVerdict(diagnosis=diagnosis, evidence=None)
            bench = self._bench(built, private=True)
            return check_gpu_memory(bench, tool, cases, advance, self._ahead.take(_key(unit)))
        if unit.language is Language.TRITON:
            return check_interpreter_memory(self._bench(built, private=False), cases, advance)
        product = self._builds.checked(unit).result()
        if isinstance(product, Rejected):
            diagnosis = Diagnosis(verdict=product.verdict, message=product.message)
            return MemoryVerdict(diagnosis=diagnosis, evidence=None)
        bench = self._bench(product.built, private=self._private)
        return check_host_memory(bench, product.text, cases, advance)

    def checks_performance(self, unit: Unit) -> bool:
        """True if the unit's speed is to be measured, here or on a GPU."""
        return CheckName.PERFORMANCE in unit.kernel.points and self.wants(CheckName.PERFORMANCE)

    def check_performance(
        self, unit: Unit, built: Built, advance: Callable[[str], None]
    ) -> SpeedVerdict:
        """Time one built file beside torch, on a GPU."""
        from grader.checks.performance import check as speed

        gpu = self._options.gpu
        if gpu is None:
            return speed.not_measured("speed is measured on a GPU")
        self._ahead.close()  # nothing else may work now
        oracle = self._prepare()
        if self._private:
            return speed.not_measured(
                "speed is not measured where memory cannot be shared between processes (WSL)"
            )
        if self._server is None:
            self._server = PythonServer(self._options.device)
        return speed.check_speed(
            self._bench(built, private=False),
            build_baseline(self._assignment, self._options.device, self._folder / "baseline"),
            oracle,
            gpu,
            unit.kernel.tiers.of(unit.language, gpu.architecture),
            advance,
            seed=self.chooser(CheckName.PERFORMANCE).getrandbits(62),
        )

    def checks_counters(self, unit: Unit) -> bool:
        """True if the unit's accesses are to be counted: on a GPU only where a bound asks."""
        by_torch = unit.kernel.rules.torch_allowed and unit.language is Language.TRITON
        asked = unit.kernel.counters is not None or self._options.device is Device.CPU
        return self.wants(CheckName.COUNTERS) and asked and not by_torch

    def check_counters(self, unit: Unit, built: Built) -> CountersVerdict:
        """Count the accesses of one built file, where this machine can."""
        from grader.checks.counters import check as counters

        if unit.language is Language.TRITON and self._options.device is Device.CUDA:
            return counters.not_counted(unit.kernel)
        oracle = self._prepare()
        seed = self._options.public_seed
        case = counters.counting_case(self._assignment, unit.kernel, unit.language, seed)
        prepared = case, oracle.data(case, unit.language)
        if unit.language is Language.TRITON:
            bench = self._bench(built, private=False)
            return counters.check_interpreter_counters(bench, prepared, unit.kernel)
        terms = counters.Terms.of(unit.kernel, self._options.device)
        product = self._builds.checked(unit).result()
        if isinstance(product, Rejected):
            return counters.not_built(product, terms)
        bench = self._bench(product.built, private=False)
        return counters.check_host_counters(bench, product.text, prepared, terms)

    def _looks_into(self, unit: Unit) -> bool:
        """True if the unit will be run in a checked build."""
        on_host = self._options.device is Device.CPU and self.checks_memory(unit)
        bound = unit.kernel.counters is not None and self.checks_counters(unit)
        return unit.language is Language.CUDA and (on_host or bound)

    def linked(self, kernel: Unit) -> Built | Rejected:
        """Wait for main.cu as a program with the kernel."""
        return self._builds.linked(kernel)

    def tools(self, built: Built) -> tuple[CheckContext, Oracle]:
        """Return what a check of one built file works with."""
        return self._bench(built, private=self._private), self._prepare()

    def _bench(self, built: Built, *, private: bool) -> CheckContext:
        from grader.checks.common.case_run import CheckContext

        return CheckContext(
            assignment=self._assignment,
            built=built,
            server=self._server,
            driver=self._driver,
            private=private,
        )

    def _prepare(self) -> Oracle:
        """Load the oracle and, on a GPU, open the driver; once."""
        from grader.judge.oracle import Oracle

        if self._oracle is None:
            self._oracle = Oracle(self._assignment)
            if self._options.device is Device.CUDA:
                from grader.judge.buffers import open_gpu

                self._driver, shares = open_gpu()
                if self._options.transport is None:
                    self._private = not shares
        return self._oracle

    def environment(self) -> dict[str, str | int | float | None]:
        """Say what graded: for the report."""
        options = self._options
        return describe(
            self._assignment,
            options.gpu,
            public_seed=options.public_seed,
            secret_seed=options.secret_seed,
        )


def _key(unit: Unit) -> tuple[str, Language]:
    return unit.kernel.name, unit.language
