"""The program that replays recorded launches on a GPU: `replay/replay.cpp`, compiled once."""

from __future__ import annotations

import shutil
from pathlib import Path

from grader.errors import ToolError
from grader.sandbox import spawn
from grader.sandbox.scratch_dir import scratch_folder
from grader.system.cache import cached_folder, content_key
from grader.system.toolchain import Tool

_SOURCE = Path(__file__).parent / "replay" / "replay.cpp"
_NAME = "replay"
_WALL_S = 120.0
_FLAGS = ("-std=c++17", "-O1", "-Wall")


def replay_program(cxx: Tool) -> Path:
    """Return the program for this machine, from the cache or compiled into it.

    Raises ToolError if g++ cannot compile it.
    """

    def make(folder: Path) -> None:
        with scratch_folder("grade-replay-") as scratch:
            shutil.copyfile(_SOURCE, scratch / _SOURCE.name)
            ended = spawn.run(
                [str(cxx.path), *_FLAGS, "-o", _NAME, _SOURCE.name, "-ldl"],
                cwd=scratch,
                environment=spawn.clean_environment(scratch),
                wall_s=_WALL_S,
            )
            if ended.ok:
                shutil.copyfile(scratch / _NAME, folder / _NAME)
                (folder / _NAME).chmod(0o755)
        if not ended.ok:
            raise ToolError(
                f"{cxx.path} cannot compile the replay of launches:\n{ended.output[-2000:]}",
                tip="`grade doctor` says which g++ is needed",
            )

    key = content_key(f"{cxx.name} {cxx.version}", *_FLAGS, _SOURCE.read_bytes())
    return cached_folder("launch-replay", key, make, exclusive=True) / _NAME
