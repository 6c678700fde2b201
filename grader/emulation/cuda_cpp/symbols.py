"""Maps program counters to lines of the student's files, with addr2line.

Program counters are offsets in the built object. One addr2line process returns the chain
of inlined functions for each; the innermost frame in a student's file is its place.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from grader.system.retry import retry_start

ADDR2LINE = "addr2line"
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{1,16}")
_LINE = re.compile(r"^(.*):(\d{1,9}|\?)(?: \(discriminator \d+\))?$")

# A class's own copying: `ns::V<4>::V(ns::V<4> const&)`, `V::operator=(V&&)`.
_COPYING = re.compile(r"((?:.*::)?(\w+)(?:<.*>)?)::(?:\2|operator=)\(\1(?: const&|&&)\)")

# Runs a command with text on its standard input and returns its standard output.
Runner = Callable[[list[str], str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A function and a line (0 if unknown)."""

    function: str
    file: str
    line: int


def symbolize(
    library: Path,
    offsets: Iterable[int],
    *,
    files: Collection[str],
    given: Collection[str] = (),
    run: Runner | None = None,
    addr2line: str = ADDR2LINE,
) -> dict[int, Place]:
    """Return the place of each program counter.

    `files` are the names of the student's files, and `given` of headers among them that a course
    gives: their lines count only if no other file calls them. A place is the innermost frame in
    one of the files that is not a class's copying, or the innermost frame if there is none. Unknown
    program counters are left out.
    """
    wanted = sorted(set(offsets))
    if not wanted:
        return {}
    command = [addr2line, "-e", str(library), "-a", "-f", "-i", "-C"]
    answer = (run or _run)(command, "".join(f"{offset:#x}\n" for offset in wanted))
    names = {PurePath(file).name for file in files}
    own = names - set(given)
    return {
        offset: _student_frame(frames, own) or _student_frame(frames, names) or frames[0]
        for offset, frames in parse_frames(answer).items()
        if frames
    }


def parse_frames(answer: str) -> Mapping[int, tuple[Place, ...]]:
    """Return the frames of each address, innermost first, from addr2line's output."""
    chains: dict[int, list[Place]] = {}
    chain: list[Place] = []
    function = None
    for line in answer.splitlines():
        if function is None and _ADDRESS.fullmatch(line):
            chain = chains.setdefault(int(line, 16), [])
        elif function is None:
            function = line
        else:
            match = _LINE.match(line)
            if match and match[1] != "??":
                number = 0 if match[2] == "?" else int(match[2])
                chain.append(Place(function=function, file=match[1], line=number))
            function = None
    return {address: tuple(frames) for address, frames in chains.items()}


def _student_frame(frames: tuple[Place, ...], names: set[str]) -> Place | None:
    """Return the innermost frame in a file, None without one; of a copy, the frame that copies."""
    own = [frame for frame in frames if PurePath(frame.file).name in names and frame.line]
    while len(own) > 1 and _COPYING.fullmatch(own[0].function):
        del own[0]
    if not own:
        return None
    return Place(function=own[0].function, file=PurePath(own[0].file).name, line=own[0].line)


def _run(command: list[str], text: str) -> str:
    done = retry_start(
        lambda: subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    )
    return done.stdout
