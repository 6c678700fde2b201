"""The main function of a pool worker; `process_pool` starts it.

A worker lives as long as there are tasks, so that torch is imported once. It has its
own session, so Ctrl-C reaches only the command line, which then ends its workers.
Processes that a grading starts are children of this process and end with the grading.
If the command line dies, the kernel signals this process.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import sys
from multiprocessing.connection import Connection

from grader.pool.state import WorkerState
from grader.system import process_tree
from grader.system.signals import ignore_termination, terminable

READY = "ready"  # the first message of a worker

# Parameters of mallopt (malloc.h of glibc), which uses the heap for sizes up to 32 MiB at most.
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
_ON_THE_HEAP, _KEPT = 32 << 20, 256 << 20  # bytes


def main(function: str, descriptor: str, parent: str, threads: str, core: str = "") -> None:
    """Do the tasks that come through the channel until it is closed.

    `function` is "module:function"; it is called with a task and the `WorkerState`,
    and its result is sent back. It and what it starts run on `core`, or on any.
    """
    with terminable():
        process_tree.end_with_parent(int(parent))
        with contextlib.suppress(OSError):  # the system has taken it since: use any
            if core:
                os.sched_setaffinity(0, {int(core)})
        _keep_freed_memory()
        # Read by torch and the libraries below it when torch is imported.
        os.environ.setdefault("OMP_NUM_THREADS", threads)
        # Keep the output of an oracle out of the command's output.
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        module, _, name = function.partition(":")
        do = getattr(importlib.import_module(module), name)
        state = WorkerState(int(threads))
        with Connection(int(descriptor)) as channel:
            try:
                channel.send(READY)
                while True:
                    task = channel.recv()
                    channel.send(do(task, state))
            except (EOFError, BrokenPipeError, ConnectionResetError):
                pass  # the command line has no more tasks, or has ended
            finally:
                # The kernel may signal the parent's death while this cleans up.
                try:
                    ignore_termination()
                finally:
                    state.close()


def _keep_freed_memory() -> None:
    """Let the heap keep what torch frees: a comparison allocates tens of arrays of one size.

    Fresh pages from the kernel took a tenth of the time of `grade verify gemm`.
    """
    libc = ctypes.CDLL(None)
    with contextlib.suppress(AttributeError):  # another C library than glibc
        libc.mallopt(_MMAP_THRESHOLD, _ON_THE_HEAP)
        libc.mallopt(_TRIM_THRESHOLD, _KEPT)
