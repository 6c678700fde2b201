"""What runs in a Dask worker: it hands a job to a grading process of its own, and waits.

    Dask worker ── thread ──parcel──→ member of a pool of one (torch imported once)
                   └─ answer, bytes ←──    └── compilers, hand-ins, in their sandbox

The Dask worker runs no student code, and the process that does is given neither
the scheduler's address nor a key: not in its arguments, its environment, nor as
a descriptor. It ends with the thread that started it.

A worker whose GPU is lost fails jobs faster than others do them, and would be
given all that is left: it gives its job back and leaves the cluster.
"""

from __future__ import annotations

import os
import sys
import threading

from grader.commands.batch.gpu_slots import Places
from grader.commands.batch.job import PATIENCE_S, Answer, Outcome
from grader.commands.batch.job_codec import Parcel, unwrap, wants_gpu, wrap
from grader.errors import GraderError
from grader.pool.process_pool import Pool

_own = threading.local()


def grade_parcel(data: bytes) -> bytes:
    """Grade one packed job in this thread's process; always an answer, or the job given back."""
    answer = _graded(data)
    if unwrap(answer).outcome is Outcome.FAILED and wants_gpu(data):
        # Failures alone prove nothing here: one assignment's must not cost all others a worker.
        lost = Places().lost(os.environ)
        if lost:
            _leave(lost)
    return answer


def _leave(why: str) -> None:
    """Give the job back, and leave the cluster when it is safe. Raises what Dask takes for that."""
    import distributed

    worker = distributed.get_worker()
    print(f"this worker leaves the cluster: {why}", file=sys.stderr, flush=True)
    worker.loop.add_callback(worker.close_gracefully)
    raise distributed.Reschedule


def _graded(data: bytes) -> bytes:
    pool: Pool[Parcel, bytes] | None = getattr(_own, "pool", None)
    if pool is None:
        pool = _own.pool = Pool[Parcel, bytes](
            1,
            "grader.commands.batch.job_codec:do",
            _failed,
            deaths_end=False,
            patience_s=PATIENCE_S,
        )
    try:
        answers = [answer for _, answer in pool.results([Parcel(data=data)])]
    except GraderError as error:
        return _failure(error.message)
    return answers[0]


def _failed(_: Parcel, how: str) -> bytes:
    return _failure(how)


def _failure(problem: str) -> bytes:
    return wrap(Answer(outcome=Outcome.FAILED, problem=problem))
