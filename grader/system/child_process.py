"""Start a child of ours with descriptors on the numbers that it expects."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from grader.system import process_tree
from grader.system.retry import patiently


def launch(
    command: Sequence[str], environment: Mapping[str, str], moves: Sequence[tuple[int, int]]
) -> int:
    """Start `command`, registered with `family`; return its number.

    `moves` are pairs of a descriptor of ours and the child's. Its standard
    input is empty. Raises GraderError if the machine has no room for a process.
    """
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    # Two steps through high numbers, so that no source is overwritten before its turn.
    moves = [(null, 0), *moves]
    high = max(200, *(source + 1 for source, _ in moves))
    actions = [(os.POSIX_SPAWN_DUP2, source, high + i) for i, (source, _) in enumerate(moves)]
    actions += [(os.POSIX_SPAWN_DUP2, high + i, target) for i, (_, target) in enumerate(moves)]

    def start() -> int:
        with process_tree.hold():
            pid = os.posix_spawn(
                command[0], tuple(command), dict(environment), file_actions=actions
            )
            process_tree.register(pid)
        return pid

    try:
        return patiently(start)
    finally:
        os.close(null)
