"""The processes of a verification: they answer tasks with rows."""

from __future__ import annotations

from grader.commands.verify.row import Row
from grader.commands.verify.tasks import Task, failed, rows_of
from grader.pool import process_pool
from grader.pool.state import WorkerState

# Far more than any task takes, waits for a GPU included. All that hand-ins run has limits of its
# own: what hangs is an oracle.
_PATIENCE_S = 900.0


class Pool(process_pool.Pool[Task, tuple[Row, ...]]):
    """So many processes; use as a context manager, from the main thread."""

    def __init__(self, jobs: int, patience_s: float = _PATIENCE_S) -> None:
        super().__init__(
            jobs,
            f"{__name__}:answer",
            lambda task, how: (failed(task, how),),
            patience_s=patience_s,
        )


def answer(task: Task, state: WorkerState) -> tuple[Row, ...]:
    """Do a task: what a member of the pool calls."""
    return tuple(rows_of(task, state))
