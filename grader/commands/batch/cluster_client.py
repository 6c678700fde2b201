"""Send one job to a cluster while this process does something else.

    grade ci ──address, job──→ client process ── Dask client ──→ scheduler ──→ GPU worker
       │     ←── answer, JSON ─────┘
       └── grades what it can meanwhile; asks for the answer last

The Dask client gets a process of its own: a connection that hangs can only be
ended with its process, and the process that starts submissions stays free of
Dask's threads and sockets. The request travels through standard input, so that
no address or key appears in arguments or in the environment. The process ends
everything that it started when it ends. It survives post-grading cleanup, which
kills leftover submission processes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import BinaryIO

from grader.commands.batch.cluster import Cluster, ClusterRequest
from grader.commands.batch.job import Answer, Job, failure
from grader.commands.batch.job_codec import unwrap, wrap
from grader.errors import GraderError
from grader.pool.process_pool import python_command
from grader.system import process_tree
from grader.system.signals import terminable

# For taking the job back: a scheduler notices a lost client by itself, Slurm does not.
_END_S = 2.0
_END_SLURM_S = 15.0
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterJob:
    """A job, and the cluster that should do it."""

    cluster: ClusterRequest
    job: Job


class ClusterClient:
    """The client process; use as a context manager, from the main thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._end_s = _END_S
        self._received = b""

    def __enter__(self) -> ClusterClient:
        return self

    def __exit__(self, *_: object) -> None:
        """End the client process and everything that it started."""
        process = self._process
        if process is None:
            return
        if process.stdout is not None:
            process.stdout.close()
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(self._end_s)
        # Workers on this machine are in its process group, even after it has died.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()

    @property
    def sent(self) -> bool:
        """True if there is an answer to ask for."""
        return self._process is not None

    def send(self, request: ClusterJob) -> None:
        """Start the client process and return at once."""
        self._end_s = _END_SLURM_S if request.cluster.where == "slurm" else _END_S
        # In this session: post-grading cleanup kills what has another one.
        self._process = subprocess.Popen(
            python_command("grader.commands.batch.cluster_client", os.getpid()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin as channel:
            channel.write(pickle.dumps(request))

    def answer(self, *, wait: bool) -> Answer | None:
        """Return the answer; None if there is none yet and `wait` is false.

        With `wait` there is no time limit: the caller has a deadline, and may call
        this again after the deadline has interrupted it.
        """
        assert self._process is not None and self._process.stdout is not None
        channel = self._process.stdout
        while select.select([channel], [], [], None if wait else 0)[0]:
            data = os.read(channel.fileno(), _CHUNK_BYTES)
            if not data:
                break
            self._received += data
        else:
            return None
        if not self._received:
            return failure("the process that was to ask the cluster ended without an answer")
        return unwrap(self._received)


def main(parent: str) -> None:
    """Do the job that comes through standard input; the main function of the client process."""
    with terminable():
        process_tree.end_with_parent(int(parent))
        os.setpgid(0, 0)  # to be ended as a group
        process_tree.become_subreaper()  # and unreadable to submissions
        # Keep other output away from the answer.
        channel = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        request: ClusterJob = pickle.load(sys.stdin.buffer)
        try:
            with Cluster(request.cluster) as cluster:
                # Answer before closing the connection, which may take a while.
                for _, answer in cluster.results([request.job]):
                    _send(channel, answer)
        except GraderError as error:
            _send(channel, failure(error.message))
        except Exception as error:
            _send(channel, failure(f"the cluster failed: {type(error).__name__}: {error}"))


def _send(channel: BinaryIO, answer: Answer) -> None:
    if channel.closed:
        return  # answered before: an error while the connection is closed changes nothing
    with contextlib.suppress(BrokenPipeError), channel:
        channel.write(wrap(answer))
