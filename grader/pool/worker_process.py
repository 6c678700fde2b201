"""One of the processes that do the tasks; started by `pool`, never by hand.

It stays for as long as there are tasks, so that torch is imported once, and has
a session of its own: what a grading starts is found below this process and
ended with the grading, and Ctrl-C reaches the command line alone, which then
ends this process in order. If the command line dies, the kernel tells us.
"""

from __future__ import annotations

import importlib
import os
import sys
from multiprocessing.connection import Connection

from grader.pool.state import WorkerState
from grader.system import process_tree
from grader.system.signals import ignore_termination, terminable

# The first message of a process that has come far enough to do tasks.
READY = "ready"


def main(doer: str, descriptor: int, parent: int, threads: int) -> None:
    """Do the tasks that come through the channel until it is closed.

    `doer` is "module:function"; the function takes a task and the `WorkerState`, and
    what it returns is sent back.
    """
    with terminable():
        process_tree.end_with_parent(parent)
        # Read by torch when it is imported, by libraries below it as well.
        os.environ.setdefault("OMP_NUM_THREADS", str(threads))
        # An oracle's print must not end up in the table.
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        module, _, function = doer.partition(":")
        do = getattr(importlib.import_module(module), function)
        state = WorkerState()
        with Connection(descriptor) as channel:
            try:
                channel.send(READY)
                while True:
                    task = channel.recv()
                    channel.send(do(task, state))
            except (EOFError, BrokenPipeError, ConnectionResetError):
                pass  # there is no more to do, or nobody to do it for
            finally:
                # The kernel's word that the parent is gone may come while it is cleared up.
                try:
                    ignore_termination()
                finally:
                    state.close()
