"""The fork server for Python workers: a process that has imported torch and triton.

    python -I python_server.py cuda|cpu

Importing torch and triton takes a second or two; a fork some milliseconds (`forking`). CUDA is not
initialised here, because a context does not survive a fork.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import socket
import sys
from pathlib import Path
from types import ModuleType

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    import standalone  # noqa: F401 # so that the imports below find their modules

from grader.protocol import launches, wire
from grader.worker import forking, worker_log

_HUGE, _MADV_COLLAPSE = 2 << 20, 25
# What a request says to an executor, and to a worker.
_WORKER = ("file", "entry", "device", "target", "launched")


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
    # Imported here once, not in every worker: with what the first launch would import.
    from grader.worker import (  # noqa: F401
        triton_autotune,
        triton_executor,
        triton_host,
        triton_launches,
        triton_no_launch,
        triton_rehearsal,
    )

    for name in ("compiler.code_generator", "experimental.gluon.nvidia", "tools.tensor_descriptor"):
        with contextlib.suppress(ImportError):
            importlib.import_module(f"triton.{name}")
    with contextlib.suppress(Exception):  # a worker meets it again
        triton_rehearsal.rehearse()
    gc.collect()
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


def main() -> None:
    """Send the versions when ready, and fork workers until the judge closes the channel."""
    channel = socket.socket(fileno=wire.CHANNEL_FD)
    versions = prepare(sys.argv[1])
    # Triton reads its variables again at every kernel.
    kept = {name: value for name, value in os.environ.items() if name.startswith("TRITON_")}
    channel.send(json.dumps(versions).encode())
    forking.serve(channel, _prepare_worker, lambda request: _work(request, kept))


def _work(request: forking.Request, kept: dict[str, str]) -> None:
    """Be the worker of a request, or an executor; `kept` are Triton's variables."""
    forking.name_process("launch_executor" if request["executes"] else request["worker"])
    os.environ.update({name: value for name, value in kept.items() if name not in os.environ})
    try:
        program = _program(request["worker"])
    except Exception as error:
        if request["executes"]:
            worker_log.tell_unusable(error)
        else:
            channel = socket.socket(fileno=wire.CHANNEL_FD)
            number, *_ = wire.receive(channel)
            worker_log.tell_unusable(error)  # what is told before belongs to no command
            wire.answer(channel, number, wire.LOAD_FAILED)
        os._exit(wire.EXIT_FAILED)
    mode = launches.LaunchMode(**request["mode"])
    try:
        if request["executes"]:
            program.serve_executor(launches.LINK_FD, mode, host_writes=request["host_writes"])
        else:
            program.serve(**{name: request[name] for name in _WORKER}, mode=mode)
    except BaseException as error:
        print(f"worker: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(wire.EXIT_FAILED)


def _prepare_worker(request: forking.Request) -> bool:
    # The worker says why its program cannot be imported, as with another version of a package.
    with contextlib.suppress(Exception):
        _program(request.get("expect") or request["worker"])
    return "expect" not in request


if __name__ == "__main__":
    main()
