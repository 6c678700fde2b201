"""The compilers at work for one hand-in: every file is built once, side by side.

All are started at the beginning, in threads of a pool; what is built is waited
for where it is needed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from grader.assignment.model import Assignment
from grader.build.artifact import Built, Rejected
from grader.build.kernel_file import Checked, build, build_checked
from grader.build.student_main import ProgramBuilds, Target
from grader.grading.plan import Options, StudentProgram, Unit
from grader.system import process_tree, signals
from grader.system.retry import Pool
from grader.vocabulary import Language

_ABANDON_S = 0.02  # between two rounds of killing compilers


class Builds:
    """The builds of one hand-in, in `folder`, by the threads of `pool`."""

    def __init__(self, assignment: Assignment, options: Options, folder: Path, pool: Pool) -> None:
        self._assignment = assignment
        self._folder = folder
        self._pool = pool
        self._device = options.device
        self._architecture = options.gpu.compute_capability if options.gpu else None
        self._builds: dict[tuple[str, Language], Future[Built | Rejected]] = {}
        self._checked: dict[tuple[str, Language], Future[Checked | Rejected]] = {}
        self._program: ProgramBuilds | None = None

    def start(
        self, units: Sequence[Unit], own: StudentProgram | None, looked_into: Callable[[Unit], bool]
    ) -> None:
        """Start the compilers; of the units that will be `looked_into` a checked build as well."""
        named = {(unit.kernel.name, unit.language) for unit in units}
        needed = own.kernels if own is not None else ()
        for unit in (*units, *(u for u in needed if (u.kernel.name, u.language) not in named)):
            self._builds[unit.kernel.name, unit.language] = self._pool.submit(
                build,
                self._assignment,
                unit.source,
                unit.language,
                self._device,
                architecture=self._architecture,
                scratch=self._folder / unit.kernel.name / unit.language.value,
            )
        for unit in filter(looked_into, units):
            self.checked(unit)
        if own is not None:
            self._start_program(own)

    def _start_program(self, own: StudentProgram) -> None:
        """Compile main.cu, and link it with the kernel that is most likely to serve."""
        target = Target(device=self._device, architecture=self._architecture)
        main = own.main
        self._program = ProgramBuilds(self._assignment, main.source, target, self._pool)
        self._builds[main.kernel.name, main.language] = self._program.part
        for kernel in own.kernels[-1:]:
            self._program.start(kernel.source)

    def begun(self, unit: Unit) -> Future[Built | Rejected]:
        """Return the unit's build, which may be under way."""
        return self._builds[unit.kernel.name, unit.language]

    def built(self, unit: Unit) -> Built | Rejected:
        """Wait for the unit's build."""
        signals.check()
        return self.begun(unit).result()

    def checked(self, unit: Unit) -> Future[Checked | Rejected]:
        """Return the checked host build, which begins now if it has not yet."""
        key = unit.kernel.name, unit.language
        if key not in self._checked:
            self._checked[key] = self._pool.submit(build_checked, self._assignment, unit.source)
        return self._checked[key]

    def linked(self, kernel: Unit) -> Built | Rejected:
        """Wait for main.cu as a program with the kernel."""
        signals.check()
        assert self._program is not None
        return self._program.start(kernel.source).result()

    def abandon(self) -> None:
        """End the builds under way, which nobody wants any more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        own = self._program.futures if self._program is not None else ()
        builds: list[Future[Any]] = [*self._builds.values(), *self._checked.values(), *own]
        while not all(future.done() for future in builds):
            # Again and again: a build may be about to start its next program.
            process_tree.kill_all()
            time.sleep(_ABANDON_S)
        process_tree.kill_all()
