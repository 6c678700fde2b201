"""Recordings of launches: their words, and a replay with a stand-in for the CUDA driver."""

from __future__ import annotations

import functools
import os
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

from grader.build.replay_program import replay_program
from grader.system import toolchain
from grader.worker import launch_recording as recording

_DRIVER = Path(__file__).with_name("fake_driver.cpp")
_NAMES = {recording.CALL: "call", recording.ALLOCATE: "allocate", recording.FREE: "free",
          recording.WRITE: "write", recording.ADDRESS: "address", recording.LAUNCH: "launch",
          recording.END: "end"}  # fmt: skip
_LENGTHS = {"call": 0, "allocate": 3, "free": 1, "write": 3, "address": 4, "launch": 5, "end": 0}
Record = tuple[object, ...]


def records(data: bytes) -> list[Record]:
    """Return the records of a recording: (name, words…), with bytes or arguments at the end."""
    at = 0

    def words(count: int) -> tuple[int, ...]:
        nonlocal at
        at += 8 * count
        return struct.unpack_from(f"<{count}Q", data, at - 8 * count)

    assert words(1) == (recording.MAGIC,)
    found: list[Record] = []
    while at < len(data):
        name = _NAMES[words(1)[0]]
        given = words(_LENGTHS[name])
        if name == "write":
            found.append((name, *given, data[at : at + given[2]]))
            at += (given[2] + 7) // 8 * 8
        elif name == "launch":
            arguments = []
            for _ in range(given[4]):
                (kind,) = words(1)
                if kind == recording.NUMBER:
                    arguments.append(words(1))
                elif kind == recording.POINTER:
                    arguments.append(words(2))
                else:
                    fixed = words(4)
                    arguments.append((*fixed, *words(2 * fixed[2])))
            found.append((name, *given[:4], arguments))
        else:
            found.append((name, *given))
    return found


def record(*words: int, content: bytes = b"") -> bytes:
    """Return a record's bytes."""
    return struct.pack(f"<{len(words)}Q", *words) + content + bytes(-len(content) % 8)


@functools.cache
def program() -> Path:
    """Return the program that replays recordings."""
    cxx = toolchain.find_cxx()
    if cxx is None:
        pytest.skip("no g++")
    return replay_program(cxx)


@functools.cache
def fake_driver() -> Path:
    """Return the folder of the stand-in for the CUDA driver."""
    folder = Path(tempfile.mkdtemp(prefix="fake-driver-"))
    command = ["g++", "-shared", "-fPIC", "-O1", "-o", str(folder / "libcuda.so.1"), str(_DRIVER)]
    subprocess.run(command, check=True)
    return folder


def replay(
    folder: Path, data: bytes, kernels: str, *, parameters: int = 0, hangs: bool = False
) -> tuple[int, str, list[str]]:
    """Replay a recording in a folder; return the exit code, the message and the log's lines.

    Kernels of which each `hangs` get a second.
    """
    (folder / "kernels.txt").write_text(kernels)
    (folder / "0.cubin").write_text("a cubin")
    (folder / "recording").write_bytes(data)
    log = folder / "log"
    log.write_text("")
    ended = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" "$1" outputs 3< recording', program(), str(int(hangs))],
        cwd=folder,
        env={
            **os.environ,
            "LD_LIBRARY_PATH": str(fake_driver()),
            "FAKE_LOG": str(log),
            "FAKE_PARAMETERS": str(parameters),
            **({"FAKE_HANGS": "1"} if hangs else {}),
        },
        capture_output=True,
        text=True,
    )
    return ended.returncode, ended.stderr.strip(), log.read_text().splitlines()
