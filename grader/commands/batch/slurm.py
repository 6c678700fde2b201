"""Dask workers that are jobs of Slurm: given again when they are lost, taken back at the end.

    this process: scheduler ──sbatch──→ Slurm: so many jobs, a worker in each
                            ──scancel─→ what still runs or waits at the end

What a job asks of Slurm stands in the settings of dask-jobqueue (docs/cluster.md).
A job whose worker is lost, with its node or at the end of its time, is given to
Slurm once more, so that a long night needs no long jobs.
"""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import time
from typing import Any

from grader.errors import ToolError

# dask-jobqueue gives a lost job up after a quarter of a minute: asked more often than that.
_RENEW_S = 5.0
_CANCEL_S = 10.0


class SlurmWorkers:
    """So many jobs; `cluster` is what Dask's client connects to, and has to be closed."""

    def __init__(self, count: int, security: Any, *, gpu: bool) -> None:
        try:
            import dask_jobqueue
            from dask_jobqueue.slurm import SLURMJob
        except ImportError as error:
            raise ToolError(
                "--cluster slurm needs dask-jobqueue", tip="pip install 'gpu-grade[cluster]'"
            ) from error
        refusals: list[str] = []

        class Job(SLURMJob):  # type: ignore[misc]  # no type information
            async def start(self) -> None:
                """Note why Slurm refuses a job, which is said in a log otherwise."""
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
        """Why Slurm took none of the jobs lately, empty if it took them."""
        return self._refusals[-1] if self._refusals else ""

    def renew(self) -> None:
        """Give jobs again whose workers were lost; cheap, to be called often."""
        if time.monotonic() - self._renewed_s > _RENEW_S:
            self._renewed_s = time.monotonic()
            self._refusals.clear()
            self.cluster.scale(jobs=self._count)

    def cancel(self) -> None:
        """Take all jobs back: closing the cluster does it late, and may not come to it."""
        for job in list(self.cluster.workers.values()):
            if getattr(job, "job_id", None) is not None:
                # It may be over, or Slurm be gone: then its worker ends without its scheduler.
                with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                    subprocess.run(
                        [*shlex.split(job.cancel_command), str(job.job_id)],
                        capture_output=True,
                        timeout=_CANCEL_S,
                        check=False,
                    )


def _reason(error: Exception) -> str:
    """Return what `sbatch` said, of all that dask-jobqueue says of it."""
    _, found, said = str(error).partition("stderr:\n")
    lines = [line.strip() for line in said.splitlines() if line.strip()] if found else []
    return " ".join(lines) or f"{type(error).__name__}: {error}"
