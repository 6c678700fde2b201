"""The main function of a pool worker; `process_pool` starts it.

A worker lives as long as there are tasks, so that torch is imported once. It has its
own session, so Ctrl-C reaches only the command line, which then ends its workers.
Processes that a grading starts are children of this process and end with the grading.
If the command line dies, the kernel signals this process.
"""

from __future__ import annotations

import importlib
import os
import sys
from multiprocessing.connection import Connection

from grader.pool.state import WorkerState
from grader.system import process_tree
from grader.system.signals import ignore_termination, terminable

READY = "ready"  # the first message of a worker


def main(function: str, descriptor: str, parent: str, threads: str) -> None:
    """Do the tasks that come through the channel until it is closed.

    `function` is "module:function"; it is called with a task and the `WorkerState`,
    and its result is sent back.
    """
    with terminable():
        process_tree.end_with_parent(int(parent))
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
