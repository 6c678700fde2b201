"""The fork server for Python workers: a process that has imported torch and triton.

    python -I python_server.py cuda|cpu

    judge ── request + channel, report, output ─────→ server (holds no secret,
                                                        runs no student code)
                                                        fork ─→ intermediate process
                                                                  fork ─→ worker
      ←── pid, pidfd of the worker ──────────────────

Importing torch and triton takes a second or two; a fork takes about 10 ms. The intermediate process
exits at once, so that the worker becomes the judge's own child (the judge is a subreaper). The
worker confines itself before it reads the submission. CUDA is not initialised here, because a
context does not survive a fork.
"""

import contextlib
import ctypes
import errno
import gc
import importlib
import json
import os
import socket
import sys
import time
from pathlib import Path
from types import ModuleType

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import standalone  # noqa: F401 # so that the imports below find their modules

from grader.protocol import launches, wire
from grader.worker import confine

_FORK_S = 5.0
_HUGE, _MADV_COLLAPSE = 2 << 20, 25
# What a request says to an executor, and to a worker.
_EXECUTOR = ("checked", "host_writes", "idle", "records")
_WORKER = ("file", "entry", "device", "tuning", "idle", "target", "turn", "launched")


def prepare(device: str) -> dict[str, str]:
    """Import what workers need and return the versions."""
    os.environ.pop("TRITON_INTERPRET", None)  # kernels are compiled here
    gc.disable()  # collections would take an eighth of the time of these imports
    import torch
    import triton
    import triton.language

    # Threads started here would be missing in the forked workers.
    torch.set_num_threads(1)
    versions = {"torch": str(torch.__version__), "triton": str(triton.__version__)}
    from grader.worker import triton_executor, triton_host, triton_launches

    # Imported here once, not in every worker: with what the first launch would import.
    assert triton_executor and triton_host and triton_launches
    for name in ("triton.compiler.code_generator", "triton.experimental.gluon.nvidia"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    # A collection in a worker would touch, and so copy, the memory of all that is here.
    gc.collect()
    gc.freeze()
    gc.enable()
    _use_huge_pages()
    return versions


def _use_huge_pages() -> None:
    """Move this process's objects to huge pages: a fork copies an entry for each page.

    The kernel may refuse (MADV_COLLAPSE is new in Linux 6.1); then forks take longer.
    """
    libc = ctypes.CDLL(None)
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, rights, _, _, inode, *_ = line.split()
        first, last = (int(address, 16) for address in span.split("-"))
        first, last = -(-first // _HUGE) * _HUGE, last // _HUGE * _HUGE
        if inode == "0" and rights.startswith("rw") and first < last:
            libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), _MADV_COLLAPSE)


def _program(name: str) -> ModuleType:
    """Return the module of a worker's program, with what it imports ready: once, not in forks."""
    module = importlib.import_module(f"grader.worker.{name.removesuffix('.py')}")
    module.prepare()
    return module


def fork_worker(request: dict, descriptors: list[int]) -> tuple[int, int]:  # type: ignore[type-arg]
    """Fork a worker, orphan it to the judge, and return (pid, pidfd)."""
    parent_end, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    intermediate = _fork()
    if intermediate == 0:
        try:
            # Before the fork: this process may have ended when the worker first runs.
            parent = os.getpid()
            worker = _fork()
            if worker == 0:
                _become_worker(request, descriptors, parent)
            pidfd = os.pidfd_open(worker)
            socket.send_fds(child_end, [str(worker).encode()], [pidfd])
        finally:
            os._exit(0)  # never return into the server's loop
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


def _become_worker(request: dict, descriptors: list[int], parent: int) -> None:  # type: ignore[type-arg]
    try:
        # "Die with the parent" must mean the judge, not the intermediate process.
        while os.getppid() == parent:
            time.sleep(0.0002)
        # To high numbers first: one of them may have a number that is a target below.
        channel, report, output, *link = (os.dup2(fd, 100 + i) for i, fd in enumerate(descriptors))
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in (
            (null, 0),
            (output, 1),
            (output, 2),
            (channel, wire.CHANNEL_FD),
            (report, wire.REPORT_FD),
            *((fd, launches.LINK_FD) for fd in link),
        ):
            os.dup2(source, target)
        # Triton reads its variables again at every kernel.
        kept = {name: value for name, value in os.environ.items() if name.startswith("TRITON_")}
        os.environ.clear()
        os.environ.update({**kept, **request["environment"]})
        confine.confine(request["settings"])
        program = _program(request["worker"])
        if request["executes"]:
            program.serve_executor(launches.LINK_FD, **{name: request[name] for name in _EXECUTOR})
        else:
            program.serve(**{name: request[name] for name in _WORKER})
    except BaseException as error:
        print(f"worker: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(wire.EXIT_FAILED)


def main() -> None:
    """Send the versions when ready, and fork workers until the judge closes the channel."""
    channel = socket.socket(fileno=wire.CHANNEL_FD)
    # A submission of the same user must not trace or read this process.
    ctypes.CDLL(None).prctl(confine.PR_SET_DUMPABLE, 0, 0, 0, 0)
    versions = prepare(sys.argv[1])
    channel.send(json.dumps(versions).encode())
    while True:
        data, descriptors, _, _ = socket.recv_fds(channel, wire.MESSAGE_BYTES * 4, 4)
        if not data:
            return
        request = json.loads(data)
        # A worker whose program cannot be imported says why.
        with contextlib.suppress(Exception):
            _program(request.get("expect") or request["worker"])
        if "expect" in request:
            continue
        pid, pidfd = fork_worker(request, descriptors)
        socket.send_fds(channel, [str(pid).encode()], [pidfd])
        for descriptor in (*descriptors, pidfd):
            os.close(descriptor)


if __name__ == "__main__":
    main()
