"""The resources of one grading, and the `CheckContext` of each of its files.

    GradingContext   one for each submission: builds, Python server, sanitizer prestarts, judge
    FileContext      one for each kernel file: its build and its outcomes so far

The order saves time. Compilers start first, in threads, after one thread has probed the sandbox.
Then the server starts, which imports torch and triton for Python workers, and then torch is
imported here; each import takes about a second.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import random
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.assignment.cases import Case
from grader.assignment.model import Assignment
from grader.build.artifact import Built, Checked, Rejected
from grader.build.baseline import build_baseline
from grader.checks.check import CheckOutcome, KernelFile
from grader.checks.memory.sanitizer_prestart import Prestart
from grader.checks.registry import named
from grader.gpu.lock import shared_use
from grader.grading.builds import Builds
from grader.grading.environment import describe
from grader.grading.file_state import FileState, all_right
from grader.grading.identity import spec_hash
from grader.grading.plan import Options, Plan
from grader.grading.progress import Step
from grader.judge.python_server import MMAP_THRESHOLD, TRIM_THRESHOLD, PythonServer
from grader.judge.time_budget import TimeBudget
from grader.languages.registry import support_of
from grader.protocol.cuda_driver import Driver
from grader.report.verdict import Verdict
from grader.sandbox.probe import isolation
from grader.system import process_tree, signals
from grader.system.cores import usable_cores
from grader.system.retry import Pool
from grader.system.umask import private_files
from grader.vocabulary import CheckName, Device

_FEWEST_BUILDS = 4  # side by side; of many cores half are left for the checks of what is built
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of mallopt(3)

if TYPE_CHECKING:
    # These modules import torch, which takes a second, so they wait until the compilers run.
    from grader.checks.common.case_run import RunSetup
    from grader.judge.oracle import CaseData, Oracle
    from grader.judge.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """The GPU, opened once for all checks that run code.

    `driver` is None on the CPU. `shares` is true if judge and worker can share device memory, which
    always holds on the CPU.
    """

    driver: Driver | None
    shares: bool


@contextmanager
def open_context(
    assignment: Assignment,
    options: Options,
    plan: Plan,
    server: PythonServer | None = None,
    cores: int | None = None,
) -> Iterator[GradingContext]:
    """Share the GPU, start all builds and import torch meanwhile; end every process on exit.

    A `server` that the caller passes is used and not closed. `cores` is the number of cores to use,
    by default all.
    """
    confine = functools.partial(isolation, gpu=options.device is Device.CUDA)
    process_tree.become_subreaper()
    gpu = options.gpu.uuid if options.gpu else None
    with shared_use(gpu), private_files(), tempfile.TemporaryDirectory(prefix="grade-") as folder:
        cores = cores or usable_cores()
        pool = Pool(max(_FEWEST_BUILDS, cores // 2), "build", first=confine)
        context = GradingContext(assignment, options, plan, Path(folder), pool, server, cores)
        try:
            context.start()
            confine()  # probes the sandbox if nothing is built; else it waits for the probe
            yield context
        except BaseException:
            context.cancel()
            raise
        finally:
            context.close()
            pool.shutdown(wait=True, cancel_futures=True)
            process_tree.sweep()


def import_judging() -> None:
    """Import what judges, torch above all, once in a process.

    Collections of garbage would take an eighth of the time, and look at torch's objects ever after.
    Memory that is freed is kept, as in the Python server.
    """
    first = "torch" not in sys.modules
    if first:
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD)
        libc.mallopt(_M_TRIM_THRESHOLD, TRIM_THRESHOLD)
    gc.disable()
    try:
        import grader.checks.correctness.judging  # noqa: F401
    finally:
        if first:
            gc.freeze()
        gc.enable()


class GradingContext:
    """The builds and tools of one submission; made by `open_context`."""

    def __init__(
        self,
        assignment: Assignment,
        options: Options,
        plan: Plan,
        folder: Path,
        pool: Pool,
        server: PythonServer | None,
        cores: int,
    ) -> None:
        self.assignment = assignment
        self.options = options
        self.plan = plan
        self.cores = cores
        self.assignment_hash = spec_hash(assignment)
        self.builds = Builds(assignment, options, folder, pool)
        self.prestart = Prestart(pool, assignment.limits)
        self.budget = TimeBudget(assignment.limits, options.gpu.uuid if options.gpu else None)
        self._folder = folder
        # The server that forks Python workers, None until it is needed.
        self.started_server = server
        self._lent = server is not None
        self._judge: Judge | None = None
        self._oracles: dict[str, Oracle] = {}
        self._opening = threading.Lock()

    def start(self) -> None:
        """Start the compilers, then the Python server, then import torch here."""
        self.builds.start(self.plan, self._needs_checked_build)
        kernels = [file for file in self.plan.files if not file.is_program]
        on_gpu = self.options.gpu is not None
        timed = on_gpu and any(self._scores(file, CheckName.PERFORMANCE) for file in kernels)
        if timed or any(file.language.imported for file in kernels):
            server = self.server()
            for worker in {file.language.worker for file in kernels if file.language.imported}:
                server.expect(worker)
        if on_gpu:
            self.prestart.expect(
                (file.key, self.builds.build_future(file))
                for file in kernels
                if support_of(file.language).checked_ahead and self._scores(file, CheckName.MEMORY)
            )
        if (kernels and self.options.includes(CheckName.CORRECTNESS)) or self.plan.program_kernels:
            import_judging()  # takes a second or two, while other threads compile
            signals.check()

    def cancel(self) -> None:
        """End all builds that are running or waiting."""
        self.builds.cancel()

    def close(self) -> None:
        """End the prestarted workers, and the server unless the caller passed it."""
        self.prestart.close()
        if self.started_server is not None and not self._lent:
            self.started_server.close()

    def server(self) -> PythonServer:
        """Return the server that forks Python workers; the first call starts it."""
        if self.started_server is None:
            self.started_server = PythonServer(self.options.device)
        return self.started_server

    @property
    def judge(self) -> Judge:
        """The GPU, opened once; the calling thread may use it from now on."""
        with self._opening:
            if self._judge is None:
                self._judge = self._open_judge()
        if self._judge.driver is not None:
            self._judge.driver.enter_thread()
        return self._judge

    def oracle(self, assignment: Assignment) -> Oracle:
        """Return the oracle for an entry of the assignment, loaded once."""
        from grader.judge.oracle import Oracle

        with self._opening:
            entry = assignment.signature.entry
            if entry not in self._oracles:
                self._oracles[entry] = Oracle(assignment)
            return self._oracles[entry]

    def _open_judge(self) -> Judge:
        if self.options.device is Device.CPU:
            return Judge(driver=None, shares=True)
        from grader.judge.buffers import open_gpu

        driver, shares = open_gpu()
        if self.options.transport is not None:
            shares = self.options.transport == "shared"
        return Judge(driver=driver, shares=shares)

    def baseline(self, assignment: Assignment) -> Built:
        """Return torch's baseline for an entry, built like a submission; start its server."""
        self.server()
        return build_baseline(assignment, self.options.device, self._folder / "baseline")

    def environment(self) -> dict[str, str | int | float | None]:
        """Return the report's environment."""
        options = self.options
        return describe(
            self.assignment,
            options.gpu,
            public_seed=options.public_seed,
            secret_seed=options.secret_seed,
        )

    def _scores(self, file: KernelFile, check: CheckName) -> bool:
        return check in file.kernel.points and self.options.includes(check)

    def _needs_checked_build(self, file: KernelFile) -> bool:
        """True if the emulation will check outputs, memory or rules, or count accesses."""
        on_cpu = self.options.device is Device.CPU and (
            self._scores(file, CheckName.CORRECTNESS) or self._scores(file, CheckName.MEMORY)
        )
        bound = file.kernel.counters is not None and self.options.includes(CheckName.COUNTERS)
        rules = self.options.includes(CheckName.RULES)
        return support_of(file.language).checked_ahead and (on_cpu or bound or rules)


