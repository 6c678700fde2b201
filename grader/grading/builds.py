"""Build all files of a submission at once, in the threads of a pool.

All builds start at the beginning; a check waits for the build that it needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from grader.assignment.model import Assignment
from grader.build.artifact import Built, Checked, Rejected
from grader.build.student_main import ProgramBuilds, Target
from grader.checks.check import BuildRequest, KernelFile
from grader.grading.plan import Options, Plan
from grader.languages.registry import support_of
from grader.system import process_tree, signals
from grader.system.retry import Pool
from grader.vocabulary import Language

_CANCEL_S = 0.02  # between two rounds of killing compilers


class Builds:
    """The builds of one submission, in `folder`, by the threads of `pool`."""

    def __init__(self, assignment: Assignment, options: Options, folder: Path, pool: Pool) -> None:
        self._assignment = assignment
        self._folder = folder
        self._pool = pool
        self._device = options.device
        self._contract = options.contract
        self._architecture = options.gpu.compute_capability if options.gpu else None
        self._builds: dict[tuple[str, Language], Future[Built | Rejected]] = {}
        self._checked: dict[tuple[str, Language], Future[Checked | Rejected]] = {}
        self._program: ProgramBuilds | None = None

    def start(self, plan: Plan, needs_checked_build: Callable[[KernelFile], bool]) -> None:
        """Start all builds, with a checked build of each file that needs one."""
        program = plan.program
        kernels = [file for file in plan.files if file is not program]
        needed = {file.key: file for file in (*plan.program_kernels, *kernels)}
        for key, file in needed.items():
            self._builds[key] = self._pool.submit(
                support_of(file.language).build,
                BuildRequest(
                    assignment=self._assignment.of(file.kernel),
                    source=file.source,
                    device=self._device,
                    architecture=self._architecture,
                    scratch=self._folder / file.kernel.name / file.language.value,
                    contract=self._contract,
                ),
            )
        for file in filter(needs_checked_build, kernels):
            self.checked_future(file)
        if program is not None:
            self._start_program(program, plan.program_kernels)

    def _start_program(self, main: KernelFile, kernels: Sequence[KernelFile]) -> None:
        """Compile main.cu, and link it with the last kernel, which is used if it is right."""
        target = Target(device=self._device, architecture=self._architecture)
        self._program = ProgramBuilds(self._assignment, main.source, target, self._pool)
        self._builds[main.key] = self._program.part
        for kernel in kernels[-1:]:
            self._program.start(kernel.source)

    def build_future(self, file: KernelFile) -> Future[Built | Rejected]:
        """Return the build of a file, which may still be running."""
        return self._builds[file.key]

    def built(self, file: KernelFile) -> Built | Rejected:
        """Wait for the build of a file."""
        signals.check()
        return self.build_future(file).result()

    def checked_future(self, file: KernelFile) -> Future[Checked | Rejected]:
        """Return the checked host build of a file; start it if it has not been started."""
        if file.key not in self._checked:
            self._checked[file.key] = self._pool.submit(
                support_of(file.language).build_checked,
                self._assignment.of(file.kernel),
                file.source,
            )
        return self._checked[file.key]

    def linked(self, kernel: KernelFile) -> Built | Rejected:
        """Wait for the program that links main.cu with the kernel."""
        signals.check()
        assert self._program is not None
        return self._program.start(kernel.source).result()

    def cancel(self) -> None:
        """End all builds that are running or waiting."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        own = self._program.futures if self._program is not None else ()
        builds: list[Future[Any]] = [*self._builds.values(), *self._checked.values(), *own]
        while not all(future.done() for future in builds):
            # Repeatedly, because a build may be about to start its next program.
            process_tree.kill_all()
            time.sleep(_CANCEL_S)
        process_tree.kill_all()
