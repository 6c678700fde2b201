"""Measure the isolation level of this machine by trying to escape from the sandbox.

    Level.FULL      no attempt to get out of the sandbox succeeds
    Level.PARTIAL   hidden files and the judge are out of reach; something else is not
    Level.NONE      a submission can read hidden files or reach into the judge

`isolation` starts the program `grader.worker.escape_attempts` like a submission, once as a program
on the CPU and once as one on a GPU, and tells `grader.sandbox.policy` which layers work. It tries
the most layers first. A temporary user needs a judge that is root, and must be able to read this
Python and to enter TMPDIR; Landlock must not stop what a submission needs. A layer that would stop
an honest kernel is left out and noted, so that no student is blamed for it; the level shows the
effect.
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
from grader.sandbox import cgroup, landlock, seccomp, spawn
from grader.sandbox.level import Isolation, Level
from grader.sandbox.policy import Layers, use_layers
from grader.sandbox.scratch_dir import scratch_folder
from grader.system import process_tree

_PROBE_S = 60.0  # the probe takes a tenth of a second; starting CUDA can take some seconds
_SOCKET_FOLDER_BYTES = 90  # a socket's path has at most 107

# A submission that can do one of these can forge its own grade.
_SEVERE = frozenset(
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
    """Return the isolation of this machine, measured once; the sandbox uses its layers after that.

    With `gpu`, the compilers still run as programs on the CPU: the lower level counts.
    """
    with _lock:
        process_tree.become_subreaper()
        on_cpu = _measured(False)
        return on_cpu.lesser(_measured(True)) if gpu else on_cpu


def with_hidden(found: Isolation, hidden: Sequence[Path]) -> Isolation:
    """Return the isolation for a run with folders that only staff may read."""
    readable = landlock.uncovered(hidden)
    if not readable:
        return found
    names = " and ".join(map(str, readable))
    missing = f"a submission can read {names}, which is in a folder of programs: move it"
    return replace(found, level=Level.NONE, missing=(missing, *found.missing))


@functools.cache
def _measured(gpu: bool) -> Isolation:
    available, notes = _available()
    for layers in _candidates(available):
        result = run_probe(layers, gpu=gpu)
        problem = result if isinstance(result, str) else _problem(result)
        if problem is None and not isinstance(result, str):
            use_layers(layers, gpu=gpu)
            return _judged(layers, result["attempts"], tuple(notes))
        notes.append(f"{_left_out(layers)}: {problem}")
    layers = Layers(landlock=False, filter=False)
    use_layers(layers, gpu=gpu)
    return Isolation(
        level=Level.NONE,
        layers=layers.description,
        missing=("a submission can do whatever this user can",),
        notes=tuple(notes),
    )


def _available() -> tuple[Layers, list[str]]:
    """Return the layers that this kernel has, and a note for each that it lacks."""
    layers = Layers(
        landlock=landlock_abi(ctypes.CDLL(None)) > 0, filter=seccomp.program(gpu=False) != b""
    )
    notes = []
    if not layers.landlock:
        notes.append("no Landlock: it is not in this kernel, or not allowed")
    if not layers.filter:
        notes.append(f"no seccomp filter: the grader has none for {os.uname().machine}")
    return layers, notes


def _candidates(available: Layers) -> Iterator[Layers]:
    for own_group in [True, False] if cgroup.places() else [False]:
        if os.geteuid() == 0:
            yield replace(available, own_user=True, own_group=own_group)
        yield replace(available, own_group=own_group)


def _left_out(layers: Layers) -> str:
    """Name the layer that the next candidate does without."""
    if layers.own_user:
        return "no user of its own"
    return "no control group" if layers.own_group else "no Landlock and no seccomp filter"


def _problem(result: dict[str, Any]) -> str | None:
    """Return why an honest program cannot run under these layers, None if it can."""
    if result["unreadable"]:
        return f"{result['unreadable'][0]} cannot be read there"
    if not result["scratch"]:
        return f"it cannot enter {tempfile.gettempdir()} (TMPDIR)"
    if result["cuda"] is not None:
        return f"CUDA does not start there: {result['cuda']}"
    return None


def _judged(layers: Layers, outcomes: dict[str, str | None], notes: tuple[str, ...]) -> Isolation:
    escapes = [name for name, outcome in outcomes.items() if outcome is not None]
    level = Level.PARTIAL if escapes else Level.FULL
    if _SEVERE & set(escapes):
        level = Level.NONE
    return Isolation(
        level=level,
        layers=layers.description,
        missing=tuple(f"a submission can {name}" for name in escapes),
        notes=notes,
    )


def run_probe(layers: Layers, *, gpu: bool) -> dict[str, Any] | str:
    """Run the probe; return its JSON result, or why it could not run."""
    with contextlib.ExitStack() as undo:
        hidden = undo.enter_context(scratch_folder("grade-hidden-"))
        (hidden / "secret").write_text(secrets.token_hex())
        here = undo.enter_context(scratch_folder("grade-probe-"))
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
        result = json.loads(last[0])
    except ValueError:
        return last[0][:300]
    return result if ended.ok and isinstance(result, dict) else last[0][:300]


def _listeners(folder: Path, undo: contextlib.ExitStack) -> dict[str, object]:
    """Listen on every kind of socket that a submission must not connect to."""
    port = 9
    with contextlib.suppress(OSError):  # without a network the probe still tries to connect
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
