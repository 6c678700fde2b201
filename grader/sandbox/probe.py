"""Find out how well hand-ins are kept apart from everything else here: by trying.

    Level.FULL      no attempt to get out of the sandbox succeeds
    Level.PARTIAL   hidden files and the judge are out of reach; something else is not
    Level.NONE      a hand-in can read hidden files or reach into the judge

`isolation` starts the probe `grader.worker.escape_attempts` as a hand-in is
started, once for programs on a processor and once for those on a GPU, and tells
`confinement` which layers work. It begins with the most and takes what comes: a
user of its own only if the judge is root and that user can read this Python; a
fence only if what a hand-in needs still runs inside it. A layer that keeps an
honest kernel from running is taken away and named; a student is never blamed
for it, and the level says what it costs.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import secrets
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.protocol import programs
from grader.protocol.landlock import landlock_abi
from grader.sandbox import cgroup, landlock, spawn
from grader.sandbox.level import Isolation, Level
from grader.sandbox.policy import Layers, use_layers
from grader.sandbox.scratch_dir import box
from grader.sandbox.seccomp import For, program
from grader.system import process_tree

_PROBE_S = 60.0  # it takes a tenth of a second; starting CUDA on a cold machine, some
_SOCKET_FOLDER_BYTES = 90  # a socket's path has room for 107 in all

# With these in a hand-in's reach, nothing that it was graded for can be relied on.
_GRAVE = frozenset(
    {
        "read a hidden file",
        "list a hidden folder",
        "write beside a hidden file",
        "change the kernel's settings",
        "read the judge's memory",
        "read the judge's environment",
        "look into the judge",
        "trace the judge",
        "signal the judge",
    }
)

_lock = threading.Lock()


def isolation(*, gpu: bool = False) -> Isolation:
    """Find out, once a run, what holds here; from then on the sandbox uses it.

    On a GPU some programs, the compilers, do not use it: the lesser level counts.
    """
    with _lock:
        process_tree.become_subreaper()
        found = _found(False)
        return found.lesser(_found(True)) if gpu else found


def with_hidden(found: Isolation, hidden: Sequence[Path]) -> Isolation:
    """Return the isolation of a run whose folders `hidden` are for staff only."""
    readable = landlock.uncovered(hidden)
    if not readable:
        return found
    names = " and ".join(map(str, readable))
    missing = f"{names} can be read, for a folder around it holds programs: move it"
    return replace(found, level=Level.NONE, missing=(missing, *found.missing))


@functools.cache
def _found(gpu: bool) -> Isolation:
    there, notes = _offered()
    for layers in _candidates(there):
        said = try_out(layers, gpu=gpu)
        problem = said if isinstance(said, str) else _problem(said)
        if problem is None and not isinstance(said, str):
            use_layers(layers, gpu=gpu)
            return _judged(layers, said["attempts"], tuple(notes))
        notes.append(f"{_left_out(layers)}: {problem}")
    layers = Layers(landlock=False, filter=False)
    use_layers(layers, gpu=gpu)
    return Isolation(
        level=Level.NONE,
        layers=layers.words,
        missing=("a hand-in can do whatever this user can",),
        notes=tuple(notes),
    )


def _offered() -> tuple[Layers, list[str]]:
    """Return the layers that this kernel has, so that no other is claimed, and what it lacks."""
    fenced = landlock_abi(ctypes.CDLL(None)) > 0
    filtered = program(For.PROCESSOR) != b""
    lacks = []
    if not fenced:
        lacks.append("no fence: Landlock is not in this kernel, or not allowed")
    if not filtered:
        lacks.append(f"no filter: it is not written for {os.uname().machine}")
    return Layers(landlock=fenced, filter=filtered), lacks


def _candidates(there: Layers) -> Iterator[Layers]:
    for own_group in [True, False] if cgroup.places() else [False]:
        if os.geteuid() == 0:
            yield replace(there, own_user=True, own_group=own_group)
        yield replace(there, own_group=own_group)


def _left_out(layers: Layers) -> str:
    """What the candidate after this one does without."""
    if layers.own_user:
        return "no user of its own"
    return "no control group" if layers.own_group else "no fence and no filter"


def _problem(said: dict[str, Any]) -> str | None:
    """Return why an honest program cannot run like this, None if it can."""
    if said["unreadable"]:
        return f"{said['unreadable'][0]} cannot be read there"
    if said["cuda"] is not None:
        return f"CUDA does not start there: {said['cuda']}"
    return None


def _judged(layers: Layers, outcomes: dict[str, str | None], notes: tuple[str, ...]) -> Isolation:
    ways_out = [name for name, outcome in outcomes.items() if outcome is not None]
    level = Level.PARTIAL if ways_out else Level.FULL
    if _GRAVE & set(ways_out):
        level = Level.NONE
    return Isolation(
        level=level,
        layers=layers.words,
        missing=tuple(f"a hand-in can {name}" for name in ways_out),
        notes=notes,
    )


def try_out(layers: Layers, *, gpu: bool) -> dict[str, Any] | str:
    """Run the probe; return what it said, or why it could not be run."""
    with contextlib.ExitStack() as undo:
        hidden = undo.enter_context(box("grade-hidden-"))
        (hidden / "secret").write_text(secrets.token_hex())
        here = undo.enter_context(box("grade-probe-"))
        about = {
            "judge": os.getpid(),
            "secret": str(hidden / "secret"),
            "shared": tempfile.gettempdir(),
            "needed": landlock.interpreter_files(),
            "gpu": gpu,
            **_listeners(hidden, undo),
        }
        try:
            ended = spawn.run(
                [sys.executable, "-I", "-S", str(programs.ESCAPE_ATTEMPTS), json.dumps(about)],
                cwd=here,
                environment=spawn.clean_environment(here),
                wall_s=_PROBE_S,
                gpu=gpu,
                layers=layers,
            )
        except OSError as error:
            return error.strerror or str(error)
    last = ended.output.strip().splitlines()[-1:] or [f"it ended with {ended.end.value}"]
    try:
        said = json.loads(last[0])
    except ValueError:
        return last[0][:300]
    return said if ended.ok and isinstance(said, dict) else last[0][:300]


def _listeners(folder: Path, undo: contextlib.ExitStack) -> dict[str, object]:
    """Listen in all the ways that a hand-in must not connect in."""
    port = 9
    with contextlib.suppress(OSError):  # no network at all: being refused is asked all the same
        tcp = undo.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        port = tcp.getsockname()[1]
    named = undo.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    abstract = undo.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    if len(os.fsencode(folder)) > _SOCKET_FOLDER_BYTES:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(dir="/tmp", prefix="grade-")))
    path, name = str(folder / "socket"), f"gpu-grade-probe-{secrets.token_hex(8)}"
    named.bind(path)
    named.listen()
    abstract.bind(f"\0{name}")
    abstract.listen()
    return {"port": port, "socket": path, "abstract": name}
