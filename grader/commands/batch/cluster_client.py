"""One job on its way to a cluster and back, while this process does something else.

    grade ci ──(where, job) JSON──→ messenger ── Dask client ──→ scheduler ──→ GPU worker
       │     ←── answer, JSON ─────────┘
       └── grades what it can meanwhile; asks for the answer last

The messenger is a process of its own, for a connection that hangs cannot be
waited out in any other way, and so that no thread or socket of Dask's is in the
process that starts hand-ins. Addresses and keys are in nobody's arguments or
environment because of it: it is told through its standard input, and what it
prints is read by nobody. It ends, with all that it started, when the errand does;
the end of a grading, which ends what hand-ins left, is no business of its.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader.commands.batch.cluster import Cluster, Request
from grader.commands.batch.job import Answer, Job, Outcome, Terms
from grader.commands.batch.job_codec import unwrap, wrap
from grader.errors import GraderError
from grader.system import process_tree
from grader.system.signals import terminable
from grader.vocabulary import Device

# As in the process that starts it: installed, or run from a folder.
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from grader.commands.batch.cluster_client import main; main(int(sys.argv[2]))"
)
# To take the job back: a scheduler sees a lost client by itself, but Slurm sees nothing.
_END_S = 2.0
_END_SLURM_S = 15.0
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Where to, and what for."""

    cluster: Request
    job: Job


class ClusterClient:
    """Sends a job; use as a context manager, from the main thread."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._end_s = _END_S
        self._said = b""

    def __enter__(self) -> ClusterClient:
        return self

    def __exit__(self, *_: object) -> None:
        """End the messenger and all that it started."""
        process = self._process
        if process is None:
            return
        if process.stdout is not None:
            process.stdout.close()
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(self._end_s)
        # Of its group there may be workers on this machine, of its own or, if it died, ours.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()

    @property
    def sent(self) -> bool:
        """True if there is an answer to ask for."""
        return self._process is not None

    def send(self, asked: Asked) -> None:
        """Start the messenger and return at once."""
        self._end_s = _END_SLURM_S if asked.cluster.where == "slurm" else _END_S
        # In our session, or the sweep after a grading would take it for a hand-in's.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, json.dumps(sys.path), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self._process.stdin as channel:
            channel.write(_text(asked))

    def answer(self, *, wait: bool) -> Answer | None:
        """Return the answer; None if there is none yet and `wait` is false.

        Waits without end if told to: the caller has a deadline. May be asked
        again after one has interrupted it.
        """
        assert self._process is not None and self._process.stdout is not None
        channel = self._process.stdout
        while select.select([channel], [], [], None if wait else 0)[0]:
            data = os.read(channel.fileno(), _CHUNK_BYTES)
            if not data:
                break
            self._said += data
        else:
            return None
        if not self._said:
            problem = "the process that was to ask the cluster ended without an answer"
            return Answer(outcome=Outcome.FAILED, problem=problem)
        return unwrap(self._said)


def _text(asked: Asked) -> bytes:
    """Return it as the messenger is told, without pickles: paths are text."""
    return json.dumps(asdict(asked), default=str).encode()


def _asked(text: bytes) -> Asked:
    values: dict[str, dict[str, Any]] = json.loads(text)
    cluster, job = values["cluster"], values["job"]
    tls = cluster["tls"] and Path(cluster["tls"])
    terms = Terms(**{**job["terms"], "device": Device(job["terms"]["device"])})
    paths = {key: Path(job[key]) for key in ("source", "assignment")}
    return Asked(
        cluster=Request(**{**cluster, "tls": tls}), job=Job(**{**job, **paths, "terms": terms})
    )


def main(parent: int) -> None:
    """Do the errand that standard input tells; what the messenger's process runs."""
    with terminable():
        process_tree.end_with_parent(parent)
        os.setpgid(0, 0)  # to be ended as a group
        process_tree.become_subreaper()  # and unreadable to submissions
        # Whatever prints something must not end up in the answer.
        channel = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        asked = _asked(sys.stdin.buffer.read())
        try:
            with Cluster(asked.cluster) as cluster:
                # Told before the connection is closed, which may take a while.
                for _, answer in cluster.results([asked.job]):
                    _tell(channel, answer)
        except GraderError as error:
            _tell(channel, Answer(outcome=Outcome.FAILED, problem=error.message))
        except Exception as error:
            problem = f"the cluster failed: {type(error).__name__}: {error}"
            _tell(channel, Answer(outcome=Outcome.FAILED, problem=problem))


def _tell(channel: Any, answer: Answer) -> None:
    if channel.closed:
        return  # it has been told; what breaks now is nobody's business
    with contextlib.suppress(BrokenPipeError), channel:
        channel.write(wrap(answer))
