"""One case in memory: guarded buffers, filled inputs, poisoned outputs, packed arguments.

Every check that runs a submission uses it, and compares snapshots of the outputs with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import torch

from grader.assignment.cases import Case
from grader.assignment.model import Assignment
from grader.build.artifact import Built
from grader.checks.common.diagnosis import Diagnosis
from grader.errors import GraderError
from grader.judge.arguments import call_arguments
from grader.judge.buffers import Buffer, make_buffer
from grader.judge.compare import Comparison, compare, poison_bytes
from grader.judge.gpu_out_of_memory import GpuOutOfMemoryError, gpu_errors
from grader.judge.oracle import CaseData
from grader.judge.python_server import PythonServer
from grader.judge.session import Session
from grader.judge.time_budget import TimeBudget
from grader.protocol import cuda_driver
from grader.report.verdict import Verdict
from grader.vocabulary import Device


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetup:
    """One built submission with everything needed to run it.

    `server` is needed for Python submissions, `driver` for shared memory on a GPU. With `private`,
    buffers are copied between judge and worker instead of shared. The calls of every worker spend
    from the submission's `budget`. The executor of launches checks memory while the `watched` cases
    (names) are judged.
    """

    assignment: Assignment
    built: Built
    server: PythonServer | None
    driver: cuda_driver.Driver | None
    private: bool
    budget: TimeBudget = field(default_factory=TimeBudget)
    watched: frozenset[str] = frozenset()


# The driver may free the memory of a process only some time after it has ended.
_FREED_S = 3.0
_RETRY_S = 0.1


def out_of_memory_diagnosis(built: Built, allocate: Callable[[], object]) -> Diagnosis:
    """Return the diagnosis that the submission, whose worker has ended, held the GPU's memory.

    `allocate` is the allocation that failed. Raises GpuOutOfMemoryError if it still fails: then
    the submission is not the cause.
    """
    deadline_s = time.monotonic() + _FREED_S
    while True:
        try:
            with gpu_errors():
                allocate()
        except GpuOutOfMemoryError:
            if time.monotonic() >= deadline_s:
                raise
            time.sleep(_RETRY_S)
        else:
            return Diagnosis(
                Verdict.MEMORY_LIMIT,
                f"earlier calls of {built.entry} kept so much of the GPU's memory that too little "
                "was left for this call",
                hint=f"free everything that {built.entry} allocates (cudaFree, or `del` in Python) "
                "before it returns",
            )


@contextmanager
def buffer_sets(
    setup: RunSetup, case: Case, sets: int = 1, inputs: Mapping[str, torch.Tensor] | None = None
) -> Iterator[list[list[Buffer]]]:
    """Allocate the buffers of `sets` calls on a case, which live until the end of the block.

    Those that are sealed hold the `inputs`.
    Raises GpuOutOfMemoryError if the GPU has too little memory for them or for the block,
    GraderError if the GPU fails otherwise.
    """
    signature = setup.assignment.signature_of(case)
    with gpu_errors(), ExitStack() as allocated:
        made: list[list[Buffer]] = []
        for _ in range(sets):
            made.append([])
            for argument in signature.arrays:
                buffer = make_buffer(
                    name=argument.name,
                    role=argument.role,
                    kind=signature.element_type(argument, setup.built.language),
                    shape=signature.shape(argument, case.sizes),
                    memory=argument.memory,
                    device=setup.built.device,
                    private=setup.private,
                    driver=setup.driver,
                    values=inputs.get(argument.name) if inputs else None,
                )
                allocated.callback(buffer.close)
                made[-1].append(buffer)
        yield made


class CaseRun:
    """One case of one submission.

    `poisons` holds two bytes for each output, neither of which is accepted in any of its elements.
    Raises GraderError if the case has no such bytes.
    """

    def __init__(self, setup: RunSetup, case: Case, data: CaseData) -> None:
        self._setup = setup
        self._case = case
        self._data = data
        self._signature = setup.assignment.signature_of(case)
        self._language = setup.built.language
        self.tolerances = {
            name: setup.assignment.tolerance(case, self._language, name) for name in data.expected
        }
        self.poisons = {
            name: self._poison_pair(name, expected) for name, expected in data.expected.items()
        }

    def _poison_pair(self, name: str, expected: torch.Tensor) -> tuple[int, int]:
        argument = next(a for a in self._signature.outputs if a.name == name)
        kind = self._signature.element_type(argument, self._language)
        tolerance = self.tolerances[name]
        key = name, kind.word, tolerance
        if (known := self._data.poisons.get(key)) is not None:
            return known
        try:
            found = poison_bytes(expected, getattr(torch, kind.word), tolerance)
        except ValueError as error:
            oracle = self._setup.assignment.oracle
            raise GraderError(f"{oracle}: {self._case.name_for_students}: {error}") from error
        self._data.poisons[key] = found
        return found

    @contextmanager
    def buffers(self) -> Iterator[list[Buffer]]:
        """Allocate the case's buffers for the time of the block; see `buffer_sets`."""
        with buffer_sets(self._setup, self._case, inputs=self._data.inputs) as (buffers,):
            yield buffers

    def out_of_memory(self, session: Session, error: GpuOutOfMemoryError) -> Diagnosis:
        """End the worker and return the diagnosis that it held the GPU's memory.

        Raises GpuOutOfMemoryError if the allocation still fails without the worker, or if the
        worker had ended already: then the submission is not the cause.
        """
        if not session.alive:
            raise error
        session.close()
        return out_of_memory_diagnosis(self._setup.built, self._allocate)

    def _allocate(self) -> None:
        with self.buffers() as buffers:
            for buffer in buffers:
                buffer.guard_violation()  # allocates temporaries in torch

    def fill(self, buffers: list[Buffer], *, poison: int) -> None:
        """Set all buffers that a call can change; `poison` chooses the first or second byte."""
        for buffer in buffers:
            if buffer.sealed:
                continue
            if buffer.role.read:
                buffer.fill(self._data.inputs[buffer.name])
            else:
                buffer.poison(self.poisons[buffer.name][poison])
        if self._setup.built.device is Device.CUDA:
            torch.cuda.synchronize()  # the worker's streams do not wait for ours

    def arguments(self) -> bytes:
        """Return the payload of CALL."""
        case = self._case
        return call_arguments(
            self._signature, self._language, case.sizes, case.launch, dtype=case.dtype
        )

    def compare(self, snapshots: Mapping[str, torch.Tensor]) -> list[Comparison]:
        """Compare each output with the oracle's values, or ask its `accept`."""
        refusal = self._data.refusal and self._data.refusal(snapshots)
        return [
            compare(name, snapshots[name], expected, self.tolerances[name], refusal)
            for name, expected in self._data.expected.items()
        ]
