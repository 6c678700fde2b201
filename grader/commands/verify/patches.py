"""Samples as patches: unified diffs against the solved files, so that they follow every edit.

    # expect: message="off by one"        for the Python file, `// expect:` for the CUDA C++ file
    --- silu.cu
    +++ silu.cu
    @@ -17 +17 @@
    -    if (i < n) output[i] = silu_of(input[i]);
    +    if (i < n - 1) output[i] = silu_of(input[i]);

One part per file. A hunk is found by its text, closest to the line that it names. What
`diff -U1 OLD NEW` and `git diff` write is a patch; paths before the file's name are ignored.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from grader.vocabulary import Language

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@.*")


@dataclass(slots=True, kw_only=True)
class _Hunk:
    """Lines to find and lines to put in their place; `number` is the hunk's line in the patch."""

    at: int
    number: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


def patched_files(patch: Path, reference: Path) -> Mapping[str, str]:
    """Return the text of each file that a patch changes, by path below `reference`.

    Raises ValueError, with a sentence and the
    patch's line, if the patch does not apply.
    """
    lines = patch.read_text(encoding="utf-8", errors="replace").splitlines()
    hunks = _hunks(lines, patch, reference)
    if not any(hunks.values()):
        raise ValueError(f"{patch} changes nothing: write the output of `diff -U1 OLD NEW`")
    return {file: _applied(found, file, patch, reference) for file, found in hunks.items()}


def expectation_line(patch: Path, file: str) -> str:
    """Return the patch's `expect:` line for a file, else the comment that the patch begins with."""
    mark = Language.endings()[Path(file).suffix]
    lines = patch.read_text(encoding="utf-8", errors="replace").splitlines()
    found = next((line for line in lines if line.startswith(f"{mark} expect:")), "")
    head = itertools.takewhile(lambda line: not line.startswith("--- "), lines)
    return found or "\n".join(line for line in head if line.startswith(mark))


def make_patch(old: str, new: str, file: str) -> str:
    """Return the patch that makes `new` of `old`."""
    before, after = old.splitlines(), new.splitlines()
    # Without context, which would go stale when the lines around are edited.
    diff = difflib.unified_diff(before, after, file, file, lineterm="", n=0)
    return "".join(f"{line}\n" for line in diff)


def _hunks(lines: Sequence[str], patch: Path, reference: Path) -> dict[str, list[_Hunk]]:
    files: dict[str, list[_Hunk]] = {}
    current: list[_Hunk] | None = None
    before = ""
    for number, line in enumerate(lines, start=1):
        if line.startswith("+++ "):
            name = _name(line)
            if before and not (reference / name).is_file() and (reference / before).is_file():
                name = before  # the new file was a copy with another name
            *others, last = Language.endings()
            if Path(name).suffix not in (*others, last):
                known = f"{', '.join(others)} or {last}"
                raise ValueError(f"{patch}:{number}: `{name}` is no {known} file")
            if name in files:
                raise ValueError(f"{patch}:{number}: `{name}` occurs twice")
            current = files[name] = []
        elif line.startswith("--- "):
            current, before = None, _name(line)
        elif current is not None and (match := _HUNK.fullmatch(line)):
            current.append(_Hunk(at=int(match[1]), number=number))
        elif line.startswith("@@"):
            needs = "lines `---` and `+++` above it" if current is None else "`@@ -LINE +LINE @@`"
            raise ValueError(f"{patch}:{number}: `{line[:40]}` is no head of a hunk: write {needs}")
        elif current and line[:1] in (" ", "-", "+", ""):
            # Editors strip the blank of an empty line.
            if line[:1] != "+":
                current[-1].old.append(line[1:])
            if line[:1] != "-":
                current[-1].new.append(line[1:])
    return files


def _name(line: str) -> str:
    """Return the file's name in a line `--- PATH` or `+++ PATH`, behind which may be a time."""
    return PurePosixPath(line[4:].partition("\t")[0].strip()).name


def _applied(hunks: Sequence[_Hunk], file: str, patch: Path, reference: Path) -> str:
    solved = reference / file
    if not solved.is_file():
        raise ValueError(f"{patch} changes `{file}`, but there is no {solved}")
    lines = solved.read_text(encoding="utf-8", errors="replace").splitlines()
    shift = 0  # by the hunks before
    for hunk in hunks:
        count = len(hunk.old)
        places = [k for k in range(len(lines) - count + 1) if lines[k : k + count] == hunk.old]
        if not places or not hunk.old:
            missing = next((line for line in hunk.old if line not in lines), "")
            lacking = f": it has no line `{missing.strip()}`" if missing else ""
            raise ValueError(f"{patch}:{hunk.number} does not apply to {solved}{lacking}")
        wanted = hunk.at - 1 + shift
        place = min(places, key=lambda k, wanted=wanted: abs(k - wanted))  # type: ignore[misc]
        lines[place : place + count] = hunk.new
        shift += len(hunk.new) - count
    return "".join(f"{line}\n" for line in lines)
