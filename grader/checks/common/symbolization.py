"""Map addresses in a submission's library to lines of its source file.

A submission can forge its debugging information. So addr2line runs in the sandbox on a copy of the
library, where it sees neither the cache nor the files that the information names.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from grader.build.artifact import Built
from grader.emulation.cuda_cpp.symbols import Place, symbolize
from grader.sandbox import spawn
from grader.sandbox.scratch_dir import scratch_folder

_LOOK_UP_S = 10.0
_COPY = "library.so"


def locator(built: Built) -> Callable[[set[int]], Mapping[int, Place]]:
    """Return a function that finds the places of addresses in a library, in the student's files.

    Addresses without a known place are missing in its result.
    """

    def run(command: list[str], text: str) -> str:
        return _answer(built.path, built.path.stat().st_mtime_ns, tuple(command), text)

    files, given = set(built.own_names), built.given
    return lambda addresses: symbolize(Path(_COPY), addresses, files=files, given=given, run=run)


@functools.lru_cache(maxsize=32)  # the cases of a submission fail at the same places
def _answer(library: Path, changed_ns: int, command: tuple[str, ...], text: str) -> str:
    """Return what addr2line says of a library, "" if it fails; `changed_ns` dates the library."""
    del changed_ns
    program = shutil.which(command[0], path=spawn.clean_environment(Path())["PATH"])
    if program is None:
        return ""
    with scratch_folder("grade-place-") as folder:
        shutil.copyfile(library, folder / _COPY)
        ended = spawn.run(
            [program, *command[1:], *text.split()],
            cwd=folder,
            environment=spawn.clean_environment(folder),
            wall_s=_LOOK_UP_S,
        )
    return ended.output if ended.ok else ""
