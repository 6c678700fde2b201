"""Fork workers that are the judge's own children, from a process that has imported what they need.

    judge ── request + descriptors ─→ server (holds no secret, runs no student code)
                                        vfork ─→ intermediate process
                                                   fork ─→ worker
      ←── pid, pidfd of the worker ────

The intermediate process exits at once, so that the worker becomes the judge's child (the judge is a
subreaper). It borrows the server's memory: a fork of a server that has imported torch takes longer
than some workers run. The worker confines itself before it does anything else.
"""

import ctypes
import errno
import gc
import json
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from grader.protocol import wire
from grader.worker import confine

_FORK_S = 5.0
_PR_SET_NAME = 15
_CLONE_VM, _CLONE_VFORK = 0x100, 0x4000
_OWN_STACK = 1 << 20  # bytes, far more than the server uses of its stack

Request = dict[str, Any]  # plain JSON

_libc = ctypes.PyDLL(None)  # calls that keep Python's lock


def serve(
    channel: socket.socket,
    prepare: Callable[[Request], bool],
    work: Callable[[Request], None],
) -> None:
    """Fork a worker for each request, until the judge closes the channel.

    `prepare` gets the request before the fork, and returns False if it wants no worker. A request
    has the worker's `environment`, the `settings` of `confine`, and `targets`, the numbers that the
    descriptors sent with it get. `work` gets it in the worker, which is confined, and whose process
    ends with it.
    """
    # A submission of the same user must not trace or read this process.
    _libc.prctl(confine.PR_SET_DUMPABLE, 0, 0, 0, 0)
    while True:
        data, descriptors, _, _ = socket.recv_fds(
            channel, wire.REQUEST_BYTES, wire.REQUEST_DESCRIPTORS
        )
        if not data:
            return
        request: Request = json.loads(data)
        if not prepare(request):
            continue
        # A collection in a worker would write to, and so copy, the memory of all that is here.
        gc.freeze()
        pid = _fork_orphan(partial(_be_worker, channel, request, descriptors, work))
        pidfd = os.pidfd_open(pid)
        socket.send_fds(channel, [str(pid).encode()], [pidfd])
        for descriptor in (*descriptors, pidfd):
            os.close(descriptor)


def _be_worker(
    channel: socket.socket,
    request: Request,
    descriptors: list[int],
    work: Callable[[Request], None],
) -> None:
    channel.detach()  # its number is the worker's channel from now on
    _set_up(request, descriptors)
    work(request)


def name_process(program: str) -> None:
    """Give this process the name of its program, for `ps` and `top`; the kernel keeps 15 bytes."""
    name = program.rpartition("/")[2].removesuffix(".py").encode()
    _libc.prctl(_PR_SET_NAME, name, 0, 0, 0)


def _fork_orphan(run: Callable[[], None]) -> int:
    """Fork a process that does `run` and is the judge's child; return its pid.

    The intermediate process is a vfork: this one waits until it has exited, and the memory is
    copied once, for the orphan. Its stack is the unused part of this stack, where the orphan's
    stack then begins. A pid is not used again before its parent, the judge, has asked for it.
    """
    pids = []

    def intermediate(_: object) -> int:
        parent = os.getpid()
        pid = _fork()
        if pid == 0:
            # "Die with the parent" must mean the judge, not the intermediate process.
            while os.getppid() == parent:
                time.sleep(0.0002)
            _run_to_end(run)
        pids.append(pid)
        return 0

    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(intermediate)
    flags = _CLONE_VM | _CLONE_VFORK | signal.SIGCHLD
    child = _libc.clone(function, ctypes.c_void_p(_free_stack()), flags, None)
    if child > 0:
        os.waitpid(child, 0)
    if not pids:
        raise SystemExit("no worker could be forked")  # the judge starts another server
    return pids[0]


def _free_stack() -> int:
    """Return an address in this thread's stack, the process's first, below all that is used."""
    end = ctypes.c_void_p.in_dll(_libc, "__libc_stack_end").value
    assert end is not None
    limit, _ = resource.getrlimit(resource.RLIMIT_STACK)
    own = _OWN_STACK if limit == resource.RLIM_INFINITY else min(_OWN_STACK, limit // 4)
    return (end - own) & ~0xFFF


def _run_to_end(run: Callable[[], None]) -> NoReturn:
    """Do `run` and end this process, with C's exit handlers.

    Python would free all objects first, and so write to, and copy, the server's memory.
    """
    code: int | str = 0
    try:
        run()
    except SystemExit as end:
        code = end.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:  # noqa: SIM105 # importing contextlib takes longer
            stream.flush()
        except (OSError, ValueError):
            pass  # closed
    ctypes.CDLL(None).exit(code)
    raise AssertionError("unreachable")


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


def _set_up(request: Request, descriptors: list[int]) -> None:
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
