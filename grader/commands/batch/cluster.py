"""The same jobs on Dask: `--cluster local`, a scheduler's address, or `slurm`.

    this process ── job folders, bytes ──→ scheduler ──→ Dask workers, one job a thread
                 ←── reports, bytes ─────────────────────┘

A lost worker's jobs go to another: Dask does that. The client takes no pickles
from anybody: results are bytes, and whatever else comes is refused. Beyond this
machine every connection is TLS with the course's own certificates.

docs/cluster.md has the commands.
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
from grader.commands.batch.job import PATIENCE_S, Answer, Job, Outcome
from grader.errors import GraderError, ToolError, UsageError
from grader.grading.selection import chosen_device
from grader.vocabulary import Device

TLS_FILES = ("ca.pem", "cert.pem", "key.pem")
_CONNECT_S = 30.0
_PORT = 8786  # Dask's own
_POLL_S = 0.5
# Enough for every worker to have its next job, few enough not to fill the scheduler.
_UNDER_WAY = 4
_NO_PICKLES = ("dask", "msgpack")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the command line says of a cluster."""

    where: str
    tls: Path | None
    workers: int | None
    device: str
    patience_s: float


class Cluster:
    """Does jobs on a cluster; use as a context manager."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._stack = contextlib.ExitStack()
        self._again: list[Job] = []
        self._futures: dict[Any, Job] = {}
        self._client: Any = None
        self._slurm: slurm.SlurmWorkers | None = None
        self.device = Device.CPU

    def __enter__(self) -> Cluster:
        """Connect, and start workers where they are ours. Raises GraderError."""
        try:
            self._connect()
        except BaseException:
            self._close()
            raise
        return self

    def _connect(self) -> None:
        request = self._request
        try:
            import dask
            import distributed
        except ImportError as error:
            raise ToolError(
                f"--cluster needs Dask, which is not installed: {error.name}",
                tip="pip install 'gpu-grade[cluster]'",
            ) from error
        security = _security(request, distributed)
        connect_s = min(request.patience_s, _CONNECT_S)
        dask.config.set({"distributed.comm.timeouts.connect": connect_s})
        try:
            address = self._address(distributed, security)
            self._client = self._stack.enter_context(
                distributed.Client(
                    address,
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
        if request.where != "local":
            self._await_workers()
            gpus = any("GPU" in w["resources"] for w in self._workers().values())
            if request.device == "cuda" and not gpus:
                raise GraderError(
                    f"no worker of {request.where} has a GPU to give",
                    tip="start workers with --resources GPU=1, or grade with --device cpu",
                )
            self.device = Device.CUDA if gpus and request.device != "cpu" else Device.CPU

    def __exit__(self, *_: object) -> None:
        """Take back what was not done; end the workers that are ours."""
        self._close()

    def _close(self) -> None:
        if self._slurm is not None:
            self._slurm.cancel()
        with contextlib.suppress(Exception):  # a scheduler that is gone has nothing to cancel
            self._client.cancel(list(self._futures), force=True)
        self._stack.close()

    @property
    def given_up(self) -> tuple[str, ...]:
        """Workers come and go: none is given up here."""
        return ()

    def add(self, task: Job) -> None:
        """Have a job done once more, last."""
        self._again.append(task)

    def results(self, tasks: Sequence[Job]) -> Iterator[tuple[Job, Answer]]:
        """Yield each job with its answer; raise GraderError if the cluster falls silent."""
        waiting = list(tasks)
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        heard_s = time.monotonic()
        while waiting or self._futures or self._again:
            if not waiting:
                waiting, self._again = self._again, []
            most = _UNDER_WAY * max(1, sum(w["nthreads"] for w in self._workers().values()))
            while waiting and len(self._futures) < most and self._connected:
                job = waiting.pop(0)
                try:
                    data = job_codec.pack(job)
                except GraderError as error:
                    yield job, Answer(outcome=Outcome.UNREADABLE, problem=error.message)
                    continue
                future = self._client.submit(
                    cluster_worker.grade_parcel,
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
                    if future.status == "cancelled":  # with its scheduler: nothing was heard
                        waiting.append(job)
                        continue
                    heard_s = time.monotonic()
                    yield job, _answer(future)
                    future.release()
                    if waiting or self._again:
                        break
            if waiting and not self._connected:
                time.sleep(_POLL_S)
            self._check(heard_s)

    def _check(self, heard_s: float) -> None:
        if self._slurm is not None and self._connected:
            self._slurm.renew()
        silent_s = time.monotonic() - heard_s
        alive = self._connected and self._workers()
        if silent_s > (PATIENCE_S if alive else self._request.patience_s):
            what = "has no workers" if self._connected else "does not answer"
            raise GraderError(
                f"the cluster {self._request.where} {what}: nothing was heard for {silent_s:.0f} s",
                tip="mend it and give the same command again: what is graded stays graded",
            )

    @property
    def _connected(self) -> bool:
        return bool(self._client.status == "running")

    def _workers(self) -> dict[str, Any]:
        try:
            return dict(self._client.scheduler_info(n_workers=-1)["workers"])
        except Exception:  # a scheduler that is gone answers in many ways
            return {}

    def _await_workers(self) -> None:
        deadline_s = time.monotonic() + self._request.patience_s
        while not self._workers():
            if self._slurm is not None and self._slurm.refusal:
                raise GraderError(
                    f"Slurm takes no job: {self._slurm.refusal}",
                    tip="what a job asks for stands in dask-jobqueue's settings: docs/cluster.md",
                )
            if time.monotonic() > deadline_s:
                raise GraderError(
                    f"no worker came to the cluster {self._request.where} in "
                    f"{self._request.patience_s:.0f} s",
                    tip="look at its queue and logs, or wait longer with --patience",
                )
            time.sleep(_POLL_S)

    def _address(self, distributed: Any, security: Any) -> Any:
        """Return a scheduler's address, or a cluster of ours."""
        request = self._request
        if request.where == "local":
            return self._stack.enter_context(self._local(distributed))
        if request.where == "slurm":
            gpu = request.device == "cuda"
            self._slurm = slurm.SlurmWorkers(request.workers or 1, security, gpu=gpu)
            return self._stack.enter_context(self._slurm.cluster)
        _knock(request, min(request.patience_s, _CONNECT_S))
        return request.where

    def _local(self, distributed: Any) -> Any:
        """Return a cluster of this machine's cores or GPUs, reachable from it alone."""
        request = self._request
        gpu = chosen_device(request.device)
        self.device = Device.CPU if gpu is None else Device.CUDA
        slots: Sequence[dict[str, str]] = gpu_slots() if gpu else ()
        count = request.workers or len(slots) or len(os.sched_getaffinity(0))
        workers = {}
        for number in range(count):
            options: dict[str, Any] = {"nthreads": 1, "memory_limit": 0, "host": "127.0.0.1"}
            options |= {"dashboard": False, "silence_logs": logging.ERROR}
            if slots:
                options |= {"resources": {"GPU": 1}, "env": slots[number % len(slots)]}
            workers[number] = {"cls": distributed.Nanny, "options": options}
        scheduler = {
            "cls": distributed.Scheduler,
            "options": {"host": "127.0.0.1", "port": 0, "dashboard": False},
        }
        return distributed.SpecCluster(workers, scheduler, silence_logs="ERROR", name="grade")


