"""Fork workers that are the judge's own children, from a process that has imported what they need.

    judge ── request + descriptors ─→ server (holds no secret, runs no student code)
                                        fork ─→ intermediate process
                                                  fork ─→ worker
      ←── pid, pidfd of the worker ────

The intermediate process exits at once, so that the worker becomes the judge's child (the judge is a
subreaper). The worker confines itself before it does anything else.
"""

import ctypes
import errno
import json
import os
import socket
import sys
import time
from collections.abc import Callable

from grader.protocol import wire
from grader.worker import confine

_FORK_S = 5.0
_PR_SET_NAME = 15


def serve(channel: socket.socket, prepare: Callable[[dict], bool]) -> dict:  # type: ignore[type-arg]
    """Fork a worker for each request until the judge closes the channel; return in workers only.

    `prepare` gets the request before the fork, and returns False if it wants no worker. A request
    has the worker's `environment`, the `settings` of `confine`, and `targets`, the numbers that the
    descriptors sent with it get. Returns the request, in the confined worker.
    """
    # A submission of the same user must not trace or read this process.
    ctypes.CDLL(None).prctl(confine.PR_SET_DUMPABLE, 0, 0, 0, 0)
    while True:
        data, descriptors, _, _ = socket.recv_fds(
            channel, wire.REQUEST_BYTES, wire.REQUEST_DESCRIPTORS
        )
        if not data:
            sys.exit()
        request: dict = json.loads(data)  # type: ignore[type-arg]
        if not prepare(request):
            continue
        forked = _fork_worker()
        if forked is None:
            channel.detach()  # its number is the worker's channel from now on
            _set_up(request, descriptors)
            return request
        pid, pidfd = forked
        socket.send_fds(channel, [str(pid).encode()], [pidfd])
        for descriptor in (*descriptors, pidfd):
            os.close(descriptor)


def name_process(program: str) -> None:
    """Give this process the name of its program, for `ps` and `top`; the kernel keeps 15 bytes."""
    name = program.rpartition("/")[2].removesuffix(".py").encode()
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name, 0, 0, 0)


def _fork_worker() -> tuple[int, int] | None:
    """Fork a worker and orphan it to the judge; return (pid, pidfd), or None in the worker."""
    parent_end, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    intermediate = _fork()
    if intermediate == 0:
        # Before the fork: this process may have ended when the worker first runs.
        parent = os.getpid()
        try:
            worker = _fork()
            if worker:
                socket.send_fds(child_end, [str(worker).encode()], [os.pidfd_open(worker)])
        except BaseException:  # it must never return into the server's loop
            worker = -1
        if worker:
            os._exit(0)
        # "Die with the parent" must mean the judge, not the intermediate process.
        while os.getppid() == parent:
            time.sleep(0.0002)
        return None
    child_end.close()
    data, pidfds, _, _ = socket.recv_fds(parent_end, 64, 1)
    parent_end.close()
    os.waitpid(intermediate, 0)  # from now on the worker is the judge's child
    if not pidfds:
        raise SystemExit("no worker could be forked")  # the judge starts another server
    return int(data), pidfds[0]


def _fork() -> int:
    """Fork, and retry for a while if the kernel refuses a process."""
    deadline_s = time.monotonic() + _FORK_S
    while True:
        try:
            return os.fork()
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ENOMEM) or time.monotonic() > deadline_s:
                raise
        time.sleep(0.05)


def _set_up(request: dict, descriptors: list[int]) -> None:  # type: ignore[type-arg]
    """Take the descriptors and the environment, and confine this process."""
    try:
        # To high numbers first: one of them may have a number that is a target.
        high = [os.dup2(descriptor, 200 + i) for i, descriptor in enumerate(descriptors)]
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for descriptor, target in zip(high, request["targets"], strict=True):
            os.dup2(descriptor, target)
        os.environ.clear()
        os.environ.update(request["environment"])
        confine.confine(request["settings"])
    except BaseException as error:
        print(f"worker: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(wire.EXIT_FAILED)
