"""The program that replays recorded launches on a GPU: `replay/replay.cpp`, compiled once."""

from __future__ import annotations

from pathlib import Path

from grader.build.host_compiler import compile_own
from grader.system.cache import cached_folder, content_key
from grader.system.toolchain import Tool

_SOURCE = Path(__file__).parent / "replay" / "replay.cpp"
_NAME = "replay"
_FLAGS = ("-std=c++17", "-O1", "-Wall")


def replay_program(cxx: Tool) -> Path:
    """Return the program for this machine, from the cache or compiled into it.

    Raises ToolError if g++ cannot compile it.
    """

    def make(folder: Path) -> None:
        command = [str(cxx.path), *_FLAGS, "-o", _NAME, _SOURCE.name, "-ldl"]
        compile_own(command, folder / _NAME, "the replay of launches", _SOURCE)
        (folder / _NAME).chmod(0o755)

    key = content_key(f"{cxx.name} {cxx.version}", *_FLAGS, _SOURCE.read_bytes())
    return cached_folder("launch-replay", key, make, exclusive=True) / _NAME
