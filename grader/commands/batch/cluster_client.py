"""Send one job to a cluster while this process grades.

    grade ci ──address, job──→ client process ── Dask client ──→ scheduler ──→ GPU worker
       │     ←── answer, JSON ─────┘
       └── grades on the CPU meanwhile; asks for the answer last

The Dask client runs in its own process: only killing its process ends a connection
that hangs, and the process that starts submissions has none of Dask's threads and
sockets. The request comes through standard input, so that no address or key appears
in arguments or in the environment. When the process ends, it ends everything that it
started. It survives post-grading cleanup, which kills leftover submission processes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import subprocess
import sys
from typing import BinaryIO

from grader.commands.batch.cluster import Cluster, ClusterRequest
from grader.commands.batch.job import Answer, Job, failure
from grader.commands.batch.job_codec import pack_answer, unpack_answer
from grader.errors import GraderError
from grader.pool.process_pool import python_command
from grader.system import process_tree
from grader.system.signals import terminable

# Time to cancel the job: a scheduler notices a lost client by itself, Slurm does not.
_END_S = 2.0
_END_SLURM_S = 15.0
_CHUNK_BYTES = 1 << 20


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
        """True if a job was sent."""
        return self._process is not None

    def send(self, request: ClusterRequest, job: Job) -> None:
        """Start the client process, which sends the job, and return at once."""
        self._end_s = _END_SLURM_S if request.where == "slurm" else _END_S
        # Stay in this session: post-grading cleanup kills processes of other sessions.
        self._process = subprocess.Popen(
            python_command("grader.commands.batch.cluster_client", os.getpid()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin as channel:
            channel.write(pickle.dumps((request, job)))

    def answer(self, *, wait: bool) -> Answer | None:
        """Return the answer; None if there is none yet and `wait` is false.

        With `wait` there is no time limit. A caller whose deadline interrupts the call
        may call again.
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
            return failure("the cluster client ended without an answer")
        return unpack_answer(self._received)


def main(parent: str) -> None:
    """Read a job from standard input and do it; the main function of the client process."""
    with terminable():
        process_tree.end_with_parent(int(parent))
        os.setpgid(0, 0)  # to be ended as a group
        process_tree.become_subreaper()  # and unreadable to submissions
        # Keep other output away from the answer.
        channel = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        request, job = pickle.load(sys.stdin.buffer)
        try:
            with Cluster(request) as cluster:
                # Answer before closing the connection, which may take a while.
                for _, answer in cluster.results([job]):
                    _send(channel, answer)
        except GraderError as error:
            _send(channel, failure(error.message))
        except Exception as error:
            _send(channel, failure(f"the cluster failed: {type(error).__name__}: {error}"))


def _send(channel: BinaryIO, answer: Answer) -> None:
    if channel.closed:
        return  # answered already: ignore an error while the connection is being closed
    with contextlib.suppress(BrokenPipeError), channel:
        channel.write(pack_answer(answer))
