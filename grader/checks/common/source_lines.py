"""Instructions of a hand-in's library → lines of its source.

addr2line reads debugging information that a hand-in may have forged, so it runs
in the sandbox, on a copy: it sees neither the cache nor any file that the
information names.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath

from grader.emulation.cuda_cpp.symbols import Place, symbolize
from grader.sandbox import spawn
from grader.sandbox.scratch_dir import box

_LOOK_UP_S = 10.0
_COPY = "library.so"


def find_places(library: Path, addresses: Iterable[int], file: str) -> Mapping[int, Place]:
    """Return the place of each address of a library built from `file`, where one is known."""

    def run(command: list[str], text: str) -> str:
        program = shutil.which(command[0], path=spawn.clean_environment(Path())["PATH"])
        if program is None:
            return ""
        with box("grade-place-") as folder:
            shutil.copyfile(library, folder / _COPY)
            ended = spawn.run(
                [program, *command[1:], *text.split()],
                cwd=folder,
                environment=spawn.clean_environment(folder),
                wall_s=_LOOK_UP_S,
            )
        return ended.output if ended.ok else ""

    return symbolize(Path(_COPY), addresses, files={PurePath(file).name}, run=run)