def check_address(request: Request) -> None:
    """Raise UsageError for what is no address, or needs certificates that are not there."""
    if not _encrypted(request):
        return
    if request.tls is None:
        raise UsageError(
            f"--cluster {request.where} needs certificates",
            tip=f"name the folder with {', '.join(TLS_FILES)} by --cluster-tls",
        )
    for name in TLS_FILES:
        file = request.tls.absolute() / name
        if not file.is_file():
            raise UsageError(f"--cluster-tls: there is no {file}", tip="see docs/cluster.md")


def _encrypted(request: Request) -> bool:
    if request.where in ("local", "slurm"):
        return request.where == "slurm"
    parts = urlsplit(request.where)
    if parts.scheme not in ("tcp", "tls") or not parts.hostname:
        raise UsageError(
            f"--cluster {request.where} is no scheduler's address",
            tip="local, slurm, or such as tls://head.example.edu:8786",
        )
    if parts.scheme == "tcp" and not _loopback(parts.hostname):
        raise UsageError(
            f"--cluster {request.where} would send hand-ins and points in the clear",
            tip="start the scheduler with TLS and name it as tls://…; see docs/cluster.md",
        )
    return parts.scheme == "tls"


def _security(request: Request, distributed: Any) -> Any:
    """Return the certificates, None on this machine. Raises UsageError where they must be."""
    check_address(request)
    if not _encrypted(request):
        return None
    assert request.tls is not None  # `check_address` has seen to that
    ca, cert, key = (request.tls.absolute() / name for name in TLS_FILES)
    return distributed.Security(
        require_encryption=True,
        tls_ca_file=str(ca),
        **{f"tls_{role}_cert": str(cert) for role in ("client", "worker", "scheduler")},
        **{f"tls_{role}_key": str(key) for role in ("client", "worker", "scheduler")},
    )


def _knock(request: Request, timeout_s: float) -> None:
    """Wait for a scheduler's first byte: Dask's client waits without end. Raises OSError."""
    parts = urlsplit(request.where)
    connection = socket.create_connection((parts.hostname, parts.port or _PORT), timeout_s)
    with contextlib.closing(connection):
        connection.settimeout(timeout_s)
        if parts.scheme == "tls":
            assert request.tls is not None  # `check_address` has seen to that
            ca, cert, key = (request.tls / name for name in TLS_FILES)
            context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=ca)
            context.check_hostname = False  # as Dask: whoever has a certificate of ours is ours
            context.load_cert_chain(cert, key)
            connection = context.wrap_socket(connection)
        if not connection.recv(1):
            raise OSError("it closed the connection")


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _answer(future: Any) -> Answer:
    if future.status == "finished":
        try:
            return job_codec.unwrap(future.result())
        except Exception as error:
            problem = f"a worker's answer could not be fetched: {type(error).__name__}: {error}"
            return Answer(outcome=Outcome.FAILED, problem=problem)
    problem = f"the cluster gave the job up: its worker was lost again and again ({future.status})"
    return Answer(outcome=Outcome.FAILED, problem=problem)
