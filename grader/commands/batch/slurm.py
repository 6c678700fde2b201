"""Dask workers as Slurm jobs: submitted again when they are lost, cancelled at the end.

    this process: scheduler ──sbatch──→ Slurm: one Dask worker in each job
                            ──scancel─→ the jobs that still run or wait at the end

The settings of dask-jobqueue say what a job asks of Slurm (docs/cluster.md). A job
whose worker is lost, with its node or at its time limit, is submitted again. So a long
batch needs no long jobs.
"""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import time
from typing import Any

from grader.errors import ToolError

_RENEW_S = 5.0  # dask-jobqueue gives up a lost job after 15 s
_CANCEL_S = 10.0


class SlurmWorkers:
    """`count` Slurm jobs; Dask's client connects to `cluster`, which the caller closes."""

    def __init__(self, count: int, security: Any, *, gpu: bool) -> None:
        try:
            import dask_jobqueue
            from dask_jobqueue.slurm import SLURMJob
        except ImportError as error:
            raise ToolError(
                "--cluster slurm needs dask-jobqueue",
                tip="in the grader's folder: pip install '.[cluster]'",
            ) from error
        refusals: list[str] = []

        class Job(SLURMJob):  # type: ignore[misc]  # no type information
            async def start(self) -> None:
                """Record why Slurm refuses a job; dask-jobqueue only logs it."""
                try:
                    await super().start()
                except Exception as error:
                    refusals.append(_reason(error))
                    raise

        self._count = count
        self._refusals = refusals
        self._renewed_s = time.monotonic()
        self.cluster: Any = dask_jobqueue.SLURMCluster(
            job_cls=Job,
            protocol="tls://",
            security=security,
            processes=1,
            worker_extra_args=["--nthreads", "1", *(["--resources", "GPU=1"] if gpu else [])],
            scheduler_options={"dashboard": False},
            silence_logs="ERROR",
        )
        self.cluster.scale(jobs=count)

    @property
    def refusal(self) -> str:
        """Why Slurm refused a job since the last renewal; "" if it accepted all."""
        return self._refusals[-1] if self._refusals else ""

    def renew(self) -> None:
        """Submit the jobs of lost workers again; cheap enough to be called often."""
        if time.monotonic() - self._renewed_s > _RENEW_S:
            self._renewed_s = time.monotonic()
            self._refusals.clear()
            self.cluster.scale(jobs=self._count)

    def cancel(self) -> None:
        """Cancel all jobs now: closing the cluster does so late, and may fail before."""
        for job in list(self.cluster.workers.values()):
            if getattr(job, "job_id", None) is not None:
                # If this fails, the worker still ends when its scheduler is gone.
                with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                    subprocess.run(
                        [*shlex.split(job.cancel_command), str(job.job_id)],
                        capture_output=True,
                        timeout=_CANCEL_S,
                        check=False,
                    )


def _reason(error: Exception) -> str:
    """Return what `sbatch` printed, from dask-jobqueue's exception."""
    printed = str(error).partition("stderr:\n")[2]
    return " ".join(printed.split()) or f"{type(error).__name__}: {error}"
