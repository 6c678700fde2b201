"""Do jobs on Dask: `--cluster local`, a scheduler's address, or `slurm` (docs/cluster.md).

    this process ── packed jobs, bytes ──→ scheduler ──→ Dask workers, one job per thread
                 ←── answers, bytes ─────────────────────┘

If a worker is lost, Dask gives its jobs to another. The client unpickles
nothing: results are bytes, and any other result is refused. Connections that
leave this machine use TLS with the course's own certificates.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import queue
import socket
import ssl
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from grader.commands.batch import cluster_worker, job_codec, slurm
from grader.commands.batch.gpu_slots import gpu_slots
from grader.commands.batch.job import PATIENCE_S, Answer, Job, Outcome, failure
from grader.errors import GraderError, ToolError, UsageError
from grader.grading.selection import chosen_device
from grader.vocabulary import Device

TLS_FILES = ("ca.pem", "cert.pem", "key.pem")
_CONNECT_S = 30.0
_PORT = 8786  # Dask's default
_POLL_S = 0.5
_JOBS_PER_THREAD = 4  # submitted in advance: threads never idle, the scheduler stays small
_NO_PICKLES = ("dask", "msgpack")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRequest:
    """Which cluster to use: `where` is local, slurm or a scheduler's address."""

    where: str
    tls: Path | None
    workers: int | None
    device: str
    patience_s: float


class Cluster:
    """A connection to a cluster that does jobs on `device`; use as a context manager."""

    given_up: tuple[str, ...] = ()  # a worker that loses its GPU leaves the cluster by itself

    def __init__(self, request: ClusterRequest) -> None:
        self._request = request
        self._stack = contextlib.ExitStack()
        self._again: list[Job] = []
        self._futures: dict[Any, Job] = {}
        self._client: Any = None
        self._slurm: slurm.SlurmWorkers | None = None
        self.device = Device.CPU

    def __enter__(self) -> Cluster:
        """Connect, and start the workers of a local or Slurm cluster. Raises GraderError."""
        try:
            self._connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel unfinished jobs; end the workers that `__enter__` started."""
        if self._slurm is not None:
            self._slurm.cancel()
        with contextlib.suppress(Exception):  # a scheduler that is gone has nothing to cancel
            self._client.cancel(list(self._futures), force=True)
        self._stack.close()

    def _connect(self) -> None:
        request = self._request
        try:
            import dask
            import distributed
        except ImportError as error:
            raise ToolError(
                f"--cluster needs Dask, which is not installed: {error.name}",
                tip="in the grader's folder: pip install '.[cluster]'",
            ) from error
        security = _security(request, distributed)
        connect_s = min(request.patience_s, _CONNECT_S)
        dask.config.set({"distributed.comm.timeouts.connect": connect_s})
        try:
            self._client = self._stack.enter_context(
                distributed.Client(
                    self._address(distributed, security, connect_s),
                    security=security,
                    timeout=connect_s,
                    set_as_default=False,
                    deserializers=list(_NO_PICKLES),
                )
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise GraderError(
                f"the cluster {request.where} does not answer: {error}",
                tip="is its scheduler running, with the same certificates?",
            ) from error
        if request.where == "local":
            return
        self._await_workers()
        gpus = any("GPU" in worker["resources"] for worker in self._workers().values())
        if request.device == "cuda" and not gpus:
            raise GraderError(
                f"no worker of the cluster {request.where} offers a GPU",
                tip="start workers with --resources GPU=1, or grade with --device cpu",
            )
        self.device = Device.CUDA if gpus and request.device != "cpu" else Device.CPU

    def add(self, task: Job) -> None:
        """Append a job for another attempt."""
        self._again.append(task)

    def results(self, tasks: Sequence[Job]) -> Iterator[tuple[Job, Answer]]:
        """Yield each job with its answer; raise GraderError if the cluster stops answering."""
        waiting = list(tasks)
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        last_answer_s = time.monotonic()
        while waiting or self._futures or self._again:
            if not waiting:
                waiting, self._again = self._again, []
            threads = sum(worker["nthreads"] for worker in self._workers().values())
            most = _JOBS_PER_THREAD * max(1, threads)
            while waiting and len(self._futures) < most and self._connected:
                job = waiting.pop(0)
                try:
                    data = job_codec.pack_job(job)
                except GraderError as error:
                    yield job, Answer(outcome=Outcome.UNREADABLE, problem=error.message)
                    continue
                future = self._client.submit(
                    cluster_worker.grade_packed,
                    data,
                    pure=False,
                    resources={"GPU": 1} if self.device is Device.CUDA else {},
                )
                self._futures[future] = job
                future.add_done_callback(done.put)
            with contextlib.suppress(queue.Empty):
                while self._futures:
                    future = done.get(timeout=_POLL_S)
                    job = self._futures.pop(future)
                    if future.status == "cancelled":  # the scheduler is gone
                        waiting.append(job)
                        continue
                    last_answer_s = time.monotonic()
                    yield job, _answer(future)
                    future.release()
                    if waiting or self._again:
                        break
            if waiting and not self._connected:
                time.sleep(_POLL_S)
            self._check(last_answer_s)

    def _check(self, last_answer_s: float) -> None:
        """Renew lost Slurm jobs; raise GraderError if the cluster has been silent too long."""
        if self._slurm is not None and self._connected:
            self._slurm.renew()
        silent_s = time.monotonic() - last_answer_s
        alive = self._connected and self._workers()
        if silent_s > (PATIENCE_S if alive else self._request.patience_s):
            problem = "has no workers" if self._connected else "does not answer"
            raise GraderError(
                f"the cluster {self._request.where} {problem}: no answer for {silent_s:.0f} s",
                tip="fix it and run the same command again: finished reports are kept",
            )

    @property
    def _connected(self) -> bool:
        return bool(self._client.status == "running")

    def _workers(self) -> dict[str, Any]:
        try:
            return dict(self._client.scheduler_info(n_workers=-1)["workers"])
        except Exception:  # the call fails in many ways when the scheduler is gone
            return {}

    def _await_workers(self) -> None:
        deadline_s = time.monotonic() + self._request.patience_s
        while not self._workers():
            if self._slurm is not None and self._slurm.refusal:
                raise GraderError(
                    f"Slurm refuses the job: {self._slurm.refusal}",
                    tip="dask-jobqueue's settings say what a job asks for: docs/cluster.md",
                )
            if time.monotonic() > deadline_s:
                raise GraderError(
                    f"no worker joined the cluster {self._request.where} within "
                    f"{self._request.patience_s:.0f} s",
                    tip="look at its queue and logs, or wait longer with --patience",
                )
            time.sleep(_POLL_S)

    def _address(self, distributed: Any, security: Any, connect_s: float) -> Any:
        """Return the scheduler's address, or the cluster that this process starts."""
        request = self._request
        if request.where == "local":
            return self._stack.enter_context(self._local(distributed))
        if request.where == "slurm":
            gpu = request.device == "cuda"
            self._slurm = slurm.SlurmWorkers(request.workers or 1, security, gpu=gpu)
            return self._stack.enter_context(self._slurm.cluster)
        _await_scheduler(request, connect_s)
        return request.where

    def _local(self, distributed: Any) -> Any:
        """Return a cluster of this machine's cores or GPUs, on the loopback interface."""
        request = self._request
        gpu = chosen_device(request.device)
        self.device = Device.CPU if gpu is None else Device.CUDA
        slots: Sequence[dict[str, str]] = gpu_slots() if gpu else ()
        count = request.workers or len(slots) or len(os.sched_getaffinity(0))
        host = {"host": "127.0.0.1", "dashboard": False}
        workers = {}
        for number in range(count):
            options = {**host, "nthreads": 1, "memory_limit": 0, "silence_logs": logging.ERROR}
            if slots:
                options |= {"resources": {"GPU": 1}, "env": slots[number % len(slots)]}
            workers[number] = {"cls": distributed.Nanny, "options": options}
        # A server of figures is there without a dashboard, too: on port 8787, with a warning if
        # another cluster has it.
        ports = {"port": 0, "dashboard_address": "127.0.0.1:0"}
        scheduler = {"cls": distributed.Scheduler, "options": {**host, **ports}}
        return distributed.SpecCluster(workers, scheduler, silence_logs="ERROR", name="grade")


