"""Runs in a Dask worker: gives a job to a grading process and waits for the answer.

    Dask worker ── thread ──packed job──→ pool of one worker (imports torch once)
                   └─ answer, bytes ←──     └── compilers, submissions, in their sandbox

The Dask worker runs no student code. The grading process gets neither the scheduler's
address nor a key: not as an argument, in its environment or as a descriptor. It ends
with the thread that started it.

A worker whose GPU is lost fails jobs faster than others do them, and would soon get
all remaining jobs. So it gives its job back and leaves the cluster.
"""

from __future__ import annotations

import os
import sys
import threading

from grader.commands.batch.gpu_slots import GpuHealth
from grader.commands.batch.job import PATIENCE_S, Outcome, failure
from grader.commands.batch.job_codec import pack_answer, unpack_answer, wants_gpu
from grader.errors import GraderError
from grader.pool.process_pool import Pool

_thread = threading.local()


def grade_packed(data: bytes) -> bytes:
    """Grade a packed job in this thread's process and return the packed answer.

    If the GPU is lost, the job goes back to the scheduler instead.
    """
    answer = _graded(data)
    # The cause may also be the assignment: leave only if the driver confirms the loss.
    if unpack_answer(answer).outcome is Outcome.FAILED and wants_gpu(data):
        lost = GpuHealth().lost(os.environ)
        if lost:
            _leave(lost)
    return answer


def _leave(why: str) -> None:
    """Close this worker once it is idle; raise Reschedule, so that another worker does the job."""
    import distributed

    worker = distributed.get_worker()
    print(f"this worker leaves the cluster: {why}", file=sys.stderr, flush=True)
    worker.loop.add_callback(worker.close_gracefully)
    raise distributed.Reschedule


def _graded(data: bytes) -> bytes:
    if not hasattr(_thread, "pool"):
        _thread.pool = Pool[bytes, bytes](
            1,
            "grader.commands.batch.job_codec:do",
            lambda _, problem: pack_answer(failure(problem)),
            deaths_end=False,
            patience_s=PATIENCE_S,
        )
    pool: Pool[bytes, bytes] = _thread.pool
    try:
        [(_, answer)] = pool.results([data])
    except GraderError as error:
        return pack_answer(failure(error.message))
    return answer