class FileContext:
    """The `CheckContext` of one kernel file.

    `others` are the states of all files of the submission; `step` shows progress.
    """

    def __init__(
        self, grading: GradingContext, state: FileState, others: Sequence[FileState] = ()
    ) -> None:
        self.state = state
        self.step: Step | None = None
        self.file = state.file
        self.support = support_of(state.file.language)
        self.assignment = grading.assignment.of(state.file.kernel)
        self.gpu = grading.options.gpu
        self.device = grading.options.device
        self.cores = grading.cores
        self.public_seed = grading.options.public_seed
        self.budget = grading.budget
        self.kernels: Sequence[KernelFile] = grading.plan.program_kernels
        self._grading = grading
        self._others = others

    @property
    def built(self) -> Built:
        """The file as built for this device."""
        assert isinstance(self.state.build, Built), "checks run only after a successful build"
        return self.state.build

    def wait_for_build(self) -> Built | Rejected:
        """Wait for the compilers and return the build."""
        if self.state.build is None:
            self.state.build = self._grading.builds.built(self.file)
        return self.state.build

    def replace_build(self, build: Built | Rejected) -> None:
        """Replace the build by the result of a later compiler. A rejection ends the checks."""
        self.state.build = build

    def checked_build(self) -> Checked | Rejected:
        """Wait for the checked host build of a file, in a language that has one."""
        return self._grading.builds.checked_future(self.file).result()

    def baseline(self) -> Built:
        """Return torch's baseline, built like a submission."""
        return self._grading.baseline(self.assignment)

    @functools.cached_property
    def cases(self) -> tuple[Case, ...]:
        """The cases of this run for the file's language and device."""
        options = self._grading.options
        return self.assignment.draw_cases(
            self.device,
            self.file.language,
            public_seed=self.public_seed,
            secret_seed=options.secret_seed,
        )

    @property
    def oracle(self) -> Oracle:
        """The oracle for the file's entry, loaded once; it opens the GPU, too."""
        _ = self._grading.judge
        return self._grading.oracle(self.assignment)

    def data(self, case: Case) -> CaseData:
        """Return inputs and expected values of a case."""
        from grader.judge.case_store import stored_data

        oracle, language = self.oracle, self.file.language
        return stored_data(oracle, self._grading.assignment_hash, case, language)

    def setup(self, built: Built | None = None, *, private: bool | None = None) -> RunSetup:
        """Return the setup of a worker for this build; `private` overrides the transport."""
        from grader.checks.common.case_run import RunSetup
        from grader.checks.correctness.check import always_timed_out

        own = self.built
        built = replace(built or own, launch_limits=own.launch_limits, assembled=own.assembled)
        if self.file.kernel.rules.torch_allowed:
            built = replace(built, torch_allowed=True)
        judge, assignment = self._grading.judge, self.assignment
        on_cpu = built.device is Device.CPU
        if on_cpu and always_timed_out(self.outcomes(CheckName.CORRECTNESS)):
            # The memory check looks at what the first call did before it was ended.
            assignment = replace(assignment, limits=assignment.limits.after_a_timeout)
        return RunSetup(
            assignment=assignment,
            built=built,
            server=self._grading.started_server,
            driver=judge.driver,
            private=not judge.shares if private is None else private,
            budget=self.budget,
        )

    @property
    def can_share(self) -> bool:
        """True if judge and worker can share the GPU's memory (not on WSL 2)."""
        return self._grading.judge.shares

    def prestarted(self) -> Mapping[str, Session]:
        """Return the idle workers under the sanitizer's tools, by tool; the caller ends them."""
        return self._grading.prestart.take(self.file.key)

    def end_prestarted(self) -> None:
        """End all prestarted workers, so that nothing else uses the GPU from here on."""
        self._grading.prestart.close()

    def rng(self, check: CheckName) -> random.Random:
        """Return the source of a check's secret choices; it depends on the secret seed only."""
        seed = self._grading.options.secret_seed
        return random.Random(f"{seed}/{self.assignment.name}/{check}")

    def includes(self, check: CheckName) -> bool:
        """True unless the options filter the check out."""
        return self._grading.options.includes(check)

    @property
    def explains(self) -> bool:
        """True if somebody reads what explains wrong results."""
        return self._grading.options.explain

    @property
    def correct(self) -> bool | None:
        """Whether the cases are right; None if that is unknown or was filtered out."""
        return self.state.correct

    def outcomes(self, check: CheckName) -> Sequence[CheckOutcome[Any]]:
        """Return the outcomes of an earlier check of this file; empty if it has not run."""
        return self.state.found.get(check, ())

    def is_correct(self, kernel: KernelFile) -> bool | None:
        """Whether a kernel is right; None if this machine cannot judge it.

        Runs its cases now if a filter left them out.
        """
        state = next((other for other in self._others if other.file == kernel), None)
        graded = FileContext(self._grading, state or FileState(file=kernel))
        graded.step = self.step
        rules = graded.outcomes(CheckName.RULES)
        if graded.state.failure or any(one.verdict is Verdict.FORBIDDEN for one in rules):
            return False
        build = graded.wait_for_build()
        if isinstance(build, Rejected):
            return None if build.verdict.pending else False
        if graded.outcomes(CheckName.CORRECTNESS):
            return graded.correct
        return all_right(named(CheckName.CORRECTNESS).run(graded))

    def linked_with(self, kernel: KernelFile) -> Built | Rejected:
        """Return the student's program linked with a kernel."""
        return self._grading.builds.linked(kernel)

    def set_steps(self, steps: int) -> None:
        """Set the number of steps that `advance` will report."""
        if self.step is not None:
            self.step.set_total(steps)

    def advance(self, step: str) -> None:
        """Report one step as done."""
        if self.step is not None:
            self.step.advance(step)