def certificates(request: ClusterRequest) -> tuple[Path, ...] | None:
    """Return the paths of `TLS_FILES`; None if connections stay on this machine.

    Raises UsageError for a wrong address or a missing certificate.
    """
    if request.where == "local":
        return None
    if request.where != "slurm":
        parts = urlsplit(request.where)
        if parts.scheme not in ("tcp", "tls") or not parts.hostname:
            raise UsageError(
                f"--cluster {request.where} is no scheduler's address",
                tip="name local, slurm, or an address such as tls://head.example.edu:8786",
            )
        if parts.scheme == "tcp":
            if _loopback(parts.hostname):
                return None
            raise UsageError(
                f"--cluster {request.where} would send submissions and points unencrypted",
                tip="start the scheduler with TLS and name it as tls://…; see docs/cluster.md",
            )
    if request.tls is None:
        raise UsageError(
            f"--cluster {request.where} needs certificates",
            tip=f"name the folder with {', '.join(TLS_FILES)} by --cluster-tls",
        )
    files = tuple(request.tls.absolute() / name for name in TLS_FILES)
    for file in files:
        if not file.is_file():
            raise UsageError(f"--cluster-tls: there is no {file}", tip="see docs/cluster.md")
    return files


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _security(request: ClusterRequest, distributed: Any) -> Any:
    """Return Dask's object for the certificates; None without them. Raises UsageError."""
    files = certificates(request)
    if files is None:
        return None
    ca, cert, key = map(str, files)
    roles = ("client", "worker", "scheduler")
    return distributed.Security(
        require_encryption=True,
        tls_ca_file=ca,
        **{f"tls_{role}_cert": cert for role in roles},
        **{f"tls_{role}_key": key for role in roles},
    )


def _await_scheduler(request: ClusterRequest, timeout_s: float) -> None:
    """Wait for the scheduler's first byte, because Dask's client has no timeout for it.

    Raises OSError.
    """
    parts = urlsplit(request.where)
    connection = socket.create_connection((parts.hostname, parts.port or _PORT), timeout_s)
    with contextlib.closing(connection):
        connection.settimeout(timeout_s)
        if files := certificates(request):
            ca, cert, key = files
            context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=ca)
            context.check_hostname = False  # as in Dask: the course's own CA is the proof
            context.load_cert_chain(cert, key)
            connection = context.wrap_socket(connection)
        if not connection.recv(1):
            raise OSError("it closed the connection")


def _answer(future: Any) -> Answer:
    if future.status != "finished":
        return failure(
            f"the cluster gave up the job because its workers were lost ({future.status})"
        )
    try:
        return job_codec.unpack_answer(future.result())
    except Exception as error:
        return failure(f"a worker's answer could not be fetched: {type(error).__name__}: {error}")
