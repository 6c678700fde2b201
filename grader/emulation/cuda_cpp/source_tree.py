"""The files of a program, rewritten into a mirror of their folders: sources and what they include.

A file keeps its place relative to the others, so that `#include "../common/a.cuh"` finds the
rewritten file. Headers of the system and of the emulation stay where they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.emulation.cuda_cpp.features import Refused, Unsupported
from grader.emulation.cuda_cpp.rewriter import rewrite
from grader.emulation.cuda_cpp.tokens import TooComplicatedError

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]{1,400})[">]', re.MULTILINE)
_MOST_FILES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree:
    """The rewritten files under `root`; `texts` and `paths` (the reader's) by file name.

    `sources` are the mirrored translation units, `include_dirs` the mirrored search path.
    """

    root: Path
    sources: tuple[Path, ...]
    include_dirs: tuple[Path, ...]
    texts: dict[str, str]
    paths: dict[str, str]
    unsupported: tuple[Unsupported, ...]
    refused: tuple[Refused, ...]


@dataclass(slots=True)
class _Collected:
    root: Path
    search: tuple[Path, ...]
    mark_locals: bool
    texts: dict[str, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    unsupported: list[Unsupported] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    def mirrored(self, path: Path) -> Path:
        return self.root / path.relative_to(path.anchor)

    def add(self, path: Path) -> list[Path]:
        """Write a file's rewritten text; return the files that it includes."""
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        try:
            rewritten = rewrite(text, file=path.name, mark_locals=self.mark_locals)
        except TooComplicatedError as error:
            raise TooComplicatedError(f"{path.name}: {error}") from None
        self.texts.setdefault(path.name, rewritten.text)
        here = Path.cwd()
        shown = path.relative_to(here) if path.is_relative_to(here) else path
        self.paths.setdefault(path.name, str(shown))
        self.unsupported += rewritten.unsupported
        self.refused += rewritten.refused
        target = self.mirrored(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(rewritten.text, encoding="utf-8", errors="surrogateescape", newline="")
        found = (self.included(path, *match.groups()) for match in _INCLUDE.finditer(text))
        return [file for file in found if file is not None]

    def included(self, path: Path, mark: str, name: str) -> Path | None:
        folders = (path.parent, *self.search) if mark == '"' else self.search
        for folder in folders:
            file = Path(os.path.normpath(folder / name))
            if file.is_file():
                return file
        return None


def _absolute(path: Path) -> Path:
    """Return the path without `..`; links stay, because their names are the reader's."""
    return Path(os.path.normpath(path.absolute()))


def mirror(
    sources: Sequence[Path],
    *,
    root: Path,
    include_dirs: Sequence[Path] = (),
    mark_locals: bool = False,
) -> SourceTree:
    """Rewrite the sources and all that they include from their own folders and `include_dirs`.

    Raises OSError and TooComplicatedError (with the file's name).
    """
    given = [_absolute(source) for source in sources]
    search = tuple(_absolute(folder) for folder in include_dirs)
    collected = _Collected(root=root, search=search, mark_locals=mark_locals)
    waiting, seen = list(given), set(given)
    while waiting:
        for file in collected.add(waiting.pop(0)):
            if file not in seen and len(seen) < _MOST_FILES:
                seen.add(file)
                waiting.append(file)
    for source, path in zip(given, sources, strict=True):
        collected.paths[source.name] = str(path)
    return SourceTree(
        root=root,
        sources=tuple(map(collected.mirrored, given)),
        # Mirrored folders first; a header that a macro names is in the original one.
        include_dirs=(*map(collected.mirrored, search), *search),
        texts=collected.texts,
        paths=collected.paths,
        unsupported=tuple(collected.unsupported),
        refused=tuple(collected.refused),
    )
